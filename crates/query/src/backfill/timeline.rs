//! How the GPUs of a period went on, on either side, with the exact times of jobs.

use std::collections::BTreeMap;

use datafusion::arrow::array::{Array, StringViewArray};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;

use super::exact::ExactTimes;
use super::execution::{self, Executions};
use super::history::{GpuPhase, GpuSide, History};
use super::index::Index;
use super::sampling::SamplingTimes;
use crate::judgement::Judgement;

/// Every phase of a period and the job history that it was met with. All tables of backfill are made
/// of it.
pub(super) struct Timeline {
    pub(super) history: History,
    pub(super) executions: Executions,
    pub(super) index: Index,
    /// All texts, by the numbers of their names.
    pub(super) texts: StringViewArray,
    /// The phases of each side, by GPU and time.
    pub(super) backfill: Vec<GpuPhase>,
    pub(super) primary: Vec<GpuPhase>,
    pub(super) period_start: i64,
    pub(super) period_end: i64,
    /// What all of it takes, for as long as it is there.
    _held: MemoryReservation,
}

impl Timeline {
    /// Makes the timeline from GPU spans and executions of the job history.
    pub(super) fn new(
        mut history: History,
        readers: Vec<execution::Reader>,
        judgement: &Judgement,
        holds: &BTreeMap<String, i64>,
        (period_start, period_end): (i64, i64),
        held: MemoryReservation,
    ) -> Result<Timeline> {
        // The names and the executions of all, beside those of each.
        held.try_grow(
            history.names.bytes() + readers.iter().map(execution::Reader::bytes).sum::<usize>(),
        )?;
        let mut names = std::mem::take(&mut history.names);
        let executions = Executions::of(readers, &history, judgement, &mut names);
        let index = Index::new(&history, &executions, holds, &mut names);
        let samples = SamplingTimes::of(&history, &index, period_start);
        let phases = |side: GpuSide| {
            let sampled = history.phases(side);
            // As samples show them, and with exact times.
            held.try_grow(2 * sampled.capacity() * size_of::<GpuPhase>())?;
            let exact = ExactTimes {
                side,
                gpus: &history.gpus,
                executions: &executions,
                index: &index,
                samples: &samples,
                period_start,
                period_end,
            };
            Ok::<_, DataFusionError>(exact.apply(&sampled))
        };
        let (backfill, primary, texts) = std::thread::scope(|scope| {
            let backfill = scope.spawn(|| phases(GpuSide::Backfill));
            let texts = scope.spawn(|| names.array());
            let primary = phases(GpuSide::Primary);
            let join = "a pass over phases does not panic";
            (backfill.join().expect(join), primary, texts.join().expect(join))
        });
        let (backfill, primary) = (backfill?, primary?);
        let phases = backfill.capacity() + primary.capacity();
        held.try_resize(
            texts.get_array_memory_size() + executions.bytes() + phases * size_of::<GpuPhase>(),
        )?;
        Ok(Timeline {
            history,
            executions,
            index,
            texts,
            backfill,
            primary,
            period_start,
            period_end,
            _held: held,
        })
    }

    /// The phases of one side.
    pub(super) fn phases(&self, side: GpuSide) -> &[GpuPhase] {
        match side {
            GpuSide::Backfill => &self.backfill,
            GpuSide::Primary => &self.primary,
        }
    }
}
