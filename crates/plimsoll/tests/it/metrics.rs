//! `/metrics`: what the last collection saw.

use std::path::Path;

use crate::stub::{MAPLE, configure, prints, program, run};

/// A cluster that prints what a real one did.
pub(crate) fn site(folder: &Path) {
    configure(folder, MAPLE);
    program(
        folder,
        "scontrol",
        &format!(
            "case \"$*\" in\n*'show node'*) {} ;;\n*) {} ;;\nesac",
            prints("scontrol-show-node-detail.txt"),
            prints("scontrol-show-job-detail.txt")
        ),
    );
    program(folder, "squeue", &prints("squeue-collected.txt"));
    program(
        folder,
        "sacct",
        r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit
printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|JobName\n'"#,
    );
}

pub(crate) fn collect(folder: &Path) {
    let said = run(folder, &["collect", "--days", "0", "--no-summary"]);
    assert!(said.status <= 1, "{}", said.stderr);
}

/// The metrics without comments, and without those that differ from run to run.
fn numbers(folder: &Path, words: &[&str]) -> Vec<String> {
    let said = run(folder, &[&["export", "metrics"], words].concat());
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let changing =
        ["_timestamp_seconds", "_age_seconds", "_duration_seconds", "_busy_seconds_total"];
    said.stdout
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter(|line| {
            let name = line.split(['{', ' ']).next().unwrap();
            !changing.iter().any(|end| name.ends_with(end))
        })
        .map(str::to_owned)
        .collect()
}

fn check(lines: &[String], name: &str, expected: &[&str]) {
    let found: Vec<&str> = lines
        .iter()
        .filter(|line| line.split(['{', ' ']).next() == Some(name))
        .map(String::as_str)
        .collect();
    assert_eq!(found, expected, "{name}");
}

/// Twelve nodes, of which six take jobs: the first six.
#[test]
fn nodes_and_metrics_count_the_same_nodes_as_usable() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let states = [
        "IDLE",
        "MIXED",
        "ALLOCATED+COMPLETING",
        "IDLE~",
        "IDLE+RESERVED",
        "IDLE+PLANNED",
        "IDLE+DRAIN",
        "DOWN*",
        "MAINT+RESERVED",
        "IDLE%",
        "IDLE+BLOCKED",
        "DOWN^",
    ];
    let lines: Vec<String> = states
        .iter()
        .zip(1..)
        .map(|(state, number)| {
            format!("echo 'NodeName=n{number} CPUTot=8 CPUAlloc=0 State={state}'")
        })
        .collect();
    program(
        folder.path(),
        "scontrol",
        &format!("case \"$*\" in\n*'show node'*) {} ;;\n*) : ;;\nesac", lines.join("; ")),
    );
    collect(folder.path());
    check(
        &numbers(folder.path(), &[]),
        "plimsoll_nodes_usable",
        &["plimsoll_nodes_usable{cluster=\"maple\"} 6"],
    );
    let said = run(folder.path(), &["nodes"]);
    assert!(said.stdout.contains("maple in all: 6 of 12 nodes usable"), "{}", said.stdout);
}

#[test]
fn a_recorded_cluster_is_counted_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    collect(folder.path());
    let lines = numbers(folder.path(), &[]);
    check(&lines, "plimsoll_up", &["plimsoll_up{cluster=\"maple\"} 1"]);
    // By `CPUAlloc`, `CPUTot` and `State` of the recording: 4 + 6 + 1 + 16 held; free on cpu01 4, cpu03
    // 8, gpu01 10, mix01 16; 8 each on cpu02, cpu04 and ghost01; 15 on gpu02, which drains. cpu03 is in a
    // reservation that SLURM 22.05 does not name.
    check(
        &lines,
        "plimsoll_cpus",
        &[
            "plimsoll_cpus{cluster=\"maple\",reservation=\"\",state=\"allocated\"} 27",
            "plimsoll_cpus{cluster=\"maple\",reservation=\"\",state=\"down\"} 8",
            "plimsoll_cpus{cluster=\"maple\",reservation=\"\",state=\"drained\"} 8",
            "plimsoll_cpus{cluster=\"maple\",reservation=\"\",state=\"draining\"} 15",
            "plimsoll_cpus{cluster=\"maple\",reservation=\"\",state=\"idle\"} 30",
            "plimsoll_cpus{cluster=\"maple\",reservation=\"\",state=\"unknown\"} 8",
            "plimsoll_cpus{cluster=\"maple\",reservation=\"unknown\",state=\"idle\"} 8",
        ],
    );
    // gpu01 2 of 4, gpu02 1 of 4 and draining, mix01 0 of 1; gpu03 2 of 2, mix01 0 of 1.
    check(
        &lines,
        "plimsoll_gpus",
        &[
            "plimsoll_gpus{cluster=\"maple\",reservation=\"\",model=\"a100\",state=\"allocated\"} 3",
            "plimsoll_gpus{cluster=\"maple\",reservation=\"\",model=\"a100\",state=\"draining\"} 3",
            "plimsoll_gpus{cluster=\"maple\",reservation=\"\",model=\"a100\",state=\"idle\"} 3",
            "plimsoll_gpus{cluster=\"maple\",reservation=\"\",model=\"h100\",state=\"allocated\"} 2",
            "plimsoll_gpus{cluster=\"maple\",reservation=\"\",model=\"h100\",state=\"idle\"} 1",
        ],
    );
    // The array of 100 tasks waits for its time, as another job does.
    check(
        &lines,
        "plimsoll_waiting_jobs",
        &[
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"BeginTime\"} 101",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"Dependency\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"DependencyNeverSatisfied\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"JobHeldUser\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"PartitionDown\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"Priority\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"ReqNodeNotAvail\"} 2",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"Resources\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"job requeued in held state\"} 1",
            "plimsoll_waiting_jobs{cluster=\"maple\",reason=\"none\"} 1",
        ],
    );
    let lines = numbers(folder.path(), &["--names", "vpenso"]);
    // As sinfo counts: what is free on ghost01, of which the controller knows nothing, is idle.
    check(&lines, "slurm_cpus_other", &["slurm_cpus_other 31"]);
    check(&lines, "slurm_queue_pending", &["slurm_queue_pending 111"]);
    let said = run(folder.path(), &["export", "metrics", "--names", "sckyzo"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("there are vpenso, rivosinc, origin"), "{}", said.stderr);
}

#[test]
fn before_the_first_collection_there_is_nothing_to_show() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let said = run(folder.path(), &["export", "metrics"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, ""));
    let said = run(folder.path(), &["export", "metrics", "--names", "vpenso"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("`plimsoll collect` looks"), "{}", said.stderr);
}
