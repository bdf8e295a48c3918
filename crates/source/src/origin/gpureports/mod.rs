//! gpureports: a file a month, `gpu_state_2026-04` with a row for each slot and GPU at each look at
//! an HTCondor pool, and `job_pressure_2026-04` with the jobs that waited for GPUs.
//!
//! Rows come as text from whoever reads the files: neither Parquet nor SQLite is known here. Times
//! are those of the clock on the wall, without a zone, but for moments that say theirs and seconds
//! since the epoch.

mod gpu_state;
mod job_pressure;
mod wall_clock;

pub use gpu_state::{GpuState, Look};
pub use job_pressure::{JobPressure, Waited, queue_spans};

/// The first column that a table lacks and without which it says nothing.
fn missing(names: &[String], needed: &[&'static str]) -> Option<&'static str> {
    needed.iter().find(|needed| !names.iter().any(|name| name == *needed)).copied()
}
