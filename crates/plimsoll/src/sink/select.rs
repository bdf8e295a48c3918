//! Which attempts are pushed.

use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Lake, LakeFile};
use record::{Job, Record};
use report::Period;

/// Attempts of some clusters.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// None named means all.
    pub(crate) clusters: Vec<String>,
    pub(crate) which: Which,
}

#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// Those that were observed to be new, or to have changed, after a moment.
    ChangedAfter(Timestamp),
    /// Those that waited or ran in a period.
    In(Period),
}

impl Selection {
    fn has(&self, job: &Job) -> bool {
        match &self.which {
            Which::ChangedAfter(moment) => job.observed_time > *moment,
            // Of one that is not over it is known that it was there when it was last observed.
            Which::In(period) => {
                let last = job.end_time.unwrap_or(job.observed_time);
                job.submit_time < period.end && last >= period.start
            }
        }
    }

    /// Whether a file may have some of them, by what is known of it without opening it.
    fn may_be_in(&self, file: &LakeFile) -> bool {
        if !self.clusters.is_empty() && !self.clusters.contains(&file.cluster) {
            return false;
        }
        let observed = file.facts.as_ref().and_then(|facts| facts.times.get(Job::TABLE.observed));
        let last = observed.and_then(|range| range.max);
        let is_observed_after =
            |moment: Timestamp| last.is_none_or(|last| last > moment.as_microsecond());
        match &self.which {
            Which::ChangedAfter(moment) => is_observed_after(*moment),
            Which::In(period) => {
                // Files are by the day of submission.
                let last_day = period.end.to_zoned(TimeZone::UTC).date();
                file.date <= last_day
                    && is_observed_after(period.start - SignedDuration::from_micros(1))
            }
        }
    }
}

/// The files that may have some of them.
pub(super) async fn files(lake: &Lake, selection: &Selection) -> Result<Vec<LakeFile>> {
    let mut files = lake.files(&Job::TABLE, &lake.trackers().await?).await?;
    files.retain(|file| selection.may_be_in(file));
    Ok(files)
}

/// Those of a file, in the order in which they lie in it.
pub(super) async fn jobs(lake: &Lake, file: &LakeFile, selection: &Selection) -> Result<Vec<Job>> {
    let mut jobs: Vec<Job> = lake.read(&file.cluster, &file.meta.location).await?;
    jobs.retain(|job| selection.has(job));
    Ok(jobs)
}
