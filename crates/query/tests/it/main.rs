//! Terms and analyses on small tables by hand: every `.slt` file below this folder, and what
//! cannot be said in SQL.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod gpu_span;
mod memory;
mod period;
mod picture;
mod pruning;
mod replaced;
mod requests;
mod shared_read;
mod site;

use std::path::Path;

use site::Site;

/// Runs a `.slt` file on a lake of its own; gives what is wrong.
fn check(path: &Path) -> Option<String> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut runner = sqllogictest::Runner::new(async || Ok(Site::new()));
        let ran = runner.run_file_async(path).await;
        ran.err().map(|error| error.display(false).to_string())
    })
}

/// Every `.slt` file of a family, which must be one for each of its members.
fn check_family(family: &str, members: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(family);
    let wrong: Vec<String> = members
        .iter()
        .filter_map(|member| {
            let path = folder.join(format!("{}.slt", member.replace('-', "_")));
            assert!(path.is_file(), "{member} has no test: {} is missing", path.display());
            check(&path)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn terms() {
    check_family("term", &query::TERMS.iter().map(|term| term.name).collect::<Vec<_>>());
}

#[test]
fn analyses() {
    check_family(
        "analysis",
        &query::ANALYSES.iter().map(|analysis| analysis.name).collect::<Vec<_>>(),
    );
}

/// What backfill went through where analyses of it would not show the rule.
#[test]
fn backfill() {
    check_family("backfill", &["backfill_attempt"]);
}

/// Words of options become parts of statements; each of them must be one that can be asked.
#[tokio::test]
async fn every_word_of_every_option_can_be_asked() {
    let site = Site::new();
    for analysis in query::ANALYSES {
        for option in analysis.options {
            let query::Values::OneOf(alternatives) = option.values else { continue };
            for alternative in alternatives {
                let mut question = site.question.clone();
                question.options.insert(option.name.to_owned(), alternative.word.to_owned());
                if let Err(error) = query::run(&site.lake, analysis, &question).await {
                    panic!("{} --{} {}: {error:#}", analysis.name, option.name, alternative.word);
                }
            }
        }
    }
}

#[test]
fn who_sees_what() {
    let wrong = check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sight.slt"));
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// Every analysis can be asked by everybody, but for those of how collecting went.
#[tokio::test]
async fn only_staff_asks_how_collecting_went() {
    let mut site = Site::new();
    for sight in [site::sight("own", &["ann", "bio"]).unwrap(), site::sight("public", &[]).unwrap()]
    {
        site.question.sight = sight;
        let mut hidden = Vec::new();
        for analysis in query::ANALYSES {
            site.ask_about(analysis, "x");
            match query::run(&site.lake, analysis, &site.question).await {
                Ok(report) => assert!(!report.notes.is_empty(), "{}", analysis.name),
                Err(error) if error.is::<query::Hidden>() => hidden.push(analysis.name),
                Err(error) => panic!("{}: {error:#}", analysis.name),
            }
        }
        assert_eq!(hidden, ["collections", "rejects"]);
    }
}
