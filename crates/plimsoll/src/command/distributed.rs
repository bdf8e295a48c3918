//! `plimsoll scheduler` and `plimsoll executor`, and `--engine` for who asks them. A program that was
//! built without the feature says so.

use std::sync::Arc;

use anyhow::Result;
use query::Engine;

use crate::Outcome;
use crate::cli::{Executor, Scheduler};
use crate::config::Config;

#[cfg(feature = "distributed")]
mod built {
    use std::net::SocketAddr;

    use distributed::Remote;
    use lake::Lake;

    use super::*;
    use crate::command::collect::stop_signal;
    use crate::complain;

    pub(crate) fn engine(address: &str) -> Result<Arc<dyn Engine>> {
        Ok(Arc::new(Remote::new(address)?))
    }

    pub(crate) async fn schedule(arguments: &Scheduler) -> Result<Outcome> {
        let scheduler = distributed::Scheduler::bind(arguments.listen).await?;
        warn_of(scheduler.address());
        complain(&format!("plans at df://{}", scheduler.address()));
        tokio::select! {
            served = scheduler.serve() => served?,
            signal = stop_signal() => signal?,
        }
        Ok(Outcome::Done)
    }

    pub(crate) async fn execute(config: &Config, arguments: &Executor) -> Result<Outcome> {
        let lake = Lake::open(&config.data_dir)?;
        warn_of(arguments.listen);
        let (host, port) = &arguments.scheduler;
        complain(&format!("works for {host}:{port} on {}", lake.place()));
        let (scheduler, memory_limit) = (arguments.scheduler.clone(), config.memory.limit());
        distributed::execute(&lake, scheduler, arguments.listen, memory_limit).await?;
        Ok(Outcome::Done)
    }

    fn warn_of(address: SocketAddr) {
        if !address.ip().is_loopback() {
            tracing::warn!(
                "whoever reaches {address} can read the history; keep it in a network of its own"
            );
        }
    }
}

#[cfg(not(feature = "distributed"))]
mod built {
    use anyhow::bail;

    use super::*;

    const MISSING: &str = "this program was built for one machine; `cargo install --path \
        crates/plimsoll --features distributed` builds one for several";

    pub(crate) fn engine(_: &str) -> Result<Arc<dyn Engine>> {
        bail!(MISSING)
    }

    pub(crate) async fn schedule(_: &Scheduler) -> Result<Outcome> {
        bail!(MISSING)
    }

    pub(crate) async fn execute(_: &Config, _: &Executor) -> Result<Outcome> {
        bail!(MISSING)
    }
}

pub(crate) use built::{engine, execute, schedule};
