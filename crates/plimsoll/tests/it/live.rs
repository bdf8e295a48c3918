//! `current` and `nodes`, on what a real SLURM and a real HTCondor printed.

use std::path::Path;

use serde_json::Value;

use crate::program::plimsoll;
use crate::stub::{MAPLE, configure, prints, program, run};

fn slurm(folder: &Path) {
    program(folder, "squeue", &prints("squeue-current.psv"));
    program(
        folder,
        "scontrol",
        &format!(
            "case \"$*\" in\n*config*) {} ;;\n*) {} ;;\nesac",
            prints("scontrol-show-config.txt"),
            prints("scontrol-show-node-detail.txt")
        ),
    );
}

#[test]
fn who_holds_what_is_the_answer_to_no_command_at_all() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    let said = run(folder.path(), &["current", "--format", "csv"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    // By hand from the recording: bob's job 100 has gpu03 whole, 16 CPUs; carol's two have 4 + 1.
    assert_eq!(
        said.stdout.lines().take(4).collect::<Vec<_>>(),
        [
            "cluster,user,partition,running_jobs,running_cpus,running_nodes,running_gpus,\
             pending_jobs,pending_cpus,pending_nodes,pending_gpus",
            "maple,bob,gpu,1,16,1,2,0,0,0,0",
            "maple,carol,gpu,2,5,2,3,2,2,2,4",
            "maple,alice,cpu,1,4,1,0,7,7,7,0",
        ]
    );
    let text = run(folder.path(), &[]);
    assert_eq!((text.status, text.stderr.as_str()), (0, ""));
    assert!(text.stdout.starts_with("Who holds what right now"), "{}", text.stdout);
    assert!(text.stdout.contains("\nAs of 20"), "{}", text.stdout);
    assert!(
        text.stdout.contains(
            "maple in all: 5 jobs hold 27 CPUs and 5 GPUs on 4 nodes; 111 wait for 175 CPUs and 4 GPUs."
        ),
        "{}",
        text.stdout
    );
}

#[test]
fn without_a_configuration_the_cluster_here_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    let said = run(folder.path(), &["current", "--format", "csv"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    // The controller says what it is called.
    assert!(said.stdout.contains("\nmaple,bob,gpu,1,"), "{}", said.stdout);
    let other = run(folder.path(), &["current", "--cluster", "oak"]);
    assert_eq!(other.status, 2);
    assert!(
        other.stderr.contains("the cluster here is \"maple\", not \"oak\""),
        "{}",
        other.stderr
    );
}

#[test]
fn without_a_scheduler_the_way_to_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&[][..], &["current"], &["nodes"]] {
        let said = plimsoll(folder.path(), words);
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{words:?}");
        assert!(
            said.stderr.contains(
                "neither squeue nor condor_status is installed here; `plimsoll init` writes"
            ),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn each_node_is_shown_with_what_is_in_use_and_why_it_is_away() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    let said = run(folder.path(), &["nodes", "--format", "json"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let node = |name: &str| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["node"] == name).unwrap().clone()
    };
    let gpu01 = node("gpu01");
    assert_eq!((&gpu01["cpus_used"], &gpu01["cpus"]), (&6.into(), &16.into()));
    assert_eq!((&gpu01["gpus_used"], &gpu01["gpus"]), (&2.into(), &4.into()));
    assert_eq!(gpu01["gpu_models"], "a100 2/4");
    assert_eq!(gpu01["reason"], Value::Null);
    // 64000 MiB
    assert_eq!(gpu01["memory"], 67_108_864_000.0);
    let cpu02 = node("cpu02");
    assert_eq!(
        (&cpu02["state"], &cpu02["reason"], &cpu02["reason_user"]),
        (&"IDLE+DRAIN".into(), &"firmware upgrade".into(), &"root".into())
    );
    let notes = report["notes"].to_string();
    assert!(notes.contains("maple in all: 5 of 9 nodes usable"), "{notes}");
}

/// One HTCondor pool that runs here.
const POOL: &str = "[[cluster]]\nname = \"pool\"\nkind = \"htcondor\"\n";

/// The pool as it was recorded: its machines at its begin, its queues at its end.
fn htcondor(folder: &Path) {
    let recorded = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/htcondor").join(name);
        format!("/bin/cat '{}'", path.display())
    };
    program(
        folder,
        "condor_status",
        &format!(
            "case \"$*\" in\n*-any*) {} ;;\n*) {} ;;\nesac",
            recorded("2026-11-15T034635Z/status_schedd.json"),
            recorded("2026-11-15T031205Z/status.json")
        ),
    );
    program(
        folder,
        "condor_q",
        &format!(
            "case \"$*\" in\n*ap2001*) {} ;;\n*ap2002*) {} ;;\n*) exit 1 ;;\nesac",
            recorded("2026-11-15T034635Z/q_ap2001.json"),
            recorded("2026-11-15T034635Z/q_ap2002.json")
        ),
    );
}

#[test]
fn the_jobs_of_a_pool_are_shown_beside_those_of_slurm() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    htcondor(folder.path());
    configure(folder.path(), &format!("{MAPLE}{POOL}"));
    let said = run(folder.path(), &["current", "--format", "csv"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    // By another program from the recorded queues: jobs that run, their CPUs, machines and GPUs, then those
    // that are idle.
    let pool: Vec<&str> = said.stdout.lines().filter(|line| line.starts_with("pool,")).collect();
    assert_eq!(
        pool,
        [
            "pool,kpatel,,5,20,3,5,0,0,0,0",
            "pool,mgarcia,,5,5,2,5,0,0,0,0",
            "pool,psmith,,4,4,1,4,0,0,0,0",
            "pool,tnguyen,,3,3,2,4,4,4,4,4",
        ]
    );
    assert!(said.stdout.contains("\nmaple,bob,gpu,1,16,1,2,0,0,0,0\n"), "{}", said.stdout);
    let text = run(folder.path(), &[]);
    assert!(
        text.stdout.contains(
            "pool in all: 17 jobs hold 32 CPUs and 18 GPUs on 6 nodes; 4 wait for 4 CPUs and 4 GPUs."
        ),
        "{}",
        text.stdout
    );
    assert!(
        text.stdout.contains("pool: 4 jobs on hold are counted in neither."),
        "{}",
        text.stdout
    );
}

#[test]
fn without_a_configuration_the_pool_here_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    htcondor(folder.path());
    let said = run(folder.path(), &["current", "--format", "csv"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.contains("\nhtcondor,kpatel,,5,20,3,5,0,0,0,0\n"), "{}", said.stdout);
}

#[test]
fn each_machine_of_a_pool_is_shown_with_what_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    htcondor(folder.path());
    configure(folder.path(), POOL);
    let said = run(folder.path(), &["nodes", "--format", "json"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    let node = |name: &str| rows.iter().find(|row| row["node"] == name).unwrap().clone();
    let gpu5000 = node("gpu5000.chtc.example.org");
    assert_eq!((&gpu5000["state"], &gpu5000["cpus"]), (&"Unclaimed".into(), &64.into()));
    assert_eq!((&gpu5000["gpus_used"], &gpu5000["gpus"]), (&0.into(), &4.into()));
    assert_eq!(gpu5000["gpu_models"], "NVIDIA H200 0/2, NVIDIA L40 0/2");
    // 515000 MiB
    assert_eq!(gpu5000["memory"], 540_016_640_000.0);
    // Eight machines of 64 CPUs, with 4, 8, 4, 4, 2, 4 and 4 GPUs and one without.
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("pool in all: 8 of 8 nodes usable, 0 of 512 CPUs and 0 of 30 GPUs in use."),
        "{notes}"
    );
}

#[test]
fn an_access_point_that_does_not_answer_is_named_and_the_others_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    htcondor(folder.path());
    let others = std::fs::read_to_string(folder.path().join("bin/condor_q")).unwrap();
    let script =
        others.replace("*ap2001*) ", "*ap2001*) echo no route to host >&2; exit 1 ;;\nno) ");
    program(folder.path(), "condor_q", script.trim_start_matches("#!/bin/sh\n"));
    configure(folder.path(), POOL);
    let said = run(folder.path(), &["current"]);
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert!(said.stderr.contains("pool: left out ap2001.chtc.example.org"), "{}", said.stderr);
    assert!(said.stdout.contains("An access point did not answer"), "{}", said.stdout);
    assert!(said.stdout.contains("kpatel"), "{}", said.stdout);
}

#[test]
fn the_jobs_of_a_pool_that_lists_no_access_point_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    htcondor(folder.path());
    program(folder.path(), "condor_status", "echo '[]'");
    configure(folder.path(), POOL);
    let said = run(folder.path(), &["current"]);
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert!(said.stdout.contains("The pool lists no access point"), "{}", said.stdout);
    assert!(!said.stdout.contains("0 jobs hold"), "{}", said.stdout);
}

#[test]
fn a_cluster_that_does_not_answer_is_named_and_the_others_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    program(folder.path(), "elsewhere", "echo no route to host >&2; exit 255");
    let birch =
        "[[cluster]]\nname = \"birch\"\nkind = \"slurm\"\ncommand_prefix = [\"elsewhere\"]\n";
    configure(folder.path(), &format!("{MAPLE}{birch}"));
    let said = run(folder.path(), &["current"]);
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert!(said.stderr.contains("left out birch: ") && said.stderr.contains("no route to host"));
    assert!(said.stdout.contains("bob"), "{}", said.stdout);
    let alone = run(folder.path(), &["nodes", "--cluster", "birch"]);
    assert_eq!((alone.status, alone.stdout.as_str()), (2, ""));
    assert!(alone.stderr.contains("`plimsoll test` says what to do"), "{}", alone.stderr);
}

#[test]
fn lines_that_cannot_be_read_are_findings() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    program(folder.path(), "squeue", r"printf 'JOBID|STATE|CPUS|\n1|RUNNING|many|\n'");
    configure(folder.path(), MAPLE);
    let said = run(folder.path(), &["current"]);
    assert_eq!(said.status, 1);
    assert_eq!(
        said.stderr.trim_end(),
        "warning: maple: cannot read line 2 of squeue: CPUS cannot be `many`"
    );
    assert!(said.stdout.contains("Nothing to show at 20"), "{}", said.stdout);
}
