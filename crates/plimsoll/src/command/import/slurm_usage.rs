//! `plimsoll import slurm-usage`: its days of raw and processed jobs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Archive, Asked, Change, Frame, Lake, LakeFile, Trackers, Writer, read_foreign};
use record::{Collection, Job, MergeOutcome, Record, Reject, Text};
use source::origin::slurm_usage::{ProcessedDay, RawDays};
use source::slurm::Sacct;
use source::{Parsed, Parser, Rejected, parse};

use super::{cluster, modified, settings, zone, zone_name};
use crate::cli::ImportSlurmUsage;
use crate::command::collect::progress;
use crate::config::{Config, Kind};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &ImportSlurmUsage) -> Result<Outcome> {
    let zone = zone(config, arguments.zone.as_deref())?;
    let cluster = cluster(config, arguments.cluster.as_deref(), Kind::Slurm)?;
    let days = days_in(&arguments.folder)?;
    let groups = match arguments.groups_file()? {
        Some(file) => settings::groups(&file)?,
        None => BTreeMap::new(),
    };
    let lake = Lake::create(&config.data_dir)?.with_zone(&config.zone);
    let mut import = Import {
        jobs_in_lake: job_files(&lake, &cluster).await?,
        writer: lake.writer(&cluster).await?,
        lake,
        cluster,
        zone,
        raw: None,
        summary: Summary::default(),
    };
    import.all(&days).await?;
    let summary = import.summary;
    complain(&summary.line(&days, &import.zone));
    import.writer.finish().await?;
    if let Some(lines) = group_lines(&groups, &config.groups) {
        io::stdout().write_all(lines.as_bytes())?;
    }
    Ok(if summary.is_clean() { Outcome::Done } else { Outcome::Findings })
}

/// The lines of `plimsoll.toml` for the groups that it lacks. Groups are configuration, and apply to all
/// of the history: nothing of them is stored.
fn group_lines(
    groups: &BTreeMap<String, Vec<String>>,
    known: &BTreeMap<String, Vec<String>>,
) -> Option<String> {
    let lacking: toml::Table = groups
        .iter()
        .filter(|(name, users)| known.get(*name) != Some(*users))
        .map(|(name, users)| {
            // A user who is named twice counts once, and the configuration refuses the second.
            let mut once: Vec<String> = Vec::new();
            for user in users {
                if !once.contains(user) {
                    once.push(user.clone());
                }
            }
            (name.clone(), toml::Value::from(once))
        })
        .collect();
    let whole =
        toml::Table::from_iter([("groups".to_owned(), toml::Value::Table(lacking.clone()))]);
    let note = "# The groups of slurm-usage, for plimsoll.toml:";
    (!lacking.is_empty()).then(|| format!("{note}\n{whole}"))
}

/// What a job's row says about where it comes from.
const SOURCE: &str = lake::IMPORT;

/// What is archived of an import: the rows of each folder, as text of `sacct`.
const RAW: &str = "slurm-usage-raw";
const PROCESSED: &str = "slurm-usage-processed";

/// Whether an answer of the archive is part of an import.
pub(crate) fn is_archived_import(frame: &Frame) -> bool {
    frame.source().is_some_and(|source| [RAW, PROCESSED].contains(&source.as_str()))
}

/// Imports again from the archive, day by day, as [`Import::day`] did.
pub(crate) async fn import_archived(
    lake: &Lake,
    writer: &mut Writer,
    cluster: &str,
    archived: Vec<(Asked, Frame)>,
) -> Result<()> {
    let mut days: BTreeMap<(Date, Timestamp), Vec<(Asked, Frame)>> = BTreeMap::new();
    for (asked, frame) in archived {
        let day = frame.day().context("a file of the archive without a day")?;
        days.entry((day, asked.run)).or_default().push((asked, frame));
    }
    for ((day, _), archived) in days {
        let (mut raw, mut processed) = (Vec::new(), Vec::new());
        // Archives of earlier versions do not name the day's end.
        let mut end_of_day = day.tomorrow()?.to_zoned(TimeZone::UTC)?.timestamp();
        for (asked, frame) in archived {
            let mut parser = Sacct::new(cluster, asked.time);
            lake::replay(&lake.frame(&frame).await?, &mut |piece| parser.push(piece))?;
            let is_raw = frame.source().is_some_and(|source| source == RAW);
            let jobs = if is_raw { &mut raw } else { &mut processed };
            jobs.extend(parser.finish().records);
            end_of_day = asked.window.map_or(end_of_day, |(_, end)| end);
        }
        writer.upsert(&imported(raw, processed, end_of_day)).await?;
    }
    Ok(())
}

/// The jobs of both files of a day, each once. Where both have a job, its rows are merged column by column
/// as observations are. The processed row was made of the raw one, which so counts as the later.
fn imported(mut raw: Vec<Job>, mut processed: Vec<Job>, end_of_day: Timestamp) -> Vec<Job> {
    mark_imported(&mut raw, end_of_day);
    mark_imported(&mut processed, end_of_day);
    let mut places: HashMap<(Text, Timestamp), usize> = HashMap::new();
    let mut jobs = raw;
    for (place, job) in jobs.iter().enumerate() {
        places.insert((job.job_id.clone(), job.submit_time), place);
    }
    for mut job in processed {
        let Some(&place) = places.get(&(job.job_id.clone(), job.submit_time)) else {
            jobs.push(job);
            continue;
        };
        let raw = &mut jobs[place];
        let before = raw.observed_time - SignedDuration::from_micros(1);
        job.observed_time = job.observed_time.min(before);
        job.attempt = raw.attempt;
        match raw.merge(&job) {
            MergeOutcome::First => {}
            MergeOutcome::Second => *raw = job,
            MergeOutcome::New(merged) => *raw = *merged,
        }
    }
    jobs
}

/// Says of jobs that they were imported, and when each was observed.
fn mark_imported(jobs: &mut [Job], end_of_day: Timestamp) {
    for job in jobs {
        job.source = SOURCE.into();
        job.set_usage_source(SOURCE);
        job.observed_time = observed(job, end_of_day);
    }
}

/// The files of one day.
#[derive(Clone, Debug, Default, PartialEq)]
struct DayFiles {
    raw: Option<PathBuf>,
    processed: Option<PathBuf>,
}

/// The days in a folder of slurm-usage, by their date.
fn days_in(folder: &Path) -> Result<BTreeMap<Date, DayFiles>> {
    let mut days: BTreeMap<Date, DayFiles> = BTreeMap::new();
    for part in ["raw", "processed"] {
        let folder = folder.join(part);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", folder.display()));
            }
        };
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            let day: Option<Date> = path
                .file_name()
                .and_then(|name| name.to_str()?.strip_suffix(".parquet")?.parse().ok());
            let Some(day) = day else { continue };
            let files = days.entry(day).or_default();
            match part {
                "raw" => files.raw = Some(path),
                _ => files.processed = Some(path),
            }
        }
    }
    if days.is_empty() {
        bail!(
            "{} holds no raw/2025-08-14.parquet and no processed/2025-08-14.parquet; name the \
             folder that slurm-usage calls data_dir",
            folder.display()
        );
    }
    Ok(days)
}

/// Where the lake keeps the jobs of each day.
async fn job_files(lake: &Lake, cluster: &str) -> Result<HashMap<Date, LakeFile>> {
    let files = lake.files(&Job::TABLE, &Trackers::new()).await?;
    let of_cluster = files.into_iter().filter(|file| file.cluster == cluster);
    Ok(of_cluster.map(|file| (file.date, file)).collect())
}

#[derive(Default)]
struct Summary {
    jobs: usize,
    change: Change,
    /// Jobs that the lake also has from the scheduler itself.
    collected: usize,
    rejects: usize,
    unreadable: usize,
}

impl Summary {
    fn is_clean(&self) -> bool {
        self.rejects == 0 && self.unreadable == 0
    }

    fn line(&self, days: &BTreeMap<Date, DayFiles>, zone: &TimeZone) -> String {
        let (first, last) = match (days.keys().next(), days.keys().next_back()) {
            (Some(first), Some(last)) => (first, last),
            _ => return "nothing to import".to_owned(),
        };
        let mut line = format!(
            "imported {} jobs of {} days from {first} to {last}, their times read in {}: {} rows new, {} changed",
            self.jobs,
            days.len(),
            zone_name(zone),
            self.change.added,
            self.change.changed
        );
        if self.collected > 0 {
            line += &format!(
                "; {} were also collected from SLURM, which counts where both have a value",
                self.collected
            );
        }
        if self.rejects > 0 {
            line += &format!(
                "; {} pieces could not be read and were set aside (`plimsoll report rejects`)",
                self.rejects
            );
        }
        if self.unreadable > 0 {
            line += &format!("; {} files could not be read", self.unreadable);
        }
        line
    }
}

/// An import on its way.
struct Import {
    lake: Lake,
    writer: Writer,
    cluster: String,
    zone: TimeZone,
    /// What of `raw/` waits for later days.
    raw: Option<RawDays>,
    /// As they were before: nothing that is imported now counts as collected.
    jobs_in_lake: HashMap<Date, LakeFile>,
    summary: Summary,
}

impl Import {
    /// Takes over days in their order, each whole before the next: an import that is stopped
    /// and begun again ends with the same lake.
    async fn all(&mut self, days: &BTreeMap<Date, DayFiles>) -> Result<()> {
        let progress = progress(days.len() as u64, &self.cluster);
        let dates: Vec<Date> = days.keys().copied().collect();
        let mut taken: Vec<(Date, Timestamp)> = Vec::new();
        for (index, (day, files)) in days.iter().enumerate() {
            progress.set_message(day.to_string());
            let time = self.day(*day, files, dates.get(index + 1).copied()).await?;
            taken.extend(time.map(|time| (*day, time)));
            progress.inc(1);
        }
        progress.finish_and_clear();
        self.collected(&taken).await
    }

    /// Takes over a day; gives when its files were last written, if any could be read.
    async fn day(
        &mut self,
        day: Date,
        files: &DayFiles,
        next: Option<Date>,
    ) -> Result<Option<Timestamp>> {
        let (mut raw_jobs, mut processed_jobs) = (Vec::new(), Vec::new());
        let mut rejects: Vec<Reject> = Vec::new();
        let mut run = None;
        let mut time = None;
        let mut seen = Seen::default();

        let mut raw = self.raw.take().unwrap_or_else(|| RawDays::new(self.zone.clone()));
        if let Some(path) = &files.raw {
            match read_raw(path, &mut raw, &mut seen) {
                Ok(modified) => time = Some(modified),
                Err(error) => self.unreadable(&error),
            }
        }
        // Later days may still have steps of jobs of this one.
        let text = raw.end_day(next);
        let held = raw.held_job_ids();
        self.raw = Some(raw);
        let end_of_day = self.midnight(day.tomorrow()?)?;
        if let Some(text) = text {
            // Jobs of earlier days may end on one that has no file.
            let time = time.unwrap_or(end_of_day);
            run = Some(time);
            let parsed = self.parsed(RAW, day, (time, time), &text).await?;
            rejects.extend(self.rejects("slurm-usage raw", time.min(end_of_day), parsed.rejects));
            raw_jobs = parsed.records;
        }

        if let Some(path) = &files.processed {
            let mut processed = ProcessedDay::new(self.zone.clone());
            // What `sacct` printed says more than what was made of it, if its steps are there.
            let known = |job_id: &str| {
                held.contains(job_id)
                    || (seen.jobs.contains(job_id) && seen.with_steps.contains(job_id))
            };
            match read_processed(path, &mut processed, known) {
                Ok(modified) => {
                    let processed_time = processed.processed_time.unwrap_or(modified);
                    let text = processed.end();
                    let run = run.unwrap_or(processed_time);
                    let parsed = self.parsed(PROCESSED, day, (processed_time, run), &text).await?;
                    let time_seen = processed_time.min(end_of_day);
                    rejects.extend(self.rejects(
                        "slurm-usage processed",
                        time_seen,
                        parsed.rejects,
                    ));
                    processed_jobs = parsed.records;
                    time = time.max(Some(processed_time));
                }
                Err(error) => self.unreadable(&error),
            }
        }

        let jobs = imported(raw_jobs, processed_jobs, end_of_day);
        self.compare_with_lake(&jobs).await?;
        self.summary.jobs += jobs.len();
        self.summary.change += self.writer.upsert(&jobs).await?;
        self.summary.rejects += rejects.len();
        self.writer.upsert(&rejects).await?;
        Ok(time)
    }

    /// Archives a text and parses it. Both texts of a day have one `run`. The window is the day in the zone
    /// of slurm-usage, which nothing else in the archive names.
    async fn parsed(
        &self,
        source: &str,
        day: Date,
        (time, run): (Timestamp, Timestamp),
        text: &[u8],
    ) -> Result<Parsed<Job>> {
        let command = ["plimsoll", "import", "slurm-usage"].map(str::to_owned).into();
        let window = Some((self.midnight(day)?, self.midnight(day.tomorrow()?)?));
        let asked = Asked { time, run, window, command, failure: None };
        let mut archive = Archive::begin(&asked)?;
        archive.push(text);
        let (frame, _) = archive.finish()?;
        self.writer.archive_window(source, day, time, &frame).await?;
        Ok(parse(Sacct::new(&self.cluster, time), text))
    }

    /// What was set aside, under the end of its day: files that were copied at one instant keep
    /// their rejects apart.
    fn rejects(&self, source: &str, time: Timestamp, rejected: Vec<Rejected>) -> Vec<Reject> {
        rejected
            .into_iter()
            .map(|rejected| Reject {
                cluster: self.cluster.clone().into(),
                source: source.into(),
                time,
                position: i64::try_from(rejected.position).unwrap_or(i64::MAX),
                reason: rejected.reason.into(),
                text: rejected.text.into(),
            })
            .collect()
    }

    fn midnight(&self, day: Date) -> Result<Timestamp> {
        Ok(day.to_zoned(self.zone.clone()).context("no such day in this zone")?.timestamp())
    }

    fn unreadable(&mut self, error: &anyhow::Error) {
        complain(&format!("warning: left out: {error:#}"));
        self.summary.unreadable += 1;
    }

    /// Counts the jobs that the lake also has from the scheduler itself.
    ///
    /// The same ids with times that differ by whole quarters of an hour mean that times are read
    /// in the wrong zone, and all would be there twice: that is an error before any is written.
    async fn compare_with_lake(&mut self, jobs: &[Job]) -> Result<()> {
        let mut dates: Vec<Date> = Vec::new();
        for job in jobs {
            let date = job.submit_time.to_zoned(TimeZone::UTC).date();
            dates.extend([date.yesterday(), Ok(date), date.tomorrow()].into_iter().flatten());
        }
        dates.sort();
        dates.dedup();
        let mut known: HashMap<Text, Vec<Known>> = HashMap::new();
        for date in dates {
            let Some(file) = self.jobs_in_lake.get(&date) else { continue };
            for job in self.lake.read::<Job>(&self.cluster, &file.meta.location).await? {
                known.entry(job.job_id).or_default().push(Known {
                    submit_time: job.submit_time,
                    is_imported: job.source == SOURCE,
                });
            }
        }
        let (mut same, mut shifted) = (0, 0);
        for job in jobs {
            let others = known.get(&job.job_id).map_or(&[][..], Vec::as_slice);
            let equal = others.iter().find(|known| known.submit_time == job.submit_time);
            same += usize::from(equal.is_some());
            shifted += usize::from(
                equal.is_none()
                    && others.iter().any(|known| is_zone_apart(known.submit_time, job.submit_time)),
            );
            self.summary.collected += usize::from(equal.is_some_and(|known| !known.is_imported));
        }
        if shifted > same {
            bail!(
                "{shifted} jobs are already in the lake, submitted whole hours earlier or later: \
                 their times are not those of {}; give the zone of the machine that slurm-usage \
                 ran on with --zone",
                zone_name(&self.zone)
            );
        }
        Ok(())
    }

    /// Says which days are now known, so that reports count them: each run of days as one window,
    /// for days begin at midnight of the zone and the lake counts those of UTC.
    async fn collected(&mut self, days: &[(Date, Timestamp)]) -> Result<()> {
        let follows = |one: &Date, other: &Date| one.tomorrow().is_ok_and(|next| next == *other);
        let mut runs = Vec::new();
        for run in days.chunk_by(|(one, _), (other, _)| follows(one, other)) {
            let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else { continue };
            let end = self.midnight(last.tomorrow()?)?;
            let written = run.iter().map(|(_, time)| *time).max().unwrap_or(end);
            runs.push(Collection {
                cluster: self.cluster.clone().into(),
                source: SOURCE.into(),
                start_time: written,
                window_start: Some(self.midnight(*first)?),
                window_end: Some(end),
                duration_seconds: 0.0,
                bytes: 0,
                records: 0,
                rejects: 0,
                changed: 0,
                error: None,
            });
        }
        self.writer.collected(&runs).await
    }
}

/// What the lake knows of a job before the import.
struct Known {
    submit_time: Timestamp,
    is_imported: bool,
}

/// Whether two moments are as far apart as the same clock time in two zones.
fn is_zone_apart(one: Timestamp, other: Timestamp) -> bool {
    let seconds = one.duration_since(other).abs().as_secs();
    seconds > 0 && seconds % 900 == 0 && seconds <= 26 * 3600
}

/// The jobs of a day's raw file, and those that it has steps of.
#[derive(Default)]
struct Seen {
    jobs: HashSet<String>,
    with_steps: HashSet<String>,
}

fn read_raw(path: &Path, raw: &mut RawDays, seen: &mut Seen) -> Result<Timestamp> {
    for rows in read_foreign(path)? {
        let rows = rows?;
        let Some(job_id) = rows.names().iter().position(|name| name == "JobID") else {
            bail!("{} has no column JobID", path.display());
        };
        for row in 0..rows.rows() {
            match rows.cell(row, job_id).unwrap_or_default().split_once('.') {
                Some((job, _)) => seen.with_steps.insert(job.to_owned()),
                None => seen.jobs.insert(rows.cell(row, job_id).unwrap_or_default().to_owned()),
            };
        }
        raw.add(rows.names(), rows.rows(), |row, column| rows.cell(row, column));
    }
    modified(path)
}

fn read_processed(
    path: &Path,
    day: &mut ProcessedDay,
    known: impl Fn(&str) -> bool,
) -> Result<Timestamp> {
    for rows in read_foreign(path)? {
        let rows = rows?;
        if !rows.names().iter().any(|name| name == "job_id") {
            bail!("{} has no column job_id", path.display());
        }
        day.add(rows.names(), rows.rows(), |row, column| rows.cell(row, column), &known);
    }
    modified(path)
}

/// When a job was seen as it is. A running one was seen when it had run as long as it says, and
/// one that waits at the latest when its day ended; a file's own time may be that of a copy.
fn observed(job: &Job, end_of_day: Timestamp) -> Timestamp {
    match (job.start_time, job.end_time) {
        (Some(start), None) => {
            let ran = job.elapsed_seconds.unwrap_or(0) + job.suspended_seconds.unwrap_or(0);
            start.checked_add(SignedDuration::from_secs(ran)).unwrap_or(job.observed_time)
        }
        (None, None) => job.observed_time.min(end_of_day),
        _ => job.observed_time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_same_clock_time_in_two_zones_is_whole_quarters_apart() {
        let noon = time("2025-08-14T12:00:07Z");
        assert!(is_zone_apart(noon, time("2025-08-14T17:00:07Z")));
        assert!(is_zone_apart(time("2025-08-14T06:15:07Z"), noon));
        assert!(!is_zone_apart(noon, noon));
        assert!(!is_zone_apart(noon, time("2025-08-14T13:00:08Z")));
        assert!(!is_zone_apart(noon, time("2025-08-16T12:00:07Z")));
    }

    fn job(line: &str) -> Job {
        let header = "JobID|State|Submit|Start|End|ElapsedRaw|TotalCPU|AllocCPUS|NodeList";
        let text = format!("{header}\n{line}\n");
        parse(Sacct::new("maple", time("2025-09-01T00:00:00Z")), text.as_bytes()).records.remove(0)
    }

    #[test]
    fn a_job_is_known_until_it_was_seen_not_until_its_file_was_copied() {
        let end_of_day = time("2025-08-15T00:00:00Z");
        let seen = |line: &str| observed(&job(line), end_of_day).to_string();
        // 1755172800 is 2025-08-14T12:00:00Z.
        assert_eq!(
            seen("7|RUNNING|1755172800|1755172800|Unknown|600||1|n1"),
            "2025-08-14T12:10:00Z"
        );
        assert_eq!(seen("7|PENDING|1755172800|Unknown|Unknown|0||1|"), "2025-08-15T00:00:00Z");
        assert_eq!(
            seen("7|COMPLETED|1755172800|1755172800|1755173400|600||1|n1"),
            "2025-09-01T00:00:00Z"
        );
    }

    /// The time of the processed file is later.
    #[test]
    fn raw_and_processed_rows_of_a_job_complete_each_other() {
        let end_of_day = time("2025-08-15T00:00:00Z");
        let header = "JobID|State|ExitCode|Submit|Start|End|ElapsedRaw|MaxRSS|TotalCPU|AllocCPUS|Partition|NodeList";
        let read = |written: &str, lines: &[&str]| {
            let text = format!("{header}\n{}\n", lines.join("\n"));
            parse(Sacct::new("maple", time(written)), text.as_bytes()).records
        };
        let at = "1755172800|1755172800|1755173400|600";
        let raw = read("2025-09-01T00:00:00Z", &[&format!("7|FAILED|3:0|{at}|||2||n1")]);
        let lines = [
            format!("7|COMPLETED||{at}|||1|cpu|n1"),
            format!("7.batch|COMPLETED||{at}|1G|00:05:00|||"),
            format!("8|COMPLETED||{at}|||1|cpu|n1"),
        ];
        let processed = read("2025-09-02T00:00:00Z", &lines.each_ref().map(String::as_str));
        let jobs = imported(raw, processed, end_of_day);
        let [seven, eight] = &jobs[..] else { panic!("{jobs:?}") };
        // The raw row counts where both have a value.
        assert_eq!(
            (seven.state.as_str(), seven.exit_code, seven.alloc_cpus),
            ("FAILED", Some(3), Some(2))
        );
        assert_eq!((seven.partition.as_deref(), seven.max_rss_mb), (Some("cpu"), Some(1024.0)));
        // 300 of 2 × 600 CPU seconds.
        assert_eq!(
            (seven.usage_source.as_deref(), seven.cpu_efficiency),
            (Some("slurm-usage"), Some(25.0))
        );
        assert_eq!(eight.job_id, "8");

        // The raw file was written while the job ran.
        let running =
            read("2025-09-01T00:00:00Z", &["7|RUNNING||1755172800|1755172800|Unknown|60|||2||n1"]);
        let ended = read(
            "2025-09-02T00:00:00Z",
            &lines[..2].iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let jobs = imported(running, ended, end_of_day);
        assert_eq!(
            (jobs.len(), jobs[0].state.as_str(), jobs[0].elapsed_seconds),
            (1, "COMPLETED", Some(600))
        );
    }
}
