//! Records to the bytes of one Parquet file, and back.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail};
use arrow::array::RecordBatch;
use arrow::compute::partition;
use arrow::datatypes::{DataType, TimeUnit};
use bytes::Bytes;
use jiff::Timestamp;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnPath;
use record::{Cell, Column, GpuSpan, Job, JobDay, NodeDay, Record, Table};
use serde::{Deserialize, Serialize};

/// The range of a column of moments in one file, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeRange {
    /// Unknown if every row's is.
    pub min: Option<i64>,
    pub max: Option<i64>,
    /// Rows whose moment is unknown.
    pub nulls: u64,
}

/// What a file's footer says of it.
pub(crate) struct Footer {
    pub(crate) rows: u64,
    pub(crate) times: BTreeMap<String, TimeRange>,
}

/// The bytes of a file with these rows, in the order given.
pub(crate) fn encode<R: Record>(rows: &[&R]) -> Result<(Vec<u8>, Footer)> {
    let table = R::TABLE;
    let mut properties = properties(&table);
    // Of a small file every column is looked at before it is written.
    let small: Vec<RecordBatch> = match rows.len() {
        ..=ROWS_A_BATCH => rows.chunks(ROWS_A_BATCH_WRITTEN).map(R::to_batch).collect(),
        _ => Vec::new(),
    };
    if !small.is_empty() {
        properties = without_needless_compression(&table, properties, &small)?;
    }
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        // The Arrow schema follows from the Parquet one; embedded it takes more than many a
        // small day's rows.
        .with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, table.schema().into(), options)?;
    // Batches bound the memory that the columns take beside the rows, and each is read once for
    // each column: a small one stays in the processor's cache.
    if small.is_empty() {
        for rows in rows.chunks(ROWS_A_BATCH_WRITTEN) {
            writer.write(&R::to_batch(rows))?;
        }
    }
    for batch in &small {
        writer.write(batch)?;
    }
    let metadata = writer.close()?;
    Ok((bytes, footer(&table, &metadata)))
}

/// Leaves columns as they are in which hardly anything changes: they are a few bytes, of which
/// compression makes more, and whoever reads the file would set up what undoes it for each.
fn without_needless_compression(
    table: &Table,
    properties: WriterProperties,
    batches: &[RecordBatch],
) -> Result<WriterProperties> {
    const FEW_CHANGES: usize = 64;
    let mut properties = properties.into_builder();
    for (place, column) in table.columns.iter().enumerate() {
        // What is not told by its place in a dictionary takes as much however often it is said, and so
        // do truths, a bit each.
        let is_long = encoding_of_unlike(table, column).is_some()
            || (column.data_type)() == DataType::Boolean;
        let is_unknown = |batch: &RecordBatch| {
            let cells = batch.column(place);
            cells.null_count() == cells.len()
        };
        if is_long && !batches.iter().all(is_unknown) {
            continue;
        }
        let mut changes = 0;
        for batch in batches {
            changes += partition(&[batch.column(place).clone()])?.len();
            if changes > FEW_CHANGES {
                break;
            }
        }
        if changes <= FEW_CHANGES {
            let column = ColumnPath::from(column.name);
            properties = properties.set_column_compression(column, Compression::UNCOMPRESSED);
        }
    }
    Ok(properties.build())
}

/// The rows of a file.
pub(crate) fn decode<R: Record>(cluster: &str, bytes: Bytes) -> Result<Vec<R>> {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(bytes)?.with_batch_size(ROWS_A_BATCH).build()?;
    let mut rows = Vec::new();
    for batch in reader {
        rows.extend(R::from_batch(cluster, &batch?).map_err(|error| anyhow!(error))?);
    }
    Ok(rows)
}

/// The rows of a file one by one, of which only some are in memory.
pub(crate) struct Rows<R> {
    cluster: String,
    batches: ParquetRecordBatchReader,
    rows: std::vec::IntoIter<R>,
}

impl<R: Record> Rows<R> {
    pub(crate) fn open(cluster: &str, bytes: Bytes, at_once: usize) -> Result<Rows<R>> {
        let batches =
            ParquetRecordBatchReaderBuilder::try_new(bytes)?.with_batch_size(at_once).build()?;
        Ok(Rows { cluster: cluster.to_owned(), batches, rows: Vec::new().into_iter() })
    }
}

impl<R: Record> Iterator for Rows<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            let read = self.batches.next()?.map_err(anyhow::Error::from);
            match read.and_then(|batch| {
                R::from_batch(&self.cluster, &batch).map_err(|error| anyhow!(error))
            }) {
                Ok(rows) => self.rows = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The moments of a required column, without reading the others.
pub(crate) fn moments(bytes: &Bytes, column: &str) -> Result<BTreeSet<Timestamp>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())?;
    let only = ProjectionMask::columns(builder.parquet_schema(), [column]);
    let mut moments = BTreeSet::new();
    for batch in builder.with_projection(only).with_batch_size(ROWS_A_BATCH).build()? {
        let batch = batch?;
        let read = <Timestamp as Cell>::read(batch.column_by_name(column), batch.num_rows());
        moments.extend(read.map_err(|error| anyhow!("column {column}: {error}"))?);
    }
    Ok(moments)
}

/// What the footer in these bytes says, which may be the end of a file alone.
pub(crate) fn read_footer(table: &Table, bytes: &Bytes) -> Result<Footer> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes)?;
    Ok(footer(table, &metadata))
}

/// Refuses a file with columns of a newer version: rewriting it would drop them.
pub(crate) fn check_columns(table: &Table, bytes: &Bytes) -> Result<()> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes)?;
    for column in metadata.file_metadata().schema_descr().columns() {
        if !table.columns.iter().any(|known| known.name == column.name()) {
            bail!(
                "it has a column {:?} that this version does not know; collect with the newer plimsoll that wrote it",
                column.name()
            );
        }
    }
    Ok(())
}

pub(crate) const ROWS_A_BATCH: usize = 16 * 1024;
const ROWS_A_BATCH_WRITTEN: usize = 1024;

/// Of jobs: those of one user lie together, and around them no more than this is read in vain.
const ROWS_A_PAGE: usize = 4 * 1024;

/// Small enough that a busy day's file has several row groups to skip.
pub(crate) const ROWS_A_GROUP: usize = 64 * 1024;

pub(crate) fn properties(table: &Table) -> WriterProperties {
    let is_gpu_span = table.name == GpuSpan::TABLE.name;
    // Spans of GPUs are written once, when their day is over, and kept for years.
    let level = if is_gpu_span { 19 } else { 1 };
    let level = ZstdLevel::try_new(level).expect("1 and 19 are levels of zstd");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(format!("plimsoll {}", env!("CARGO_PKG_VERSION")))
        .set_max_row_group_row_count(Some(ROWS_A_GROUP))
        // What a footer says of a column costs every question that opens the file; only what
        // rows are told apart by, sorted by or dated by lets one skip anything.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    if table.name == Job::TABLE.name {
        properties = properties.set_data_page_row_count_limit(ROWS_A_PAGE);
    }
    // A day of GPUs is one group of rows: its names let a question skip none.
    let names = table.key.iter().chain(table.sort).copied().filter(|_| !is_gpu_span);
    for name in names.chain(table.time_columns()) {
        properties = properties
            .set_column_statistics_enabled(ColumnPath::from(name), EnabledStatistics::Chunk);
    }
    for column in table.columns {
        if let Some(encoding) = encoding_of_unlike(table, column) {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(column.name), false)
                .set_column_encoding(ColumnPath::from(column.name), encoding);
        }
    }
    properties.build()
}

/// How a column is written whose values hardly repeat: a dictionary of them would be larger than
/// they are, and dearer. None for one whose values do.
fn encoding_of_unlike(table: &Table, column: &Column) -> Option<Encoding> {
    let is_gpu_span = table.name == GpuSpan::TABLE.name;
    let is_of_jobs =
        [Job::TABLE.name, JobDay::TABLE.name, NodeDay::TABLE.name].contains(&table.name);
    match ((column.data_type)(), column.name) {
        // Moments of neighbours are near one another; only when things were observed is the same
        // for many, and so are the looks at which GPUs changed.
        (DataType::Timestamp(TimeUnit::Microsecond, _), name) => {
            (name != table.observed && !is_gpu_span).then_some(Encoding::DELTA_BINARY_PACKED)
        }
        // At the level at which spans are compressed, it finds what names and numbers have in common
        // better than a dictionary does, whose places it cannot tell apart.
        (_, "machine" | "gpu_id" | "primary_job_id" | "backfill_job_id") if is_gpu_span => {
            Some(Encoding::PLAIN)
        }
        (_, "prioritized_projects" | "carry_use_ratio") if is_gpu_span => Some(Encoding::PLAIN),
        // Ids begin alike.
        (_, "job_id") if is_of_jobs => Some(Encoding::DELTA_BYTE_ARRAY),
        (_, "elapsed_seconds") if is_of_jobs => Some(Encoding::DELTA_BINARY_PACKED),
        // What people ask for, and get, are a few round numbers; what is measured is not.
        (_, "req_mem_mb" | "alloc_mem_mb") => None,
        (DataType::Float64, _) if is_of_jobs => Some(Encoding::PLAIN),
        _ => None,
    }
}

pub(crate) fn footer(table: &Table, metadata: &ParquetMetaData) -> Footer {
    let mut times: BTreeMap<String, TimeRange> =
        table.time_columns().map(|name| (name.to_owned(), TimeRange::default())).collect();
    for group in metadata.row_groups() {
        let mut absent: Vec<&str> = table.time_columns().collect();
        for column in group.columns() {
            let name = column.column_descr().name();
            let Some(range) = times.get_mut(name) else { continue };
            absent.retain(|absent| *absent != name);
            match column.statistics() {
                Some(Statistics::Int64(statistics)) => {
                    range.nulls += statistics.null_count_opt().unwrap_or(0);
                    range.min = least(range.min, statistics.min_opt().copied());
                    range.max = range.max.max(statistics.max_opt().copied());
                }
                _ => range.nulls += group.num_rows() as u64,
            }
        }
        for name in absent {
            times.get_mut(name).expect("it was made from the same columns").nulls +=
                group.num_rows() as u64;
        }
    }
    Footer { rows: metadata.file_metadata().num_rows() as u64, times }
}

fn least(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Reads and checks a file that is about to be rewritten.
pub(crate) fn decode_to_rewrite<R: Record>(cluster: &str, bytes: Bytes) -> Result<Vec<R>> {
    check_columns(&R::TABLE, &bytes)
        .and_then(|()| decode(cluster, bytes))
        .context("the file is left as it is")
}

#[cfg(test)]
mod tests {
    use record::GpuSample;

    use super::*;
    use crate::tests::gpu_sample;

    #[test]
    fn columns_in_which_hardly_anything_changes_are_not_compressed() {
        let sample = |number: usize| GpuSample {
            device_name: Some(if number < 50 { "A100" } else { "H200" }.into()),
            capability: None,
            interactive: Some(false),
            ..gpu_sample(&format!("GPU-{number:08}"), Timestamp::UNIX_EPOCH, "Claimed")
        };
        let samples: Vec<GpuSample> = (0..100).map(sample).collect();
        let (bytes, _) = encode(&samples.iter().collect::<Vec<_>>()).unwrap();
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes)).unwrap();
        let is_compressed = |name: &str| {
            let columns = metadata.row_group(0).columns();
            let column = columns.iter().find(|column| column.column_descr().name() == name);
            column.unwrap().compression() != Compression::UNCOMPRESSED
        };
        for (column, expected) in [
            ("device_name", false),
            ("capability", false), // unknown in every row
            ("gpu_id", true),
            ("interactive", true), // a bit each
        ] {
            assert_eq!(is_compressed(column), expected, "{column}");
        }
    }
}
