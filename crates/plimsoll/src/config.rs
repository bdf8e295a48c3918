//! `plimsoll.toml`: found, read and checked whole before anything starts.

mod access;
mod allocation_file;
mod check;
mod openid;
mod post;
mod reader;
mod search_server;
mod secret;

pub(crate) use check::{LONGEST_CADENCE, duration, memory_limit};
pub(crate) use openid::OpenId;
pub(crate) use post::{Digests, Mail, Notify, Rule, ShareOf, Webhook};

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::{Place, StoreSettings};
use query::metric::MetricOptions;
use query::{Allocation, Judgement, Memory};
use serve::{Access, Constant};
use source::simulated::Simulation;
use source::slurm::Backfill;
use source::{Live, Machine};

/// What the site told Plimsoll about itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// The file that says so; none if all of this is default.
    pub(crate) path: Option<PathBuf>,
    /// Where the history is kept.
    pub(crate) data_dir: Place,
    /// Where what is not history is kept, if the file says so; see [`Config::state_dir`].
    pub(crate) own_state_dir: Option<PathBuf>,
    /// In which people read times, and in which days begin.
    pub(crate) zone: TimeZone,
    /// What questions may hold together.
    pub(crate) memory: Memory,
    /// In the file's order, no two of one name.
    pub(crate) clusters: Vec<Cluster>,
    /// Users by the name of their group. A user may be in several: a student may work for two.
    pub(crate) groups: BTreeMap<String, Vec<String>>,
    /// What was granted to whom, no two of one name.
    pub(crate) allocations: Vec<Allocation>,
    /// What other dashboards may want to know.
    pub(crate) constants: BTreeMap<String, Constant>,
    /// What the site says of its GPUs.
    pub(crate) judgement: Arc<Judgement>,
    /// How metrics are made.
    pub(crate) metrics: MetricOptions,
    /// Who is told of jobs, no two of one name.
    pub(crate) sinks: Vec<Sink>,
    /// Who may see the pages; without it everybody who can ask may, which is for this machine alone.
    pub(crate) access: Option<Access>,
    /// Who else says who asks.
    pub(crate) openid: Option<OpenId>,
    /// The SLURM clusters whose `sacctmgr` says who coordinates which accounts.
    pub(crate) coordinators_of: Vec<String>,
    /// Who takes letters; without it none are sent.
    pub(crate) mail: Option<Mail>,
    /// What digests are made of, and who gets them.
    pub(crate) digests: Digests,
    /// Who gets a letter about waste.
    pub(crate) notify: Notify,
}

/// A cluster to collect from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cluster {
    /// Fit for a folder's name, see [`is_cluster_name`].
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// What the scheduler's commands run behind, such as `ssh login1`; empty if they run here.
    pub(crate) command_prefix: Vec<String>,
    /// How long a command may take; each has a limit of its own if the file does not say.
    pub(crate) time_limit: Option<Duration>,
    /// How often its state is sampled; none if the file does not say. See [`Cluster::cadence`].
    pub(crate) own_cadence: Option<Duration>,
    /// What slurmdbd calls it, where one slurmdbd serves several and the commands are to name it.
    pub(crate) slurm_cluster: Option<String>,
    /// Which of its jobs run only where nothing else wants to. HTCondor's slots say so themselves.
    pub(crate) backfill: Backfill,
    /// Who else keeps the history of its jobs.
    pub(crate) job_history: Option<SearchServer>,
    /// What its commands run on, if it is no real cluster; then no cluster of the file is.
    pub(crate) simulation: Option<Simulation>,
}

/// Somebody to whom attempts of jobs are pushed as they change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sink {
    /// By which the command line and the metrics know it.
    pub(crate) name: String,
    pub(crate) target: SinkTarget,
}

/// Where documents go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SinkTarget {
    /// Lines are added to a file.
    File(PathBuf),
    /// Lines are printed.
    Output,
    Server(SearchServer),
}

impl Sink {
    /// Has paths begin at the file's folder.
    fn below(self, folder: &Path) -> Sink {
        let target = match self.target {
            SinkTarget::File(path) => SinkTarget::File(folder.join(path)),
            SinkTarget::Output => SinkTarget::Output,
            SinkTarget::Server(server) => SinkTarget::Server(server.below(folder)),
        };
        Sink { target, ..self }
    }
}

/// An Elasticsearch or OpenSearch: one to which `condor_adstash` pushes a pool's job ads, or one to
/// which we push.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchServer {
    pub(crate) url: String,
    /// The index, or a pattern of several.
    pub(crate) index: String,
    pub(crate) login: Login,
    /// The certificates to trust; those that the machine trusts if there is none.
    pub(crate) ca_file: Option<PathBuf>,
}

/// As whom a server is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Login {
    Nobody,
    Password { user: String, place: SecretPlace },
    ApiKey { place: SecretPlace },
}

/// Where a secret is read when it is needed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SecretPlace {
    File(PathBuf),
    /// Of the environment.
    Variable(String),
}

impl Cluster {
    /// How often its state is sampled.
    pub(crate) fn cadence(&self) -> Duration {
        self.own_cadence.unwrap_or(DEFAULT_CADENCE)
    }
}

/// How often the state of a cluster is sampled if nobody says.
const DEFAULT_CADENCE: Duration = Duration::from_secs(5 * 60);

/// A scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Slurm,
    Htcondor,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Slurm, Kind::Htcondor];

    /// Its name in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Slurm => "slurm",
            Kind::Htcondor => "htcondor",
        }
    }
}

/// What the file's place and its defaults depend on. Only `main` reads it off the process.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// `$PLIMSOLL_CONFIG`
    pub(crate) plimsoll_config: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`
    pub(crate) xdg_config_home: Option<PathBuf>,
    /// `$HOME`
    pub(crate) home: Option<PathBuf>,
    pub(crate) current_dir: PathBuf,
    /// The machine's own zone.
    pub(crate) system_zone: TimeZone,
    /// How object stores are reached.
    pub(crate) store_settings: StoreSettings,
}

/// Everything that is wrong with the file, in its order.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub(crate) struct ConfigError {
    /// Each with its place, such as `plimsoll.toml:7:1: unknown key "cluser"`.
    pub(crate) problems: Vec<String>,
}

impl Config {
    /// The file that was asked for (`--config`), else the one that the environment points to;
    /// one of these must be there. Else the first that is there of those in the usual places,
    /// else the defaults.
    pub(crate) fn load(
        explicit: Option<&Path>,
        environment: &Environment,
    ) -> Result<Config, ConfigError> {
        let in_environment =
            environment.plimsoll_config.as_deref().filter(|path| !path.as_os_str().is_empty());
        let named = explicit
            .map(|path| (path, "--config"))
            .or(in_environment.map(|path| (path, "$PLIMSOLL_CONFIG")));
        if let Some((path, namer)) = named {
            let path = environment.current_dir.join(path);
            let bytes = std::fs::read(&path).map_err(|error| {
                unreadable(&path, &format!(", which {namer} names"), &error, environment)
            })?;
            return check::config(&path, &bytes, environment);
        }
        for path in usual_places(environment) {
            match std::fs::read(&path) {
                Ok(bytes) => return check::config(&path, &bytes, environment),
                Err(error) if is_absence(&error) => {}
                Err(error) => return Err(unreadable(&path, "", &error, environment)),
            }
        }
        Ok(Config {
            path: None,
            data_dir: Place::Folder(environment.current_dir.join(DEFAULT_DATA_DIR)),
            own_state_dir: None,
            zone: environment.system_zone.clone(),
            memory: Memory::default(),
            clusters: Vec::new(),
            groups: BTreeMap::new(),
            allocations: Vec::new(),
            constants: BTreeMap::new(),
            judgement: Arc::default(),
            metrics: MetricOptions::default(),
            sinks: Vec::new(),
            access: None,
            openid: None,
            coordinators_of: Vec::new(),
            mail: None,
            digests: check::default_digests(),
            notify: check::default_notify(),
        })
    }

    /// The site's simulation, if its clusters are simulated.
    pub(crate) fn simulation(&self) -> Option<&Simulation> {
        self.clusters.iter().find_map(|cluster| cluster.simulation.as_ref())
    }

    /// The site's time: this machine's clock, or that of the simulation.
    pub(crate) fn now(&self) -> Timestamp {
        self.simulation().map_or_else(|| Live::default().now(), Simulation::now)
    }

    /// The folder of this machine for what is not history: who logs in, which letters were sent,
    /// what is being derived again. The history's own, unless the file says otherwise.
    pub(crate) fn state_dir(&self) -> Result<&Path> {
        match self.own_state_dir.as_deref().or(self.data_dir.folder()) {
            Some(folder) => Ok(folder),
            None => bail!("{}", no_state_dir(&self.data_dir)),
        }
    }

    /// Where users, tokens and the secret of pseudonyms are kept, whether anybody logs in or not.
    pub(crate) fn access_folder(&self) -> Result<PathBuf> {
        match &self.access {
            Some(access) => Ok(access.folder.clone()),
            None => Ok(access::unsaid_folder(self.state_dir()?)),
        }
    }
}

const DEFAULT_DATA_DIR: &str = "data";

/// What to do about a history that is in no folder, where a folder is needed.
fn no_state_dir(data_dir: &Place) -> String {
    format!(
        "{data_dir} is on object storage: say where on this machine to keep what is not history, such \
         as who logs in and which letters were sent, with state_dir = \"/var/lib/plimsoll\""
    )
}

/// Whether a cluster may be called so. The name becomes a folder of the lake and a word of
/// commands, so it is made of plain letters and begins with one or a digit: no path, no `..`, no
/// option.
pub(crate) fn is_cluster_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= LONGEST_CLUSTER_NAME
        && name.chars().all(is_cluster_name_character)
}

pub(crate) fn is_cluster_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
}

/// A file's name has at most 255 bytes on Linux; `cluster=` and what a tool appends need some.
pub(crate) const LONGEST_CLUSTER_NAME: usize = 200;

fn usual_places(environment: &Environment) -> Vec<PathBuf> {
    let user = environment
        .xdg_config_home
        .clone()
        // The XDG Base Directory Specification has relative paths ignored.
        .filter(|folder| folder.is_absolute())
        .or_else(|| environment.home.as_ref().map(|home| home.join(".config")));
    let mut places = vec![environment.current_dir.join("plimsoll.toml")];
    places.extend(user.map(|folder| folder.join("plimsoll/plimsoll.toml")));
    places.push("/etc/plimsoll/plimsoll.toml".into());
    places
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unreadable(
    path: &Path,
    named: &str,
    error: &io::Error,
    environment: &Environment,
) -> ConfigError {
    let path = shown(path, environment);
    ConfigError { problems: vec![format!("cannot read {path}{named}: {error}")] }
}

/// A path as the user would write it.
fn shown(path: &Path, environment: &Environment) -> String {
    path.strip_prefix(&environment.current_dir).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests;
