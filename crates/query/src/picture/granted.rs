//! What was used of allocations as a picture, below the line.

use jiff::Timestamp;
use report::{Amounts, Drawing, Kind, Picture, Report, Series, Value};

/// The days of `allocation-days` of its first allocation, whatever that is in, below the line; nothing
/// if there is none. One that is chosen is the first.
pub fn granted_trend(report: &Report, title: &str) -> Option<Picture> {
    let place = |name: &str| report.table.columns.iter().position(|column| column.name == name);
    let (name, unit) = (place("allocation")?, place("unit")?);
    let (used, line, is_partial) = (place("used")?, place("line")?, place("is_partial")?);
    let first = report.table.rows.first()?;
    let (Value::Text(allocation), Value::Text(unit)) = (&first[name], &first[unit]) else {
        return None;
    };
    let zone = &report.period.zone;
    let (mut edges, mut days, mut lines): (Vec<Timestamp>, _, _) = (vec![], vec![], vec![]);
    let mut partial = Vec::new();
    let mut end = None;
    for row in report.table.rows.iter().take_while(|row| row[name] == first[name]) {
        let Value::Date(date) = row[0] else { return None };
        edges.push(date.to_zoned(zone.clone()).ok()?.timestamp());
        end = date.tomorrow().ok()?.to_zoned(zone.clone()).ok();
        days.push(row[used].number());
        lines.push(row[line].number());
        partial.push(row[is_partial] == Value::Boolean(true));
    }
    edges.push(end?.timestamp());
    let stacked = vec![Amounts::of_sums("used", Kind::Ranked(0), days, &partial)];
    let lines = vec![Amounts::of_sums("granted", Kind::Granted, lines, &partial)];
    Some(Picture {
        name: format!("{}-{allocation}", report.name),
        title: format!("{title}: {allocation}"),
        subtitle: "A column is a day; choose an allocation above to see another".to_owned(),
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        drawing: Drawing::Series(Series {
            edges,
            partial,
            unit: report.table.columns[used].unit,
            stacked,
            heading: format!("{unit}s a day"),
            lines,
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
    fn the_first_allocation_is_drawn_below_its_line() {
        let column =
            |name: &str| Column { name: name.into(), heading: name.into(), unit: Unit::Average };
        let row = |day: i8, name: &str, used: Value, is_partial: bool| {
            let text = |text: &str| Value::Text(text.to_owned());
            vec![
                Value::Date(date(2026, 1, day)),
                text(name),
                text("node-hour"),
                used,
                Value::Number(2.0),
                Value::Boolean(is_partial),
            ]
        };
        let report = Report {
            name: "allocation-days".into(),
            title: String::new(),
            period: Period {
                start: "2026-01-02T00:00:00Z".parse().unwrap(),
                end: "2026-01-03T12:00:00Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            coverage: Coverage::default(),
            table: Table {
                columns: ["date", "allocation", "unit", "used", "line", "is_partial"]
                    .map(column)
                    .into(),
                rows: vec![
                    row(1, "nodes", Value::Number(3.0), false),
                    row(2, "nodes", Value::Unknown, false),
                    row(3, "nodes", Value::Number(1.0), true),
                    row(1, "other", Value::Number(9.0), false),
                ],
            },
            charts: Vec::new(),
            notes: Vec::new(),
        };
        let picture = granted_trend(&report, "Use").unwrap();
        assert_eq!(picture.title, "Use: nodes");
        let Drawing::Series(series) = picture.drawing else { panic!("no series") };
        assert_eq!(series.stacked[0].values, [Some(3.0), None, Some(1.0)]);
        assert_eq!(series.lines[0].values, [Some(2.0); 3]);
        assert_eq!(series.partial, [false, false, true]);
        assert_eq!(series.stacked[0].mean, Some(3.0)); // the day that is not over is no day's use
        assert_eq!(series.edges[2].to_string(), "2026-01-03T00:00:00Z");
        assert_eq!(series.heading, "node-hours a day");
        let nothing = Table { rows: Vec::new(), ..report.table.clone() };
        assert!(granted_trend(&Report { table: nothing, ..report }, "Use").is_none());
    }
}
