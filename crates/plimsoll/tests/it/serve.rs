//! The web pages: the same numbers as on the command line, and clear refusals.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use lake::Lake;
use record::{Job, Record};
use serde_json::Value;

use crate::demo::DEMO;
use crate::program::plimsoll;
use crate::server::Server;

/// A server of the demo.
fn serve(folder: &Path) -> Server {
    Server::start(folder, &["--data-dir", "plimsoll-demo", "serve"])
}

/// The demo's days.
const PERIOD: &str = "from=2026-03-01&to=2026-03-09";

#[test]
fn every_page_is_served_and_mistakes_are_told() {
    let folder = DEMO.folder.path();
    let server = serve(folder);
    for (path, part) in [
        ("/", "href=\"./jobs?from=2026-03-01&amp;to=2026-03-09\""),
        ("/jobs", "href=\"./jobs/alder/"),
        ("/users", "How well did each user use their GPUs?"),
        ("/groups", "ungrouped"),
        ("/accounts", "href=\"./accounts/"),
        ("/nodes", "href=\"./nodes/alder/"),
        ("/nodes", "href=\"./nodes/tamarack/gpu2001.tamarack.example.org?"),
        ("/gpus", "<svg"),
        ("/gpus", "href=\"./gpus/Shared?from=2026-03-01"),
        ("/gpus/Shared", "href=\"../nodes/alder/"),
        ("/backfill", "What a job of yours can expect"),
        ("/queue", "Who waits for what"),
        ("/reports", "href=\"./reports/usage-by-user?from=2026-03-01"),
        ("/reports/daily", "href=\"../jobs?from="),
        ("/health", "squeue"),
        ("/definitions", "job_run"),
    ] {
        server.check(&format!("{path}?{PERIOD}"), "200", part);
    }
    server.check("/reports/usage-by-usr", "404", "did you mean");
    server.check("/reports/daily?cluster=%3Cscript%3E", "404", "&lt;script&gt;");
    server.check("/reports/jobs?name=%3Cscript%3E", "200", "value=\"&lt;script&gt;\"");
    server.check("/reports/daily?dayz=9", "400", "has no &quot;dayz&quot;");
    server.check("/reports/daily?days=30000", "400", "longer than 3660 days");
    server.check("/gpus?color=blue", "400", "There is no color");
    server.check("/gpus/Interactive", "200", "No GPU of it was seen in this time.");
    server.check("/nowhere", "404", "There is no such page");
}

/// The buttons above a page. Six hours and a day are no whole days of the calendar, so that attempts are read.
#[test]
fn every_page_is_served_for_every_preset() {
    let server = serve(DEMO.folder.path());
    for path in [
        "/",
        "/jobs",
        "/users",
        "/users/esantos",
        "/groups",
        "/accounts",
        "/accounts/group_open",
        "/nodes",
        "/nodes/alder/c001",
        "/gpus",
        "/gpus/Shared",
        "/backfill",
        "/queue",
    ] {
        for preset in ["hours=6", "hours=24", "days=7", "days=30"] {
            server.check(&format!("{path}?{preset}"), "200", "</html>");
        }
    }
}

#[test]
fn an_address_to_keep_has_only_what_was_chosen() {
    let server = serve(DEMO.folder.path());
    let (head, _) = server.get("/jobs?user=ann&state=&from=&days=7");
    assert!(head.starts_with("HTTP/1.1 303 "), "{head}");
    assert!(head.contains("location: ?days=7&user=ann"), "{head}");
}

#[test]
fn style_and_script_are_kept_by_their_content() {
    let server = serve(DEMO.folder.path());
    let (_, page) = server.get("/definitions");
    for (before, media_type) in
        [("href=\"./asset/", "text/css"), ("src=\"./asset/", "text/javascript")]
    {
        let name = page.split_once(before).unwrap().1.split_once('"').unwrap().0;
        let (head, body) = server.get(&format!("/asset/{name}"));
        assert!(head.contains(media_type) && head.contains("immutable"), "{head}");
        assert!(!body.is_empty());
    }
    server.check("/asset/0.css", "404", "load the page again");
    assert!(
        !page.contains(" style=") && !page.contains("<style"),
        "the policy allows no such style"
    );
}

#[test]
fn programs_get_pages_of_rows_and_are_told_their_mistakes() {
    let server = serve(DEMO.folder.path());
    let get = |path: &str| {
        let (head, body) = server.get(path);
        (head, serde_json::from_str::<Value>(&body).unwrap())
    };
    let (_, first) = get(&format!("/api/v1/reports/usage-by-user?{PERIOD}&limit=3"));
    assert_eq!(first["report"]["rows"].as_array().unwrap().len(), 3);
    assert_eq!(first["paging"]["next_offset"], 3);
    let (_, second) = get(&format!("/api/v1/reports/usage-by-user?{PERIOD}&limit=2&offset=1"));
    assert_eq!(second["report"]["rows"][0], first["report"]["rows"][1]);
    let (head, problem) = get("/api/v1/reports/jobs?limit=0");
    assert!(head.contains("application/problem+json"), "{head}");
    assert_eq!(problem["detail"], "limit \"0\" is no number from 1 to 10000");
    assert_eq!(get("/api/v1/reports/nothing").1["status"], 404);
    assert_eq!(get("/api/v1/now/nodes?user=ann").1["status"], 400);
    for (path, detail) in [
        ("reports/jobs?user=wlii", "There is no user \"wlii\". Did you mean \"wli\"?"),
        ("reports/jobs?state=FAILD", "There is no state \"FAILD\". Did you mean \"FAILED\"?"),
        ("reports/daily?cluster=aldr", "There is no cluster \"aldr\". Did you mean \"alder\"?"),
        ("now/nodes?cluster=aldr", "There is no cluster \"aldr\". Did you mean \"alder\"?"),
    ] {
        let (_, problem) = get(&format!("/api/v1/{path}&{PERIOD}"));
        assert_eq!((&problem["status"], &problem["detail"]), (&404.into(), &detail.into()));
    }
    assert_eq!(get("/api/v1/openapi.json").1["openapi"], "3.1.0");
    assert_eq!(get("/api/v1/now/clusters").1["paging"]["total"], 2);
}

/// What the demo's last moment showed is long ago, and is said to be.
#[test]
fn metrics_are_served_for_whoever_asks_as_they_ask() {
    let server = serve(DEMO.folder.path());
    server.check("/metrics", "200", "# TYPE plimsoll_cpus gauge\nplimsoll_cpus{cluster=\"alder\"");
    let (head, body) = server.get("/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(!body.contains("# EOF"));
    let stale = body.lines().filter(|line| line.starts_with("plimsoll_up{"));
    assert!(stale.clone().count() == 2 && stale.clone().all(|line| line.ends_with(" 0")));
    server.check("/metrics/vpenso", "200", "slurm_nodes_idle ");
    server.check("/metrics/vpenso?cluster=none", "404", "nothing was seen of a cluster");
    server.check("/metrics/prometheus", "404", "no metrics in the names of");
    server.check("/metrics/rivosinc?cluster=alder", "200", "slurm_node_count_per_state{");
    server.check("/metrics/origin", "200", "slurm_gpus_alloc{type=");
}

#[test]
fn the_web_says_what_the_command_line_says() {
    let folder = DEMO.folder.path();
    let server = serve(folder);
    let (_, served) = server.get(&format!("/reports/usage-by-user.csv?{PERIOD}"));
    let said = plimsoll(
        folder,
        &[
            "--data-dir",
            "plimsoll-demo",
            "report",
            "usage-by-user",
            "--from",
            "2026-03-01",
            "--to",
            "2026-03-09",
            "--format",
            "csv",
        ],
    );
    assert_eq!(served, said.stdout);
    assert!(served.lines().count() > 20);
}

#[test]
fn a_site_that_leads_a_browser_here_reads_nothing() {
    let server = serve(DEMO.folder.path());
    let (head, _) = server.ask("GET /", &[], "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 ") && !answer.contains("alder"), "{answer}");
}

/// Whatever users call their jobs, themselves and their accounts, it is shown and never run.
#[tokio::test]
async fn a_job_called_script_is_only_a_name() {
    const NAME: &str = "<script>alert('&')</script>";
    let demo = Lake::open(&DEMO.folder.path().join("plimsoll-demo")).unwrap();
    let file = demo.files(&Job::TABLE, &demo.trackers().await.unwrap()).await.unwrap().remove(0);
    let mut job = demo.read::<Job>(&file.cluster, &file.meta.location).await.unwrap().remove(0);
    for word in [&mut job.job_name, &mut job.user, &mut job.account, &mut job.end_reason] {
        *word = Some(NAME.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(&folder.path().join("plimsoll-demo")).unwrap();
    let mut writer = lake.writer(&file.cluster).await.unwrap();
    writer.upsert(&[job.clone()]).await.unwrap();
    writer.finish().await.unwrap();
    let server = serve(folder.path());
    let one = format!("/jobs/{}/{}", file.cluster, job.job_id);
    for path in ["/jobs", "/users", "/accounts", "/reports/usage-by-user", &one] {
        let (_, body) = server.get(&format!("{path}?{PERIOD}"));
        assert!(body.contains("&lt;script&gt;alert("), "{path}: {body}");
        assert!(!body.contains("<script>alert"), "{path}: {body}");
    }
}

/// The rows of a report, by the command line.
fn rows(folder: &Path, report: &[&str]) -> Vec<Value> {
    let period = ["--from", "2026-03-01", "--to", "2026-03-09", "--format", "json"];
    let said = plimsoll(folder, &[&["report"][..], report, &period].concat());
    let report: Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
    report["rows"].as_array().unwrap().clone()
}

/// A page shows 40 rows of the survival report, which are not all.
#[test]
fn the_survival_chart_draws_every_model_however_few_rows_the_page_shows() {
    let folder = DEMO.folder.path();
    let report = rows(&folder.join("plimsoll-demo"), &["backfill-survival"]);
    let models: BTreeSet<&str> = report.iter().filter_map(|row| row["by"].as_str()).collect();
    assert!(report.len() > 40 && models.len() > 5, "{} rows of {models:?}", report.len());
    let server = Server::start(&folder.join("plimsoll-demo"), &["serve"]);
    let (_, page) = server.get(&format!("/backfill?{PERIOD}"));
    let (_, chart) = page.split_once("class=\"curve\"").expect(&page);
    for model in models {
        assert!(chart.contains(&format!("<title>{model}, 1 h: ")), "{model} has no curve");
    }
    // Each eviction is a step down, and there are more than there are round times.
    let shape = chart.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(shape.matches('V').count() > 16 && !shape.contains('L'), "{shape}");
}

#[test]
fn the_gpu_page_filters_its_tables_as_its_pictures() {
    let folder = &DEMO.folder.path().join("plimsoll-demo");
    let server = Server::start(folder, &["serve"]);
    let machines = rows(folder, &["gpu-machines"]);
    let machine = machines.iter().find(|row| row["device"] == "A40").expect("the demo has an A40");
    let machine = machine["by"].as_str().unwrap();
    for filter in [["host", machine], ["model", "A40"], ["host-pattern", "^gpu"]] {
        let [name, value] = filter;
        let path = format!("/gpus.json?{PERIOD}&{name}={value}");
        let reports: Vec<Value> = serde_json::from_str(&server.get(&path).1).unwrap();
        let option = format!("--{name}");
        for (shown, words) in reports.iter().zip([
            &["gpu-usage"][..],
            &["gpu-usage", "--by", "device"],
            &["gpu-users"],
        ]) {
            let shown = shown["rows"].as_array().unwrap();
            assert_eq!(*shown, rows(folder, &[words, &[&option, value]].concat()), "{path}");
            assert_ne!(*shown, rows(folder, words), "{path} is not filtered");
        }
    }
    server.check(&format!("/queue?{PERIOD}&user=wli"), "200", "Not filtered by user.");
    server.check(&format!("/gpus?{PERIOD}&host-pattern=("), "400", "is no regular expression");
}

#[test]
fn an_unknown_name_is_not_found_and_another_is_suggested() {
    let folder = &DEMO.folder.path().join("plimsoll-demo");
    let server = Server::start(folder, &["serve"]);
    for (path, words) in [
        ("/users/wlii", "There is no user &quot;wlii&quot;. Did you mean &quot;wli&quot;?"),
        ("/accounts/astrology", "Did you mean &quot;astro&quot;?"),
        ("/groups/genomic", "Did you mean &quot;genomics&quot;?"),
        ("/nodes/alder/c0001", "Did you mean &quot;c001&quot;?"),
        ("/nodes/aldr/c001", "Did you mean &quot;alder&quot;?"),
        ("/jobs/alder/999999999", "There is no job"),
        ("/gpus/Sharedd", "Did you mean &quot;Shared&quot;?"),
        ("/gpus?host=nothing", "There is no host"),
        ("/gpus?model=Z9000", "There is no model"),
        ("/jobs?user=wlii", "Did you mean &quot;wli&quot;?"),
        ("/users?partition=gpuu", "Did you mean &quot;gpu&quot;?"),
        ("/gpus?gpu=nothing", "There is no gpu"),
        ("/gpus.json?gpu=nothing", "There is no gpu"),
        ("/jobs?state=FAILD", "Did you mean &quot;FAILED&quot;?"),
        ("/jobs?state=faild", "Did you mean &quot;FAILED&quot;?"),
        ("/jobs?state=nonsense", "Known are PENDING, CONFIGURING, RUNNING"),
        ("/users?cluster=aldr", "Did you mean &quot;alder&quot;?"),
    ] {
        let sign = if path.contains('?') { '&' } else { '?' };
        server.check(&format!("{path}{sign}{PERIOD}"), "404", words);
    }
    // A name that is known has a page, though nothing of it was in this time.
    server.check(&format!("/jobs?state=boot_fail&{PERIOD}"), "200", "boot_fail");
    server.check("/users/wli?from=2026-01-01&to=2026-01-02", "200", "wli");
    server.check("/reports/job", "200", "name=\"job\"");
    server.check("/reports/job", "200", "This report is about one job.");
    let (head, _) = server.get("/reports/job.json");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

#[test]
fn a_state_is_chosen_in_any_case_of_letters() {
    let folder = &DEMO.folder.path().join("plimsoll-demo");
    let failed = rows(folder, &["jobs", "--state", "failed"]);
    assert!(failed.len() == 50 && failed.iter().all(|row| row["state"] == "FAILED"));
    assert_eq!(failed, rows(folder, &["jobs", "--state", "FAILED"]));
}

/// The lake stores what the site calls its classes. The server has no configuration, and no GPU was seen.
#[tokio::test]
async fn a_class_of_the_stored_policy_has_a_page_without_any_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(&folder.path().join("data")).unwrap();
    let policy = query::Judgement {
        class_names: vec![("Interactive".to_owned(), "Lab".to_owned())],
        ..query::Judgement::default()
    };
    let time = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut writer = lake.writer("pool").await.unwrap();
    writer.upsert(&query::policy_rows(&policy, "pool", "collect", time, time)).await.unwrap();
    writer.finish().await.unwrap();
    let server = Server::start(folder.path(), &["serve"]);
    server.check("/gpus/lab?days=7", "200", "No GPU of it was seen in this time.");
    server.check("/gpus/Interactive?days=7", "404", "There is no class");
    server.check("/gpus/Labb?days=7", "404", "Did you mean &quot;Lab&quot;?");
}

/// Whatever a site calls its classes, each has a page that says what reports say of it.
#[test]
fn a_class_has_a_page_that_says_what_reports_say() {
    const OPEN: &str = "../ours / <i>&?#%2F";
    let folder = tempfile::tempdir().unwrap();
    let demo = DEMO.folder.path().join("plimsoll-demo");
    let text = format!("data_dir = {demo:?}\nzone = \"UTC\"\n[gpu.classes]\nShared = {OPEN:?}\n");
    fs::write(folder.path().join("plimsoll.toml"), text).unwrap();
    let server = Server::start(folder.path(), &["serve"]);
    for (class, address) in [
        (OPEN, "gpus/..%2Fours%20%2F%20%3Ci%3E%26%3F%23%252F"),
        ("Backfill-ResearcherOwned", "gpus/Backfill-ResearcherOwned"),
    ] {
        server.check(&format!("/gpus?{PERIOD}"), "200", &format!("href=\"./{address}?from="));
        let (_, page) = server.get(&format!("/{address}?{PERIOD}"));
        let escaped = class.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(page.contains(&format!("<h1>Class {escaped}</h1>")), "{page}");
        assert!(page.contains("<svg") && !page.contains("<i>"), "{page}");

        let (_, reports) = server.get(&format!("/{address}.json?{PERIOD}"));
        let reports: Vec<Value> = serde_json::from_str(&reports).unwrap();
        let asked = [
            &["gpu-usage"][..],
            &["gpu-timeseries", "--step", "day"],
            &["gpu-usage", "--by", "device"],
            &["gpu-usage", "--by", "machine"],
            &["gpu-users"],
        ];
        assert_eq!(reports.len(), asked.len());
        for (shown, asked) in reports.iter().zip(asked) {
            let shown = shown["rows"].as_array().unwrap().clone();
            assert_eq!(shown, rows(folder.path(), &[asked, &["--class", class]].concat()));
            // Shares are of what a table shows: of one class, or of all.
            let without_shares = |mut rows: Vec<Value>| {
                rows.retain(|row| row["class"] == class);
                for row in &mut rows {
                    row.as_object_mut().unwrap().remove("share");
                }
                rows
            };
            let of_all = without_shares(rows(folder.path(), asked));
            assert!(!of_all.is_empty(), "{asked:?} has no {class}");
            assert_eq!(without_shares(shown), of_all, "{asked:?}");
        }
    }
}
