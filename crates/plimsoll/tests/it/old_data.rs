//! A history whose newest data is old: what is asked without a period shows the newest days that
//! there are, and says so.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use crate::demo::DEMO;
use crate::program::{Said, plimsoll};
use crate::server::Server;

/// The demo ends with this moment, which is long ago.
const LINE: &str = "The newest data is from 2026-03-08 00:00 UTC, ";

/// A site with the demo's history and allocations, and with the clock of this machine: that of the
/// demo's own file stands still at the end of the simulation.
static SITE: LazyLock<&str> = LazyLock::new(|| {
    let folder = DEMO.folder.path();
    let demo = fs::read_to_string(folder.join("plimsoll-demo/plimsoll.toml")).unwrap();
    let demo: toml::Table = demo.parse().unwrap();
    let allocations =
        toml::Table::from_iter([("allocation".to_owned(), demo["allocation"].clone())]);
    write_site(folder, &allocations.to_string());
    SITE_FILE
});

const SITE_FILE: &str = "old.toml";

fn write_site(folder: &Path, more: &str) {
    let text = format!("data_dir = \"plimsoll-demo\"\nzone = \"UTC\"\n{more}");
    fs::write(folder.join(SITE_FILE), text).unwrap();
}

fn run(words: &[&str]) -> Said {
    let mut all = vec!["--config", *SITE];
    all.extend(words);
    let said = plimsoll(DEMO.folder.path(), &all);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{words:?}");
    said
}

#[test]
fn every_command_without_a_period_shows_the_newest_days_and_says_so() {
    for (words, part) in [
        (&["analyze"][..], "What ran on each day?"),
        (&["report", "usage-by-user"], "User"),
        (&["report", "usage-by-user", "--days", "2"], "Period: 2026-03-06 00:00 UTC to"),
        (&["report", "daily", "--days", "0"], "2026-03-07"),
        (&["report", "backfill-advice"], "A100"),
        (&["backfill"], "Backfill-ResearcherOwned"),
        (&["chart", "gpu-usage"], "Shared"),
        (&["chart", "backfill-survival"], "A100"),
        (&["heatmap"], "Period: 2026-03-07 00:00 UTC to 2026-03-08 00:00 UTC"),
        (&["heatmap", "--hours", "6"], "Period: 2026-03-07 18:00 UTC to 2026-03-08 00:00 UTC"),
        (&["allocations"], "2026-03-08 00:00 UTC"),
        (&["sql", "--days", "1", "SELECT count(*) AS attempts FROM job_run"], "attempts"),
    ] {
        let said = run(words).stdout;
        for expected in [LINE, "The period ends there.", part] {
            assert!(said.contains(expected), "{words:?}: {expected} is missing in:\n{said}");
        }
        assert!(!said.contains("Nothing to show"), "{words:?}:\n{said}");
    }
}

#[test]
fn programs_are_told_where_the_period_ends() {
    for words in [&["report", "usage-by-user"][..], &["chart", "gpu-usage"], &["allocations"]] {
        let said = run(&[words, &["--format", "json"]].concat()).stdout;
        let said: Value = serde_json::from_str(&said).unwrap();
        let newest = &said["coverage"]["ends_at_newest_data"];
        assert_eq!(newest["time"], "2026-03-08T00:00:00Z", "{words:?}");
        assert!(newest["age_seconds"].as_i64() > Some(86_400), "{words:?}");
        assert_eq!(said["period"]["end"], "2026-03-08T00:00:00Z", "{words:?}");
    }
    let folder = DEMO.folder.path();
    let words = ["--data-dir", "plimsoll-demo", "export", "jobs", "--days", "0"];
    let exported = plimsoll(folder, &words);
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    assert!(exported.stderr.starts_with(LINE), "{}", exported.stderr);
    assert!(exported.stdout.lines().count() > 20);
}

#[test]
fn a_period_that_names_its_ends_stays_where_it_is() {
    for words in [
        &["report", "usage-by-user", "--from", "2026-03-05"][..],
        &["report", "usage-by-user", "--from", "2026-11-01", "--to", "2026-11-02"],
        &["heatmap", "--from", "2026-03-05", "--to", "2026-03-07"],
        &["allocations", "--at", "2026-03-07"],
        &["digest", "daily", "--from", "2026-03-06", "--to", "2026-03-07"],
        // Whether collecting works is asked about the time until now.
        &["report", "collections"],
    ] {
        let said = run(words).stdout;
        assert!(!said.contains("newest data"), "{words:?}:\n{said}");
    }
}

#[test]
fn every_page_without_a_period_shows_the_newest_days_and_says_so() {
    let server = Server::start(DEMO.folder.path(), &["--config", *SITE, "serve"]);
    for (path, part) in [
        ("/", "href=\"./users/"),
        ("/users", "href=\"./users/"),
        ("/users?days=1", "href=\"./users/"),
        ("/gpus", "<svg"),
        ("/backfill", "A100"),
        ("/jobs", "href=\"./jobs/alder/"),
        ("/allocations", "<svg"),
        ("/reports/usage-by-user", "href=\"../users/"),
        ("/users.txt", "Period: "),
        ("/users.md", "Period: "),
    ] {
        let (head, body) = server.get(path);
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        for expected in [LINE, "The period ends there.", part] {
            assert!(body.contains(expected), "{path}: {expected} is missing in:\n{body}");
        }
    }
    // The header says how old the snapshots are, as on every page.
    server.check("/nodes", "200", "(stale)");
    // Nothing leads to a time of which nothing is known.
    let (_, users) = server.get("/users");
    assert!(users.contains("title=\"earlier\"") && !users.contains("title=\"later\""), "{users}");
    let (_, health) = server.get("/health");
    assert!(!health.contains("newest data"), "{health}");
    let (_, july) = server.get("/users?from=2026-07-01&to=2026-07-02");
    assert!(!july.contains("newest data") && july.contains("Nothing to show"), "{july}");
    let (_, api) = server.get("/api/v1/reports/usage-by-user?days=1");
    let api: Value = serde_json::from_str(&api).unwrap();
    let report = &api["report"];
    assert_eq!(report["coverage"]["ends_at_newest_data"]["time"], "2026-03-08T00:00:00Z");
    assert!(report["rows"].as_array().unwrap().len() > 20);
}

/// A digest is about a whole day, week or month, and one that is sent is never an earlier one.
#[test]
fn a_digest_is_about_the_last_day_of_the_data_unless_it_is_sent() {
    let said = run(&["digest", "daily"]).stdout;
    for expected in
        ["Period: 2026-03-07 00:00 UTC to 2026-03-08 00:00 UTC", LINE, "What the clusters did"]
    {
        assert!(said.contains(expected), "{expected} is missing in:\n{said}");
    }

    let folder = DEMO.folder.path();
    let config = "data_dir = \"plimsoll-demo\"\nzone = \"UTC\"\n[mail]\nfrom = \"a@example.org\"\n\
                  server = \"mail.example.org\"\n[digest]\nto = [\"b@example.org\"]\n";
    fs::write(folder.join("mail.toml"), config).unwrap();
    let words = ["--config", "mail.toml", "digest", "daily", "--mail", "--dry-run"];
    let sent = plimsoll(folder, &words);
    assert!(sent.stdout.contains("[incomplete]"), "{}{}", sent.stdout, sent.stderr);
    assert!(!sent.stdout.contains("2026-03-07"), "{}", sent.stdout);
}

/// A history that goes on into the next week: the digest is about the week that was over.
#[test]
fn a_weekly_digest_is_about_the_last_whole_week_of_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let made = plimsoll(folder.path(), &["demo", "--days", "8", "--until", "2026-03-10"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    write_site(folder.path(), "");
    let said = plimsoll(folder.path(), &["--config", SITE_FILE, "digest", "weekly"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    for expected in [
        "Period: 2026-03-02 00:00 UTC to 2026-03-09 00:00 UTC",
        "The newest data is from 2026-03-10 00:00 UTC, ",
        "The period ends before that.",
        "What the clusters did",
    ] {
        assert!(said.stdout.contains(expected), "{expected} is missing in:\n{}", said.stdout);
    }
}

#[test]
fn nobody_is_told_of_what_was_long_ago() {
    let folder = DEMO.folder.path();
    let config = "data_dir = \"plimsoll-demo\"\nzone = \"UTC\"\n[mail]\nfrom = \"a@example.org\"\n\
                  server = \"mail.example.org\"\n[notify]\naddress = \"{user}@example.org\"\n\
                  quiet_days = []\n";
    fs::write(folder.join("letters.toml"), config).unwrap();
    let notify = |words: &[&str]| {
        plimsoll(folder, &[&["--config", "letters.toml", "notify"], words].concat())
    };
    let sent = notify(&["--send"]);
    assert_eq!(sent.status, 2);
    let expected = "error: the newest data is from 2026-03-08 00:00 UTC, ";
    assert!(sent.stderr.starts_with(expected), "{}", sent.stderr);
    let shown = notify(&[]);
    assert_eq!(shown.status, 0);
    assert!(shown.stderr.starts_with("warning: the newest data is from"), "{}", shown.stderr);
    let named = notify(&["--from", "2026-03-05", "--to", "2026-03-08"]);
    assert_eq!((named.status, named.stderr.as_str()), (0, ""));
    assert!(named.stdout.contains("@example.org"), "{}", named.stdout);
}
