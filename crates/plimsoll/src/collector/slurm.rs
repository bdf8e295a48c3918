//! What a SLURM cluster is asked, and what is made of its answers.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use hashbrown::HashSet;
use indicatif::ProgressBar;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::{Change, OpenJob, Snapshot};
use record::{Job, Seen as SeenAt, Text, gpu_counts, job_counts};
use source::slurm::{
    Offered, Sacct, ScontrolNode, Squeue, Waiting, gpu_samples, has_gpus, left_the_queue, sacct,
    sacct_fields, scontrol_show_job, scontrol_show_node, seen_nodes, squeue,
};
use source::{Command, Machine, Parsed};
use tokio::task::JoinHandle;

use super::plan::{Window, all, due};
use super::{
    Answer, Collector, Key, Read, Wanted, fetch, is_about_jobs_of_scontrol, key, open_key,
};

impl Collector {
    /// Looks at the nodes and the queue at some moments of a day. Who holds GPUs is asked only where
    /// there are any.
    pub(super) async fn slurm_moments(&mut self, machines: &[Arc<dyn Machine>]) -> Result<()> {
        let (run, known_as) = (self.run, self.cluster.slurm_cluster.clone());
        let mut looks = Vec::with_capacity(2 * machines.len());
        for machine in machines {
            let command = scontrol_show_node(known_as.as_deref());
            let nodes = fetch::fetch(machine, command, run, None).await?;
            let is_worth_it = nodes.asked.failure.is_none() && has_gpus(&nodes.text()?);
            looks.push(nodes);
            if is_worth_it {
                let command = scontrol_show_job(known_as.as_deref());
                looks.push(fetch::fetch(machine, command, run, None).await?);
            }
        }
        self.archive_looks(&looks).await?;
        self.take_nodes(&looks).await?;

        let mut looks = Vec::with_capacity(machines.len());
        for machine in machines {
            looks.push(fetch::fetch(machine, squeue(known_as.as_deref()), run, None).await?);
        }
        self.archive_looks(&looks).await?;
        self.take_queue(&looks).await
    }

    /// Takes looks at the nodes, each followed by one at the jobs that hold their GPUs, if there was
    /// one.
    pub(super) async fn take_nodes(&mut self, looks: &[Answer]) -> Result<()> {
        let (name, hold) = (self.cluster.name.clone(), self.hold());
        let (mut snapshots, mut samples, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        let Some(last) = looks.last().map(|look| look.asked.time) else { return Ok(()) };
        let mut looks = looks.iter().peekable();
        while let Some(nodes) = looks.next() {
            if is_about_jobs_of_scontrol(&nodes.asked) {
                continue; // of nodes that are no part of this
            }
            let time = nodes.asked.time;
            let read = self.read(nodes, ScontrolNode::new(&name, time, hold))?;
            if read.is_look() {
                if self.archives && !read.records.is_empty() {
                    let rows = seen_nodes(&nodes.text()?, &read.records);
                    self.live.nodes = Some(SeenAt { time, rows });
                }
                snapshots.push(Snapshot::of_all(time, read.records));
            }
            runs.push((read.collection, read.rejects));
            let Some(jobs) = looks.next_if(|next| is_about_jobs_of_scontrol(&next.asked)) else {
                continue;
            };
            let backfill = self.backfill_at(time);
            let read = self.read_by(jobs, || {
                Ok(gpu_samples(&name, time, &nodes.text()?, &jobs.text()?, &backfill))
            })?;
            if read.is_look() {
                self.live.gpus = Some(SeenAt { time, rows: gpu_counts(&read.records) });
            }
            samples.extend(read.records);
            runs.push((read.collection, read.rejects));
        }
        let mut change = self.writer.observe(snapshots).await?;
        change += self.sample(&samples, last).await?;
        self.keep(runs, change).await
    }

    /// Takes looks at the queue.
    pub(super) async fn take_queue(&mut self, looks: &[Answer]) -> Result<()> {
        let (name, hold) = (self.cluster.name.clone(), self.hold());
        let (mut snapshots, mut runs) = (Vec::new(), Vec::new());
        self.queue = None;
        for look in looks {
            let time = look.asked.time;
            let mut parser = Squeue::new(&name, time, hold);
            if let Some(known_as) = &self.cluster.slurm_cluster {
                parser = parser.of_cluster_in_slurmdbd(known_as);
            }
            let read = self.read::<Waiting>(look, parser)?;
            self.queue = None;
            let is_look = read.is_look();
            let Read { collection, records, rejects } = read;
            if is_look {
                let rows = job_counts(records.iter().map(|record| &record.span));
                // An empty queue still has its headings.
                if collection.bytes > 0 {
                    self.live.jobs = Some(SeenAt { time, rows });
                }
                let mut spans = Vec::new();
                let mut waiting = Vec::new();
                for record in records.into_iter().filter(Waiting::is_waiting) {
                    spans.push(record.span);
                    waiting.extend(record.job.map(|job| *job));
                }
                snapshots.push(Snapshot::of_all(time, spans));
                let set_aside = rejects.iter().map(|reject| reject.text.clone()).collect();
                self.queue = Some(Queue { time, waiting, set_aside });
            }
            runs.push((collection, rejects));
        }
        let change = self.writer.observe(snapshots).await?;
        self.keep(runs, change).await
    }

    /// Asks about the jobs of some windows, several at once, the last one first, and finds what
    /// became of jobs that are in none of the answers.
    pub(super) async fn slurm_jobs(
        &mut self,
        machine: &Arc<dyn Machine>,
        wanted: Wanted,
        progress: &ProgressBar,
    ) -> Result<()> {
        let Some(commands) = self.commands(machine).await? else { return Ok(()) };
        let (run, days) = (self.run, wanted.days);
        let windows =
            if wanted.refresh { all(run, days)? } else { due(self.writer.tracker(), run, days)? };
        progress.inc_length(windows.len() as u64);
        let ask = |windows: Vec<Window>| {
            let machine = machine.clone();
            let commands = commands.clone();
            stream::iter(windows.into_iter().rev())
                .map(move |window| {
                    let (machine, commands) = (machine.clone(), commands.clone());
                    let (start, end) = (window.start, window.end);
                    async move {
                        fetch::fetch(&machine, commands(start, end), run, Some((start, end))).await
                    }
                })
                .buffered(wanted.parallel)
        };
        let mut seen = self.take_jobs(ask(windows.clone()), progress).await?;
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
    async fn commands(&mut self, machine: &Arc<dyn Machine>) -> Result<Option<Commands>> {
        let mut answer = fetch::fetch(machine, sacct_fields(), self.run, None).await?;
        let offered = Offered::read(&answer.text()?);
        if let Err(lacking) = &offered {
            answer.asked.failure.get_or_insert_with(|| lacking.to_string());
        }
        let Ok(offered) = offered else {
            let failed = self.collection(&answer);
            self.live.source(&failed.source).note(&failed);
            self.writer.collected(&[failed]).await?;
            return Ok(None);
        };
        let name = self.cluster.slurm_cluster.clone();
        Ok(Some(Arc::new(move |start, end| sacct(start, end, &offered, name.as_deref()))))
    }

    /// Takes answers about windows, the last window first, and gives the jobs that they tell of.
    ///
    /// A job is printed for every window that it touched and lies on the day of its submission, so
    /// what belongs to earlier days waits until they have been asked about: each file is written
    /// once. That windows were collected is said when all of it is written, a week at a time. While what
    /// one answer tells of is written, the next one is read.
    pub(super) async fn take_jobs(
        &mut self,
        answers: impl Stream<Item = Result<Answer>>,
        progress: &ProgressBar,
    ) -> Result<Seen> {
        let mut answers = std::pin::pin!(answers);
        let mut seen = Seen { is_whole: true, ..Seen::default() };
        let mut earlier: Vec<Job> = Vec::new();
        // Where the jobs of one answer were, those of the next but one are put.
        let mut room: Vec<Job> = Vec::new();
        if let Some(queue) = &self.queue {
            seen.set_aside.extend(queue.set_aside.iter().cloned());
            earlier.extend(queue.waiting.iter().cloned());
        }
        let mut runs = Vec::new();
        let mut change = Change::default();
        let mut reading = self.begin_reading(answers.try_next().await?, Vec::new()).await?;
        while let Some(read) = reading {
            let (answer, parsed) = read.await??;
            let (start, _) = answer.asked.window.context("an answer about no window")?;
            progress.set_message(format!("jobs of {}", start.strftime("%Y-%m-%d")));
            reading = self.begin_reading(answers.try_next().await?, room).await?;
            let mut read = self.read_by(&answer, || Ok(parsed))?;
            seen.is_whole &= read.collection.error.is_none();
            seen.set_aside.extend(read.rejects.iter().map(|reject| reject.text.clone()));
            seen.time = seen.time.max(Some(answer.asked.time));
            seen.jobs.extend(read.records.iter().map(key));
            // What sacct says of a waiting job, it says later than squeue.
            earlier.retain(|job| job.source != "squeue" || !seen.jobs.contains(&key(job)));
            let day = start.to_zoned(TimeZone::UTC).start_of_day()?.timestamp();
            let is_due = |job: &Job| job.submit_time >= day;
            let due = read.records.iter().chain(&earlier).filter(|job| is_due(job));
            change += self.writer.upsert(due).await?;
            earlier.retain(|job| !is_due(job));
            read.records.retain(|job| !is_due(job));
            earlier.append(&mut read.records);
            room = read.records;
            runs.push((read.collection, read.rejects));
            if runs.len() == 7 {
                change += self.writer.upsert(&std::mem::take(&mut earlier)).await?;
                self.keep(std::mem::take(&mut runs), std::mem::take(&mut change)).await?;
            }
            progress.inc(1);
        }
        change += self.writer.upsert(&earlier).await?;
        self.keep(runs, change).await?;
        if let Some(queue) = &self.queue {
            seen.jobs.extend(queue.waiting.iter().map(key));
        }
        Ok(seen)
    }

    /// Archives an answer, if there is one, and reads it in a thread of its own.
    async fn begin_reading(
        &self,
        answer: Option<Answer>,
        room: Vec<Job>,
    ) -> Result<Option<JoinHandle<Result<(Answer, Parsed<Job>)>>>> {
        let Some(answer) = answer else { return Ok(None) };
        let (start, _) = answer.asked.window.context("an answer about no window")?;
        if self.archives {
            let (day, time) = (start.to_zoned(TimeZone::UTC).date(), answer.asked.time);
            self.writer.archive_window(answer.program(), day, time, &answer.frame).await?;
        }
        let mut parser =
            Sacct::new(&self.cluster.name, answer.asked.time).with_room(room, answer.bytes);
        if let Some(known_as) = &self.cluster.slurm_cluster {
            parser = parser.of_cluster_in_slurmdbd(known_as);
        }
        Ok(Some(tokio::task::spawn_blocking(move || {
            let parsed = match answer.asked.failure {
                Some(_) => Parsed::default(),
                None => answer.parsed(parser)?,
            };
            Ok((answer, parsed))
        })))
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
    pub(super) async fn close(&mut self, seen: &Seen) -> Result<()> {
        if !seen.is_whole {
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
        if gone.is_empty() {
            return Ok(());
        }
        let Some(time) = self.queue.as_ref().map(|queue| queue.time).or(seen.time) else {
            return Ok(());
        };
        let ids: HashSet<(&str, Timestamp)> =
            seen.jobs.iter().map(|(id, submit_time, _)| (id.as_str(), *submit_time)).collect();
        let closed: Vec<Job> = self
            .writer
            .jobs(gone.iter().map(OpenJob::key))
            .await?
            .iter()
            .map(|job| match job.start_time {
                None => left_the_queue(job, |id| ids.contains(&(id, job.submit_time)), time),
                Some(_) => Collector::closed(job, time),
            })
            .collect();
        self.summary.change += self.writer.upsert(&closed).await?;
        Ok(())
    }
}

/// How a scheduler is asked about a window.
type Commands = Arc<dyn Fn(Timestamp, Timestamp) -> Command + Send + Sync>;

/// A look at the queue.
pub(super) struct Queue {
    time: Timestamp,
    waiting: Vec<Job>,
    /// What could not be read.
    set_aside: Vec<Text>,
}

/// The jobs that answers told of.
#[derive(Default)]
pub(super) struct Seen {
    jobs: HashSet<Key>,
    /// What could not be read.
    set_aside: Vec<Text>,
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
