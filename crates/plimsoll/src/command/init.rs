//! `plimsoll init`: a first `plimsoll.toml`, from what was found at the site.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::tz::TimeZone;
use source::{Command, Live, Machine};

use crate::cli::Init;
use crate::config::{Kind, LONGEST_CLUSTER_NAME, is_cluster_name, is_cluster_name_character};
use crate::{Outcome, complain};

pub(crate) fn run(arguments: &Init) -> anyhow::Result<Outcome> {
    let found = look(&Live::default());
    write_new(&arguments.file, &config_text(&found))?;
    let seen = |name: &Option<String>| name.clone().unwrap_or_else(|| "not found".to_owned());
    complain(&format!(
        "wrote {} (sacct: {}; condor_status: {})\nlook it over, then: plimsoll collect --days 30",
        arguments.file.display(),
        seen(&found.sacct),
        seen(&found.condor)
    ));
    Ok(Outcome::Done)
}

/// What a look at the machine found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The cluster whose accounting `sacct` reads.
    pub(crate) sacct: Option<String>,
    /// The pool that `condor_status` asks.
    pub(crate) condor: Option<String>,
    /// The machine's zone.
    pub(crate) zone: Option<String>,
}

/// Asks what is installed here for its name.
fn look(machine: &dyn Machine) -> Found {
    let output = |program, arguments: &[&str]| {
        let command = Command {
            program,
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            time_limit: Duration::from_secs(20),
        };
        let mut text = Vec::new();
        machine.run(&command, &mut |piece| text.extend_from_slice(piece)).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let sacct = output("sacct", &["--version"]).map(|_| {
        output("scontrol", &["show", "config"])
            .and_then(|config| slurm_cluster(&config).map(str::to_owned))
            .unwrap_or_else(|| "slurm".to_owned())
    });
    let condor = output("condor_status", &["-version"]).map(|_| {
        output("condor_config_val", &["COLLECTOR_HOST"])
            .map(|host| host.trim().to_owned())
            .filter(|host| !host.is_empty())
            .unwrap_or_else(|| "htcondor".to_owned())
    });
    let zone = TimeZone::try_system().ok().and_then(|zone| zone.iana_name().map(str::to_owned));
    Found { sacct, condor, zone }
}

/// The cluster that SLURM's commands here ask, by `scontrol show config`. One accounting database
/// may serve several.
fn slurm_cluster(config: &str) -> Option<&str> {
    let line = config.lines().find(|line| line.starts_with("ClusterName "))?;
    Some(line.split_once('=')?.1.trim()).filter(|name| !name.is_empty())
}

/// A file that says what was found, with examples of the rest.
pub(crate) fn config_text(found: &Found) -> String {
    let slurm = found.sacct.as_deref().map(|name| cluster_name(name, Kind::Slurm));
    let mut htcondor = found.condor.as_deref().map(|name| cluster_name(name, Kind::Htcondor));
    if slurm.is_some() && slurm == htcondor {
        htcondor = htcondor.map(|name| cluster_name(&format!("htcondor-{name}"), Kind::Htcondor));
    }
    let zone = match found.zone.as_deref().filter(|zone| TimeZone::get(zone).is_ok()) {
        Some(zone) => format!("zone = {zone:?}"),
        None => "# zone = \"America/Chicago\"".to_owned(),
    };
    format!(
        "\
# What Plimsoll knows about this site. Lines that begin with # are comments and examples.

# Where the history is kept. A relative path begins at this file's folder. On object storage
# (s3://bucket/prefix, see docs/scale.md) state_dir names the folder for what is not history.
data_dir = \"data\"

# The time zone in which reports are read; without it, this machine's.
{zone}

# How much memory questions may hold together; without it, as much as they need. docs/scale.md has more.
# memory_limit = \"2GiB\"

# Clusters to collect from, a [[cluster]] each. The name becomes a folder of data_dir.
# command_prefix runs the scheduler's commands elsewhere, time_limit says how long one of them may
# take (without it a minute, sacct and condor_history longer), cadence how often the state of
# machines and of the queue is sampled (s, m or h), slurm_cluster is the cluster's name in slurmdbd
# where one slurmdbd serves several and the commands here belong to another of them. Jobs of
# backfill_partitions or backfill_qos run only where nothing else wants to, and give way to others;
# a pool of HTCondor says so of its slots itself.

{slurm}
{htcondor}
# Groups of users, for reports by group. A user may be in several.
# [groups]
# physics = [\"alice\", \"bob\"]

# Who is told of jobs as they change; docs/push.md has more.
# [[push]]
# name = \"lines\"
# file = \"jobs.ndjson\"

# Who may see the pages of `plimsoll serve`; without it, everybody on this machine and nobody else.
# See docs/security.md.
# [access]
# anonymous = \"public\"
# staff = [\"alice\"]
# [access.coordinators]
# bob = [\"physics\"]
# [access.proxy]
# header = \"X-Remote-User\"
# trusted = [\"127.0.0.1\"]

# What was granted to whom, an [[allocation]] each: to a group, an account or a user, or several of
# them, in a cluster, in several or, if none is named, in all. Units are gpu-hour, gpu-year, cpu-hour,
# cpu-year, node-hour, node-year, and rgu-hour and rgu-year, in which a GPU counts as the weight of
# its model. A year is 365 days; the last day is not included. Instead, or beside, allocation_file
# may stand above all tables and name a CSV file whose columns are called as these keys.
# [[allocation]]
# name = \"physics 2026\"
# group = \"physics\"
# cluster = [\"alder\"]
# unit = \"gpu-year\"
# amount = 40
# from = 2026-04-01
# to = 2027-04-01

# Who takes the mail of `plimsoll digest --mail` and `plimsoll notify --send`. Instead of
# password_file, password_env may name a variable of the environment. See docs/digest.md.
# [mail]
# server = \"smtp.example.org\"
# security = \"starttls\"
# user = \"plimsoll\"
# password_file = \"/etc/plimsoll/smtp-password\"
# from = \"Plimsoll <plimsoll@example.org>\"
# reply_to = \"help@example.org\"

# Who gets the digest of a day, a week or a month, and what is in it; without sections, all that
# docs/digest.md lists. A webhook is Slack, Mattermost, or whatever takes such lines.
# [digest]
# title = \"Our clusters\"
# to = [\"director@example.org\", \"Operations <ops@example.org>\"]
# sections = [\"clusters\", \"gpus\", \"gpus-over-time\", \"users\", \"wasters\", \"allocations\", \"words\"]
# [[digest.webhook]]
# name = \"ops\"
# url_file = \"/etc/plimsoll/ops-webhook\"

# Who gets a letter about what was held and not used: of one rule, who passes both the floor and
# the ratio. A rule takes the place of the one that has its name (cpu, memory, gpu).
# [notify]
# address = \"{{user}}@example.org\"
# cadence_days = 14
# quiet_days = [\"Saturday\", \"Sunday\"]
# excluded_users = [\"root\"]
# [[notify.rule]]
# name = \"cpu\"
# report = \"wasters\"
# amount = \"cpu_hours_wasted\"
# floor = 1000
# share = \"cpu_share\"
# ratio = 0.75
# words = \"{{amount}} CPU hours were held and not used: {{share}} % of those that were measured.\"

# Numbers and words for other dashboards, which find them at /api/v1/constants.
# [constants]
# price_per_kwh = 0.12
# carbon_kg_per_kwh = 0.38
# students = 240

# What no scheduler says of GPUs. Machines are named by patterns of their whole names, with or
# without the domain (* and ? stand for letters), or by /regular expressions/; case does not
# matter. Machines with PrioritizedProjects are owned without being listed here.
# [gpu]
# institution_owned = [\"gpu2*.example.edu\"]
# researcher_owned = [\"smithgpu*\"]
# hidden_families = [\"GTX 1080\"]
#
# What reports call classes of slots.
# [gpu.classes]
# Priority-CHTCOwned = \"Reserved\"
#
# Machines to leave out; every report says which, and why.
# [gpu.masks]
# \"gpulab*\" = \"for interactive work\"
#
# Models that Plimsoll does not know, or knows otherwise.
# [[gpu.device]]
# patterns = [\"NVIDIA A40\", \"a40\"]
# name = \"A40\"
# family = \"A40\"
# tier = \"standard\"
# weight = 4.8
# memory_gb = 48
# hidden = false
",
        slurm = cluster_text(slurm.as_deref(), "alder", Kind::Slurm),
        htcondor = cluster_text(htcondor.as_deref(), "birch", Kind::Htcondor),
    )
}

/// Writes a file that is not there yet; one that is there stays as it is.
pub(crate) fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
            "{} is already there and was left as it is: edit it, or move it away and run \
             `plimsoll init` again",
            path.display()
        ),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot create {}", path.display()));
        }
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file would be read as a whole one. It is ours: it was not there before.
        let _ = fs::remove_file(path);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// A cluster's table; commented out, with an example's name, if there is no such cluster.
fn cluster_text(name: Option<&str>, example: &str, kind: Kind) -> String {
    let mark = if name.is_some() { "" } else { "# " };
    format!(
        "\
{mark}[[cluster]]
{mark}name = \"{}\"
{mark}kind = \"{}\"
# command_prefix = [\"ssh\", \"login1\"]
# time_limit = \"60s\"
# cadence = \"5m\"
{backfill}",
        name.unwrap_or(example),
        kind.name(),
        backfill = match kind {
            Kind::Slurm => "# backfill_partitions = [\"scavenge\"]\n# backfill_qos = [\"low\"]\n",
            Kind::Htcondor => JOB_HISTORY,
        }
    )
}

/// An example of what `condor_adstash` pushes to. The secret is in a file of its own.
const JOB_HISTORY: &str = "\
# Where condor_adstash pushes job ads to, to be read beside condor_history. Secrets are in files of
# their own, or in variables of the environment (password_env, api_key_env).
# [cluster.job_history]
# url = \"https://search.example.org:9200\"
# index = \"htcondor-epochs-*\"
# user = \"plimsoll\"
# password_file = \"/etc/plimsoll/elasticsearch-password\"
# ca_file = \"/etc/ssl/certs/our-own-authority.pem\"
";

/// The name that a scheduler gave, made fit for a configuration: a pool may be called
/// `Physics Pool` or `pool.example.edu:9618`.
fn cluster_name(found: &str, kind: Kind) -> String {
    let name: String = found
        .trim()
        .chars()
        .map(|character| if is_cluster_name_character(character) { character } else { '-' })
        .skip_while(|character| !character.is_ascii_alphanumeric())
        .take(LONGEST_CLUSTER_NAME)
        .collect();
    let name = name.trim_end_matches('-');
    if is_cluster_name(name) { name.to_owned() } else { kind.name().to_owned() }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::config::{Config, Environment};

    fn found(sacct: Option<&str>, condor: Option<&str>, zone: Option<&str>) -> Found {
        Found {
            sacct: sacct.map(str::to_owned),
            condor: condor.map(str::to_owned),
            zone: zone.map(str::to_owned),
        }
    }

    /// The text must load; gives the clusters that it names.
    fn check(found: &Found, clusters: &[&str]) -> Config {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("plimsoll.toml");
        write_new(&path, &config_text(found)).unwrap();
        let environment = Environment {
            plimsoll_config: None,
            xdg_config_home: None,
            home: None,
            current_dir: PathBuf::from("/"),
            system_zone: TimeZone::UTC,
            store_settings: lake::StoreSettings::default(),
        };
        let config = Config::load(Some(&path), &environment).unwrap();
        assert_eq!(config.data_dir.folder(), Some(&*folder.path().join("data")));
        let named: Vec<String> = config
            .clusters
            .iter()
            .map(|cluster| format!("{} {}", cluster.kind.name(), cluster.name))
            .collect();
        assert_eq!(named, clusters);
        config
    }

    #[test]
    fn the_cluster_is_the_one_that_the_commands_here_ask() {
        let config = "AccountingStorageHost   = localhost\n\
                      ClusterName             = maple\nCompleteWait = 0 sec\n";
        assert_eq!(slurm_cluster(config), Some("maple"));
        assert_eq!(slurm_cluster("slurm_load_ctl_conf error"), None);
    }

    #[test]
    fn what_was_found_is_configured() {
        let found = found(Some("alder"), Some("pool.example.edu"), Some("America/Chicago"));
        let config = check(&found, &["slurm alder", "htcondor pool.example.edu"]);
        assert_eq!(config.zone, TimeZone::get("America/Chicago").unwrap());
    }

    #[test]
    fn what_was_not_found_is_an_example() {
        check(&Found::default(), &[]);
        check(&found(None, Some("birch"), None), &["htcondor birch"]);
        let text = config_text(&Found::default());
        for example in ["# [[cluster]]", "# kind = \"slurm\"", "# zone = ", "# [groups]"] {
            assert!(text.contains(example), "{example} in {text}");
        }
    }

    /// The examples are true: without their mark they load.
    #[test]
    fn the_examples_load() {
        let text = config_text(&Found::default());
        let examples: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(example) if example.starts_with('[') || example.contains(" = ") => example,
                _ => line,
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("plimsoll.toml");
        write_new(&path, &examples).unwrap();
        let environment = Environment {
            plimsoll_config: Some(path),
            xdg_config_home: None,
            home: None,
            current_dir: PathBuf::from("/"),
            system_zone: TimeZone::UTC,
            store_settings: lake::StoreSettings::default(),
        };
        let config = Config::load(None, &environment).unwrap();
        assert_eq!((config.clusters.len(), config.groups.len()), (2, 1));
        assert_eq!(config.allocations[0].amount, 40.0);
        assert_eq!(config.constants.len(), 3);
        assert_eq!(config.judgement.masks.len(), 1);
        assert_eq!(config.judgement.class_name("Priority-CHTCOwned"), "Reserved");
        assert_eq!(config.judgement.devices[0].memory_gb, Some(48.0));
        assert_eq!(config.clusters[0].command_prefix, ["ssh", "login1"]);
        let mail = config.mail.unwrap();
        assert_eq!((mail.host.as_str(), mail.port), ("smtp.example.org", 587));
        assert_eq!((config.digests.to.len(), config.digests.digest.parts.len()), (2, 7));
        assert_eq!(config.digests.webhooks[0].name, "ops");
        assert_eq!(config.notify.address.as_deref(), Some("{user}@example.org"));
        let floors = config.notify.rules.iter().map(|rule| (rule.name.as_str(), rule.floor));
        assert_eq!(
            floors.collect::<Vec<_>>(),
            [("cpu", 1000.0), ("memory", 5000.0), ("gpu", 100.0)]
        );
    }

    #[test]
    fn names_of_schedulers_are_made_fit() {
        check(
            &found(Some(" Physics Pool\" "), Some("cm.example.edu:9618?x"), None),
            &["slurm Physics-Pool", "htcondor cm.example.edu-9618-x"],
        );
        check(
            &found(Some(".."), Some("学"), Some("no\"where")),
            &["slurm slurm", "htcondor htcondor"],
        );
        check(&found(Some("a"), Some("a"), None), &["slurm a", "htcondor htcondor-a"]);
        let long = "a".repeat(300);
        let cut = "a".repeat(200);
        check(
            &found(Some(&long), Some(&long), None),
            &[&format!("slurm {cut}"), &format!("htcondor htcondor-{}", "a".repeat(191))],
        );
    }

    #[test]
    fn a_file_that_is_there_is_left_as_it_is() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("plimsoll.toml");
        write_new(&path, "one").unwrap();
        let error = write_new(&path, "two").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{} is already there and was left as it is: edit it, or move it away and run \
                 `plimsoll init` again",
                path.display()
            )
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("no/plimsoll.toml");
        assert_eq!(
            format!("{:#}", write_new(&path, "").unwrap_err()),
            format!("cannot create {}: No such file or directory (os error 2)", path.display())
        );
    }
}
