//! Which Rust type fills which Arrow column, both ways.

use std::cmp::Ordering;
use std::convert::identity;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use jiff::Timestamp;

use crate::Text;

/// A Rust type that is one cell of an Arrow column.
pub trait Cell: Sized {
    const NULLABLE: bool;

    fn data_type() -> DataType;

    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;

    /// The cells of a column; `None` where the file has no such column.
    fn read(column: Option<&ArrayRef>, rows: usize) -> Result<Vec<Self>, String>;

    /// Hashes the cell; equal ones hash the same.
    fn hash_cell(&self, hasher: &mut impl Hasher);

    /// A total order in which an unknown value is the least.
    fn compare(&self, other: &Self) -> Ordering;
}

/// The type of every moment: microseconds since the epoch, in UTC.
fn moment_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// One cell type and its optional form: how it is made into an array (from a reference, so that
/// a text is not copied on the way), and how the cells come out.
macro_rules! cell {
    ($rust:ty, $type:expr, $array:ty, |$cell:ident| $to:expr, $bits:expr, $compare:expr, |$built:ident| $finish:expr, |$read:ident| $cells:expr) => {
        impl Cell for Option<$rust> {
            const NULLABLE: bool = true;

            fn data_type() -> DataType {
                $type
            }

            fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                let $built: $array = cells.map(|cell| cell.as_ref().map(|$cell| $to)).collect();
                Arc::new($finish)
            }

            fn read(column: Option<&ArrayRef>, rows: usize) -> Result<Vec<Self>, String> {
                let Some(column) = column else {
                    return Ok(vec![None; rows]);
                };
                let cast_column;
                let column = if *column.data_type() == $type {
                    column
                } else {
                    cast_column = cast(column, &$type).map_err(|error| error.to_string())?;
                    &cast_column
                };
                let array = column
                    .as_any()
                    .downcast_ref::<$array>()
                    .expect("the column was cast to this array's type");
                let $read = array.iter();
                $cells
            }

            fn hash_cell(&self, hasher: &mut impl Hasher) {
                Hash::hash(&self.is_some(), hasher);
                if let Some(cell) = self {
                    Cell::hash_cell(cell, hasher);
                }
            }

            fn compare(&self, other: &Self) -> Ordering {
                match (self, other) {
                    (Some(one), Some(other)) => Cell::compare(one, other),
                    _ => self.is_some().cmp(&other.is_some()),
                }
            }
        }

        impl Cell for $rust {
            const NULLABLE: bool = false;

            fn data_type() -> DataType {
                $type
            }

            fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                let $built: $array = cells.map(|$cell| Some($to)).collect();
                Arc::new($finish)
            }

            fn read(column: Option<&ArrayRef>, rows: usize) -> Result<Vec<Self>, String> {
                <Option<$rust>>::read(column, rows)?
                    .into_iter()
                    .map(|cell| cell.ok_or_else(|| "a required value is missing".to_owned()))
                    .collect()
            }

            fn hash_cell(&self, hasher: &mut impl Hasher) {
                let $cell = self;
                Hash::hash(&$bits($to), hasher);
            }

            fn compare(&self, other: &Self) -> Ordering {
                $compare(self, other)
            }
        }
    };
}

cell!(
    Text,
    DataType::Utf8,
    StringArray,
    |cell| cell.as_str(),
    identity,
    Ord::cmp,
    |array| array,
    |cells| Ok(cells.map(|cell| cell.map(Text::from)).collect())
);
cell!(i64, DataType::Int64, Int64Array, |cell| *cell, identity, Ord::cmp, |array| array, |cells| {
    Ok(cells.collect())
});
cell!(
    f64,
    DataType::Float64,
    Float64Array,
    |cell| *cell,
    f64::to_bits,
    f64::total_cmp,
    |array| array,
    |cells| Ok(cells.collect())
);
cell!(
    bool,
    DataType::Boolean,
    BooleanArray,
    |cell| *cell,
    identity,
    Ord::cmp,
    |array| array,
    |cells| Ok(cells.collect())
);
cell!(
    Timestamp,
    moment_type(),
    TimestampMicrosecondArray,
    |cell| cell.as_microsecond(),
    identity,
    Ord::cmp,
    |array| array.with_timezone("UTC"),
    |cells| {
        let moment = |cell| Timestamp::from_microsecond(cell).map_err(|error| error.to_string());
        cells.map(|cell| cell.map(moment).transpose()).collect()
    }
);
