//! What an HTCondor pool is asked, and what is made of its answers.
//!
//! A pool has several access points, each with a queue and a history of its own. One that does not
//! answer takes nothing from the others, and is asked again the next time from where it was last
//! heard of.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{GpuModels, Heard, OpenJob, Snapshot};
use record::{
    Collection, GpuSample, Job, JobCount, NodeSpan, QueueSpan, Reject, Seen, SeenNode, Text,
    gpu_counts, job_counts,
};
use source::Machine;
use source::htcondor::{
    CondorHistory, CondorQ, Daemon, Daemons, PoolObservation, PoolSlots, Queued, condor_history_of,
    condor_q, condor_status_with_models_of, daemons, gpu_types,
};

use super::fetch::Question;
use super::plan::{self, Window};
use super::{Answer, Collector, Key, Wanted, fetch, key, open_key};

/// How many queues are asked for at once.
const QUEUES_AT_ONCE: usize = 4;

/// How many GPUs are asked for by name at the most: a word of a command may have 128 KiB in Linux.
const MOST_NAMELESS_GPUS: usize = 2000;

/// For how long an access point that the pool no longer lists is still asked, and a machine is out of
/// service rather than no part of the pool: one that is down for an hour is not gone.
const ABSENCE: SignedDuration = SignedDuration::from_hours(24);

/// What runs by a look at a queue.
pub(super) struct Running {
    time: Timestamp,
    executions: Vec<Job>,
    /// What could not be read.
    set_aside: Vec<Text>,
}

/// What the histories said in one collection.
#[derive(Default)]
pub(super) struct Histories {
    /// The executions that ended.
    ended: HashSet<Key>,
    /// What could not be read.
    set_aside: Vec<Text>,
    /// The times about which each access point answered, in the order in which it was asked.
    answered: BTreeMap<String, Vec<Heard>>,
    /// Why an access point did not answer.
    failures: BTreeMap<String, String>,
}

impl Collector {
    /// Looks at the GPUs and the queues at some moments of a day.
    pub(super) async fn condor_moments(&mut self, machines: &[Arc<dyn Machine>]) -> Result<()> {
        let run = self.run;
        let nameless = self.writer.tracker().nameless_gpus.iter().take(MOST_NAMELESS_GPUS);
        let command = condor_status_with_models_of(nameless.map(String::as_str));
        let mut looks = Vec::with_capacity(machines.len());
        for machine in machines {
            looks.push(fetch::fetch(machine, command.clone(), run, None).await?);
        }
        self.archive_looks(&looks).await?;
        self.take_slots(&looks).await?;

        let Some(last) = machines.last() else { return Ok(()) };
        self.find_daemons(last).await?;
        if let (Some(names), Some(seen)) = (&self.access_points, &mut self.live.jobs) {
            let is_there = |point: &Text| names.iter().any(|name| name == point);
            seen.rows.retain(|row| row.access_point.as_ref().is_none_or(is_there));
        }
        let names = self.access_points.clone().unwrap_or_default();
        let questions = machines.iter().flat_map(|machine| {
            names.iter().map(|name| Question {
                machine: machine.clone(),
                command: condor_q(Some(name)),
                window: None,
            })
        });
        let looks = fetch::fetch_all(questions.collect(), run, QUEUES_AT_ONCE).await?;
        self.archive_looks(&looks).await?;
        self.take_queues(&looks).await
    }

    /// Takes samples of the GPUs and snapshots of the machines. GPUs whose model an answer does not have are
    /// queried by name from then on, for as long as they are there.
    pub(super) async fn take_slots(&mut self, looks: &[Answer]) -> Result<()> {
        let (mut samples, mut runs, mut snapshots) = (Vec::new(), Vec::new(), Vec::new());
        let looks: Vec<&Answer> = looks.iter().filter(|look| !look.is_about_daemons()).collect();
        let Some(last) = looks.last().map(|look| look.asked.time) else { return Ok(()) };
        for look in looks {
            let time = look.asked.time;
            let parser = PoolSlots::new(&self.cluster.name, time, self.hold());
            let read = self.read(look, parser)?;
            let is_look = read.is_look();
            let (mut gpus, mut machines) = (Vec::new(), Vec::new());
            for record in read.records {
                match record {
                    PoolObservation::Gpu(gpu) => gpus.push(gpu),
                    PoolObservation::Machine(machine) => machines.push(machine),
                }
            }
            if is_look {
                let asked_for = &self.writer.tracker().nameless_gpus;
                let is_wanted = |sample: &&GpuSample| {
                    sample.device_name.is_none() || asked_for.contains(&*sample.gpu_id)
                };
                let wanted: BTreeSet<String> =
                    gpus.iter().filter(is_wanted).map(|sample| sample.gpu_id.to_string()).collect();
                self.writer.set_nameless_gpus(wanted);
                self.writer.learn_gpu_models(&gpus);
                self.live.gpus = Some(Seen { time, rows: gpu_counts(&gpus) });
                snapshots.extend(self.machines_at(time, machines));
            }
            samples.extend(gpus);
            runs.push((read.collection, read.rejects));
        }
        let mut change = self.writer.observe(snapshots).await?;
        change += self.sample(&samples, last).await?;
        self.keep(runs, change).await
    }

    /// The machines of a snapshot, with those that the pool listed before and no longer lists. None if it
    /// lists no machine at all: a collector that was just restarted does not know them yet.
    fn machines_at(
        &mut self,
        time: Timestamp,
        mut machines: Vec<SeenNode>,
    ) -> Option<Snapshot<NodeSpan>> {
        if machines.is_empty() {
            return None;
        }
        let end_time = time.checked_add(self.hold()).unwrap_or(Timestamp::MAX);
        if let Some(before) = self.live.nodes.take() {
            let names: HashSet<Text> = machines.iter().map(|seen| seen.node.node.clone()).collect();
            let gone = before.rows.into_iter().filter(|seen| !names.contains(&seen.node.node));
            machines.extend(gone.filter_map(|seen| absent(seen, time, end_time)));
        }
        let nodes = machines.iter().map(|seen| seen.node.clone()).collect();
        self.live.nodes = Some(Seen { time, rows: machines });
        Some(Snapshot::of_all(time, nodes))
    }

    /// Finds the negotiators and the access points of the pool, and those that were there within a day.
    async fn find_daemons(&mut self, machine: &Arc<dyn Machine>) -> Result<()> {
        let answer = fetch::fetch(machine, daemons(), self.run, None).await?;
        self.archive_looks(std::slice::from_ref(&answer)).await?;
        let read = self.read(&answer, Daemons::default())?;
        let is_look = read.is_look();
        if read.collection.error.is_some() || !read.rejects.is_empty() {
            self.keep(vec![(read.collection.clone(), read.rejects)], lake::Change::default())
                .await?;
        }
        self.access_points = None;
        if is_look {
            let (mut points, mut negotiators) = (Vec::new(), Vec::new());
            for daemon in read.records {
                match daemon {
                    Daemon::AccessPoint(point) => points.push(point),
                    Daemon::Negotiator(negotiator) => negotiators.push(negotiator),
                }
            }
            let names: Vec<String> = points.iter().map(|point| point.name.to_string()).collect();
            let time = answer.asked.time;
            self.live.access_points = Some(Seen { time, rows: points });
            self.live.negotiators = Some(Seen { time, rows: negotiators });
            // It may only be down.
            let since = self.run.checked_sub(ABSENCE).unwrap_or(Timestamp::MIN);
            let heard = self.writer.tracker().access_points.iter();
            let lately = heard.filter(|(_, heard)| heard.until > since).map(|(name, _)| name);
            let names: BTreeSet<String> = names.into_iter().chain(lately.cloned()).collect();
            self.access_points = Some(names.into_iter().collect());
        }
        Ok(())
    }

    /// Takes looks at queues, each that of an access point. What waits in one that did not answer is
    /// not known to wait on, nor to be gone.
    pub(super) async fn take_queues(&mut self, looks: &[Answer]) -> Result<()> {
        let (cluster, hold) = (self.cluster.name.clone(), self.hold());
        let (mut snapshots, mut runs) = (Vec::new(), Vec::new());
        for look in looks {
            let (time, name) = (look.asked.time, look.access_point().unwrap_or_default());
            let read = self.read(look, CondorQ::new(&cluster, time, hold))?;
            self.running.remove(name);
            if read.is_look() {
                let (mut spans, mut executions) = (Vec::new(), Vec::new());
                for queued in read.records {
                    match queued {
                        Queued::Waiting(span) => spans.push(span),
                        Queued::Running(mut execution) => {
                            set_gpu_types(&mut execution, &self.writer.tracker().gpu_models);
                            executions.push(execution);
                        }
                    }
                }
                self.live.put_queue(name, time, counts(&spans, &executions, time));
                let only = look.access_point().map(first_of_its_jobs);
                snapshots.push(Snapshot { time, rows: spans, only });
                let set_aside = texts(&read.rejects);
                self.running.insert(name.to_owned(), Running { time, executions, set_aside });
            }
            runs.push((read.collection, read.rejects));
        }
        let change = self.writer.observe(snapshots).await?;
        self.keep(runs, change).await
    }

    /// Asks each access point for the executions that ended since it was last heard of, day by day.
    pub(super) async fn condor_jobs(
        &mut self,
        machine: &Arc<dyn Machine>,
        wanted: Wanted,
        progress: &ProgressBar,
    ) -> Result<()> {
        let Some(names) = self.access_points.clone() else { return Ok(()) };
        let run = self.run;
        let rounds = plan::histories(self.writer.tracker(), &names, run, wanted)?;
        progress.inc_length(rounds.len() as u64);
        let mut heard = Histories::default();
        for round in rounds {
            if let Some((_, window)) = round.first() {
                progress.set_message(format!("jobs of {}", window.start.strftime("%Y-%m-%d")));
            }
            let questions = round
                .into_iter()
                .filter(|(name, _)| !heard.failures.contains_key(name))
                .map(|(name, Window { start, end })| Question {
                    machine: machine.clone(),
                    command: condor_history_of(Some(&name), start, end),
                    window: Some((start, end)),
                });
            let answers = fetch::fetch_all(questions.collect(), run, wanted.parallel).await?;
            self.archive_histories(&answers).await?;
            self.take_histories(&answers, &mut heard).await?;
            progress.inc(1);
        }
        self.settle(heard).await
    }

    /// Archives what was said about one day, in one file.
    async fn archive_histories(&self, answers: &[Answer]) -> Result<()> {
        let Some(first) = answers.first() else { return Ok(()) };
        let (start, _) = first.asked.window.context("an answer about no window")?;
        let day = start.to_zoned(TimeZone::UTC).date();
        let frames: Vec<u8> = answers.iter().flat_map(|answer| &answer.frame).copied().collect();
        self.writer.archive_window(first.program(), day, first.asked.time, &frames).await
    }

    /// Takes what access points said about one day.
    pub(super) async fn take_histories(
        &mut self,
        answers: &[Answer],
        heard: &mut Histories,
    ) -> Result<()> {
        let (mut ended, mut runs) = (Vec::new(), Vec::new());
        for answer in answers {
            let name = answer.access_point().unwrap_or_default().to_owned();
            let (since, end) = answer.asked.window.context("an answer about no window")?;
            let parser = CondorHistory::new(&self.cluster.name, answer.asked.time);
            let mut read = self.read(answer, parser)?;
            for execution in &mut read.records {
                set_gpu_types(execution, &self.writer.tracker().gpu_models);
            }
            match &read.collection.error {
                Some(error) => {
                    heard.failures.insert(name, error.to_string());
                }
                None => {
                    // What happens after the question is not in the answer.
                    let until = end.min(answer.asked.time).max(since);
                    heard.answered.entry(name).or_default().push(Heard { since, until });
                }
            }
            heard.set_aside.extend(texts(&read.rejects));
            heard.ended.extend(read.records.iter().map(key));
            ended.extend(read.records);
            runs.push((read.collection, read.rejects));
        }
        let change = self.writer.upsert(&ended).await?;
        let Some(run) = together(runs, &heard.failures) else { return Ok(()) };
        self.keep(vec![run], change).await
    }

    /// Writes what runs, and closes what ran when it was last seen and of which neither the queue nor
    /// the history of its access point tells any more. Both must have answered.
    pub(super) async fn settle(&mut self, heard: Histories) -> Result<()> {
        let mut running: Vec<Job> = Vec::new();
        for queue in self.running.values() {
            let goes_on = |job: &&Job| !heard.ended.contains(&key(job));
            running.extend(queue.executions.iter().filter(goes_on).cloned());
        }
        self.summary.change += self.writer.upsert(&running).await?;

        let runs: HashSet<Key> = running.iter().map(key).collect();
        let is_gone = |job: &&OpenJob| {
            let name = job.job_id.rsplit_once('#').map_or("", |(name, _)| name);
            let has_answered =
                heard.answered.contains_key(name) && !heard.failures.contains_key(name);
            let Some(queue) = self.running.get(name).filter(|_| has_answered) else {
                return false;
            };
            let may_be_told_of = heard
                .set_aside
                .iter()
                .chain(&queue.set_aside)
                .any(|text| text.contains(&*job.job_id));
            let known = open_key(job);
            !runs.contains(&known) && !heard.ended.contains(&known) && !may_be_told_of
        };
        let gone: Vec<OpenJob> =
            self.writer.tracker().open_jobs().filter(is_gone).cloned().collect();
        let time = self.running.values().map(|queue| queue.time).max().unwrap_or(self.run);
        let closed: Vec<Job> = self
            .writer
            .jobs(gone.iter().map(OpenJob::key))
            .await?
            .iter()
            .map(|job| Collector::closed(job, time))
            .collect();
        self.summary.change += self.writer.upsert(&closed).await?;

        for (name, times) in &heard.answered {
            for time in without_gaps(times) {
                self.writer.heard(name, time);
            }
        }
        Ok(())
    }
}

/// A machine that the pool no longer lists, as `Absent`: it is out of service since it was last listed, and
/// jobs may still run on it, so its allocation is unknown. None once that is a day ago.
fn absent(seen: SeenNode, time: Timestamp, end_time: Timestamp) -> Option<SeenNode> {
    const STATE: &str = "Absent";
    let node = seen.node;
    let last_listed = match (&*node.state, node.reason_time) {
        (STATE, Some(time)) => time,
        _ => node.last_seen_time,
    };
    if time.duration_since(last_listed) > ABSENCE {
        return None;
    }
    let node = NodeSpan {
        start_time: time,
        end_time,
        last_seen_time: time,
        samples: 1,
        state: STATE.into(),
        reason: Some("not listed by the pool's collector".into()),
        reason_user: None,
        reason_time: Some(last_listed),
        alloc_cpus: None,
        alloc_memory_mb: None,
        alloc_gpus: None,
        alloc_gpu_types: None,
        ..node
    };
    Some(SeenNode { node, cpu_load: None, free_memory_mb: None, weight: None })
}

/// Gives an execution the models of its GPUs, which the job history names by their ids alone. An execution
/// without ids has the model of its machine if that has one model only. Where a model is missing, all
/// stay unknown: a part of them would read as fewer GPUs.
pub(super) fn set_gpu_types(job: &mut Job, models: &GpuModels) {
    if job.gpu_types.is_some() {
        return;
    }
    let Some(of_machine) = job.node_list.as_deref().and_then(|machine| models.get(machine)) else {
        return;
    };
    let found: Option<Vec<&str>> = match job.gpu_ids.as_deref() {
        Some(ids) => ids.split(',').map(|id| of_machine.get(id).map(String::as_str)).collect(),
        None => {
            let different: BTreeSet<&str> = of_machine.values().map(String::as_str).collect();
            let gpus = job.alloc_gpus.and_then(|gpus| usize::try_from(gpus).ok());
            let only = different.first().filter(|_| different.len() == 1);
            only.zip(gpus).map(|(model, gpus)| vec![*model; gpus])
        }
    };
    job.gpu_types = found.and_then(gpu_types);
}

/// What the ids of an access point's jobs begin with: `ap1.example.org#12.0`.
fn first_of_its_jobs(access_point: &str) -> String {
    format!("{access_point}#")
}

/// What a queue has in it, counted: what waits, and the executions under way.
fn counts(spans: &[QueueSpan], executions: &[Job], time: Timestamp) -> Vec<JobCount> {
    let held: Vec<QueueSpan> = executions
        .iter()
        .map(|job| QueueSpan {
            cluster: job.cluster.clone(),
            job_id: job.job_id.clone(),
            start_time: time,
            end_time: time,
            last_seen_time: time,
            samples: 1,
            user: job.user.clone(),
            account: job.account.clone(),
            partition: job.partition.clone(),
            qos: job.qos.clone(),
            state: job.state.clone(),
            reason: None,
            submit_time: Some(job.submit_time),
            eligible_time: None,
            tasks: Some(1),
            req_nodes: Some(1),
            req_cpus: job.alloc_cpus.or(job.req_cpus),
            req_mem_mb: job.alloc_mem_mb.or(job.req_mem_mb),
            req_gpus: job.alloc_gpus.or(job.req_gpus),
            gpu_types: None,
            time_limit_seconds: None,
        })
        .collect();
    job_counts(spans.iter().chain(&held))
}

fn texts(rejects: &[Reject]) -> Vec<Text> {
    rejects.iter().map(|reject| reject.text.clone()).collect()
}

/// What the access points were asked about a day, as one question: it was answered if each of them
/// answered, for a day of which one did not tell is not known.
fn together(
    runs: Vec<(Collection, Vec<Reject>)>,
    failures: &BTreeMap<String, String>,
) -> Option<(Collection, Vec<Reject>)> {
    let mut runs = runs.into_iter();
    let (mut all, mut rejects) = runs.next()?;
    all.source = "condor_history".into();
    for (run, set_aside) in runs {
        all.start_time = all.start_time.min(run.start_time);
        all.window_start = all.window_start.min(run.window_start);
        all.window_end = all.window_end.max(run.window_end);
        all.duration_seconds += run.duration_seconds;
        all.bytes += run.bytes;
        all.records += run.records;
        all.rejects += run.rejects;
        rejects.extend(set_aside);
    }
    let failed: Vec<String> =
        failures.iter().map(|(name, failure)| format!("{name}: {failure}")).collect();
    all.error = (!failed.is_empty()).then(|| failed.join("; ").into());
    Some((all, rejects))
}

/// Times that follow one another, as one each, the last first: so that an earlier one meets what is
/// known.
fn without_gaps(times: &[Heard]) -> Vec<Heard> {
    let mut times = times.to_vec();
    times.sort_by_key(|time| time.since);
    let mut whole: Vec<Heard> = Vec::new();
    for time in times {
        match whole.last_mut().filter(|last| time.since <= last.until) {
            Some(last) => last.until = last.until.max(time.until),
            None => whole.push(time),
        }
    }
    whole.reverse();
    whole
}
