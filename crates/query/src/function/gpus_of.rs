//! `gpus_of(gpu_types)`: the models and counts of a list such as `a100=2,h100=1`.

use std::sync::Arc;

use datafusion::arrow::array::{
    AsArray, Int64Builder, ListBuilder, StringViewBuilder, StructBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

pub(super) fn function() -> ScalarUDF {
    create_udf(
        "gpus_of",
        vec![DataType::Utf8View],
        DataType::List(Arc::new(item())),
        Volatility::Immutable,
        Arc::new(gpus_of),
    )
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("model", DataType::Utf8View, true),
        Field::new("count", DataType::Int64, true),
    ])
}

fn item() -> Field {
    Field::new_list_field(DataType::Struct(fields()), true)
}

fn gpus_of(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [lists] = &arrays[..] else { unreachable!("the signature has one argument") };
    let item_builder = StructBuilder::from_fields(fields(), 0);
    let mut gpus = ListBuilder::new(item_builder).with_field(item());
    for list in lists.as_string_view() {
        let Some(list) = list else {
            gpus.append_null();
            continue;
        };
        for (model, count) in models(list) {
            let item = gpus.values();
            item.field_builder::<StringViewBuilder>(0)
                .expect("the first field is the model")
                .append_value(model);
            item.field_builder::<Int64Builder>(1)
                .expect("the second field is the count")
                .append_value(count);
            item.append(true);
        }
        gpus.append(true);
    }
    Ok(ColumnarValue::Array(Arc::new(gpus.finish())))
}

/// The models of a list, with their counts.
pub(crate) fn models(list: &str) -> impl Iterator<Item = (&str, i64)> {
    let parts = list.split(',').filter_map(|part| part.split_once('='));
    parts.filter_map(|(model, count)| Some((model, count.parse().ok()?)))
}
