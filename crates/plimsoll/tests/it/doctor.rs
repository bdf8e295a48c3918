//! `plimsoll test`: what works, what does not, and what to do about it.

use std::path::Path;

use lake::Lake;

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
    program(folder, "scontrol", &answers(version, &prints("scontrol-show-config.txt")));
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
        "ok    maple: purging: SLURM keeps its jobs (PurgeJobAfter is not set)",
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
        "FAIL  maple: jobs of others: 1 users in 1 jobs of the last 6 hours, and PrivateData is jobs,usage; let ",
        "warn  maple: last collection: there was none; ",
        "warn  maple: purging: SLURM forgets jobs after 30 days, and nothing was collected yet; `plimsoll collect --days 30`",
    ];
    assert_eq!(lines.len(), begins.len(), "{lines:#?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\ndoes not begin with\n{begin}");
    }
}

#[test]
fn a_pool_and_each_of_its_access_points_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    slurm(folder.path());
    configure(folder.path(), "[[cluster]]\nname = \"pool\"\nkind = \"htcondor\"\n");
    let version = "*-version*) echo '$CondorVersion: 25.0.13 $' ;;";
    let answers = |others: &str| format!("case \"$*\" in\n{version}\n{others}\nesac");
    let names = r#"*-any*) echo '[{"Name":"ap1"},{"Name":"ap2"}]' ;;"#;
    program(folder.path(), "condor_status", &answers(names));
    let down = "*ap2*) echo 'Failed to connect' >&2; exit 1 ;;\n*) true ;;";
    program(folder.path(), "condor_q", &answers(down));
    program(folder.path(), "condor_history", &answers("*) true ;;"));
    let (status, lines) = findings(folder.path());
    assert_eq!(status, 1);
    let failed = "FAIL  pool: queue: ap2: condor_q failed with exit status: 1: Failed to connect; ";
    assert!(lines[0].starts_with(failed), "{lines:#?}");
    assert_eq!(lines.len(), 2, "the other is that nothing was collected yet: {lines:#?}");
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
