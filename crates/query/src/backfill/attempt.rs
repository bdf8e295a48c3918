//! The executions of jobs on backfill: what the job history says of them, met with what was seen
//! of GPUs.

use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use hashbrown::HashMap;

use super::execution::Execution;
use super::history::{GpuPhase, History, Place};
use super::link::{Link, Linked, Links};
use super::owner::{Evictor, Owners};
use super::phase::Situation;
use super::timeline::Timeline;
use crate::gpu_history::Who;
use crate::names::Name;
use crate::side_by_side::side_by_side;

/// An execution of a job on backfill.
pub(super) struct Attempt {
    pub(super) place: Place,
    pub(super) who: Who,
    pub(super) number: Option<i64>,
    pub(super) gpus: Option<i64>,
    pub(super) start: i64,
    /// Unknown while it runs, and where nobody looked.
    pub(super) end: Option<i64>,
    /// When it ended or was last seen.
    pub(super) until: i64,
    pub(super) is_start_known: bool,
    pub(super) outcome: Outcome,
    pub(super) reason: Name,
    pub(super) cause: Option<&'static str>,
    pub(super) linked: Linked,
    pub(super) evictor: Option<Evictor>,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Evicted,
    Finished,
    Failed,
    Removed,
    Lost,
    Running,
    Ended,
    Unknown,
}

impl Outcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Evicted => "evicted",
            Outcome::Finished => "finished",
            Outcome::Failed => "failed",
            Outcome::Removed => "removed",
            Outcome::Lost => "lost",
            Outcome::Running => "running",
            Outcome::Ended => "ended",
            Outcome::Unknown => "unknown",
        }
    }

    /// By the state of a row of `job`, and the reason that it ended for.
    pub(super) fn of_state(state: &str, reason: Option<&str>) -> Outcome {
        match state {
            // HTCondor's 1009, claim deactivated, is what its own access point does when a user
            // holds, removes or vacates the job (fixtures/htcondor, truth/attempts.csv).
            "EVICTED" if reason.is_some_and(|reason| reason.starts_with("1009:")) => {
                Outcome::Removed
            }
            "EVICTED" | "PREEMPTED" => Outcome::Evicted,
            "COMPLETED" => Outcome::Finished,
            "FAILED" | "TIMEOUT" | "DEADLINE" | "OUT_OF_MEMORY" => Outcome::Failed,
            "CANCELLED" | "REMOVED" | "REVOKED" | "REQUEUED" => Outcome::Removed,
            "NODE_FAIL" | "BOOT_FAIL" | "LAUNCH_FAILED" => Outcome::Lost,
            "RUNNING" | "SUSPENDED" | "COMPLETING" | "STOPPED" => Outcome::Running,
            _ => Outcome::Unknown,
        }
    }

    /// By what was seen of its GPU after it, without any history.
    fn of_sight(after: Situation) -> Outcome {
        match after {
            Situation::Owner
            | Situation::Draining
            | Situation::Drained
            | Situation::Maintenance
            | Situation::Rebooting => Outcome::Evicted,
            Situation::Down | Situation::Gone => Outcome::Lost,
            Situation::Open | Situation::Taken => Outcome::Ended,
            Situation::Unknown => Outcome::Unknown,
        }
    }
}

/// Every attempt on backfill in the period, in an order that follows from what they are.
pub(super) struct Attempts {
    pub(super) parts: Vec<Vec<Attempt>>,
    /// What all of it takes, for as long as it is there.
    _held: MemoryReservation,
}

impl Attempts {
    /// The executions of a period, met with what its samples show.
    pub(super) fn find(timeline: &Timeline, held: MemoryReservation) -> Result<Attempts> {
        let Timeline { history, executions, index, .. } = timeline;
        let is_taken =
            |seen: &&GpuPhase| seen.is_sampled && seen.phase.situation == Situation::Taken;
        let taken: Vec<GpuPhase> = timeline.backfill.iter().filter(is_taken).cloned().collect();
        held.try_grow(taken.capacity() * size_of::<GpuPhase>())?;
        // There is one for each execution and each phase at the most.
        held.try_grow((executions.list.len() + taken.len()) * size_of::<Attempt>())?;
        let links = Links::find(history, &taken, executions, index);
        let owners = Owners::of(timeline, &links);
        let known =
            Known { timeline, phases: &taken, owners: &owners, machines: common_places(history) };
        let mut parts = side_by_side(&executions.list, |first, part| {
            known.attempts(links.of_executions(first, part))
        });
        parts.push(known.sampled_only(&links.unlinked));
        let attempts: usize = parts.iter().map(Vec::capacity).sum();
        held.try_resize(attempts * size_of::<Attempt>())?;
        Ok(Attempts { parts, _held: held })
    }
}

/// What all GPUs of each machine have in common.
fn common_places(history: &History) -> HashMap<(Name, Name), Place> {
    let mut machines: HashMap<(Name, Name), Place> = HashMap::new();
    for gpu in history.gpus.iter().filter(|gpu| gpu.is_in_period) {
        machines
            .entry((gpu.place.cluster, gpu.place.machine))
            .and_modify(|common| common.keep_common(&gpu.place))
            .or_insert(gpu.place);
    }
    machines
}

/// What is known of all executions.
struct Known<'a> {
    timeline: &'a Timeline,
    /// Those of a job on backfill that samples show.
    phases: &'a [GpuPhase],
    owners: &'a Owners,
    machines: HashMap<(Name, Name), Place>,
}

impl Known<'_> {
    /// Of executions that were on backfill, with the phases that they were seen in.
    fn attempts<'a>(
        &self,
        linked: impl Iterator<Item = (&'a Execution, &'a [Link])>,
    ) -> Vec<Attempt> {
        let Known { timeline, phases, owners, .. } = self;
        let Timeline { history, executions, index, .. } = timeline;
        let Timeline { period_start, period_end, .. } = **timeline;
        let mut attempts = Vec::new();
        let mut gpus = Vec::new();
        for (execution, links) in linked {
            let is_on_backfill = execution.is_backfill || !links.is_empty();
            if !is_on_backfill || execution.start >= period_end {
                continue;
            }
            // One that has no end yet and that samples show is in the period, whenever its row was observed.
            let is_over = execution.end.is_some() || links.is_empty();
            if is_over && execution.start < period_start && execution.until <= period_start {
                continue;
            }
            gpus.clear();
            gpus.extend(links.iter().map(|link| phases[link.phase].gpu));
            gpus.extend(executions.gpus(execution).filter(|gpu| !history.gpus[*gpu].is_left_out));
            gpus.sort_unstable();
            gpus.dedup();
            let hold = index.hold(execution.cluster);
            let is_evicted = execution.outcome == Outcome::Evicted;
            let evictor = execution.end.filter(|_| is_evicted).and_then(|end| {
                owners.at(execution.cluster, execution.machine, &gpus, execution.start, end, hold)
            });
            let seen = |link: &Link| &phases[link.phase];
            let last = links.iter().map(seen).max_by_key(|seen| seen.phase.end);
            let seen_after = last.map(|last| self.after(execution, last));
            let seen_until = last.map_or(execution.until, |last| last.phase.end);
            attempts.push(Attempt {
                place: self.place(execution, &gpus),
                who: execution.who,
                number: Some(execution.number),
                gpus: execution.gpus.or_else(|| Some(gpus.len() as i64).filter(|gpus| *gpus > 0)),
                start: execution.start,
                end: execution.end,
                until: execution.end.unwrap_or(execution.until.max(seen_until)),
                is_start_known: true,
                outcome: execution.outcome,
                reason: execution.reason,
                cause: is_evicted.then_some(match (seen_after, evictor) {
                    (
                        Some(
                            after @ (Situation::Draining
                            | Situation::Drained
                            | Situation::Down
                            | Situation::Maintenance
                            | Situation::Rebooting),
                        ),
                        _,
                    ) => after.name(),
                    (Some(Situation::Gone), None) => "gone",
                    (Some(Situation::Owner), _) | (_, Some(_)) => "owner",
                    _ => "unknown",
                }),
                linked: links.first().map_or(Linked::HistoryOnly, |link| link.linked),
                evictor,
            });
        }
        attempts
    }

    /// What followed an execution on a GPU: the same job, if it began again there before the next sample.
    fn after(&self, execution: &Execution, last: &GpuPhase) -> Situation {
        let Timeline { history, executions, index, .. } = self.timeline;
        let GpuPhase { gpu, phase, .. } = last;
        let began_again = execution.end.is_some_and(|end| {
            index
                .of_job(executions, phase.who.job, history.gpus[*gpu].place)
                .any(|(_, other)| (end..phase.end).contains(&other.start))
        });
        if began_again { Situation::Taken } else { phase.after }
    }

    /// Where an execution ran, and on which model: by its GPUs if they are known, else by what the
    /// history says of the job, else by what all GPUs of its machine are.
    fn place(&self, execution: &Execution, gpus: &[usize]) -> Place {
        let Timeline { history, executions, .. } = self.timeline;
        let of_job = executions.place(execution);
        let mut place = gpus.first().map_or(of_job, |gpu| history.gpus[*gpu].place);
        // One of its GPUs may not have been offered for backfill while samples were taken.
        gpus.iter().skip(1).for_each(|gpu| place.add(&history.gpus[*gpu].place));
        place.add(&of_job);
        if let Some(common) = self.machines.get(&(execution.cluster, execution.machine)) {
            place.add(common);
        }
        place
    }

    /// Phases that no history tells of. Those of one job that began at once are one attempt.
    fn sampled_only(&self, unlinked: &[usize]) -> Vec<Attempt> {
        let Known { timeline: Timeline { history, index, .. }, phases, owners, .. } = self;
        let begun = |place: &usize| {
            let GpuPhase { gpu, phase, .. } = &phases[*place];
            let Place { cluster, machine, .. } = history.gpus[*gpu].place;
            (cluster, machine, phase.who, phase.start)
        };
        let mut unlinked = unlinked.to_vec();
        unlinked.sort_by_key(begun);
        let mut together: Vec<&[usize]> =
            unlinked.chunk_by(|one, other| begun(one) == begun(other)).collect();
        together.sort_unstable_by_key(|places| places[0]);
        together
            .into_iter()
            .map(|places| {
                let (cluster, machine, who, start) = begun(&places[0]);
                let seen = || places.iter().map(|place| &phases[*place]);
                let last = seen().max_by_key(|seen| seen.phase.end).expect("a group has members");
                let outcome = Outcome::of_sight(last.phase.after);
                let end = (outcome != Outcome::Unknown).then_some(last.phase.end);
                let gpus: Vec<usize> = seen().map(|seen| seen.gpu).collect();
                let hold = index.hold(cluster);
                let is_evicted = outcome == Outcome::Evicted;
                Attempt {
                    place: history.gpus[last.gpu].place,
                    who,
                    number: None,
                    gpus: Some(gpus.len() as i64),
                    start,
                    end,
                    until: last.phase.end,
                    is_start_known: last.phase.before != Situation::Unknown,
                    outcome,
                    reason: Name::UNKNOWN,
                    cause: is_evicted.then(|| last.phase.after.name()),
                    linked: Linked::SpansOnly,
                    evictor: end
                        .filter(|_| is_evicted)
                        .and_then(|end| owners.at(cluster, machine, &gpus, start, end, hold)),
                }
            })
            .collect()
    }
}
