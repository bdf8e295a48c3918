//! How much memory the questions of a process may hold together, and what becomes of the rest: it is
//! put on the disk where that can be done, and else the question is refused.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::available_parallelism;

use anyhow::{Context, Result, anyhow};
use datafusion::common::Result as DataFusionResult;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use jiff::tz::TimeZone;
use report::{Unit, Value};

use crate::Refused;

/// What questions may hold: those that carry clones of one share it. By default, whatever they need.
#[derive(Clone, Default)]
pub struct Memory(Option<Arc<Limited>>);

struct Limited {
    bytes: usize,
    pool: Arc<dyn MemoryPool>,
    disk: Arc<DiskManager>,
}

/// So many times what may be held may lie on the disk.
const TIMES_ON_DISK: u64 = 16;

/// A core that has less than this would spend its time with writing and reading again.
const BYTES_A_CORE: usize = 32 * 1024 * 1024;

/// As much as a sort sets aside for putting together what it has written, where there is enough.
const MERGED_BYTES: usize = 10 * 1024 * 1024;

/// Such a part of all is what a sort sets aside at the most, however little it sorts, and the least share of
/// who can put things on the disk: there may be dozens of them at once.
const SMALLEST_PART: usize = 64;

impl Memory {
    /// So many bytes at the most. What does not fit goes into a folder of the system's folder for
    /// temporary files, which is made when it is needed.
    pub fn limited(bytes: u64) -> Result<Memory> {
        let disk = DiskManagerBuilder::default()
            .with_max_temp_directory_size(bytes.saturating_mul(TIMES_ON_DISK))
            .build()
            .context("cannot prepare for temporary files")?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let pool = Arc::new(SharedPool::new(bytes));
        Ok(Memory(Some(Arc::new(Limited { bytes, pool, disk: Arc::new(disk) }))))
    }

    /// How many bytes; none if there is no limit.
    pub fn limit(&self) -> Option<u64> {
        self.0.as_ref().map(|limited| limited.bytes as u64)
    }

    /// What answers a question within it.
    pub(crate) fn context(&self, config: SessionConfig) -> Result<SessionContext> {
        let Some(limited) = &self.0 else { return Ok(SessionContext::new_with_config(config)) };
        let cores = available_parallelism().map_or(1, usize::from);
        let cores = (limited.bytes / BYTES_A_CORE).clamp(1, cores);
        let config = config
            .with_target_partitions(cores)
            .with_sort_spill_reservation_bytes(MERGED_BYTES.min(limited.bytes / SMALLEST_PART));
        let runtime = RuntimeEnvBuilder {
            disk_manager: Some(limited.disk.clone()),
            ..RuntimeEnvBuilder::new()
        };
        let runtime = runtime.with_memory_pool(limited.pool.clone()).build()?;
        Ok(SessionContext::new_with_config_rt(config, Arc::new(runtime)))
    }

    /// Says in our words that there was not enough, if that is what is wrong.
    pub(crate) fn refuse(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(limit) = self.limit().filter(|_| is_exhausted(&error)) else { return error };
        tracing::debug!("refused: {error:#}");
        let limit = Unit::Bytes.show(&Value::Number(limit as f64), &TimeZone::UTC);
        anyhow!(Refused(anyhow!(
            "the answer needs more memory than is left of the {limit} that questions may hold together; \
             ask about a shorter period, or raise memory_limit (--memory-limit)"
        )))
    }
}

impl Drop for Limited {
    /// Removes what lies on the disk, though somebody who was stopped half-way may still hold some.
    fn drop(&mut self) {
        for folder in self.disk.temp_dir_paths() {
            if let Err(error) = std::fs::remove_dir_all(&folder) {
                tracing::warn!("cannot remove {}: {error}", folder.display());
            }
        }
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Memory) -> bool {
        self.limit() == other.limit()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Memory({:?})", self.limit())
    }
}

/// Begins to take note of what a pass of our own holds. It cannot put anything on the disk, so what
/// it has not got it cannot do without.
pub(crate) fn held(pool: &Arc<dyn MemoryPool>, what: &str) -> MemoryReservation {
    MemoryConsumer::new(what).register(pool)
}

/// The same in a session.
pub(crate) fn held_in(context: &SessionContext, what: &str) -> MemoryReservation {
    held(&context.runtime_env().memory_pool, what)
}

/// An error of ours as DataFusion passes it on: that there was not enough is not lost in it.
pub(crate) fn passed_on(error: anyhow::Error) -> DataFusionError {
    match is_exhausted(&error) {
        true => DataFusionError::ResourcesExhausted(format!("{error:#}")),
        false => DataFusionError::External(error.into()),
    }
}

pub(crate) fn is_exhausted(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let cause = cause.downcast_ref::<DataFusionError>();
        cause.is_some_and(|cause| {
            matches!(cause.find_root(), DataFusionError::ResourcesExhausted(_))
        })
    })
}

/// Who can put things on the disk gets an equal share of half of what the others leave: one that groups
/// and one that sorts what comes of it work at once, and the first would leave the second nothing; and
/// each holds as much again while it puts together what it has written. Until a quarter is held nobody is kept
/// to his share: most of those who could hold something hold nothing. All together never get more than
/// there is. DataFusion's own pools do one of these each: in `GreedyMemoryPool` who comes first takes
/// all, and `FairSpillPool` gives more than there is to those who come one after the other.
#[derive(Debug)]
struct SharedPool {
    bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many can put things on the disk.
    spilling: usize,
    used: usize,
    /// By those who cannot.
    used_for_good: usize,
}

impl SharedPool {
    fn new(bytes: usize) -> SharedPool {
        SharedPool { bytes, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }
}

impl State {
    fn add(&mut self, reservation: &MemoryReservation, bytes: usize) {
        self.used += bytes;
        if !reservation.consumer().can_spill() {
            self.used_for_good += bytes;
        }
    }
}

impl MemoryPool for SharedPool {
    fn name(&self) -> &str {
        "shared"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.state().spilling += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.state().spilling -= usize::from(consumer.can_spill());
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.state().add(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.state();
        state.used -= shrink;
        if !reservation.consumer().can_spill() {
            state.used_for_good -= shrink;
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionResult<()> {
        let mut state = self.state();
        let left = self.bytes.saturating_sub(state.used);
        let left = match reservation.consumer().can_spill() {
            true => {
                let shared = self.bytes.saturating_sub(state.used_for_good) / 2;
                let share = (shared / state.spilling.max(1)).max(self.bytes / SMALLEST_PART);
                let of_share = share.saturating_sub(reservation.size());
                let of_all = (self.bytes / 4).saturating_sub(state.used);
                left.min(of_share.max(of_all))
            }
            false => left,
        };
        if additional > left {
            let (name, used) = (reservation.consumer().name(), state.used);
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{name} has {} bytes and needs {additional} more; {left} are left to it, and {used} of \
                 {self} are held",
                reservation.size()
            )));
        }
        state.add(reservation, additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.state().used
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

impl fmt::Display for SharedPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.bytes)
    }
}

#[cfg(test)]
mod tests;
