//! What every format for people ends with: the period, how much of it was observed, what is
//! missing from the numbers, and what a reader must know to read them right.

use jiff::Timestamp;
use report::{ClusterCoverage, Coverage, Document, Period, Picture, Report};

use crate::visible::visible;

/// One line of the ending.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Plain(String),
    Warning(String),
    Note(String),
}

/// The ending of a report, free of control characters.
pub(crate) fn ending(report: &Report) -> Vec<Line> {
    lines(&report.period, &report.coverage, &report.notes)
}

/// The ending of a picture.
pub(crate) fn ending_of_picture(picture: &Picture) -> Vec<Line> {
    lines(&picture.period, &picture.coverage, &picture.notes)
}

/// The ending of a document, which has notes in its sections.
pub(crate) fn ending_of_document(document: &Document) -> Vec<Line> {
    lines(&document.period, &document.coverage, &[])
}

fn lines(period: &Period, observed: &Coverage, notes: &[String]) -> Vec<Line> {
    let zone = period.zone_name();
    let mut lines = vec![Line::Plain(if period.is_moment() {
        format!("As of {}, {}", moment(period.start, period), visible(&zone))
    } else {
        format!("Period: {}, {}, end not included", span(period), visible(&zone))
    })];
    // What is seen now was not collected.
    if observed.clusters.is_empty() && !period.is_moment() {
        lines.push(Line::Warning("nothing was collected from any cluster".to_owned()));
    }
    for cluster in &observed.clusters {
        lines.push(Line::Plain(coverage(cluster, period)));
    }
    for file in &observed.skipped {
        lines.push(Line::Warning(format!(
            "{} is missing from this answer: {}",
            visible(&file.path),
            visible(&file.reason)
        )));
    }
    lines.extend(notes.iter().map(|note| Line::Note(visible(note).into_owned())));
    lines
}

/// What stands in place of an empty table.
pub(crate) fn nothing(report: &Report) -> String {
    let period = &report.period;
    if period.is_moment() {
        return format!("Nothing to show at {}.", moment(period.start, period));
    }
    format!("Nothing to show from {}.", span(period))
}

fn span(period: &Period) -> String {
    format!("{} to {}", moment(period.start, period), moment(period.end, period))
}

fn coverage(cluster: &ClusterCoverage, period: &Period) -> String {
    let days = if cluster.days == 1 { "day" } else { "days" };
    let asked = match cluster.fresh_time {
        Some(time) => format!("last asked {}", moment(time, period)),
        None => "never asked".to_owned(),
    };
    format!(
        "{}: {} of {} {days} collected, {asked}",
        visible(&cluster.cluster),
        cluster.days_collected,
        cluster.days
    )
}

/// A moment in the site's zone. Seconds stand only where there are some: a period made by hand
/// has none.
fn moment(time: Timestamp, period: &Period) -> String {
    let zoned = time.to_zoned(period.zone.clone());
    let format = if zoned.second() == 0 { "%Y-%m-%d %H:%M %Z" } else { "%Y-%m-%d %H:%M:%S %Z" };
    zoned.strftime(format).to_string()
}
