//! What a real pool printed over half an hour, and what its users' own logs say of it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use record::GpuSample;
use source::htcondor::CondorStatus;
use source::parse;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/htcondor").join(name)
}

/// The rows of a CSV file by column; a cell in quotes may hold commas.
pub(crate) fn table(name: &str) -> Vec<HashMap<String, String>> {
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                letter => cells.last_mut().unwrap().push(letter),
            }
        }
        cells
    };
    let mut lines = text.lines().map(cells);
    let columns = lines.next().unwrap();
    lines.map(|cells| columns.iter().cloned().zip(cells).collect()).collect()
}

/// The times of the looks, and what each saw of the GPUs.
pub(crate) fn looks() -> (Vec<Timestamp>, Vec<GpuSample>) {
    let mut times: BTreeMap<String, Timestamp> = BTreeMap::new();
    for row in table("truth/gpu_state_at_snapshots.csv") {
        let second: f64 = row["query_unix"].parse().unwrap();
        times.insert(row["snapshot"].clone(), Timestamp::from_second(second as i64).unwrap());
    }
    let mut samples = Vec::new();
    for (snapshot, time) in &times {
        let text = std::fs::read(fixture(&format!("{snapshot}/status_wide.json"))).unwrap();
        samples.extend(parse(CondorStatus::new("chtc", *time), &text).records);
    }
    (times.into_values().collect(), samples)
}
