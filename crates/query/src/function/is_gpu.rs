//! `is_gpu(filter, gpu_id)`: whether a GPU is asked for, by its id, the beginning of it or a pattern.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

use crate::gpu_id::GpuFilter;

pub(super) fn function() -> ScalarUDF {
    create_udf(
        "is_gpu",
        vec![DataType::Utf8View, DataType::Utf8View],
        DataType::Boolean,
        Volatility::Immutable,
        Arc::new(is_gpu),
    )
}

fn is_gpu(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [filters, ids] = &arrays[..] else { unreachable!("the signature has two arguments") };
    // The filter is the same in all rows.
    let mut last: Option<(&str, GpuFilter)> = None;
    let mut found = Vec::with_capacity(ids.len());
    for (written, id) in filters.as_string_view().iter().zip(ids.as_string_view()) {
        let (Some(written), Some(id)) = (written, id) else {
            found.push(None);
            continue;
        };
        if !matches!(&last, Some((known, _)) if *known == written) {
            let filter = GpuFilter::new(written)
                .map_err(|error| exec_datafusion_err!("the pattern {written:?} {error}"))?;
            last = Some((written, filter));
        }
        found.push(last.as_ref().map(|(_, filter)| filter.matches(id)));
    }
    Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(found))))
}
