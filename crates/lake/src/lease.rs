//! One collector a cluster where there is no disk to lock: a lease, which is an object of the store.
//!
//! Who holds it writes it anew, a few times in the time for which it holds; who finds it unchanged
//! for that long takes it over. Nobody's clock has to agree with anybody's: each measures by his own
//! how long nothing changed. All of it is put over what was seen there, so of two that take it one
//! does.
//!
//! A lease cannot stop a request that is on its way. What is put late is refused by the same rule:
//! every file is put over what was read of it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use object_store::UpdateVersion;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::task::AbortHandle;

use crate::conditional_put::{NotPut, put_over};
use crate::{Lake, path};

/// How long a lease holds that is not renewed.
pub(crate) const LENGTH: Duration = Duration::from_secs(60);

/// Holds a cluster's lease until it is given back or dropped. One that is dropped is not given back:
/// the next holder waits until it no longer holds.
pub(crate) struct Lease {
    held: Arc<Held>,
    renewing: AbortHandle,
}

struct Held {
    lake: Lake,
    cluster: String,
    path: Path,
    holder: Holder,
    length: Duration,
    state: Mutex<State>,
}

struct State {
    count: u64,
    /// What lies there; none if somebody else has taken it over.
    version: Option<UpdateVersion>,
    /// When it was last known that nobody else could hold it.
    since: Instant,
}

/// What the object says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Written {
    /// None if it was given back.
    holder: Option<Holder>,
    /// How often it was written: no two say the same.
    count: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Holder {
    host: String,
    process: u32,
    /// Tells holders apart though host and process are the same, as in containers.
    token: String,
}

impl Lease {
    pub(crate) async fn take(lake: &Lake, cluster: &str) -> Result<Lease> {
        let path = path::lease(cluster);
        let doing = || format!("cannot take the lease {}", lake.shown(&path));
        let (count, seen) = match free(lake, cluster, &path).await? {
            Some((written, version)) => (written.count + 1, Some(version)),
            None => (0, None),
        };
        let holder = Holder::this_process();
        let written = Written { holder: Some(holder.clone()), count };
        let since = Instant::now();
        let version = match put_over(lake.store.as_ref(), &path, &written.bytes(), seen).await {
            Ok(version) => version,
            Err(NotPut::Changed) => return Err(refused(lake, cluster, &path).await),
            Err(error) => return Err(error).with_context(doing),
        };
        let held = Arc::new(Held {
            lake: lake.clone(),
            cluster: cluster.to_owned(),
            path,
            holder,
            length: lake.lease_length,
            state: Mutex::new(State { count, version: Some(version), since }),
        });
        let renewing = tokio::spawn(renew_on_and_on(held.clone())).abort_handle();
        Ok(Lease { held, renewing })
    }

    /// Makes sure that nobody else holds it, before something is changed.
    pub(crate) async fn check(&self) -> Result<()> {
        let held = &self.held;
        let mut state = held.state.lock().await;
        if state.version.is_some() && state.since.elapsed() < held.length / 3 {
            return Ok(());
        }
        match held.renew(&mut state).await {
            Ok(()) => Ok(()),
            // It holds for a while yet.
            Err(NotPut::Store(_)) if state.since.elapsed() < held.length / 2 => Ok(()),
            Err(NotPut::Store(error)) => Err(error)
                .with_context(|| format!("cannot renew the lease {}", held.lake.shown(&held.path))),
            Err(NotPut::Changed) => bail!(
                "another collector of cluster {:?} has taken over, since this one did not renew its lease \
                 for {} s; what it has not written comes with the next collection",
                held.cluster,
                held.length.as_secs()
            ),
        }
    }

    /// Gives it back, so that the next one need not wait.
    pub(crate) async fn give_back(self) -> Result<()> {
        self.renewing.abort();
        let held = &self.held;
        let mut state = held.state.lock().await;
        match held.write(&mut state, None).await {
            // Who has taken it over keeps it.
            Ok(()) | Err(NotPut::Changed) => Ok(()),
            Err(error) => Err(error).with_context(|| {
                format!("cannot give back the lease {}", held.lake.shown(&held.path))
            }),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl Held {
    async fn renew(&self, state: &mut State) -> Result<(), NotPut> {
        self.write(state, Some(&self.holder)).await
    }

    /// Writes the lease anew over what was written last.
    async fn write(&self, state: &mut State, holder: Option<&Holder>) -> Result<(), NotPut> {
        for _ in 0..2 {
            let Some(version) = state.version.clone() else { break };
            let begun = Instant::now();
            state.count += 1;
            let bytes = Written { holder: holder.cloned(), count: state.count }.bytes();
            match put_over(self.lake.store.as_ref(), &self.path, &bytes, Some(version)).await {
                Ok(version) => {
                    (state.version, state.since) = (Some(version), begun);
                    return Ok(());
                }
                // A request of ours that was given up may have come late.
                Err(NotPut::Changed) => state.version = self.own_version().await,
                Err(error) => return Err(error),
            }
        }
        Err(NotPut::Changed)
    }

    /// The version of what lies there, if it is ours.
    async fn own_version(&self) -> Option<UpdateVersion> {
        let (written, version) = read(&self.lake, &self.path).await.ok()??;
        (written.holder.as_ref() == Some(&self.holder)).then_some(version)
    }
}

/// Renews a lease three times in the time for which it holds. What fails is told where something is
/// to be written.
async fn renew_on_and_on(held: Arc<Held>) {
    loop {
        tokio::time::sleep(held.length / 3).await;
        let mut state = held.state.lock().await;
        if let Err(error) = held.renew(&mut state).await {
            tracing::debug!("cannot renew {}: {error}", held.lake.shown(&held.path));
        }
    }
}

/// What is written in a lease that may be taken, and its version; nothing if there is none yet. Waits
/// where it is held, for as long as it may hold.
async fn free(lake: &Lake, cluster: &str, path: &Path) -> Result<Option<(Written, UpdateVersion)>> {
    /// The holder renews it in less time than it holds, but may be slow.
    const LOOKS: u32 = 15;
    let Some((first, version)) = read(lake, path).await? else { return Ok(None) };
    let Some(holder) = &first.holder else { return Ok(Some((first, version))) };
    for _ in 0..LOOKS {
        tokio::time::sleep(lake.lease_length / (LOOKS - 3)).await;
        match read(lake, path).await? {
            Some((now, _)) if now == first => {}
            Some((now, version)) if now.holder.is_none() => return Ok(Some((now, version))),
            Some(_) => return Err(refused(lake, cluster, path).await),
            None => return Ok(None),
        }
    }
    tracing::warn!(
        "{holder} stopped collecting cluster {cluster:?} without an end; going on with it"
    );
    Ok(Some((first, version)))
}

async fn refused(lake: &Lake, cluster: &str, path: &Path) -> anyhow::Error {
    let holder = match read(lake, path).await {
        Ok(Some((Written { holder: Some(holder), .. }, _))) => holder.to_string(),
        _ => "process unknown".to_owned(),
    };
    anyhow::anyhow!(
        "another collector of cluster {cluster:?} is running ({holder}); wait for it or stop it"
    )
}

async fn read(lake: &Lake, path: &Path) -> Result<Option<(Written, UpdateVersion)>> {
    let Some((bytes, version)) = lake.versioned_bytes(path).await? else { return Ok(None) };
    let written = serde_json::from_slice(&bytes).with_context(|| {
        format!("{} is no lease; remove it if nobody collects", lake.shown(path))
    })?;
    Ok(Some((written, version)))
}

/// Who holds a cluster's lease; one that died a moment ago still does.
pub(crate) async fn holder(lake: &Lake, cluster: &str) -> Result<Option<String>> {
    let found = read(lake, &path::lease(cluster)).await?;
    Ok(found.and_then(|(written, _)| written.holder).map(|holder| holder.to_string()))
}

impl Written {
    fn bytes(&self) -> Bytes {
        serde_json::to_vec(self).expect("a lease is plain numbers and texts").into()
    }
}

impl Holder {
    fn this_process() -> Holder {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        Holder {
            host: host.map_or("an unknown host".to_owned(), |host| host.trim().to_owned()),
            process: std::process::id(),
            token: format!("{:016x}", RandomState::new().build_hasher().finish()),
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "process {} on {}", self.process, self.host)
    }
}
