//! The executions of jobs on backfill: what the job history says of them, met with what was seen
//! of GPUs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;

use super::Asked;
use super::history::{GpuPhase, History, Place};
use super::phase::Situation;
use crate::gpu_history::Who;
use crate::names::{Name, Names};

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
    fn of_state(state: &str, reason: Option<&str>) -> Outcome {
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

/// How spans and history met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    ByJob,
    ByGpu,
    HistoryOnly,
    SpansOnly,
}

impl Linked {
    pub(super) fn name(self) -> &'static str {
        match self {
            Linked::ByJob => "job",
            Linked::ByGpu => "gpu",
            Linked::HistoryOnly => "history",
            Linked::SpansOnly => "spans",
        }
    }
}

/// Whose job followed an evicted one.
#[derive(Clone, Copy)]
pub(super) struct Evictor {
    pub(super) who: Who,
    /// `gpu` if it got a GPU of the evicted one, `machine` if another of the same machine.
    pub(super) confidence: &'static str,
}

/// A row of `job` that held GPUs in the period.
struct Execution {
    cluster: Name,
    machine: Name,
    who: Who,
    number: i64,
    gpus: Option<i64>,
    gpu_ids: Vec<Name>,
    start: i64,
    end: Option<i64>,
    /// When it ended or was last seen.
    until: i64,
    outcome: Outcome,
    reason: Name,
    is_backfill: bool,
}

/// Every attempt on backfill in the period, by start and job.
pub(super) struct Attempts {
    pub(super) names: Names,
    pub(super) list: Vec<Attempt>,
}

impl Attempts {
    pub(super) async fn find(
        context: &SessionContext,
        history: &History,
        question: &Asked,
    ) -> Result<Attempts> {
        let mut names = history.names.clone();
        let executions = executions(context, &mut names, question).await?;
        let holds = question.holds.iter();
        let holds = holds.map(|(cluster, hold)| (names.of(Some(cluster)), *hold)).collect();
        Ok(Attempts { list: attempts(history, &executions, &holds), names })
    }
}

fn attempts(
    history: &History,
    executions: &[Execution],
    holds: &HashMap<Name, i64>,
) -> Vec<Attempt> {
    let phases: Vec<GpuPhase> = history
        .backfill_phases()
        .into_iter()
        .filter(|phase| phase.phase.situation == Situation::Taken)
        .collect();
    let links = link(history, &phases, executions, holds);
    let places: HashMap<[Name; 3], usize> = history
        .gpus
        .iter()
        .enumerate()
        .map(|(number, gpu)| ([gpu.place.cluster, gpu.place.machine, gpu.gpu_id], number))
        .collect();
    let owners = Owners::of(history, &places, executions, &links);
    let mut attempts = Vec::new();
    for (execution, links) in executions.iter().zip(&links.of_executions) {
        if links.is_empty() && !execution.is_backfill {
            continue;
        }
        let of_phases = links.iter().map(|(_, phase)| phases[*phase].gpu);
        let of_ids = execution
            .gpu_ids
            .iter()
            .filter_map(|id| places.get(&[execution.cluster, execution.machine, *id]).copied());
        let mut gpus: Vec<usize> = of_phases.chain(of_ids).collect();
        gpus.sort_unstable();
        gpus.dedup();
        let hold = holds.get(&execution.cluster).copied().unwrap_or_default();
        let is_evicted = execution.outcome == Outcome::Evicted;
        let evictor = execution.end.filter(|_| is_evicted).and_then(|end| {
            owners.at(execution.cluster, execution.machine, &gpus, execution.start, end, hold)
        });
        let last = links.iter().max_by_key(|(_, phase)| phases[*phase].phase.end);
        let seen_after = last.map(|(_, phase)| phases[*phase].phase.after);
        let seen_until = last.map_or(execution.until, |(_, phase)| phases[*phase].phase.end);
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
            linked: links.iter().map(|(linked, _)| *linked).next().unwrap_or(Linked::HistoryOnly),
            evictor,
        });
    }
    attempts.extend(seen_only(history, &phases, &links.unlinked, &owners, holds));
    attempts.sort_by_key(|attempt| (attempt.start, attempt.place, attempt.who, attempt.number));
    attempts
}

/// Phases that no history tells of. Those of one job that began at once are one attempt.
fn seen_only(
    history: &History,
    phases: &[GpuPhase],
    unlinked: &[usize],
    owners: &Owners,
    holds: &HashMap<Name, i64>,
) -> Vec<Attempt> {
    let mut together: BTreeMap<(Name, Name, Who, i64), Vec<&GpuPhase>> = BTreeMap::new();
    for phase in unlinked.iter().map(|place| &phases[*place]) {
        let Place { cluster, machine, .. } = history.gpus[phase.gpu].place;
        let begun = (cluster, machine, phase.phase.who, phase.phase.start);
        together.entry(begun).or_default().push(phase);
    }
    let attempt =
        |((cluster, machine, who, start), phases): ((Name, Name, Who, i64), Vec<&GpuPhase>)| {
            let last =
                phases.iter().max_by_key(|phase| phase.phase.end).expect("a group has members");
            let outcome = Outcome::of_sight(last.phase.after);
            let end = (outcome != Outcome::Unknown).then_some(last.phase.end);
            let gpus: Vec<usize> = phases.iter().map(|phase| phase.gpu).collect();
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
        };
    together.into_iter().map(attempt).collect()
}

async fn executions(
    context: &SessionContext,
    names: &mut Names,
    question: &Asked,
) -> Result<Vec<Execution>> {
    let mut stream = context
        .sql(
            "SELECT cluster, user, job_id, node_list, gpu_ids, slot, partition, qos, state,
                    end_reason, attempt, alloc_gpus, start_time, end_time, observed_time
             FROM job_run
             WHERE alloc_gpus > 0 OR gpu_ids IS NOT NULL
             ORDER BY cluster, job_id, submit_time, attempt",
        )
        .await?
        .execute_stream()
        .await?;
    let mut executions = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        add(&mut executions, &batch, names, question);
    }
    Ok(executions)
}

fn add(executions: &mut Vec<Execution>, batch: &RecordBatch, names: &mut Names, question: &Asked) {
    for row in 0..batch.num_rows() {
        let text = |place: usize| {
            let column = batch.column(place).as_string_view();
            column.is_valid(row).then(|| column.value(row))
        };
        let number = |place: usize| {
            let column = batch.column(place).as_primitive::<Int64Type>();
            column.is_valid(row).then(|| column.value(row))
        };
        let time = |place: usize| {
            let column = batch.column(place).as_primitive::<TimestampMicrosecondType>();
            column.is_valid(row).then(|| column.value(row))
        };
        let (cluster, machine) = (text(0).unwrap_or_default(), text(3));
        if machine.is_some_and(|machine| question.judgement.mask(machine).is_some()) {
            continue;
        }
        let (Some(start), Some(observed)) = (time(12), time(14)) else { continue };
        let ids = text(4).unwrap_or_default();
        executions.push(Execution {
            cluster: names.of(Some(cluster)),
            machine: names.of(machine),
            who: Who { user: names.of(text(1)), job: names.of(text(2)) },
            number: number(10).unwrap_or_default(),
            gpus: number(11),
            gpu_ids: ids
                .split(',')
                .filter(|id| !id.is_empty())
                .map(|id| names.of(Some(id)))
                .collect(),
            start,
            end: time(13),
            until: time(13).unwrap_or(observed),
            outcome: Outcome::of_state(text(8).unwrap_or_default(), text(9)),
            reason: names.of(text(9)),
            is_backfill: question.judgement.is_backfill(cluster, text(5), text(6), text(7)),
        });
    }
}

/// Places in a list, by something that several may share.
struct Index<Key>(Vec<(Key, usize)>);

impl<Key: Copy + Ord> Index<Key> {
    fn of(places: impl Iterator<Item = (Key, usize)>) -> Index<Key> {
        let mut places: Vec<(Key, usize)> = places.collect();
        places.sort_unstable();
        Index(places)
    }

    fn get(&self, key: Key) -> impl Iterator<Item = usize> {
        let first = self.0.partition_point(|(other, _)| *other < key);
        self.0[first..].iter().take_while(move |(other, _)| *other == key).map(|(_, place)| *place)
    }
}

/// Which phases belong to which executions.
struct Links {
    /// Of each execution, the phases that it was seen in.
    of_executions: Vec<Vec<(Linked, usize)>>,
    unlinked: Vec<usize>,
}

fn link(
    history: &History,
    phases: &[GpuPhase],
    executions: &[Execution],
    holds: &HashMap<Name, i64>,
) -> Links {
    let of_job =
        |(place, execution): (usize, &Execution)| ((execution.cluster, execution.who.job), place);
    let by_job = Index::of(executions.iter().enumerate().map(of_job));
    let of_gpus = |(place, execution): (usize, &Execution)| {
        let gpu = |id: &Name| ([execution.cluster, execution.machine, *id], place);
        execution.gpu_ids.iter().map(gpu).collect::<Vec<_>>()
    };
    let by_gpu = Index::of(executions.iter().enumerate().flat_map(of_gpus));
    let mut links =
        Links { of_executions: vec![Vec::new(); executions.len()], unlinked: Vec::new() };
    for (number, GpuPhase { gpu, phase }) in phases.iter().enumerate() {
        let gpu = &history.gpus[*gpu];
        let Place { cluster, machine, .. } = gpu.place;
        let hold = holds.get(&cluster).copied().unwrap_or_default();
        // How long both lasted together, where a look may be late by as long as it holds.
        let overlap = |execution: &Execution| {
            execution.until.min(phase.end + hold) - execution.start.max(phase.start - hold)
        };
        let found = if phase.who.job != Name::UNKNOWN {
            by_job
                .get((cluster, phase.who.job))
                .filter(|found| overlap(&executions[*found]) > 0)
                .max_by_key(|found| (overlap(&executions[*found]), Reverse(*found)))
                .map(|found| (Linked::ByJob, found))
        } else {
            by_gpu
                .get([cluster, machine, gpu.gpu_id])
                .filter(|found| {
                    let who = executions[*found].who;
                    phase.who.user == Name::UNKNOWN || who.user == phase.who.user
                })
                .filter(|found| executions[*found].start.abs_diff(phase.start) <= hold as u64)
                .min_by_key(|found| executions[*found].start.abs_diff(phase.start))
                .map(|found| (Linked::ByGpu, found))
        };
        match found {
            Some((linked, found)) => links.of_executions[found].push((linked, number)),
            None => links.unlinked.push(number),
        }
    }
    links
}

/// When owners took GPUs back, and with which jobs: as it was seen, and as the job history has it.
struct Owners {
    by_gpu: HashMap<usize, Vec<(i64, Who)>>,
    by_machine: HashMap<(Name, Name), Vec<(i64, Who)>>,
}

impl Owners {
    fn of(
        history: &History,
        places: &HashMap<[Name; 3], usize>,
        executions: &[Execution],
        links: &Links,
    ) -> Owners {
        let mut owners = Owners { by_gpu: HashMap::new(), by_machine: HashMap::new() };
        let mut add = |gpu: usize, start: i64, who: Who| {
            let (cluster, machine) =
                (history.gpus[gpu].place.cluster, history.gpus[gpu].place.machine);
            owners.by_gpu.entry(gpu).or_default().push((start, who));
            owners.by_machine.entry((cluster, machine)).or_default().push((start, who));
        };
        for GpuPhase { gpu, phase } in history.primary_phases() {
            if phase.situation == Situation::Owner {
                add(gpu, phase.start, phase.who);
            }
        }
        for (execution, links) in executions.iter().zip(&links.of_executions) {
            if execution.is_backfill || !links.is_empty() {
                continue;
            }
            for id in &execution.gpu_ids {
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
    fn at(
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
