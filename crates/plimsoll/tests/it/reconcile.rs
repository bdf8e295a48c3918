//! `plimsoll reconcile`: our totals beside sreport's.

use std::path::Path;

use crate::stub::{MAPLE, configure, program, run};

/// Two jobs of ann and one of a user without an association, on 2 March 2026.
const SACCT: &str = r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit
printf 'JobID|JobIDRaw|User|Account|State|Submit|Start|End|ElapsedRaw|AllocCPUS|AllocTRES|NodeList|JobName\n'
printf '7|7|ann|ml|COMPLETED|1772409600|1772409600|1772413200|3600|2|cpu=2,gres/gpu=1|n1|fit\n'
printf '8|8|ann|ml|COMPLETED|1772409600|1772409600|1772416800|7200|4|cpu=4|n1|fit\n'
printf '9|9|eve||COMPLETED|1772409600|1772409600|1772413200|3600|1|cpu=1|n1|fit\n'"#;

fn site(folder: &Path, ann_cpu_seconds: i64) {
    configure(folder, MAPLE);
    program(folder, "sacct", SACCT);
    program(folder, "scontrol", "true");
    program(folder, "squeue", "true");
    program(
        folder,
        "sreport",
        &format!(
            r"printf -- '----\nCluster/Account/User Utilization\n----\n'
printf 'Cluster|Account|Login|TRES Name|Used\n'
printf 'maple|root||cpu|{ann_cpu_seconds}\nmaple|ml||cpu|{ann_cpu_seconds}\n'
printf 'maple|ml|ann|cpu|{ann_cpu_seconds}\nmaple|ml|ann|gres/gpu|3600\n'"
        ),
    );
    let collected = run(folder, &["collect", "--days", "0"]);
    assert_eq!(collected.status, 0, "{}", collected.stderr);
}

const MARCH: [&str; 5] = ["reconcile", "--from", "2026-03-02", "--to", "2026-03-03"];

#[test]
fn what_agrees_is_no_finding_and_what_does_not_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    // ann: 2 CPUs for an hour and 4 for two are 10 hours, 36000 s.
    site(folder.path(), 36_000);
    let said = run(folder.path(), &[&MARCH[..], &["--format", "csv"]].concat());
    assert_eq!(said.status, 1, "{}", said.stderr);
    let rows: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(
        rows[0],
        "cluster,account,user,cpu_hours,sreport_cpu_hours,cpu_hours_difference,gpu_hours,\
         sreport_gpu_hours,gpu_hours_difference,explanation"
    );
    assert!(rows.contains(&"maple,ml,ann,10.0,10.0,0.0,1.0,1.0,0.0,"), "{rows:#?}");
    // The day of these jobs was never asked about: only today was.
    let eve = "maple,,eve,1.0,,,0.0,,,sreport lists no such user of the account: never associated, \
               or deleted since; 1 days were not collected";
    assert!(rows.iter().any(|row| row.replace('"', "") == eve), "{rows:#?}");
    let text = run(folder.path(), &MARCH);
    for part in
        ["maple in all: 11.0 CPU hours, 10.0 by sreport.", "maple: not collected: 2026-03-02 (UTC)"]
    {
        assert!(text.stdout.contains(part), "{part} is missing in\n{}", text.stdout);
    }
}

#[test]
fn a_period_without_a_whole_hour_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path(), 36_000);
    let said = run(
        folder.path(),
        &["reconcile", "--from", "2026-03-02T10:10", "--to", "2026-03-02T10:50"],
    );
    assert_eq!(said.status, 2);
    assert!(said.stderr.starts_with("error: sreport adds up whole hours"), "{}", said.stderr);
}
