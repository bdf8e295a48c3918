//! What was last seen of the clusters, as families of numbers for monitoring systems.
//!
//! Nothing is asked here and no file is read, but for what was granted: a [`Live`] goes in, families
//! come out. `own` has our names; `vpenso`, `rivosinc` and `origin` have those that other exporters made known, each as a
//! page of its own, for the same names have other labels there.

mod granted;
mod last_seen;
mod origin;
mod own;
mod recent_use;
mod rivosinc;
mod sinfo;
mod sums;
mod vpenso;

use jiff::Timestamp;
use record::{IdleGpu, JobCount, Live, NodeSpan, SourceHealth};
use report::Family;

pub use granted::{granted, granted_families};
pub use last_seen::{LastSeen, compatible_page};
pub use own::own;

/// How metrics are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricOptions {
    /// How many users, and how many accounts, have numbers of their own; the rest is added up.
    pub top: usize,
    /// Whether a GPU without a free CPU is idle.
    pub idle_gpu: IdleGpu,
}

impl Default for MetricOptions {
    fn default() -> Self {
        MetricOptions { top: 20, idle_gpu: IdleGpu::NeedsCpu }
    }
}

/// A page in the names of another exporter. It is about one cluster: those names have no label
/// that would tell two apart.
pub struct CompatiblePage {
    /// As in `/metrics/vpenso`.
    pub name: &'static str,
    /// Whose names these are, and what differs, as sentences.
    pub meaning: &'static str,
    pub families: fn(&Live) -> Vec<Family>,
}

/// The pages for dashboards that were made for other exporters.
pub static COMPATIBLE_PAGES: [CompatiblePage; 3] = [
    CompatiblePage {
        name: "vpenso",
        meaning: "The names of vpenso/prometheus-slurm-exporter. What `sdiag` and `sshare` say is \
                  not asked for, so `slurm_scheduler_*` and `slurm_account_fairshare` are absent.",
        families: vpenso::vpenso,
    },
    CompatiblePage {
        name: "rivosinc",
        meaning: "The names of rivosinc/prometheus-slurm-exporter, in the units of its text mode. \
                  Features, licences, limits, traces and what `sdiag` says are absent.",
        families: rivosinc::rivosinc,
    },
    CompatiblePage {
        name: "origin",
        meaning: "The names of slurm_monitoring_and_reporting of 2021, without its errors: what \
                  is allocated is not idle, untyped GPUs count, and a node that is in a \
                  reservation that is not named is in `unknown`. Of an enumeration only the state \
                  that holds is there. `slurm_login_nodes` is absent.",
        families: origin::origin,
    },
];

/// How long a look counts as fresh: one cycle may be missed.
const FRESH_CYCLES: f64 = 3.0;

/// Whether a source answered when it was last asked, and that was lately.
pub(crate) fn is_up(live: &Live, source: &SourceHealth, now: Timestamp) -> bool {
    let fresh = live.cadence_seconds * FRESH_CYCLES;
    source.error.is_none()
        && source.success_time.is_some_and(|time| seconds_since(time, now) <= fresh)
}

/// Seconds from one moment to a later one.
fn seconds_since(time: Timestamp, now: Timestamp) -> f64 {
    now.duration_since(time).as_secs_f64()
}

fn seconds_of(time: Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1e6
}

/// The partitions of a node.
fn partitions(node: &NodeSpan) -> impl Iterator<Item = &str> {
    node.partitions.iter().flat_map(|list| list.split(',')).filter(|name| !name.is_empty())
}

/// The reservation that a node is in: `unknown` where the scheduler does not name it, none where it
/// is in none.
fn reservation(node: &NodeSpan) -> Option<&str> {
    let is_reserved = || node.state.split('+').any(|word| word == "RESERVED");
    node.reservation.as_deref().or_else(|| is_reserved().then_some("unknown"))
}

/// Whether a job holds what it asked for.
pub(crate) fn is_running(count: &JobCount) -> bool {
    matches!(
        count.state.as_str(),
        "RUNNING" | "COMPLETING" | "CONFIGURING" | "RESIZING" | "STAGE_OUT"
    )
}

pub(crate) fn is_waiting(count: &JobCount) -> bool {
    const WAITING: [&str; 7] =
        ["PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "IDLE", "HELD"];
    WAITING.contains(&count.state.as_str())
}

#[cfg(test)]
mod tests;
