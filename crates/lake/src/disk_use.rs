//! How much room the files of a lake take.

use anyhow::Result;
use object_store::path::Path;

use crate::{Lake, path};

/// The files of one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileUse {
    pub files: u64,
    pub bytes: u64,
}

/// What the files of a lake are for, and how much of each there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The Parquet files.
    pub tables: FileUse,
    /// The output of the schedulers, compressed.
    pub raw: FileUse,
    /// What collecting and monitoring keep beside the tables: trackers, last states and locks.
    pub state: FileUse,
}

impl DiskUse {
    pub fn total(&self) -> FileUse {
        let parts = [self.tables, self.raw, self.state];
        FileUse {
            files: parts.iter().map(|part| part.files).sum(),
            bytes: parts.iter().map(|part| part.bytes).sum(),
        }
    }
}

impl Lake {
    /// The room that the files take, by purpose. Files that a lake does not have are not counted,
    /// though they lie in the same folder. Every file is listed.
    pub async fn disk_use(&self) -> Result<DiskUse> {
        let state = [path::tracker_folder(), path::live_folder(), path::lock_folder()];
        Ok(DiskUse {
            tables: self.file_use(&[path::processed_folder()]).await?,
            raw: self.file_use(&[path::raw_folder()]).await?,
            state: self.file_use(&state).await?,
        })
    }

    async fn file_use(&self, folders: &[Path]) -> Result<FileUse> {
        let mut used = FileUse::default();
        for folder in folders {
            for file in self.listed(folder).await? {
                used.files += 1;
                used.bytes += file.size;
            }
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_added_up_by_what_they_are_for() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::create(folder.path()).unwrap();
        for (path, bytes) in [
            ("processed/job/cluster=maple/date=2026-01-01/job.parquet", 100),
            ("processed/node_span/cluster=maple/date=2026-01-01/node_span.parquet", 20),
            ("raw/sacct/cluster=maple/date=2026-01-01/a.zst", 3000),
            ("tracker/maple.json", 4),
            ("live/maple.json", 50),
            ("plimsoll.toml", 600_000),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![b'x'; bytes]).unwrap();
        }
        let used = lake.disk_use().await.unwrap();
        assert_eq!(used.tables, FileUse { files: 2, bytes: 120 });
        assert_eq!(used.raw, FileUse { files: 1, bytes: 3000 });
        assert_eq!(used.state, FileUse { files: 2, bytes: 54 });
        assert_eq!(used.total(), FileUse { files: 5, bytes: 3174 });
    }
}
