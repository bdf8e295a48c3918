//! Every recording in `fixtures/slurm-22.05`, read by the parser of its command.
//!
//! The tests beside each parser look closely; here each file is counted, and none is left out.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{Offered, Sacct, ScontrolNode, Squeue};
use crate::parsed::{Parsed, parse};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05");

/// A file, the command that printed it, and the records and rejects that are in it. Names with a
/// bare `|` cost their rows, and `sacct-allclusters.psv` has 18 jobs of a second cluster.
const RECORDINGS: [(&str, Printed, usize, usize); 24] = [
    ("sacct-all-allocations.psv", Printed::Sacct, 86, 7),
    ("sacct-all-duplicates.psv", Printed::Sacct, 92, 23),
    ("sacct-all-noconvert.psv", Printed::Sacct, 92, 23),
    ("sacct-all-unit-separator.txt", Printed::Sacct, 98, 3),
    ("sacct-allclusters.psv", Printed::Sacct, 94, 66),
    ("sacct-birch-duplicates.psv", Printed::Sacct, 18, 0),
    ("sacct-epoch.psv", Printed::Sacct, 96, 0),
    ("sacct-fields.txt", Printed::SacctFields, 35, 0),
    ("sacct-job-array.psv", Printed::Sacct, 5, 0),
    ("sacct-job-array-pending.psv", Printed::Sacct, 2, 0),
    ("sacct-job-held.psv", Printed::Sacct, 4, 0),
    ("sacct-job-het.psv", Printed::Sacct, 4, 0),
    ("sacct-job-preempted-duplicates.psv", Printed::Sacct, 2, 0),
    ("sacct-job-requeued-duplicates.psv", Printed::Sacct, 6, 0),
    ("sacct-job-resized.psv", Printed::Sacct, 2, 0),
    ("sacct-no-such-cluster.txt", Printed::Sacct, 0, 0),
    ("sacct-no-such-job.txt", Printed::Sacct, 0, 0),
    ("sacct-state-pending.psv", Printed::Sacct, 7, 0),
    ("scontrol-no-such-node.txt", Printed::ScontrolShowNode, 0, 1),
    ("scontrol-show-node.txt", Printed::ScontrolShowNode, 9, 0),
    ("scontrol-show-node-birch.txt", Printed::ScontrolShowNode, 2, 0),
    ("scontrol-show-node-detail.txt", Printed::ScontrolShowNode, 9, 0),
    ("scontrol-show-node-future.txt", Printed::ScontrolShowNode, 10, 0),
    ("squeue-O.psv", Printed::Squeue, 17, 0),
];

#[derive(Clone, Copy)]
enum Printed {
    Sacct,
    SacctFields,
    ScontrolShowNode,
    /// Without headings.
    Squeue,
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
        Printed::Squeue => {
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
    let named: BTreeSet<String> = RECORDINGS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(on_disk, named, "each file is named above, and each that is named is there");
    let found = RECORDINGS.map(|(name, printed, ..)| {
        let (records, rejects) = read(&std::fs::read(format!("{FOLDER}/{name}")).unwrap(), printed);
        (name, records, rejects)
    });
    assert_eq!(found, RECORDINGS.map(|(name, _, records, rejects)| (name, records, rejects)));
}
