//! Every recording in `fixtures/htcondor`, read by the parser of its command.
//!
//! The tests beside each parser look closely; here what each gives is counted, and none is left out.

use std::collections::BTreeMap;
use std::fs;

use jiff::{SignedDuration, Timestamp};

use super::{CondorHistory, CondorQ, CondorStatus, Daemons, fixture};
use crate::notation::classad::{Ad, Ads};
use crate::parsed::{Parsed, parse};

/// The name of a file in the folders of snapshots, how many there are, and the records in all of
/// them; nothing is set aside.
///
/// What is expected was counted by a Python script that knows nothing of these parsers: executions
/// in `epochs`, one of which is there twice, daemons in `status_schedd` and `status_negotiator`, jobs that run or wait
/// for GPUs in `q`, all jobs in `pressure`, and pairs of a machine and a GPU in `status`, where two
/// snapshots have 28 of the 30.
const RECORDINGS: [(&str, usize, usize); 10] = [
    ("epochs_ap2001.json", 1, 43),
    ("epochs_ap2002.json", 1, 14),
    ("pressure_ap2001.json", 5, 13),
    ("pressure_ap2002.json", 5, 5),
    ("q_ap2001.json", 5, 76),
    ("q_ap2002.json", 5, 35),
    ("status.json", 1, 30),
    ("status_negotiator.json", 1, 1),
    ("status_schedd.json", 1, 2),
    ("status_wide.json", 18, 536),
];

/// What the users' and the machines' own logs say is compared beside each parser.
const READ_ELSEWHERE: [&str; 2] = ["attempts.csv", "gpu_state_at_snapshots.csv"];

fn records(name: &str, text: &[u8]) -> usize {
    fn count<T>(parsed: &Parsed<T>) -> usize {
        assert_eq!(parsed.rejects, []);
        parsed.records.len()
    }
    let time = Timestamp::from_second(1_794_714_395).unwrap();
    match name.split(['_', '.']).next() {
        Some("epochs") => count(&parse(CondorHistory::new("chtc", time), text)),
        // The origin's question: a few attributes of each idle job.
        Some("pressure") => {
            let mut jobs = Ads::default();
            jobs.push(text, |text| Ad::read(text).map(|_| ()));
            count(&jobs.finish())
        }
        Some("q") => count(&parse(CondorQ::new("chtc", time, SignedDuration::from_mins(10)), text)),
        Some("status") if ["status_negotiator.json", "status_schedd.json"].contains(&name) => {
            count(&parse(Daemons::default(), text))
        }
        Some("status") => count(&parse(CondorStatus::new("chtc", time), text)),
        _ => panic!("no parser is known for {name}"),
    }
}

#[test]
fn every_recording_is_read() {
    let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for folder in fs::read_dir(fixture::FOLDER).unwrap().map(Result::unwrap) {
        for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = file.file_name().into_string().unwrap();
            if READ_ELSEWHERE.contains(&name.as_str()) {
                continue;
            }
            let (files, sum) = found.entry(name.clone()).or_default();
            *files += 1;
            *sum += records(&name, &fs::read(file.path()).unwrap());
        }
    }
    let expected = RECORDINGS.map(|(name, files, records)| (name.to_owned(), (files, records)));
    assert_eq!(found, BTreeMap::from(expected));
}
