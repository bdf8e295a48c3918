//! `plimsoll import`: takes over the history that another tool kept. A file a tool.

pub(crate) mod gpureports;
mod settings;
pub(crate) mod slurm_usage;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::config::{Config, Kind, is_cluster_name};

/// The zone in which a tool's times are read.
fn zone(config: &Config, named: Option<&str>) -> Result<TimeZone> {
    match named {
        Some(name) => TimeZone::get(name).with_context(|| {
            format!("--zone {name:?} is no time zone; write it as America/Chicago or UTC")
        }),
        None => Ok(config.zone.clone()),
    }
}

fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("this machine's zone")
}

/// The cluster whose history it is: such a tool knows one, and not what it is called.
fn cluster(config: &Config, named: Option<&str>, kind: Kind) -> Result<String> {
    if let Some(name) = named {
        if !is_cluster_name(name) {
            bail!("--cluster {name:?} cannot be a cluster's name: letters, digits, `.`, `_`, `-`");
        }
        return Ok(name.to_owned());
    }
    let of_kind: Vec<&str> = config
        .clusters
        .iter()
        .filter(|cluster| cluster.kind == kind)
        .map(|cluster| cluster.name.as_str())
        .collect();
    let kind = match kind {
        Kind::Slurm => "SLURM cluster",
        Kind::Htcondor => "HTCondor pool",
    };
    match of_kind[..] {
        [one] => Ok(one.to_owned()),
        [] => bail!("no {kind} is configured; say whose history it is with --cluster NAME"),
        _ => bail!("say whose history it is with --cluster, one of {}", of_kind.join(", ")),
    }
}

/// When a file was last written.
fn modified(path: &Path) -> Result<Timestamp> {
    let time = fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .with_context(|| format!("cannot tell when {} was written", path.display()))?;
    let time = Timestamp::try_from(time).context("a file's time lies outside the calendar")?;
    // As the lake writes moments, so that a second import says the same.
    Ok(Timestamp::from_microsecond(time.as_microsecond())?)
}
