//! Puts an object in the place of the one that was seen there, and of no other.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutResult, UpdateVersion,
};

use crate::{Lake, path};

/// Why an object was not put.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPut {
    /// What lies there is not what was seen.
    #[error("it was changed meanwhile")]
    Changed,
    /// The store failed; whether the object is there now may not be known.
    #[error(transparent)]
    Store(Error),
}

/// Puts an object where one of this version was seen, or none.
pub(crate) async fn put_over(
    store: &dyn ObjectStore,
    path: &Path,
    bytes: &Bytes,
    seen: Option<UpdateVersion>,
) -> Result<UpdateVersion, NotPut> {
    let mode = seen.map_or(PutMode::Create, PutMode::Update);
    let options = PutOptions::from(mode);
    let failure = match store.put_opts(path, bytes.clone().into(), options).await {
        Ok(PutResult { e_tag, version }) => return Ok(UpdateVersion { e_tag, version }),
        Err(failure) => failure,
    };
    // What fails on the way back was done. Then, and if it is asked for once more by the client, what
    // lies there is not what was seen, but it is what was to be put.
    if let Ok(found) = store.get(path).await {
        let version = version_of(&found.meta);
        if found.bytes().await.is_ok_and(|there| there == bytes) {
            return Ok(version);
        }
    }
    Err(match failure {
        Error::Precondition { .. } | Error::AlreadyExists { .. } => NotPut::Changed,
        failure => NotPut::Store(failure),
    })
}

/// What tells an object from one that takes its place.
pub(crate) fn version_of(meta: &ObjectMeta) -> UpdateVersion {
    UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() }
}

impl Lake {
    /// Finds out whether a store can be written, and whether it refuses to put an object over one that
    /// was not seen: two writers would undo what the other did.
    pub async fn probe_store(&self) -> Result<()> {
        let (store, probe) = (self.store.as_ref(), path::probe());
        let probed = async {
            let doing = || format!("cannot write {}", self.shown(&probe));
            let put = async |bytes: &'static str, seen| {
                put_over(store, &probe, &Bytes::from_static(bytes.as_bytes()), seen).await
            };
            let first = put("first", None).await.with_context(doing)?;
            let second = put("second", Some(first.clone())).await.with_context(doing)?;
            for (bytes, seen) in [("none was seen", None), ("the first was seen", Some(first))] {
                match put(bytes, seen).await {
                    Err(NotPut::Changed) => {}
                    Err(error) => return Err(error).with_context(doing),
                    Ok(_) => bail!(
                        "{} puts objects over others though it is told not to (If-Match, \
                         If-None-Match): a lake needs a store that heeds that",
                        self.place
                    ),
                }
            }
            put("third", Some(second)).await.with_context(doing)
        };
        let outcome = probed.await;
        // It is ours, and may be there even if not all went well.
        let _ = store.delete(&probe).await;
        outcome.map(|_| ())
    }
}
