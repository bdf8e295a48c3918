//! `plimsoll test`: what works, what does not, and what to do about it.

use std::path::Path;

use jiff::SignedDuration;
use lake::Lake;
use record::Collection;
use source::{Live, Machine};

use crate::program::plimsoll;
use crate::stub::{MAPLE, configure, prints, program, run};

/// A SLURM in which everything is as it should be.
fn slurm(folder: &Path) {
    let version = "echo slurm-wlm 22.05.8";
    for name in ["squeue", "sinfo", "sreport"] {
        program(folder, name, version);
    }
    let answers = |first: &str, other: &str| {
        format!("case \"$1\" in\n--version) {first} ;;\n*) {other} ;;\nesac")
    };
    program(folder, "sacct", &answers(version, r"printf 'ann\nbob\nann\n'"));
    program(
        folder,
        "scontrol",
        &format!(
            "case \"$*\" in\n--version) {version} ;;\n'show config') {} ;;\n*) {} ;;\nesac",
            prints("scontrol-show-config.txt"),
            prints("scontrol-show-node.txt")
        ),
    );
    program(folder, "sacctmgr", &answers(version, &prints("sacctmgr-configuration.txt")));
    program(
        folder,
        "df",
        r"printf 'Filesystem Blocks Used Available Capacity Mounted\n/dev/a 9 1 80000000 1%% /\n'",
    );
}

/// The lines of checks that are not fine.
fn findings(folder: &Path) -> (i32, Vec<String>) {
    let said = run(folder, &["test"]);
    assert_eq!(said.stderr, "");
    let lines = said.stdout.lines().take_while(|line| !line.is_empty());
    let lines = lines.filter(|line| !line.starts_with("ok ")).map(str::to_owned);
    (said.status, lines.collect())
}

#[test]
fn where_all_is_well_every_check_says_what_it_saw() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    let (status, lines) = findings(folder.path());
    // Nothing was collected yet.
    assert_eq!(status, 1);
    assert_eq!(
        lines,
        [
            "warn  maple: history: nothing was collected yet; collect the first time with `plimsoll collect --days 30`"
        ]
    );
    let said = run(folder.path(), &["doctor"]);
    for line in [
        "ok    disk: 76 GiB free",
        "ok    maple: sacct: slurm-wlm 22.05.8",
        "ok    maple: accounting: slurmdbd keeps it",
        "ok    maple: jobs of others: 2 users in 3 jobs of the last 6 hours",
        "ok    maple: JobAcctGatherType: jobacct_gather/linux",
        "ok    maple: JobAcctGatherFrequency: task=2",
        "ok    maple: AccountingStorageTRES: cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu,gres/gpu:a100,gres/gpu:h100",
        "ok    maple: purging: slurmdbd deletes none of the rows that are collected",
    ] {
        assert!(
            said.stdout.contains(&format!("{line}\n")),
            "{line} is missing in\n{}",
            said.stdout
        );
    }
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), &format!("{MAPLE}command_prefix = [\"far\"]\n"));
    // A machine whose clock is an hour ahead, whose database forgets, and which hides jobs.
    program(
        folder.path(),
        "far",
        "shift 5\ncase \"$*\" in\n\
         'date +%s') echo $(($(/bin/date +%s) + 3600)) ;;\n\
         'scontrol show config') printf 'ClusterName = maple\\nAccountingStorageType = accounting_storage/none\\nPrivateData = jobs,usage\\n' ;;\n\
         'sacct --allusers'*) echo ann ;;\n\
         'sacctmgr show'*) printf 'SlurmDBD configuration:\\nPurgeJobAfter = 30 days\\n' ;;\n\
         'sinfo '*) echo 'sinfo: command not found' >&2; exit 127 ;;\n\
         *) echo slurm 19.05.2 ;;\nesac",
    );
    Lake::create(&folder.path().join("data")).unwrap();
    let (status, lines) = findings(folder.path());
    assert_eq!(status, 1);
    let begins = [
        "FAIL  maple: clock: 3",
        "warn  maple: sacct: slurm 19.05.2, older than 20.11; ",
        "warn  maple: sinfo: tried behind `far`: sinfo failed with exit status: 127: sinfo: command not found; ",
        "FAIL  maple: accounting: AccountingStorageType is accounting_storage/none; set AccountingStorageType=",
        "warn  maple: JobAcctGatherType: not set: SLURM measures no CPU time and no memory of jobs",
        "FAIL  maple: jobs of others: 1 users in 1 jobs of the last 6 hours, and PrivateData is jobs,usage; let ",
        "warn  maple: PurgeJobAfter: slurmdbd deletes jobs after 30 days; nothing was collected yet; the history of jobs will be lost unless it is collected before; run `plimsoll collect --days 30` now",
        "warn  maple: last collection: there was none; ",
    ];
    assert_eq!(lines.len(), begins.len(), "{lines:#?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\ndoes not begin with\n{begin}");
    }
}

/// Replaces what slurmdbd and slurmctld print in a SLURM that is all right but for this.
fn settings(folder: &Path, controller: &str, database: &str) {
    let version = "--version) echo slurm 26.05.0 ;;";
    let nodes = prints("scontrol-show-node.txt");
    let base = "ClusterName = maple\\nAccountingStorageType = accounting_storage/slurmdbd";
    program(
        folder,
        "scontrol",
        &format!(
            "case \"$*\" in\n{version}\n'show config') printf '{base}\\n{controller}\\n' ;;\n*) {nodes} ;;\nesac"
        ),
    );
    program(
        folder,
        "sacctmgr",
        &format!(
            "case \"$*\" in\n{version}\n*) printf 'SlurmDBD configuration:\\n{database}\\n' ;;\nesac"
        ),
    );
}

/// Records that a cluster's job history was collected some hours ago.
fn collected(folder: &Path, cluster: &str, source: &str, hours_ago: i64) {
    let lake = Lake::create(&folder.join("data")).unwrap();
    let run = Collection {
        cluster: cluster.into(),
        source: source.into(),
        start_time: Live::default().now() - SignedDuration::from_hours(hours_ago),
        window_start: None,
        window_end: None,
        duration_seconds: 1.0,
        bytes: 1,
        records: 1,
        rejects: 0,
        changed: 0,
        error: None,
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        lake.writer(cluster).await.unwrap().collected(&[run]).await.unwrap();
    });
}

#[test]
fn settings_by_which_slurm_records_less_are_named_with_the_line_to_change() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    settings(
        folder.path(),
        "AccountingStorageTRES = cpu,mem,energy,node,billing,fs/disk,vmem,pages\\n\
         JobAcctGatherType = jobacct_gather/none\\nJobAcctGatherFrequency = task=0",
        "DisableRollups = Yes\\nPurgeJobAfter = NONE\\nPurgeStepAfter = NONE",
    );
    collected(folder.path(), "maple", "sacct", 1);
    let (status, lines) = findings(folder.path());
    assert_eq!(status, 1);
    let expected = [
        (
            "warn  maple: JobAcctGatherType: jobacct_gather/none: SLURM measures no CPU time",
            "; set JobAcctGatherType=jobacct_gather/cgroup in slurm.conf",
        ),
        (
            "warn  maple: JobAcctGatherFrequency: task=0: SLURM does not sample running jobs",
            "; set JobAcctGatherFrequency=30 in slurm.conf",
        ),
        (
            "warn  maple: AccountingStorageTRES: cpu,mem",
            "AccountingStorageTRES=gres/gpu, and restart slurmctld",
        ),
        (
            "warn  maple: DisableRollups: Yes: slurmdbd computes no usage totals",
            "; set DisableRollups=no in slurmdbd.conf",
        ),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, (begin, part)) in lines.iter().zip(expected) {
        assert!(line.starts_with(begin) && line.contains(part), "{line}\nis not\n{begin} {part}");
    }
}

#[test]
fn a_purge_is_a_note_while_collections_come_in_time_and_a_warning_before_data_is_lost() {
    let database = "PurgeEventAfter = 1 months\\nPurgeJobAfter = NONE\\nPurgeStepAfter = 30 days\\n\
                    PurgeUsageAfter = 24 months*";
    let check = |days_ago: i64, verdict: &str, status: i32| {
        let folder = tempfile::tempdir().unwrap();
        slurm(folder.path());
        configure(folder.path(), MAPLE);
        let controller =
            "AccountingStorageTRES = cpu,gres/gpu\\nJobAcctGatherType = jobacct_gather/cgroup";
        settings(folder.path(), controller, database);
        collected(folder.path(), "maple", "sacct", 24 * days_ago);
        let (ended, lines) = findings(folder.path());
        assert_eq!(ended, status, "{lines:#?}");
        let of = |setting: &str| {
            let line = lines.iter().find(|line| line.contains(&format!(" {setting}: "))).cloned();
            line.unwrap_or_else(|| panic!("{setting} is missing in {lines:#?}"))
        };
        let step = of("PurgeStepAfter");
        let begin = format!(
            "{verdict:<5} maple: PurgeStepAfter: slurmdbd deletes job steps after 30 days;"
        );
        assert!(step.starts_with(&begin), "{step}");
        assert!(step.contains("the CPU time and peak memory of jobs"), "{step}");
        assert!(step.contains("set a longer PurgeStepAfter in slurmdbd.conf"), "{step}");
        // Plimsoll collects neither, so the pace does not matter.
        assert!(of("PurgeEventAfter").starts_with("note "), "{lines:#?}");
        assert!(of("PurgeUsageAfter").starts_with("note "), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains("PurgeJobAfter: ")), "{lines:#?}");
    };
    check(0, "note", 0);
    check(20, "warn", 1);
    check(40, "FAIL", 1);
}

#[test]
fn a_long_pause_is_told_though_a_collection_has_just_ended_it() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    settings(
        folder.path(),
        "AccountingStorageTRES = cpu,gres/gpu\\nJobAcctGatherType = jobacct_gather/cgroup",
        "PurgeJobAfter = NONE\\nPurgeStepAfter = 30 days",
    );
    collected(folder.path(), "maple", "sacct", 24 * 40);
    collected(folder.path(), "maple", "sacct", 0);
    let (status, lines) = findings(folder.path());
    assert_eq!(status, 1);
    let begin = "FAIL  maple: PurgeStepAfter: slurmdbd deletes job steps after 30 days; the longest \
                 time without a collection was 40 days; the CPU time and peak memory of jobs of the \
                 time between is lost; ";
    assert!(lines.iter().any(|line| line.starts_with(begin)), "{lines:#?}");
}

#[test]
fn a_check_of_gpus_that_could_not_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    program(
        folder.path(),
        "scontrol",
        "case \"$*\" in\n--version) echo slurm 26.05.0 ;;\n\
         'show config') printf 'ClusterName = maple\\nAccountingStorageType = accounting_storage/slurmdbd\\n\
         AccountingStorageTRES = cpu,mem\\nJobAcctGatherType = jobacct_gather/cgroup\\n' ;;\n\
         *) echo 'no such node' >&2; exit 1 ;;\nesac",
    );
    let (_, lines) = findings(folder.path());
    let begin = "warn  maple: AccountingStorageTRES: cpu,mem: whether nodes have GPUs could not be \
                 checked: scontrol failed";
    assert!(lines.iter().any(|line| line.starts_with(begin)), "{lines:#?}");
    let said = run(folder.path(), &["test"]);
    assert!(!said.stdout.contains("ok    maple: AccountingStorageTRES"), "{}", said.stdout);
}

/// A pool of two access points, which have executions. `condor_history` refuses `-version`, as real releases do.
fn pool(folder: &Path, settings: &str, ap2: &str) {
    let version = "*-version*) echo '$CondorVersion: 25.0.13 $' ;;";
    let answers = |first: &str, others: &str| format!("case \"$*\" in\n{first}\n{others}\nesac");
    let names = r#"*-any*) echo '[{"Name":"ap1"},{"Name":"ap2"}]' ;;"#;
    program(folder, "condor_status", &answers(version, names));
    let ap2 = format!("*ap2*) {ap2} ;;\n*) true ;;");
    program(folder, "condor_q", &answers(version, &ap2));
    let refused = "*-version*) echo 'Error: Unknown argument -version' >&2; exit 1 ;;";
    let execution = r#"*) echo '[{"GlobalJobId":"ap1#7.0#1"}]' ;;"#;
    program(folder, "condor_history", &answers(refused, execution));
    let settings = format!(
        "'-schedd -name ap'?' ENABLE_HISTORY_ROTATION MAX_HISTORY_LOG MAX_HISTORY_ROTATIONS \
         MAX_EPOCH_HISTORY_LOG MAX_EPOCH_HISTORY_ROTATIONS') printf '{settings}' ;;"
    );
    program(folder, "condor_config_val", &answers(&settings, "*) exit 1 ;;"));
}

const POOL: &str = "[[cluster]]\nname = \"pool\"\nkind = \"htcondor\"\n";
const DEFAULTS: &str = "true\\nNot defined\\nNot defined\\nNot defined\\nNot defined\\n";

#[test]
fn a_pool_and_each_of_its_access_points_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), POOL);
    pool(folder.path(), DEFAULTS, "echo 'Failed to connect' >&2; exit 1");
    let (status, lines) = findings(folder.path());
    assert_eq!(status, 1);
    let begins = [
        "note  pool: MAX_EPOCH_HISTORY_LOG: ap1 keeps at least 40 MiB of executions; ",
        "FAIL  pool: queue: ap2: condor_q failed with exit status: 1: Failed to connect; ",
        "note  pool: MAX_EPOCH_HISTORY_LOG: ap2 keeps at least 40 MiB of executions; ",
        "warn  pool: history: nothing was collected yet; ",
    ];
    assert_eq!(lines.len(), begins.len(), "{lines:#?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\ndoes not begin with\n{begin}");
    }
    let said = run(folder.path(), &["test"]);
    for line in
        ["ok    pool: condor_q: CondorVersion: 25.0.13", "ok    pool: access points: ap1, ap2"]
    {
        assert!(
            said.stdout.contains(&format!("{line}\n")),
            "{line} is missing in\n{}",
            said.stdout
        );
    }
    // Without [cluster.job_history] Plimsoll does not read the history of jobs.
    assert!(!said.stdout.contains(" MAX_HISTORY_LOG"), "{}", said.stdout);
}

#[test]
fn an_access_point_that_records_no_executions_is_told_with_the_line_to_change() {
    let check = |printed: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        slurm(folder.path());
        configure(folder.path(), POOL);
        pool(folder.path(), DEFAULTS, "true");
        program(folder.path(), "condor_history", "echo '[]'");
        program(
            folder.path(),
            "condor_config_val",
            &format!(
                "case \"$*\" in\n*' JOB_EPOCH_HISTORY') {printed} ;;\n*) printf '{DEFAULTS}' ;;\nesac"
            ),
        );
        let (status, lines) = findings(folder.path());
        assert_eq!(status, 1);
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{lines:#?}");
        lines
    };
    let lines = check(
        "echo 'Not defined'",
        "FAIL  pool: epoch history: ap1: JOB_EPOCH_HISTORY is not defined, so no execution is recorded",
    );
    let line = "set JOB_EPOCH_HISTORY=$(SPOOL)/epoch_history on ap1";
    assert!(lines.iter().any(|found| found.contains(line)), "{lines:#?}");
    check(
        "echo /var/spool/epoch_history",
        "note  pool: epoch history: ap1: JOB_EPOCH_HISTORY is /var/spool/epoch_history, and no execution is in it yet",
    );
    check(
        "exit 1",
        "warn  pool: epoch history: ap1: `condor_history -epochs` prints no execution, and whether",
    );
}

#[test]
fn a_failure_of_a_pool_does_not_speak_of_slurm() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "df", "echo; echo /dev/a 9 1 80000000 1% /");
    configure(folder.path(), POOL);
    pool(folder.path(), DEFAULTS, "true");
    program(folder.path(), "condor_status", "echo 'no collector' >&2; exit 1");
    run(folder.path(), &["collect"]);
    let said = run(folder.path(), &["test"]);
    assert_eq!(said.status, 1);
    let failed = "FAIL  pool: last collection: 0 minutes ago, and failed: ";
    assert!(said.stdout.contains(failed), "{}", said.stdout);
    assert!(said.stdout.contains("rotate their history"), "{}", said.stdout);
    assert!(!said.stdout.to_ascii_lowercase().contains("slurm"), "{}", said.stdout);
}

#[test]
fn after_a_collection_its_age_and_errors_are_told() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), MAPLE);
    program(
        folder.path(),
        "squeue",
        "case \"$1\" in\n--version) echo slurm 22.05 ;;\n*) echo no controller >&2; exit 1 ;;\nesac",
    );
    run(folder.path(), &["collect", "--days", "0"]);
    let (status, lines) = findings(folder.path());
    assert_eq!(status, 1);
    let failed = "FAIL  maple: last collection: 0 minutes ago, and failed: ";
    assert!(
        lines.iter().any(|line| line.starts_with(failed) && line.contains("no controller")),
        "{lines:#?}"
    );
    // Somebody who collects is named; it is no fault.
    let lake = Lake::open(&folder.path().join("data")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let writer = runtime.block_on(lake.writer("maple")).unwrap();
    let said = run(folder.path(), &["test"]);
    let held = format!("ok    maple: lock: process {} collects it right now", std::process::id());
    assert!(said.stdout.contains(&held), "{}", said.stdout);
    drop(writer);
    let said = run(folder.path(), &["test"]);
    assert!(said.stdout.contains("maple: lock: nobody collects it right now"), "{}", said.stdout);
}

#[test]
fn without_anything_the_way_to_begin_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let said = plimsoll(folder.path(), &["test", "--format", "json"]);
    assert_eq!((said.status, said.stderr.as_str()), (1, ""));
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let first = &report["rows"][0];
    assert_eq!(
        (&first["result"], &first["check"], &first["seen"]),
        (&"FAIL".into(), &"configuration".into(), &"no plimsoll.toml was found".into())
    );
    assert!(first["remedy"].as_str().unwrap().contains("`plimsoll init`"));
}
