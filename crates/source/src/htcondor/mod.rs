//! What HTCondor's own commands print: a file a command.

mod condor_history;
mod condor_q;
mod condor_q_current;
mod condor_status;
mod daemons;
mod execution;
mod history_settings;
mod machines;
#[cfg(test)]
mod recordings;

use std::collections::BTreeMap;
use std::time::Duration;

use record::Text;

use crate::Command;

pub(crate) use condor_history::{ATTRIBUTES, ended_execution};
pub use condor_history::{CondorHistory, condor_history, condor_history_of};
pub use condor_q::{CondorQ, Queued, condor_q};
pub use condor_q_current::{CondorQCurrent, condor_q_current};
pub use condor_status::{
    CondorStatus, PoolObservation, PoolSlots, condor_status, condor_status_with_models_of,
};
pub(crate) use condor_status::{Device, Slot, has_job, is_backfill_by_name, samples, user};
pub use daemons::{Daemon, Daemons, daemons};
pub use history_settings::{HistorySettings, Rotation, history_settings};

/// Asks a command for its version, which asks nothing of a daemon.
pub fn version_of(program: &'static str) -> Command {
    let arguments = vec!["-version".to_owned()];
    Command { program, arguments, time_limit: Duration::from_secs(60) }
}

/// Asks the access point with this name, or the one at hand.
fn name_option(schedd: Option<&str>) -> Vec<String> {
    schedd.map_or_else(Vec::new, |name| vec!["-name".to_owned(), name.to_owned()])
}

/// A job without the time of its submission: `ap1.example.org#12.0#1794712355` is
/// `ap1.example.org#12.0`, by which slots and executions know the same job.
pub(crate) fn job_id(global_job_id: &str) -> &str {
    global_job_id.rsplit_once('#').map_or(global_job_id, |(job_id, _)| job_id)
}

/// The machine of a slot: the last part of `slot1_1@gpu1.example.org`.
pub(crate) fn machine(slot: &str) -> &str {
    slot.rsplit_once('@').map_or(slot, |(_, machine)| machine)
}

/// GPUs counted by model, as `NVIDIA H200=2,NVIDIA L40=1`; none if there are none.
pub fn gpu_types<'a>(models: impl IntoIterator<Item = &'a str>) -> Option<Text> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for model in models {
        // A comma separates models.
        *counts.entry(model.replace(',', " ")).or_default() += 1;
    }
    let counted: Vec<String> =
        counts.iter().map(|(model, count)| format!("{model}={count}")).collect();
    (!counted.is_empty()).then(|| counted.join(",").into())
}

/// Measured use of one GPU, from that of all `gpus` together. More than all of the time is no
/// measurement: a slot that was just handed over can print 75.
pub(crate) fn use_ratio(average_usage: Option<f64>, gpus: usize) -> Option<f64> {
    let ratio = average_usage? / gpus as f64;
    (0.0..=1.01).contains(&ratio).then(|| ratio.min(1.0))
}

#[cfg(test)]
pub(crate) mod fixture {
    //! What a real pool printed, and what its users' and machines' own logs say happened.

    use std::collections::HashMap;

    pub(super) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/htcondor");

    pub(crate) fn read(name: &str) -> Vec<u8> {
        std::fs::read(format!("{FOLDER}/{name}")).unwrap()
    }

    /// The rows of a CSV file by column; a cell in quotes may hold commas.
    pub(super) fn table(name: &str) -> Vec<HashMap<String, String>> {
        let text = String::from_utf8(read(name)).unwrap();
        let mut lines = text.lines().map(cells);
        let columns = lines.next().unwrap();
        lines.map(|cells| columns.iter().cloned().zip(cells).collect()).collect()
    }

    fn cells(line: &str) -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                _ => cells.last_mut().unwrap().push(character),
            }
        }
        cells
    }

    /// The logs' `ap2001:14.1` for a job's id; blank for none.
    pub(super) fn name_in_logs(job_id: Option<&str>) -> String {
        let Some((access_point, job)) = job_id.and_then(|id| id.split_once('#')) else {
            return String::new();
        };
        format!("{}:{job}", access_point.split('.').next().unwrap())
    }
}
