//! A Parquet file that is put together of whole groups of rows: those that stay as they are are
//! copied as they lie, and need not be read.

use anyhow::Result;
use bytes::Bytes;
use parquet::arrow::ArrowSchemaConverter;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;
use record::{Record, Table};

use crate::parquet_file::{Footer, encode, footer, properties};

/// A part of a file.
pub(crate) enum Piece<'a, R> {
    Rows(Vec<&'a R>),
    /// A group of rows of a file with these bytes, which has the table's [`schema`].
    Copied(&'a Bytes, &'a RowGroupMetaData),
}

/// The bytes of a file of these pieces.
pub(crate) fn assemble<'a, R: Record>(
    pieces: impl IntoIterator<Item = Piece<'a, R>>,
) -> Result<(Vec<u8>, Footer)> {
    let table = R::TABLE;
    let mut bytes = Vec::new();
    let properties = properties(&table).into();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema(&table)?, properties)?;
    let mut copy = |bytes: &Bytes, group: &RowGroupMetaData| -> Result<()> {
        let mut copied = writer.next_row_group()?;
        for column in group.columns() {
            let written = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            copied.append_column(bytes, written)?;
        }
        copied.close()?;
        Ok(())
    };
    for piece in pieces {
        match piece {
            Piece::Copied(bytes, group) => copy(bytes, group)?,
            Piece::Rows(rows) => {
                let bytes = Bytes::from(encode(&rows)?.0);
                // A footer that was read says less than one that was just made. Both kinds of
                // pieces are copied by what is read, so that the bytes do not tell them apart.
                let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes)?;
                for group in metadata.row_groups() {
                    copy(&bytes, group)?;
                }
            }
        }
    }
    let metadata = writer.close()?;
    Ok((bytes, footer(&table, &metadata)))
}

/// How the files of a table are laid out.
pub(crate) fn schema(table: &Table) -> Result<TypePtr> {
    Ok(ArrowSchemaConverter::new().convert(&table.schema())?.root_schema_ptr())
}
