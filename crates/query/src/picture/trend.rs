//! A report of days as a picture.

use jiff::Timestamp;
use report::{Amounts, Drawing, Kind, Picture, Report, Series, Value};

use crate::allocation::line;
use crate::{Measure, Question};

/// A column of a report that has a row a day, such as `daily`, over time, below what was granted to
/// those that the question is about; nothing where there is no such column.
pub fn trend(report: &Report, question: &Question, column: &str, title: &str) -> Option<Picture> {
    let place = report.table.columns.iter().position(|known| known.name == column)?;
    let zone = &report.period.zone;
    let mut edges: Vec<Timestamp> = Vec::new();
    let mut values = Vec::new();
    for row in &report.table.rows {
        let Value::Date(date) = row.first()? else { return None };
        let start = date.to_zoned(zone.clone()).ok()?.timestamp();
        edges.push(start.max(report.period.start));
        values.push(match &row[place] {
            Value::Number(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        });
    }
    edges.push(report.period.end);
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let about = &report.table.columns[place];
    let measure = match column {
        "cpu_hours" => Some(Measure::Cpu),
        "gpu_hours" => Some(Measure::Gpu),
        _ => None,
    };
    let hours = |seconds: f64| seconds / 3600.0;
    let granted = measure.and_then(|measure| line(question, measure, &edges, hours));
    let heading = about.heading.clone();
    Some(Picture {
        name: format!("{}-{column}", report.name),
        title: title.to_owned(),
        subtitle: "A column is a day; the mean is over the days that were collected".to_owned(),
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        drawing: Drawing::Series(Series {
            edges,
            unit: about.unit,
            stacked: vec![Amounts { name: heading.clone(), kind: Kind::Ranked(0), values, mean }],
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
    fn days_follow_each_other_and_one_that_was_not_collected_is_a_gap() {
        let column = |name: &str, unit| Column { name: name.into(), heading: name.into(), unit };
        let report = Report {
            name: "daily".into(),
            title: String::new(),
            period: Period {
                start: "2026-01-01T12:00:00Z".parse().unwrap(),
                end: "2026-01-03T06:00:00Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            coverage: Coverage::default(),
            table: Table {
                columns: vec![column("date", Unit::Date), column("hours", Unit::Hours)],
                rows: vec![
                    vec![Value::Date(date(2026, 1, 1)), Value::Number(4.0)],
                    vec![Value::Date(date(2026, 1, 2)), Value::Unknown],
                    vec![Value::Date(date(2026, 1, 3)), Value::Number(2.0)],
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
                "2026-01-03T06:00:00Z"
            ]
        );
        assert_eq!(series.stacked[0].values, [Some(4.0), None, Some(2.0)]);
        assert_eq!(series.stacked[0].mean, Some(3.0));
        assert!(trend(&report, &question, "none", "").is_none());
    }
}
