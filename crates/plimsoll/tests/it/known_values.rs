//! A known value survives every later observation, in whatever order they are made.

use std::fs;
use std::path::Path;

use crate::import::{WORDS, origin};
use crate::stub::{MAPLE, configure, program, run};

/// What sacct prints of four jobs: their ids, then what follows. 1755226800 is 2025-08-15T03:00:00Z. Job 7 lost
/// its larger step, but has CPU time that slurm-usage never saw; job 9 the other way round.
const JOBS: [(&str, &str, &str); 4] = [
    ("7", "ann|COMPLETED|1755223200|1755226800|1755241200|14400|2|4G|n1", "512M|03:00:00"),
    ("8", "bob|COMPLETED|1755223200|1755226800|1755234000|7200|1|1G|n2", "1G|01:00:00"),
    ("9", "ann|FAILED|1755262800|1755262800|1755266400|3600|1|4G|n1", "2G|00:20:00"),
    ("11", "gil|COMPLETED|1755262800|1755262800|1755266400|3600|1|1G|n3", "256M|00:30:00"),
];

/// A job with a GPU, in a reservation.
const GPU_JOB: &str =
    "hal|COMPLETED|1755262800|1755262800|1755266400|3600|1|1G|n4|cpu=1,gres/gpu=1";

/// Installs a SLURM that has the steps of these jobs, or has purged them and the reservation: then CPU time
/// is a zero.
fn install(folder: &Path, has_steps: bool) {
    let mut lines = Vec::new();
    for (id, job, usage) in JOBS {
        let cpu_time = if has_steps { &usage[usage.find('|').unwrap() + 1..] } else { "00:00:00" };
        lines.push(format!("{id}|{id}|{job}|cpu=1||{cpu_time}|||fit"));
        if has_steps {
            lines.push(format!("{id}.batch|{id}.batch|{job}|cpu=1|{usage}|||batch"));
        }
    }
    if has_steps {
        let usage = "256M|00:30:00|gres/gpuutil=40";
        lines.push(format!("12|12|{GPU_JOB}||00:30:00||course|train"));
        lines.push(format!("12.batch|12.batch|{GPU_JOB}|{usage}||batch"));
    } else {
        lines.push(format!("12|12|{GPU_JOB}||00:00:00|||train"));
    }
    let header = "JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|ReqMem|NodeList|AllocTRES|MaxRSS|TotalCPU|TRESUsageInTot|Reservation|JobName";
    program(
        folder,
        "sacct",
        &format!(
            "[ \"$1\" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit\nprintf '{header}\\n{}\\n'",
            lines.join("\\n")
        ),
    );
    program(folder, "scontrol", "true");
    program(folder, "squeue", "true");
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    /// While the steps are there.
    Collect,
    /// After they were purged.
    Refresh,
    Import,
    Reprocess,
}

impl Operation {
    fn run(self, folder: &Path, old: &str) {
        install(folder, self == Operation::Collect);
        let import: Vec<&str> =
            WORDS.iter().map(|word| if *word == "old" { old } else { word }).collect();
        let words: &[&str] = match self {
            Operation::Collect => &["collect", "--days", "0"],
            Operation::Refresh => &["collect", "--days", "0", "--refresh"],
            Operation::Import => &import,
            // There is nothing to derive from yet.
            Operation::Reprocess if !folder.join("data").exists() => return,
            Operation::Reprocess => &["reprocess"],
        };
        let said = run(folder, words);
        assert_eq!(said.status, 0, "{self:?}: {}", said.stderr);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn rows(folder: &Path, statement: &str) -> Vec<String> {
    let said = run(folder, &["sql", statement, "--format", "csv"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    said.stdout.lines().skip(1).map(str::to_owned).collect()
}

/// Checks a lake after all operations. Job 7: 10,800 s of 2 CPUs × 14,400 s are 37.5 %. Job 8: 3,600 of
/// 7,200 s are 50 %. Jobs 9, 11 and 12: 1,800 of 3,600 s. Jobs 5, 6 and 10 are those of slurm-usage alone.
fn check(folder: &Path, order: &[Operation]) {
    let jobs = "SELECT job_id, user, state, total_cpu_seconds, max_rss_mb, usage_source, cpu_efficiency, \
                source, gpu_utilization, reservation FROM job ORDER BY job_id";
    assert_eq!(
        rows(folder, jobs),
        [
            "10,fay,COMPLETED,3600.0,2048.0,slurm-usage,25.0,slurm-usage,,",
            "11,gil,COMPLETED,1800.0,256.0,sacct,50.0,sacct,,",
            "12,hal,COMPLETED,1800.0,256.0,sacct,50.0,sacct,40.0,course",
            "5,dan,COMPLETED,7200.0,1024.0,slurm-usage,50.0,slurm-usage,,",
            "6,eve,COMPLETED,,,,,slurm-usage,,",
            "7,ann,COMPLETED,10800.0,3072.0,sacct+slurm-usage,37.5,sacct,,",
            "8,bob,COMPLETED,3600.0,1024.0,sacct,50.0,sacct,,",
            "9,ann,FAILED,1800.0,2048.0,slurm-usage+sacct,50.0,sacct,,",
        ],
        "{order:?}"
    );
    // Daily totals: 3600 + 1800 + 1800 + 7200 + 10800 + 3600 + 1800 CPU seconds used. Memory used times the
    // time, in MiB s: 2048 × 3600, twice 256 × 3600, 1024 × 7200, 3072 × 14400, 1024 × 7200, 2048 × 3600.
    let days = "SELECT sum(cpu_seconds_used), sum(memory_mib_seconds_used) FROM job_day";
    assert_eq!(rows(folder, days), ["30600.0,75571200.0"], "{order:?}");
}

fn check_orders(folder: &Path, old: &str, done: &[Operation], left: &[Operation]) {
    if left.is_empty() {
        check(folder, done);
    }
    for (index, operation) in left.iter().enumerate() {
        let next = folder
            .with_file_name(format!("{}{index}", folder.file_name().unwrap().to_str().unwrap()));
        copy(folder, &next);
        operation.run(&next, old);
        let done = [done, &[*operation]].concat();
        let left = [&left[..index], &left[index + 1..]].concat();
        check_orders(&next, old, &done, &left);
        fs::remove_dir_all(&next).unwrap();
    }
}

#[test]
fn measurements_survive_purged_steps_in_any_order_of_collect_import_refresh_and_reprocess() {
    let folder = tempfile::tempdir().unwrap();
    let (start, old) = (folder.path().join("lake"), folder.path().join("old"));
    fs::create_dir(&start).unwrap();
    configure(&start, MAPLE);
    origin(&old);
    let all = [Operation::Collect, Operation::Refresh, Operation::Import, Operation::Reprocess];
    check_orders(&start, old.to_str().unwrap(), &[], &all);
}

#[test]
fn imported_and_purged_measurements_come_back_from_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    origin(&folder.path().join("old"));
    let order = [Operation::Import, Operation::Collect, Operation::Refresh, Operation::Reprocess];
    for operation in order {
        if operation == Operation::Reprocess {
            fs::remove_dir_all(folder.path().join("data/processed/job")).unwrap();
        }
        operation.run(folder.path(), "old");
    }
    check(folder.path(), &order);
    // The value of the purged reservation names its origin.
    let origin = "SELECT split_part(earlier_values, '/', 1), split_part(earlier_values, '/', 2) FROM job \
                  WHERE job_id = '12'";
    assert_eq!(rows(folder.path(), origin), ["reservation=sacct,ended"]);
}

#[test]
fn repeated_operations_change_nothing() {
    use Operation::{Collect, Import, Refresh, Reprocess};
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    origin(&folder.path().join("old"));
    let order = [
        Refresh, Import, Collect, Import, Refresh, Reprocess, Reprocess, Refresh, Import, Reprocess,
    ];
    for operation in order {
        operation.run(folder.path(), "old");
    }
    check(folder.path(), &order);
}

/// What an access point shows of one execution.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// In its queue, with its GPU and the name of its batch.
    Running,
    /// In its history, with measurements, without the GPU.
    Ended,
    /// In its history, without measurements.
    Bare,
    Reprocess,
}

impl Shown {
    fn run(self, folder: &Path) {
        let execution = r#""GlobalJobId":"ap1#7.0#1755223200","QDate":1755223200,"NumShadowStarts":1,"Owner":"ann","JobCurrentStartDate":1755226800,"CpusProvisioned":2,"GPUsProvisioned":1"#;
        let queued = format!(
            r#"[{{{execution},"JobStatus":2,"ShadowBday":1755226800,"RemoteHost":"slot1@g1","AssignedGPUs":"GPU-1","JobBatchName":"fit"}}]"#
        );
        let ended = r#""EpochWriteDate":1755234000,"ExitCode":0,"ExitBySignal":false"#;
        let measured = r#""RemoteUserCpu":3600.0,"RemoteSysCpu":0.0,"ResidentSetSize":1048576,"GPUsAverageUsage":0.25,"GPUsMemoryUsage":2000"#;
        let (queue, history) = match self {
            Shown::Running => (queued, "[]".to_owned()),
            Shown::Ended => ("[]".to_owned(), format!("[{{{execution},{ended},{measured}}}]")),
            Shown::Bare => ("[]".to_owned(), format!("[{{{execution},{ended}}}]")),
            Shown::Reprocess => {
                if folder.join("data").exists() {
                    assert_eq!(run(folder, &["reprocess"]).status, 0);
                }
                return;
            }
        };
        let names = r#"*-any*) echo '[{"Name":"ap1"}]' ;;"#;
        program(
            folder,
            "condor_status",
            &format!("case \"$*\" in\n{names}\n*) echo '[]' ;;\nesac"),
        );
        program(folder, "condor_q", &format!("echo '{queue}'"));
        program(folder, "condor_history", &format!("echo '{history}'"));
        let said = run(folder, &["collect", "--days", "0", "--refresh"]);
        assert_eq!(said.status, 0, "{self:?}: {}", said.stderr);
    }
}

/// 3,600 of 2 × 7,200 CPU seconds are 25 %.
#[test]
fn an_execution_keeps_its_gpu_and_its_measurements_in_any_order() {
    use Shown::{Bare, Ended, Reprocess, Running};
    for order in [
        [Running, Ended, Bare, Reprocess, Bare, Reprocess],
        [Running, Bare, Ended, Ended, Reprocess, Bare],
        [Ended, Reprocess, Running, Bare, Reprocess, Reprocess],
        [Bare, Running, Reprocess, Ended, Running, Bare],
    ] {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path(), "[[cluster]]\nname = \"pool\"\nkind = \"htcondor\"\n");
        for shown in order {
            shown.run(folder.path());
        }
        let jobs = "SELECT job_id, state, gpu_ids, job_name, elapsed_seconds, total_cpu_seconds, max_rss_mb, \
                    cpu_efficiency, gpu_utilization, gpu_memory_max_mb, source, \
                    split_part(earlier_values, '/', 1) FROM job";
        let expected = "ap1#7.0,COMPLETED,GPU-1,fit,7200,3600.0,1024.0,25.0,25.0,2000.0,condor_history,\
                        job_name=condor_q";
        assert_eq!(rows(folder.path(), jobs), [expected], "{order:?}");
    }
}
