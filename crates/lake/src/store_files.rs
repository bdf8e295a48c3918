//! Objects of a store: each is put over the one that was read, so that what somebody else put there
//! meanwhile is not lost.

use std::collections::HashMap;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStoreExt, UpdateVersion};

use crate::Lake;
use crate::conditional_put::{NotPut, put_over};
use crate::lease::Lease;

/// Changes the files of a cluster in a store.
pub(crate) struct StoreFiles {
    lake: Lake,
    lease: Lease,
    /// Which version of an object was read or put last; none if there was no such object.
    seen: Mutex<HashMap<Path, Option<UpdateVersion>>>,
}

impl StoreFiles {
    pub(crate) async fn open(lake: &Lake, cluster: &str) -> Result<StoreFiles> {
        let lease = Lease::take(lake, cluster).await?;
        Ok(StoreFiles { lake: lake.clone(), lease, seen: Mutex::default() })
    }

    pub(crate) async fn read(&self, path: &Path) -> Result<Option<Bytes>> {
        let (bytes, version) = self.lake.versioned_bytes(path).await?.unzip();
        self.note(path, version);
        Ok(bytes)
    }

    pub(crate) async fn publish(&self, path: &Path, bytes: Bytes) -> Result<()> {
        self.lease.check().await?;
        self.lake.step("put");
        let put = self.put(path, &bytes).await;
        let version = put.with_context(|| format!("cannot write {}", self.lake.shown(path)))?;
        self.note(path, Some(version));
        Ok(())
    }

    async fn put(&self, path: &Path, bytes: &Bytes) -> Result<UpdateVersion> {
        let store = self.lake.store.as_ref();
        let seen = self.seen().get(path).cloned();
        let Some(seen) = seen else {
            // What was made without a look at what is there is right whatever is there.
            let put = store.put(path, bytes.clone().into()).await?;
            return Ok(UpdateVersion { e_tag: put.e_tag, version: put.version });
        };
        put_over(store, path, bytes, seen).await.map_err(|error| match error {
            NotPut::Changed => anyhow!(
                "somebody else changed it since it was read; nothing is lost, and the next \
                 collection goes on from what is there"
            ),
            NotPut::Store(error) => error.into(),
        })
    }

    pub(crate) async fn published(&self, path: &Path) -> Result<ObjectMeta> {
        let mut meta = self.lake.head(path).await?;
        // What is known of the file is known of what was put, whatever lies there by now.
        meta.e_tag = self.seen().get(path).cloned().flatten().and_then(|version| version.e_tag);
        Ok(meta)
    }

    pub(crate) async fn remove<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Result<()> {
        for path in paths {
            self.lease.check().await?;
            self.lake.step("remove an object");
            match self.lake.store.delete(path).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => {
                    let shown = self.lake.shown(path);
                    return Err(error).with_context(|| format!("cannot remove {shown}"));
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn close(self) -> Result<()> {
        self.lease.give_back().await
    }

    fn note(&self, path: &Path, version: Option<UpdateVersion>) {
        self.seen().insert(path.clone(), version);
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashMap<Path, Option<UpdateVersion>>> {
        self.seen.lock().expect("no holder of this lock panics")
    }
}
