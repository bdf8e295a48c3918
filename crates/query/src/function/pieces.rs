//! `pieces_by_hour(from_time, to_time)` and `pieces_by_day(from_time, to_time)`: an interval's
//! parts on each hour or day of the site's calendar: its `start_time` and `date`, of an hour also
//! the `hour` of the day, and how many `microseconds` of the interval lie in it.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, AsArray, Date32Builder, Int64Builder, ListBuilder, StructBuilder,
    TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::lake_table::days_since_epoch;

pub(super) fn functions(zone: &TimeZone) -> [ScalarUDF; 2] {
    [("pieces_by_hour", Step::Hour), ("pieces_by_day", Step::Day)].map(|(name, step)| {
        let zone = zone.clone();
        create_udf(
            name,
            vec![moment(), moment()],
            DataType::List(Arc::new(item())),
            Volatility::Immutable,
            Arc::new(move |arguments| pieces(arguments, &zone, step)),
        )
    })
}

#[derive(Clone, Copy)]
enum Step {
    Hour,
    Day,
}

/// One hour or day of the calendar; moments in microseconds since the epoch.
#[derive(Clone, Copy)]
struct Part {
    start: i64,
    end: i64,
    date: i32,
    hour: i64,
}

fn moment() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("start_time", moment(), true),
        Field::new("date", DataType::Date32, true),
        Field::new("hour", DataType::Int64, true),
        Field::new("microseconds", DataType::Int64, true),
    ])
}

fn item() -> Field {
    Field::new_list_field(DataType::Struct(fields()), true)
}

fn pieces(arguments: &[ColumnarValue], zone: &TimeZone, step: Step) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [from, to] = &arrays[..] else { unreachable!("the signature has two arguments") };
    let from = from.as_primitive::<TimestampMicrosecondType>();
    let to = to.as_primitive::<TimestampMicrosecondType>();
    let builder = StructBuilder::new(
        fields(),
        vec![
            Box::new(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Box::new(Date32Builder::new()),
            Box::new(Int64Builder::new()),
            Box::new(Int64Builder::new()),
        ],
    );
    let mut pieces = ListBuilder::new(builder).with_field(item());
    // Spans of a GPU follow one another, so the part is often the one of the row before.
    let mut known: Option<Part> = None;
    for row in 0..from.len() {
        if from.is_null(row) || to.is_null(row) {
            pieces.append_null();
            continue;
        }
        let (mut start, end) = (from.value(row), to.value(row));
        while start < end {
            let part = match known.filter(|part| part.start <= start && start < part.end) {
                Some(part) => part,
                None => part(start, zone, step)
                    .map_err(|error| DataFusionError::External(Box::new(error)))?,
            };
            known = Some(part);
            let until = end.min(part.end);
            let builder = pieces.values();
            let known_kind = "the builders are made in the order of the fields";
            builder
                .field_builder::<TimestampMicrosecondBuilder>(0)
                .expect(known_kind)
                .append_value(part.start);
            builder.field_builder::<Date32Builder>(1).expect(known_kind).append_value(part.date);
            builder.field_builder::<Int64Builder>(2).expect(known_kind).append_value(part.hour);
            builder.field_builder::<Int64Builder>(3).expect(known_kind).append_value(until - start);
            builder.append(true);
            start = until;
        }
        pieces.append(true);
    }
    Ok(ColumnarValue::Array(Arc::new(pieces.finish())))
}

/// The hour or day that a moment lies in. An hour that clocks go back in the middle of is two.
fn part(moment: i64, zone: &TimeZone, step: Step) -> std::result::Result<Part, jiff::Error> {
    let zoned = Timestamp::from_microsecond(moment)?.to_zoned(zone.clone());
    let day_start = zoned.start_of_day()?;
    let day_end = day_start.tomorrow()?.start_of_day()?.timestamp().as_microsecond();
    let (start, end) = match step {
        Step::Day => (day_start.timestamp().as_microsecond(), day_end),
        Step::Hour => {
            let into = i64::from(zoned.minute()) * 60 + i64::from(zoned.second());
            let into = into * 1_000_000 + i64::from(zoned.subsec_nanosecond()) / 1000;
            let hour = SignedDuration::from_hours(1).as_micros() as i64;
            let start = moment - into;
            (start, (start + hour).min(day_end))
        }
    };
    Ok(Part { start, end, date: days_since_epoch(zoned.date()), hour: zoned.hour().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part's start, hour and seconds.
    fn check(zone: &str, step: Step, from: &str, to: &str, parts: &[&str]) {
        let zone = TimeZone::get(zone).unwrap();
        let (mut start, end) = (
            from.parse::<Timestamp>().unwrap().as_microsecond(),
            to.parse::<Timestamp>().unwrap().as_microsecond(),
        );
        let mut found = Vec::new();
        while start < end {
            let part = part(start, &zone, step).unwrap();
            let until = end.min(part.end);
            let begin = Timestamp::from_microsecond(part.start).unwrap();
            found.push(format!("{begin} {} {}", part.hour, (until - start) / 1_000_000));
            start = until;
        }
        assert_eq!(found, parts);
    }

    #[test]
    fn an_interval_is_cut_at_the_hours() {
        check(
            "UTC",
            Step::Hour,
            "2026-01-01T00:59:30Z",
            "2026-01-01T02:00:00Z",
            &["2026-01-01T00:00:00Z 0 30", "2026-01-01T01:00:00Z 1 3600"],
        );
        // An hour of India begins in the middle of one of Greenwich.
        check(
            "Asia/Kolkata",
            Step::Hour,
            "2026-01-01T00:00:00Z",
            "2026-01-01T01:00:00Z",
            &["2025-12-31T23:30:00Z 5 1800", "2026-01-01T00:30:00Z 6 1800"],
        );
    }

    /// In Chicago the first hour after one is there twice on 1 November 2026, and the day has 25.
    #[test]
    fn clocks_that_go_back_repeat_an_hour() {
        check(
            "America/Chicago",
            Step::Hour,
            "2026-11-01T06:00:00Z",
            "2026-11-01T08:30:00Z",
            &[
                "2026-11-01T06:00:00Z 1 3600",
                "2026-11-01T07:00:00Z 1 3600",
                "2026-11-01T08:00:00Z 2 1800",
            ],
        );
        check(
            "America/Chicago",
            Step::Day,
            "2026-11-01T05:00:00Z",
            "2026-11-02T07:00:00Z",
            &["2026-11-01T05:00:00Z 0 90000", "2026-11-02T06:00:00Z 0 3600"],
        );
    }
}
