//! Records in, Parquet files out, and back: a folder that any other program can read too.
//!
//! A commit replaces one file, so a plain glob over `processed/<table>` is right at any
//! moment. What was there stays until what replaces it is whole and on the disk.

mod archive;
mod assemble;
mod compact;
mod foreign;
mod job_file;
mod known_jobs;
mod lock;
mod merge;
mod observe;
mod parquet_file;
mod path;
mod prune;
mod tracker;
mod version;
mod write;
mod write_jobs;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use futures::TryStreamExt;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use object_store::local::LocalFileSystem;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use record::{JobDay, Live, NodeDay, Record, TABLES, Table};

use tracker::Summed;

pub use archive::{Archive, Asked, replay};
pub use compact::{Compacted, GpuDay, GpuFiles, LateSample, OpenGpuSpans};
pub use foreign::{ForeignRows, read_foreign, read_foreign_table};
pub use known_jobs::OpenJob;
pub use observe::Snapshot;
pub use parquet_file::TimeRange;
pub use prune::Pruned;
pub use tracker::{DayFacts, FileFacts, Heard, IMPORT, LAG, Tracker};
pub use version::Version;
pub use write::{Change, Writer};

/// A lake: the folder, and the store through which its files are read.
#[derive(Clone)]
pub struct Lake {
    root: PathBuf,
    store: Arc<dyn ObjectStore>,
    zone: TimeZone,
    step: Option<Step>,
    /// From more rows than this on, a file of jobs that are not all over is kept in parts.
    large_file: usize,
}

/// Called before each step that changes the disk, with the step's name: a test stops there.
type Step = Arc<dyn Fn(&str) + Send + Sync>;

/// What is known of each cluster's files, by its name.
pub type Trackers = BTreeMap<String, Tracker>;

/// Where an answer lies in the archive.
#[derive(Clone, Debug)]
pub struct Frame {
    path: object_store::path::Path,
    /// Of the file's frames, from 0.
    place: usize,
}

/// One file of a table.
#[derive(Clone, Debug)]
pub struct LakeFile {
    pub meta: ObjectMeta,
    pub table: &'static str,
    pub cluster: String,
    pub date: Date,
    /// What the tracker knows of it; nothing if the file changed since.
    pub facts: Option<FileFacts>,
}

impl LakeFile {
    fn place(&self) -> (&str, Date) {
        (&self.cluster, self.date)
    }

    /// When it was last changed.
    pub fn modified(&self) -> Timestamp {
        modified(&self.meta)
    }
}

impl Lake {
    /// Opens a lake that is there.
    pub fn open(root: &Path) -> Result<Lake> {
        if !root.is_dir() {
            bail!(
                "there is no data at {}; `plimsoll collect` makes it, `plimsoll demo` shows an example",
                root.display()
            );
        }
        // Asked for now, so that one message says it and not each later step.
        std::fs::read_dir(root).with_context(|| format!("cannot read {}", root.display()))?;
        let root = root
            .canonicalize()
            .with_context(|| format!("cannot find the way to {}", root.display()))?;
        let store = LocalFileSystem::new_with_prefix(&root)
            .with_context(|| format!("cannot read {}", root.display()))?;
        Ok(Lake {
            root,
            store: Arc::new(store),
            zone: TimeZone::UTC,
            step: None,
            large_file: parquet_file::ROWS_A_GROUP,
        })
    }

    /// Opens a lake, making the folder if there is none.
    pub fn create(root: &Path) -> Result<Lake> {
        std::fs::create_dir_all(root)
            .with_context(|| format!("cannot make the folder {}", root.display()))?;
        Lake::open(root)
    }

    /// The same lake, whose days are added up by this zone's calendar: the one in which questions
    /// will be asked.
    pub fn with_zone(mut self, zone: &TimeZone) -> Lake {
        self.zone = zone.clone();
        self
    }

    /// The same lake, which tells `step` before it changes the disk.
    pub fn with_step(mut self, step: impl Fn(&str) + Send + Sync + 'static) -> Lake {
        self.step = Some(Arc::new(step));
        self
    }

    /// The same lake, in which files of jobs are large from fewer rows on.
    #[cfg(test)]
    pub(crate) fn with_large_file(mut self, rows: usize) -> Lake {
        self.large_file = rows;
        self
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What reads the files; paths in it begin below [`root`](Lake::root).
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    /// The only one that may change a cluster's files, until it is dropped.
    pub async fn writer(&self, cluster: &str) -> Result<Writer> {
        Writer::open(self.clone(), cluster).await
    }

    /// Who is collecting a cluster right now: the number of the process; nothing if nobody is.
    pub fn collector(&self, cluster: &str) -> Result<Option<String>> {
        lock::holder(&self.root, cluster)
    }

    /// The clusters that the lake has files of, by name.
    pub async fn clusters(&self) -> Result<Vec<String>> {
        let mut clusters = BTreeSet::new();
        for table in TABLES {
            let folder = path::table_folder(table.name);
            let listed = self
                .store
                .list_with_delimiter(Some(&folder))
                .await
                .with_context(|| format!("cannot list {folder}"))?;
            clusters.extend(listed.common_prefixes.iter().filter_map(path::cluster_of_folder));
        }
        Ok(clusters.into_iter().collect())
    }

    /// The files of a table, by cluster and date, each with what the trackers know of it.
    pub async fn files(&self, table: &Table, trackers: &Trackers) -> Result<Vec<LakeFile>> {
        let mut files = Vec::new();
        let folder = path::table_folder(table.name);
        let mut listed = self.store.list(Some(&folder));
        while let Some(meta) =
            listed.try_next().await.with_context(|| format!("cannot list {folder}"))?
        {
            if let Some(file) = path::parse(&meta.location) {
                let tracker = trackers.get(&file.cluster);
                files.push(LakeFile {
                    table: table.name,
                    facts: tracker.and_then(|tracker| tracker.facts(&meta)).cloned(),
                    cluster: file.cluster,
                    date: file.date,
                    meta,
                });
            }
        }
        files.sort_by(|one, other| one.meta.location.cmp(&other.meta.location));
        Ok(files)
    }

    /// The trackers of all clusters that the lake has files of, by name.
    pub async fn trackers(&self) -> Result<Trackers> {
        let mut trackers = Trackers::new();
        for cluster in self.clusters().await? {
            let tracker = self.tracker(&cluster).await?;
            trackers.insert(cluster, tracker);
        }
        Ok(trackers)
    }

    /// The tracker of a cluster as it was last written; empty if it cannot be read, for all in
    /// it can be had from the files.
    pub async fn tracker(&self, cluster: &str) -> Result<Tracker> {
        Tracker::load(self, cluster).await
    }

    /// The files of what was last seen of clusters, by name.
    pub async fn live_files(&self) -> Result<Vec<ObjectMeta>> {
        self.json_files(path::live_folder()).await
    }

    /// The files of what is known of clusters' files, by name.
    async fn tracker_files(&self) -> Result<Vec<ObjectMeta>> {
        self.json_files(path::tracker_folder()).await
    }

    async fn json_files(&self, folder: object_store::path::Path) -> Result<Vec<ObjectMeta>> {
        let listed = self.store.list_with_delimiter(Some(&folder)).await;
        let listed = listed.with_context(|| format!("cannot list {folder}"))?;
        let mut files = listed.objects;
        files.retain(|file| file.location.extension() == Some("json"));
        files.sort_by(|one, other| one.location.cmp(&other.location));
        Ok(files)
    }

    /// What was last seen of a cluster, in one of [`live_files`](Lake::live_files).
    pub async fn live(&self, file: &ObjectMeta) -> Result<Live> {
        let path = &file.location;
        let bytes = self.bytes(path).await?.with_context(|| format!("{path} is gone"))?;
        serde_json::from_slice(&bytes).with_context(|| format!("cannot read {}", self.shown(path)))
    }

    /// What was last seen of each cluster, by name. What cannot be read is left out, and told.
    pub async fn lives(&self) -> Result<Vec<Live>> {
        let mut lives = Vec::new();
        for file in self.live_files().await? {
            match self.live(&file).await {
                Ok(live) => lives.push(live),
                Err(error) => tracing::warn!("left out: {error:#}"),
            }
        }
        Ok(lives)
    }

    /// The records of one file.
    pub async fn read<R: Record>(
        &self,
        cluster: &str,
        path: &object_store::path::Path,
    ) -> Result<Vec<R>> {
        let bytes = self.bytes(path).await?.with_context(|| format!("{path} is gone"))?;
        parquet_file::decode(cluster, bytes)
            .with_context(|| format!("cannot read {}", self.shown(path)))
    }

    /// What the archive has of a cluster's answers, by the time they were asked for: what each was
    /// asked, and where it is.
    pub async fn archived(&self, cluster: &str) -> Result<Vec<(Asked, Frame)>> {
        let mut archived = Vec::new();
        let mut listed = self.store.list(Some(&path::raw_folder()));
        while let Some(meta) = listed.try_next().await.context("cannot list the archive")? {
            if path::cluster_of_raw(&meta.location).as_deref() != Some(cluster) {
                continue;
            }
            let shown = || format!("cannot read {}", self.shown(&meta.location));
            let bytes = self.bytes(&meta.location).await?.with_context(shown)?;
            for (place, frame) in archive::frames(&bytes).with_context(shown)?.iter().enumerate() {
                let asked = archive::asked(frame).with_context(shown)?;
                archived.push((asked, Frame { path: meta.location.clone(), place }));
            }
        }
        archived.sort_by(|(one, _), (other, _)| {
            (one.time, &one.command).cmp(&(other.time, &other.command))
        });
        Ok(archived)
    }

    /// The files of the archive with a source's answers about a day, the last first, and their bytes.
    pub async fn archived_about(
        &self,
        source: &str,
        cluster: &str,
        day: Date,
    ) -> Result<Vec<(object_store::path::Path, u64)>> {
        let folder = path::raw_of_day(source, cluster, day);
        let listed = self.store.list_with_delimiter(Some(&folder)).await;
        let listed = listed.with_context(|| format!("cannot list {folder}"))?;
        let mut files: Vec<_> =
            listed.objects.into_iter().map(|file| (file.location, file.size)).collect();
        files.sort_by(|one, other| other.cmp(one));
        Ok(files)
    }

    /// The frames of a file of the archive.
    pub async fn frames(&self, path: &object_store::path::Path) -> Result<Vec<Vec<u8>>> {
        let shown = || format!("cannot read {}", self.shown(path));
        let bytes = self.bytes(path).await?.with_context(shown)?;
        archive::frames(&bytes).with_context(shown)
    }

    /// A frame of the archive.
    pub async fn frame(&self, frame: &Frame) -> Result<Vec<u8>> {
        let frames = self.frames(&frame.path).await?;
        let place = frames.into_iter().nth(frame.place);
        place.with_context(|| format!("cannot read {}", self.shown(&frame.path)))
    }

    /// How many rows a file has, by its footer.
    pub async fn rows(&self, table: &Table, path: &object_store::path::Path) -> Result<u64> {
        let bytes = self.bytes(path).await?.with_context(|| format!("{path} is gone"))?;
        Ok(parquet_file::read_footer(table, &bytes)?.rows)
    }

    /// The bytes of a file; nothing if there is none.
    async fn bytes(&self, path: &object_store::path::Path) -> Result<Option<bytes::Bytes>> {
        match self.store.get(path).await {
            Ok(found) => Ok(Some(
                found.bytes().await.with_context(|| format!("cannot read {}", self.shown(path)))?,
            )),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.shown(path))),
        }
    }

    /// A path as people find the file.
    pub fn shown(&self, path: &object_store::path::Path) -> String {
        self.root.join(path.as_ref()).display().to_string()
    }

    fn step(&self, name: &str) {
        if let Some(step) = &self.step {
            step(name);
        }
    }
}

/// Those files of `job` whose jobs are added up by a zone's calendar in each of the tables of sums,
/// as they now are.
pub fn summed(
    zone: &TimeZone,
    trackers: &Trackers,
    mut jobs: Vec<LakeFile>,
    sums: &[Vec<LakeFile>],
) -> Vec<LakeFile> {
    let is_known = |file: &LakeFile| {
        let tracker = trackers.get(&file.cluster);
        file.facts.is_some() && tracker.is_some_and(|tracker| tracker.summed == Summed::by(zone))
    };
    jobs.retain(is_known);
    for files in sums {
        let places: HashSet<(&str, Date)> =
            files.iter().filter(|file| is_known(file)).map(LakeFile::place).collect();
        jobs.retain(|file| places.contains(&file.place()));
    }
    jobs
}

/// The tables that are made from `job`.
pub static SUMS: [&Table; 2] = [&JobDay::TABLE, &NodeDay::TABLE];

/// When a file was last changed.
fn modified(meta: &ObjectMeta) -> Timestamp {
    Timestamp::from_microsecond(meta.last_modified.timestamp_micros())
        .expect("a file's time lies within the years that a timestamp can say")
}

#[cfg(test)]
mod tests;
