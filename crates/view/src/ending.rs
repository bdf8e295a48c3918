//! What every format for people ends with: the period, how much of it was observed, what is
//! missing from the numbers, and what a reader must know to read them right.

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
        format!("As of {}, {}", period.moment(period.start), visible(&zone))
    } else {
        format!("Period: {}, {}, end not included", span(period), visible(&zone))
    })];
    lines.extend(observed.ends_at_newest.map(|newest| Line::Plain(newest.line(period))));
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
        return format!("Nothing to show at {}.", period.moment(period.start));
    }
    format!("Nothing to show from {}.", span(period))
}

fn span(period: &Period) -> String {
    format!("{} to {}", period.moment(period.start), period.moment(period.end))
}

fn coverage(cluster: &ClusterCoverage, period: &Period) -> String {
    let days = if cluster.days == 1 { "day" } else { "days" };
    let of_days = |known: i64| format!("{known} of {} {days}", cluster.days);
    let imported = cluster.imported.iter();
    let mut parts: Vec<String> = match cluster.days_collected {
        0 if !cluster.imported.is_empty() => imported
            .map(|it| format!("{} imported from {}", of_days(it.days), visible(&it.tool)))
            .collect(),
        collected => {
            let imported =
                imported.map(|it| format!("{} imported from {}", it.days, visible(&it.tool)));
            [format!("{} collected", of_days(collected))].into_iter().chain(imported).collect()
        }
    };
    match cluster.fresh_time {
        Some(time) => parts.push(format!("last asked {}", period.moment(time))),
        None if cluster.imported.is_empty() => parts.push("never asked".to_owned()),
        None => {}
    }
    format!("{}: {}", visible(&cluster.cluster), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use report::ImportedDays;

    use super::*;

    fn check(days_collected: i64, imported: &[(&str, i64)], fresh: bool, expected: &str) {
        let time = "2026-03-08T00:00:00Z".parse().unwrap();
        let cluster = ClusterCoverage {
            cluster: "holdout".to_owned(),
            days_collected,
            imported: imported
                .iter()
                .map(|(tool, days)| ImportedDays { tool: (*tool).to_owned(), days: *days })
                .collect(),
            days: 31,
            fresh_time: fresh.then_some(time),
        };
        let period = Period { start: time, end: time, zone: TimeZone::UTC };
        assert_eq!(coverage(&cluster, &period), expected);
    }

    #[test]
    fn imported_days_are_named_by_their_tool() {
        check(0, &[], false, "holdout: 0 of 31 days collected, never asked");
        check(0, &[("gpureports", 31)], false, "holdout: 31 of 31 days imported from gpureports");
        check(
            5,
            &[("gpureports", 26)],
            true,
            "holdout: 5 of 31 days collected, 26 imported from gpureports, last asked \
             2026-03-08 00:00 UTC",
        );
    }
}
