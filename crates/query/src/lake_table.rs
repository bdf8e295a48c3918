//! A table of the lake as DataFusion sees it: the files that a question needs, and no others.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, StringViewArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, Result, ScalarValue, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use futures::{StreamExt, stream};
use jiff::civil::Date;
use lake::{LakeFile, TimeRange};
use record::{GpuSpan, Record};
use report::SkippedFile;

use crate::file_reader::{FileReaders, most_at_once};
use crate::listing::Listing;
use crate::session::Seen;

/// Where sessions find the lake's store.
pub static STORE_URL: LazyLock<url::Url> =
    LazyLock::new(|| url::Url::parse("lake://local").expect("it is a URL"));

/// A table of the lake, or some of its files.
pub(crate) struct LakeTable {
    listing: Arc<Listing>,
    table: &'static record::Table,
    chosen: Chosen,
    schema: TableSchema,
    seen: Arc<Mutex<Seen>>,
}

/// Whether a file is one of those that are asked about.
pub(crate) type Chosen = Arc<dyn Fn(&LakeFile) -> bool + Send + Sync>;

impl LakeTable {
    pub(crate) fn new(
        listing: Arc<Listing>,
        table: &'static record::Table,
        chosen: Chosen,
        seen: Arc<Mutex<Seen>>,
    ) -> LakeTable {
        let schema = TableSchema::builder(Arc::new(view_strings(&table.schema())))
            .with_table_partition_cols(vec![
                Arc::new(Field::new("cluster", DataType::Utf8View, false)),
                Arc::new(Field::new("date", DataType::Date32, false)),
            ])
            .build();
        LakeTable { listing, table, chosen, schema, seen }
    }

    /// The files that may hold rows that pass the filters, by their dates and by what their
    /// trackers know.
    pub(crate) fn pruned(
        &self,
        state: &dyn Session,
        mut files: Vec<LakeFile>,
        filters: &[Expr],
    ) -> Result<Vec<LakeFile>> {
        let keep = keep(state, &self.schema(), filters, &FileStatistics { files: &files })?;
        let mut keep = keep.into_iter();
        files.retain(|_| keep.next().unwrap_or(true));
        Ok(files)
    }

    /// What reads some of the table's files.
    pub(crate) async fn scan_files(
        &self,
        state: &dyn Session,
        files: Vec<LakeFile>,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.readable(state, files).await;
        if files.is_empty() {
            let schema = match projection {
                Some(projection) => Arc::new(self.schema().project(projection)?),
                None => self.schema(),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let files = files.into_iter().map(|file| {
            let values = vec![
                ScalarValue::Utf8View(Some(file.cluster)),
                ScalarValue::Date32(Some(days_since_epoch(file.date))),
            ];
            PartitionedFile::new_from_meta(file.meta).with_partition_values(values)
        });
        let groups = FileGroup::new(files.collect())
            .split_files(state.config_options().execution.target_partitions);
        let mut options = state.default_table_options().parquet;
        // A day of GPUs is one group of rows, of which the tracker knows what its footer says.
        options.global.pruning &= self.table.name != GpuSpan::TABLE.name;
        let source = ParquetSource::new(self.schema.clone())
            .with_table_parquet_options(options)
            .with_parquet_file_reader_factory(Arc::new(FileReaders {
                most_at_once: most_at_once(&self.listing.lake),
                store: self.listing.store.clone(),
                footers: state.runtime_env().cache_manager.get_file_metadata_cache(),
                seen: self.seen.clone(),
            }));
        let config = FileScanConfigBuilder::new(
            ObjectStoreUrl::parse(STORE_URL.as_str())?,
            Arc::new(source),
        )
        .with_file_groups(groups)
        .with_statistics(Statistics::new_unknown(&self.schema()))
        .with_projection_indices(projection.cloned())?
        .with_limit(limit)
        .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    /// Opens the footers of files that the trackers do not know; one that cannot be read is set aside
    /// and named, not fatal. A question that met one of those that they know is asked again, and
    /// opens them all.
    async fn readable(&self, state: &dyn Session, files: Vec<LakeFile>) -> Vec<LakeFile> {
        let store = &self.listing.store;
        if self.listing.lake.folder().is_some() && !self.listing.is_read_elsewhere {
            store.hold_latest(files.iter().map(|file| &file.meta)).await;
        }
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        let checked = stream::iter(files).map(|file| {
            let (store, cache) = (store.clone(), cache.clone());
            let is_trusted = file.facts.is_some() && !self.listing.is_careful;
            async move {
                if is_trusted {
                    return (file, None);
                }
                // DataFusion finds what is read here in its cache, so nothing is read twice.
                let read = DFParquetMetadata::new(store.as_ref(), &file.meta)
                    .with_file_metadata_cache(Some(cache))
                    .fetch_metadata()
                    .await;
                (file, read.err())
            }
        });
        let checked: Vec<_> = checked.buffered(8).collect().await;
        let mut seen = self.seen.lock().expect("no holder of this lock panics");
        let mut readable = Vec::with_capacity(checked.len());
        for (file, error) in checked {
            match error {
                None => {
                    seen.opened += 1;
                    let is_small = file.meta.size <= most_at_once(&self.listing.lake);
                    if !is_small || self.listing.is_read_elsewhere {
                        seen.in_parts.push(file.meta.clone());
                    }
                    readable.push(file);
                }
                Some(error) => {
                    seen.skipped.push(SkippedFile {
                        path: self.listing.lake.shown(&file.meta.location),
                        reason: error.strip_backtrace(),
                    });
                    seen.failed.push(file.meta);
                }
            }
        }
        readable
    }
}

#[async_trait]
impl TableProvider for LakeTable {
    fn schema(&self) -> SchemaRef {
        self.schema.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // Files and row groups are skipped by a filter; the rows of the rest still pass it.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wanted = |mut files: Vec<LakeFile>| {
            files.retain(|file| (self.chosen)(file));
            self.pruned(state, files, filters)
        };
        let since = self.listing.since(self.table, wanted)?;
        let files = self.listing.files(self.table, since).await;
        let files = wanted(files.map_err(|error| DataFusionError::External(error.into()))?)?;
        self.scan_files(state, files, projection, limit).await
    }
}

impl fmt::Debug for LakeTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LakeTable({})", self.table.name)
    }
}

/// Which of some containers may hold rows that pass the filters.
pub(crate) fn keep(
    state: &dyn Session,
    schema: &SchemaRef,
    filters: &[Expr],
    containers: &dyn PruningStatistics,
) -> Result<Vec<bool>> {
    let Some(filter) = conjunction(filters.iter().cloned()) else {
        return Ok(vec![true; containers.num_containers()]);
    };
    let filter = state.create_physical_expr(filter, &DFSchema::try_from(schema.clone())?)?;
    let predicate =
        PruningPredicateBuilder::new().with_file_schema(schema.clone()).try_build(filter)?;
    predicate.prune(containers)
}

/// What is known of each file without opening it, in DataFusion's terms.
struct FileStatistics<'a> {
    files: &'a [LakeFile],
}

impl FileStatistics<'_> {
    /// A column's bound in each file: of the path's columns exactly, of moments by the tracker.
    fn bound(&self, column: &Column, bound: fn(&TimeRange) -> Option<i64>) -> Option<ArrayRef> {
        match column.name() {
            "cluster" => Some(Arc::new(StringViewArray::from_iter_values(
                self.files.iter().map(|file| &file.cluster),
            ))),
            "date" => Some(Arc::new(Date32Array::from_iter_values(
                self.files.iter().map(|file| days_since_epoch(file.date)),
            ))),
            name => {
                let bounds: TimestampMicrosecondArray =
                    self.times(name).map(|range| range.and_then(bound)).collect();
                Some(Arc::new(bounds.with_timezone("UTC")))
                    .filter(|_| self.times(name).any(|range| range.is_some()))
                    .map(|array| array as ArrayRef)
            }
        }
    }

    fn times<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Option<&'a TimeRange>> {
        self.files.iter().map(move |file| file.facts.as_ref()?.times.get(name))
    }
}

impl PruningStatistics for FileStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |range| range.min)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |range| range.max)
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        if ["cluster", "date"].contains(&column.name()) {
            return Some(Arc::new(UInt64Array::from(vec![0; self.files.len()])));
        }
        let nulls: UInt64Array =
            self.times(column.name()).map(|range| range.map(|range| range.nulls)).collect();
        Some(Arc::new(nulls))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows: UInt64Array =
            self.files.iter().map(|file| file.facts.as_ref().map(|facts| facts.rows)).collect();
        Some(Arc::new(rows))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// Strings as DataFusion groups them fastest.
fn view_strings(schema: &Schema) -> Schema {
    Schema::new(
        schema
            .fields()
            .iter()
            .map(|field| match field.data_type() {
                DataType::Utf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
                _ => field.as_ref().clone(),
            })
            .collect::<Vec<_>>(),
    )
}

/// A date as Arrow counts it.
pub(crate) fn days_since_epoch(date: Date) -> i32 {
    let epoch = jiff::civil::date(1970, 1, 1);
    (date - epoch).get_days()
}
