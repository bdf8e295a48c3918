//! The table `gpu_span` as a question sees it: every day once, whatever state it is in.
//!
//! A day that is compacted is read from its file; the spans of one that is not are made of its
//! samples, in memory, when a statement reads the table, and only of days that pass its filters.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
    UInt64Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use lake::{GpuDay, GpuFiles, LakeFile};
use record::{GpuSpan, Record, Table};
use report::SkippedFile;

use crate::lake_table::{Chosen, LakeTable, days_since_epoch, keep};
use crate::listing::{Listing, Since, covers};
use crate::memory::{held, passed_on};
use crate::session::Seen;

static GPU_SPAN: Table = GpuSpan::TABLE;

pub(crate) struct GpuSpanTable {
    /// Reads the days that are compacted.
    compacted: LakeTable,
    listing: Arc<Listing>,
    /// The clusters that are asked about; none named means all.
    clusters: Vec<String>,
    seen: Arc<Mutex<Seen>>,
    /// A statement may read the table more than once, at the same time.
    known: futures::lock::Mutex<Known>,
}

/// What was found out so far; a question sees one state of the lake.
#[derive(Default)]
struct Known {
    days: Option<(Since, Arc<Vec<GpuDay>>)>,
    /// The spans of some days that are not compacted.
    made: HashMap<Vec<Place>, Arc<Vec<RecordBatch>>>,
    /// What these take.
    held: Vec<MemoryReservation>,
}

/// A day of a cluster.
type Place = (String, Date);

impl GpuSpanTable {
    pub(crate) fn new(
        listing: Arc<Listing>,
        clusters: Vec<String>,
        seen: Arc<Mutex<Seen>>,
    ) -> GpuSpanTable {
        let all: Chosen = Arc::new(|_| true);
        let compacted = LakeTable::new(listing.clone(), &GPU_SPAN, all, seen.clone());
        GpuSpanTable { compacted, listing, clusters, seen, known: futures::lock::Mutex::default() }
    }

    /// The days of which something is known, since one.
    async fn days(&self, known: &mut Known, since: Since) -> anyhow::Result<Arc<Vec<GpuDay>>> {
        if let Some((listed, days)) = &known.days
            && covers(*listed, since)
        {
            return Ok(days.clone());
        }
        let mut days = self.listing.lake.gpu_days(&self.listing.trackers, since).await?;
        days.retain(|day| self.clusters.is_empty() || self.clusters.contains(&day.cluster));
        Ok(known.days.insert((since, Arc::new(days))).1.clone())
    }

    /// The first day of which something may be told in what passes the filters, or be carried into it.
    fn since(&self, state: &dyn Session, filters: &[Expr]) -> Result<Since> {
        let wanted = |files| self.compacted.pruned(state, files, filters);
        let first = self.listing.since(&GPU_SPAN, wanted)?;
        let holds = self.listing.trackers.values().map(|tracker| days_back(tracker.hold()));
        let back = holds.max().unwrap_or(0).days();
        Ok(first.map(|first| first.saturating_sub(back)))
    }

    fn hold(&self, cluster: &str) -> SignedDuration {
        self.listing.trackers.get(cluster).cloned().unwrap_or_default().hold()
    }

    /// The spans of some days that are not compacted.
    async fn made(
        &self,
        known: &mut Known,
        days: &[GpuDay],
        places: Vec<Place>,
        held: MemoryReservation,
    ) -> anyhow::Result<Arc<Vec<RecordBatch>>> {
        if let Some(batches) = known.made.get(&places) {
            return Ok(batches.clone());
        }
        let mut by_cluster: BTreeMap<&str, BTreeSet<Date>> = BTreeMap::new();
        for (cluster, date) in &places {
            by_cluster.entry(cluster).or_default().insert(*date);
        }
        let mut batches = Vec::new();
        for (cluster, dates) in by_cluster {
            let hold = self.hold(cluster);
            let needed = needed(cluster, &dates, days, hold);
            let open = self.listing.lake.open_gpu_spans(cluster, &needed, hold).await?;
            let mut seen = self.seen.lock().expect("no holder of this lock panics");
            // One that is gone was compacted since: as any file that changed, it has the question
            // asked again.
            let met = open.read.iter().chain(open.skipped.iter().map(|(file, _)| file));
            let before = seen.in_parts.len();
            seen.in_parts.extend(met.map(|file| file.meta.clone()));
            seen.opened += seen.in_parts.len() - before;
            seen.skipped.extend(open.skipped.iter().map(|(file, reason)| SkippedFile {
                path: self.listing.lake.shown(&file.meta.location),
                reason: reason.clone(),
            }));
            drop(seen);
            let mut spans: Vec<(Date, GpuSpan)> = open
                .spans
                .into_iter()
                .map(|span| (span.start_time.to_zoned(TimeZone::UTC).date(), span))
                .filter(|(date, _)| dates.contains(date))
                .collect();
            held.try_grow(spans.capacity() * size_of::<(Date, GpuSpan)>())?;
            // By GPU rather than by day, as the files of spans are within a day.
            spans.sort_by(|(_, one), (_, other)| one.compare_place(other));
            for rows in spans.chunks(ROWS_AT_ONCE) {
                batches.push(batch(&self.schema(), cluster, rows)?);
            }
            held.try_resize(batches.iter().map(RecordBatch::get_array_memory_size).sum())?;
        }
        known.held.push(held);
        Ok(known.made.entry(places).or_insert(Arc::new(batches)).clone())
    }
}

/// As many as DataFusion takes at once.
const ROWS_AT_ONCE: usize = 8192;

/// The days whose spans are asked for, and those before from which something may be carried: of
/// them the files that are late enough to carry.
fn needed(
    cluster: &str,
    dates: &BTreeSet<Date>,
    days: &[GpuDay],
    hold: SignedDuration,
) -> Vec<GpuDay> {
    let days_back = days_back(hold);
    let mut needed: Vec<GpuDay> = Vec::new();
    for day in days.iter().filter(|day| day.cluster == cluster) {
        if dates.contains(&day.date) {
            needed.push(day.clone());
            continue;
        }
        let mut after = day.date;
        let carries = (0..days_back).any(|_| match after.tomorrow() {
            Ok(next) => {
                after = next;
                dates.contains(&next)
            }
            Err(_) => false,
        });
        if !carries {
            continue;
        }
        let mut day = day.clone();
        if let GpuFiles::Samples(files) = &mut day.files {
            let from = midnights(day.date).1.saturating_sub(hold.as_micros() as i64);
            let is_late = |file: &LakeFile| {
                let times = file.facts.as_ref().and_then(|facts| facts.times.get("time"));
                times.is_none_or(|times| times.max.is_none_or(|last| last >= from))
            };
            files.retain(is_late);
        }
        needed.push(day);
    }
    needed
}

/// How many days before one a look may lie that holds on into it.
fn days_back(hold: SignedDuration) -> i64 {
    hold.as_hours() / 24 + 1
}

/// Spans as rows of the table.
fn batch(
    schema: &SchemaRef,
    cluster: &str,
    spans: &[(Date, GpuSpan)],
) -> anyhow::Result<RecordBatch> {
    let rows: Vec<&GpuSpan> = spans.iter().map(|(_, span)| span).collect();
    let columns = GpuSpan::to_batch(&rows);
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for (column, field) in columns.columns().iter().zip(schema.fields()) {
        arrays.push(cast(column, field.data_type())?);
    }
    let dates = spans.iter().map(|(date, _)| days_since_epoch(*date));
    arrays.push(Arc::new(StringViewArray::from_iter_values(spans.iter().map(|_| cluster))));
    arrays.push(Arc::new(Date32Array::from_iter_values(dates)));
    Ok(RecordBatch::try_new(schema.clone(), arrays)?)
}

#[async_trait]
impl TableProvider for GpuSpanTable {
    fn schema(&self) -> SchemaRef {
        self.compacted.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.compacted.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut known = self.known.lock().await;
        let since = self.since(state, filters)?;
        let days = self.days(&mut known, since).await.map_err(passed_on)?;
        // What a day's last look holds beyond midnight may be all that is known of the next.
        let mut places: BTreeSet<Place> = BTreeSet::new();
        for day in days.iter() {
            places.insert((day.cluster.clone(), day.date));
            places.extend(day.date.tomorrow().ok().map(|next| (day.cluster.clone(), next)));
        }
        let mut places: Vec<Place> = places.into_iter().collect();
        let keep = keep(state, &self.schema(), filters, &DayStatistics { places: &places })?;
        let mut keep = keep.into_iter();
        places.retain(|_| keep.next().unwrap_or(true));

        let mut files: BTreeMap<Place, LakeFile> = BTreeMap::new();
        for day in days.iter() {
            if let GpuFiles::Spans(file) = &day.files {
                files.insert((day.cluster.clone(), day.date), file.as_ref().clone());
            }
        }
        let (compacted, open): (Vec<Place>, Vec<Place>) =
            places.into_iter().partition(|place| files.contains_key(place));
        let compacted = compacted.iter().filter_map(|place| files.remove(place)).collect();
        let compacted = self.compacted.pruned(state, compacted, filters)?;
        let from_files = self.compacted.scan_files(state, compacted, projection, limit).await?;
        let held = held(&state.runtime_env().memory_pool, "the spans of days that are not over");
        let made = self.made(&mut known, &days, open, held).await.map_err(passed_on)?;
        drop(known);
        if made.is_empty() {
            return Ok(from_files);
        }
        let from_samples = MemorySourceConfig::try_new_exec(
            &[made.as_ref().clone()],
            self.schema(),
            projection.cloned(),
        )?;
        UnionExec::try_new(vec![from_files, from_samples])
    }
}

impl fmt::Debug for GpuSpanTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GpuSpanTable")
    }
}

/// What a day says of its spans: they lie in it.
struct DayStatistics<'a> {
    places: &'a [Place],
}

impl DayStatistics<'_> {
    fn bound(&self, column: &Column, midnight: fn((i64, i64)) -> i64) -> Option<ArrayRef> {
        match column.name() {
            "cluster" => Some(Arc::new(StringViewArray::from_iter_values(
                self.places.iter().map(|(cluster, _)| cluster),
            ))),
            "date" => Some(Arc::new(Date32Array::from_iter_values(
                self.places.iter().map(|(_, date)| days_since_epoch(*date)),
            ))),
            "start_time" | "end_time" => Some(Arc::new(
                TimestampMicrosecondArray::from_iter_values(
                    self.places.iter().map(|(_, date)| midnight(midnights(*date))),
                )
                .with_timezone("UTC"),
            )),
            _ => None,
        }
    }
}

/// A day's first moment and the next day's, in microseconds.
fn midnights(date: Date) -> (i64, i64) {
    let midnight = |date: Date| {
        date.to_zoned(TimeZone::UTC).expect("UTC has every midnight").timestamp().as_microsecond()
    };
    let next = date.tomorrow().map_or(Timestamp::MAX.as_microsecond(), midnight);
    (midnight(date), next)
}

impl PruningStatistics for DayStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |(first, _)| first)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |(_, next)| next)
    }

    fn num_containers(&self) -> usize {
        self.places.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let known = ["cluster", "date", "start_time", "end_time"].contains(&column.name());
        known.then(|| Arc::new(UInt64Array::from(vec![0; self.places.len()])) as ArrayRef)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
