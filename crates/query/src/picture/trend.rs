//! A report of days as a picture.

use jiff::Timestamp;
use report::{Amounts, Drawing, Kind, Picture, Report, Series, Value};

use crate::allocation::line;
use crate::{Measure, Question};

/// A column of a report that has a row a day, such as `daily`, over time, below what was granted to
/// those that the question is about; nothing where there is no such column.
pub fn trend(report: &Report, question: &Question, column: &str, title: &str) -> Option<Picture> {
    let place_of = |name: &str| report.table.columns.iter().position(|known| known.name == name);
    let (place, partial_place) = (place_of(column)?, place_of("is_partial")?);
    let zone = &report.period.zone;
    let mut edges: Vec<Timestamp> = Vec::new();
    let (mut values, mut partial) = (Vec::new(), Vec::new());
    for row in &report.table.rows {
        let Value::Date(date) = row.first()? else { return None };
        let start = date.to_zoned(zone.clone()).ok()?.timestamp();
        edges.push(start.max(report.period.start));
        values.push(row[place].number());
        partial.push(row[partial_place] == Value::Boolean(true));
    }
    edges.push(report.period.end);
    let about = &report.table.columns[place];
    let measure = match column {
        "cpu_hours" => Some(Measure::Cpu),
        "gpu_hours" => Some(Measure::Gpu),
        _ => None,
    };
    let hours = |seconds: f64| seconds / 3600.0;
    let granted = measure.and_then(|measure| line(question, measure, &edges, hours));
    let granted =
        granted.map(|line| Amounts::of_sums(&line.name, line.kind, line.values, &partial));
    let heading = about.heading.clone();
    let stacked = vec![Amounts::of_sums(&heading, Kind::Ranked(0), values, &partial)];
    Some(Picture {
        name: format!("{}-{column}", report.name),
        title: title.to_owned(),
        subtitle: "A column is a day; the mean is over whole days that were collected".to_owned(),
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        drawing: Drawing::Series(Series {
            edges,
            partial,
            unit: about.unit,
            stacked,
            heading,
            lines: granted.into_iter().collect(),
        }),
        notes: report.notes.clone(),
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;
    use report::{Column, Coverage, Period, Table, Unit};

    use super::*;

    #[test]
    fn days_follow_each_other_and_the_mean_leaves_out_gaps_and_partial_days() {
        let column = |name: &str, unit| Column { name: name.into(), heading: name.into(), unit };
        let row = |day: i8, hours: Value, is_partial: bool| {
            vec![Value::Date(date(2026, 1, day)), hours, Value::Boolean(is_partial)]
        };
        let report = Report {
            name: "daily".into(),
            title: String::new(),
            period: Period {
                start: "2026-01-01T12:00:00Z".parse().unwrap(),
                end: "2026-01-05T06:00:00Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            coverage: Coverage::default(),
            table: Table {
                columns: vec![
                    column("date", Unit::Date),
                    column("hours", Unit::Hours),
                    column("is_partial", Unit::Label),
                ],
                rows: vec![
                    row(1, Value::Number(4.0), true),
                    row(2, Value::Unknown, false),
                    row(3, Value::Number(9.0), false),
                    row(4, Value::Number(11.0), false),
                    row(5, Value::Number(2.0), true),
                ],
            },
            charts: Vec::new(),
            notes: Vec::new(),
        };
        let question = Question::about(report.period.clone());
        let picture = trend(&report, &question, "hours", "");
        let Some(Picture { drawing: Drawing::Series(series), .. }) = picture else {
            panic!("no series")
        };
        let edges: Vec<String> = series.edges.iter().map(ToString::to_string).collect();
        // The first day begins with the period, the last ends with it.
        assert_eq!(
            edges,
            [
                "2026-01-01T12:00:00Z",
                "2026-01-02T00:00:00Z",
                "2026-01-03T00:00:00Z",
                "2026-01-04T00:00:00Z",
                "2026-01-05T00:00:00Z",
                "2026-01-05T06:00:00Z"
            ]
        );
        let hours = &series.stacked[0];
        assert_eq!(hours.values, [Some(4.0), None, Some(9.0), Some(11.0), Some(2.0)]);
        assert_eq!(series.partial, [true, false, false, false, true]);
        // Of two whole days: 9 h and 11 h. Four hours of half a day are no day's.
        assert_eq!(hours.mean, Some(10.0));
        assert!(trend(&report, &question, "none", "").is_none());
    }
}
