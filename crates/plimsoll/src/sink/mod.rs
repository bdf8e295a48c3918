//! Attempts of jobs as documents for others: pushed as they change, or all of a period.

mod document;
mod select;
mod target;

use std::sync::Arc;

use anyhow::Result;
use jiff::Timestamp;
use lake::Lake;
use source::Machine;
use source::elasticsearch::Pushed;

use crate::config::SinkTarget;

pub(crate) use select::{Selection, Which};

/// What a push did.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) pushed: Pushed,
    /// When the last of it was observed; none if there was nothing to push.
    pub(crate) until: Option<Timestamp>,
}

/// Pushes the attempts that are selected, file by file. One that fails leaves what came before it
/// pushed: whoever pushes the same again does no harm.
pub(crate) async fn push(
    lake: &Lake,
    machine: &Arc<dyn Machine>,
    target: &SinkTarget,
    selection: &Selection,
) -> Result<Done> {
    let mut done = Done::default();
    for file in select::files(lake, selection).await? {
        let jobs = select::jobs(lake, &file, selection).await?;
        let documents: Vec<_> = jobs.iter().map(document::of).collect();
        let (machine, target) = (machine.clone(), target.clone());
        // A server is waited for in a thread of its own, so that what else is under way goes on.
        let put = move || target::put(machine.as_ref(), &target, &documents);
        let Pushed { taken, refused, first_refusal } = tokio::task::spawn_blocking(put).await??;
        done.pushed.taken += taken;
        done.pushed.refused += refused;
        done.pushed.first_refusal = done.pushed.first_refusal.take().or(first_refusal);
        done.until = done.until.max(jobs.iter().map(|job| job.observed_time).max());
    }
    Ok(done)
}
