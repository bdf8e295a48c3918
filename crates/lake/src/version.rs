//! Whether anything changed, without a look into any file.

use anyhow::Result;
use object_store::ObjectMeta;

use crate::Lake;

/// What tells some files from those that take their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(Vec<Stamp>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: String,
    size: u64,
    modified: i64,
    e_tag: Option<String>,
}

impl Version {
    pub fn of(files: &[ObjectMeta]) -> Version {
        let stamp = |file: &ObjectMeta| Stamp {
            path: file.location.to_string(),
            size: file.size,
            modified: file.last_modified.timestamp_micros(),
            e_tag: file.e_tag.clone(),
        };
        Version(files.iter().map(stamp).collect())
    }
}

/// Whether a file is still the one that it was.
pub fn is_same(now: &ObjectMeta, before: &ObjectMeta) -> bool {
    match (tag(now), tag(before)) {
        // Stores tell the time of an object to the second, or to less when they list it.
        (Some(now), Some(before)) => now == before,
        _ => now.size == before.size && now.last_modified == before.last_modified,
    }
}

/// What a store calls the bytes of a file. Some put it in quotes in one answer and not in another.
pub(crate) fn tag(meta: &ObjectMeta) -> Option<&str> {
    meta.e_tag.as_deref().map(|tag| tag.trim_matches('"'))
}

impl Lake {
    /// The lake's version: another one after every collection, which ends with the tracker and with
    /// what was last seen.
    pub async fn version(&self) -> Result<Version> {
        let mut files = self.tracker_files().await?;
        files.extend(self.live_files().await?);
        Ok(Version::of(&files))
    }
}
