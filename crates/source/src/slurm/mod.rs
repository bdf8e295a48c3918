//! What SLURM's commands print. A file a command: how it is asked, how its answer is read.

mod coordinators;
mod gpu_state;
mod gres_used;
mod jobstats;
#[cfg(test)]
mod recordings;
mod rows;
mod sacct;
mod sacct_fields;
mod scontrol;
mod settings;
mod squeue;
mod squeue_current;
mod sreport;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use record::Text;

pub use coordinators::{coordinators, sacctmgr_show_coordinators};
pub use gpu_state::{Backfill, gpu_samples, has_gpus, scontrol_show_job};
pub use gres_used::{GpuModel, gpu_models};
pub use sacct::{Sacct, Step, Steps, sacct};
pub use sacct_fields::{Lacking, Offered, sacct_fields};
pub use scontrol::{ScontrolNode, scontrol_show_node, seen_nodes};
pub use settings::{
    Purge, database_settings, purge, release, sacct_users, sacctmgr_show_configuration,
    scontrol_show_config, setting, task_sampling_seconds, version_of,
};
pub use squeue::{Squeue, Waiting, left_the_queue, squeue};
pub use squeue_current::{SqueueCurrent, squeue_current};
pub use sreport::{Sreport, Utilization, sreport};

use crate::notation::whole::number as count;
use rows::{Column, Row};

/// What the commands are asked to print between cells: a byte that hardly anybody types.
pub(crate) const DELIMITER: char = '\x1f';

/// What SLURM prints where it has no value: not yet, never, not asked for, without a limit.
const NO_VALUE: [&[u8]; 11] = [
    b"",
    b"Unknown",
    b"None",
    b"N/A",
    b"n/a",
    b"(null)",
    b"None assigned",
    b"INVALID",
    b"NOT_SET",
    b"UNLIMITED",
    b"Partition_Limit",
];

/// Asks a cluster by its name in slurmdbd, where one slurmdbd serves several.
fn cluster_option(cluster_in_slurmdbd: Option<&str>) -> Option<String> {
    cluster_in_slurmdbd.map(|name| format!("--clusters={name}"))
}

/// A job's id and what it says: `12`, a task of an array `16_5`, a part of a heterogeneous job
/// `24+1`, the tasks of an array that wait together `18_[5-99%10]`.
///
/// That last one changes whenever a task leaves, and would be another job each time. It is
/// called `18_[]` here, and its tasks stand beside it.
#[derive(Debug, Default, PartialEq)]
struct JobId {
    job_id: Text,
    array_job_id: Option<Text>,
    array_task_id: Option<Text>,
    het_job_id: Option<Text>,
    het_offset: Option<i64>,
}

impl JobId {
    fn read(cell: &[u8]) -> Result<JobId, String> {
        let id = std::str::from_utf8(cell).map_err(|error| error.to_string())?;
        if memchr::memchr2(b'_', b'+', cell).is_none() {
            return Ok(JobId { job_id: id.into(), ..JobId::default() });
        }
        let (array, task) = sides(id, '_');
        let (het_job, offset) = sides(id, '+');
        let waiting_together = array.zip(task).and_then(|(array, tasks)| {
            Some((array, tasks.strip_prefix('[')?.trim_end_matches(']')))
        });
        Ok(JobId {
            job_id: match waiting_together {
                Some((array, _)) => format!("{array}_[]").into(),
                None => id.into(),
            },
            array_job_id: array.map(Text::from),
            array_task_id: match waiting_together {
                Some((_, tasks)) => Some(tasks.into()),
                None => task.map(Text::from),
            },
            het_job_id: het_job.map(Text::from),
            het_offset: offset.and_then(|offset| count(offset.as_bytes())),
        })
    }
}

/// What stands on either side of a mark.
fn sides(id: &str, mark: char) -> (Option<&str>, Option<&str>) {
    match id.split_once(mark) {
        Some((left, right)) => (Some(left), Some(right)),
        None => (None, None),
    }
}

/// Reads a cell that holds a value of some notation, or none.
fn value<T>(
    row: Row<'_>,
    column: Column,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Option<T>, String> {
    let cell = row.cell(column);
    if is_no_value(cell) {
        return Ok(None);
    }
    match read(cell) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{} cannot be `{}`", column.name, String::from_utf8_lossy(cell))),
    }
}

/// A cell that somebody named: any word is one, only a blank is none. SLURM cuts names at 255
/// bytes, which may be the middle of a letter.
fn name(row: Row<'_>, column: Column) -> Option<Text> {
    let cell = row.cell(column);
    (!cell.is_empty()).then(|| text(cell))
}

/// A cell of SLURM's own words.
fn word(row: Row<'_>, column: Column) -> Option<Text> {
    let cell = row.cell(column);
    (!is_no_value(cell)).then(|| text(cell))
}

fn is_no_value(cell: &[u8]) -> bool {
    // Most cells are numbers, which need not be compared with every such word.
    !cell.first().is_some_and(u8::is_ascii_digit) && NO_VALUE.contains(&cell)
}

/// A cell as text. Most are well formed, and known to be faster than they are mended.
fn text(cell: &[u8]) -> Text {
    match std::str::from_utf8(cell) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(cell).into(),
    }
}

/// A moment: seconds since the epoch, as the commands are told to print it, or a date and a time,
/// which are UTC as the commands are told to use it.
fn moment(text: &[u8]) -> Option<Timestamp> {
    if let Some(seconds) = count(text) {
        return Timestamp::from_second(seconds).ok();
    }
    const FORM: &str = "2026-11-15T02:19:39";
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() == FORM.len())?;
    let time: DateTime = text.parse().ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
