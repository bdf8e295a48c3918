//! Prints what the simulated cluster's accounts and users used as `sreport cluster
//! AccountUtilizationByUser` does.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::arguments::{Arguments, Known, flag, value};
use super::slurm_cluster::SlurmCluster;
use super::{Moment, SLURM_CLUSTER, moment};
use crate::machine::{Command, Failure};

const OPTIONS: [Known; 3] =
    [flag(&["--parsable2", "-P"]), value(&["-t"]), value(&["--tres", "-T"])];

const HOUR: Moment = 3600;

pub(super) fn sreport(
    cluster: &SlurmCluster,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    let is_known = arguments.has("--parsable2")
        && arguments.get("-t") == Some("seconds")
        && arguments.get("--tres") == Some("cpu,gres/gpu")
        && arguments.words.starts_with(&[
            "cluster",
            "AccountUtilizationByUser",
            "format=Cluster,Account,Login,TRESName,Used",
        ]);
    if !is_known {
        let words = "this simulated site prints only seconds of CPUs and GPUs by account and user";
        return Err(arguments.failure(words));
    }
    let setting = |name: &str| {
        arguments.words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let time = |name: &str| {
        let time = setting(name).and_then(|text| text.parse::<DateTime>().ok());
        let time = time.and_then(|time| time.to_zoned(TimeZone::UTC).ok());
        time.map(|time| moment(time.timestamp()))
            .ok_or_else(|| arguments.failure(format!("sreport: error: no valid {name} time")))
    };
    // Usage is added up by the hour, after the hour.
    let (from, until) = (time("start")?, time("end")?.min(now / HOUR * HOUR));
    let is_of_another = setting("clusters").is_some_and(|name| name != SLURM_CLUSTER);

    let mut used: BTreeMap<(&str, Option<&str>), (u64, u64)> = BTreeMap::new();
    let attempts = cluster.attempts.iter().filter(|_| !is_of_another);
    for attempt in attempts.filter(|attempt| attempt.start < until && attempt.end > from) {
        let seconds = u64::from(attempt.end.min(until) - attempt.start.max(from));
        let user = attempt.user();
        for login in [None, Some(user.name)] {
            let (cpu, gpu) = used.entry((user.account, login)).or_default();
            *cpu += seconds * u64::from(attempt.cpus());
            *gpu += seconds * u64::from(attempt.gpus());
        }
    }
    let mut text = String::from("Cluster|Account|Login|TRES Name|Used\n");
    for ((account, login), (cpu, gpu)) in used {
        let login = login.unwrap_or_default();
        text += &format!("{SLURM_CLUSTER}|{account}|{login}|cpu|{cpu}\n");
        text += &format!("{SLURM_CLUSTER}|{account}|{login}|gres/gpu|{gpu}\n");
    }
    sink(text.as_bytes());
    Ok(())
}
