//! `nodes_of(node_list)`: the nodes that a scheduler's list names; none if it is no such list.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, ListBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use record::node_list;

pub(super) fn function() -> ScalarUDF {
    create_udf(
        "nodes_of",
        vec![DataType::Utf8View],
        DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true))),
        Volatility::Immutable,
        Arc::new(nodes_of),
    )
}

fn nodes_of(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let [lists] = &arrays[..] else { unreachable!("the signature has one argument") };
    let mut nodes = ListBuilder::new(StringViewBuilder::new());
    for list in lists.as_string_view() {
        match list.and_then(node_list::expand) {
            Some(names) => {
                for name in names {
                    nodes.values().append_value(name);
                }
                nodes.append(true);
            }
            None => nodes.append_null(),
        }
    }
    Ok(ColumnarValue::Array(Arc::new(nodes.finish())))
}
