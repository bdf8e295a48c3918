//! A store that goes on reading the files that a question began with, though others are put in their
//! place meanwhile: a collector replaces files at any moment, and half of one and half of another are
//! no file.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use lake::is_same;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// A file that is replaced was written lately, and few are: many questions at once may not need more
/// open files than a process may have.
const MOST_HELD_OF_TABLE: usize = 16;

/// The files of a store, of which some are held.
pub(crate) struct HeldFiles {
    store: Arc<dyn ObjectStore>,
    held: Mutex<HashMap<Path, Held>>,
}

#[derive(Clone)]
struct Held {
    file: Arc<File>,
    meta: ObjectMeta,
}

impl HeldFiles {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> HeldFiles {
        HeldFiles { store, held: Mutex::default() }
    }

    /// Holds those of some files that were written last, where they are files of this machine. One that
    /// is another one by now is not held.
    pub(crate) async fn hold_latest<'a>(&self, files: impl Iterator<Item = &'a ObjectMeta>) {
        let mut latest: Vec<&ObjectMeta> = files.collect();
        latest.sort_by_key(|meta| std::cmp::Reverse(meta.last_modified));
        for meta in latest.into_iter().take(MOST_HELD_OF_TABLE) {
            if self.holds(&meta.location) {
                continue;
            }
            let Ok(GetResult { payload: GetResultPayload::File(file, _), meta: opened, .. }) =
                self.store.get_opts(&meta.location, GetOptions::default()).await
            else {
                continue;
            };
            if is_same(&opened, meta) {
                let held = Held { file: Arc::new(file), meta: opened };
                self.files().insert(meta.location.clone(), held);
            }
        }
    }

    /// All that a file has, if it is still the one that was listed.
    pub(crate) async fn read_whole(&self, file: &ObjectMeta) -> Result<Bytes> {
        let failed = |source| object_store::Error::Generic { store: "file of the lake", source };
        let found = self.get_opts(&file.location, GetOptions::default()).await?;
        if !is_same(&found.meta, file) {
            return Err(failed(format!("{} was replaced", file.location).into()));
        }
        match found.payload {
            // It is there by now: another thread would take longer to ask than it takes to read it.
            GetResultPayload::File(opened, _) => {
                let mut bytes = vec![0; file.size as usize];
                opened.read_exact_at(&mut bytes, 0).map_err(|error| failed(error.into()))?;
                Ok(bytes.into())
            }
            GetResultPayload::Stream(_) => found.bytes().await,
        }
    }

    pub(crate) fn holds(&self, location: &Path) -> bool {
        self.files().contains_key(location)
    }

    fn held(&self, location: &Path) -> Option<Held> {
        self.files().get(location).cloned()
    }

    fn files(&self) -> std::sync::MutexGuard<'_, HashMap<Path, Held>> {
        self.held.lock().expect("no holder of this lock panics")
    }
}

impl Held {
    async fn read(&self, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
        let file = self.file.clone();
        let read = move || {
            let ranges = ranges.into_iter().map(|range| {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                file.read_exact_at(&mut bytes, range.start)?;
                Ok(Bytes::from(bytes))
            });
            ranges.collect::<std::io::Result<Vec<Bytes>>>()
        };
        let read = tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other);
        read.flatten().map_err(|source| object_store::Error::Generic {
            store: "held file",
            source: source.into(),
        })
    }
}

#[async_trait]
impl ObjectStore for HeldFiles {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(held) = self.held(location).filter(|_| !options.head) else {
            return self.store.get_opts(location, options).await;
        };
        let range = match options.range {
            Some(range) => range.as_range(held.meta.size).map_err(|source| {
                object_store::Error::Generic { store: "held file", source: Box::new(source) }
            })?,
            None => 0..held.meta.size,
        };
        let read = held.read(vec![range.clone()]).await?;
        let payload = GetResultPayload::Stream(stream::iter(read.into_iter().map(Ok)).boxed());
        Ok(GetResult { payload, meta: held.meta, range, attributes: Attributes::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.held(location) {
            Some(held) => held.read(ranges.to_vec()).await,
            None => self.store.get_ranges(location, ranges).await,
        }
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

impl fmt::Debug for HeldFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HeldFiles({})", self.store)
    }
}

impl fmt::Display for HeldFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::local::LocalFileSystem;

    use super::*;

    #[tokio::test]
    async fn a_file_that_is_held_is_read_on_though_another_is_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (file, beside) = (folder.path().join("day"), folder.path().join("beside"));
        std::fs::write(&file, "what it was").unwrap();
        let store = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
        let listed = store.head(&Path::from("day")).await.unwrap();
        let held = HeldFiles::new(store);
        held.hold_latest([&listed].into_iter()).await;
        assert!(held.holds(&listed.location));
        std::fs::write(&beside, "and what it is now").unwrap();
        std::fs::rename(&beside, &file).unwrap();

        let whole = held.get(&listed.location).await.unwrap().bytes().await.unwrap();
        assert_eq!(whole, "what it was");
        let parts = held.get_ranges(&listed.location, &[0..4, 8..11]).await.unwrap();
        assert_eq!(parts, ["what", "was"]);
        let now = held.head(&listed.location).await.unwrap();
        assert!(!is_same(&now, &listed), "what is there now is still told");

        let late = HeldFiles::new(held.store.clone());
        late.hold_latest([&listed].into_iter()).await;
        assert!(!late.holds(&listed.location), "it is no longer what was listed");
    }
}
