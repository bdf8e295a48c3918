//! `hour_of_week(time)`: the hour of the week in which a moment lies on the site's calendar: its
//! number (`hour`), 0 from Monday's midnight on, and its `name`, such as `Mon 13`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Int64Builder, StringViewBuilder, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit, TimestampMicrosecondType};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(super) fn function(zone: &TimeZone) -> ScalarUDF {
    let zone = zone.clone();
    create_udf(
        "hour_of_week",
        vec![DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))],
        DataType::Struct(fields()),
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let times = arrays[0].as_primitive::<TimestampMicrosecondType>();
            let mut hours = Int64Builder::with_capacity(times.len());
            let mut names = StringViewBuilder::with_capacity(times.len());
            for time in times.iter() {
                let hour = time
                    .and_then(|time| Timestamp::from_microsecond(time).ok())
                    .map(|time| hour_of_week(time, &zone));
                hours.append_option(hour);
                names.append_option(hour.map(name));
            }
            let columns: Vec<Arc<dyn Array>> =
                vec![Arc::new(hours.finish()), Arc::new(names.finish())];
            Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields(), columns, None)?)))
        }),
    )
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("hour", DataType::Int64, true),
        Field::new("name", DataType::Utf8View, true),
    ])
}

fn hour_of_week(time: Timestamp, zone: &TimeZone) -> i64 {
    let local = zone.to_datetime(time);
    i64::from(local.weekday().to_monday_zero_offset()) * 24 + i64::from(local.hour())
}

fn name(hour: i64) -> String {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    format!("{} {:02}", DAYS[(hour / 24) as usize % 7], hour % 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-01 is a Sunday on which Chicago's clock goes back at 02:00, which is 07:00 UTC.
    #[test]
    fn an_hour_is_that_of_the_clock_on_the_wall() {
        let zone = TimeZone::get("America/Chicago").unwrap();
        for (time, expected) in [
            ("2026-11-02T05:59:59Z", "Sun 23"),
            ("2026-11-02T06:00:00Z", "Mon 00"),
            ("2026-11-01T06:30:00Z", "Sun 01"),
            ("2026-11-01T07:30:00Z", "Sun 01"),
            ("2026-11-01T08:30:00Z", "Sun 02"),
        ] {
            assert_eq!(name(hour_of_week(time.parse().unwrap(), &zone)), expected, "{time}");
        }
    }
}
