//! What the commands share that ask schedulers about this very moment.

use std::sync::Arc;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::{Column, Coverage, Period, Report, Table, Unit, Value};
use source::htcondor;
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
            "no plimsoll.toml was found, and neither squeue nor condor_status is installed here; \
             `plimsoll init` writes a configuration in which command_prefix can name another machine"
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

/// The SLURM cluster that this machine belongs to, or its HTCondor pool if it has no SLURM.
pub(super) fn local_cluster() -> Option<Cluster> {
    let machine = Live::default();
    // A program that fails in another way is installed, and reports its own problem.
    let is_missing =
        |version: &Command| matches!(text(&machine, version), Err(Failure::Missing { .. }));
    if !is_missing(&version_of("squeue")) {
        let config = text(&machine, &scontrol_show_config()).unwrap_or_default();
        let name = setting(&config, "ClusterName").filter(|name| is_cluster_name(name));
        return Some(local(name.unwrap_or("slurm"), Kind::Slurm));
    }
    if !is_missing(&htcondor::version_of("condor_status")) {
        return Some(local("htcondor", Kind::Htcondor));
    }
    None
}

fn local(name: &str, kind: Kind) -> Cluster {
    Cluster {
        name: name.to_owned(),
        kind,
        command_prefix: Vec::new(),
        time_limit: None,
        own_cadence: None,
        slurm_cluster: None,
        backfill: Backfill::default(),
        job_history: None,
        simulation: None,
    }
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

/// What the clusters answered, and which of them did not.
pub(super) struct Round<T> {
    pub(super) answers: Vec<(String, T)>,
    pub(super) notes: Vec<String>,
    pub(super) is_whole: bool,
}

/// Queries each cluster. Those that do not answer are named. Fails if none answers.
pub(super) fn ask<T>(
    clusters: &[Cluster],
    mut ask: impl FnMut(&Cluster, &dyn Machine) -> Result<T, Failure>,
) -> Result<Round<T>> {
    let mut round = Round { answers: Vec::new(), notes: Vec::new(), is_whole: true };
    let mut failures = Vec::new();
    for cluster in clusters {
        match ask(cluster, &*machine(cluster)) {
            Ok(answer) => round.answers.push((cluster.name.clone(), answer)),
            Err(failure) => failures.push(format!("{}: {failure}", cluster.name)),
        }
    }
    if round.answers.is_empty() {
        bail!("{}; `plimsoll test` says what to do", failures.join("\n"));
    }
    for failure in failures {
        complain(&format!("warning: left out {failure}"));
        round.notes.push(format!("A cluster did not answer and is missing: {failure}"));
        round.is_whole = false;
    }
    Ok(round)
}

/// Queries the SLURM clusters, and names the HTCondor pools that are left out. Fails if there is no
/// SLURM cluster, or none answers.
pub(super) fn ask_slurm<T>(
    clusters: &[Cluster],
    ask_one: impl FnMut(&Cluster, &dyn Machine) -> Result<T, Failure>,
) -> Result<Round<T>> {
    let (slurm, pools): (Vec<Cluster>, Vec<Cluster>) =
        clusters.iter().cloned().partition(|cluster| cluster.kind == Kind::Slurm);
    let names: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
    let names = names.join(", ");
    if slurm.is_empty() {
        bail!("this covers SLURM clusters only; {names} is HTCondor's");
    }
    let mut round = ask(&slurm, ask_one)?;
    if !pools.is_empty() {
        let note = format!("This covers SLURM clusters only, not the HTCondor pools ({names}).");
        round.notes.insert(0, note);
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
