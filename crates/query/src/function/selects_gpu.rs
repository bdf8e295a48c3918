//! `selects_gpu(host, host_pattern, model, machine, device)`: whether a GPU of a machine and model is one
//! of those that are selected, by the rules of [`Selection`](crate::Selection). The first three are
//! the same in all rows, and select everything where they are null.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray, StringViewArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

use crate::picture::{host_pattern, is_host, model_pattern};

pub(super) fn function() -> ScalarUDF {
    create_udf(
        "selects_gpu",
        vec![DataType::Utf8View; 5],
        DataType::Boolean,
        Volatility::Immutable,
        Arc::new(selects_gpu),
    )
}

fn selects_gpu(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [host, pattern, model, machine, device] = &arrays[..] else {
        unreachable!("the signature has five arguments")
    };
    let said = |array| StringViewArray::iter(array).next().flatten();
    let wrong = |error: anyhow::Error| exec_datafusion_err!("{error:#}");
    let host = said(host.as_string_view());
    let pattern = said(pattern.as_string_view()).map(host_pattern).transpose().map_err(wrong)?;
    let model = said(model.as_string_view()).map(model_pattern).transpose().map_err(wrong)?;
    let gpus = machine.as_string_view().iter().zip(device.as_string_view());
    let selected = gpus.map(|(machine, device)| {
        let machine = machine.unwrap_or_default();
        Some(
            host.is_none_or(|host| is_host(machine, host))
                && pattern.as_ref().is_none_or(|pattern| pattern.matches(machine))
                && model
                    .as_ref()
                    .is_none_or(|model| device.is_some_and(|name| model.matches(name))),
        )
    });
    Ok(ColumnarValue::Array(Arc::new(selected.collect::<BooleanArray>())))
}
