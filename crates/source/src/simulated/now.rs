//! A simulated machine with the clock of the real one.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Simulated, Site};
use crate::machine::{Command, Failure, Live, Machine};

/// A [`Simulated`] machine at which it is always now; its site must have been simulated until later.
#[derive(Clone)]
pub struct SimulatedNow {
    pub site: Arc<Site>,
    /// [`Site::slurm_cluster`] or [`Site::condor_pool`].
    pub cluster: String,
}

impl Machine for SimulatedNow {
    fn now(&self) -> Timestamp {
        Live::default().now()
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let (site, cluster) = (self.site.clone(), self.cluster.clone());
        Simulated { site, cluster, now: self.now() }.run(command, sink)
    }
}
