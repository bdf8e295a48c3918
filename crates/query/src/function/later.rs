//! `later(time, days)`: the day of the site's calendar that is so many days after a moment; unknown
//! for a time that is over, and for what is more than a hundred years ahead.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Date32Array};
use datafusion::arrow::datatypes::{DataType, Float64Type, TimeUnit, TimestampMicrosecondType};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::lake_table::days_since_epoch;

const MOST_DAYS: f64 = 36_525.0;

pub(super) fn function(zone: &TimeZone) -> ScalarUDF {
    let zone = zone.clone();
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    create_udf(
        "later",
        vec![moment, DataType::Float64],
        DataType::Date32,
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [times, days] = &arrays[..] else {
                unreachable!("the signature has two arguments")
            };
            let times = times.as_primitive::<TimestampMicrosecondType>().iter();
            let pairs = times.zip(days.as_primitive::<Float64Type>());
            let dates = pairs.map(|(time, days)| later(time?, days?, &zone));
            Ok(ColumnarValue::Array(Arc::new(dates.collect::<Date32Array>())))
        }),
    )
}

fn later(time: i64, days: f64, zone: &TimeZone) -> Option<i32> {
    if !(0.0..=MOST_DAYS).contains(&days) {
        return None;
    }
    let seconds = SignedDuration::try_from_secs_f64(days * 86_400.0).ok()?;
    let moment = Timestamp::from_microsecond(time).ok()?.checked_add(seconds).ok()?;
    Some(days_since_epoch(moment.to_zoned(zone.clone()).date()))
}
