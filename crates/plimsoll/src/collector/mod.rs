//! Asks one cluster's scheduler, archives what it says, and writes what that means into the lake.

mod fetch;
mod htcondor;
mod job_history;
mod last_seen;
mod plan;
mod push;
mod slurm;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use futures::{Stream, TryStreamExt};
use indicatif::ProgressBar;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Change, Lake, LateSample, OpenJob, Writer};
use query::Judgement;
use record::{Collection, GpuSample, Job, Live, Reject, Text, is_nonsense};
use source::slurm::Backfill;
use source::{Machine, Parsed, Parser, Rejected};

use crate::config::{Cluster, Kind};
use crate::words;

pub(crate) use fetch::{Answer, is_about_jobs_of_scontrol};

/// Collects from one cluster; holds its lock meanwhile.
pub(crate) struct Collector {
    writer: Writer,
    cluster: Cluster,
    summary: Summary,
    /// When this collection began.
    run: Timestamp,
    /// The site policies in order of time. The first also applies before.
    policies: Vec<(Timestamp, Judgement)>,
    /// Whether answers are archived: those that come from the archive are there already.
    archives: bool,
    /// What waits by the last look at SLURM's queue; none if there was none, or if it failed.
    queue: Option<slurm::Queue>,
    /// The access points that are asked; none if nobody knows them.
    access_points: Option<Vec<String>>,
    /// What runs by the last look at the queue of each access point; none of one that failed.
    running: BTreeMap<String, htcondor::Running>,
    /// What was last seen; a look that fails leaves it as it was.
    live: Live,
}

/// Which jobs are asked about, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// How many days before today.
    pub(crate) days: u16,
    /// Whether also those that are known to be complete.
    pub(crate) refresh: bool,
    /// How many questions are asked at once.
    pub(crate) parallel: usize,
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

impl<T> Read<T> {
    /// Whether it is a look at the cluster: a command that failed or raved saw nothing, which is
    /// not the same as seeing nothing there.
    fn is_look(&self) -> bool {
        self.collection.error.is_none() && !is_nonsense(&self.collection)
    }
}

impl Collector {
    pub(crate) async fn open(lake: &Lake, cluster: &Cluster, run: Timestamp) -> Result<Collector> {
        let writer = lake.writer(&cluster.name).await?;
        let live = Live {
            cluster: cluster.name.clone().into(),
            scheduler: cluster.kind.name().into(),
            cadence_seconds: cluster.cadence().as_secs_f64(),
            ..writer.live().await?
        };
        Ok(Collector {
            writer,
            cluster: cluster.clone(),
            summary: Summary::default(),
            run,
            policies: Vec::new(),
            archives: true,
            queue: None,
            access_points: None,
            running: BTreeMap::new(),
            live,
        })
    }

    /// The same for the answers of a collection that come from the archive. They are judged by the
    /// policies of their time, and by the configuration if none is stored.
    pub(crate) async fn replaying(
        lake: &Lake,
        cluster: &Cluster,
        run: Timestamp,
        policies: &[(Timestamp, Judgement)],
    ) -> Result<Collector> {
        let policies = policies.to_vec();
        Ok(Collector { archives: false, policies, ..Collector::open(lake, cluster, run).await? })
    }

    /// Stores the site policy of the configuration, with the time of this collection, if the newest
    /// stored one is another. Without any rule there is nothing to store first. A part that the
    /// configuration does not give stays as it is stored.
    pub(crate) async fn store_policy(&mut self, own: &Judgement) -> Result<()> {
        let name = self.cluster.name.clone();
        let stored = self.writer.newest_policy().await?;
        let policy = query::collected_policy(own, &name, stored.clone());
        let rows = query::policy_rows(&policy, &name, "configuration", self.run, self.run);
        let is_first = stored.is_empty() && rows.len() == 1;
        if !is_first && !query::is_same_policy(&rows, &stored) {
            self.writer.put_policy(&rows).await?;
        }
        self.policies = vec![(self.run, policy)];
        Ok(())
    }

    /// What counted as backfill at a time.
    fn backfill_at(&self, time: Timestamp) -> Backfill {
        let Some(policy) = query::policy_at(&self.policies, time) else {
            return self.cluster.backfill.clone();
        };
        let place = policy.preemptible.iter().find(|place| place.cluster == self.cluster.name);
        let place = place.cloned().unwrap_or_default();
        Backfill { partitions: place.partitions, qos: place.qos }
    }

    pub(crate) async fn finish(mut self) -> Result<Summary> {
        let hold = self.hold();
        self.writer.set_hold(hold);
        match self.archives {
            true => self.keep_last_seen().await?,
            // The next collection of the archive compares its machines with these.
            false => self.writer.put_live(&self.live).await?,
        }
        self.writer.finish().await?;
        Ok(self.summary)
    }

    /// Asks about the state of machines and of the queue at some moments, each that of a machine,
    /// in their order. What belongs to one day is written at once.
    pub(crate) async fn moments(
        &mut self,
        machines: &[Arc<dyn Machine>],
        progress: &ProgressBar,
    ) -> Result<()> {
        let day_of = |machine: &Arc<dyn Machine>| machine.now().to_zoned(TimeZone::UTC).date();
        for machines in machines.chunk_by(|one, other| day_of(one) == day_of(other)) {
            progress.set_message(format!("states of {}", day_of(&machines[0])));
            match self.cluster.kind {
                Kind::Slurm => self.slurm_moments(machines).await?,
                Kind::Htcondor => self.condor_moments(machines).await?,
            }
            progress.inc(1);
        }
        Ok(())
    }

    /// Asks about jobs, and finds what became of those that no answer tells of.
    pub(crate) async fn jobs(
        &mut self,
        machine: &Arc<dyn Machine>,
        wanted: Wanted,
        progress: &ProgressBar,
    ) -> Result<()> {
        match self.cluster.kind {
            Kind::Slurm => self.slurm_jobs(machine, wanted, progress).await,
            Kind::Htcondor => {
                self.condor_jobs(machine, wanted, progress).await?;
                self.document_jobs(machine, wanted, progress).await
            }
        }
    }

    /// Takes looks of one program from the archive, in the order in which they were asked.
    pub(crate) async fn take_looks(&mut self, looks: &[Answer]) -> Result<()> {
        match looks.first().map(Answer::program) {
            Some("scontrol") => self.take_nodes(looks).await,
            Some("squeue") => self.take_queue(looks).await,
            Some("condor_status") => self.take_slots(looks).await,
            Some("condor_q") => self.take_queues(looks).await,
            _ => Ok(()),
        }
    }

    /// Takes answers about jobs from the archive, in the order in which they were asked.
    pub(crate) async fn take_windows(
        &mut self,
        answers: impl Stream<Item = Result<Answer>>,
        progress: &ProgressBar,
    ) -> Result<()> {
        if self.cluster.kind == Kind::Slurm {
            let seen = self.take_jobs(answers, progress).await?;
            return self.close(&seen).await;
        }
        let mut answers = std::pin::pin!(answers);
        let mut heard = htcondor::Histories::default();
        while let Some(answer) = answers.try_next().await? {
            if answer.program() == source::elasticsearch::PROGRAM {
                self.take_documents(&answer).await?;
            } else {
                self.take_histories(&[answer], &mut heard).await?;
            }
            progress.inc(1);
        }
        self.settle(heard).await
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

    /// How long one look holds: until the next, and no longer than twice the cadence.
    fn hold(&self) -> SignedDuration {
        SignedDuration::try_from(self.cluster.cadence() * 2)
            .expect("the configuration allows a cadence of a day at most")
    }

    /// Keeps what looks saw of GPUs, the last of them at a time, and makes spans of the days that
    /// were over by then.
    ///
    /// What fails here is told at the end: the other tables are still worth having, and nothing is
    /// lost, for the answers are archived.
    async fn sample(&mut self, samples: &[GpuSample], last: Timestamp) -> Result<Change> {
        let change = match self.writer.upsert(samples).await {
            Err(error) if self.archives && error.is::<LateSample>() => self.finding(&error),
            change => change?,
        };
        match self.writer.compact_gpu_days(last.min(self.run), self.hold()).await {
            Ok(_) => {}
            Err(error) if self.archives => {
                self.finding(&error);
            }
            Err(error) => return Err(error),
        }
        Ok(change)
    }

    /// Something that went wrong and changed nothing.
    fn finding(&mut self, error: &anyhow::Error) -> Change {
        self.summary.failures.push(format!("{}: {}", self.cluster.name, words(error)));
        Change::default()
    }

    /// Closes jobs of which the scheduler does not say how they ended.
    fn closed(job: &Job, time: Timestamp) -> Job {
        Job {
            observed_time: job.observed_time.max(time),
            end_time: None,
            is_complete: true,
            end_reason: Some("no longer in the scheduler's accounts".into()),
            ..job.clone()
        }
    }

    /// Reads an answer. That there is none is part of what is read.
    fn read<T>(&mut self, answer: &Answer, parser: impl Parser<T>) -> Result<Read<T>> {
        self.read_by(answer, || answer.parsed(parser))
    }

    /// The same by what a function makes of it.
    fn read_by<T>(
        &mut self,
        answer: &Answer,
        parse: impl FnOnce() -> Result<Parsed<T>>,
    ) -> Result<Read<T>> {
        let mut collection = self.collection(answer);
        if answer.asked.failure.is_some() {
            self.live.source(&collection.source).note(&collection);
            return Ok(Read { collection, records: Vec::new(), rejects: Vec::new() });
        }
        let parsed = parse()?;
        collection.records = parsed.records.len() as i64;
        collection.rejects = parsed.rejects.len() as i64;
        self.live.source(&collection.source).note(&collection);
        let rejects = parsed
            .rejects
            .into_iter()
            .map(|rejected| self.reject(&collection.source, answer.asked.time, rejected))
            .collect();
        Ok(Read { collection, records: parsed.records, rejects })
    }

    /// What is noted of an answer before it is read. One that failed is told at the end, too.
    fn collection(&mut self, answer: &Answer) -> Collection {
        match &answer.asked.failure {
            Some(failure) => {
                let of = answer.access_point().map(|name| format!("{name}: ")).unwrap_or_default();
                self.summary.failures.push(format!("{}: {of}{failure}", self.cluster.name));
            }
            None => self.summary.answers += 1,
        }
        Collection {
            cluster: self.cluster.name.clone().into(),
            source: answer.source().into(),
            start_time: answer.asked.time,
            window_start: answer.asked.window.map(|(start, _)| start),
            window_end: answer.asked.window.map(|(_, end)| end),
            duration_seconds: answer.duration_seconds,
            bytes: answer.bytes as i64,
            records: 0,
            rejects: 0,
            changed: 0,
            error: answer.asked.failure.as_deref().map(Text::from),
        }
    }

    fn reject(&self, source: &str, time: Timestamp, rejected: Rejected) -> Reject {
        Reject {
            cluster: self.cluster.name.clone().into(),
            source: source.into(),
            time,
            position: i64::try_from(rejected.position).unwrap_or(i64::MAX),
            reason: rejected.reason.into(),
            text: rejected.text.into(),
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

/// What tells an attempt of a job from others of its cluster.
type Key = (Text, Timestamp, i64);

fn key(job: &Job) -> Key {
    (job.job_id.clone(), job.submit_time, job.attempt)
}

fn open_key(job: &OpenJob) -> Key {
    (job.job_id.clone(), job.submit_time, job.attempt)
}

#[cfg(test)]
mod tests;
