//! `plimsoll collect --every`: cycles that keep to the clock, and a clean stop.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::program::{command, plimsoll};
use crate::stub::{MAPLE, configure, program};

#[test]
fn it_collects_again_and_again_until_it_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    program(
        folder.path(),
        "sacct",
        r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit
printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|JobName\n'
printf '7|7|ann|COMPLETED|1772409600|1772409600|1772413200|3600|2|fit\n'"#,
    );
    program(folder.path(), "scontrol", "true");
    program(folder.path(), "squeue", "true");
    let mut running = command(folder.path())
        .env("PATH", folder.path().join("bin"))
        .args(["collect", "--days", "0", "--every", "1s"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "maple: collected 1 records: 1 rows new, 0 changed");
    assert_eq!(lines.next().unwrap(), "maple: collected 1 records: 0 rows new, 0 changed");
    #[expect(clippy::disallowed_methods, reason = "how a service is told to stop")]
    let told = std::process::Command::new("kill").arg(running.id().to_string()).status().unwrap();
    assert!(told.success());
    assert!(lines.any(|line| line == "stopping when what is under way is written"));
    assert_eq!(lines.find(|line| line.contains("error")), None);
    assert_eq!(running.wait().unwrap().code(), Some(0));
    // Nothing is held any more, and nothing half written.
    let jobs =
        plimsoll(folder.path(), &["sql", "SELECT count(*) AS jobs FROM job", "--format", "csv"]);
    assert_eq!(jobs.stdout, "jobs\n1\n");
}

#[test]
fn a_time_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for time in ["5", "0s", "25h", "often"] {
        let said = plimsoll(folder.path(), &["collect", "--every", time]);
        assert_eq!(said.status, 2, "{time}");
        assert!(said.stderr.contains("such as 5m, up to 24h"), "{}", said.stderr);
    }
}
