//! `plimsoll analyze`: the whole report, and what it says where there is nothing.

use serde_json::Value;

use crate::demo::DEMO;
use crate::program::{Said, plimsoll};

const PERIOD: [&str; 4] = ["--from", "2026-03-05", "--to", "2026-03-08"];

fn analyze(words: &[&str]) -> Said {
    let mut all = vec!["--data-dir", "plimsoll-demo", "analyze"];
    all.extend(words);
    plimsoll(DEMO.folder.path(), &all)
}

fn names(said: &Said) -> Vec<String> {
    let reports: Value = serde_json::from_str(&said.stdout).unwrap();
    let name = |report: &Value| report["report"].as_str().unwrap().to_owned();
    reports.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn the_whole_is_one_report_below_the_other_with_bars_and_one_ending() {
    let said = analyze(&PERIOD);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let place =
        |words: &str| said.stdout.find(words).unwrap_or_else(|| panic!("{words} is missing"));
    assert!(place("What ran on each day?") < place("Who used how much, and how well?"));
    assert!(place("Who used how much, and how well?") < place("How did jobs end?"));
    assert!(place("How did jobs end?") < place("How well did completed jobs use what they held?"));
    assert!(place("\n2026-03-07       █") < place("CPU hours (showing top 20 of "));
    assert!(said.stdout.contains("note: The first 15 of "));
    assert_eq!(said.stdout.matches("Period: ").count(), 1);
    assert!(!said.stdout.contains('\x1b'), "a file or a pipe gets no colors");
}

/// Who holds most GPUs is on the chart, though not among the first three by CPU hours.
#[test]
fn bars_are_of_all_rows_also_of_those_that_the_table_leaves_out() {
    let words = [&PERIOD[..], &["--top", "3"]].concat();
    let said = analyze(&words);
    let (_, users) = said.stdout.split_once("Who used how much").unwrap();
    let (table, charts) = users.split_once("\nCPU hours (").unwrap();
    let (_, gpu_chart) = charts.split_once("\nGPU hours (").unwrap();
    let first = gpu_chart.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let is_row = |line: &&str| line.contains('.') && !line.contains("CPU eff. %");
    assert_eq!(table.lines().filter(is_row).count(), 3, "{table}");
    assert!(!table.contains(first), "{first} in {table}");
    assert!(users.contains("note: The first 3 of "));
}

#[test]
fn every_part_has_every_format_and_one_usage_can_be_asked_for() {
    let json = |words: &[&str]| analyze(&[&PERIOD[..], &["--format", "json"], words].concat());
    let whole = names(&json(&[]));
    for part in ["daily", "usage-by-user", "states", "efficiency"] {
        assert!(whole.iter().any(|name| name == part), "{part} is not in {whole:?}");
    }
    let by_user = names(&json(&["--by", "user"]));
    assert!(by_user.iter().any(|name| name == "usage-by-user"));
    assert!(!by_user.iter().any(|name| name == "states"), "{by_user:?}");
}

#[test]
fn a_time_without_jobs_is_a_finding_that_says_what_to_do() {
    let said = analyze(&["--from", "2026-01-01", "--to", "2026-01-02", "--cluster", "alder"]);
    assert_eq!((said.status, said.stdout.as_str()), (1, ""));
    let expected = "no jobs of alder from 2026-01-01 00:00 UTC to 2026-01-02 00:00 UTC in ";
    assert!(said.stderr.starts_with(expected), "{}", said.stderr);
    assert!(said.stderr.contains("`plimsoll collect --days "), "{}", said.stderr);
}
