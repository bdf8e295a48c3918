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
}

impl Version {
    pub fn of(files: &[ObjectMeta]) -> Version {
        let stamp = |file: &ObjectMeta| Stamp {
            path: file.location.to_string(),
            size: file.size,
            modified: file.last_modified.timestamp_micros(),
        };
        Version(files.iter().map(stamp).collect())
    }
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
