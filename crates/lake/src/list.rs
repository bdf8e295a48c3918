//! Which files there are, and what is known of them.

use std::collections::BTreeSet;
use std::time::SystemTime;

use anyhow::{Context, Result};
use futures::TryStreamExt;
use futures::future::try_join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use record::{Live, TABLES, Table};

use crate::{FileFacts, Lake, Tracker, Trackers, modified, path};

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
    pub(crate) fn place(&self) -> (&str, Date) {
        (&self.cluster, self.date)
    }

    /// When it was last changed.
    pub fn modified(&self) -> Timestamp {
        modified(&self.meta)
    }
}

impl Lake {
    /// The clusters that the lake has files of, by name.
    pub async fn clusters(&self) -> Result<Vec<String>> {
        let listed = try_join_all(TABLES.iter().map(async |table| {
            let folder = path::table_folder(table.name);
            let listed = self.store.list_with_delimiter(Some(&folder)).await;
            listed.with_context(|| format!("cannot list {}", self.shown(&folder)))
        }));
        let folders = listed.await?.into_iter().flat_map(|listed| listed.common_prefixes);
        let clusters: BTreeSet<String> =
            folders.filter_map(|folder| path::cluster_of_folder(&folder)).collect();
        Ok(clusters.into_iter().collect())
    }

    /// The files of a table, by cluster and date, each with what the trackers know of it.
    pub async fn files(&self, table: &Table, trackers: &Trackers) -> Result<Vec<LakeFile>> {
        let listed = self.listed(&path::table_folder(table.name)).await?;
        Ok(as_files(table, trackers, listed))
    }

    /// Those of one cluster, without what is known of them.
    pub(crate) async fn files_of(&self, table: &Table, cluster: &str) -> Result<Vec<LakeFile>> {
        let listed = self.listed(&path::cluster_folder(table.name, cluster)).await?;
        Ok(as_files(table, &Trackers::new(), listed))
    }

    pub(crate) async fn listed(&self, folder: &Path) -> Result<Vec<ObjectMeta>> {
        let listed: Result<Vec<_>, _> = self.store.list(Some(folder)).try_collect().await;
        listed.with_context(|| format!("cannot list {}", self.shown(folder)))
    }

    /// Those of a day or of a later one, of the clusters that have a tracker. In a store no others are
    /// listed.
    pub async fn files_since(
        &self,
        table: &Table,
        trackers: &Trackers,
        first: Date,
    ) -> Result<Vec<LakeFile>> {
        let listed = try_join_all(trackers.keys().map(async |cluster| {
            let folder = path::cluster_folder(table.name, cluster);
            let before = path::date_folder(table.name, cluster, first);
            let listed = self.store.list_with_offset(Some(&folder), &before);
            let listed: Result<Vec<_>, _> = listed.try_collect().await;
            listed.with_context(|| format!("cannot list {}", self.shown(&folder)))
        }));
        Ok(as_files(table, trackers, listed.await?.into_iter().flatten()))
    }

    /// The trackers of all clusters that the lake has files of, by name.
    pub async fn trackers(&self) -> Result<Trackers> {
        let read = self.clusters().await?.into_iter().map(async |cluster| {
            let tracker = self.tracker(&cluster).await?;
            anyhow::Ok((cluster, tracker))
        });
        Ok(try_join_all(read).await?.into_iter().collect())
    }

    /// The tracker of a cluster as it was last written; empty if it cannot be read, for all in
    /// it can be had from the files.
    pub async fn tracker(&self, cluster: &str) -> Result<Tracker> {
        Ok(Tracker::from_bytes(self.bytes(&path::tracker(cluster)).await?))
    }

    /// The files of what was last seen of clusters, by name.
    pub async fn live_files(&self) -> Result<Vec<ObjectMeta>> {
        self.json_files(path::live_folder()).await
    }

    /// The files of what is known of clusters' files, by name.
    pub(crate) async fn tracker_files(&self) -> Result<Vec<ObjectMeta>> {
        self.json_files(path::tracker_folder()).await
    }

    async fn json_files(&self, folder: Path) -> Result<Vec<ObjectMeta>> {
        let listed = self.store.list_with_delimiter(Some(&folder)).await;
        let listed = listed.with_context(|| format!("cannot list {}", self.shown(&folder)))?;
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
}

fn as_files(
    table: &Table,
    trackers: &Trackers,
    listed: impl IntoIterator<Item = ObjectMeta>,
) -> Vec<LakeFile> {
    let file = |meta: ObjectMeta| {
        let path::FilePath { cluster, date } = path::parse(&meta.location)?;
        let tracker = trackers.get(&cluster);
        let facts = tracker.and_then(|tracker| tracker.facts(&meta)).cloned();
        Some(LakeFile { table: table.name, facts, cluster, date, meta })
    };
    let mut files: Vec<LakeFile> = listed.into_iter().filter_map(file).collect();
    files.sort_by(|one, other| one.meta.location.cmp(&other.meta.location));
    files
}

/// The files of a table as the trackers know them, without a look at any; nothing if one of them knows
/// of no file at all, as when it was lost.
pub fn known_files(table: &Table, trackers: &Trackers) -> Option<Vec<LakeFile>> {
    let mut files = Vec::new();
    for tracker in trackers.values() {
        if tracker.files.is_empty() {
            return None;
        }
        let folder = format!("{}/", path::table_folder(table.name));
        let of_table =
            tracker.files.range(folder.clone()..).take_while(|(name, _)| name.starts_with(&folder));
        for (name, facts) in of_table {
            let location = Path::from(name.as_str());
            let Some(path::FilePath { cluster, date }) = path::parse(&location) else { continue };
            let meta = ObjectMeta {
                location,
                last_modified: SystemTime::from(facts.modified).into(),
                size: facts.bytes,
                e_tag: facts.e_tag.clone(),
                version: None,
            };
            files.push(LakeFile {
                table: table.name,
                facts: Some(facts.clone()),
                cluster,
                date,
                meta,
            });
        }
    }
    Some(files)
}
