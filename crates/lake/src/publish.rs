//! Who changes the files of a cluster, and makes each appear whole or not at all.

use anyhow::Result;
use bytes::Bytes;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::Lake;
use crate::folder_files::FolderFiles;
use crate::store_files::StoreFiles;

/// Changes the files of a cluster; there is one at a time, until it is closed or dropped.
pub(crate) enum Publisher {
    Folder(FolderFiles),
    Store(StoreFiles),
}

impl Publisher {
    pub(crate) async fn open(lake: &Lake, cluster: &str) -> Result<Publisher> {
        Ok(match lake.folder() {
            Some(folder) => Publisher::Folder(FolderFiles::open(lake, folder, cluster)?),
            None => Publisher::Store(StoreFiles::open(lake, cluster).await?),
        })
    }

    /// The bytes of a file that may be replaced; nothing if there is none.
    pub(crate) async fn read(&self, path: &Path) -> Result<Option<Bytes>> {
        match self {
            Publisher::Folder(files) => files.lake.bytes(path).await,
            Publisher::Store(files) => files.read(path).await,
        }
    }

    /// Makes a file appear with these bytes, or leaves what is there.
    pub(crate) async fn publish(&self, path: &Path, bytes: Vec<u8>) -> Result<()> {
        match self {
            Publisher::Folder(files) => files.publish(path, &bytes),
            Publisher::Store(files) => files.publish(path, bytes.into()).await,
        }
    }

    /// What a file is that was published.
    pub(crate) async fn published(&self, path: &Path) -> Result<ObjectMeta> {
        match self {
            Publisher::Folder(files) => files.lake.head(path).await,
            Publisher::Store(files) => files.published(path).await,
        }
    }

    /// Removes files of one folder.
    pub(crate) async fn remove(&self, paths: impl Iterator<Item = &Path>) -> Result<()> {
        match self {
            Publisher::Folder(files) => files.remove(paths),
            Publisher::Store(files) => files.remove(paths).await,
        }
    }

    /// Lets the next one in.
    pub(crate) async fn close(self) -> Result<()> {
        match self {
            Publisher::Folder(_) => Ok(()),
            Publisher::Store(files) => files.close().await,
        }
    }
}
