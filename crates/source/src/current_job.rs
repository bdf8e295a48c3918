//! A job that is not over, whichever scheduler has it.

use record::Text;

/// A job that is not over.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentJob {
    pub job_id: Text,
    pub user: Option<Text>,
    pub partition: Option<Text>,
    pub phase: Phase,
    /// The scheduler's word for where it stands.
    pub state: Text,
    /// Held, or asked for while it waits; so are CPUs and GPUs.
    pub nodes: Option<i64>,
    pub cpus: Option<i64>,
    pub gpus: Option<i64>,
    /// Whether its nodes run no other jobs.
    pub is_exclusive: bool,
    /// The nodes that it is on; empty while it waits, unknown where the list cannot be read.
    pub node_names: Option<Vec<String>>,
}

/// Whether a job holds what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Waits,
    Holds,
    /// It has nodes but its CPUs are given to others.
    Suspended,
    /// HTCondor does not start it until somebody releases it.
    OnHold,
}
