//! `plimsoll import gpureports`: its months of GPU states, and of jobs that waited for GPUs.
//!
//! A month has millions of rows. They are read some at a time, and a day is made spans of as soon
//! as the next one begins: no more than a day is held.

mod files;
mod looks;
mod policy;
mod queue;

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::Result;
use indicatif::ProgressBar;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Change, Lake, LakeFile, LateSample, Writer};
use record::{Collection, GpuSample, Reject};
use source::origin::gpureports::Look;
use source::{Live, Machine, Rejected};

use super::{cluster, zone, zone_name};
use crate::cli::ImportGpureports;
use crate::command::collect::progress;
use crate::config::{Config, Kind};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &ImportGpureports) -> Result<Outcome> {
    let zone = zone(config, arguments.zone.as_deref())?;
    let cluster = cluster(config, arguments.cluster.as_deref(), Kind::Htcondor)?;
    let months = files::months(&arguments.path)?;
    let policy = policy::read(config, arguments)?;
    let lake = Lake::create(&config.data_dir)?.with_zone(&config.zone);
    let mut import = Import {
        writer: lake.writer(&cluster).await?,
        lake,
        cluster,
        zone,
        now: Live::default().now(),
        day: None,
        cadence: None,
        first: None,
        queue_files: HashMap::new(),
        summary: Summary::default(),
    };
    let progress = progress(months.len() as u64, &import.cluster);
    for (month, files) in &months {
        progress.set_message(month.strftime("%Y-%m").to_string());
        import.states(files, &progress).await?;
        progress.inc(1);
    }
    import.last_day().await?;
    progress.set_message("jobs that waited");
    import.queue(&months).await?;
    progress.finish_and_clear();
    complain(&import.summary.text(&import.zone));
    if let Some(policy) = policy {
        complain(&import.store(&policy).await?);
        if let Some(lines) = policy.lines(config) {
            io::stdout().write_all(lines.as_bytes())?;
        }
    }
    let is_clean = import.summary.is_clean();
    import.writer.finish().await?;
    Ok(if is_clean { Outcome::Done } else { Outcome::Findings })
}

/// What collections and rejects are said to come from.
const SOURCE: &str = lake::GPU_IMPORT;

/// An import on its way.
struct Import {
    lake: Lake,
    writer: Writer,
    cluster: String,
    zone: TimeZone,
    now: Timestamp,
    /// The day whose looks come.
    day: Option<Day>,
    /// The first look of the import.
    first: Option<Timestamp>,
    /// How far looks lay apart when that was last known.
    cadence: Option<SignedDuration>,
    /// The waits that the lake had before.
    queue_files: HashMap<Date, LakeFile>,
    summary: Summary,
}

/// A day in UTC, of which more may come.
struct Day {
    date: Date,
    looks: Vec<Timestamp>,
    samples: Vec<GpuSample>,
}

impl Import {
    /// Takes over the looks of a month.
    async fn states(&mut self, files: &files::Month, progress: &ProgressBar) -> Result<()> {
        let mut month = looks::Month::open(files, &self.cluster, &self.zone);
        while let Some(look) = month.next() {
            let date = look.time.to_zoned(TimeZone::UTC).date();
            if self.day.as_ref().is_some_and(|day| day.date != date) {
                progress.set_message(date.to_string());
                self.end_day().await?;
            }
            self.add(date, look);
        }
        for file in month.end() {
            if let Some(error) = &file.error {
                complain(&format!("warning: left out: {error:#}"));
                self.summary.unreadable += 1;
            }
            self.summary.rows += file.rows;
            // The end is not included, and the last look is.
            let window = file.first.zip(file.last);
            let window = window.map(|(first, last)| (first, last + SignedDuration::from_secs(1)));
            self.kept(file.rows, file.modified, file.rejects, file.last, window).await?;
        }
        Ok(())
    }

    fn add(&mut self, date: Date, look: Look) {
        let day =
            self.day.get_or_insert_with(|| Day { date, looks: Vec::new(), samples: Vec::new() });
        day.looks.push(look.time);
        self.first = self.first.or(Some(look.time));
        day.samples.extend(look.samples);
        self.summary.looks += 1;
    }

    /// Makes spans of a day whose looks are all there.
    async fn end_day(&mut self) -> Result<()> {
        let Some(day) = self.day.take() else { return Ok(()) };
        self.cadence = cadence(&day.looks).or(self.cadence);
        self.writer.learn_gpu_models(&day.samples);
        let made = self.writer.add_gpu_day(day.date, day.samples, self.hold()).await;
        match made {
            Ok(made) => {
                self.summary.days += made.days;
                self.summary.spans += made.spans;
            }
            Err(error) => self.is_late(day.date, error)?,
        }
        Ok(())
    }

    /// Keeps the last day as samples: more of it may come, from the next file or from the pool.
    async fn last_day(&mut self) -> Result<()> {
        let Some(day) = self.day.take() else { return Ok(()) };
        self.cadence = cadence(&day.looks).or(self.cadence);
        self.writer.learn_gpu_models(&day.samples);
        match self.writer.upsert(&day.samples).await {
            Ok(change) => self.summary.days += usize::from(change.added > 0),
            Err(error) => self.is_late(day.date, error)?,
        }
        // Whoever collects from the pool itself knows better.
        if self.writer.tracker().hold_seconds.is_none() {
            self.writer.set_hold(self.hold());
        }
        // What the days before carry beyond their midnight.
        let begin = day.date.to_zoned(TimeZone::UTC)?.timestamp().min(self.now);
        self.writer.compact_gpu_days(begin, self.hold()).await?;
        Ok(())
    }

    /// Leaves a day as it is that the lake knows otherwise.
    fn is_late(&mut self, date: Date, error: anyhow::Error) -> Result<()> {
        if error.downcast_ref::<LateSample>().is_none() {
            return Err(error);
        }
        self.summary.left.push(date);
        Ok(())
    }

    /// How long a look holds: twice as long as looks lay apart.
    fn hold(&self) -> SignedDuration {
        self.cadence.map_or_else(|| self.writer.tracker().hold(), |cadence| cadence * 2)
    }

    /// Says that a file was read, with the time of its looks at GPUs, and keeps what could not be read
    /// of it. These days count as imported for reports of GPUs; a file of waits has no such window.
    async fn kept(
        &mut self,
        rows: u64,
        modified: Option<Timestamp>,
        rejects: Vec<Rejected>,
        last: Option<Timestamp>,
        window: Option<(Timestamp, Timestamp)>,
    ) -> Result<()> {
        let Some(modified) = modified else { return Ok(()) };
        let time = last.unwrap_or(modified);
        self.summary.rejects += rejects.len();
        let rejected = rejects.len() as i64;
        let rejects: Vec<Reject> = rejects
            .into_iter()
            .map(|rejected| Reject {
                cluster: self.cluster.clone().into(),
                source: SOURCE.into(),
                time,
                position: i64::try_from(rejected.position).unwrap_or(i64::MAX),
                reason: rejected.reason.into(),
                text: rejected.text.into(),
            })
            .collect();
        self.writer.upsert(&rejects).await?;
        let collection = Collection {
            cluster: self.cluster.clone().into(),
            source: SOURCE.into(),
            start_time: modified,
            window_start: window.map(|(start, _)| start),
            window_end: window.map(|(_, end)| end),
            duration_seconds: 0.0,
            bytes: 0,
            records: rows as i64,
            rejects: rejected,
            changed: 0,
            error: None,
        };
        self.writer.collected(&[collection]).await
    }
}

/// How far looks lie apart, as a rule: the median, to the minute if it is minutes. Nothing of a day
/// with too few looks to tell.
fn cadence(looks: &[Timestamp]) -> Option<SignedDuration> {
    let mut gaps: Vec<i64> = looks
        .windows(2)
        .map(|pair| pair[1].duration_since(pair[0]).as_secs_f64().round() as i64)
        .filter(|gap| *gap > 0)
        .collect();
    if gaps.len() < 3 {
        return None;
    }
    gaps.sort_unstable();
    let gap = gaps[gaps.len() / 2];
    let gap = if gap < 60 { gap } else { (gap + 30) / 60 * 60 };
    Some(SignedDuration::from_secs(gap.min(24 * 3600)))
}

#[derive(Default)]
struct Summary {
    rows: u64,
    looks: usize,
    /// Days that are new.
    days: usize,
    spans: usize,
    /// Days that the lake knows otherwise.
    left: Vec<Date>,
    waits: usize,
    queue_change: Change,
    rejects: usize,
    unreadable: usize,
}

impl Summary {
    fn is_clean(&self) -> bool {
        self.rejects == 0 && self.unreadable == 0 && self.left.is_empty()
    }

    fn text(&self, zone: &TimeZone) -> String {
        let mut text = format!(
            "imported {} looks at GPUs from {} rows, their times read in {}: {} days new, {} spans",
            self.looks,
            self.rows,
            zone_name(zone),
            self.days,
            self.spans
        );
        if self.waits > 0 {
            text += &format!(
                "\nimported {} waits of jobs: {} rows new, {} changed",
                self.waits, self.queue_change.added, self.queue_change.changed
            );
        }
        if let (Some(first), Some(last)) = (self.left.first(), self.left.last()) {
            text += &format!(
                "\nleft as they are: {} days from {first} to {last} that the lake has with other \
                 states, collected or imported before",
                self.left.len()
            );
        }
        if self.rejects > 0 {
            text += &format!(
                "\n{} rows could not be read and were set aside (`plimsoll report rejects`)",
                self.rejects
            );
        }
        if self.unreadable > 0 {
            text += &format!("\n{} files could not be read", self.unreadable);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cadence_is_what_most_looks_keep_to() {
        let check = |seconds: &[i64], expected: Option<i64>| {
            let mut time = Timestamp::UNIX_EPOCH;
            let mut looks = vec![time];
            for gap in seconds {
                time += SignedDuration::from_secs(*gap);
                looks.push(time);
            }
            assert_eq!(cadence(&looks).map(|cadence| cadence.as_secs()), expected, "{seconds:?}");
        };
        check(&[299, 301, 300, 10_800, 302], Some(300));
        check(&[900, 905, 890], Some(900));
        check(&[15, 15, 15], Some(15));
        check(&[300, 300], None);
        check(&[], None);
    }
}
