//! What is known of a cluster's files without opening them.
//!
//! A tracker is a convenience: everything in it can be had from the files, and an entry counts
//! only while its file is the one it was written for. The rest comes again with the next collection:
//! how long a look holds is the configuration's word, an access point of which nothing is known is
//! asked about all the days that are asked for.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use bytes::Bytes;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use object_store::ObjectMeta;
use object_store::path::Path;
use record::{Collection, GpuSample, GpuSpan, Job, NodeSpan, QueueSpan, Record, TABLES};
use serde::{Deserialize, Serialize};

use crate::known_jobs::{KnownJobs, Lookup, OpenJob};
use crate::parquet_file::{Footer, TimeRange};
use crate::{Lake, LakeFile, SUMS, Trackers, modified, parquet_file, path, summed, version};

/// What is known of a cluster's files and days.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tracker {
    /// By path, below the lake's root.
    pub files: BTreeMap<String, FileFacts>,
    /// Days in UTC that a scheduler was asked about, by what it was asked with.
    pub days: BTreeMap<Date, DayFacts>,
    /// How `job_day` and `node_day` were made.
    #[serde(default)]
    pub(crate) summed: Summed,
    /// How long one look at the cluster holds, by the cadence of its last collection; see
    /// [`hold`](Tracker::hold).
    #[serde(default)]
    pub hold_seconds: Option<u32>,
    /// What each access point of a pool was asked about.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub access_points: BTreeMap<String, Heard>,
    /// What each server that keeps job ads was asked about, by its address and index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Heard>,
    /// Until when what was observed of jobs is pushed to each sink, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pushed: BTreeMap<String, Timestamp>,
    /// GPUs whose model has to be asked for, each by its id.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub nameless_gpus: BTreeSet<String>,
    /// The model of each GPU of a pool that was ever sampled, by machine and id. The job history names GPUs
    /// by their ids alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gpu_models: GpuModels,
    /// Days in UTC of which GPU samples were imported from gpureports. They say nothing of jobs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    imported_gpu_days: BTreeSet<Date>,
    /// The jobs of each file that may be told of again, for who writes: there may be many, so they are
    /// kept beside what every question reads.
    #[serde(skip)]
    open: BTreeMap<String, JobsOfFile>,
}

/// Models of GPUs, by machine and id.
pub type GpuModels = BTreeMap<String, BTreeMap<String, String>>;

/// The jobs of a file that may be told of again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct JobsOfFile {
    /// The file that they were found in; of another one nothing is known.
    bytes: u64,
    modified: Timestamp,
    jobs: KnownJobs,
}

/// What sums of jobs rest on; other ones are made anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summed {
    /// Of the rules by which they are made.
    version: u32,
    /// In whose calendar the days are.
    zone: String,
}

impl Summed {
    /// What this program makes.
    pub(crate) fn by(zone: &TimeZone) -> Summed {
        Summed { version: 1, zone: zone_name(zone) }
    }
}

/// What a zone is known by: two of one name have the same midnights.
fn zone_name(zone: &TimeZone) -> String {
    match zone.iana_name() {
        Some("Etc/UTC") => "UTC".to_owned(),
        Some(name) => name.to_owned(),
        None => format!("{zone:?}"),
    }
}

/// The time about which an access point or a server was asked, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    pub since: Timestamp,
    pub until: Timestamp,
}

/// What is known of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    pub bytes: u64,
    pub modified: Timestamp,
    /// What a store calls these bytes; none in a folder, which may be copied elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_tag: Option<String>,
    pub rows: u64,
    /// The range of each column of moments.
    pub times: BTreeMap<String, TimeRange>,
}

impl FileFacts {
    fn is_of(&self, meta: &ObjectMeta) -> bool {
        self.bytes == meta.size
            && match &self.e_tag {
                Some(e_tag) => version::tag(meta) == Some(e_tag),
                None => self.modified == modified(meta),
            }
    }
}

/// The source of jobs that `plimsoll import` takes over.
pub const IMPORT: &str = "slurm-usage";

/// The source of GPU samples that `plimsoll import` takes over.
pub const GPU_IMPORT: &str = "gpureports";

/// How late a scheduler's accounting may be: SLURM's trails its controller by seconds, and by more
/// while its database is away. So long after its end a day is asked about once more.
pub const LAG: SignedDuration = SignedDuration::from_hours(1);

/// How long a look holds where no collection has said so: twice the cadence of a cluster for which
/// none is configured.
const UNKNOWN_HOLD: SignedDuration = SignedDuration::from_mins(10);

/// Columns with moments at which something happened or was observed, by table. The times of
/// collections and of imports are not among them: these may be much later, and may have failed.
const OBSERVED: [(&str, &[&str]); 5] = [
    (Job::TABLE.name, &["submit_time", "start_time", "end_time"]),
    (GpuSpan::TABLE.name, &["end_time"]),
    (GpuSample::TABLE.name, &["time"]),
    (NodeSpan::TABLE.name, &["last_seen_time"]),
    (QueueSpan::TABLE.name, &["last_seen_time"]),
];

/// What is known of one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DayFacts {
    /// When the scheduler was last asked about all of the day.
    pub collected_time: Timestamp,
    /// Whether what is known of it comes from another tool's history alone.
    #[serde(default)]
    pub is_imported: bool,
}

impl Tracker {
    /// How long one look at the cluster holds if no other follows. Days of GPU samples that are
    /// not over are made spans by it when a question is asked.
    pub fn hold(&self) -> SignedDuration {
        self.hold_seconds.map_or(UNKNOWN_HOLD, |seconds| SignedDuration::from_secs(seconds.into()))
    }

    /// The latest moment up to which there is data of the cluster; nothing if there is none, or the
    /// tracker was lost.
    ///
    /// A day that was collected reaches up to its end, or to its last collection if that is earlier,
    /// even if nothing happened on it. Imported histories have few such days or none: there the moments
    /// in the rows count.
    pub fn newest_data(&self) -> Option<Timestamp> {
        let days = self.days.iter().filter_map(|(day, facts)| {
            Some(facts.collected_time.min(path::midnight(day.tomorrow().ok()?)))
        });
        let asked = self.access_points.values().chain(self.servers.values());
        let observed = self.files.iter().filter_map(|(name, facts)| {
            let table = path::table_of(name)?;
            let (_, columns) = OBSERVED.iter().find(|(known, _)| *known == table)?;
            let newest = columns.iter().filter_map(|column| facts.times.get(*column)?.max).max()?;
            Timestamp::from_microsecond(newest).ok()
        });
        days.chain(asked.map(|time| time.until)).chain(observed).max()
    }

    /// Whether GPU samples of an interval were imported, from its beginning to its end. A sample that
    /// is late by no more than a sample holds counts as being in time. Gaps between samples are not
    /// looked for: reports show them as unknown.
    pub fn has_imported_gpus(&self, cluster: &str, start: Timestamp, end: Timestamp) -> bool {
        let late = self.hold().as_micros() as i64;
        let mut day = path::date(start);
        loop {
            let Ok(next) = day.tomorrow() else { return false };
            let from = start.max(path::midnight(day)).as_microsecond();
            let until = end.min(path::midnight(next)).as_microsecond();
            let is_covered = self.imported_gpu_days.contains(&day)
                && self.gpu_times(cluster, day).is_some_and(|(first, last)| {
                    first.saturating_sub(late) <= from && last.saturating_add(late) >= until
                });
            if !is_covered {
                return false;
            }
            if path::midnight(next) >= end {
                return true;
            }
            day = next;
        }
    }

    /// The first and the last moment of a day of which there are GPU samples or spans, in microseconds.
    fn gpu_times(&self, cluster: &str, day: Date) -> Option<(i64, i64)> {
        let tables = [
            (GpuSpan::TABLE.name, "start_time", "end_time"),
            (GpuSample::TABLE.name, "time", "time"),
        ];
        let times = tables.into_iter().flat_map(|(table, first, last)| {
            let folder = format!("{}/", path::date_folder(table, cluster, day));
            let files = self.files.range(folder.clone()..);
            files.take_while(move |(name, _)| name.starts_with(&folder)).filter_map(
                move |(_, facts)| Some((facts.times.get(first)?.min?, facts.times.get(last)?.max?)),
            )
        });
        times.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))
    }

    /// What is known of a file, if it is still the one that the tracker saw.
    pub fn facts(&self, meta: &ObjectMeta) -> Option<&FileFacts> {
        self.files.get(meta.location.as_ref()).filter(|facts| facts.is_of(meta))
    }

    /// From when on a day has to be asked about: the whole day if it never was, what came since if
    /// it was not over for long enough, and nothing if it was.
    ///
    /// A job that was not over then is in the answers about the days that follow, until it is.
    pub fn due_from(&self, day: Date) -> Option<Timestamp> {
        let start = path::midnight(day);
        let Some(facts) = self.days.get(&day).filter(|facts| !facts.is_imported) else {
            return Some(start);
        };
        let over = path::midnight(day.tomorrow().ok()?);
        (facts.collected_time < over + LAG).then(|| start.max(facts.collected_time - LAG))
    }

    /// The jobs that are not over.
    pub fn open_jobs(&self) -> impl Iterator<Item = &OpenJob> {
        self.open.values().flat_map(|file| &file.jobs.open)
    }

    /// Takes note that an access point answered about a time. What leaves a gap is passed over: it
    /// is asked about again.
    pub(crate) fn note_heard(&mut self, access_point: &str, time: Heard) {
        note(&mut self.access_points, access_point, time);
    }

    /// The same of a server.
    pub(crate) fn note_heard_of_server(&mut self, server: &str, time: Heard) {
        note(&mut self.servers, server, time);
    }

    /// What may be told again is looked up here.
    pub(crate) fn lookup(&self) -> Lookup<'_> {
        Lookup::of(self.open.values().map(|file| &file.jobs))
    }

    /// Takes note of jobs that a file now has in the place of others, all that are not over among
    /// them.
    pub(crate) fn note_jobs(&mut self, path: &Path, replaced: &[Job], jobs: &[&Job]) {
        if let Some(facts) = self.files.get(path.as_ref()) {
            let file = self.open.entry(path.as_ref().to_owned()).or_default();
            (file.bytes, file.modified) = (facts.bytes, facts.modified);
            file.jobs.note(replaced, jobs);
        }
    }

    /// What was written for questions; nothing is known if it cannot be read.
    pub(crate) fn from_bytes(bytes: Option<Bytes>) -> Tracker {
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// The same with what was written for the next writer.
    pub(crate) fn with_open_from_bytes(mut self, bytes: Option<Bytes>) -> Tracker {
        let open = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        self.open = open.unwrap_or_default();
        self
    }

    /// What is written for questions.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a tracker is plain maps, numbers and texts")
    }

    /// What is written for the next writer.
    pub(crate) fn open_to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.open).expect("jobs are plain numbers and texts")
    }

    /// Takes note of a file that was just written.
    pub(crate) fn note_file(&mut self, lake: &Lake, meta: &ObjectMeta, footer: Footer) {
        let tag = version::tag(meta).filter(|_| lake.folder().is_none());
        self.files.insert(
            meta.location.as_ref().to_owned(),
            FileFacts {
                bytes: meta.size,
                modified: modified(meta),
                e_tag: tag.map(str::to_owned),
                rows: footer.rows,
                times: footer.times,
            },
        );
    }

    /// Takes note of collections: a whole day counts as collected if one of them asked about it.
    pub(crate) fn note_collections(&mut self, collections: &[Collection]) {
        for collection in collections.iter().filter(|collection| collection.error.is_none()) {
            let (Some(start), Some(end)) = (collection.window_start, collection.window_end) else {
                continue;
            };
            let mut day = path::date(start);
            if collection.source == GPU_IMPORT {
                while path::midnight(day) < end {
                    self.imported_gpu_days.insert(day);
                    let Ok(next_day) = day.tomorrow() else { break };
                    day = next_day;
                }
                continue;
            }
            while let Ok(next_day) = day.tomorrow() {
                // The day that is not over yet counts as asked about up to now.
                let until = path::midnight(next_day).min(collection.start_time.max(start));
                if path::midnight(day) >= end {
                    break;
                }
                // What was asked about before need not be asked about again.
                let known = self.days.get(&day).map(|facts| facts.collected_time);
                let from = known.unwrap_or_else(|| path::midnight(day)).max(path::midnight(day));
                if start <= from && until <= end {
                    let is_imported = collection.source == IMPORT;
                    let facts = self
                        .days
                        .entry(day)
                        .or_insert(DayFacts { collected_time: collection.start_time, is_imported });
                    facts.collected_time = facts.collected_time.max(collection.start_time);
                    facts.is_imported &= is_imported;
                }
                day = next_day;
            }
        }
    }

    /// The files of a cluster's jobs that are not known to be added up as they now are, by date.
    pub(crate) async fn unsummed(&self, lake: &Lake, cluster: &str) -> Result<Vec<LakeFile>> {
        let trackers: Trackers = [(cluster.to_owned(), self.clone())].into();
        let mut sums = Vec::new();
        for table in SUMS {
            sums.push(lake.files(table, &trackers).await?);
        }
        let mut jobs = lake.files(&Job::TABLE, &trackers).await?;
        jobs.retain(|file| file.cluster == cluster);
        let summed: BTreeSet<Path> = summed(&lake.zone, &trackers, jobs.clone(), &sums)
            .into_iter()
            .filter(|file| {
                let open = self.open.get(file.meta.location.as_ref());
                open.zip(file.facts.as_ref()).is_some_and(|(open, facts)| {
                    (open.bytes, open.modified) == (facts.bytes, facts.modified)
                })
            })
            .map(|file| file.meta.location)
            .collect();
        jobs.retain(|file| !summed.contains(&file.meta.location));
        Ok(jobs)
    }

    /// Brings the tracker up to date with the files, opening only those that it does not know:
    /// none as a rule, some after a crash, all if the tracker was lost. Gives the files of `job`
    /// whose sums are not known to be made of them; until they are, the tracker knows no sums of
    /// those days.
    pub(crate) async fn reconcile(&mut self, lake: &Lake, cluster: &str) -> Result<Vec<LakeFile>> {
        let mut known = BTreeMap::new();
        let had_days = !self.days.is_empty() || !self.imported_gpu_days.is_empty();
        let unsummed = self.unsummed(lake, cluster).await?;
        for table in TABLES {
            for file in lake.files_of(table, cluster).await? {
                let name = file.meta.location.as_ref().to_owned();
                let tells_of_days = table.name == Collection::TABLE.name && !had_days;
                if let Some(facts) = self.facts(&file.meta).filter(|_| !tells_of_days) {
                    known.insert(name, facts.clone());
                    continue;
                }
                let shown = lake.shown(&file.meta.location);
                let read = async {
                    let bytes = lake.bytes(&file.meta.location).await?.context("it is gone")?;
                    let footer = parquet_file::read_footer(table, &bytes)?;
                    if table.name == Collection::TABLE.name {
                        self.note_collections(&parquet_file::decode(cluster, bytes)?);
                    }
                    self.note_file(lake, &file.meta, footer);
                    anyhow::Ok(())
                };
                match read.await {
                    Ok(()) => {
                        let facts = self.files.get(&name).expect("it was noted just above");
                        known.insert(name, facts.clone());
                    }
                    Err(error) => tracing::warn!(path = shown, "cannot read a file: {error:#}"),
                }
            }
        }
        for (file, table) in unsummed.iter().flat_map(|file| SUMS.map(|table| (file, table))) {
            known.remove(path::file(table, cluster, path::midnight(file.date)).as_ref());
        }
        self.open.retain(|name, _| known.contains_key(name));
        self.files = known;
        self.summed = Summed::by(&lake.zone);
        Ok(unsummed)
    }
}

fn note(heard: &mut BTreeMap<String, Heard>, name: &str, time: Heard) {
    let known = heard.entry(name.to_owned()).or_insert(time);
    if time.since <= known.until && known.since <= time.until {
        known.since = known.since.min(time.since);
        known.until = known.until.max(time.until);
    }
}
