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
use report::ClusterCoverage;

use crate::Question;
use crate::lake_table::days_since_epoch;

/// Each cluster's part of the question's time.
pub(crate) fn clusters(trackers: &Trackers, question: &Question) -> Result<Vec<ClusterCoverage>> {
    let days = days(question, &TimeZone::UTC)?;
    let mut clusters = Vec::new();
    for (cluster, tracker) in chosen(trackers, question) {
        clusters.push(ClusterCoverage {
            cluster: cluster.clone(),
            days_collected: days
                .iter()
                .filter(|day| asked_about(tracker, day.start, day.end))
                .count() as i64,
            days: days.len() as i64,
            fresh_time: tracker.days.values().map(|facts| facts.collected_time).max(),
        });
    }
    Ok(clusters)
}

/// The table `day`: the days of the site's calendar that the period touches, each from its start
/// to its end within the period, and whether every cluster was asked about it.
pub(crate) fn day_table(trackers: &Trackers, question: &Question) -> Result<MemTable> {
    let days = days(question, &question.period.zone)?;
    let is_collected = |day: &Day| {
        let mut chosen = chosen(trackers, question).peekable();
        chosen.peek().is_some()
            && chosen.all(|(_, tracker)| asked_about(tracker, day.start, day.end))
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
        let asked = days.iter().filter_map(|day| {
            let until = day.end.min(tracker.days.get(&day.date)?.collected_time);
            Some((until.as_second() - day.start.as_second()).max(0))
        });
        clusters.push(cluster.as_str());
        seconds.push(asked.sum::<i64>());
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

/// The trackers of the clusters that the question is about.
fn chosen<'a>(
    trackers: &'a Trackers,
    question: &'a Question,
) -> impl Iterator<Item = (&'a String, &'a Tracker)> {
    trackers
        .iter()
        .filter(|(cluster, _)| question.clusters.is_empty() || question.clusters.contains(cluster))
}
