//! `away(state)`: why no job can start on a node in such a state; unknown if one can.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, StringViewArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

pub(super) fn function() -> ScalarUDF {
    create_udf(
        "away",
        vec![DataType::Utf8View],
        DataType::Utf8View,
        Volatility::Immutable,
        Arc::new(away),
    )
}

fn away(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [states] = &arrays[..] else { unreachable!("the signature has one argument") };
    let words = states
        .as_string_view()
        .iter()
        .map(|state| state.and_then(record::away).map(record::Away::name));
    Ok(ColumnarValue::Array(Arc::new(StringViewArray::from_iter(words))))
}
