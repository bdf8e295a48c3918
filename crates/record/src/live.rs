//! What was last seen of a cluster: its nodes, its queue, its GPUs, and how its sources fare.
//!
//! It is small and whole: jobs are counts by what they have in common, so that it does not grow
//! with the history, and only little with the queue. Every part carries the time of the look that
//! it rests on; a part that was never seen is not there.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{GpuSample, NodeSpan, QueueSpan, Text};

/// What was last seen of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    pub cluster: Text,
    /// `slurm` or `htcondor`.
    pub scheduler: Text,
    /// How often it is looked at.
    pub cadence_seconds: f64,
    pub nodes: Option<Seen<SeenNode>>,
    pub jobs: Option<Seen<JobCount>>,
    pub gpus: Option<Seen<GpuCount>>,
    pub access_points: Option<Seen<AccessPoint>>,
    pub negotiators: Option<Seen<Negotiator>>,
    /// What jobs made of what they held lately, by the lake, for each window of time. Who shows it
    /// adds it up: no look saw it.
    #[serde(skip)]
    pub recent_use: Vec<RecentUse>,
    /// Of the last days, the share that was collected when it was over.
    pub collected_ratio: Option<f64>,
    /// By name.
    pub sources: Vec<SourceHealth>,
    /// Whom jobs are pushed to, by name.
    pub sinks: BTreeMap<Text, SinkHealth>,
}

/// What one look saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen<T> {
    pub time: Timestamp,
    pub rows: Vec<T>,
}

/// A node, and what of it changes from look to look and so is in no span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenNode {
    pub node: NodeSpan,
    /// The mean number of busy processes.
    pub cpu_load: Option<f64>,
    /// Memory that its kernel calls free.
    pub free_memory_mb: Option<f64>,
    /// By which the scheduler prefers it.
    pub weight: Option<i64>,
}

/// Jobs that have all of this in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobCount {
    /// The scheduler's word.
    pub state: Text,
    /// Those that a waiting job may start in, joined by commas, are one here.
    pub partition: Option<Text>,
    pub account: Option<Text>,
    pub user: Option<Text>,
    pub qos: Option<Text>,
    /// Why they wait, without the names of nodes; none for others.
    pub reason: Option<Text>,
    /// The queue of an HTCondor pool that they are in.
    pub access_point: Option<Text>,
    /// Each task of an array is one.
    pub jobs: i64,
    /// Held, or asked for while they wait; unknown where not said.
    pub cpus: Option<i64>,
    pub gpus: Option<i64>,
    pub memory_mb: Option<f64>,
    pub nodes: Option<i64>,
    /// Of those that can start, when the first one could.
    pub eligible_time: Option<Timestamp>,
}

/// GPUs that have all of this in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuCount {
    /// Whose it is follows from its name, too, by what the site says of it.
    pub machine: Text,
    pub model: Option<Text>,
    pub primary_state: Option<Text>,
    pub backfill_state: Option<Text>,
    /// Whether projects come first on the machine.
    pub is_prioritized: bool,
    pub is_interactive: bool,
    /// Whether the machine says why it takes no jobs.
    pub is_prevented: bool,
    pub gpus: i64,
}

/// A queue of an HTCondor pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessPoint {
    pub name: Text,
    /// Until when its history is known.
    pub heard_time: Option<Timestamp>,
    /// When the pool's collector last heard of it.
    #[serde(default)]
    pub update_time: Option<Timestamp>,
}

/// What matches the jobs of an HTCondor pool with its slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Negotiator {
    pub name: Text,
    /// When the pool's collector last heard of it.
    pub update_time: Option<Timestamp>,
    /// Of its last cycle, as the rest.
    pub cycle_end_time: Option<Timestamp>,
    pub cycle_seconds: Option<f64>,
    pub cycle_matches: Option<i64>,
}

/// What jobs made, over the time before, of what they held, and what backfill gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecentUse {
    /// How much time: `1h`, `24h`, `7d`.
    pub window: Text,
    /// When it was added up, which is its end.
    pub time: Option<Timestamp>,
    /// By the name of a column of the report that it comes from, such as `cpu_seconds`.
    pub values: BTreeMap<Text, Option<f64>>,
}

/// How a command of the scheduler fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceHealth {
    /// The command, such as `squeue`.
    pub source: Text,
    /// Since this account began; so are the other totals.
    pub commands: i64,
    pub failures: i64,
    pub seconds: f64,
    pub rejects_in_all: i64,
    pub last_time: Option<Timestamp>,
    pub success_time: Option<Timestamp>,
    /// Of the last run.
    pub duration_seconds: Option<f64>,
    /// Of the last answer, as the rest.
    pub bytes: Option<i64>,
    pub records: Option<i64>,
    pub rejects: Option<i64>,
    /// Why the last run failed; unknown means that it worked.
    pub error: Option<Text>,
}

/// How pushing jobs to somebody fares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SinkHealth {
    /// When all that was due was last taken or refused.
    pub success_time: Option<Timestamp>,
    /// Since this account began; so is the next.
    pub documents: i64,
    /// Documents that it will not take.
    pub refused: i64,
    /// Why the last push failed; unknown means that it worked.
    pub error: Option<Text>,
}

impl Live {
    /// Puts what an access point's queue has in the place of what it had; of those that the pool
    /// no longer has, nothing stays.
    pub fn put_queue(&mut self, access_point: &str, time: Timestamp, mut rows: Vec<JobCount>) {
        for row in &mut rows {
            row.access_point = Some(access_point.into());
        }
        let seen = self.jobs.get_or_insert_with(|| Seen { time, rows: Vec::new() });
        seen.time = seen.time.max(time);
        seen.rows.retain(|row| row.access_point.as_deref() != Some(access_point));
        seen.rows.append(&mut rows);
    }

    /// The account of a source, begun if there is none.
    pub fn source(&mut self, name: &str) -> &mut SourceHealth {
        let place = match self.sources.binary_search_by(|known| known.source.as_str().cmp(name)) {
            Ok(place) => place,
            Err(place) => {
                let begun = SourceHealth { source: name.into(), ..SourceHealth::default() };
                self.sources.insert(place, begun);
                place
            }
        };
        &mut self.sources[place]
    }
}

impl SourceHealth {
    /// Adds a run of the command.
    pub fn note(&mut self, run: &crate::Collection) {
        self.commands += 1;
        self.seconds += run.duration_seconds;
        self.last_time = self.last_time.max(Some(run.start_time));
        self.duration_seconds = Some(run.duration_seconds);
        self.rejects_in_all += run.rejects;
        self.error.clone_from(&run.error);
        if is_nonsense(run) {
            self.error = Some("nothing that it printed could be read".into());
        }
        if self.error.is_some() {
            self.failures += 1;
        } else {
            self.success_time = self.success_time.max(Some(run.start_time));
            self.bytes = Some(run.bytes);
            self.records = Some(run.records);
            self.rejects = Some(run.rejects);
        }
    }
}

/// Whether a command printed something, and nothing of it could be read: it answered another
/// question, or is another program. It says nothing of the cluster.
pub fn is_nonsense(run: &crate::Collection) -> bool {
    run.records == 0 && run.rejects > 0
}

/// Counts jobs of a queue by what they have in common.
///
/// A sum of what is known and what is not would be neither, so jobs that do not say what they
/// hold or ask for are counted apart from those that do.
pub fn job_counts<'a>(jobs: impl IntoIterator<Item = &'a QueueSpan>) -> Vec<JobCount> {
    let mut counts: BTreeMap<_, JobCount> = BTreeMap::new();
    for job in jobs {
        let reason = job.reason.as_deref().filter(|_| is_waiting(&job.state)).map(without_names);
        let known = (job.req_cpus.is_some(), job.req_gpus.is_some(), job.req_mem_mb.is_some());
        let key = (&job.state, &job.partition, &job.account, &job.user, &job.qos, reason, known);
        let tasks = job.tasks.unwrap_or(1);
        let count = counts.entry(key).or_insert_with(|| JobCount {
            state: job.state.clone(),
            partition: job.partition.clone(),
            account: job.account.clone(),
            user: job.user.clone(),
            qos: job.qos.clone(),
            reason: reason.map(Into::into),
            cpus: job.req_cpus.map(|_| 0),
            gpus: job.req_gpus.map(|_| 0),
            memory_mb: job.req_mem_mb.map(|_| 0.0),
            ..JobCount::default()
        });
        count.jobs += tasks;
        add(&mut count.cpus, job.req_cpus, tasks);
        add(&mut count.gpus, job.req_gpus, tasks);
        if let (Some(sum), Some(memory)) = (&mut count.memory_mb, job.req_mem_mb) {
            *sum += memory * tasks as f64;
        }
        if let Some(nodes) = job.req_nodes {
            count.nodes = Some(count.nodes.unwrap_or(0) + nodes * tasks);
        }
        if is_waiting(&job.state)
            && let Some(eligible) = job.eligible_time.filter(|time| *time <= job.last_seen_time)
        {
            let first = count.eligible_time.map_or(eligible, |first| first.min(eligible));
            count.eligible_time = Some(first);
        }
    }
    counts.into_values().collect()
}

fn add(sum: &mut Option<i64>, one: Option<i64>, tasks: i64) {
    if let (Some(sum), Some(one)) = (sum, one) {
        *sum += one * tasks;
    }
}

/// Whether a job in such a state waits for what it asked for.
pub(crate) fn is_waiting(state: &str) -> bool {
    const WAITING: [&str; 7] =
        ["PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "IDLE", "HELD"];
    WAITING.contains(&state)
}

/// `ReqNodeNotAvail, UnavailableNodes:n1` is `ReqNodeNotAvail`: the names of nodes would make of
/// each job a reason of its own.
fn without_names(reason: &str) -> &str {
    reason.split([',', '(', ':', ';']).next().unwrap_or(reason).trim_end()
}

/// Counts GPUs by what they have in common.
pub fn gpu_counts<'a>(samples: impl IntoIterator<Item = &'a GpuSample>) -> Vec<GpuCount> {
    let mut counts: BTreeMap<_, GpuCount> = BTreeMap::new();
    for gpu in samples {
        let said = |text: &Option<Text>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        let is_prioritized = said(&gpu.prioritized_projects);
        let is_interactive = gpu.interactive == Some(true);
        let is_prevented = said(&gpu.prevent_reason);
        let states = (&gpu.primary_state, &gpu.backfill_state);
        let thing = (&gpu.machine, &gpu.device_name);
        let key = (thing, states, is_prioritized, is_interactive, is_prevented);
        let count = counts.entry(key).or_insert_with(|| GpuCount {
            machine: gpu.machine.clone(),
            model: gpu.device_name.clone(),
            primary_state: gpu.primary_state.clone(),
            backfill_state: gpu.backfill_state.clone(),
            is_prioritized,
            is_interactive,
            is_prevented,
            gpus: 0,
        });
        count.gpus += 1;
    }
    counts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// `state partition user reason tasks cpus gpus eligible`, a dash for what is not known, seen
    /// at second 1000.
    fn job(line: &str) -> QueueSpan {
        let cells: Vec<&str> = line.split(' ').collect();
        let text = |index: usize| {
            let text = cells[index].replace('_', " ");
            (text != "-").then(|| text.into())
        };
        let number = |index: usize| cells[index].parse().ok();
        QueueSpan {
            cluster: "maple".into(),
            job_id: "1".into(),
            start_time: time(1000),
            end_time: time(2000),
            last_seen_time: time(1000),
            samples: 1,
            user: text(2),
            account: None,
            partition: text(1),
            qos: None,
            state: cells[0].into(),
            reason: text(3),
            submit_time: None,
            eligible_time: number(7).map(time),
            tasks: number(4),
            req_nodes: Some(1),
            req_cpus: number(5),
            req_mem_mb: Some(100.0),
            req_gpus: number(6),
            gpu_types: None,
            time_limit_seconds: None,
        }
    }

    #[test]
    fn jobs_are_counted_by_what_they_have_in_common() {
        let jobs: Vec<QueueSpan> = [
            "RUNNING gpu ann None 1 8 2 500",
            "RUNNING gpu ann Resources 1 4 1 500",
            "PENDING gpu ann ReqNodeNotAvail,_UnavailableNodes:n1 1 8 1 400",
            "PENDING gpu ann ReqNodeNotAvail,_UnavailableNodes:n2 3 8 1 300",
            // It can start only later than now: it does not wait yet.
            "PENDING gpu ann Dependency 1 1 0 2000",
            "PENDING gpu ann Dependency 1 1 - -",
        ]
        .map(job)
        .into();
        let shown: Vec<String> = job_counts(&jobs)
            .iter()
            .map(|count| {
                format!(
                    "{} {} jobs {} cpus {:?} gpus {:?} since {:?}",
                    count.state,
                    count.reason.as_deref().unwrap_or("-"),
                    count.jobs,
                    count.cpus,
                    count.gpus,
                    count.eligible_time.map(Timestamp::as_second),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "PENDING Dependency jobs 1 cpus Some(1) gpus None since None",
                "PENDING Dependency jobs 1 cpus Some(1) gpus Some(0) since None",
                // 1 task and 3 tasks of 8 CPUs and 1 GPU each.
                "PENDING ReqNodeNotAvail jobs 4 cpus Some(32) gpus Some(4) since Some(300)",
                "RUNNING - jobs 2 cpus Some(12) gpus Some(3) since None",
            ]
        );
    }

    #[test]
    fn a_source_that_fails_keeps_what_it_last_said() {
        let run = |second, error: Option<&str>| crate::Collection {
            cluster: "maple".into(),
            source: "squeue".into(),
            start_time: time(second),
            window_start: None,
            window_end: None,
            duration_seconds: 0.5,
            bytes: 100,
            records: 7,
            rejects: 1,
            changed: 0,
            error: error.map(Into::into),
        };
        let mut live = Live::default();
        live.source("squeue").note(&run(10, None));
        live.source("scontrol").note(&run(10, None));
        live.source("squeue").note(&run(20, Some("timed out")));
        let names: Vec<_> = live.sources.iter().map(|source| source.source.as_str()).collect();
        assert_eq!(names, ["scontrol", "squeue"]);
        let squeue = &live.sources[1];
        assert_eq!((squeue.commands, squeue.failures, squeue.seconds), (2, 1, 1.0));
        assert_eq!((squeue.success_time, squeue.last_time), (Some(time(10)), Some(time(20))));
        assert_eq!((squeue.records, squeue.rejects_in_all), (Some(7), 2));
        assert_eq!(squeue.error.as_deref(), Some("timed out"));
        live.source("squeue").note(&crate::Collection { records: 0, ..run(30, None) });
        let squeue = &live.sources[1];
        assert_eq!((squeue.failures, squeue.success_time), (2, Some(time(10))));
        assert_eq!(squeue.error.as_deref(), Some("nothing that it printed could be read"));
    }

    #[test]
    fn what_was_seen_comes_back_from_its_text_and_an_older_one_lacks_parts() {
        let live = Live {
            cluster: "maple".into(),
            jobs: Some(Seen { time: time(5), rows: vec![JobCount::default()] }),
            ..Live::default()
        };
        let text = serde_json::to_string(&live).unwrap();
        assert_eq!(serde_json::from_str::<Live>(&text).unwrap(), live);
        let old: Live = serde_json::from_str(r#"{"cluster":"maple"}"#).unwrap();
        assert_eq!((old.cluster.as_str(), old.nodes), ("maple", None));
    }
}
