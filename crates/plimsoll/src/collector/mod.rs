//! Asks one cluster's scheduler, archives what it says, and writes what that means into the lake.

mod fetch;
mod plan;

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Change, Lake, OpenJob, Snapshot, Writer};
use record::{Collection, GpuSample, Job, NodeSpan, Reject};
use source::htcondor::{self, CondorHistory, CondorStatus};
use source::slurm::{self, Offered, Sacct, ScontrolNode, Squeue, Waiting};
use source::{Command, Machine, Parser, Rejected};

use crate::config::{Cluster, Kind};

pub(crate) use fetch::Answer;
pub(crate) use plan::{Window, all, due};

/// Collects from one cluster; holds its lock meanwhile.
pub(crate) struct Collector {
    writer: Writer,
    cluster: Cluster,
    summary: Summary,
    /// When this collection began.
    run: Timestamp,
    /// Whether answers are archived: those that come from the archive are there already.
    archives: bool,
    /// What waits by the last look at the queue; none if there was none, or if it failed.
    queue: Option<Queue>,
}

/// What a collection did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) records: u64,
    pub(crate) change: Change,
    pub(crate) rejects: u64,
    /// Questions that were answered.
    pub(crate) answers: u64,
    pub(crate) failures: Vec<String>,
}

impl Summary {
    pub(crate) fn add(&mut self, other: &Summary) {
        self.records += other.records;
        self.change += other.change;
        self.rejects += other.rejects;
        self.answers += other.answers;
        self.failures.extend(other.failures.iter().cloned());
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.rejects == 0 && self.failures.is_empty()
    }

    pub(crate) fn line(&self) -> String {
        let mut line = format!(
            "collected {} records: {} rows new, {} changed",
            self.records, self.change.added, self.change.changed
        );
        if self.rejects > 0 {
            line += &format!(
                "; {} pieces could not be read and were set aside (`plimsoll report rejects`)",
                self.rejects
            );
        }
        for failure in &self.failures {
            line += &format!("\nfailed: {failure}");
        }
        line
    }
}

/// What was read of an answer.
struct Read<T> {
    collection: Collection,
    records: Vec<T>,
    rejects: Vec<Reject>,
}

impl Collector {
    pub(crate) async fn open(lake: &Lake, cluster: &Cluster, run: Timestamp) -> Result<Collector> {
        Ok(Collector {
            writer: lake.writer(&cluster.name).await?,
            cluster: cluster.clone(),
            summary: Summary::default(),
            run,
            archives: true,
            queue: None,
        })
    }

    /// The same for answers that come from the archive.
    pub(crate) async fn replaying(lake: &Lake, cluster: &Cluster) -> Result<Collector> {
        let collector = Collector::open(lake, cluster, Timestamp::UNIX_EPOCH).await?;
        Ok(Collector { archives: false, ..collector })
    }

    pub(crate) fn finish(mut self) -> Result<Summary> {
        let hold = self.hold();
        self.writer.set_hold(hold);
        self.writer.finish()?;
        Ok(self.summary)
    }

    /// What has to be asked about: what is not known to be over, or all of the days.
    pub(crate) fn plan(&self, now: Timestamp, back: u16, refresh: bool) -> Result<Vec<Window>> {
        if refresh { all(now, back) } else { due(self.writer.tracker(), now, back) }
    }

    /// Asks about the jobs of some windows, several at once, the last one first, and finds what
    /// became of jobs that are in none of the answers.
    pub(crate) async fn jobs(
        &mut self,
        machine: &Arc<dyn Machine>,
        windows: &[Window],
        parallel: usize,
        progress: &ProgressBar,
    ) -> Result<()> {
        let Some(commands) = self.commands(machine.as_ref()).await? else { return Ok(()) };
        let run = self.run;
        let ask = |windows: Vec<Window>| {
            let machine = machine.clone();
            let commands = commands.clone();
            stream::iter(windows.into_iter().rev())
                .map(move |window| {
                    let (start, end) = (window.start, window.end);
                    fetch::fetch_aside(machine.clone(), commands(start, end), run, (start, end))
                })
                .buffered(parallel)
        };
        let mut seen = self.take_jobs(ask(windows.to_vec()), progress).await?;
        // A job that ran when it was last seen, and now neither runs nor ended in what was asked
        // about, ended earlier and was accounted for late: it is in the days since it was seen.
        if let Some(first) = self.missing(&seen).map(|job| job.observed_time).min() {
            let now = machine.now();
            let hours = now.duration_since(first).as_hours();
            let since: Vec<Window> = all(now, u16::try_from(hours / 24 + 1).unwrap_or(u16::MAX))?
                .into_iter()
                .filter(|day| day.end > first - lake::LAG)
                .filter(|day| {
                    !windows.iter().any(|window| window.start <= day.start && window.end >= day.end)
                })
                .collect();
            progress.inc_length(since.len() as u64);
            seen.add(self.take_jobs(ask(since), progress).await?);
        }
        self.close(&seen).await
    }

    /// How the scheduler is asked about a window; none if it does not say how it can be asked.
    async fn commands(&mut self, machine: &dyn Machine) -> Result<Option<Commands>> {
        if self.cluster.kind == Kind::Htcondor {
            return Ok(Some(Arc::new(htcondor::condor_history)));
        }
        let answer = fetch::fetch(machine, &slurm::sacct_fields(), self.run, None)?;
        if answer.asked.failure.is_some() {
            let failed = self.collection(&answer);
            self.writer.collected(&[failed]).await?;
            return Ok(None);
        }
        let mut text = Vec::new();
        lake::replay(&answer.frame, &mut |piece| text.extend_from_slice(piece))?;
        let offered = Offered::read(&text)
            .with_context(|| format!("cannot collect from {}", self.cluster.name))?;
        let name = self.cluster.slurm_cluster.clone();
        Ok(Some(Arc::new(move |start, end| slurm::sacct(start, end, &offered, name.as_deref()))))
    }

    /// Takes answers about windows, the last window first, and gives the jobs that they tell of.
    ///
    /// A job is printed for every window that it touched and lies on the day of its submission, so
    /// what belongs to earlier days waits until they have been asked about: each file is written
    /// once. That windows were collected is said when all of it is written, a week at a time.
    pub(crate) async fn take_jobs(
        &mut self,
        answers: impl Stream<Item = Result<Answer>>,
        progress: &ProgressBar,
    ) -> Result<Seen> {
        let mut answers = std::pin::pin!(answers);
        let mut seen = Seen { is_whole: true, ..Seen::default() };
        let mut earlier: Vec<Job> = Vec::new();
        if let Some(queue) = &self.queue {
            seen.jobs.extend(queue.waiting.iter().map(key));
            seen.set_aside.extend(queue.set_aside.iter().cloned());
            earlier.extend(queue.waiting.iter().cloned());
        }
        let mut runs = Vec::new();
        let mut change = Change::default();
        while let Some(answer) = answers.try_next().await? {
            let (start, _) = answer.asked.window.context("an answer about no window")?;
            progress.set_message(format!("jobs of {}", start.strftime("%Y-%m-%d")));
            let read = self.read_jobs(&answer)?;
            seen.is_whole &= read.collection.error.is_none();
            seen.set_aside.extend(read.rejects.iter().map(|reject| reject.text.clone()));
            seen.time = seen.time.max(Some(answer.asked.time));
            let accounted: HashSet<_> = read.records.iter().map(key).collect();
            // What sacct says of a waiting job, it says later than squeue.
            earlier.retain(|job| job.source != "squeue" || !accounted.contains(&key(job)));
            seen.jobs.extend(accounted);
            let day = start.to_zoned(TimeZone::UTC).start_of_day()?.timestamp();
            let is_due = |job: &Job| job.submit_time >= day;
            let due = read.records.iter().chain(&earlier).filter(|job| is_due(job));
            change += self.writer.upsert(due).await?;
            earlier.retain(|job| !is_due(job));
            earlier.extend(read.records.into_iter().filter(|job| !is_due(job)));
            runs.push((read.collection, read.rejects));
            if runs.len() == 7 {
                change += self.writer.upsert(&std::mem::take(&mut earlier)).await?;
                self.keep(std::mem::take(&mut runs), std::mem::take(&mut change)).await?;
            }
            progress.inc(1);
        }
        change += self.writer.upsert(&earlier).await?;
        self.keep(runs, change).await?;
        Ok(seen)
    }

    fn read_jobs(&mut self, answer: &Answer) -> Result<Read<Job>> {
        let (start, _) = answer.asked.window.context("an answer about no window")?;
        if self.archives {
            let (day, time) = (start.to_zoned(TimeZone::UTC).date(), answer.asked.time);
            self.writer.archive_window(answer.program(), day, time, &answer.frame)?;
        }
        let (name, time) = (&self.cluster.name, answer.asked.time);
        match self.cluster.kind {
            Kind::Htcondor => self.read(answer, CondorHistory::new(name.clone(), time)),
            Kind::Slurm => match &self.cluster.slurm_cluster {
                Some(known_as) => {
                    self.read(answer, Sacct::new(name, time).of_cluster_in_slurmdbd(known_as))
                }
                None => self.read(answer, Sacct::new(name, time)),
            },
        }
    }

    /// The jobs that ran when they were last seen, and of which the answers say nothing.
    fn missing<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = &'a OpenJob> {
        self.writer
            .tracker()
            .open_jobs()
            .filter(|job| seen.is_whole && !job.is_waiting && !seen.has(job))
    }

    /// Closes the jobs that no longer wait or run and of which the scheduler does not say how they
    /// ended: they are neither in the queue nor in the accounts since they were seen.
    pub(crate) async fn close(&mut self, seen: &Seen) -> Result<()> {
        if self.cluster.kind != Kind::Slurm || !seen.is_whole {
            return Ok(());
        }
        let gone: Vec<OpenJob> = self
            .writer
            .tracker()
            .open_jobs()
            .filter(|job| !seen.has(job))
            // Without a look at the queue it is not known what still waits in it.
            .filter(|job| !job.is_waiting || self.queue.is_some())
            .cloned()
            .collect();
        let Some(time) = self.queue.as_ref().map(|queue| queue.time).or(seen.time) else {
            return Ok(());
        };
        let ids: HashSet<(&str, Timestamp)> =
            seen.jobs.iter().map(|(id, submit_time, _)| (id.as_str(), *submit_time)).collect();
        let closed: Vec<Job> = self
            .writer
            .jobs(&gone)
            .await?
            .iter()
            .map(|job| match job.start_time {
                None => slurm::left_the_queue(job, |id| ids.contains(&(id, job.submit_time)), time),
                Some(_) => Job {
                    observed_time: job.observed_time.max(time),
                    end_time: None,
                    is_complete: true,
                    end_reason: Some("no longer in the scheduler's accounts".to_owned()),
                    ..job.clone()
                },
            })
            .collect();
        self.summary.change += self.writer.upsert(&closed).await?;
        Ok(())
    }

    /// Asks about the state of machines and of the queue at some moments, each that of a machine,
    /// in their order. What belongs to one day is written at once.
    pub(crate) async fn moments(
        &mut self,
        machines: &[Arc<dyn Machine>],
        progress: &ProgressBar,
    ) -> Result<()> {
        let day_of = |machine: &Arc<dyn Machine>| machine.now().to_zoned(TimeZone::UTC).date();
        let known_as = self.cluster.slurm_cluster.clone();
        let commands = match self.cluster.kind {
            Kind::Slurm => vec![
                slurm::scontrol_show_node(known_as.as_deref()),
                slurm::squeue(known_as.as_deref()),
            ],
            Kind::Htcondor => vec![htcondor::condor_status()],
        };
        for machines in machines.chunk_by(|one, other| day_of(one) == day_of(other)) {
            progress.set_message(format!("states of {}", day_of(&machines[0])));
            for command in &commands {
                let mut looks = Vec::with_capacity(machines.len());
                for machine in machines {
                    looks.push(fetch::fetch(machine.as_ref(), command, self.run, None)?);
                }
                self.archive_looks(&looks).await?;
                self.take_looks(&looks).await?;
            }
            progress.inc(1);
        }
        Ok(())
    }

    /// Archives what was seen, by the hour.
    async fn archive_looks(&mut self, looks: &[Answer]) -> Result<()> {
        let hour_of = |look: &Answer| look.asked.time.as_second() / 3600;
        for hour in looks.chunk_by(|one, other| hour_of(one) == hour_of(other)) {
            let frames: Vec<u8> = hour.iter().flat_map(|look| &look.frame).copied().collect();
            self.writer.archive_moment(hour[0].program(), hour[0].asked.time, &frames).await?;
        }
        Ok(())
    }

    /// Takes looks of one command, in the order of their times.
    pub(crate) async fn take_looks(&mut self, looks: &[Answer]) -> Result<()> {
        let Some(first) = looks.first() else { return Ok(()) };
        let (name, hold) = (self.cluster.name.clone(), self.hold());
        match first.program() {
            "scontrol" => {
                let mut read = Vec::new();
                for look in looks {
                    read.push(self.read(look, ScontrolNode::new(&name, look.asked.time, hold))?);
                }
                self.observe::<NodeSpan>(read).await
            }
            "squeue" => {
                let mut read = Vec::new();
                self.queue = None;
                for look in looks {
                    let mut parser = Squeue::new(&name, look.asked.time, hold);
                    if let Some(known_as) = &self.cluster.slurm_cluster {
                        parser = parser.of_cluster_in_slurmdbd(known_as);
                    }
                    let Read { collection, records, rejects } =
                        self.read::<Waiting>(look, parser)?;
                    let mut spans = Vec::with_capacity(records.len());
                    let mut jobs = Vec::new();
                    for waiting in records {
                        spans.push(waiting.span);
                        jobs.extend(waiting.job);
                    }
                    self.queue = look.asked.failure.is_none().then(|| Queue {
                        time: look.asked.time,
                        waiting: jobs,
                        set_aside: rejects.iter().map(|reject| reject.text.clone()).collect(),
                    });
                    read.push(Read { collection, records: spans, rejects });
                }
                self.observe(read).await
            }
            _ => {
                let mut read = Vec::new();
                for look in looks {
                    read.push(self.read(look, CondorStatus::new(&name, look.asked.time))?);
                }
                self.sample(read).await
            }
        }
    }

    /// How long one look holds: until the next, and no longer than twice the cadence.
    fn hold(&self) -> SignedDuration {
        SignedDuration::try_from(self.cluster.cadence * 2)
            .expect("the configuration allows a cadence of a day at most")
    }

    async fn observe<S: record::Span>(&mut self, looks: Vec<Read<S>>) -> Result<()> {
        let (mut snapshots, mut rest) = (Vec::new(), Vec::new());
        for look in looks {
            // A command that failed saw nothing, which is not the same as seeing nothing there.
            if look.collection.error.is_none() {
                let time = look.collection.start_time;
                snapshots.push(Snapshot { time, rows: look.records });
            }
            rest.push((look.collection, look.rejects));
        }
        let change = self.writer.observe(snapshots).await?;
        self.keep(rest, change).await
    }

    async fn sample(&mut self, looks: Vec<Read<GpuSample>>) -> Result<()> {
        let (mut samples, mut rest) = (Vec::new(), Vec::new());
        for look in looks {
            samples.extend(look.records);
            rest.push((look.collection, look.rejects));
        }
        let change = self.writer.upsert(&samples).await?;
        self.keep(rest, change).await
    }

    /// Reads an answer. That there is none is part of what is read.
    fn read<T>(&mut self, answer: &Answer, mut parser: impl Parser<T>) -> Result<Read<T>> {
        let mut collection = self.collection(answer);
        if answer.asked.failure.is_some() {
            return Ok(Read { collection, records: Vec::new(), rejects: Vec::new() });
        }
        lake::replay(&answer.frame, &mut |piece| parser.push(piece))?;
        let parsed = parser.finish();
        collection.records = parsed.records.len() as i64;
        collection.rejects = parsed.rejects.len() as i64;
        let rejects = parsed
            .rejects
            .into_iter()
            .map(|rejected| self.reject(answer.program(), answer.asked.time, rejected))
            .collect();
        Ok(Read { collection, records: parsed.records, rejects })
    }

    /// What is noted of an answer before it is read. One that failed is told at the end, too.
    fn collection(&mut self, answer: &Answer) -> Collection {
        match &answer.asked.failure {
            Some(failure) => {
                self.summary.failures.push(format!("{}: {failure}", self.cluster.name));
            }
            None => self.summary.answers += 1,
        }
        Collection {
            cluster: self.cluster.name.clone(),
            source: answer.program().to_owned(),
            start_time: answer.asked.time,
            window_start: answer.asked.window.map(|(start, _)| start),
            window_end: answer.asked.window.map(|(_, end)| end),
            duration_seconds: answer.duration_seconds,
            bytes: answer.bytes as i64,
            records: 0,
            rejects: 0,
            changed: 0,
            error: answer.asked.failure.clone(),
        }
    }

    fn reject(&self, source: &str, time: Timestamp, rejected: Rejected) -> Reject {
        Reject {
            cluster: self.cluster.name.clone(),
            source: source.to_owned(),
            time,
            position: i64::try_from(rejected.position).unwrap_or(i64::MAX),
            reason: rejected.reason,
            text: rejected.text,
        }
    }

    /// Writes what was set aside and that all this was done; what changed counts for the first.
    async fn keep(
        &mut self,
        mut runs: Vec<(Collection, Vec<Reject>)>,
        change: Change,
    ) -> Result<()> {
        let mut rejects = Vec::new();
        for (collection, set_aside) in &mut runs {
            self.summary.records += collection.records as u64;
            self.summary.rejects += collection.rejects as u64;
            rejects.append(set_aside);
        }
        self.summary.change += change;
        self.writer.upsert(&rejects).await?;
        if !self.archives {
            return Ok(());
        }
        if let Some((first, _)) = runs.first_mut() {
            first.changed = (change.added + change.changed) as i64;
        }
        let collections: Vec<Collection> =
            runs.into_iter().map(|(collection, _)| collection).collect();
        self.writer.collected(&collections).await
    }
}

/// How a scheduler is asked about a window.
type Commands = Arc<dyn Fn(Timestamp, Timestamp) -> Command + Send + Sync>;

/// A look at the queue.
struct Queue {
    time: Timestamp,
    waiting: Vec<Job>,
    /// What could not be read.
    set_aside: Vec<String>,
}

/// The jobs that answers told of.
#[derive(Default)]
pub(crate) struct Seen {
    jobs: HashSet<(String, Timestamp, i64)>,
    /// What could not be read.
    set_aside: Vec<String>,
    /// Whether every question was answered.
    is_whole: bool,
    /// When the last question was asked.
    time: Option<Timestamp>,
}

impl Seen {
    /// Whether a job was told of, or may have been.
    fn has(&self, job: &OpenJob) -> bool {
        self.jobs.contains(&open_key(job))
            || self.set_aside.iter().any(|text| text.contains(job.job_id.trim_end_matches("[]")))
    }

    fn add(&mut self, other: Seen) {
        self.jobs.extend(other.jobs);
        self.set_aside.extend(other.set_aside);
        self.is_whole &= other.is_whole;
        self.time = self.time.max(other.time);
    }
}

fn key(job: &Job) -> (String, Timestamp, i64) {
    (job.job_id.clone(), job.submit_time, job.attempt)
}

fn open_key(job: &OpenJob) -> (String, Timestamp, i64) {
    (job.job_id.clone(), job.submit_time, job.attempt)
}

#[cfg(test)]
mod tests;
