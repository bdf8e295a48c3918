//! The executions of jobs on backfill: what the job history says of them, met with what was seen
//! of GPUs.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::array::{Array, StringViewArray};
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::memory_pool::MemoryReservation;
use hashbrown::HashMap;

use super::execution::{self, Execution, Executions};
use super::history::{GpuPhase, History, Place};
use super::link::{Link, Linked, Links};
use super::owner::{Evictor, Owners};
use super::phase::Situation;
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
            Situation::Owner | Situation::Drained => Outcome::Evicted,
            Situation::Gone => Outcome::Lost,
            Situation::Open | Situation::Taken => Outcome::Ended,
            Situation::Unknown => Outcome::Unknown,
        }
    }
}

/// Every attempt on backfill in the period, in an order that follows from what they are.
pub(super) struct Attempts {
    /// All texts that they name.
    pub(super) texts: StringViewArray,
    pub(super) parts: Vec<Vec<Attempt>>,
    /// What all of it takes, for as long as it is there.
    _held: MemoryReservation,
}

impl Attempts {
    /// From what was seen of GPUs, and what was read of the job history. What it takes is added to
    /// what is held.
    pub(super) async fn find(
        history: &Arc<History>,
        executions: Vec<execution::Reader>,
        holds: &BTreeMap<String, i64>,
        held: MemoryReservation,
    ) -> Result<Attempts> {
        // The names and the executions of all, beside those of each.
        let together =
            history.names.bytes() + executions.iter().map(execution::Reader::bytes).sum::<usize>();
        held.try_grow(together)?;
        let seen = history.clone();
        let is_taken = |situation| situation == Situation::Taken;
        let taken = SpawnedTask::spawn_blocking(move || seen.backfill_phases(is_taken));
        let seen = history.clone();
        let owners = SpawnedTask::spawn_blocking(move || Owners::seen(&seen));
        let mut names = history.names.clone();
        let executions = Executions::of(executions, &mut names);
        let holds = holds.iter().map(|(cluster, hold)| (names.of(Some(cluster)), *hold)).collect();
        let texts = SpawnedTask::spawn_blocking(move || names.array());
        let (taken, owners) = (taken.join_unwind().await?, owners.join_unwind().await?);
        let texts = texts.join_unwind().await?;
        held.try_grow(texts.get_array_memory_size())?;
        held.try_grow(taken.capacity() * size_of::<GpuPhase>())?;
        // There is one for each execution and each phase at the most.
        held.try_grow((executions.list.len() + taken.len()) * size_of::<Attempt>())?;
        let parts = attempts(history, &taken, owners, &executions, &holds);
        let attempts: usize = parts.iter().map(Vec::capacity).sum();
        held.try_resize(texts.get_array_memory_size() + attempts * size_of::<Attempt>())?;
        Ok(Attempts { texts, parts, _held: held })
    }
}

fn attempts(
    history: &History,
    phases: &[GpuPhase],
    mut owners: Owners,
    executions: &Executions,
    holds: &HashMap<Name, i64>,
) -> Vec<Vec<Attempt>> {
    let links = Links::find(history, phases, executions, holds);
    let places: HashMap<[Name; 3], usize> = history
        .gpus
        .iter()
        .enumerate()
        .map(|(number, gpu)| ([gpu.place.cluster, gpu.place.machine, gpu.gpu_id], number))
        .collect();
    owners.add(&places, executions, &links);
    let known = Known { history, phases, places: &places, owners: &owners, holds };
    let mut attempts = side_by_side(&executions.list, |first, part| {
        known.attempts(executions, links.of_executions(first, part))
    });
    attempts.push(seen_only(history, phases, &links.unlinked, &owners, holds));
    attempts
}

/// What is known of all executions.
struct Known<'a> {
    history: &'a History,
    phases: &'a [GpuPhase],
    /// The GPUs' places, by cluster, machine and id.
    places: &'a HashMap<[Name; 3], usize>,
    owners: &'a Owners,
    holds: &'a HashMap<Name, i64>,
}

impl Known<'_> {
    /// Of executions that were on backfill, with the phases that they were seen in.
    fn attempts<'a>(
        &self,
        executions: &Executions,
        linked: impl Iterator<Item = (&'a Execution, &'a [Link])>,
    ) -> Vec<Attempt> {
        let Known { history, phases, places, owners, holds } = self;
        let mut attempts = Vec::new();
        let mut gpus = Vec::new();
        for (execution, links) in linked {
            if links.is_empty() && !execution.is_backfill {
                continue;
            }
            let of_ids = executions
                .gpu_ids(execution)
                .iter()
                .filter_map(|id| places.get(&[execution.cluster, execution.machine, *id]).copied());
            gpus.clear();
            gpus.extend(links.iter().map(|link| phases[link.phase].gpu).chain(of_ids));
            gpus.sort_unstable();
            gpus.dedup();
            let hold = holds.get(&execution.cluster).copied().unwrap_or_default();
            let is_evicted = execution.outcome == Outcome::Evicted;
            let evictor = execution.end.filter(|_| is_evicted).and_then(|end| {
                owners.at(execution.cluster, execution.machine, &gpus, execution.start, end, hold)
            });
            let seen = |link: &Link| &phases[link.phase].phase;
            let last = links.iter().map(seen).max_by_key(|phase| phase.end);
            let seen_after = last.map(|phase| phase.after);
            let seen_until = last.map_or(execution.until, |phase| phase.end);
            attempts.push(Attempt {
                place: match gpus.first() {
                    Some(gpu) => history.gpus[*gpu].place,
                    None => Place {
                        cluster: execution.cluster,
                        machine: execution.machine,
                        ..Place::default()
                    },
                },
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
                    (Some(Situation::Drained), _) => "drained",
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
}

/// Phases that no history tells of. Those of one job that began at once are one attempt.
fn seen_only(
    history: &History,
    phases: &[GpuPhase],
    unlinked: &[usize],
    owners: &Owners,
    holds: &HashMap<Name, i64>,
) -> Vec<Attempt> {
    let begun = |place: &usize| {
        let GpuPhase { gpu, phase } = &phases[*place];
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
            let hold = holds.get(&cluster).copied().unwrap_or_default();
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
