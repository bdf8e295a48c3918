//! A site that does not exist, and answers as if it did: a SLURM cluster and an HTCondor pool,
//! simulated, behind the commands of the real ones and in their own text.
//!
//! Everything follows from a seed and two times, and is decided when the site is made. A
//! [`Simulated`] machine then prints what its scheduler would have printed at a given moment.

mod alive;
mod arguments;
mod condor_config_val;
mod condor_history;
mod condor_json;
mod condor_machines;
mod condor_pool;
mod condor_q;
mod condor_status;
mod condor_truth;
mod condor_workload;
mod random;
mod simulation;
mod slurm_attempt;
mod slurm_cluster;
mod slurm_nodes;
mod slurm_sacct;
mod slurm_sacct_columns;
mod slurm_sacct_resources;
mod slurm_sacct_row;
mod slurm_sacct_usage;
mod slurm_scontrol;
mod slurm_settings;
mod slurm_show_job;
mod slurm_squeue;
mod slurm_sreport;
mod slurm_truth;
mod slurm_usage;
mod slurm_workload;
#[cfg(test)]
mod tests;
mod text;
mod truth;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::machine::{Command, Failure, Machine};
use condor_machines::{LABS, Owner};
use condor_pool::CondorPool;
pub use condor_pool::ReturnLaw;
pub use simulation::{SimulatedNow, Simulation};
use slurm_cluster::SlurmCluster;
pub use truth::{TrueAttempt, TrueGpuInterval, TrueOutage, Truth};

/// How large a site is, and of what time it keeps its history.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    pub seed: u64,
    pub start: Timestamp,
    pub end: Timestamp,
    /// Attempts a day, on average over a week. How long jobs take is chosen to fill the nodes.
    pub slurm_jobs_per_day: u32,
    pub slurm_nodes: u32,
    pub condor_machines: u32,
}

impl Scale {
    /// The site of `plimsoll demo`: what a middle-sized university has.
    pub fn demo(seed: u64, end: Timestamp, days: i64) -> Scale {
        Scale::demo_between(seed, end - SignedDuration::from_hours(24 * days), end)
    }

    /// The same site from one time to another.
    pub fn demo_between(seed: u64, start: Timestamp, end: Timestamp) -> Scale {
        Scale { seed, start, end, slurm_jobs_per_day: 5000, slurm_nodes: 60, condor_machines: 60 }
    }
}

/// A simulated site, with everything that happens there.
pub struct Site {
    span: Span,
    slurm: SlurmCluster,
    condor: CondorPool,
    truth: OnceLock<Truth>,
}

impl Site {
    pub fn new(scale: &Scale) -> Site {
        Site::simulate(scale, None)
    }

    /// A site in whose pool nothing ends a backfill job but itself and its owners' return, which
    /// follows a law.
    pub fn with_returns(scale: &Scale, law: &ReturnLaw) -> Site {
        Site::simulate(scale, Some(law))
    }

    fn simulate(scale: &Scale, law: Option<&ReturnLaw>) -> Site {
        let span = Span { start: moment(scale.start), end: moment(scale.end) };
        Site {
            span,
            slurm: SlurmCluster::simulate(
                scale.seed,
                span,
                scale.slurm_jobs_per_day,
                scale.slurm_nodes,
            ),
            condor: CondorPool::simulate(scale.seed, span, scale.condor_machines, law),
            truth: OnceLock::new(),
        }
    }

    pub fn slurm_cluster() -> &'static str {
        SLURM_CLUSTER
    }

    pub fn condor_pool() -> &'static str {
        CONDOR_POOL
    }

    /// What happened, as the site itself knows it, not as it prints it.
    pub fn truth(&self) -> &Truth {
        self.truth.get_or_init(|| {
            let mut truth = Truth::default();
            slurm_truth::add(&self.slurm, self.span.end, &mut truth);
            condor_truth::add(&self.condor, self.span.end, &mut truth);
            truth
        })
    }

    /// The names of its clusters.
    pub fn clusters() -> [&'static str; 2] {
        [SLURM_CLUSTER, CONDOR_POOL]
    }

    /// The users of the SLURM cluster by their account, and those of the pool by their lab; users of
    /// no lab are in `open`.
    pub fn groups() -> BTreeMap<&'static str, Vec<&'static str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for user in &slurm_workload::USERS {
            groups.entry(user.account).or_default().push(user.name);
        }
        for lab in LABS {
            groups.entry(lab.name).or_default().extend(lab.users);
        }
        groups.insert("open", condor_workload::OTHERS.to_vec());
        groups
    }

    /// The machines of the pool that the institution owns; HTCondor itself does not say so, a
    /// site has to list them.
    pub fn institution_hosts(&self) -> Vec<String> {
        let machines = self.condor.machines.iter();
        machines
            .filter(|machine| machine.owner == Owner::Institution)
            .map(|machine| machine.name.clone())
            .collect()
    }
}

/// A machine of the simulated site, from which one of its two schedulers is asked.
#[derive(Clone)]
pub struct Simulated {
    pub site: Arc<Site>,
    /// [`Site::slurm_cluster`] or [`Site::condor_pool`].
    pub cluster: String,
    /// The time at which every command is answered.
    pub now: Timestamp,
}

impl Machine for Simulated {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let now = moment(self.now);
        let is_answered = match self.cluster.as_str() {
            SLURM_CLUSTER => slurm_settings::prints_version(command, sink),
            _ => condor_json::prints_version(command, sink),
        };
        if is_answered {
            return Ok(());
        }
        match (self.cluster.as_str(), command.program) {
            (SLURM_CLUSTER, "sacct") => slurm_sacct::sacct(&self.site.slurm, now, command, sink),
            (SLURM_CLUSTER, "squeue") => slurm_squeue::squeue(&self.site.slurm, now, command, sink),
            (SLURM_CLUSTER, "scontrol") => {
                slurm_scontrol::scontrol(&self.site.slurm, now, command, sink)
            }
            (SLURM_CLUSTER, "sacctmgr") => slurm_settings::sacctmgr(now, command, sink),
            (SLURM_CLUSTER, "sreport") => {
                slurm_sreport::sreport(&self.site.slurm, now, command, sink)
            }
            (CONDOR_POOL, "condor_status") => {
                condor_status::condor_status(&self.site.condor, now, command, sink)
            }
            (CONDOR_POOL, "condor_config_val") => {
                condor_config_val::condor_config_val(command, sink)
            }
            (CONDOR_POOL, "condor_history") => {
                condor_history::condor_history(&self.site.condor, now, command, sink)
            }
            (CONDOR_POOL, "condor_q") => condor_q::condor_q(&self.site.condor, now, command, sink),
            _ => Err(Failure::Missing { program: command.program.to_owned() }),
        }
    }
}

const SLURM_CLUSTER: &str = "alder";
const CONDOR_POOL: &str = "tamarack";

/// Seconds since the epoch; a 32-bit number, as there are a million jobs with four of them each.
type Moment = u32;

/// A moment that has not come when the simulation ends.
const NEVER: Moment = Moment::MAX;

const DAY: Moment = 86_400;

/// The time of which a site keeps its history.
#[derive(Clone, Copy)]
struct Span {
    start: Moment,
    end: Moment,
}

fn moment(time: Timestamp) -> Moment {
    time.as_second().clamp(0, i64::from(NEVER - 1)) as Moment
}

fn timestamp(moment: Moment) -> Timestamp {
    Timestamp::from_second(i64::from(moment)).expect("the year 2106 is within a Timestamp's range")
}

/// The moment, if it has come.
fn timestamp_if_come(moment: Moment) -> Option<Timestamp> {
    (moment != NEVER).then(|| timestamp(moment))
}
