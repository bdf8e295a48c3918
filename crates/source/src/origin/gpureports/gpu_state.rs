//! `gpu_state`: a row for each slot and GPU at each look at the pool.
//!
//! A GPU has several rows at one moment: that of the slot that holds it, that of the partitionable
//! slot which that one was cut from, and those of its backfill slots. They are judged by the rule
//! by which the answers of `condor_status` are.
//!
//! Its collector asked for slots with `GPUs >= 1`; of a backfill slot it wrote the free GPUs as
//! the assigned ones. All generations of the table differ in columns alone, which are found by
//! name: MIG slices once had columns of their own, PreventJobsReason came in July 2026 and Disk in
//! August.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use record::{GpuSample, Text};

use super::missing;
use super::wall_clock::WallClock;
use crate::htcondor::{
    Device, Slot, has_job, is_backfill_by_name, job_id, machine, samples, use_ratio, user,
};
use crate::notation::classad::gpu_id;
use crate::{Parsed, Rejected};

/// One look at the whole pool.
#[derive(Debug, PartialEq)]
pub struct Look {
    pub time: Timestamp,
    pub samples: Vec<GpuSample>,
}

/// Turns the rows of one file, in the order in which they were written, into looks.
pub struct GpuState {
    cluster: String,
    clock: WallClock,
    /// What the clock showed at the look whose rows come.
    shown: String,
    /// When that was; nothing before the first row, and if there is no such moment.
    time: Option<Timestamp>,
    slots: Vec<Slot>,
    /// Of the last slot, what its GPUs did together.
    average_usage: Option<f64>,
    rejected: Parsed<()>,
    rows: u64,
}

/// The columns that say something here.
const COLUMNS: [&str; 12] = [
    "timestamp",
    "Name",
    "Machine",
    "AssignedGPUs",
    "AvailableGPUs",
    "State",
    "GPUs_DeviceName",
    "GPUs_GlobalMemoryMb",
    "PrioritizedProjects",
    "GPUsAverageUsage",
    "RemoteOwner",
    "GlobalJobId",
];
const PREVENT_JOBS_REASON: &str = "PreventJobsReason";

impl GpuState {
    /// Reads times as a clock in this zone showed them.
    pub fn new(cluster: impl Into<String>, zone: TimeZone) -> GpuState {
        GpuState {
            cluster: cluster.into(),
            clock: WallClock::new(zone),
            shown: String::new(),
            time: None,
            slots: Vec::new(),
            average_usage: None,
            rejected: Parsed::default(),
            rows: 0,
        }
    }

    /// The column that a file lacks if it is none of gpureports.
    pub fn missing_column(names: &[String]) -> Option<&'static str> {
        missing(names, &["timestamp", "Name", "AssignedGPUs", "State"])
    }

    /// Takes some rows: the names of their columns, how many, and their cells. Gives the looks that
    /// are over.
    pub fn add<'a>(
        &mut self,
        names: &[String],
        rows: usize,
        cell: impl Fn(usize, usize) -> Option<&'a str>,
    ) -> Vec<Look> {
        let place = |name: &str| names.iter().position(|known| known == name);
        let places = COLUMNS.map(place);
        let prevent_reason = place(PREVENT_JOBS_REASON);
        let mut looks = Vec::new();
        for row in 0..rows {
            self.rows += 1;
            let cells = places.map(|place| place.and_then(|place| cell(row, place)));
            let prevent_reason = prevent_reason.and_then(|place| cell(row, place));
            let shown = cells[0].unwrap_or_default();
            if self.rows == 1 || shown != self.shown {
                looks.extend(self.end());
                shown.clone_into(&mut self.shown);
                match self.clock.moment(shown) {
                    Ok(time) => self.time = Some(time),
                    // Once for all rows of the look.
                    Err(reason) => self.reject(&reason, &cells),
                }
            }
            if self.time.is_some()
                && let Err(reason) = self.add_row(&cells, prevent_reason)
            {
                self.reject(reason, &cells);
            }
        }
        looks
    }

    /// Ends the look whose rows came last, if there is one.
    pub fn end(&mut self) -> Option<Look> {
        self.end_slot();
        let slots = std::mem::take(&mut self.slots);
        let time = self.time.take()?;
        Some(Look { time, samples: samples(&self.cluster, time, &slots) })
    }

    /// How many rows came.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes away the rows that could not be read.
    pub fn take_rejects(&mut self) -> Vec<Rejected> {
        std::mem::take(&mut self.rejected.rejects)
    }

    fn add_row(
        &mut self,
        cells: &[Option<&str>; COLUMNS.len()],
        prevent_reason: Option<&str>,
    ) -> Result<(), &'static str> {
        let [
            _,
            name,
            machine_name,
            assigned,
            available,
            state,
            device,
            memory,
            projects,
            usage,
            owner,
            job,
        ] = *cells;
        let name = words(name).ok_or("the row names no slot")?;
        // A slot without a GPU that is free or assigned has a row all the same.
        let gpus = gpu_ids(assigned);
        if let Some(slot) = self.slots.last_mut().filter(|slot| slot.name == name) {
            slot.assigned.extend(gpus);
            return Ok(());
        }
        let number = |text: Option<&str>| -> Result<Option<f64>, &'static str> {
            let read = |text: &str| text.parse().map_err(|_| "a number cannot be read");
            words(text).map(read).transpose()
        };
        let memory_mb = number(memory)?.map(|memory| memory as i64);
        let average_usage = number(usage)?.filter(|usage| usage.is_finite());
        self.end_slot();
        self.average_usage = average_usage;
        let state = words(state).map(Text::from);
        self.slots.push(Slot {
            machine: words(machine_name).unwrap_or_else(|| machine(name)).into(),
            // One that is claimed itself is not there to be cut.
            partitionable: !is_dynamic_by_name(name) && state.as_deref() != Some("Claimed"),
            backfill: is_backfill_by_name(name),
            assigned: gpus,
            available: available.map(|available| gpu_ids(Some(available))),
            device: Device { name: words(device).map(Into::into), memory_mb, capability: None },
            user: words(owner).map(|owner| user(owner).into()),
            job_id: words(job).map(|job| job_id(job).into()),
            // Blank is known: the machine puts nobody first.
            prioritized_projects: projects.map(Into::into),
            prevent_reason: words(prevent_reason).map(Into::into),
            name: name.into(),
            // The table has no column for draining: of a slot that runs a job it is unknown.
            is_draining: (state.as_deref() == Some("Drained")).then_some(true),
            is_busy: has_job(state.as_deref()),
            state,
            ..Slot::default()
        });
        Ok(())
    }

    /// Ends a slot: all its GPUs are known.
    fn end_slot(&mut self) {
        if let Some(slot) = self.slots.last_mut() {
            slot.use_ratio = use_ratio(self.average_usage.take(), slot.assigned.len());
        }
    }

    fn reject(&mut self, reason: &str, cells: &[Option<&str>; COLUMNS.len()]) {
        let text: Vec<String> = COLUMNS
            .iter()
            .zip(cells)
            .filter_map(|(name, cell)| cell.map(|cell| format!("{name}={cell}")))
            .collect();
        self.rejected.reject(self.rows, reason, text.join(" ").as_bytes());
    }
}

/// What a cell says, if it is not blank.
fn words(cell: Option<&str>) -> Option<&str> {
    cell.map(str::trim).filter(|text| !text.is_empty())
}

fn gpu_ids(cell: Option<&str>) -> Vec<Text> {
    cell.unwrap_or_default().split(',').filter_map(gpu_id).collect()
}

/// Whether a slot is called one that was cut from another: `slot1_2@gpu1.example.org`.
fn is_dynamic_by_name(slot: &str) -> bool {
    let slot = slot.split('@').next().unwrap_or_default();
    slot.rsplit_once('_').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests;
