//! `plimsoll collect`: asks the schedulers, and keeps what they say.

use std::io::IsTerminal;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use lake::{Archive, Change, Lake, Snapshot, Writer};
use record::{Collection, GpuSample, Job, NodeSpan, QueueSpan, Reject};
use source::htcondor::{self, CondorHistory, CondorStatus};
use source::slurm::{self, Sacct, ScontrolNode, Squeue};
use source::{Command, Live, Machine, Parser, Rejected};

use crate::cli::Collect;
use crate::config::{Cluster, Config, Kind};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Collect) -> Result<Outcome> {
    let clusters = chosen(config, &arguments.cluster)?;
    let lake = Lake::create(&config.data_dir)?.with_zone(&config.zone);
    let mut summary = Summary::default();
    let mut errors = Vec::new();
    for cluster in &clusters {
        // That one cluster cannot be collected is no reason to let another's history go.
        match collect(&lake, cluster, arguments.days).await {
            Ok(collected) => summary.add(&collected),
            Err(error) => errors.push(error),
        }
    }
    if errors.len() < clusters.len() {
        complain(&summary.line());
    }
    let Some(last) = errors.pop() else {
        return Ok(if summary.is_clean() { Outcome::Done } else { Outcome::Findings });
    };
    for error in errors {
        complain(&format!("error: {error:#}"));
    }
    Err(last)
}

/// Asks one cluster's scheduler.
async fn collect(lake: &Lake, cluster: &Cluster, days: u16) -> Result<Summary> {
    let machine = Live { prefix: cluster.command_prefix.clone() };
    let mut collector = Collector::open(lake, cluster).await?;
    let days = days_until(machine.now(), days)?;
    let progress = progress(days.len() as u64 + 1, &cluster.name);
    collector.windows(&machine, &days, &progress).await?;
    collector.moments(&[&machine], &progress).await?;
    progress.finish_and_clear();
    collector.finish()
}

/// The configured clusters, or those of them that are named.
pub(super) fn chosen(config: &Config, names: &[String]) -> Result<Vec<Cluster>> {
    let known: Vec<&str> = config.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    if known.is_empty() {
        match &config.path {
            Some(path) => bail!("{} names no cluster; add a [[cluster]] to it", path.display()),
            None => bail!("no plimsoll.toml was found; `plimsoll init` writes one"),
        }
    }
    for name in names {
        if !known.contains(&name.as_str()) {
            match query::nearest(name, known.iter().copied()) {
                Some(near) => bail!("no cluster {name:?} is configured; did you mean {near:?}?"),
                None => bail!("no cluster {name:?} is configured; there are {}", known.join(", ")),
            }
        }
    }
    let chosen = |cluster: &&Cluster| names.is_empty() || names.contains(&cluster.name);
    Ok(config.clusters.iter().filter(chosen).cloned().collect())
}

/// The days in UTC from `back` days ago until today.
pub(super) fn days_until(now: Timestamp, back: u16) -> Result<Vec<Date>> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let mut day = today
        .checked_sub(i64::from(back).days())
        .context("so many days ago there was no calendar")?;
    let mut days = Vec::new();
    while day <= today {
        days.push(day);
        day = day.tomorrow().context("the end of the calendar")?;
    }
    Ok(days)
}

/// Shown while a person watches, and not otherwise.
pub(super) fn progress(steps: u64, cluster: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{prefix:>12} {bar:32} {pos}/{len} {msg}")
        .expect("the template is one of ours");
    let bar = ProgressBar::with_draw_target(Some(steps), target).with_style(style);
    bar.set_prefix(cluster.to_owned());
    bar
}

/// Collects from one cluster; holds its lock meanwhile.
pub(super) struct Collector {
    writer: Writer,
    cluster: Cluster,
    summary: Summary,
}

/// What a collection did.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    pub(super) records: u64,
    pub(super) change: Change,
    pub(super) rejects: u64,
    pub(super) failures: Vec<String>,
}

impl Summary {
    pub(super) fn add(&mut self, other: &Summary) {
        self.records += other.records;
        self.change += other.change;
        self.rejects += other.rejects;
        self.failures.extend(other.failures.iter().cloned());
    }

    fn is_clean(&self) -> bool {
        self.rejects == 0 && self.failures.is_empty()
    }

    fn line(&self) -> String {
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

/// What one command said.
struct Answer<T> {
    collection: Collection,
    records: Vec<T>,
    rejects: Vec<Reject>,
    /// For the archive; nothing if the command failed.
    frame: Option<Vec<u8>>,
}

impl Collector {
    pub(super) async fn open(lake: &Lake, cluster: &Cluster) -> Result<Collector> {
        Ok(Collector {
            writer: lake.writer(&cluster.name).await?,
            cluster: cluster.clone(),
            summary: Summary::default(),
        })
    }

    pub(super) fn finish(self) -> Result<Summary> {
        self.writer.finish()?;
        Ok(self.summary)
    }

    /// Asks about the jobs of whole days, a command a day, the last day first.
    ///
    /// A job is printed for every day that it touched and lies on the day of its submission, so
    /// what belongs to earlier days waits until they have been asked about: each file is written
    /// once. That days were collected is said when all of it is written, a week at a time.
    pub(super) async fn windows(
        &mut self,
        machine: &dyn Machine,
        days: &[Date],
        progress: &ProgressBar,
    ) -> Result<()> {
        for week in days.rchunks(7) {
            let mut earlier: Vec<Job> = Vec::new();
            let mut runs = Vec::new();
            let mut change = Change::default();
            for day in week.iter().rev() {
                progress.set_message(format!("jobs of {day}"));
                let start = midnight(*day);
                let answer = self.jobs(machine, *day)?;
                let is_due = |job: &Job| job.submit_time >= start;
                let due = answer.records.iter().chain(&earlier).filter(|job| is_due(job));
                change += self.writer.upsert(due).await?;
                earlier.retain(|job| !is_due(job));
                earlier.extend(answer.records.into_iter().filter(|job| !is_due(job)));
                runs.push((answer.collection, answer.rejects));
                progress.inc(1);
            }
            change += self.writer.upsert(&earlier).await?;
            self.keep(runs, change).await?;
        }
        Ok(())
    }

    /// What the scheduler says of the jobs that touched a day; it is archived before it counts.
    fn jobs(&mut self, machine: &dyn Machine, day: Date) -> Result<Answer<Job>> {
        let (start, end) = (midnight(day), midnight(day.tomorrow()?));
        let name = self.cluster.name.clone();
        let answer = match self.cluster.kind {
            Kind::Slurm => {
                let parser = Sacct::new(&name, machine.now());
                self.ask(machine, &slurm::sacct(start, end), Some((start, end)), parser)?
            }
            Kind::Htcondor => {
                let parser = CondorHistory::new(name, machine.now());
                let command = htcondor::condor_history(start, end);
                self.ask(machine, &command, Some((start, end)), parser)?
            }
        };
        if let Some(frame) = &answer.frame {
            let collection = &answer.collection;
            self.writer.archive_window(&collection.source, day, collection.start_time, frame)?;
        }
        Ok(answer)
    }

    /// Asks about the state of machines and of the queue at some moments, each that of a
    /// machine, in their order. What belongs to one day is written at once.
    pub(super) async fn moments(
        &mut self,
        machines: &[&dyn Machine],
        progress: &ProgressBar,
    ) -> Result<()> {
        let day_of = |machine: &&dyn Machine| machine.now().to_zoned(TimeZone::UTC).date();
        for machines in machines.chunk_by(|one, other| day_of(one) == day_of(other)) {
            progress.set_message(format!("states of {}", day_of(&machines[0])));
            match self.cluster.kind {
                Kind::Slurm => {
                    let (name, hold) = (self.cluster.name.clone(), self.hold());
                    let nodes = self
                        .looks(machines, &slurm::scontrol_show_node(), |time| {
                            ScontrolNode::new(&name, time, hold)
                        })
                        .await?;
                    self.observe::<NodeSpan>(nodes).await?;
                    let queue = self
                        .looks(machines, &slurm::squeue(), |time| Squeue::new(&name, time, hold))
                        .await?;
                    self.observe::<QueueSpan>(queue).await?;
                }
                Kind::Htcondor => {
                    let name = self.cluster.name.clone();
                    let looks = self
                        .looks(machines, &htcondor::condor_status(), |time| {
                            CondorStatus::new(&name, time)
                        })
                        .await?;
                    self.sample(looks).await?;
                }
            }
            progress.inc(1);
        }
        Ok(())
    }

    /// How long one look holds: until the next, and no longer than twice the cadence.
    fn hold(&self) -> SignedDuration {
        SignedDuration::try_from(self.cluster.cadence * 2)
            .expect("the configuration allows a cadence of a day at most")
    }

    /// Asks every machine, and archives what they say by the hour.
    async fn looks<T, P: Parser<T>>(
        &mut self,
        machines: &[&dyn Machine],
        command: &Command,
        parser: impl Fn(Timestamp) -> P,
    ) -> Result<Vec<Answer<T>>> {
        let mut answers: Vec<Answer<T>> = Vec::with_capacity(machines.len());
        for machine in machines {
            answers.push(self.ask(*machine, command, None, parser(machine.now()))?);
        }
        let hour_of = |answer: &Answer<T>| answer.collection.start_time.as_second() / 3600;
        for hour in answers.chunk_by(|one, other| hour_of(one) == hour_of(other)) {
            let frames: Vec<u8> = hour
                .iter()
                .filter_map(|answer| answer.frame.as_deref())
                .flatten()
                .copied()
                .collect();
            if !frames.is_empty() {
                let collection = &hour[0].collection;
                self.writer
                    .archive_moment(&collection.source, collection.start_time, &frames)
                    .await?;
            }
        }
        Ok(answers)
    }

    async fn observe<S: record::Span>(&mut self, answers: Vec<Answer<S>>) -> Result<()> {
        let (mut snapshots, mut rest) = (Vec::new(), Vec::new());
        for answer in answers {
            // A command that failed saw nothing, which is not the same as seeing nothing there.
            if answer.frame.is_some() {
                let time = answer.collection.start_time;
                snapshots.push(Snapshot { time, rows: answer.records });
            }
            rest.push((answer.collection, answer.rejects));
        }
        let change = self.writer.observe(snapshots).await?;
        self.keep(rest, change).await
    }

    async fn sample(&mut self, answers: Vec<Answer<GpuSample>>) -> Result<()> {
        let (mut samples, mut rest) = (Vec::new(), Vec::new());
        for answer in answers {
            samples.extend(answer.records);
            rest.push((answer.collection, answer.rejects));
        }
        let change = self.writer.upsert(&samples).await?;
        self.keep(rest, change).await
    }

    /// Runs a command; what it prints goes to the archive and to the parser at once. That it
    /// fails is part of the answer.
    fn ask<T>(
        &mut self,
        machine: &dyn Machine,
        command: &Command,
        window: Option<(Timestamp, Timestamp)>,
        mut parser: impl Parser<T>,
    ) -> Result<Answer<T>> {
        let start_time = machine.now();
        let words: Vec<String> =
            std::iter::once(command.program.to_owned()).chain(command.arguments.clone()).collect();
        let mut archive = Archive::begin(start_time, &words)?;
        let ran = machine.run(command, &mut |piece| {
            archive.push(piece);
            parser.push(piece);
        });
        let (frame, bytes) = archive.finish()?;
        let mut collection = Collection {
            cluster: self.cluster.name.clone(),
            source: command.program.to_owned(),
            start_time,
            window_start: window.map(|(start, _)| start),
            window_end: window.map(|(_, end)| end),
            duration_seconds: machine.now().duration_since(start_time).as_secs_f64(),
            bytes: bytes as i64,
            records: 0,
            rejects: 0,
            changed: 0,
            error: None,
        };
        if let Err(failure) = ran {
            self.summary.failures.push(format!("{}: {failure}", self.cluster.name));
            collection.error = Some(failure.to_string());
            return Ok(Answer {
                collection,
                records: Vec::new(),
                rejects: Vec::new(),
                frame: None,
            });
        }
        let parsed = parser.finish();
        collection.records = parsed.records.len() as i64;
        collection.rejects = parsed.rejects.len() as i64;
        let rejects = parsed
            .rejects
            .into_iter()
            .map(|rejected| self.reject(command.program, start_time, rejected))
            .collect();
        Ok(Answer { collection, records: parsed.records, rejects, frame: Some(frame) })
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

    /// Keeps what is known about runs of a source that together made a change.
    async fn keep(&mut self, runs: Vec<(Collection, Vec<Reject>)>, change: Change) -> Result<()> {
        let (mut collections, mut rejects) = (Vec::new(), Vec::new());
        for (collection, rejected) in runs {
            self.summary.records += collection.records as u64;
            self.summary.rejects += collection.rejects as u64;
            collections.push(collection);
            rejects.extend(rejected);
        }
        if let Some(last) = collections.last_mut() {
            last.changed = (change.added + change.changed) as i64;
        }
        self.summary.change += change;
        self.writer.upsert(&rejects).await?;
        self.writer.collected(&collections).await
    }
}

fn midnight(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC).expect("UTC has every midnight").timestamp()
}
