//! The demo: what the reports say is what the simulated site knows of itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;
use source::simulated::{Scale, Site};
use tempfile::TempDir;

use crate::program::{Said, plimsoll};

const DAYS: &str = "3";
const UNTIL: &str = "2026-03-08";

pub(crate) struct Demo {
    pub(crate) folder: TempDir,
    said: Said,
}

/// Made once; every test reads it.
pub(crate) static DEMO: LazyLock<Demo> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let said = plimsoll(folder.path(), &["demo", "--days", DAYS, "--until", UNTIL, "--seed", "7"]);
    Demo { folder, said }
});

fn site() -> Site {
    Site::new(&Scale::demo(7, time("2026-03-08T00:00:00Z"), 3))
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn report(words: &[&str]) -> Value {
    let mut all = vec!["--data-dir", "plimsoll-demo", "report"];
    all.extend(words);
    all.extend(["--format", "json"]);
    let said = plimsoll(DEMO.folder.path(), &all);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn what_it_says_to_do_next_can_be_done() {
    let asks = ["status", "report", "allocations", "heatmap", "sql"];
    let mut asked = Vec::new();
    for line in DEMO.said.stdout.lines().filter_map(|line| line.strip_prefix("  plimsoll ")) {
        // What stands in quotation marks is one word.
        let parts = line.split('"').enumerate();
        let words: Vec<&str> = parts
            .flat_map(|(place, part)| match place % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            })
            .collect();
        if let Some(name) = asks.into_iter().find(|name| words.contains(name)) {
            let said = plimsoll(DEMO.folder.path(), &words);
            assert_eq!(said.status, 0, "{line}: {}", said.stderr);
            asked.push(name);
        }
    }
    assert_eq!(asked, asks);
}

#[test]
fn it_shows_the_first_tables_and_what_to_do_next() {
    let said = &DEMO.said;
    assert_eq!(said.status, 0, "{}", said.stderr);
    for part in [
        "Who used how much, and how well?",
        "What ran on each day?",
        "How did jobs end?",
        "alder: 3 of 3 days collected",
        "tamarack: 3 of 3 days collected",
        "plimsoll --data-dir plimsoll-demo serve",
    ] {
        assert!(said.stdout.contains(part), "{part} is missing in:\n{}", said.stdout);
    }
    assert!(said.stderr.contains("0 pieces set aside"), "{}", said.stderr);
}

/// Jobs, CPU hours and GPU hours of each user, by the site's own truth, for two periods: one
/// that cuts jobs on both sides, and all of it.
#[test]
fn usage_by_user_is_what_the_site_knows() {
    let site = site();
    for (from, to) in [
        ("2026-03-06T07:30:00Z", "2026-03-07T19:45:00Z"),
        ("2026-03-01T00:00:00Z", "2026-03-08T00:00:00Z"),
    ] {
        let (start, end) = (time(from), time(to));
        let mut expected: BTreeMap<String, (i64, f64, f64)> = BTreeMap::new();
        for attempt in &site.truth().attempts {
            let Some(begun) = attempt.start else { continue };
            // HTCondor's history has an execution once it is over, its queue until then; the demo
            // looked at that for the last time ten minutes before the end.
            let is_of_the_pool = attempt.cluster == Site::condor_pool();
            let last_look = time("2026-03-07T23:50:00Z");
            if is_of_the_pool && attempt.end.is_none() && begun > last_look {
                continue;
            }
            let now = if is_of_the_pool { last_look } else { time("2026-03-08T00:00:00Z") };
            let ended = attempt.end.unwrap_or(now);
            if begun >= end || (begun < start && ended <= start) {
                continue;
            }
            let hours = (ended.min(end).as_second() - begun.max(start).as_second()) as f64 / 3600.0;
            let sum = expected.entry(attempt.user.to_owned()).or_default();
            sum.0 += 1;
            sum.1 += hours * attempt.cpus as f64;
            sum.2 += hours * attempt.gpus as f64;
        }
        let report = report(&["usage-by-user", "--from", from, "--to", to]);
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len());
        assert!(rows.len() > 20);
        for row in rows {
            let user = row["user"].as_str().unwrap();
            let (jobs, cpu_hours, gpu_hours) = expected[user];
            assert_eq!(row["jobs"], jobs, "{user}");
            let close = |column: &str, value: f64| {
                let shown = row[column].as_f64().unwrap();
                assert!(
                    (shown - value).abs() < 1e-6 * value.max(1.0),
                    "{user} {column}: {shown} for {value}"
                );
            };
            close("cpu_hours", cpu_hours);
            close("gpu_hours", gpu_hours);
        }
    }
}

#[test]
fn states_are_what_the_site_knows() {
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    let (start, end) = (time("2026-03-06T00:00:00Z"), time("2026-03-07T00:00:00Z"));
    let site = site();
    for attempt in &site.truth().attempts {
        // sacct does not show what was cancelled before it could have started.
        if attempt.eligible.is_none() {
            continue;
        }
        if attempt.end.is_some_and(|ended| start <= ended && ended < end) {
            *expected.entry(attempt.state.to_owned()).or_default() += 1;
        }
    }
    let report = report(&["states", "--from", "2026-03-06", "--to", "2026-03-07"]);
    let mut shown: BTreeMap<String, i64> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["state"].as_str().unwrap().to_owned(), row["jobs"].as_i64().unwrap()))
        .collect();
    // Those that had not ended when they were last seen are listed too.
    shown.retain(|state, _| state != "RUNNING" && state != "PENDING");
    assert_eq!(shown, expected);
}

#[test]
fn the_days_add_up_to_the_period() {
    let daily = report(&["daily", "--from", "2026-03-05", "--to", "2026-03-08"]);
    let users = report(&["usage-by-user", "--from", "2026-03-05", "--to", "2026-03-08"]);
    for column in ["cpu_hours", "gpu_hours", "memory_gib_hours"] {
        let sum = |report: &Value| -> f64 {
            report["rows"].as_array().unwrap().iter().filter_map(|row| row[column].as_f64()).sum()
        };
        let (by_day, by_user) = (sum(&daily), sum(&users));
        assert!((by_day - by_user).abs() < 1e-6 * by_user, "{column}: {by_day} and {by_user}");
        assert!(by_user > 0.0);
    }
    assert_eq!(daily["rows"].as_array().unwrap().len(), 3);
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let again = tempfile::tempdir().unwrap();
    plimsoll(again.path(), &["demo", "--days", DAYS, "--until", UNTIL, "--seed", "7"]);
    let files = |folder: &std::path::Path| -> Vec<(String, Vec<u8>)> {
        let root = folder.join("plimsoll-demo");
        let mut folders = vec![root.join("processed"), root.join("raw")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().display().to_string();
                    files.push((name, std::fs::read(path).unwrap()));
                }
            }
        }
        files.sort();
        files
    };
    let (one, other) = (files(DEMO.folder.path()), files(again.path()));
    assert_eq!(one.len(), other.len());
    for ((name, one), (other_name, other)) in one.iter().zip(&other) {
        assert_eq!(name, other_name);
        assert!(one == other, "{name} differs");
    }
}

#[test]
fn the_tables_have_rows() {
    let said = plimsoll(
        DEMO.folder.path(),
        &["--data-dir", "plimsoll-demo", "status", "--format", "json"],
    );
    let reports: Value = serde_json::from_str(&said.stdout).unwrap();
    let tables: Vec<&str> = reports[0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["table"].as_str().unwrap())
        .collect();
    for table in ["job", "gpu_span", "node_span", "queue_span", "collection"] {
        assert!(tables.contains(&table), "{table}");
    }
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("plimsoll-demo")).unwrap();
    std::fs::write(folder.path().join("plimsoll-demo/thesis.tex"), "precious").unwrap();
    let said = plimsoll(folder.path(), &["demo", "--days", "1"]);
    assert_eq!(said.status, 2);
    assert_eq!(
        said.stderr.trim_end(),
        "error: plimsoll-demo is there and holds no demo; name another folder: plimsoll demo FOLDER"
    );
}
