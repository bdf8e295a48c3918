//! Allocations as tables that statements read.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::datasource::MemTable;
use jiff::Timestamp;
use lake::Trackers;

use super::Allocation;
use crate::Question;
use crate::coverage::{self, Day};
use crate::lake_table::days_since_epoch;

/// The tables by name:
///
/// - `allocation`: an allocation a row;
/// - `allocation_cluster`: the clusters that each holds in;
/// - `allocation_day`: its days within the period, and how many days ago they were: 1 is the last that is
///   over. A day is collected if every one of its clusters was asked about it, uncollected if it is over
///   and that was not done, and partial if only a part of it counts. The last day that is over is not
///   uncollected while a part of it is known: its end comes with the next collection. `known_seconds` is
///   for how long every cluster was asked about.
pub(crate) fn tables(
    trackers: &Trackers,
    question: &Question,
) -> Result<[(&'static str, MemTable); 3]> {
    let zone = &question.period.zone;
    let timed: Vec<Timed> = question
        .allocations_seen()
        .filter_map(|allocation| {
            let (start, end) = allocation.time(zone)?;
            Some(Timed { allocation, start, end })
        })
        .collect();
    Ok([
        ("allocation", allocation_table(&timed)?),
        ("allocation_cluster", cluster_table(trackers, &timed)?),
        ("allocation_day", day_table(trackers, question, &timed)?),
    ])
}

/// An allocation with its first moment, and the first after it.
struct Timed<'a> {
    allocation: &'a Allocation,
    start: Timestamp,
    end: Timestamp,
}

fn allocation_table(timed: &[Timed]) -> Result<MemTable> {
    let all = || timed.iter().map(|timed| timed.allocation);
    let texts = |text: fn(&Allocation) -> &str| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(all().map(text)))
    };
    let numbers = |number: fn(&Allocation) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(all().map(number)))
    };
    let dates = |date: fn(&Allocation) -> jiff::civil::Date| -> ArrayRef {
        let days = all().map(|allocation| days_since_epoch(date(allocation)));
        Arc::new(Date32Array::from_iter_values(days))
    };
    table(vec![
        ("allocation", texts(|allocation| &allocation.name)),
        ("measure", texts(|allocation| allocation.unit.measure.word())),
        ("unit", texts(|allocation| allocation.unit.name())),
        ("unit_seconds", numbers(|allocation| allocation.unit.seconds())),
        ("granted", numbers(|allocation| allocation.amount)),
        ("from_date", dates(|allocation| allocation.from)),
        ("to_date", dates(|allocation| allocation.to)),
        ("start_time", moments(timed.iter().map(|timed| timed.start))),
        ("end_time", moments(timed.iter().map(|timed| timed.end))),
    ])
}

fn cluster_table(trackers: &Trackers, timed: &[Timed]) -> Result<MemTable> {
    let pairs: Vec<(&str, &str)> = timed
        .iter()
        .flat_map(|timed| {
            let clusters = clusters(trackers, timed.allocation).into_iter();
            clusters.map(|cluster| (timed.allocation.name.as_str(), cluster))
        })
        .collect();
    table(vec![
        (
            "allocation",
            Arc::new(StringViewArray::from_iter_values(pairs.iter().map(|pair| pair.0))),
        ),
        ("cluster", Arc::new(StringViewArray::from_iter_values(pairs.iter().map(|pair| pair.1)))),
    ])
}

fn day_table(trackers: &Trackers, question: &Question, timed: &[Timed]) -> Result<MemTable> {
    let days = coverage::days(question, &question.period.zone)?;
    let known_end = question.known_end();
    let known: Vec<&Day> = days.iter().filter(|day| day.start < known_end).collect();
    let last = known_end.to_zoned(question.period.zone.clone());
    // A day that is not over yet is none ago.
    let unfinished = usize::from(last.start_of_day()?.timestamp() != known_end);
    let (mut names, mut dates, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut collected, mut days_ago) = (Vec::new(), Vec::new());
    let (mut uncollected, mut partial, mut known_seconds) = (Vec::new(), Vec::new(), Vec::new());
    for Timed { allocation, start, end } in timed {
        let clusters = clusters(trackers, allocation);
        for (place, day) in known.iter().enumerate() {
            if day.start < *start || day.start >= *end {
                continue;
            }
            let is_collected = !clusters.is_empty()
                && clusters.iter().all(|cluster| {
                    trackers
                        .get(*cluster)
                        .is_some_and(|tracker| coverage::asked_about(tracker, day.start, day.end))
                });
            let is_over = day.end <= known_end;
            let part = Day { end: day.end.min(known_end), is_whole: day.is_whole, ..**day };
            let seconds = |cluster: &&str| {
                trackers.get(*cluster).map_or(0, |tracker| coverage::known_seconds(tracker, &part))
            };
            let seconds = clusters.iter().map(seconds).min().unwrap_or(0);
            let ago = (known.len() - place - unfinished) as i64;
            let is_awaited = ago == 0 || (ago == 1 && seconds > 0);
            uncollected.push(Some(!is_collected && !is_awaited));
            partial.push(Some(!day.is_whole || !is_over || !is_collected));
            known_seconds.push(seconds);
            names.push(allocation.name.as_str());
            dates.push(days_since_epoch(day.date));
            starts.push(day.start);
            collected.push(Some(is_collected));
            days_ago.push(ago);
        }
    }
    table(vec![
        ("allocation", Arc::new(StringViewArray::from_iter_values(names))),
        ("date", Arc::new(Date32Array::from_iter_values(dates))),
        ("start_time", moments(starts.into_iter())),
        ("is_collected", Arc::new(BooleanArray::from_iter(collected))),
        ("is_uncollected", Arc::new(BooleanArray::from_iter(uncollected))),
        ("is_partial", Arc::new(BooleanArray::from_iter(partial))),
        ("known_seconds", Arc::new(Int64Array::from_iter_values(known_seconds))),
        ("days_ago", Arc::new(Int64Array::from_iter_values(days_ago))),
    ])
}

/// The clusters that an allocation holds in, whether anything is known of them or not.
fn clusters<'a>(trackers: &'a Trackers, allocation: &'a Allocation) -> Vec<&'a str> {
    match &allocation.clusters[..] {
        [] => trackers.keys().map(String::as_str).collect(),
        named => named.iter().map(String::as_str).collect(),
    }
}

fn moments(moments: impl Iterator<Item = Timestamp>) -> ArrayRef {
    let microseconds = moments.map(|moment| moment.as_microsecond());
    Arc::new(TimestampMicrosecondArray::from_iter_values(microseconds).with_timezone("UTC"))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<MemTable> {
    let batch = RecordBatch::try_from_iter(columns)?;
    Ok(MemTable::try_new(batch.schema(), vec![vec![batch]])?)
}
