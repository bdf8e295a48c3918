//! Parquet and SQLite files that others wrote, as tables of text.
//!
//! This crate is the one that knows file formats, and text is what sources read; so a folder of an
//! older tool is opened here and understood there.

mod sqlite;

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

pub use sqlite::read_foreign_table;

/// Some rows of a table that somebody else wrote.
pub struct ForeignRows {
    names: Vec<String>,
    columns: Vec<StringArray>,
    rows: usize,
}

impl ForeignRows {
    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What stands in a cell, as text; nothing where it is null. Moments are written as
    /// `2025-08-14T12:00:00`, with a `Z` behind where the column says that it is UTC.
    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        let column = &self.columns[column];
        column.is_valid(row).then(|| column.value(row))
    }
}

/// The rows of a Parquet file, some at a time.
pub fn read_foreign(path: &Path) -> Result<impl Iterator<Item = Result<ForeignRows>> + use<>> {
    let shown = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(16 * 1024).build())
        .with_context(|| format!("cannot read {shown}"))?;
    Ok(reader.map(move |batch| {
        batch
            .map_err(|error| anyhow!(error))
            .and_then(|batch| texts(&batch))
            .with_context(|| format!("cannot read {shown}"))
    }))
}

fn texts(batch: &RecordBatch) -> Result<ForeignRows> {
    let mut names = Vec::new();
    let mut columns = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let in_utc;
        // An instant is written in UTC, whatever zone its column is shown in.
        let column = if matches!(field.data_type(), DataType::Timestamp(_, Some(_))) {
            let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
            in_utc = cast(column, &utc)?;
            &in_utc
        } else {
            column
        };
        // What has no text, such as a list, is no column that anybody here asks for.
        let Ok(text) = cast(column, &DataType::Utf8) else { continue };
        names.push(field.name().clone());
        columns.push(text.as_string::<i32>().clone());
    }
    Ok(ForeignRows { names, columns, rows: batch.num_rows() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BooleanArray, Float64Array, LargeStringArray, TimestampMicrosecondArray,
    };
    use parquet::arrow::ArrowWriter;

    use super::*;

    #[test]
    fn every_column_is_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.parquet");
        let noon = 1_755_172_800_000_000; // 2025-08-14T12:00:00Z
        let batch = RecordBatch::try_from_iter([
            ("name", Arc::new(LargeStringArray::from(vec![Some("a"), None])) as ArrayRef),
            ("share", Arc::new(Float64Array::from(vec![0.5, 2.0]))),
            ("done", Arc::new(BooleanArray::from(vec![true, false]))),
            ("wall", Arc::new(TimestampMicrosecondArray::from(vec![Some(noon), None]))),
            (
                "instant",
                Arc::new(TimestampMicrosecondArray::from(vec![noon, noon]).with_timezone("UTC")),
            ),
        ])
        .unwrap();
        let mut writer =
            ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();

        let batches: Vec<ForeignRows> = read_foreign(&path).unwrap().map(Result::unwrap).collect();
        let [rows] = &batches[..] else { panic!("{} batches", batches.len()) };
        assert_eq!(rows.names(), ["name", "share", "done", "wall", "instant"]);
        let row = |row| (0..5).map(|column| rows.cell(row, column)).collect::<Vec<_>>();
        assert_eq!(
            row(0),
            [
                Some("a"),
                Some("0.5"),
                Some("true"),
                Some("2025-08-14T12:00:00"),
                Some("2025-08-14T12:00:00Z")
            ]
        );
        assert_eq!(row(1)[0], None);
        assert_eq!(row(1)[3], None);
    }

    #[test]
    fn what_is_no_parquet_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.parquet");
        std::fs::write(&path, "no").unwrap();
        let error = read_foreign(&path).err().unwrap();
        assert!(format!("{error:#}").starts_with("cannot read "), "{error:#}");
    }
}
