//! What really happened at the simulated site: what a report made from its printed text must find.

use jiff::Timestamp;

/// Everything that happened from the site's start to its end.
#[derive(Debug, Default, PartialEq)]
pub struct Truth {
    pub attempts: Vec<TrueAttempt>,
    pub gpu_intervals: Vec<TrueGpuInterval>,
    pub outages: Vec<TrueOutage>,
}

/// One attempt of a SLURM job, or one execution of an HTCondor job.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueAttempt {
    pub cluster: &'static str,
    /// `JobID` as sacct prints it (tasks that wait together are one), or the GlobalJobId without
    /// the time of submission at its end.
    pub job_id: String,
    /// How often the job had been started before: an eviction or a requeue makes a next one.
    pub restarts: i64,
    pub user: &'static str,
    pub account: &'static str,
    /// None for HTCondor, which has none.
    pub partition: Option<&'static str>,
    /// The nodes or the machine that it ran on.
    pub nodes: Vec<String>,
    /// SLURM's word; for HTCondor COMPLETED, FAILED, EVICTED or RUNNING. An execution that its
    /// user took away is EVICTED: its ad says no more than that.
    pub state: &'static str,
    pub submit: Timestamp,
    /// None for a job that was never released, which sacct does not show. It may be yet to come.
    pub eligible: Option<Timestamp>,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    /// Over all nodes.
    pub cpus: i64,
    pub memory_mb: i64,
    pub gpus: i64,
    /// None where the scheduler does not measure it: while a job runs, and after a node failed.
    /// From an hour on sacct prints whole seconds of it.
    pub total_cpu_seconds: Option<f64>,
    /// None as above, and for what was shorter than the time between two samples.
    pub max_rss_mb: Option<f64>,
    /// The part of its GPUs that it kept busy, from 0 to 1; None without GPUs.
    pub gpu_use_ratio: Option<f64>,
}

/// One GPU of the HTCondor pool while nothing about it changed. A machine that has dropped out
/// has no interval for that time.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueGpuInterval {
    pub machine: String,
    pub gpu_id: String,
    pub start: Timestamp,
    pub end: Timestamp,
    /// The job that holds it through the primary slot, named as in [`TrueAttempt::job_id`].
    pub primary: Option<String>,
    /// The job that holds it through the backfill slot.
    pub backfill: Option<String>,
    /// Whether the machine was draining or drained.
    pub drained: bool,
}

/// A time for which a node or a machine was out of service.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueOutage {
    pub cluster: &'static str,
    pub node: String,
    pub start: Timestamp,
    /// None where it lasted beyond the site's end.
    pub end: Option<Timestamp>,
    /// `DOWN`, `DRAIN`, `ABSENT` (it has dropped out) or `PREVENTED` (it takes no new jobs).
    pub kind: &'static str,
    pub reason: &'static str,
}
