//! `exact(number)`: a number to the millionth, as a decimal.
//!
//! Decimals add up to the same sum in any order. Floating-point numbers do not, and the order in
//! which threads finish would show in the last digits of a report.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use record::millionths;

const PRECISION: u8 = 38;
const SCALE: i8 = 6;

pub(super) fn function() -> ScalarUDF {
    create_udf(
        "exact",
        vec![DataType::Float64],
        DataType::Decimal128(PRECISION, SCALE),
        Volatility::Immutable,
        Arc::new(exact),
    )
}

fn exact(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [numbers] = &arrays[..] else { unreachable!("the signature has one argument") };
    let decimals = numbers
        .as_primitive::<Float64Type>()
        .unary::<_, Decimal128Type>(millionths)
        .with_precision_and_scale(PRECISION, SCALE)?;
    Ok(ColumnarValue::Array(Arc::new(decimals)))
}
