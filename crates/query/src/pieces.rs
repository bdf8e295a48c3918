//! What a period's usage is added up from: the sums of whole days where they are kept, and the
//! attempts themselves for the rest.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use lake::LakeFile;
use record::{Job, NodeDay, Record, Table};
use report::Period;

use crate::lake_table::Chosen;
use crate::listing::Listing;
use crate::shared_read::touches;
use crate::{Question, Sight};

static JOB: Table = Job::TABLE;

/// The pieces of a period.
#[derive(Default)]
pub(crate) struct Pieces {
    /// From midnight to midnight: days whose sums are taken.
    pub(crate) whole_days: Option<(Timestamp, Timestamp)>,
    /// Times for which attempts are read, each with the table that they are read from.
    pub(crate) rest: Vec<(&'static str, Timestamp, Timestamp)>,
    /// The files of `job` of whose attempts there are sums, by cluster and date.
    summed: Arc<HashSet<(String, Date)>>,
}

impl Pieces {
    /// Of a question that needs some of the tables of sums.
    pub(crate) async fn of(
        listing: &Listing,
        question: &Question,
        needed: &[&'static Table],
    ) -> Result<Pieces> {
        let Period { start, end, zone } = &question.period;
        let attempts = || Pieces { rest: vec![("job", *start, *end)], ..Pieces::default() };
        let has_sums_of_nodes = needed.iter().any(|table| table.name == NodeDay::TABLE.name);
        if has_sums_of_nodes && matches!(question.sight, Sight::Own { .. }) {
            // These sums are of everybody, the attempts are a user's own.
            return Ok(attempts());
        }
        let is_asked_about = |file: &LakeFile| {
            question.clusters.is_empty() || question.clusters.contains(&file.cluster)
        };
        let is_needed = |file: &LakeFile| is_asked_about(file) && touches(file, &question.period);
        let since = listing
            .since(&JOB, |files| anyhow::Ok(files.into_iter().filter(is_needed).collect()))?;
        let mut files = listing.files(&JOB, since).await?;
        files.retain(is_asked_about);
        let mut sums = Vec::new();
        for table in needed {
            sums.push(listing.files(table, since).await?);
        }
        let summed: HashSet<(String, Date)> =
            lake::summed(zone, &listing.trackers, files.clone(), &sums)
                .into_iter()
                .map(|file| (file.cluster, file.date))
                .collect();
        let Some((first, last)) = whole_days(&question.period, latest(&files))? else {
            return Ok(attempts());
        };
        let mut rest = Vec::new();
        if *start < first {
            rest.push(("internal.summed_job", *start, first));
        }
        if last < *end {
            rest.push(("internal.summed_job", last, *end));
        }
        if files.iter().any(|file| !summed.contains(&(file.cluster.clone(), file.date))) {
            rest.push(("internal.unsummed_job", *start, *end));
        }
        Ok(Pieces { whole_days: Some((first, last)), rest, summed: Arc::new(summed) })
    }

    /// Which files' attempts are in the sums, and which are not.
    pub(crate) fn split(&self, is_asked_about: &Chosen) -> (Chosen, Chosen) {
        let is_summed = |summed: &HashSet<_>, file: &LakeFile| {
            summed.contains(&(file.cluster.clone(), file.date))
        };
        let (known, asked) = (self.summed.clone(), is_asked_about.clone());
        let summed = move |file: &LakeFile| asked(file) && is_summed(&known, file);
        let (known, asked) = (self.summed.clone(), is_asked_about.clone());
        let unsummed = move |file: &LakeFile| asked(file) && !is_summed(&known, file);
        (Arc::new(summed), Arc::new(unsummed))
    }
}

/// The days of the site's calendar that lie in the period, from the first one's midnight to the
/// last one's. A day that the period cuts short counts as whole if nothing is known of the rest
/// of it: so does today.
fn whole_days(
    period: &Period,
    latest: Option<Timestamp>,
) -> Result<Option<(Timestamp, Timestamp)>> {
    let start = midnight_at_or_after(period.start, &period.zone)?;
    let end = if latest.is_some_and(|latest| latest <= period.end) {
        midnight_at_or_after(period.end, &period.zone)?
    } else {
        period.end.to_zoned(period.zone.clone()).start_of_day()?.timestamp()
    };
    Ok((start < end).then_some((start, end)))
}

fn midnight_at_or_after(moment: Timestamp, zone: &TimeZone) -> Result<Timestamp> {
    let day = moment.to_zoned(zone.clone()).start_of_day()?;
    if day.timestamp() == moment {
        return Ok(moment);
    }
    let next = day.tomorrow().and_then(|next: Zoned| next.start_of_day());
    Ok(next.context("the end of the calendar")?.timestamp())
}

/// The last moment that anything is known of; unknown if one of the files is.
fn latest(files: &[LakeFile]) -> Option<Timestamp> {
    let mut latest = Timestamp::MIN;
    for file in files {
        let times = &file.facts.as_ref()?.times;
        for column in ["start_time", "end_time", "observed_time"] {
            if let Some(max) = times.get(column)?.max {
                latest = latest.max(Timestamp::from_microsecond(max).ok()?);
            }
        }
    }
    Some(latest)
}
