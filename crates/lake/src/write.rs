//! Records into files, whole or not at all.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use hashbrown::HashMap;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use object_store::path::Path;
use record::{Collection, GpuSample, GpuSpan, Job, Live, Record, Span};

use crate::merge::{MergedRow, merge, sort};
use crate::observe::{Snapshot, observe};
use crate::parquet_file::Footer;
use crate::publish::Publisher;
use crate::{GpuModels, Heard, Lake, LakeFile, Tracker, parquet_file, path};

/// The only one that may change a cluster's files.
pub struct Writer {
    pub(crate) lake: Lake,
    pub(crate) cluster: String,
    pub(crate) tracker: Tracker,
    pub(crate) files: Publisher,
}

/// What a write did to the lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub added: usize,
    pub changed: usize,
}

impl std::ops::AddAssign for Change {
    fn add_assign(&mut self, other: Change) {
        self.added += other.added;
        self.changed += other.changed;
    }
}

impl Writer {
    pub(crate) async fn open(lake: Lake, cluster: &str) -> Result<Writer> {
        let (mut writer, unsummed) = Writer::begin(lake, cluster).await?;
        for file in unsummed {
            // One that cannot be read is named where it is asked about; the others are still worth
            // adding up.
            if let Err(error) = writer.sum_up_again(&file.meta.location).await {
                tracing::warn!("cannot add up its jobs: {error:#}");
            }
        }
        writer.remove_compacted_samples().await?;
        Ok(writer)
    }

    /// The same with the files of jobs that are still to be added up.
    pub(crate) async fn begin(lake: Lake, cluster: &str) -> Result<(Writer, Vec<LakeFile>)> {
        let files = Publisher::open(&lake, cluster).await?;
        let mut tracker = Tracker::from_bytes(files.read(&path::tracker(cluster)).await?)
            .with_open_from_bytes(files.read(&path::open_jobs(cluster)).await?);
        let unsummed = tracker.reconcile(&lake, cluster).await?;
        Ok((Writer { lake, cluster: cluster.to_owned(), tracker, files }, unsummed))
    }

    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Says how long one look at the cluster holds, for questions about days that are not over.
    pub fn set_hold(&mut self, hold: SignedDuration) {
        self.tracker.hold_seconds = u32::try_from(hold.as_secs()).ok();
    }

    /// Takes note that an access point answered about a time, after what it said was written.
    pub fn heard(&mut self, access_point: &str, time: Heard) {
        self.tracker.note_heard(access_point, time);
    }

    /// The same of a server that keeps job ads.
    pub fn heard_of_server(&mut self, server: &str, time: Heard) {
        self.tracker.note_heard_of_server(server, time);
    }

    /// Takes note that all that was observed of jobs until a moment is pushed to a sink.
    pub fn set_pushed(&mut self, sink: &str, until: Timestamp) {
        self.tracker.pushed.insert(sink.to_owned(), until);
    }

    /// Says which GPUs' models have to be asked for.
    pub fn set_nameless_gpus(&mut self, gpu_ids: BTreeSet<String>) {
        self.tracker.nameless_gpus = gpu_ids;
    }

    /// Stores the models of GPUs that samples show. A later sample replaces the model of an earlier one:
    /// some ids, such as `CUDA0`, belong to a place in the machine.
    pub fn learn_gpu_models<'a>(&mut self, samples: impl IntoIterator<Item = &'a GpuSample>) {
        for sample in samples {
            let Some(model) = &sample.device_name else { continue };
            let known = &mut self.tracker.gpu_models;
            let is_known = known
                .get(&*sample.machine)
                .and_then(|gpus| gpus.get(&*sample.gpu_id))
                .is_some_and(|known| *known == **model);
            if !is_known {
                let gpus = known.entry(sample.machine.to_string()).or_default();
                gpus.insert(sample.gpu_id.to_string(), model.to_string());
            }
        }
    }

    /// Adds models of GPUs that another lake has learned.
    pub fn add_gpu_models(&mut self, models: &GpuModels) {
        for (machine, gpus) in models {
            let known = self.tracker.gpu_models.entry(machine.clone()).or_default();
            known.extend(gpus.iter().map(|(id, model)| (id.clone(), model.clone())));
        }
    }

    /// Adds rows, or merges them into stored rows with the same key. Each file is
    /// read, merged and replaced; one that would say the same is left alone.
    ///
    /// Samples of a compacted day that say what its spans say change nothing; others are an error,
    /// [`LateSample`](crate::LateSample).
    pub async fn upsert<'a, R: Record>(
        &mut self,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<Change> {
        let rows: Vec<&R> = rows.into_iter().collect();
        if let Some(jobs) = all_as::<Job, R>(&rows) {
            return self.upsert_jobs(&jobs).await;
        }
        let mut change = Change::default();
        for (path, came) in self.by_file(rows) {
            if let Some(samples) = self.late_samples(&came).await? {
                self.check_late(&samples).await?;
                continue;
            }
            let stored = self.stored(&path).await?;
            let merged = merge::<R>(&stored, &came);
            let (added, changed) = (merged.added, merged.changed);
            if added + changed > 0 {
                self.replace(&path, &merged.rows()).await?;
            }
            change += Change { added, changed };
        }
        Ok(change)
    }

    /// Puts rows that were derived anew in the place of a file's, by [`Record::rederive`]. Rows of which
    /// there is nothing new stay if `keep_others`; so do all rows of a file that already says this.
    /// Samples of a compacted day are treated as by [`upsert`](Writer::upsert): its spans are what to
    /// restore.
    pub async fn restore<R: Record>(
        &mut self,
        day: Date,
        derived: &[R],
        keep_others: bool,
    ) -> Result<Change> {
        let mut change = Change::default();
        let of_day = |row: &&R| path::date(row.moment()) == day;
        for (path, mut rows) in self.by_file(derived.iter().filter(of_day)) {
            if let Some(samples) = self.late_samples(&rows).await? {
                self.check_late(&samples).await?;
                continue;
            }
            let stored: Vec<R> = match self.stored(&path).await {
                Ok(stored) => stored,
                Err(error) => {
                    tracing::warn!("deriving it anew: {error:#}");
                    Vec::new()
                }
            };
            rows.sort_unstable_by(|one, other| one.compare_key(other));
            let mut merged: Vec<MergedRow<'_, R>> =
                rows.iter().copied().map(MergedRow::Unchanged).collect();
            for row in &stored {
                match rows.binary_search_by(|known| known.compare_key(row)) {
                    Ok(place) => {
                        merged[place] = MergedRow::of(rows[place].rederive(row), rows[place], row);
                    }
                    Err(_) if keep_others => merged.push(MergedRow::Unchanged(row)),
                    Err(_) => {}
                }
            }
            let (count, before) = (merged.len(), stored.len());
            let mut rows: Vec<&R> = merged.iter().map(MergedRow::get).collect();
            sort(&mut rows);
            // A large file of jobs may lie in parts.
            let mut stored: Vec<&R> = stored.iter().collect();
            sort(&mut stored);
            if rows == stored {
                continue;
            }
            change.added += count.saturating_sub(before);
            change.changed += stored.iter().zip(&rows).filter(|(one, other)| one != other).count();
            match all_as::<Job, R>(&rows) {
                Some(jobs) => self.replace_jobs(&path, &jobs).await?,
                None => self.replace(&path, &rows).await?,
            }
        }
        if R::TABLE.name == GpuSpan::TABLE.name {
            // A day that now has spans needs its samples no more.
            self.remove_compacted_samples().await?;
        }
        Ok(change)
    }

    /// Takes note of a run of a source.
    pub async fn collected(&mut self, collections: &[Collection]) -> Result<()> {
        self.upsert(collections).await?;
        self.tracker.note_collections(collections);
        Ok(())
    }

    /// Lays looks at all things of a kind, in the order of their times, over what is known.
    pub async fn observe<S: Span>(&mut self, snapshots: Vec<Snapshot<S>>) -> Result<Change> {
        let Some((first, last)) = snapshots.first().zip(snapshots.last()) else {
            return Ok(Change::default());
        };
        let mut days: BTreeMap<Date, Vec<S>> = BTreeMap::new();
        let mut day = path::date(first.time);
        // What holds after the last look may reach into the next day.
        let last = path::date(last.time).tomorrow().context("the end of time")?;
        while day <= last {
            days.insert(day, self.stored(&self.file::<S>(path::midnight(day))).await?);
            day = day.tomorrow().context("the end of time")?;
        }
        let before = days.clone();
        observe(&mut days, snapshots);
        let mut change = Change::default();
        for (day, rows) in days {
            let mut rows: Vec<&S> = rows.iter().collect();
            sort(&mut rows);
            let before = before.get(&day).map_or(&[][..], Vec::as_slice);
            if !rows.iter().copied().eq(before) {
                self.replace(&self.file::<S>(path::midnight(day)), &rows).await?;
                change.added += rows.len().saturating_sub(before.len());
                change.changed +=
                    before.iter().zip(&rows).filter(|(one, other)| one != *other).count();
            }
        }
        Ok(change)
    }

    /// Keeps what a command printed about a span of time that it was asked for.
    pub async fn archive_window(
        &self,
        source: &str,
        window: Date,
        time: Timestamp,
        frame: &[u8],
    ) -> Result<()> {
        let name = time.strftime("%Y%m%dT%H%M%S.%6fZ").to_string();
        let path = path::raw(source, &self.cluster, window, &name);
        self.files.publish(&path, frame.to_vec()).await
    }

    /// Keeps what a command printed about a moment, beside what it printed in the same hour.
    pub async fn archive_moment(&self, source: &str, time: Timestamp, frame: &[u8]) -> Result<()> {
        let hour = time.strftime("%H").to_string();
        let path = path::raw(source, &self.cluster, path::date(time), &hour);
        let mut frames = self.files.read(&path).await?.map(Vec::from).unwrap_or_default();
        frames.extend_from_slice(frame);
        self.files.publish(&path, frames).await
    }

    /// What was last seen of the cluster; nothing if nobody looked, or if it cannot be read.
    pub async fn live(&self) -> Result<Live> {
        let Some(bytes) = self.files.read(&path::live(&self.cluster)).await? else {
            return Ok(Live::default());
        };
        Ok(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!("beginning what was last seen of {} anew: {error}", self.cluster);
            Live::default()
        }))
    }

    /// Keeps what was last seen of the cluster.
    pub async fn put_live(&self, live: &Live) -> Result<()> {
        let bytes = serde_json::to_vec(live).context("cannot write what was last seen")?;
        self.files.publish(&path::live(&self.cluster), bytes).await
    }

    /// Writes the tracker, and lets the next writer in. One that does not get this far loses nothing:
    /// the next one reads what the tracker lacks from the files.
    pub async fn finish(self) -> Result<()> {
        self.save().await?;
        self.files.close().await
    }

    /// Writes the tracker as far as it is.
    pub(crate) async fn save(&self) -> Result<()> {
        let (open, known) = (self.tracker.open_to_bytes(), self.tracker.to_bytes());
        self.files.publish(&path::open_jobs(&self.cluster), open).await?;
        self.files.publish(&path::tracker(&self.cluster), known).await
    }

    /// Lets the next writer in, after nothing was written that the tracker should know.
    pub async fn close(self) -> Result<()> {
        self.files.close().await
    }

    /// The rows of a file, if they are samples and came after their day was compacted.
    async fn late_samples<'a, R: Record>(
        &self,
        rows: &[&'a R],
    ) -> Result<Option<Vec<&'a GpuSample>>> {
        let Some(samples) = all_as::<GpuSample, R>(rows) else { return Ok(None) };
        let Some(first) = samples.first() else { return Ok(None) };
        Ok(self.is_compacted(path::date(first.time)).await?.then_some(samples))
    }

    pub(crate) fn file<R: Record>(&self, moment: Timestamp) -> Path {
        path::file(&R::TABLE, &self.cluster, moment)
    }

    pub(crate) fn by_file<'a, R: Record>(
        &self,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> BTreeMap<Path, Vec<&'a R>> {
        // A row's hour is told apart faster than its path.
        let mut hours: HashMap<i64, Vec<&R>> = HashMap::new();
        for row in rows {
            debug_assert_eq!(row.cluster(), self.cluster);
            hours.entry(row.moment().as_second().div_euclid(3600)).or_default().push(row);
        }
        let mut files: BTreeMap<Path, Vec<&R>> = BTreeMap::new();
        for rows in hours.into_values() {
            files.entry(self.file::<R>(rows[0].moment())).or_default().extend(rows);
        }
        files
    }

    /// The rows of a file that is about to be rewritten; none if there is no such file.
    pub(crate) async fn stored<R: Record>(&self, path: &Path) -> Result<Vec<R>> {
        let Some(bytes) = self.files.read(path).await? else {
            return Ok(Vec::new());
        };
        parquet_file::decode_to_rewrite(&self.cluster, bytes).with_context(|| self.no_merge(path))
    }

    pub(crate) fn no_merge(&self, path: &Path) -> String {
        format!(
            "cannot merge into {}; move it away and collect again, or restore it from a copy",
            self.lake.shown(path)
        )
    }

    pub(crate) async fn replace<R: Record>(&mut self, path: &Path, rows: &[&R]) -> Result<()> {
        self.put(path, parquet_file::encode(rows)).await
    }

    pub(crate) async fn put(
        &mut self,
        path: &Path,
        encoded: Result<(Vec<u8>, Footer)>,
    ) -> Result<()> {
        let (bytes, footer) =
            encoded.with_context(|| format!("cannot write {}", self.lake.shown(path)))?;
        self.files.publish(path, bytes).await?;
        let meta = self.files.published(path).await?;
        self.tracker.note_file(&self.lake, &meta, footer);
        Ok(())
    }
}

/// The rows, if they are of that table.
fn all_as<'a, W: Record, R: Record>(rows: &[&'a R]) -> Option<Vec<&'a W>> {
    rows.iter().map(|row| (*row as &dyn Any).downcast_ref()).collect()
}
