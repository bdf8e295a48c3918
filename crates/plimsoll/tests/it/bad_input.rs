//! What goes wrong is said clearly, with a status that scripts can rely on, and loses nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lake::Lake;

use crate::program::{command, plimsoll, said};
use crate::stub;

/// Runs a command that cannot do what it is asked, and compares what it says about that.
fn check(folder: &Path, words: &[&str], complaint: &str) {
    let said = plimsoll(folder, words);
    assert_eq!((said.status, said.stderr.trim_end()), (2, complaint), "{words:?}");
    assert_eq!(said.stdout, "", "{words:?}");
}

/// A `sacct` that prints a job with its own time and a line that is no job, and a `scontrol` and
/// an `squeue` that know nothing.
fn fake_slurm(folder: &Path) -> String {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = |name: &str, script: &str| {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program(
        "sacct",
        r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw User State Submit Start End ElapsedRaw AllocCPUS JobName' && exit
printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|JobName\n'
printf '7|7|ann|COMPLETED|1772409600|1772409600|1772413200|3600|2|fit\n'
printf '8|8|ann|COMPLETED|never|1772409600|1772413200|3600|2|fit\n'"#,
    );
    program("scontrol", "true");
    program("squeue", "true");
    bin.display().to_string()
}

const CONFIG: &str = "[[cluster]]\nname = \"maple\"\nkind = \"slurm\"\n";

#[test]
fn without_a_configuration_and_without_slurm_collect_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let said = stub::run(folder.path(), &["collect"]);
    assert_eq!(
        (said.status, said.stderr.as_str()),
        (
            2,
            "error: no plimsoll.toml was found, and neither squeue nor condor_status is \
             installed here; `plimsoll init` writes a configuration in which command_prefix can name another machine\n"
        )
    );
    assert!(!folder.path().join("data").exists());
}

/// A SLURM whose controller calls the cluster birch, with the jobs of [`fake_slurm`].
fn birch(folder: &Path) {
    fake_slurm(folder);
    stub::program(
        folder,
        "scontrol",
        "case \"$*\" in\n'show config') echo 'ClusterName = birch' ;;\n*) true ;;\nesac",
    );
}

#[test]
fn without_a_configuration_collect_takes_the_slurm_cluster_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    birch(folder.path());
    let said = stub::run(folder.path(), &["collect", "--no-summary"]);
    // The second job cannot be read.
    assert_eq!((said.status, said.stdout.as_str()), (1, ""), "{}", said.stderr);
    let said = stub::run(
        folder.path(),
        &["sql", "SELECT cluster, job_id, user FROM job", "--format", "csv"],
    );
    assert_eq!(said.stdout, "cluster,job_id,user\nbirch,7,ann\n", "{}", said.stderr);
}

#[test]
fn collect_prints_a_summary_into_a_pipe_if_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    birch(folder.path());
    let said = stub::run(folder.path(), &["collect"]);
    assert_eq!(said.stdout, "");
    let said = stub::run(folder.path(), &["collect", "-d", "3", "--summary"]);
    assert!(said.stdout.contains("What ran on each day?"), "{}{}", said.stdout, said.stderr);
    let said = stub::run(folder.path(), &["collect", "--summary", "--no-summary"]);
    assert_eq!(said.stdout, "", "the last of the two counts");
}

#[test]
fn every_mistake_in_the_configuration_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("plimsoll.toml"),
        "zone = \"Amerika/Chicago\"\n[[cluster]]\nname = \"maple\"\nknid = \"slurm\"\n",
    )
    .unwrap();
    let said = plimsoll(folder.path(), &["status"]);
    assert_eq!(said.status, 2);
    for line in
        ["plimsoll.toml:1:", "plimsoll.toml:4:1: unknown key \"knid\"", "\"America/Chicago\""]
    {
        assert!(said.stderr.contains(line), "{line} is missing in:\n{}", said.stderr);
    }
}

#[test]
fn a_folder_that_is_not_there_is_named_with_the_way_to_make_it() {
    let folder = tempfile::tempdir().unwrap();
    check(
        folder.path(),
        &["--data-dir", "nowhere", "report", "daily"],
        "error: there is no data at nowhere; `plimsoll collect` makes it, `plimsoll demo` shows an example",
    );
}

#[test]
fn unknown_reports_clusters_and_formats_are_answered_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    Lake::create(&folder.path().join("data")).unwrap();
    check(
        folder.path(),
        &["report", "usage-by-usr"],
        "error: there is no report \"usage-by-usr\"; did you mean \"usage-by-user\"?",
    );
    check(
        folder.path(),
        &["report", "daily", "--format", "jsn"],
        "error: there is no format \"jsn\"; did you mean \"json\"?",
    );
    check(
        folder.path(),
        &["report", "daily", "-o", "daily.pdf"],
        "error: the ending of daily.pdf names no format; give --format (text, csv, json, markdown, html)",
    );
    let said = plimsoll(folder.path(), &["report", "daily", "--cluster", "mapel"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("there is no cluster \"mapel\""), "{}", said.stderr);
}

#[test]
fn periods_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    Lake::create(&folder.path().join("data")).unwrap();
    check(
        folder.path(),
        &["report", "daily", "--from", "2026-01-02", "--to", "2026-01-01"],
        "error: the period ends before it begins: from 2026-01-02 00:00:00 UTC to 2026-01-01 00:00:00 UTC; --to is not included",
    );
    check(
        folder.path(),
        &["report", "daily", "--from", "yesterday"],
        "error: --from \"yesterday\" is no day or moment; write 2026-11-01, 2026-11-01T12:00 or 2026-11-01T12:00:00Z",
    );
    check(
        folder.path(),
        &["report", "daily", "--to", "2026-01-01"],
        "error: --to needs --from, --days or --hours: give the beginning or the length",
    );
}

/// The period that a report covers, in the words of its text.
fn period(folder: &Path, words: &[&str]) -> String {
    let said = plimsoll(folder, words);
    let line = said.stdout.lines().find_map(|line| line.strip_prefix("Period: "));
    line.unwrap_or_else(|| panic!("{words:?}: {}{}", said.stdout, said.stderr)).to_owned()
}

#[test]
fn a_period_can_be_given_by_its_length_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    Lake::create(&folder.path().join("data")).unwrap();
    let check = |words: &[&str], from: &str, to: &str| {
        let words = [&["report", "daily"], words].concat();
        let shown = period(folder.path(), &words);
        assert!(shown.starts_with(&format!("{from} UTC to {to} UTC")), "{words:?}: {shown}");
    };
    let noon = ["--to", "2026-01-10T12:00"];
    check(&[&["-d", "7"], &noon[..]].concat(), "2026-01-03 00:00", "2026-01-10 12:00");
    check(&[&["--hours", "36"], &noon[..]].concat(), "2026-01-09 00:00", "2026-01-10 12:00");
    // Midnight is not included, so these are two whole days.
    check(&["--days", "2", "--to", "2026-01-10"], "2026-01-08 00:00", "2026-01-10 00:00");
    let said = plimsoll(folder.path(), &["report", "daily", "--hours", "6", "--days", "1"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("cannot be used with"), "{}", said.stderr);
}

#[test]
fn status_shows_the_room_that_tables_and_raw_output_take() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    Lake::create(&data).unwrap();
    let raw = data.join("raw/sacct/cluster=maple/date=2026-01-01");
    fs::create_dir_all(&raw).unwrap();
    fs::write(raw.join("a.zst"), [0; 3000]).unwrap();
    fs::create_dir_all(data.join("tracker")).unwrap();
    fs::write(data.join("tracker/notes.txt"), [0; 500]).unwrap();
    let said = plimsoll(folder.path(), &["status", "--format", "json"]);
    let reports: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let rows = reports[1]["rows"].as_array().unwrap();
    let of = |part: &str| {
        let row = rows.iter().find(|row| row["part"] == part).unwrap();
        (row["bytes"].as_i64().unwrap(), row["files"].as_i64().unwrap())
    };
    assert_eq!(of("tables"), (0, 0));
    assert_eq!(of("raw scheduler output"), (3000, 1));
    assert_eq!(of("total"), (3500, 2));
}

#[test]
fn an_empty_lake_has_nothing_to_show_and_that_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    Lake::create(&folder.path().join("data")).unwrap();
    for report in ["usage-by-user", "states", "daily", "collections", "rejects"] {
        let said = plimsoll(folder.path(), &["report", report]);
        assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{report}");
    }
    assert_eq!(plimsoll(folder.path(), &["status"]).status, 0);
}

#[test]
fn what_cannot_be_read_is_set_aside_counted_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plimsoll.toml"), CONFIG).unwrap();
    let path = fake_slurm(folder.path());
    let collected =
        said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    assert_eq!(collected.status, 1, "{}", collected.stderr);
    assert_eq!(
        collected.stderr.trim_end(),
        "collected 1 records: 1 rows new, 0 changed; 1 pieces could not be read and were set aside (`plimsoll report rejects`)"
    );

    let rejects = plimsoll(folder.path(), &["report", "rejects", "--format", "csv"]);
    let line = rejects.stdout.lines().nth(1).unwrap();
    assert!(line.starts_with("maple,sacct,Submit cannot be `never`,1,"), "{line}");
    assert!(line.ends_with("8|8|ann|COMPLETED|never|1772409600|1772413200|3600|2|fit"), "{line}");

    // Asked again, nothing is new; the job is there once.
    let again = said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    assert!(
        again.stderr.starts_with("collected 1 records: 0 rows new, 0 changed"),
        "{}",
        again.stderr
    );
    let jobs = plimsoll(
        folder.path(),
        &["sql", "SELECT job_id, user, cpu_hours_reserved FROM job", "--format", "csv"],
    );
    assert_eq!(jobs.stdout, "job_id,user,cpu_hours_reserved\n7,ann,2.0\n");
}

#[test]
fn a_scheduler_that_does_not_answer_is_reported_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plimsoll.toml"), CONFIG).unwrap();
    let said = plimsoll(folder.path(), &["collect", "--days", "0"]);
    assert_eq!(said.status, 2);
    assert!(
        said.stderr.ends_with("error: no scheduler answered; `plimsoll test` says what to do\n")
    );
    let failure = "failed: maple: sacct is not installed here; is its folder in PATH?";
    assert!(said.stderr.contains(failure), "{}", said.stderr);
    let status = plimsoll(folder.path(), &["report", "collections", "--format", "csv"]);
    assert!(status.stdout.contains("sacct is not installed here"), "{}", status.stdout);
    // What was not seen is not known: nothing says that the day was collected.
    let daily = plimsoll(folder.path(), &["report", "daily", "--days", "0", "--format", "csv"]);
    // Today is not over, which the last column says.
    assert!(daily.stdout.lines().nth(1).unwrap().ends_with(",,,,,,true"), "{}", daily.stdout);
}

#[test]
fn a_second_collector_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plimsoll.toml"), CONFIG).unwrap();
    let path = fake_slurm(folder.path());
    let lake = Lake::create(&folder.path().join("data")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let first = runtime.block_on(lake.writer("maple")).unwrap();
    let second = said(command(folder.path()).env("PATH", &path).args(["collect"]));
    assert_eq!(second.status, 2);
    assert_eq!(
        second.stderr.trim_end(),
        format!(
            "error: another collector of cluster \"maple\" is running (process {}); wait for it or stop it",
            std::process::id()
        )
    );
    // The lock of one cluster does not keep another from being collected.
    fs::write(
        folder.path().join("plimsoll.toml"),
        format!("{CONFIG}[[cluster]]\nname = \"birch\"\nkind = \"slurm\"\n"),
    )
    .unwrap();
    let both = said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    assert_eq!(both.status, 2);
    assert!(both.stderr.starts_with("collected 1 records: 1 rows new"), "{}", both.stderr);
    assert!(both.stderr.contains("another collector of cluster \"maple\""), "{}", both.stderr);
    drop(first);
    let third = said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    assert_eq!(third.status, 1, "{}", third.stderr);
}

#[test]
fn a_truncated_file_is_named_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plimsoll.toml"), CONFIG).unwrap();
    let path = fake_slurm(folder.path());
    said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    let file = folder.path().join("data/processed/job/cluster=maple/date=2026-03-02/job.parquet");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();

    let report = plimsoll(folder.path(), &["report", "usage-by-user", "--from", "2026-03-02"]);

    assert_eq!(report.status, 1);
    let shown = file.canonicalize().unwrap().display().to_string();
    assert!(
        report.stderr.starts_with(&format!("warning: left out {shown}: ")),
        "{}",
        report.stderr
    );
    assert!(report.stdout.contains("date=2026-03-02/job.parquet"), "{}", report.stdout);
    let status = plimsoll(folder.path(), &["status"]);
    assert_eq!(status.status, 1);
    assert!(status.stdout.contains("date=2026-03-02/job.parquet"), "{}", status.stdout);
}

/// No file may grow beyond 1 KiB here: to the program that is a disk that is full.
#[test]
fn a_full_disk_is_named_and_what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plimsoll.toml"), CONFIG).unwrap();
    let path = fake_slurm(folder.path());
    let full = |words: &str| {
        #[expect(clippy::disallowed_methods, reason = "a shell that limits the program under test")]
        let mut shell = std::process::Command::new("/bin/sh");
        said(
            shell
                .args([
                    "-c",
                    &format!(
                        "trap '' XFSZ; ulimit -f 2; exec {} {words}",
                        env!("CARGO_BIN_EXE_plimsoll")
                    ),
                ])
                .current_dir(folder.path())
                .env_clear()
                .env("PATH", &path)
                .env("TZ", "UTC"),
        )
    };
    let collected = full("collect --days 0");
    assert_eq!(collected.status, 2, "{}", collected.stderr);
    assert!(
        collected.stderr.starts_with("error: cannot write ")
            && collected.stderr.trim_end().ends_with("File too large (os error 27)"),
        "{}",
        collected.stderr
    );
    let files = |folder: &Path| -> Vec<String> {
        let mut folders = vec![folder.join("data/processed")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path.display().to_string());
                }
            }
        }
        files
    };
    assert_eq!(files(folder.path()), Vec::<String>::new(), "nothing half-written is left");
    let later = said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    assert!(later.stderr.starts_with("collected 1 records: 1 rows new"), "{}", later.stderr);
}

#[test]
fn statements_that_write_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    Lake::create(&folder.path().join("data")).unwrap();
    check(
        folder.path(),
        &["sql", "COPY (SELECT 1) TO 'out.csv'"],
        "error: plimsoll sql only reads: a statement that writes, creates or sets something is refused",
    );
    assert!(!folder.path().join("out.csv").exists());
}

#[test]
fn init_writes_a_file_that_loads_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let path = fake_slurm(folder.path());
    let init = said(command(folder.path()).env("PATH", &path).args(["init"]));
    assert_eq!(init.status, 0, "{}", init.stderr);
    let text = fs::read_to_string(folder.path().join("plimsoll.toml")).unwrap();
    assert!(text.contains("kind = \"slurm\""), "{text}");
    let collected =
        said(command(folder.path()).env("PATH", &path).args(["collect", "--days", "0"]));
    assert_eq!(collected.status, 1, "{}", collected.stderr);

    let again = said(command(folder.path()).env("PATH", &path).args(["init"]));
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("is already there and was left as it is"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("plimsoll.toml")).unwrap(), text);
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    Lake::create(&folder.path().join("data")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a shell that closes the pipe")]
    let mut shell = std::process::Command::new("bash");
    let sql = "SELECT value FROM generate_series(1, 100000) AS series (value)";
    let said = said(
        shell
            .args([
                "-c",
                &format!(
                    "'{}' sql --limit 100000 '{sql}' | head -n 1; echo ${{PIPESTATUS[0]}}",
                    env!("CARGO_BIN_EXE_plimsoll")
                ),
            ])
            .current_dir(folder.path()),
    );
    assert!(said.stdout.ends_with("\n0\n"), "{} {}", said.stdout, said.stderr);
    assert_eq!(said.stderr, "");
}
