//! Terms and analyses on small tables by hand: every `.slt` file below this folder, and what
//! cannot be said in SQL.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod gpu_span;
mod period;
mod picture;
mod pruning;
mod site;

use std::path::Path;

use site::Site;

/// Runs a `.slt` file on a lake of its own.
fn check(path: &Path) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut runner = sqllogictest::Runner::new(async || Ok(Site::new()));
        if let Err(error) = runner.run_file_async(path).await {
            panic!("{}", error.display(false));
        }
    });
}

/// Every `.slt` file of a family, which must be one for each of its members.
fn check_family(family: &str, members: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(family);
    for member in members {
        let path = folder.join(format!("{}.slt", member.replace('-', "_")));
        assert!(path.is_file(), "{member} has no test: {} is missing", path.display());
        check(&path);
    }
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
