//! `seconds_between(from_time, to_time)`: how long an interval is.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Float64Array};
use datafusion::arrow::compute::binary;
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

pub(super) fn function() -> ScalarUDF {
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    create_udf(
        "seconds_between",
        vec![moment.clone(), moment],
        DataType::Float64,
        Volatility::Immutable,
        Arc::new(seconds_between),
    )
}

fn seconds_between(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [from, to] = &arrays[..] else { unreachable!("the signature has two arguments") };
    let seconds: Float64Array = binary(
        from.as_primitive::<TimestampMicrosecondType>(),
        to.as_primitive::<TimestampMicrosecondType>(),
        |from, to| to.saturating_sub(from) as f64 / 1e6,
    )?;
    Ok(ColumnarValue::Array(Arc::new(seconds)))
}
