//! A lake for a test: in a folder of its own, or, where `PLIMSOLL_TEST_STORE` names a store such as
//! `s3://bucket`, below a prefix of its own there. So the same tests run on both.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use record::Record;
use tempfile::TempDir;

use crate::{Lake, Place, StoreSettings, Trackers};

pub(crate) fn lake() -> (TempDir, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let lake = match place_in_store(&folder) {
        None => Lake::create(&folder.path().join("data")).unwrap(),
        // Tests leave writers as a process does that dies.
        Some(place) => Lake::create(&place).unwrap().with_lease_length(Duration::from_secs(1)),
    };
    (folder, lake)
}

/// A store for what no folder does: that which is named, or one in memory.
pub(crate) fn store() -> (TempDir, Arc<dyn ObjectStore>) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn ObjectStore> = match place_in_store(&folder) {
        None => Arc::new(InMemory::new()),
        Some(place) => place.store().unwrap(),
    };
    (folder, store)
}

fn place_in_store(folder: &TempDir) -> Option<Place> {
    #[expect(clippy::disallowed_methods, reason = "how a run of the tests names a store")]
    let store = std::env::var("PLIMSOLL_TEST_STORE").ok()?;
    let url = format!("{store}/{}", folder.path().file_name().unwrap().display());
    let settings = StoreSettings::of(std::env::vars());
    Some(Place::read(Path::new(&url), folder.path(), &settings).unwrap())
}

/// What runs a test that has none of its own.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Every row of a table, by cluster, date and place in the file.
pub(crate) async fn rows<R: Record>(lake: &Lake) -> Vec<R> {
    let mut rows = Vec::new();
    for file in lake.files(&R::TABLE, &Trackers::new()).await.unwrap() {
        rows.extend(lake.read::<R>(&file.cluster, &file.meta.location).await.unwrap());
    }
    rows
}

/// Every file that a reader could find, with its bytes.
pub(crate) async fn files(lake: &Lake) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in ["processed", "raw"] {
        for path in below(lake, folder).await {
            if !path.filename().unwrap().starts_with('.') {
                found.push((path.to_string(), whole(lake, path.as_ref()).await));
            }
        }
    }
    found.sort();
    found
}

async fn below(lake: &Lake, folder: &str) -> Vec<object_store::path::Path> {
    let listed: Vec<_> = lake.store().list(Some(&folder.into())).try_collect().await.unwrap();
    listed.into_iter().map(|meta| meta.location).collect()
}

/// What a file has in it.
pub(crate) async fn whole(lake: &Lake, path: &str) -> Vec<u8> {
    lake.bytes(&path.into()).await.unwrap().unwrap().into()
}

/// Puts a file in place behind the back of whoever writes.
pub(crate) async fn put(lake: &Lake, path: &str, bytes: Vec<u8>) {
    lake.store().put(&path.into(), bytes.into()).await.unwrap();
}

/// Removes all that lies below a folder.
pub(crate) async fn remove(lake: &Lake, folder: &str) {
    for path in below(lake, folder).await {
        lake.store().delete(&path).await.unwrap();
    }
}
