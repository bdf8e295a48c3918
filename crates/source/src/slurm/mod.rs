//! What SLURM's commands print. A file a command: how it is asked, how its answer is read.

mod gres_used;
mod rows;
mod sacct;
mod scontrol;
mod settings;
mod squeue;
mod squeue_current;
mod sreport;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub use gres_used::{GpuModel, gpu_models};
pub use sacct::{Sacct, sacct};
pub use scontrol::{ScontrolNode, scontrol_show_node};
pub use settings::{
    Purge, database_settings, purge, release, sacct_users, sacctmgr_show_configuration,
    scontrol_show_config, setting, version_of,
};
pub use squeue::{Squeue, squeue};
pub use squeue_current::{CurrentJob, Phase, SqueueCurrent, squeue_current};
pub use sreport::{Sreport, Utilization, sreport};

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

/// Reads a cell that holds a value of some notation, or none.
fn value<T>(
    row: Row<'_>,
    column: Column,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Option<T>, String> {
    let cell = row.cell(column);
    if NO_VALUE.contains(&cell) {
        return Ok(None);
    }
    match read(cell) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{} cannot be `{}`", column.name, String::from_utf8_lossy(cell))),
    }
}

/// A cell that somebody named: any word is one, only a blank is none. SLURM cuts names at 255
/// bytes, which may be the middle of a letter.
fn name(row: Row<'_>, column: Column) -> Option<String> {
    let cell = row.cell(column);
    (!cell.is_empty()).then(|| String::from_utf8_lossy(cell).into_owned())
}

/// A cell of SLURM's own words.
fn word(row: Row<'_>, column: Column) -> Option<String> {
    let cell = row.cell(column);
    (!NO_VALUE.contains(&cell)).then(|| String::from_utf8_lossy(cell).into_owned())
}

fn count(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
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
