//! Every recording in `fixtures/slurm-22.05`, read by the parser of its command.
//!
//! The tests beside each parser look closely; here each file is counted, and none is left out.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use record::Job;

use super::{Offered, Sacct, ScontrolNode, Squeue};
use crate::parsed::{Parsed, parse};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05");

/// A file, the command that printed it, and the records and rejects that are in it.
///
/// The files called `collected` were printed for the very commands of this module, and lose nothing.
/// In the others names with a bare `|` cost their rows, and `sacct-allclusters.psv` has 18 jobs of
/// a second cluster.
const RECORDINGS: [(&str, Printed, usize, usize); 31] = [
    ("sacct-all-allocations.psv", Printed::Sacct, 86, 7),
    ("sacct-all-duplicates.psv", Printed::Sacct, 92, 23),
    ("sacct-all-noconvert.psv", Printed::Sacct, 92, 23),
    ("sacct-all-unit-separator.txt", Printed::Sacct, 98, 3),
    ("sacct-allclusters.psv", Printed::Sacct, 94, 66),
    ("sacct-birch-duplicates.psv", Printed::Sacct, 18, 0),
    ("sacct-collected.txt", Printed::Sacct, 104, 0),
    ("sacct-collected-birch.txt", Printed::Sacct, 18, 0),
    ("sacct-epoch.psv", Printed::Sacct, 96, 0),
    ("sacct-fields.txt", Printed::SacctFields, 34, 0),
    ("sacct-job-array.psv", Printed::Sacct, 5, 0),
    ("sacct-job-array-pending.psv", Printed::Sacct, 2, 0),
    ("sacct-job-held.psv", Printed::Sacct, 4, 0),
    ("sacct-job-het.psv", Printed::Sacct, 4, 0),
    ("sacct-job-preempted-duplicates.psv", Printed::Sacct, 2, 0),
    ("sacct-job-requeued-duplicates.psv", Printed::Sacct, 6, 0),
    ("sacct-job-resized.psv", Printed::Sacct, 2, 0),
    ("sacct-memory-0.psv", Printed::Sacct, 3, 0),
    ("sacct-no-such-cluster.txt", Printed::Sacct, 0, 0),
    ("sacct-no-such-job.txt", Printed::Sacct, 0, 0),
    ("sacct-state-pending.psv", Printed::Sacct, 7, 0),
    ("scontrol-no-such-node.txt", Printed::ScontrolShowNode, 0, 1),
    ("scontrol-show-node.txt", Printed::ScontrolShowNode, 9, 0),
    ("scontrol-show-node-birch.txt", Printed::ScontrolShowNode, 2, 0),
    ("scontrol-show-node-detail.txt", Printed::ScontrolShowNode, 9, 0),
    ("scontrol-show-node-future.txt", Printed::ScontrolShowNode, 10, 0),
    ("scontrol-show-node-held.txt", Printed::ScontrolShowNode, 9, 0),
    ("scontrol-show-node-held-birch.txt", Printed::ScontrolShowNode, 2, 0),
    ("squeue-O.psv", Printed::SqueueWithoutHeadings, 17, 0),
    ("squeue-collected.txt", Printed::Squeue, 12, 0),
    ("squeue-collected-birch.txt", Printed::SqueueOfBirch, 1, 0),
];

/// What settings, sreport, the queue of the moment and the holders of GPUs look like is tested
/// beside those who read it.
const READ_ELSEWHERE: [&str; 8] = [
    "sacctmgr-configuration.txt",
    "scontrol-show-config.txt",
    "scontrol-show-job-detail.txt",
    "scontrol-show-job-held.txt",
    "scontrol-show-job-held-birch.txt",
    "squeue-current.psv",
    "sreport-account-user-seconds.psv",
    "sreport-account-user.psv",
];

#[derive(Clone, Copy)]
enum Printed {
    Sacct,
    SacctFields,
    ScontrolShowNode,
    Squeue,
    SqueueOfBirch,
    SqueueWithoutHeadings,
}

fn read(text: &[u8], printed: Printed) -> (usize, usize) {
    fn counts<T>(parsed: &Parsed<T>) -> (usize, usize) {
        (parsed.records.len(), parsed.rejects.len())
    }
    let time = Timestamp::from_second(1_794_709_300).unwrap();
    let hold = SignedDuration::from_secs(1800);
    match printed {
        Printed::Sacct => counts(&parse(Sacct::new("maple", time), text)),
        Printed::SacctFields => (fields_asked_for(text), 0),
        Printed::ScontrolShowNode => counts(&parse(ScontrolNode::new("maple", time, hold), text)),
        Printed::Squeue => counts(&parse(Squeue::new("maple", time, hold), text)),
        Printed::SqueueOfBirch => {
            let parser = Squeue::new("birch", time, hold).of_cluster_in_slurmdbd("birch");
            counts(&parse(parser, text))
        }
        Printed::SqueueWithoutHeadings => {
            let headings = "ID|JOBID|HET_JOB_OFFSET|USER|ACCOUNT|PARTITION|QOS|NAME|STATE|REASON|CPUS|\
                            TRES_ALLOC|TRES_PER_NODE|TRES_PER_JOB|SUBMIT_TIME|START_TIME|TIME_LEFT|\
                            NODELIST\n";
            let table = [headings.as_bytes(), text].concat();
            counts(&parse(Squeue::new("maple", time, hold), &table))
        }
    }
}

fn fields_asked_for(text: &[u8]) -> usize {
    let epoch = Timestamp::UNIX_EPOCH;
    let command = super::sacct(epoch, epoch, &Offered::read(text).unwrap(), None);
    let format = command.arguments.last().unwrap().strip_prefix("--format=").unwrap();
    format.split(',').count()
}

#[test]
fn every_recording_is_read() {
    let on_disk: BTreeSet<String> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let named: BTreeSet<String> = RECORDINGS
        .iter()
        .map(|(name, ..)| *name)
        .chain(READ_ELSEWHERE)
        .map(str::to_owned)
        .collect();
    assert_eq!(on_disk, named, "each file is named above, and each that is named is there");
    let found = RECORDINGS.map(|(name, printed, ..)| {
        let (records, rejects) = read(&std::fs::read(format!("{FOLDER}/{name}")).unwrap(), printed);
        (name, records, rejects)
    });
    assert_eq!(found, RECORDINGS.map(|(name, _, records, rejects)| (name, records, rejects)));
}

/// What is expected here was computed by a Python script that knows nothing of these parsers. It
/// adds up ElapsedRaw × AllocCPUS (38621, of which a change of size counts 3 twice), ElapsedRaw ×
/// `gres/gpu` and TotalCPU of the jobs, and `mem` in TRESUsageInTot of the largest step of each.
#[test]
fn the_sums_of_what_was_collected_are_right() {
    let text = std::fs::read(format!("{FOLDER}/sacct-collected.txt")).unwrap();
    let time = Timestamp::from_second(1_794_709_300).unwrap();
    let jobs = parse(Sacct::new("maple", time), &text).records;
    let sum = |value: fn(&Job) -> Option<f64>| jobs.iter().filter_map(value).sum::<f64>();
    assert!((sum(|job| job.cpu_hours_reserved) * 3600.0 - 38_618.0).abs() < 1e-6);
    assert!((sum(|job| job.gpu_hours_reserved) * 3600.0 - 7021.0).abs() < 1e-6);
    assert!((sum(|job| job.total_cpu_seconds) - 50.74).abs() < 1e-9);
    assert_eq!(sum(|job| job.max_rss_mb) * 1_048_576.0, 1_395_773_440.0);
    assert_eq!(jobs.iter().filter(|job| job.max_rss_mb.is_some()).count(), 46);
}

/// The two answers are a second apart. sacct has the waiting jobs that can start, under the key
/// that squeue's have; not the others.
#[test]
fn squeue_has_the_jobs_that_sacct_does_not_show() {
    let read = |name| std::fs::read(format!("{FOLDER}/{name}")).unwrap();
    let time = Timestamp::from_second(1_794_738_200).unwrap();
    let hold = SignedDuration::from_secs(1800);
    let accounted = parse(Sacct::new("maple", time), &read("sacct-collected.txt")).records;
    let waiting = parse(Squeue::new("maple", time, hold), &read("squeue-collected.txt")).records;
    let mut hidden = Vec::new();
    for job in waiting.into_iter().map(|waiting| waiting.job.unwrap()) {
        let same = accounted
            .iter()
            .find(|other| (&other.job_id, other.submit_time) == (&job.job_id, job.submit_time));
        match same {
            Some(same) => {
                assert_eq!((same.state.as_str(), same.attempt), ("PENDING", job.attempt));
                assert_eq!(same.eligible_time, job.eligible_time, "{}", job.job_id);
                assert_eq!((same.req_cpus, same.req_mem_mb), (job.req_cpus, job.req_mem_mb));
                assert_eq!((same.req_gpus, &same.job_name), (job.req_gpus, &job.job_name));
            }
            None => hidden.push((job.job_id, job.reason.unwrap())),
        }
    }
    hidden.sort_unstable();
    let expected = [
        ("18_[]", "BeginTime"),
        ("67", "JobHeldUser"),
        ("70", "BeginTime"),
        ("71", "Dependency"),
        ("72", "DependencyNeverSatisfied"),
    ];
    assert_eq!(hidden, expected.map(|(id, reason)| (id.into(), reason.into())));
}
