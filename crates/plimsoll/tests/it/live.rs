//! `current` and `nodes`, on what a real SLURM printed.

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
            said.stderr.contains("squeue is not installed here; `plimsoll init` writes"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn each_node_is_shown_with_what_is_in_use_and_why_it_is_away() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(
        folder.path(),
        &format!("{MAPLE}[[cluster]]\nname = \"pool\"\nkind = \"htcondor\"\n"),
    );
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
    assert!(notes.contains("SLURM clusters only, not the HTCondor pools (pool)"), "{notes}");
    assert!(notes.contains("maple in all: 5 of 9 nodes usable"), "{notes}");
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
