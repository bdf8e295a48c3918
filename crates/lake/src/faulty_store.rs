//! A store of which requests fail, for tests.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// How a request fails that would change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not arrive, or not whole: nothing is changed.
    Lost,
    /// It is done, and the answer does not arrive.
    Unanswered,
    /// Nothing arrives any more.
    CutOff,
}

/// The way of one process to a store that others use too.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    store: Arc<dyn ObjectStore>,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    /// How many requests that change something were made, but for those that keep leases.
    changes: usize,
    /// Which of them fails, and how.
    fault: Option<(usize, Fault)>,
    /// Whether leases cannot be renewed.
    keeps_no_lease: bool,
    /// Whether an object is put whatever the condition.
    heeds_no_condition: bool,
    /// What is listed, whatever there is.
    listed: Option<Vec<ObjectMeta>>,
}

impl FaultyStore {
    pub(crate) fn over(store: Arc<dyn ObjectStore>) -> Arc<FaultyStore> {
        Arc::new(FaultyStore { store, plan: Mutex::default() })
    }

    pub(crate) fn fail(&self, change: usize, fault: Fault) {
        self.plan().fault = Some((change, fault));
    }

    /// How many requests were made that change something.
    pub(crate) fn changes(&self) -> usize {
        self.plan().changes
    }

    pub(crate) fn keep_no_lease(&self, is_so: bool) {
        self.plan().keeps_no_lease = is_so;
    }

    /// Puts from now on whatever the condition.
    pub(crate) fn heed_no_condition(&self) {
        self.plan().heeds_no_condition = true;
    }

    /// Lists from now on what there is now.
    pub(crate) async fn list_this_from_now_on(&self) {
        let listed: Vec<_> = self.store.list(None).collect().await;
        self.plan().listed = Some(listed.into_iter().map(Result::unwrap).collect());
    }

    /// What becomes of a request that would change something.
    fn fate(&self, path: &Path) -> Option<Fault> {
        let mut plan = self.plan();
        if path.as_ref().starts_with("lock/") {
            let is_cut_off = plan
                .fault
                .is_some_and(|(first, fault)| fault == Fault::CutOff && plan.changes > first);
            return (plan.keeps_no_lease || is_cut_off).then_some(Fault::Lost);
        }
        let change = plan.changes;
        plan.changes += 1;
        let (failing, fault) = plan.fault?;
        match fault {
            Fault::CutOff => (change >= failing).then_some(fault),
            Fault::Lost | Fault::Unanswered => (change == failing).then_some(fault),
        }
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap()
    }
}

fn failure() -> Error {
    Error::Generic { store: "faulty store", source: "it took too long".into() }
}

/// Others come first: what a process does between two requests is not done at once.
async fn let_others() {
    tokio::task::yield_now().await;
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(
        &self,
        path: &Path,
        bytes: PutPayload,
        mut put: PutOptions,
    ) -> Result<PutResult> {
        let_others().await;
        if self.plan().heeds_no_condition {
            put.mode = PutMode::Overwrite;
        }
        match self.fate(path) {
            None => self.store.put_opts(path, bytes, put).await,
            Some(Fault::Unanswered) => {
                self.store.put_opts(path, bytes, put).await?;
                Err(failure())
            }
            Some(Fault::Lost | Fault::CutOff) => Err(failure()),
        }
    }

    async fn get_opts(&self, path: &Path, get: GetOptions) -> Result<GetResult> {
        let_others().await;
        self.store.get_opts(path, get).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let paths: Vec<Path> =
            futures::executor::block_on(paths.map(Result::unwrap).collect::<Vec<_>>());
        let [path] = &paths[..] else { panic!("objects are removed one by one") };
        let delete = || self.store.delete_stream(stream::iter([Ok(path.clone())]).boxed());
        match self.fate(path) {
            None => delete(),
            Some(Fault::Unanswered) => delete().map(|_| Err(failure())).boxed(),
            Some(Fault::Lost | Fault::CutOff) => stream::iter([Err(failure())]).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.plan().listed.clone() {
            None => self.store.list(prefix),
            Some(listed) => {
                let prefix = prefix.cloned().unwrap_or_default();
                let is_below = move |meta: &ObjectMeta| meta.location.prefix_matches(&prefix);
                stream::iter(listed.into_iter().filter(is_below).map(Ok)).boxed()
            }
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        panic!("a file is put at once")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        panic!("nothing is copied")
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FaultyStore")
    }
}
