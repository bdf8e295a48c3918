//! Who came when a job on backfill was evicted.

use hashbrown::HashMap;

use super::execution::Executions;
use super::history::{GpuPhase, History};
use super::link::Links;
use super::phase::Situation;
use crate::gpu_history::Who;
use crate::names::Name;

/// Whose job followed an evicted one.
#[derive(Clone, Copy)]
pub(super) struct Evictor {
    pub(super) who: Who,
    /// `gpu` if it got a GPU of the evicted one, `machine` if another of the same machine.
    pub(super) confidence: &'static str,
}

/// When owners took GPUs back, and with which jobs: as it was seen, and as the job history has it.
pub(super) struct Owners {
    by_gpu: HashMap<usize, Vec<(i64, Who)>>,
    by_machine: HashMap<(Name, Name), Vec<(i64, Who)>>,
}

impl Owners {
    pub(super) fn of(
        history: &History,
        places: &HashMap<[Name; 3], usize>,
        phases: &[GpuPhase],
        executions: &Executions,
        links: &Links,
    ) -> Owners {
        let mut owners = Owners { by_gpu: HashMap::new(), by_machine: HashMap::new() };
        let mut add = |gpu: usize, start: i64, who: Who| {
            let (cluster, machine) =
                (history.gpus[gpu].place.cluster, history.gpus[gpu].place.machine);
            owners.by_gpu.entry(gpu).or_default().push((start, who));
            owners.by_machine.entry((cluster, machine)).or_default().push((start, who));
        };
        for GpuPhase { gpu, phase } in phases {
            if phase.situation == Situation::Owner {
                add(*gpu, phase.start, phase.who);
            }
        }
        for (execution, links) in links.of_executions(executions) {
            if execution.is_backfill || !links.is_empty() {
                continue;
            }
            for id in executions.gpu_ids(execution) {
                if let Some(gpu) = places.get(&[execution.cluster, execution.machine, *id]) {
                    add(*gpu, execution.start, execution.who);
                }
            }
        }
        owners.by_gpu.values_mut().for_each(|starts| starts.sort_unstable());
        owners.by_machine.values_mut().for_each(|starts| starts.sort_unstable());
        owners
    }

    /// Who came when a job was evicted: on one of its GPUs, or else on its machine. The owner's
    /// claim comes before the eviction by as long as that takes, and is seen by the next look.
    pub(super) fn at(
        &self,
        cluster: Name,
        machine: Name,
        gpus: &[usize],
        start: i64,
        end: i64,
        hold: i64,
    ) -> Option<Evictor> {
        let (from, to) = (start.max(end - hold / 2), end + hold);
        let on_gpus = gpus.iter().filter_map(|gpu| nearest(self.by_gpu.get(gpu)?, end, from, to));
        let on_gpu = on_gpus.min_by_key(|(start, who)| (start.abs_diff(end), *who));
        let evictor = |confidence| move |(_, who): (i64, Who)| Evictor { who, confidence };
        on_gpu.map(evictor("gpu")).or_else(|| {
            let on_machine = self.by_machine.get(&(cluster, machine))?;
            nearest(on_machine, end, from, to).map(evictor("machine"))
        })
    }
}

/// The start next to a moment, from one time to another.
fn nearest(starts: &[(i64, Who)], moment: i64, from: i64, to: i64) -> Option<(i64, Who)> {
    let first = starts.partition_point(|(start, _)| *start < from);
    starts[first..]
        .iter()
        .take_while(|(start, _)| *start <= to)
        .min_by_key(|(start, who)| (start.abs_diff(moment), *who))
        .copied()
}
