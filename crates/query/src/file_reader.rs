//! Reads the lake's files for DataFusion. Most are small, and a question about a year has hundreds of
//! them: one that is small is read at once, and what it costs to ask for it is paid once.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::{
    CachedParquetFileReaderFactory, CachedParquetMetaData,
};
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache};
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use lake::Lake;
use object_store::ObjectMeta;

use crate::held_files::HeldFiles;
use crate::session::Seen;

/// A file of at most so many bytes is read at once, so that nothing that is put in its place meanwhile
/// matters: to ask for a part of it takes as long.
pub(crate) fn most_at_once(lake: &Lake) -> u64 {
    const MEBIBYTE: u64 = 1024 * 1024;
    match lake.folder() {
        Some(_) => MEBIBYTE,
        // Some megabytes come in the time of a request; a day of 100,000 jobs has fewer.
        None => 8 * MEBIBYTE,
    }
}

/// Makes readers of a question's files.
pub(crate) struct FileReaders {
    pub(crate) most_at_once: u64,
    pub(crate) store: Arc<HeldFiles>,
    pub(crate) footers: Arc<FileMetadataCache>,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

impl ParquetFileReaderFactory for FileReaders {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        footer_size: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        if file.object_meta.size <= self.most_at_once {
            let (store, footers) = (self.store.clone(), self.footers.clone());
            let (file, seen) = (file.object_meta, self.seen.clone());
            return Ok(Box::new(SmallFile { store, footers, seen, file, bytes: None }));
        }
        let large = CachedParquetFileReaderFactory::new(self.store.clone(), self.footers.clone());
        Ok(Box::new(LargeFile {
            seen: self.seen.clone(),
            file: file.object_meta.clone(),
            parts: large.create_reader(partition, file, footer_size, metrics)?,
        }))
    }
}

impl fmt::Debug for FileReaders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FileReaders({})", self.store)
    }
}

/// A file that is read at once.
struct SmallFile {
    store: Arc<HeldFiles>,
    footers: Arc<FileMetadataCache>,
    seen: Arc<Mutex<Seen>>,
    file: ObjectMeta,
    bytes: Option<Bytes>,
}

impl SmallFile {
    async fn bytes(&mut self) -> ParquetResult<Bytes> {
        if let Some(bytes) = &self.bytes {
            return Ok(bytes.clone());
        }
        let read = self.store.read_whole(&self.file).await;
        let bytes = read.inspect_err(|_| note_failed(&self.seen, &self.file));
        let bytes = bytes.map_err(|error| ParquetError::External(error.into()))?;
        Ok(self.bytes.insert(bytes).clone())
    }

    async fn footer(&mut self) -> ParquetResult<Arc<ParquetMetaData>> {
        let known = self.footers.get(&self.file.location);
        if let Some(known) = known.filter(|known| known.is_valid_for(&self.file))
            && let Some(known) =
                known.file_metadata.as_any().downcast_ref::<CachedParquetMetaData>()
        {
            return Ok(known.parquet_metadata().clone());
        }
        let bytes = self.bytes().await?;
        let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes);
        let footer = Arc::new(footer.inspect_err(|_| note_failed(&self.seen, &self.file))?);
        let kept = Arc::new(CachedParquetMetaData::new(footer.clone()));
        let entry = CachedFileMetadataEntry::new(self.file.clone(), kept);
        self.footers.put(&self.file.location, entry);
        Ok(footer)
    }
}

impl AsyncFileReader for SmallFile {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move { part(&self.bytes().await?, range) }.boxed()
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move {
            let bytes = self.bytes().await?;
            ranges.into_iter().map(|range| part(&bytes, range)).collect()
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        self.footer().boxed()
    }
}

fn part(bytes: &Bytes, range: Range<u64>) -> ParquetResult<Bytes> {
    let (start, end) = (range.start as usize, range.end as usize);
    if start > end || end > bytes.len() {
        let message = format!("a file of {} bytes has none from {start} to {end}", bytes.len());
        return Err(ParquetError::General(message));
    }
    Ok(bytes.slice(start..end))
}

/// A file of which only what is needed is read.
struct LargeFile {
    seen: Arc<Mutex<Seen>>,
    file: ObjectMeta,
    parts: Box<dyn AsyncFileReader + Send>,
}

impl AsyncFileReader for LargeFile {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.parts.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.parts.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let footer = self.parts.get_metadata(options).await;
            footer.inspect_err(|_| note_failed(&self.seen, &self.file))
        }
        .boxed()
    }
}

fn note_failed(seen: &Mutex<Seen>, file: &ObjectMeta) {
    seen.lock().expect("no holder of this lock panics").failed.push(file.clone());
}
