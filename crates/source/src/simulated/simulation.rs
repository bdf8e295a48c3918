//! A simulated site behind a clock: what a cluster of `plimsoll.toml` with `simulated = true` runs on.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;

use super::{Scale, Simulated, Site};
use crate::machine::{Command, Failure, Letter, Live, Machine, MailServer, Request, Response};

/// A site that is simulated when the first command needs it, once for all clones of this value.
#[derive(Clone)]
pub struct Simulation {
    scale: Scale,
    history_end: Timestamp,
    site: Arc<OnceLock<Arc<Site>>>,
}

impl Simulation {
    /// `history_end` is where the clock begins: until then the history was collected at once. It lies
    /// between the start and the end of the scale.
    pub fn new(scale: Scale, history_end: Timestamp) -> Simulation {
        Simulation { scale, history_end, site: Arc::default() }
    }

    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    pub fn history_end(&self) -> Timestamp {
        self.history_end
    }

    /// Simulates the site if that has not happened yet.
    pub fn site(&self) -> &Arc<Site> {
        self.site.get_or_init(|| Arc::new(Site::new(&self.scale)))
    }

    #[cfg(test)]
    pub(super) fn is_simulated(&self) -> bool {
        self.site.get().is_some()
    }

    /// The real time, but not before the end of the history and not after that of the simulation.
    pub fn now(&self) -> Timestamp {
        Live::default().now().max(self.history_end).min(self.scale.end)
    }

    /// The machine on which the commands of a cluster run: [`Site::slurm_cluster`] or
    /// [`Site::condor_pool`].
    pub fn machine(&self, cluster: &str) -> SimulatedNow {
        SimulatedNow { simulation: self.clone(), cluster: cluster.to_owned() }
    }
}

/// Whether the site was simulated yet makes no difference.
impl PartialEq for Simulation {
    fn eq(&self, other: &Simulation) -> bool {
        (&self.scale, self.history_end) == (&other.scale, other.history_end)
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Simulation { scale, history_end, .. } = self;
        formatter
            .debug_struct("Simulation")
            .field("scale", scale)
            .field("history_end", history_end)
            .finish_non_exhaustive()
    }
}

/// A [`Simulated`] machine with the clock of its simulation.
pub struct SimulatedNow {
    simulation: Simulation,
    cluster: String,
}

impl Machine for SimulatedNow {
    fn now(&self) -> Timestamp {
        self.simulation.now()
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let (site, cluster) = (self.simulation.site().clone(), self.cluster.clone());
        Simulated { site, cluster, now: self.now() }.run(command, sink)
    }

    // Only the schedulers are simulated. A server that the configuration names is a real one.
    fn request(&self, request: &Request) -> Result<Response, Failure> {
        Live::default().request(request)
    }

    fn mail(&self, letter: &Letter, server: &MailServer) -> Result<(), Failure> {
        Live::default().mail(letter, server)
    }
}
