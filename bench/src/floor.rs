//! The least that taking over `sacct`'s text can cost: it is read, cut into cells and written as Parquet, and
//! nothing is made of it.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use memchr::{memchr, memchr_iter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

/// What `slurm::sacct` asks for between cells.
const DELIMITER: u8 = 0x1f;

/// As the lake writes jobs.
const ROWS_A_BATCH: usize = 1024;
const ROWS_A_GROUP: usize = 64 * 1024;

/// Writes a file of texts for each file of text: a row for each job, a column for each field. Steps, which the
/// lake keeps as sums of a job, are cut into cells and left. Gives how many lines and rows there were.
pub(crate) fn floor(text: &Path, out: &Path) -> Result<(usize, usize)> {
    let bytes = fs::read(text)?;
    let mut lines = Lines { bytes: &bytes };
    let header = lines.next().context("a text without a header")?;
    let names = cells(header).map(std::str::from_utf8).collect::<Result<Vec<_>, _>>()?;
    let fields = names.iter().map(|name| Field::new(*name, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(ROWS_A_GROUP))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(out)?, schema.clone(), Some(properties))?;
    let mut columns: Vec<StringBuilder> = names.iter().map(|_| StringBuilder::new()).collect();
    let mut row: Vec<&[u8]> = Vec::with_capacity(names.len());
    let (mut line_count, mut row_count) = (1, 0_usize);
    let mut flush = |columns: &mut [StringBuilder]| -> Result<()> {
        let finished = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        Ok(writer.write(&RecordBatch::try_new(schema.clone(), finished.collect())?)?)
    };
    for line in lines {
        line_count += 1;
        row.clear();
        row.extend(cells(line));
        // A name may go on in a line of its own; a step's id has a dot.
        if row.len() < names.len() || memchr(b'.', row[0]).is_some() {
            continue;
        }
        for (column, cell) in columns.iter_mut().zip(&row) {
            match cell.is_empty() {
                true => column.append_null(),
                false => column.append_value(std::str::from_utf8(cell)?),
            }
        }
        row_count += 1;
        if row_count.is_multiple_of(ROWS_A_BATCH) {
            flush(&mut columns)?;
        }
    }
    flush(&mut columns)?;
    writer.close()?;
    Ok((line_count, row_count))
}

/// Lines, one after the other.
struct Lines<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr(b'\n', self.bytes)?;
        let line = &self.bytes[..end];
        self.bytes = &self.bytes[end + 1..];
        Some(line)
    }
}

fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(DELIMITER, line).chain([line.len()]).map(move |end| {
        let cell = &line[start..end];
        start = end + 1;
        cell
    })
}
