//! Runs each `.slt` file below `it/` as one test, named by its folder and file: `analysis::wait`.
//!
//! `cargo test -p query --test slt -- wait` runs the files whose names contain `wait`.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

#[path = "it/site.rs"]
mod site;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use site::Site;

/// Files that belong to no term and no analysis: rules that would not show in any of those.
const OTHERS: [&str; 12] = [
    "backfill::a_change_lies_between_two_samples",
    "backfill::a_job_that_began_again_on_its_gpu_is_two_executions",
    "backfill::backfill_attempt",
    "backfill::jobs_that_ended_before_the_period",
    "backfill::left_out_gpus_leave_out_their_executions",
    "backfill::open_periods_begin_and_end_with_jobs",
    "backfill::the_job_history_names_the_machine",
    "backfill::the_sample_after_the_period_counts",
    "backfill::unsampled_executions_have_a_model",
    "backfill::without_job_history_goodput_is_unknown",
    "policy",
    "sight",
];

fn main() -> ExitCode {
    let files = slt_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), "");
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let mut trials: Vec<Trial> =
        files.into_iter().map(|(name, path)| Trial::test(name, move || check(&path))).collect();
    trials.push(Trial::test("every_term_and_analysis_has_one_file", move || check_names(&names)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs a file on a lake of its own.
fn check(path: &Path) -> Result<(), Failed> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let mut runner = sqllogictest::Runner::new(async || Ok(Site::new()));
        runner.run_file_async(path).await.map_err(|error| error.display(false).into())
    })
}

/// Fails if a term or an analysis has no file, or a file belongs to none of them.
fn check_names(found: &BTreeSet<String>) -> Result<(), Failed> {
    let name = |family: &str, member: &str| format!("{family}::{}", member.replace('-', "_"));
    let expected: BTreeSet<String> = query::TERMS
        .iter()
        .map(|term| name("term", term.name))
        .chain(query::ANALYSES.iter().map(|analysis| name("analysis", analysis.name)))
        .chain(OTHERS.map(str::to_owned))
        .collect();
    let missing: Vec<_> = expected.difference(found).collect();
    let unknown: Vec<_> = found.difference(&expected).collect();
    if missing.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    Err(format!("missing files: {missing:?}; files of no term or analysis: {unknown:?}").into())
}

/// The `.slt` files below a folder with the names of their tests, sorted.
fn slt_files(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap());
        if path.is_dir() {
            files.extend(slt_files(&path, &format!("{name}::")));
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push((name, path));
        }
    }
    files.sort();
    files
}
