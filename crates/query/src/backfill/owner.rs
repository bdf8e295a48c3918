//! Who came when a job on backfill was evicted.

use hashbrown::HashMap;

use super::history::GpuPhase;
use super::link::Links;
use super::phase::Situation;
use super::timeline::Timeline;
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
    by_gpu: Vec<Starts>,
    by_machine: Vec<Starts>,
    /// The machine of each GPU.
    machine_of: Vec<usize>,
    machines: HashMap<(Name, Name), usize>,
}

/// In the order of time once all are known.
type Starts = Vec<(i64, Who)>;

impl Owners {
    /// Of the phases of the owner's side, and of executions that were not on backfill.
    pub(super) fn of(timeline: &Timeline, links: &Links) -> Owners {
        let Timeline { history, executions, .. } = timeline;
        let mut machines = HashMap::new();
        let machine_of = history.gpus.iter().map(|gpu| {
            let count = machines.len();
            *machines.entry((gpu.place.cluster, gpu.place.machine)).or_insert(count)
        });
        let machine_of: Vec<usize> = machine_of.collect();
        let mut owners = Owners {
            by_gpu: vec![Starts::new(); machine_of.len()],
            by_machine: vec![Starts::new(); machines.len()],
            machine_of,
            machines,
        };
        let is_owners = |seen: &&GpuPhase| seen.phase.situation == Situation::Owner;
        for GpuPhase { gpu, phase, .. } in timeline.primary.iter().filter(is_owners) {
            owners.push(*gpu, phase.start, phase.who);
        }
        for (execution, links) in links.of_executions(0, &executions.list) {
            if execution.is_backfill || !links.is_empty() {
                continue;
            }
            for gpu in executions.gpus(execution) {
                owners.push(gpu, execution.start, execution.who);
            }
        }
        // The phases of each GPU are in order already: a stable sort makes use of that.
        owners.by_gpu.iter_mut().chain(&mut owners.by_machine).for_each(|starts| starts.sort());
        owners
    }

    fn push(&mut self, gpu: usize, start: i64, who: Who) {
        self.by_gpu[gpu].push((start, who));
        self.by_machine[self.machine_of[gpu]].push((start, who));
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
        let on_gpus = gpus.iter().filter_map(|gpu| nearest(&self.by_gpu[*gpu], end, from, to));
        let on_gpu = on_gpus.min_by_key(|(start, who)| (start.abs_diff(end), *who));
        let evictor = |confidence| move |(_, who): (i64, Who)| Evictor { who, confidence };
        on_gpu.map(evictor("gpu")).or_else(|| {
            let on_machine = *self.machines.get(&(cluster, machine))?;
            nearest(&self.by_machine[on_machine], end, from, to).map(evictor("machine"))
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
