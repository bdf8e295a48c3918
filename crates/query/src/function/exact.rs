//! `exact(number)`, a number to the millionth, and `in_kib(mebibytes)`, how many kibibytes they are, as decimals.
//!
//! Decimals add up to the same sum in any order. Floating-point numbers do not, and the order in
//! which threads finish would show in the last digits of a report. Memory times time is added up in
//! KiB, as in the sums of days: what a float has of a day's sum in millionths is not all of it.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use record::{in_kib, millionths};

const PRECISION: u8 = 38;

pub(super) fn functions() -> [ScalarUDF; 2] {
    [function("exact", 6, millionths), function("in_kib", 0, in_kib)]
}

fn function(name: &str, scale: i8, whole: fn(f64) -> i128) -> ScalarUDF {
    create_udf(
        name,
        vec![DataType::Float64],
        DataType::Decimal128(PRECISION, scale),
        Volatility::Immutable,
        Arc::new(move |arguments: &[ColumnarValue]| decimals(arguments, scale, whole)),
    )
}

fn decimals(
    arguments: &[ColumnarValue],
    scale: i8,
    whole: fn(f64) -> i128,
) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [numbers] = &arrays[..] else { unreachable!("the signature has one argument") };
    let decimals = numbers
        .as_primitive::<Float64Type>()
        .unary::<_, Decimal128Type>(whole)
        .with_precision_and_scale(PRECISION, scale)?;
    Ok(ColumnarValue::Array(Arc::new(decimals)))
}
