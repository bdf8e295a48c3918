//! What collecting does by itself with days that are over, done when somebody asks for it: for a
//! cluster that is no longer collected, a lake of an earlier version, another zone.

use anyhow::Result;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::compact::is_over;
use crate::write::Writer;
use crate::{Compacted, Lake, LakeFile, Tracker, path};

/// What there is to do with a cluster's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Days that are over and whose GPUs are not kept as spans.
    pub gpu_days: Vec<Date>,
    /// Files of samples that nobody reads: their days have spans.
    pub left_over: Removed,
    /// Days whose jobs, by the UTC day of their submission, are not added up as they now are.
    pub job_days: Vec<Date>,
}

/// Files that went, or are to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    pub files: usize,
    pub bytes: u64,
}

/// What was done with a cluster's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaughtUp {
    pub compacted: Compacted,
    pub left_over: Removed,
    /// How many days of jobs were added up.
    pub job_days: usize,
    /// What could not be done, and why; all else was.
    pub failures: Vec<String>,
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        *self == Backlog::default()
    }
}

impl Removed {
    pub(crate) fn of(files: &[LakeFile]) -> Removed {
        Removed { files: files.len(), bytes: files.iter().map(|file| file.meta.size).sum() }
    }
}

impl Lake {
    /// What there is to do with a cluster's files, by their names and by what is known of them: none
    /// is opened, and nobody is kept from writing.
    pub async fn backlog(&self, cluster: &str, now: Timestamp) -> Result<Backlog> {
        let tracker = Tracker::from_bytes(self.bytes(&path::tracker(cluster)).await?)
            .with_open_from_bytes(self.bytes(&path::open_jobs(cluster)).await?);
        let (samples, spans) = self.gpu_files(cluster, &tracker).await?;
        let (left_over, waiting): (Vec<_>, Vec<_>) =
            samples.into_iter().partition(|(day, _)| spans.contains_key(day));
        let mut gpu_days: Vec<Date> = waiting.into_iter().map(|(day, _)| day).collect();
        // What the last look of a day holds over may be all that is known of the next.
        let carrying = spans.values().filter(|file| {
            let facts = file.facts.as_ref().and_then(|facts| facts.times.get("carry_until"));
            facts.is_some_and(|range| range.max.is_some())
        });
        gpu_days.extend(carrying.filter_map(|file| file.date.tomorrow().ok()));
        gpu_days.retain(|day| is_over(*day, now) && !spans.contains_key(day));
        gpu_days.sort_unstable();
        gpu_days.dedup();
        let left_over: Vec<LakeFile> = left_over.into_iter().flat_map(|(_, files)| files).collect();
        let unsummed = tracker.unsummed(self, cluster).await?;
        Ok(Backlog {
            gpu_days,
            left_over: Removed::of(&left_over),
            job_days: unsummed.iter().map(|file| file.date).collect(),
        })
    }

    /// Does what there is to do with a cluster's files, and tells of each day that is done. That all
    /// samples of days that are over are in is the caller's word. Looks hold for as long as questions
    /// take them to, so these are answered as before; where the lake does not know how long that is,
    /// as when its tracker was lost, for the time that is given.
    ///
    /// Stopped at any moment it leaves a lake that says the same, and the next run goes on from there.
    pub async fn catch_up(
        &self,
        cluster: &str,
        now: Timestamp,
        unknown_hold: Option<SignedDuration>,
        done: &mut (dyn FnMut() + Send),
    ) -> Result<CaughtUp> {
        let (mut writer, unsummed) = Writer::begin(self.clone(), cluster).await?;
        let mut caught_up =
            CaughtUp { left_over: writer.remove_compacted_samples().await?, ..CaughtUp::default() };
        for days in unsummed.chunks(DAYS_A_SAVE) {
            for file in days {
                match writer.sum_up_again(&file.meta.location).await {
                    Ok(()) => caught_up.job_days += 1,
                    Err(error) => caught_up
                        .failures
                        .push(format!("cannot add up the jobs of {}: {error:#}", file.date)),
                }
                done();
            }
            writer.save().await?;
        }
        if let Some(hold) = unknown_hold.filter(|_| writer.tracker().hold_seconds.is_none()) {
            writer.set_hold(hold);
        }
        let hold = writer.tracker().hold();
        let compacted = &mut caught_up.compacted;
        let mut each = |day| {
            *compacted += day;
            done();
        };
        if let Err(error) = writer.compact_each_gpu_day(now, hold, &mut each).await {
            caught_up.failures.push(format!("{error:#}"));
        }
        writer.finish().await?;
        Ok(caught_up)
    }
}

/// So many days of sums at the most are made again after a stop: years of them take minutes.
const DAYS_A_SAVE: usize = if cfg!(test) { 2 } else { 100 };

#[cfg(test)]
mod tests;
