//! How much of a question's time was observed.

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::datasource::MemTable;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lake::{Tracker, Trackers};
use report::{ClusterCoverage, ImportedDays};

use crate::Question;
use crate::lake_table::days_since_epoch;

/// What a report is about: an imported history of GPUs says nothing of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    Jobs,
    Gpus,
}

/// Each cluster's part of the question's time.
pub(crate) fn clusters(
    trackers: &Trackers,
    question: &Question,
    history: History,
) -> Result<Vec<ClusterCoverage>> {
    let days = days(question, &TimeZone::UTC)?;
    let mut clusters = Vec::new();
    for (cluster, tracker) in chosen(trackers, question) {
        let mut days_collected = 0;
        let (mut jobs, mut gpus) = (0, 0);
        for day in &days {
            if asked_about(tracker, day.start, day.end) {
                let is_imported = tracker.days.get(&day.date).is_some_and(|it| it.is_imported);
                *(if is_imported { &mut jobs } else { &mut days_collected }) += 1;
            } else if history == History::Gpus
                && tracker.has_imported_gpus(cluster, day.start, day.end)
            {
                gpus += 1;
            }
        }
        let imported = [(lake::IMPORT, jobs), (lake::GPU_IMPORT, gpus)];
        let imported = imported.into_iter().filter(|(_, days)| *days > 0);
        let collected = tracker.days.values().filter(|facts| !facts.is_imported);
        clusters.push(ClusterCoverage {
            cluster: cluster.clone(),
            days_collected,
            imported: imported
                .map(|(tool, days)| ImportedDays { tool: tool.to_owned(), days })
                .collect(),
            days: days.len() as i64,
            fresh_time: collected.map(|facts| facts.collected_time).max(),
        });
    }
    Ok(clusters)
}

/// The table `day`: the days of the site's calendar that the period touches, each from its start
/// to its end within the period, whether every cluster was asked about it, and whether only a part of it
/// counts.
///
/// A day is partial if the period has only a part of it, or if a cluster was not asked about all of it.
/// A cluster of which no day of the period was collected makes no day partial: all of it is missing from
/// every day.
pub(crate) fn day_table(trackers: &Trackers, question: &Question) -> Result<MemTable> {
    let days = days(question, &question.period.zone)?;
    let is_collected = |day: &Day| {
        let mut chosen = chosen(trackers, question).peekable();
        chosen.peek().is_some()
            && chosen.all(|(_, tracker)| asked_about(tracker, day.start, day.end))
    };
    let collected: Vec<&Tracker> = chosen(trackers, question)
        .map(|(_, tracker)| tracker)
        .filter(|tracker| days.iter().any(|day| known_seconds(tracker, day) > 0))
        .collect();
    let is_partial = |day: &Day| {
        !day.is_whole || collected.iter().any(|tracker| !asked_about(tracker, day.start, day.end))
    };
    let moments = |moment: fn(&Day) -> Timestamp| {
        TimestampMicrosecondArray::from_iter_values(
            days.iter().map(|day| moment(day).as_microsecond()),
        )
        .with_timezone("UTC")
    };
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("date", DataType::Date32, false),
        Field::new("start_time", moment.clone(), false),
        Field::new("end_time", moment, false),
        Field::new("is_collected", DataType::Boolean, false),
        Field::new("is_partial", DataType::Boolean, false),
    ]));
    let batch = RecordBatch::try_new(
        schema.clone(),
        vec![
            Arc::new(Date32Array::from_iter_values(
                days.iter().map(|day| days_since_epoch(day.date)),
            )),
            Arc::new(moments(|day| day.start)),
            Arc::new(moments(|day| day.end)),
            Arc::new(BooleanArray::from_iter(days.iter().map(|day| Some(is_collected(day))))),
            Arc::new(BooleanArray::from_iter(days.iter().map(|day| Some(is_partial(day))))),
        ],
    )?;
    Ok(MemTable::try_new(schema, vec![vec![batch]])?)
}

/// The table `asked`: for how many seconds of the period each cluster's scheduler was asked what
/// ran, which is what usage can be compared with.
pub(crate) fn asked_table(trackers: &Trackers, question: &Question) -> Result<MemTable> {
    let (mut clusters, mut seconds) = (Vec::new(), Vec::new());
    for (cluster, tracker) in chosen(trackers, question) {
        let days = days(question, &TimeZone::UTC)?;
        clusters.push(cluster.as_str());
        seconds.push(days.iter().map(|day| known_seconds(tracker, day)).sum::<i64>());
    }
    let schema = Arc::new(Schema::new(vec![
        Field::new("cluster", DataType::Utf8View, false),
        Field::new("seconds", DataType::Int64, false),
    ]));
    let columns: Vec<ArrayRef> =
        vec![Arc::new(StringViewArray::from(clusters)), Arc::new(Int64Array::from(seconds))];
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    Ok(MemTable::try_new(schema, vec![vec![batch]])?)
}

/// A day's part of the period.
pub(crate) struct Day {
    pub(crate) date: Date,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// Whether the period has all of the day.
    pub(crate) is_whole: bool,
}

/// The days of a zone's calendar that the period touches.
pub(crate) fn days(question: &Question, zone: &TimeZone) -> Result<Vec<Day>> {
    let (start, end) = (question.period.start, question.period.end);
    let mut days = Vec::new();
    let mut day = start.to_zoned(zone.clone()).start_of_day()?;
    while day.timestamp() < end {
        let next = day
            .tomorrow()
            .and_then(|next| next.start_of_day())
            .context("the end of the calendar")?;
        days.push(Day {
            date: day.date(),
            start: day.timestamp().max(start),
            end: next.timestamp().min(end),
            is_whole: day.timestamp() >= start && next.timestamp() <= end,
        });
        day = next;
    }
    Ok(days)
}

/// Whether a scheduler was asked about an interval, after it was over: about each of its UTC days,
/// and about the last not before the interval's end.
pub(crate) fn asked_about(tracker: &Tracker, start: Timestamp, end: Timestamp) -> bool {
    let mut day = start.to_zoned(TimeZone::UTC);
    while day.timestamp() < end {
        let Ok(next) = day.tomorrow().and_then(|next| next.start_of_day()) else { return false };
        let over = next.timestamp().min(end);
        if tracker.days.get(&day.date()).is_none_or(|facts| facts.collected_time < over) {
            return false;
        }
        day = next;
    }
    true
}

/// For how many seconds of a day's part of the period a scheduler was asked what ran.
pub(crate) fn known_seconds(tracker: &Tracker, day: &Day) -> i64 {
    let mut seconds = 0;
    let mut start = day.start.to_zoned(TimeZone::UTC);
    while start.timestamp() < day.end {
        let Ok(next) = start.tomorrow().and_then(|next| next.start_of_day()) else { break };
        if let Some(facts) = tracker.days.get(&start.date()) {
            let until = next.timestamp().min(day.end).min(facts.collected_time);
            seconds += (until.as_second() - start.timestamp().as_second()).max(0);
        }
        start = next;
    }
    seconds
}

/// The trackers of the clusters that the question is about.
fn chosen<'a>(
    trackers: &'a Trackers,
    question: &'a Question,
) -> impl Iterator<Item = (&'a String, &'a Tracker)> {
    trackers
        .iter()
        .filter(|(cluster, _)| question.clusters.is_empty() || question.clusters.contains(cluster))
}
