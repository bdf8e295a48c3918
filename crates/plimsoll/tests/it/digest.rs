//! The digest of the demo: the same numbers as the reports, in every format.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use crate::demo::DEMO;
use crate::program::{Said, plimsoll};

const PERIOD: [&str; 4] = ["--from", "2026-03-05", "--to", "2026-03-08"];

fn run(words: &[&str]) -> Said {
    let mut all = vec!["--config", "plimsoll-demo/plimsoll.toml"];
    all.extend(words);
    plimsoll(DEMO.folder.path(), &all)
}

/// The digest of the demo's three days in a format, made once.
fn digest(format: &str) -> &'static str {
    static DIGESTS: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
        let made = ["text", "markdown", "html"].map(|format| {
            let said = run(&[&["digest", "weekly", "--format", format][..], &PERIOD].concat());
            assert_eq!((said.status, said.stderr.as_str()), (0, ""));
            (format, said.stdout)
        });
        made.into()
    });
    &DIGESTS[format]
}

/// The rows of a table of Markdown below a heading, their cells as they are shown.
fn rows(markdown: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, below) = markdown.split_once(&format!("\n## {heading}\n\n")).unwrap_or_else(|| {
        panic!("there is no {heading:?} in:\n{markdown}");
    });
    let lines = below.lines().take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows: Vec<Vec<String>> = lines.map(cells).collect();
    rows.remove(1); // the line between
    rows
}

/// Every number of a section is the one of the report, in the column of the same heading.
#[test]
fn its_numbers_are_those_of_the_reports() {
    let markdown = digest("markdown");
    for (heading, report, top) in [
        ("What the clusters did", &["cluster-summary"][..], 9),
        ("How much of the GPUs was used", &["gpu-usage"], 99),
        ("GPUs by memory", &["gpu-usage", "--by", "memory"], 99),
        ("GPUs by tier", &["gpu-usage", "--by", "tier"], 99),
        ("GPUs by model", &["gpu-usage", "--by", "device"], 99),
        ("Who held H200", &["gpu-users", "--device", "H200"], 25),
        ("Who held GPUs on backfill", &["backfill-users"], 40),
        ("What backfill gave, and what it cost", &["backfill-summary", "--by", "class"], 99),
        ("Who used how much, and how well", &["usage-by-user"], 15),
        ("How well jobs used what they held", &["efficiency"], 99),
        ("Who held what they did not use", &["wasters"], 10),
        ("What is left of what was granted", &["allocations"], 99),
    ] {
        let words = [&["report"], report, &PERIOD, &["--format", "markdown"]].concat();
        let alone = run(&words).stdout;
        let title = alone.lines().next().unwrap().trim_start_matches("## ");
        let alone = rows(&format!("\n{alone}"), title);
        let shown = rows(markdown, heading);
        assert_eq!(shown.len(), (top + 1).min(alone.len()), "{heading}");
        assert!(shown.len() > 1, "{heading}");
        for (place, name) in shown[0].iter().enumerate() {
            let Some(other) = alone[0].iter().position(|it| it == name) else {
                assert!(
                    ["before", "change %", "change (points)"].contains(&name.as_str()),
                    "{heading}: {name}"
                );
                continue;
            };
            for (row, expected) in shown.iter().zip(&alone) {
                assert_eq!(row[place], expected[other], "{heading}: {name}");
            }
        }
    }
}

#[test]
fn a_dry_run_shows_the_email_as_its_reader_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "data_dir = {:?}\nzone = \"UTC\"\n[mail]\nserver = \"localhost:25\"\nfrom = \"hpc@example.org\"\n\
         [digest]\ntitle = \"Zürich\"\nto = [\"ann@example.org\"]\n",
        DEMO.folder.path().join("plimsoll-demo")
    );
    fs::write(folder.path().join("plimsoll.toml"), text).unwrap();
    let said = plimsoll(
        folder.path(),
        &[&["digest", "weekly", "--mail", "--dry-run"][..], &PERIOD].concat(),
    );
    assert_eq!(said.status, 0, "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[..2], ["From: hpc@example.org", "To: ann@example.org"]);
    assert!(
        lines[2].starts_with("Subject: Zürich, weekly 2026-03-05 to 2026-03-07"),
        "{}",
        lines[2]
    );
    // The whole text as the command line shows it: no encoding, no boundaries, no folded lines.
    let shown = plimsoll(folder.path(), &[&["digest", "weekly"][..], &PERIOD].concat()).stdout;
    assert!(said.stdout.contains(shown.trim_end()), "{}", said.stdout);
    assert!(!said.stdout.contains("Content-Transfer-Encoding"));
}

/// What stands beside a number is what the report of the days before says.
#[test]
fn what_was_before_is_what_the_report_of_the_time_before_says() {
    let words =
        ["digest", "daily", "--from", "2026-03-06", "--to", "2026-03-07", "--format", "markdown"];
    let shown = rows(&run(&words).stdout, "What the clusters did");
    let words =
        ["report", "cluster-summary", "--from", "2026-03-05", "--to", "2026-03-06", "--format"];
    let before = rows(
        &format!("\n{}", run(&[&words[..], &["markdown"]].concat()).stdout),
        "What did each cluster do?",
    );
    let place =
        |rows: &[Vec<String>], name: &str| rows[0].iter().position(|it| it == name).unwrap();
    let (jobs, jobs_before) = (place(&shown, "Jobs"), place(&before, "Jobs"));
    assert_eq!(shown[0][jobs + 1..jobs + 3], ["before", "change %"]);
    for (row, earlier) in shown.iter().zip(&before).skip(1) {
        assert_eq!(row[jobs + 1], earlier[jobs_before]);
        let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
        let (is, was) = (number(&row[jobs]), number(&row[jobs + 1]));
        assert_eq!(row[jobs + 2], format!("{:.1}", 100.0 * (is - was) / was));
    }
}

#[test]
fn it_is_as_it_was_in_every_format() {
    insta::assert_snapshot!("digest_text", digest("text"));
    insta::assert_snapshot!("digest_markdown", digest("markdown"));
    insta::assert_snapshot!("digest_html", without_drawings(digest("html")));
}

/// Pictures have snapshots of their own.
fn without_drawings(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, drawing)) = rest.split_once("<svg") {
        let (_, after) = drawing.split_once("</svg>").unwrap();
        text += before;
        text += "<svg/>";
        rest = after;
    }
    text + rest
}

#[test]
fn a_page_loads_and_runs_nothing() {
    let html = digest("html");
    for wrong in [
        "<script",
        "<link",
        "<iframe",
        "javascript:",
        " onload",
        " onerror",
        "http://",
        "https://",
        "url(h",
    ] {
        // The names of SVG's own language are no addresses to load.
        let html = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!html.contains(wrong), "{wrong}");
    }
    assert!(html.contains("<svg") && html.contains("aria-label=\""));
}

#[test]
fn a_period_that_is_not_all_collected_is_marked() {
    let words = ["digest", "weekly", "--from", "2026-03-02", "--to", "2026-03-09"];
    let said = run(&words);
    assert!(said.stdout.contains("warning: This period is incomplete"), "{}", said.stdout);
    assert!(said.stdout.contains("alder: 3 of 7 days are collected"), "{}", said.stdout);
    assert!(said.stderr.contains("the period is incomplete: alder"), "{}", said.stderr);
}

/// At a site of which only jobs are kept there are no sections about what GPUs did, nor about
/// allocations where none are granted.
#[test]
fn what_a_site_does_not_have_is_left_out() {
    let site = tempfile::tempdir().unwrap();
    for table in ["job", "job_day", "node_day"] {
        let part = format!("processed/{table}/cluster=alder");
        copy(&DEMO.folder.path().join("plimsoll-demo").join(&part), &site.path().join(&part));
    }
    let words = [&["--data-dir", ".", "digest", "weekly"][..], &PERIOD].concat();
    let said = plimsoll(site.path(), &words);
    assert_eq!(said.status, 0, "{}", said.stderr);
    for heading in ["What the clusters did", "Who used how much", "How long jobs waited"] {
        assert!(said.stdout.contains(heading), "no {heading} in:\n{}", said.stdout);
    }
    for heading in ["GPUs was used", "GPUs by", "ackfill", "Nodes", "granted", "Nothing to show"] {
        assert!(!said.stdout.contains(heading), "{heading} in:\n{}", said.stdout);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

#[test]
fn pdf_without_a_browser_says_what_to_do() {
    let said = run(&[&["digest", "daily", "-o", "day.pdf"][..], &PERIOD].concat());
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("apt-get install chromium"), "{}", said.stderr);
    assert!(!Path::new(DEMO.folder.path()).join("day.pdf").exists());
    let left = fs::read_dir(DEMO.folder.path()).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    assert!(!names.into_iter().any(|name| name.contains("day.pdf")));
}

#[test]
fn nothing_is_mailed_without_somebody_to_mail_to() {
    let said = run(&["digest", "daily", "--mail"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("nobody gets it"), "{}", said.stderr);
}

/// Letters to nobody, since there is no address; the list is for staff all the same.
#[test]
fn who_would_get_a_letter_is_listed_by_the_rules() {
    let folder = DEMO.folder.path();
    let rule = "\
data_dir = \"plimsoll-demo\"\nzone = \"UTC\"\n[[notify.rule]]\nname = \"cpu\"\nreport = \"wasters\"
amount = \"cpu_hours_wasted\"\nfloor = 20\nshare = \"cpu_share\"\nratio = 0.3\nwords = \"{amount}\"\n";
    fs::write(folder.join("notify.toml"), rule).unwrap();
    let words =
        [&["--config", "notify.toml", "notify", "--csv", "waste.csv"][..], &PERIOD].concat();
    let said = plimsoll(folder, &words);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.ends_with("Nothing was sent: --send sends the letters.\n"));
    let report = run(&[&["report", "wasters", "--format", "json"][..], &PERIOD].concat()).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let wasted = report["rows"].as_array().unwrap().iter().filter(|row| {
        row["cpu_hours_wasted"].as_f64() >= Some(20.0) && row["cpu_share"].as_f64() >= Some(30.0)
    });
    let mut expected: Vec<&str> = wasted.map(|row| row["user"].as_str().unwrap()).collect();
    expected.sort_unstable();
    let list = fs::read_to_string(folder.join("waste.csv")).unwrap();
    let cpu = list.lines().skip(1).filter(|line| line.contains(",cpu,"));
    let users: Vec<&str> = cpu.map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(users, expected);
    assert!(!users.is_empty() && list.contains("no address"));
}
