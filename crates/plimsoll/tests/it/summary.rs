//! What `plimsoll collect` shows of the days: in a terminal, unless it is told not to.

use std::path::Path;

use crate::program::{Said, command, said};
use crate::stub::{MAPLE, configure, program, run};

/// A cluster with one job, submitted in 2026.
fn slurm(folder: &Path) {
    configure(folder, MAPLE);
    program(
        folder,
        "sacct",
        r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit
printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|JobName\n'
printf '7|7|ann|COMPLETED|1772409600|1772409600|1772413200|3600|2|fit\n'"#,
    );
    program(folder, "scontrol", "true");
    program(folder, "squeue", "true");
}

/// Runs `plimsoll` as [`run`] does, but in a terminal, on which both outputs arrive as one.
fn in_terminal(folder: &Path, words: &str) -> Said {
    let line = format!("'{}' {words}", command(folder).get_program().display());
    #[expect(clippy::disallowed_methods, reason = "what makes a terminal")]
    let mut script = std::process::Command::new("/usr/bin/script");
    script
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("HOME", folder)
        .env("TZ", "UTC")
        .env("SHELL", "/bin/sh")
        .env("TERM", "dumb")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    said(&mut script)
}

const LINE: &str = "collected 1 records: 1 rows new, 0 changed";

#[test]
fn who_watches_is_shown_what_the_days_had_in_them() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    let said = in_terminal(folder.path(), "collect --days 0");
    assert_eq!(said.status, 0, "{}", said.stdout);
    let line = said.stdout.find(LINE).unwrap();
    let summary =
        said.stdout.find("What did each cluster do?").unwrap_or_else(|| panic!("{}", said.stdout));
    let daily =
        said.stdout.find("What ran on each day?").unwrap_or_else(|| panic!("{}", said.stdout));
    assert!(line < summary && summary < daily, "{}", said.stdout);
}

#[test]
fn who_watches_and_wants_no_summary_reads_a_line() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    let said = in_terminal(folder.path(), "collect --days 0 --no-summary");
    assert_eq!(said.status, 0, "{}", said.stdout);
    // Of the bar that was shown meanwhile, what a terminal is told to draw and to erase remains.
    let last = said.stdout.trim_end().lines().last().unwrap();
    assert!(last.ends_with(LINE), "{}", said.stdout);
    assert!(!said.stdout.contains("What did each cluster do?"), "{}", said.stdout);
}

#[test]
fn where_nobody_watches_a_line_is_all() {
    for words in [&["collect", "--days", "0"][..], &["collect", "--days", "0", "--no-summary"]] {
        let folder = tempfile::tempdir().unwrap();
        slurm(folder.path());
        let said = run(folder.path(), words);
        assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{words:?}");
        assert_eq!(said.stderr, format!("{LINE}\n"), "{words:?}");
    }
}
