//! Attempts of jobs for others: as lines, as they change, and all of a period.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::stub::{configure, program, run};

/// Two clusters that run one program each, so that both have a job 7.
const CLUSTERS: &str = r#"zone = "UTC"
[[cluster]]
name = "maple"
kind = "slurm"
[[cluster]]
name = "birch"
kind = "slurm"
[[push]]
name = "lines"
file = "pushed/jobs.ndjson"
"#;

/// A sacct that tells of job 7 in a state, which was submitted and ran today.
fn site(folder: &Path, state: &str) {
    configure(folder, CLUSTERS);
    program(folder, "scontrol", "true");
    program(folder, "squeue", "true");
    let rows = format!(
        "now=$(/bin/date +%s); day=$((now - now % 86400))\n\
         printf '7|7|ann|{state}|%s|%s|%s|0|1|name\\n' $day $day Unknown"
    );
    program(
        folder,
        "sacct",
        &format!(
            "[ \"$1\" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit\n\
             printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|JobName\\n'\n{rows}"
        ),
    );
}

fn collect(folder: &Path) -> String {
    run(folder, &["collect", "--days", "0", "--no-summary"]).stderr
}

/// The state of each document, by id, as many times as it came.
fn states(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut states: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        let word = |name: &str| document[name].as_str().unwrap().to_owned();
        let cluster_and_job = format!("{} {}", word("cluster"), word("job_id"));
        assert!(word("id").starts_with(&cluster_and_job.replace(' ', ":")));
        states.entry(cluster_and_job).or_default().push(word("state"));
    }
    states
}

fn check(text: &str, expected: &[(&str, &[&str])]) {
    let expected: BTreeMap<String, Vec<String>> = expected
        .iter()
        .map(|(id, states)| {
            ((*id).to_owned(), states.iter().map(|&state| state.to_owned()).collect())
        })
        .collect();
    assert_eq!(states(text), expected);
}

#[test]
fn what_is_new_or_changed_is_pushed_once_and_what_failed_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = folder.join("pushed/jobs.ndjson");
    site(folder, "RUNNING");
    // The folder is not there yet.
    let said = collect(folder);
    assert!(said.contains("failed: birch: push lines: cannot write"), "{said}");
    assert!(said.contains("what is left is pushed the next time"), "{said}");
    let up = |folder: &Path| run(folder, &["export", "metrics"]).stdout;
    assert!(up(folder).contains("plimsoll_push_up{cluster=\"maple\",sink=\"lines\"} 0"));

    fs::create_dir(file.parent().unwrap()).unwrap();
    collect(folder);
    let running: &[&str] = &["RUNNING"];
    check(&fs::read_to_string(&file).unwrap(), &[("birch 7", running), ("maple 7", running)]);
    let metrics = up(folder);
    assert!(metrics.contains("plimsoll_push_up{cluster=\"maple\",sink=\"lines\"} 1"));
    assert!(metrics.contains("plimsoll_push_documents_total{cluster=\"maple\",sink=\"lines\"} 1"));

    // Nothing changed.
    collect(folder);
    check(&fs::read_to_string(&file).unwrap(), &[("birch 7", running), ("maple 7", running)]);

    site(folder, "COMPLETED");
    collect(folder);
    let both: &[&str] = &["RUNNING", "COMPLETED"];
    check(&fs::read_to_string(&file).unwrap(), &[("birch 7", both), ("maple 7", both)]);

    // All of a period, as the lake has it now: on the terminal, in a file, and to the sink.
    let completed: &[&str] = &["COMPLETED"];
    let said = run(folder, &["export", "jobs", "--days", "0", "--cluster", "maple"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    check(&said.stdout, &[("maple 7", completed)]);
    run(folder, &["export", "jobs", "-o", "all.ndjson"]);
    let all = fs::read_to_string(folder.join("all.ndjson")).unwrap();
    check(&all, &[("birch 7", completed), ("maple 7", completed)]);
    let before = run(folder, &["export", "jobs", "--from", "2020-01-01", "--to", "2021-01-01"]);
    assert_eq!((before.status, before.stdout.as_str()), (0, ""));

    let said = run(folder, &["export", "jobs", "--push", "lines"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, "pushed 2 documents to lines\n"));
    let said = run(folder, &["export", "jobs", "--push", "linse"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("did you mean \"lines\"?"), "{}", said.stderr);
}
