//! `plimsoll reprocess`: the tables again, from what the schedulers printed.

use std::fs;
use std::path::Path;

use crate::stub::{MAPLE, configure, program, run};

/// A job submitted on 2 March 2026, and one on the day after.
fn collected(folder: &Path) {
    configure(folder, MAPLE);
    program(
        folder,
        "sacct",
        r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit
printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|JobName\n'
printf '7|7|ann|COMPLETED|1772409600|1772409600|1772413200|3600|2|fit\n'
printf '8|8|ann|COMPLETED|1772496000|1772496000|1772499600|3600|2|fit\n'"#,
    );
    program(folder, "scontrol", "true");
    program(folder, "squeue", "true");
    assert_eq!(run(folder, &["collect", "--days", "0"]).status, 0);
}

const FIRST: &str = "data/processed/job/cluster=maple/date=2026-03-02/job.parquet";
const SECOND: &str = "data/processed/job/cluster=maple/date=2026-03-03/job.parquet";

#[test]
fn what_was_lost_comes_back_to_the_byte_and_without_a_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    collected(folder.path());
    let again = run(folder.path(), &["reprocess"]);
    assert_eq!(again.stderr.lines().last().unwrap(), "read 3 answers again: 0 rows new, 0 changed");

    let [first, second] = [FIRST, SECOND].map(|name| folder.path().join(name));
    let before = [&first, &second].map(|path| fs::read(path).unwrap());
    for path in [&first, &second] {
        fs::remove_file(path).unwrap();
    }
    fs::remove_dir_all(folder.path().join("bin")).unwrap();
    // Only the second day is asked for.
    let part = run(folder.path(), &["reprocess", "--from", "2026-03-03", "--to", "2026-03-04"]);
    assert_eq!(part.status, 0, "{}", part.stderr);
    assert_eq!((first.exists(), second.exists()), (false, true));
    let rest = run(folder.path(), &["reprocess"]);
    assert_eq!(rest.status, 0, "{}", rest.stderr);
    assert_eq!([&first, &second].map(|path| fs::read(path).unwrap()), before);
}

#[test]
fn a_period_that_ends_before_it_begins_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    collected(folder.path());
    let said = run(folder.path(), &["reprocess", "--from", "2026-03-03", "--to", "2026-03-03"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("--to is not included"), "{}", said.stderr);
}
