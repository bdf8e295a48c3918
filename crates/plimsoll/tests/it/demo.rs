//! The demo: what the reports say is what the simulated site knows of itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;
use source::simulated::{Scale, Site};
use tempfile::TempDir;

use crate::program::{Said, plimsoll, said};
use crate::server::Server;
use crate::stub::{MAPLE, configure, program, run};

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

/// The lines of the summary that are commands.
fn next_commands(said: &Said) -> Vec<&str> {
    let (_, next) = said.stdout.split_once("\nNext: ").unwrap();
    next.lines().filter_map(|line| line.strip_prefix("  ")).collect()
}

#[test]
fn the_next_commands_work_when_pasted() {
    let lines = next_commands(&DEMO.said);
    let (serve, others) = lines.split_last().unwrap();
    assert_eq!(others[0], "cd plimsoll-demo");
    assert_eq!(lines.len(), 4, "{lines:?}");
    #[expect(clippy::disallowed_methods, reason = "the shell that users paste into")]
    let mut shell = std::process::Command::new("/bin/sh");
    let said = said(
        shell
            .args(["-e", "-c", &others.join("\n")])
            .current_dir(DEMO.folder.path())
            .env_clear()
            .env("PATH", DEMO.folder.path().join("no-programs"))
            .env("HOME", DEMO.folder.path()),
    );
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.contains("of 60 nodes usable"), "{}", said.stdout);
    assert!(said.stdout.contains("What did backfill give"), "{}", said.stdout);
    // It would listen on a port that somebody else may have; the next test starts one on another.
    assert_eq!(*serve, format!("{} serve", env!("CARGO_BIN_EXE_plimsoll")));
}

#[test]
fn it_prints_a_short_summary() {
    let said = &DEMO.said;
    assert_eq!(said.status, 0, "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines.len() <= 35, "{} lines:\n{}", lines.len(), said.stdout);
    let (summary, _) = said.stdout.split_once("\nNext: ").unwrap();
    let widest = summary.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}:\n{}", said.stdout);
    for part in [
        "Clusters\n",
        "Top five users by CPU hours\n",
        "GPU hours by day\n2026-03-05  ",
        "alder: 3 of 3 days collected",
        "tamarack: 3 of 3 days collected",
    ] {
        assert!(summary.contains(part), "{part} is missing in:\n{summary}");
    }
    assert!(!summary.contains("warning"), "{summary}");
    // Scheduler, nodes, CPUs and GPUs: 60 machines, every fourth with 8 GPUs and the others with 4, and 16
    // CPUs for each of them.
    let pool = summary.lines().find(|line| line.starts_with("tamarack ")).unwrap();
    let cells: Vec<&str> = pool.split_whitespace().collect();
    assert_eq!(cells[1..5], ["htcondor", "60", "4,800", "300"], "{pool}");
    assert!(said.stderr.contains(" records into plimsoll-demo, 0 unreadable\n"), "{}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 3, "{}", said.stderr);
}

/// The summary has the numbers of the reports: here of the cluster and of the first of the users.
#[test]
fn the_summary_has_the_numbers_of_the_reports() {
    let period = ["--from", "2026-03-05", "--to", "2026-03-08"];
    let text = |name: &str| {
        let words = [&["--data-dir", "plimsoll-demo", "report", name][..], &period].concat();
        plimsoll(DEMO.folder.path(), &words).stdout
    };
    let users = text("usage-by-user");
    // The summary leaves out the fifth column, memory, so that it fits a terminal.
    let top: Vec<Vec<&str>> = users
        .lines()
        .skip(4)
        .take(5)
        .map(|line| {
            let mut cells: Vec<&str> = line.split_whitespace().collect();
            cells.remove(4);
            cells
        })
        .collect();
    let (_, shown) = DEMO.said.stdout.split_once("Top five users by CPU hours\n").unwrap();
    let shown: Vec<Vec<&str>> =
        shown.lines().skip(3).take(5).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(shown, top);
    let clusters = report(&["cluster-summary", period[0], period[1], period[2], period[3]]);
    for row in clusters["rows"].as_array().unwrap() {
        let name = row["cluster"].as_str().unwrap();
        let line = DEMO.said.stdout.lines().find(|line| line.starts_with(name)).unwrap();
        let jobs = row["jobs"].as_i64().unwrap();
        let cells: Vec<String> = line.split_whitespace().map(|it| it.replace(',', "")).collect();
        assert!(cells.contains(&jobs.to_string()), "{line}: {jobs}");
    }
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

/// The waits of the pool, by the site's own truth: an execution waited since its job was submitted, or since
/// the execution before it ended.
#[test]
fn waits_in_the_pool_are_what_the_site_knows() {
    let (start, end) = (time("2026-03-06T00:00:00Z"), time("2026-03-07T00:00:00Z"));
    let site = site();
    let waits: Vec<f64> = site
        .truth()
        .attempts
        .iter()
        .filter(|attempt| attempt.cluster == Site::condor_pool())
        .filter_map(|attempt| {
            let begun = attempt.start.filter(|begun| start <= *begun && *begun < end)?;
            Some((begun.as_second() - attempt.eligible?.as_second()) as f64)
        })
        .collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let report = report(&["wait", "--from", "2026-03-06", "--to", "2026-03-07"]);
    let rows = report["rows"].as_array().unwrap();
    let all = |row: &&Value| row["cluster"] == Site::condor_pool() && row["size"] == "all";
    let row = rows.iter().find(all).unwrap();
    assert_eq!(row["jobs"], waits.len());
    assert!((row["mean"].as_f64().unwrap() - mean).abs() < 1e-6 * mean, "{row} {mean}");
    let longest = waits.iter().copied().fold(0.0, f64::max);
    assert_eq!(row["longest"].as_f64(), Some(longest));
}

#[test]
fn every_gpu_hour_of_the_demo_has_a_model() {
    let period = ["--from", "2026-03-05", "--to", "2026-03-08"];
    let models = report(&[&["usage-by-gpu-model"][..], &period].concat());
    let rows = models["rows"].as_array().unwrap();
    assert!(rows.len() > 5 && rows.iter().all(|row| row["gpu_model"].is_string()), "{models}");
    let clusters = report(&[&["cluster-summary"][..], &period].concat());
    let hours = |report: &Value| -> f64 {
        let rows = report["rows"].as_array().unwrap().iter();
        rows.filter_map(|row| row["gpu_hours"].as_f64()).sum()
    };
    let (by_model, by_cluster) = (hours(&models), hours(&clusters));
    assert!((by_model - by_cluster).abs() < 1e-6 * by_cluster, "{by_model} {by_cluster}");
}

/// Each outage of a machine that lasted for an hour is an event, at the next of the samples.
#[test]
fn outages_of_machines_are_events() {
    let site = site();
    let outages = site.truth().outages.iter().filter(|outage| {
        outage.cluster == Site::condor_pool()
            && outage.start > time("2026-03-05T01:00:00Z")
            && outage.start < time("2026-03-07T22:00:00Z")
            && outage.end.is_none_or(|end| end.as_second() - outage.start.as_second() > 3600)
    });
    let period = ["--from", "2026-03-05", "--to", "2026-03-08"];
    let report = report(&[&["node-events"][..], &period].concat());
    let rows = report["rows"].as_array().unwrap();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for outage in outages {
        let events: &[&str] = match outage.kind {
            "DRAIN" => &["draining", "drained"],
            "ABSENT" => &["down"],
            _ => &["prevented"],
        };
        let is_it = |row: &&Value| {
            let late = time(row["time"].as_str().unwrap()).as_second() - outage.start.as_second();
            row["node"] == outage.node.as_str()
                && events.contains(&row["event"].as_str().unwrap())
                && (0..=1200).contains(&late)
        };
        let found = rows.iter().find(is_it);
        let row = found.unwrap_or_else(|| panic!("{outage:?} is no event"));
        if outage.kind != "ABSENT" {
            assert_eq!(row["reason"], outage.reason);
        }
        *kinds.entry(outage.kind).or_default() += 1;
    }
    assert!(kinds.len() > 1, "{kinds:?}");
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
    let config = |folder: &Path| fs::read(folder.join("plimsoll-demo/plimsoll.toml")).unwrap();
    assert_eq!(config(DEMO.folder.path()), config(again.path()));
    let files = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let root = folder.join("plimsoll-demo");
        let mut folders = vec![root.join("processed"), root.join("raw")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().display().to_string();
                    files.push((name, fs::read(path).unwrap()));
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
    fs::create_dir(folder.path().join("plimsoll-demo")).unwrap();
    fs::write(folder.path().join("plimsoll-demo/thesis.tex"), "precious").unwrap();
    let said = plimsoll(folder.path(), &["demo", "--days", "1"]);
    assert_eq!(said.status, 2);
    assert_eq!(
        said.stderr.trim_end(),
        "error: plimsoll-demo holds other files than a demo, and was left as it is; name another \
         folder: plimsoll demo FOLDER"
    );
    let left: Vec<_> = fs::read_dir(folder.path().join("plimsoll-demo")).unwrap().collect();
    assert_eq!(left.len(), 1);
}

/// A configuration of somebody's own site is no demo either, however much it looks like one.
#[test]
fn a_folder_with_a_configuration_of_real_clusters_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    let said = plimsoll(folder.path(), &["demo", "--days", "1", "."]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("holds other files than a demo"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("plimsoll.toml")).unwrap(), MAPLE);
}

/// One that was interrupted is made again, and its configuration appears when it is whole.
#[test]
fn an_interrupted_demo_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("plimsoll-demo");
    fs::create_dir_all(demo.join("processed/job")).unwrap();
    fs::write(demo.join("plimsoll.toml.part"), "# half of").unwrap();
    fs::write(demo.join("processed/job/left"), "over").unwrap();
    let said = plimsoll(folder.path(), &["demo", "--days", "1", "--until", UNTIL]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(!demo.join("plimsoll.toml.part").exists());
    assert!(!demo.join("processed/job/left").exists());
    assert!(demo.join("plimsoll.toml").is_file());
}

/// Every command in the folder of a demo, without options. The last week of this demo is over when it
/// ends, so that there is one for the digest.
#[test]
fn every_command_works_in_the_demos_folder() {
    let outer = tempfile::tempdir().unwrap();
    let words = ["demo", "--days", "7", "--until", "2026-03-09", "--seed", "7"];
    let made = plimsoll(outer.path(), &words);
    assert_eq!(made.status, 0, "{}", made.stderr);
    // The chart has seven days at most, so that a longer history prints no more.
    assert!(made.stdout.lines().count() <= 35, "{}", made.stdout);
    let folder = outer.path().join("plimsoll-demo");
    // How full this machine's disk is does not matter.
    program(&folder, "df", "echo\necho /dev/sda 100000000 0 100000000 0% /");
    let end = time("2026-03-09T00:00:00Z");
    let site = Site::new(&Scale::demo(7, end, 7));
    let attempts = || site.truth().attempts.iter().filter(|it| it.cluster == Site::slurm_cluster());

    let check = |words: &[&str], parts: &[&str]| -> Said {
        let said = run(&folder, words);
        assert_eq!(said.status, 0, "{words:?}: {}{}", said.stdout, said.stderr);
        assert!(!said.stderr.contains("warning"), "{words:?}: {}", said.stderr);
        for part in parts {
            let all = format!("{}{}", said.stdout, said.stderr);
            assert!(all.contains(part), "{words:?}: {part} is missing in:\n{all}");
        }
        said
    };
    let running = attempts().filter(|it| it.state == "RUNNING");
    let running = (running.clone().count(), running.map(|it| it.gpus).sum::<i64>());
    let holds = format!("alder in all: {} jobs hold ", running.0);
    check(&[], &[&holds, &format!(" CPUs and {} GPUs on ", running.1)]);
    check(&["nodes"], &["alder in all: ", " of 60 nodes usable, "]);
    check(
        &["test"],
        &[
            "plimsoll.toml: alder, tamarack, simulated until 2026-03-09 00:00 UTC\n",
            "alder: last collection: 0 minutes ago\n",
            "tamarack: access points: ",
            " notes, 0 to look at, 0 that must be mended\n",
        ],
    );
    check(&["status"], &["tamarack: 7 of ", "last asked 2026-03-09 00:00 UTC"]);
    // The clock stands still at the end: the first sample of that moment is new, nothing else.
    check(&["collect"], &["collected "]);
    check(&["collect"], &["collected ", ": 0 rows new, 0 changed\n"]);
    check(&["backfill"], &["What did backfill give", "Backfill-CHTCOwned"]);
    check(&["allocations"], &["ml GPUs ", "ml CPUs ", " over\n"]);
    let said = check(&["allocations", "--format", "json"], &[]);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let allocations = report["rows"].as_array().unwrap();
    let chart = check(&["chart", "allocations", "--format", "csv"], &[]).stdout;
    let used = |row: &Value| {
        format!("{},used,{},,", row["allocation"].as_str().unwrap(), row["used_percent"])
    };
    let drawn: Vec<&str> = chart.lines().filter(|line| line.contains(",used,")).collect();
    assert_eq!(drawn, allocations.iter().map(used).collect::<Vec<_>>(), "{chart}");
    assert_eq!(drawn.len(), 3);
    check(&["digest"], &["2026-03-02 to 2026-03-08", "alder: 7 of 7 days collected"]);
    check(
        &["notify", "--dry-run"],
        &["To: cnguyen@example.org\n", "Nothing was sent: --dry-run.\n"],
    );
    check(&["reconcile"], &["alder in all: "]);
    check(&["report", "usage-by-group"], &["climate "]);

    // alder's backfill is its preempt partition, by the configuration; the site knows who ran there.
    let said = check(&["backfill", "--by", "cluster", "--format", "json"], &[]);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let of_alder = rows.iter().find(|row| row["by"] == "alder").unwrap();
    let started = attempts().filter(|it| {
        let is_in_period = |start| (time("2026-03-02T00:00:00Z")..end).contains(&start);
        it.partition == Some("preempt") && it.gpus > 0 && it.start.is_some_and(is_in_period)
    });
    let started = started.count();
    assert!(started > 20, "{started}");
    assert_eq!(of_alder["starts"], started, "{of_alder}");

    let server = Server::start(&folder, &["serve"]);
    server.check("/", "200", "tamarack");
}
