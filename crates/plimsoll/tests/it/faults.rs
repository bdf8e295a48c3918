//! Schedulers that are gone, hang, crawl or rave: `/metrics` stays up, says so, and shows what was
//! last seen.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::metrics::{collect, site};
use crate::server::Server;
use crate::stub::{MAPLE, configure, prints, program, run};

/// Blocks until it is killed.
const HANGS: &str = "exec /usr/bin/tail -f /dev/null";

/// The numbers of a page by name and labels.
fn numbers(server: &Server) -> BTreeMap<String, f64> {
    let (head, body) = server.get("/metrics");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// What was seen of the cluster: all but how its sources fare, and what the lake adds up.
fn state(numbers: &BTreeMap<String, f64>) -> BTreeMap<&str, f64> {
    let others = ["plimsoll_up", "plimsoll_source_", "plimsoll_recent_"];
    let is_state = |name: &&String| !others.iter().any(|other| name.starts_with(other));
    let names = numbers.keys().filter(is_state);
    names.map(|name| (name.as_str(), numbers[name])).collect()
}

/// How many nodes and waiting jobs the history has, and for how long the last look at them holds: not
/// as long if another look saw none.
fn nodes_and_waiting(folder: &Path) -> String {
    let sql = "
        SELECT count(DISTINCT node) AS things, max(end_time) - max(last_seen_time) AS holds
        FROM node_span
        UNION ALL
        SELECT count(DISTINCT job_id), max(end_time) - max(last_seen_time)
        FROM queue_span
        ORDER BY 1";
    let said = run(folder, &["sql", sql, "--format", "csv"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    said.stdout
}

fn of(source: &str, name: &str) -> String {
    format!("plimsoll_source_{name}{{cluster=\"maple\",source=\"{source}\"}}")
}

const UP: &str = "plimsoll_up{cluster=\"maple\"}";

/// Puts programs in the place of a scheduler that answered, collects, and compares the page before
/// and after: these sources are down, the others up, and what was seen of the cluster is as it was.
fn check(programs: &[(&str, &str)], down: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    site(folder);
    configure(folder, &format!("{MAPLE}time_limit = \"1s\"\n"));
    collect(folder);
    let server = Server::start(folder, &["serve"]);
    let before = numbers(&server);
    assert_eq!(before[UP], 1.0);
    assert!(state(&before).len() > 50);
    let seen = nodes_and_waiting(folder);

    for (name, script) in programs {
        match *script {
            GONE => fs::remove_file(folder.join("bin").join(name)).unwrap(),
            script => program(folder, name, script),
        }
    }
    let said = run(folder, &["collect", "--days", "0", "--no-summary"]);
    assert!(said.status > 0, "{}", said.stderr);
    assert_eq!(nodes_and_waiting(folder), seen, "the history tells of what nobody saw");
    let after = numbers(&server);
    assert_eq!(after[UP], 0.0);
    for source in ["sacct", "scontrol", "squeue"] {
        let is_down = down.contains(&source);
        assert_eq!(after[&of(source, "up")], f64::from(u8::from(!is_down)), "{source}");
        let failures = of(source, "failures_total");
        assert_eq!(after[&failures] > before[&failures], is_down, "{source}");
        let success = of(source, "success_timestamp_seconds");
        assert_eq!(after[&success] == before[&success], is_down, "{source}");
        assert!(after[&of(source, "age_seconds")] >= 0.0);
    }
    let (before, after) = (state(&before), state(&after));
    for (name, value) in &before {
        let is_time = name.contains("_timestamp_seconds");
        assert!(after[name] == *value || is_time, "{name} was {value} and is {}", after[name]);
    }
    assert_eq!(after.len(), before.len());

    site(folder);
    collect(folder);
    assert_eq!(numbers(&server)[UP], 1.0, "it is back");
}

/// Stands for a program that is not there.
const GONE: &str = "";

#[test]
fn a_scheduler_that_is_gone_leaves_its_last_state() {
    check(&[("squeue", GONE), ("scontrol", GONE)], &["squeue", "scontrol"]);
}

#[test]
fn a_scheduler_that_hangs_is_given_up_after_its_time_limit() {
    check(
        &[("squeue", HANGS), ("scontrol", HANGS), ("sacct", HANGS)],
        &["squeue", "scontrol", "sacct"],
    );
}

#[test]
fn a_scheduler_that_raves_is_not_believed() {
    // Words of no meaning, pages of a proxy, bytes that are no text, and a line without end.
    check(&[("scontrol", "echo Segmentation fault; echo '<html>'")], &["scontrol"]);
    check(&[("squeue", r"printf 'error: no route\n\377\376\000\n'")], &["squeue"]);
    check(&[("sacct", "echo '<html><body>502 Bad Gateway</body></html>'")], &["sacct"]);
    check(&[("squeue", "printf '%1000000d' 7")], &["squeue"]);
}

/// What was seen before is served while a collection waits for its answer; nobody who scrapes
/// waits with it.
#[test]
fn a_scheduler_that_crawls_holds_up_nobody_who_scrapes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    site(folder);
    collect(folder);
    let gate = folder.join("gate");
    make_pipe(&gate);
    // Who opens a pipe waits until another opens its other end.
    let answer = prints("squeue-collected.txt");
    program(folder, "squeue", &format!("read -r _ <'{}'\n{answer}", gate.display()));
    let server = Server::start(folder, &["serve", "--collect", "24h"]);
    let mut open = fs::OpenOptions::new().write(true).open(&gate).unwrap();
    // From here on squeue is under way, and does not go on before it is told to.
    let meanwhile = numbers(&server);
    assert_eq!(meanwhile[UP], 1.0);
    assert_eq!(meanwhile[&of("squeue", "commands_total")], 1.0);
    assert!(state(&meanwhile).len() > 50);
    writeln!(open, "go on").unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the standard library makes no pipes with names")]
fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
