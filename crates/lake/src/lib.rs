//! Records in, Parquet files out, and back: a folder or a bucket that any other program can read too.
//!
//! A commit replaces one file, so a plain glob over `processed/<table>` is right at any
//! moment. What was there stays until what replaces it is whole and on the disk.

mod archive;
mod assemble;
mod catch_up;
mod compact;
mod conditional_put;
mod disk_use;
mod folder_files;
mod foreign;
mod job_file;
mod known_jobs;
mod lease;
mod list;
mod lock;
mod merge;
mod observe;
mod parquet_file;
mod path;
mod place;
mod policy;
mod prune;
mod publish;
mod store_files;
mod tracker;
mod version;
mod write;
mod write_jobs;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, UpdateVersion};
use record::{JobDay, NodeDay, Record, Table};

use tracker::Summed;

pub use archive::{Archive, Asked, Frame, replay};
pub use catch_up::{Backlog, CaughtUp, Removed};
pub use compact::{Compacted, GpuDay, GpuFiles, LateSample, OpenGpuSpans};
pub use disk_use::{DiskUse, FileUse};
pub use foreign::{ForeignRows, read_foreign, read_foreign_table};
pub use known_jobs::OpenJob;
pub use list::{LakeFile, known_files};
pub use observe::Snapshot;
pub use parquet_file::TimeRange;
pub use place::{Place, StorePlace, StoreSettings};
pub use prune::Pruned;
pub use tracker::{DayFacts, FileFacts, GPU_IMPORT, GpuModels, Heard, IMPORT, LAG, Tracker};
pub use version::{Version, is_same};
pub use write::{Change, Writer};

/// A lake: where it is, and the store through which its files are read.
#[derive(Clone)]
pub struct Lake {
    place: Place,
    store: Arc<dyn ObjectStore>,
    zone: TimeZone,
    step: Option<Step>,
    /// How long the lease of a cluster holds that is not renewed.
    lease_length: Duration,
    /// From more rows than this on, a file of jobs that are not all over is kept in parts.
    large_file: usize,
}

/// Called before each step that changes a file, with the step's name: a test stops there.
type Step = Arc<dyn Fn(&str) + Send + Sync>;

/// What is known of each cluster's files, by its name.
pub type Trackers = BTreeMap<String, Tracker>;

impl Lake {
    /// Opens a lake that is there. Whether there is one in a store is known once it is asked.
    pub fn open(place: impl Into<Place>) -> Result<Lake> {
        let mut place = place.into();
        if let Place::Folder(folder) = &mut place {
            *folder = found(folder)?;
        }
        let store = place.store()?;
        Ok(Lake::of_store(place, store))
    }

    /// Opens a lake, making the folder if there is none.
    pub fn create(place: impl Into<Place>) -> Result<Lake> {
        let place = place.into();
        if let Some(folder) = place.folder() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        Lake::open(place)
    }

    /// A lake whose files are read and written through a store, which begins at its place.
    pub fn of_store(place: Place, store: Arc<dyn ObjectStore>) -> Lake {
        Lake {
            place,
            store,
            zone: TimeZone::UTC,
            step: None,
            lease_length: lease::LENGTH,
            large_file: parquet_file::ROWS_A_GROUP,
        }
    }

    /// The same lake, whose days are added up by this zone's calendar: the one in which questions
    /// will be asked.
    pub fn with_zone(mut self, zone: &TimeZone) -> Lake {
        self.zone = zone.clone();
        self
    }

    /// The same lake, which tells `step` before it changes a file.
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

    /// The same lake, whose leases hold for less long.
    #[cfg(test)]
    pub(crate) fn with_lease_length(mut self, length: Duration) -> Lake {
        self.lease_length = length;
        self
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The lake's folder, if it is in one of this machine.
    pub fn folder(&self) -> Option<&Path> {
        self.place.folder()
    }

    /// What reads the files; paths in it begin at the lake's [`place`](Lake::place).
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    /// The only one that may change a cluster's files, until it is dropped.
    pub async fn writer(&self, cluster: &str) -> Result<Writer> {
        Writer::open(self.clone(), cluster).await
    }

    /// Who is collecting a cluster right now; nothing if nobody is.
    pub async fn collector(&self, cluster: &str) -> Result<Option<String>> {
        match self.folder() {
            Some(folder) => lock::holder(folder, cluster),
            None => lease::holder(self, cluster).await,
        }
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

    /// How many rows a file has, by its footer.
    pub async fn rows(&self, table: &Table, path: &object_store::path::Path) -> Result<u64> {
        let bytes = self.bytes(path).await?.with_context(|| format!("{path} is gone"))?;
        Ok(parquet_file::read_footer(table, &bytes)?.rows)
    }

    /// The bytes of a file; nothing if there is none.
    async fn bytes(&self, path: &object_store::path::Path) -> Result<Option<Bytes>> {
        Ok(self.versioned_bytes(path).await?.map(|(bytes, _)| bytes))
    }

    /// The same, and what tells the file from one that takes its place.
    async fn versioned_bytes(
        &self,
        path: &object_store::path::Path,
    ) -> Result<Option<(Bytes, UpdateVersion)>> {
        let shown = || format!("cannot read {}", self.shown(path));
        match self.store.get(path).await {
            Ok(found) => {
                let version = conditional_put::version_of(&found.meta);
                Ok(Some((found.bytes().await.with_context(shown)?, version)))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error).with_context(shown),
        }
    }

    /// What a file now is.
    async fn head(&self, path: &object_store::path::Path) -> Result<ObjectMeta> {
        let found = self.store.head(path).await;
        let meta = found.with_context(|| format!("cannot find {}", self.shown(path)))?;
        // A store may tell of it by the name that it has in the bucket.
        Ok(ObjectMeta { location: path.clone(), ..meta })
    }

    /// Whether there is such a file.
    async fn has(&self, path: &object_store::path::Path) -> Result<bool> {
        match self.store.head(path).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => {
                Err(error).with_context(|| format!("cannot find out about {}", self.shown(path)))
            }
        }
    }

    /// A path as people find the file.
    pub fn shown(&self, path: &object_store::path::Path) -> String {
        self.place.shown(path)
    }

    fn step(&self, name: &str) {
        if let Some(step) = &self.step {
            step(name);
        }
    }
}

/// The whole way to a folder that is there and can be read.
fn found(folder: &Path) -> Result<PathBuf> {
    if !folder.is_dir() {
        bail!(
            "there is no data at {}; `plimsoll collect` makes it, `plimsoll demo` shows an example",
            folder.display()
        );
    }
    // Asked for now, so that one message says it and not each later step.
    std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    folder.canonicalize().with_context(|| format!("cannot find the way to {}", folder.display()))
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
mod faulty_store;
#[cfg(test)]
mod store_tests;
#[cfg(test)]
mod test_lake;
#[cfg(test)]
mod tests;
