//! Queries of small lakes that `.slt` files cannot express; `../slt.rs` runs those files.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod gpu_span;
mod memory;
mod period;
mod period_end;
mod picture;
mod pruning;
mod replaced;
mod requests;
mod shared_read;
mod site;

use std::collections::BTreeMap;

use site::Site;

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

/// Every analysis can be asked by everybody, but for those of how collecting went.
#[tokio::test]
async fn only_staff_asks_how_collecting_went() {
    let mut site = Site::new();
    for sight in [site::sight("own", &["ann", "bio"]).unwrap(), site::sight("public", &[]).unwrap()]
    {
        site.question.sight = sight;
        let mut hidden = Vec::new();
        for analysis in query::ANALYSES {
            site.question.options = subject_options(analysis, "x");
            match query::run(&site.lake, analysis, &site.question).await {
                Ok(report) => assert!(!report.notes.is_empty(), "{}", analysis.name),
                Err(error) if error.is::<query::Hidden>() => hidden.push(analysis.name),
                Err(error) => panic!("{}: {error:#}", analysis.name),
            }
        }
        assert_eq!(hidden, ["collections", "rejects"]);
    }
}

/// Names the subject of an analysis, if it has one.
fn subject_options(analysis: &query::Analysis, subject: &str) -> BTreeMap<String, String> {
    let is_subject =
        |option: &&query::AnalysisOption| matches!(option.values, query::Values::Subject);
    let subjects = analysis.options.iter().filter(is_subject);
    subjects.map(|option| (option.name.to_owned(), subject.to_owned())).collect()
}
