//! Removes what can be done without once it is old: what the schedulers printed, of which the tables
//! have what was read of it.

use anyhow::{Context, Result};
use futures::TryStreamExt;
use jiff::civil::Date;
use object_store::{ObjectMeta, ObjectStore};

use crate::{Writer, path};

/// What of the archive is about days before one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub files: usize,
    pub bytes: u64,
}

impl Writer {
    /// Removes what the archive has about days before one, the oldest first; of a run that is only to
    /// tell, it removes nothing.
    pub async fn prune_archive(&self, before: Date, only_tell: bool) -> Result<Pruned> {
        let store = self.lake.store();
        let folder = path::raw_folder();
        let listed = store.list(Some(&folder)).try_collect::<Vec<_>>().await;
        let mut old: Vec<_> = listed
            .with_context(|| format!("cannot list {}", self.lake.shown(&folder)))?
            .into_iter()
            .filter(|file| path::cluster_of_raw(&file.location).as_deref() == Some(&self.cluster))
            .filter_map(|file| Some((path::date_of_raw(&file.location)?, file)))
            .filter(|(date, _)| *date < before)
            .collect();
        old.sort_by(|(date, file), (other_date, other)| {
            (date, &file.location).cmp(&(other_date, &other.location))
        });
        let pruned =
            Pruned { files: old.len(), bytes: old.iter().map(|(_, file)| file.size).sum() };
        if !only_tell {
            for of_folder in old.chunk_by(|(_, one), (_, other)| folder_of(one) == folder_of(other))
            {
                self.files.remove(of_folder.iter().map(|(_, file)| &file.location)).await?;
            }
        }
        Ok(pruned)
    }
}

fn folder_of(file: &ObjectMeta) -> Option<&str> {
    file.location.as_ref().rsplit_once('/').map(|(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::date;

    use super::*;
    use crate::Lake;

    #[tokio::test]
    async fn what_is_about_older_days_of_the_cluster_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::create(folder.path()).unwrap();
        let other = lake.writer("birch").await.unwrap();
        let writer = lake.writer("maple").await.unwrap();
        for (writer, day, bytes) in [
            (&writer, date(2025, 12, 30), &b"12"[..]),
            (&writer, date(2025, 12, 31), b"123"),
            (&writer, date(2026, 1, 1), b"1234"),
            (&other, date(2025, 12, 30), b"12345"),
        ] {
            writer.archive_window("sacct", day, Timestamp::UNIX_EPOCH, bytes).await.unwrap();
        }
        std::fs::write(folder.path().join("raw/sacct/cluster=maple/notes.txt"), "ours").unwrap();
        let old = Pruned { files: 2, bytes: 5 };
        let before = date(2026, 1, 1);
        assert_eq!(writer.prune_archive(before, true).await.unwrap(), old, "only told");
        assert_eq!(writer.prune_archive(before, false).await.unwrap(), old);
        assert_eq!(writer.prune_archive(before, false).await.unwrap(), Pruned::default());
        let left = |cluster: &str| {
            let days = std::fs::read_dir(folder.path().join("raw/sacct").join(cluster)).unwrap();
            let mut names: Vec<_> = days.map(|day| day.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(left("cluster=maple"), ["date=2026-01-01", "notes.txt"]);
        assert_eq!(left("cluster=birch"), ["date=2025-12-30"]);
    }
}
