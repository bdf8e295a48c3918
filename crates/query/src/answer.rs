//! Record batches to the rows and columns of a report.

use anyhow::{Context, Result, bail};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, SchemaRef, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::util::display::array_value_to_string;
use jiff::Timestamp;
use jiff::civil::Date;
use report::{Column, Table, Unit, Value};

use crate::option::Asked;

/// The answer of an analysis, whose columns are declared.
pub(crate) fn table(batches: &[RecordBatch], asked: &Asked) -> Result<Table> {
    let declared: Vec<&str> = asked.analysis.columns.iter().map(|column| column.name).collect();
    if let Some(batch) = batches.first() {
        let schema = batch.schema();
        let given: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        if given != declared {
            bail!("the statement gives the columns {given:?}, declared are {declared:?}");
        }
    }
    let columns: Vec<Option<Column>> = asked
        .analysis
        .columns
        .iter()
        .map(|column| {
            Some(Column {
                name: column.name.to_owned(),
                heading: asked.heading(column)?.to_owned(),
                unit: column.unit,
            })
        })
        .collect();
    let mut rows = rows(batches)?;
    for row in &mut rows {
        let mut columns = columns.iter();
        row.retain(|_| columns.next().is_some_and(Option::is_some));
    }
    Ok(Table { columns: columns.into_iter().flatten().collect(), rows })
}

/// The answer of a user's own statement, whose columns say for themselves what they are.
pub(crate) fn plain_table(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Table> {
    let columns = schema
        .fields()
        .iter()
        .map(|field| Column {
            name: field.name().clone(),
            heading: field.name().clone(),
            unit: unit(field.data_type()),
        })
        .collect();
    Ok(Table { columns, rows: rows(batches)? })
}

fn unit(data_type: &DataType) -> Unit {
    match data_type {
        DataType::Timestamp(..) => Unit::Time,
        DataType::Date32 | DataType::Date64 => Unit::Date,
        data_type if data_type.is_numeric() => Unit::Plain,
        _ => Unit::Label,
    }
}

pub(crate) fn rows(batches: &[RecordBatch]) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<Vec<Value>> = batch.columns().iter().map(values).collect::<Result<_>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        rows.extend((0..batch.num_rows()).map(|_| {
            columns
                .iter_mut()
                .map(|column| column.next().expect("a column has a value for each row"))
                .collect()
        }));
    }
    Ok(rows)
}

fn values(column: &ArrayRef) -> Result<Vec<Value>> {
    match column.data_type() {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => {
            let column = cast(column, &DataType::Utf8View)?;
            let texts = column.as_string_view();
            Ok(known(texts.iter(), |text| Value::Text(text.to_owned())))
        }
        DataType::Boolean => Ok(known(column.as_boolean().iter(), Value::Boolean)),
        // Whole numbers beyond 63 bits are rare enough to be shown as text.
        data_type if data_type.is_integer() && *data_type != DataType::UInt64 => {
            let column = cast(column, &DataType::Int64)?;
            Ok(known(column.as_primitive::<Int64Type>().iter(), Value::Integer))
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let column = cast(column, &DataType::Float64)?;
            Ok(known(column.as_primitive::<Float64Type>().iter(), Value::Number))
        }
        DataType::Timestamp(..) => {
            let column =
                cast(column, &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))?;
            column
                .as_primitive::<TimestampMicrosecondType>()
                .iter()
                .map(|moment| match moment {
                    Some(moment) => Ok(Value::Time(
                        Timestamp::from_microsecond(moment)
                            .context("a moment beyond the calendar")?,
                    )),
                    None => Ok(Value::Unknown),
                })
                .collect()
        }
        DataType::Date32 => column
            .as_primitive::<Date32Type>()
            .iter()
            .map(|days| match days {
                Some(days) => Ok(Value::Date(date(days).context("a date beyond the calendar")?)),
                None => Ok(Value::Unknown),
            })
            .collect(),
        DataType::Null => Ok(vec![Value::Unknown; column.len()]),
        _ => (0..column.len())
            .map(|row| {
                if column.is_null(row) {
                    Ok(Value::Unknown)
                } else {
                    Ok(Value::Text(array_value_to_string(column, row)?))
                }
            })
            .collect(),
    }
}

fn known<T>(values: impl Iterator<Item = Option<T>>, value: impl Fn(T) -> Value) -> Vec<Value> {
    values.map(|known| known.map_or(Value::Unknown, &value)).collect()
}

fn date(days: i32) -> Option<Date> {
    let epoch = jiff::civil::date(1970, 1, 1);
    epoch.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}
