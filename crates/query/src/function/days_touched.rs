//! `days_touched(from_time, to_time)`: the days of the site's calendar on which an interval lies.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Date32Builder, ListBuilder};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::lake_table::days_since_epoch;

pub(super) fn function(zone: &TimeZone) -> ScalarUDF {
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let zone = zone.clone();
    create_udf(
        "days_touched",
        vec![moment.clone(), moment],
        DataType::List(Arc::new(Field::new_list_field(DataType::Date32, true))),
        Volatility::Immutable,
        Arc::new(move |arguments| days_touched(arguments, &zone)),
    )
}

fn days_touched(arguments: &[ColumnarValue], zone: &TimeZone) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [from, to] = &arrays[..] else { unreachable!("the signature has two arguments") };
    let from = from.as_primitive::<TimestampMicrosecondType>();
    let to = to.as_primitive::<TimestampMicrosecondType>();
    let mut calendar = Calendar { zone, day: None };
    let mut days = ListBuilder::new(Date32Builder::new());
    for row in 0..from.len() {
        if from.is_null(row) || to.is_null(row) {
            days.append_null();
            continue;
        }
        let (start, end) = (from.value(row), to.value(row));
        let mut day = calendar.day_of(start)?;
        days.values().append_value(days_since_epoch(day.date));
        while day.end < end {
            day = calendar.day_of(day.end)?;
            days.values().append_value(days_since_epoch(day.date));
        }
        days.append(true);
    }
    Ok(ColumnarValue::Array(Arc::new(days.finish())))
}

/// The days of a zone; the last one asked for is remembered, for jobs of a day come together.
struct Calendar<'a> {
    zone: &'a TimeZone,
    day: Option<Day>,
}

#[derive(Clone, Copy)]
struct Day {
    date: Date,
    /// In microseconds since the epoch.
    start: i64,
    end: i64,
}

impl Calendar<'_> {
    fn day_of(&mut self, moment: i64) -> Result<Day> {
        if let Some(day) = self.day.filter(|day| day.start <= moment && moment < day.end) {
            return Ok(day);
        }
        let day =
            self.compute(moment).map_err(|error| DataFusionError::External(Box::new(error)))?;
        self.day = Some(day);
        Ok(day)
    }

    fn compute(&self, moment: i64) -> std::result::Result<Day, jiff::Error> {
        let zoned = Timestamp::from_microsecond(moment)?.to_zoned(self.zone.clone());
        let start = zoned.start_of_day()?;
        let end = start.tomorrow()?.start_of_day()?;
        Ok(Day {
            date: zoned.date(),
            start: start.timestamp().as_microsecond(),
            end: end.timestamp().as_microsecond(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::ScalarValue;

    fn check(zone: &str, from: &str, to: &str, expected: &[&str]) {
        let moment = |text: &str| {
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(
                Some(text.parse::<Timestamp>().unwrap().as_microsecond()),
                Some("UTC".into()),
            ))
        };
        let zone = TimeZone::get(zone).unwrap();
        let ColumnarValue::Array(lists) = days_touched(&[moment(from), moment(to)], &zone).unwrap()
        else {
            unreachable!("days_touched gives arrays")
        };
        let days = lists.as_list::<i32>().value(0);
        let expected: Vec<i32> =
            expected.iter().map(|date| days_since_epoch(date.parse().unwrap())).collect();
        assert_eq!(
            days.as_primitive::<datafusion::arrow::datatypes::Date32Type>().values(),
            &expected[..]
        );
    }

    #[test]
    fn an_interval_that_ends_at_midnight_does_not_touch_the_next_day() {
        check("UTC", "2026-01-01T22:00:00Z", "2026-01-02T00:00:00Z", &["2026-01-01"]);
        check("UTC", "2026-01-01T22:00:00Z", "2026-01-02T00:00:01Z", &["2026-01-01", "2026-01-02"]);
    }

    #[test]
    fn an_instant_touches_its_day() {
        check("UTC", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", &["2026-01-02"]);
    }

    /// In Chicago, clocks go back on 1 November 2026: that day lasts from 05:00 to 06:00 UTC of
    /// the next, 25 hours.
    #[test]
    fn days_are_those_of_the_zone_also_when_clocks_change() {
        check(
            "America/Chicago",
            "2026-11-01T04:59:59Z",
            "2026-11-02T06:00:00Z",
            &["2026-10-31", "2026-11-01"],
        );
    }
}
