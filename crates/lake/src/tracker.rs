//! What is known of a cluster's files without opening them.
//!
//! A tracker is a convenience: everything in it can be had from the files, and an entry counts
//! only while its file is the one it was written for.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};
use record::{Collection, Job, Record, TABLES};
use serde::{Deserialize, Serialize};

use crate::parquet_file::{Footer, TimeRange};
use crate::{Lake, LakeFile, modified, parquet_file, path};

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

/// What is known of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    pub bytes: u64,
    pub modified: Timestamp,
    pub rows: u64,
    /// The range of each column of moments.
    pub times: BTreeMap<String, TimeRange>,
}

/// What is known of one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DayFacts {
    /// When the scheduler was last asked about all of the day.
    pub collected_time: Timestamp,
}

impl Tracker {
    /// What is known of a file, if it is still the one that the tracker saw.
    pub fn facts(&self, meta: &ObjectMeta) -> Option<&FileFacts> {
        self.files
            .get(meta.location.as_ref())
            .filter(|facts| facts.bytes == meta.size && facts.modified == modified(meta))
    }

    /// Whether nothing of a day can change any more: it was asked about after it was over, and
    /// every job that could have touched it has ended.
    pub fn is_complete(&self, day: Date) -> bool {
        let Ok(next_day) = day.tomorrow() else { return false };
        self.days.get(&day).is_some_and(|facts| facts.collected_time >= path::midnight(next_day))
            && !self.files.iter().any(|(name, facts)| {
                name.starts_with("processed/job/")
                    && path::parse(&name.as_str().into()).is_some_and(|file| file.date <= day)
                    && facts.times.get("end_time").is_some_and(|range| range.nulls > 0)
            })
    }

    pub(crate) async fn load(lake: &Lake, cluster: &str) -> Result<Tracker> {
        let Some(bytes) = lake.bytes(&path::tracker(cluster)).await? else {
            return Ok(Tracker::default());
        };
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a tracker is plain maps, numbers and texts")
    }

    /// Takes note of a file that was just written.
    pub(crate) fn note_file(&mut self, meta: &ObjectMeta, footer: Footer) {
        self.files.insert(
            meta.location.as_ref().to_owned(),
            FileFacts {
                bytes: meta.size,
                modified: modified(meta),
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
            while let Ok(next_day) = day.tomorrow() {
                // The day that is not over yet counts as asked about up to now.
                let until = path::midnight(next_day).min(collection.start_time.max(start));
                if path::midnight(day) >= end {
                    break;
                }
                if path::midnight(day) >= start && until <= end {
                    let facts = self
                        .days
                        .entry(day)
                        .or_insert(DayFacts { collected_time: collection.start_time });
                    facts.collected_time = facts.collected_time.max(collection.start_time);
                }
                day = next_day;
            }
        }
    }

    /// Brings the tracker up to date with the files, opening only those that it does not know:
    /// none as a rule, some after a crash, all if the tracker was lost. Gives the files of `job`
    /// whose sums are not known to be made of them.
    pub(crate) async fn reconcile(&mut self, lake: &Lake, cluster: &str) -> Result<Vec<Path>> {
        let mut known = BTreeMap::new();
        let had_days = !self.days.is_empty();
        let trackers = [(cluster.to_owned(), self.clone())].into();
        let summed = lake.summed(&lake.zone, &trackers).await?;
        let summed: BTreeSet<Path> = summed.into_iter().map(|file| file.meta.location).collect();
        let mut unsummed = Vec::new();
        for table in TABLES {
            for file in files_of(lake, table, cluster).await? {
                let name = file.meta.location.as_ref().to_owned();
                if table.name == Job::TABLE.name && !summed.contains(&file.meta.location) {
                    unsummed.push(file.meta.location.clone());
                }
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
                    self.note_file(&file.meta, footer);
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
        self.files = known;
        self.summed = Summed::by(&lake.zone);
        Ok(unsummed)
    }
}

/// The files of one cluster's part of a table.
async fn files_of(lake: &Lake, table: &record::Table, cluster: &str) -> Result<Vec<LakeFile>> {
    use futures::TryStreamExt;
    let folder = path::table_folder(table.name).join(format!("cluster={cluster}"));
    let listed: Vec<ObjectMeta> = lake
        .store()
        .list(Some(&folder))
        .try_collect()
        .await
        .with_context(|| format!("cannot list {folder}"))?;
    Ok(listed
        .into_iter()
        .filter_map(|meta| {
            let file = path::parse(&meta.location)?;
            Some(LakeFile {
                table: table.name,
                cluster: file.cluster,
                date: file.date,
                meta,
                facts: None,
            })
        })
        .collect())
}

/// What a file now is, for the tracker.
pub(crate) async fn head(lake: &Lake, path: &Path) -> Result<ObjectMeta> {
    lake.store().head(path).await.with_context(|| format!("cannot find {}", lake.shown(path)))
}
