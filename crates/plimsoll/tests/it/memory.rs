//! `--memory-limit`: what questions may hold together.

use crate::demo::DEMO;
use crate::program::{Said, plimsoll};
use crate::stub::configure;

fn ask(words: &[&str]) -> Said {
    let all = [&["--data-dir", "plimsoll-demo"][..], words].concat();
    plimsoll(DEMO.folder.path(), &all)
}

#[test]
fn within_a_limit_answers_are_the_same() {
    let period = ["--from", "2026-03-05", "--to", "2026-03-08", "--format", "csv"];
    for question in [
        &["report", "usage-by-user"][..],
        &["report", "backfill-summary"],
        &["heatmap"],
        &["sql", "SELECT * FROM job ORDER BY cluster, job_id, submit_time, attempt"],
    ] {
        let words = [question, &period].concat();
        let (free, bounded) =
            (ask(&words), ask(&[&words[..], &["--memory-limit", "64MiB"]].concat()));
        assert_eq!((free.status, bounded.status), (0, 0), "{question:?}: {}", bounded.stderr);
        assert_eq!(bounded.stdout, free.stdout, "{question:?}");
    }
}

#[test]
fn a_question_that_needs_more_is_refused_and_says_what_to_do() {
    let pairs = "SELECT array_agg(one.job_id) AS pairs FROM job AS one, job AS other";
    let said = ask(&["--memory-limit", "16MiB", "sql", pairs]);
    assert_eq!((said.status, said.stdout.as_str()), (2, ""));
    assert_eq!(
        said.stderr,
        "error: the answer needs more memory than is left of the 16.0 MiB that questions may hold \
         together; ask about a shorter period, or raise memory_limit (--memory-limit)\n"
    );
}

#[test]
fn a_size_that_is_none_is_refused_with_what_to_write() {
    let remedy =
        "write a whole number and MiB, GiB or TiB, such as 512MiB or 2GiB, and no less than 16MiB";
    let said = ask(&["--memory-limit", "2GB", "status"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains(remedy), "{}", said.stderr);

    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "memory_limit = \"2GB\"\n");
    let said = plimsoll(folder.path(), &["status"]);
    assert_eq!(said.status, 2);
    let expected = format!("error: plimsoll.toml:1:16: memory_limit: \"2GB\": {remedy}\n");
    assert_eq!(said.stderr, expected);
}
