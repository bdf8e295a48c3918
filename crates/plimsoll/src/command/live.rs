//! What the commands share that ask schedulers about this very moment.

use std::sync::Arc;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::{Column, Coverage, Period, Report, Table, Unit, Value};
use source::slurm::{Backfill, scontrol_show_config, setting, version_of};
use source::{Command, Failure, Live, Machine, Parsed, Parser};

use crate::command::collect::chosen;
use crate::complain;
use crate::config::{Cluster, Config, Kind, is_cluster_name};

/// The clusters that were named, or all that are configured; without a configuration the one
/// whose commands are installed here.
pub(super) fn clusters(config: &Config, names: &[String]) -> Result<Vec<Cluster>> {
    if config.path.is_some() {
        return chosen(config, names);
    }
    let Some(local) = local_cluster() else {
        bail!(
            "no plimsoll.toml was found, and squeue is not installed here; `plimsoll init` writes \
             a configuration in which command_prefix can name another machine"
        );
    };
    if let Some(name) = names.iter().find(|name| **name != local.name) {
        bail!(
            "no plimsoll.toml was found, and the cluster here is {:?}, not {name:?}; \
             `plimsoll init` writes a configuration that names more",
            local.name
        );
    }
    Ok(vec![local])
}

/// The SLURM cluster that this machine belongs to.
pub(super) fn local_cluster() -> Option<Cluster> {
    let machine = Live::default();
    // What fails in another way is there, and will say itself what is wrong.
    if let Err(Failure::Missing { .. }) = text(&machine, &version_of("squeue")) {
        return None;
    }
    let config = text(&machine, &scontrol_show_config()).unwrap_or_default();
    let name = setting(&config, "ClusterName").filter(|name| is_cluster_name(name));
    Some(Cluster {
        name: name.unwrap_or("slurm").to_owned(),
        kind: Kind::Slurm,
        command_prefix: Vec::new(),
        time_limit: None,
        own_cadence: None,
        slurm_cluster: None,
        backfill: Backfill::default(),
        job_history: None,
        simulation: None,
    })
}

/// The machine on which a cluster's commands run: this one, another behind a prefix, or a simulated one.
pub(super) fn machine(cluster: &Cluster) -> Arc<dyn Machine> {
    let Cluster { name, command_prefix, time_limit, simulation, .. } = cluster;
    match simulation {
        Some(simulation) => Arc::new(simulation.machine(name)),
        None => Arc::new(Live { prefix: command_prefix.clone(), time_limit: *time_limit }),
    }
}

/// What a command prints, as text.
pub(super) fn text(machine: &dyn Machine, command: &Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    machine.run(command, &mut |piece| text.extend_from_slice(piece))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// What a command prints, parsed; pieces that could not be read are told on stderr.
pub(super) fn records<T>(
    cluster: &str,
    machine: &dyn Machine,
    command: &Command,
    mut parser: impl Parser<T>,
) -> Result<Parsed<T>, Failure> {
    machine.run(command, &mut |piece| parser.push(piece))?;
    let parsed = parser.finish();
    for reject in &parsed.rejects {
        complain(&format!(
            "warning: {cluster}: cannot read line {} of {}: {}",
            reject.position, command.program, reject.reason
        ));
    }
    Ok(parsed)
}

/// Asks each SLURM cluster; the others, and those that do not answer, are named. It is an error
/// if nobody answers.
pub(super) struct Round<T> {
    pub(super) answers: Vec<(String, T)>,
    pub(super) notes: Vec<String>,
    pub(super) is_whole: bool,
}

pub(super) fn ask_slurm<T>(
    clusters: &[Cluster],
    mut ask: impl FnMut(&Cluster, &dyn Machine) -> Result<T, Failure>,
) -> Result<Round<T>> {
    let mut round = Round { answers: Vec::new(), notes: Vec::new(), is_whole: true };
    let mut failures = Vec::new();
    let mut pools = Vec::new();
    for cluster in clusters {
        match cluster.kind {
            Kind::Slurm => match ask(cluster, &*machine(cluster)) {
                Ok(answer) => round.answers.push((cluster.name.clone(), answer)),
                Err(failure) => failures.push(format!("{}: {failure}", cluster.name)),
            },
            Kind::Htcondor => pools.push(cluster.name.as_str()),
        }
    }
    if round.answers.is_empty() {
        match failures.is_empty() {
            true => bail!("this covers SLURM clusters only; {} is HTCondor's", pools.join(", ")),
            false => bail!("{}; `plimsoll test` says what to do", failures.join("\n")),
        }
    }
    if !pools.is_empty() {
        round.notes.push(format!(
            "This covers SLURM clusters only, not the HTCondor pools ({}).",
            pools.join(", ")
        ));
    }
    for failure in failures {
        complain(&format!("warning: left out {failure}"));
        round.notes.push(format!("A cluster did not answer and is missing: {failure}"));
        round.is_whole = false;
    }
    Ok(round)
}

/// A report about one moment.
pub(super) fn report(
    name: &str,
    title: &str,
    now: Timestamp,
    zone: &TimeZone,
    columns: &[(&str, &str, Unit)],
    rows: Vec<Vec<Value>>,
) -> Report {
    Report {
        name: name.to_owned(),
        title: title.to_owned(),
        period: Period { start: now, end: now, zone: zone.clone() },
        coverage: Coverage::default(),
        table: Table { columns: columns.iter().map(column).collect(), rows },
        notes: Vec::new(),
        charts: Vec::new(),
    }
}

pub(super) fn column((name, heading, unit): &(&str, &str, Unit)) -> Column {
    Column { name: (*name).to_owned(), heading: (*heading).to_owned(), unit: *unit }
}

pub(super) fn label(text: Option<&str>) -> Value {
    text.map_or(Value::Unknown, |text| Value::Text(text.to_owned()))
}

pub(super) fn count(number: Option<i64>) -> Value {
    number.map_or(Value::Unknown, Value::Integer)
}
