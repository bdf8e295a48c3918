//! `plimsoll compact`: days that are over are put in order when somebody asks for it.

use std::fs;
use std::path::Path;

use crate::demo::DEMO;
use crate::program::plimsoll;
use crate::stub::configure;

/// The demo's clusters, looked at as often as it looks.
const CLUSTERS: &str = r#"
    zone = "UTC"
    cluster = [
        { name = "alder", kind = "slurm", cadence = "10m" },
        { name = "tamarack", kind = "htcondor", cadence = "10m" },
    ]
"#;

/// The demo's history, of which the sums of jobs are lost, and all that is known of its files. Its last
/// day was not over when it was collected.
fn neglected(folder: &Path) {
    configure(folder, CLUSTERS);
    copy(&DEMO.folder.path().join("plimsoll-demo"), &folder.join("data"));
    for name in ["processed/job_day", "processed/node_day", "tracker"] {
        fs::remove_dir_all(folder.join("data").join(name)).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }
}

/// The files of the tables, with when each was written.
fn files(folder: &Path) -> Vec<(String, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push((
                    entry.path().display().to_string(),
                    entry.metadata().unwrap().modified().unwrap(),
                )),
            }
        }
    }
    found.sort();
    found
}

const ASKED: [&str; 5] =
    ["usage-by-user", "usage-by-node", "daily", "gpu-usage", "backfill-summary"];

/// What reports say of a lake, by the configuration in a folder.
fn answers(folder: &Path, lake: &Path) -> Vec<String> {
    let lake = lake.to_str().unwrap();
    let answer = |name: &&str| {
        let period = ["--from", "2026-03-04", "--to", "2026-03-09", "--format", "csv"];
        let said = plimsoll(folder, &[&["--data-dir", lake, "report", name][..], &period].concat());
        assert_eq!(said.status, 0, "{name}: {}", said.stderr);
        said.stdout
    };
    ASKED.iter().map(answer).collect()
}

#[test]
fn what_was_neglected_is_put_in_order_and_reports_say_what_they_said() {
    let folder = tempfile::tempdir().unwrap();
    neglected(folder.path());
    let demo = DEMO.folder.path().join("plimsoll-demo");
    let before = answers(folder.path(), &demo);
    let data = folder.path().join("data");
    let found = files(&data);

    let told = plimsoll(folder.path(), &["compact", "--dry-run"]);
    assert_eq!((told.status, told.stdout.as_str()), (0, ""));
    assert_eq!(
        told.stderr,
        "alder: would make spans of 1 day of GPUs, would add up 4 days of jobs\n\
         tamarack: would make spans of 1 day of GPUs, would add up 5 days of jobs\n"
    );
    assert_eq!(files(&data), found, "it only tells");

    let done = plimsoll(folder.path(), &["compact"]);
    assert_eq!(done.status, 0);
    // 80 and 300 GPUs, looked at 144 times in the last day; what was seen last holds on into the next,
    // of each a span.
    assert_eq!(
        done.stderr,
        "alder: made 885 spans of 11520 samples, 2 days of GPUs, added up 4 days of jobs\n\
         tamarack: made 2586 spans of 43200 samples, 2 days of GPUs, added up 5 days of jobs\n"
    );
    assert!(data.join("processed/job_day/cluster=alder/date=2026-03-07").exists());
    assert_eq!(answers(folder.path(), &data), before);

    let found = files(&data);
    for words in [&["compact"][..], &["compact", "--dry-run"]] {
        let again = plimsoll(folder.path(), words);
        assert_eq!(again.status, 0);
        assert_eq!(again.stderr, "alder: nothing to do\ntamarack: nothing to do\n");
    }
    assert_eq!(files(&data), found);
}

#[test]
fn only_the_clusters_that_are_named() {
    let folder = tempfile::tempdir().unwrap();
    neglected(folder.path());
    let said = plimsoll(folder.path(), &["compact", "alder"]);
    assert_eq!((said.status, said.stderr.lines().count()), (0, 1), "{}", said.stderr);
    assert!(said.stderr.starts_with("alder: made "), "{}", said.stderr);
    assert!(!folder.path().join("data/processed/job_day/cluster=tamarack").exists());

    let said = plimsoll(folder.path(), &["compact", "tamarak"]);
    assert_eq!(said.status, 2);
    let expected = "error: there is no cluster \"tamarak\"; did you mean \"tamarack\"?\n";
    assert_eq!(said.stderr, expected);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    neglected(folder.path());
    let broken = folder.path().join("data/processed/job/cluster=alder/date=2026-03-06/job.parquet");
    fs::write(&broken, "no longer a file of jobs").unwrap();
    let said = plimsoll(folder.path(), &["compact", "alder"]);
    assert_eq!(said.status, 1, "{}", said.stderr);
    let failed = said.stderr.lines().last().unwrap();
    let expected = format!(
        "failed: alder: cannot add up the jobs of 2026-03-06: cannot read {}: ",
        broken.canonicalize().unwrap().display()
    );
    assert!(failed.starts_with(&expected), "{failed}");
    assert!(said.stderr.contains(", added up 3 days of jobs\n"), "{}", said.stderr);
}
