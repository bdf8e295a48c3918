//! Whether a pool and each of its access points answer.

use std::time::Duration;

use source::elasticsearch::{Purpose, has_executions};
use source::htcondor::{Daemon, Daemons, daemons};
use source::{Command, Failure, Machine, parse};

use super::{Check, Verdict, place};
use crate::command::live;
use crate::config::{Cluster, SearchServer};

pub(super) fn checks(cluster: &Cluster, machine: &dyn Machine) -> Vec<Check> {
    let mut checks = commands(cluster, machine);
    checks.extend(cluster.job_history.as_ref().map(|history| job_history(history, machine)));
    checks
}

/// The finding about a server that keeps the pool's job ads.
fn job_history(history: &SearchServer, machine: &dyn Machine) -> Check {
    let what = "job history";
    let kept =
        history.server(Purpose::Read).and_then(|server| Ok(has_executions(machine, &server)?));
    match kept {
        Ok(true) => Check::ok(what, format!("executions are in {:?}", history.index)),
        Ok(false) => Check::warn(
            what,
            format!("{:?} has ads of jobs, not of executions", history.index),
            "set ADSTASH_SCHEDD_JOB_EPOCH_HISTORY for condor_adstash: of a job that was evicted only \
             the last execution is known else",
        ),
        Err(error) => Check::fail(
            what,
            format!("{error:#}"),
            "set [cluster.job_history] right, or take it out: the access points are asked anyway",
        ),
    }
}

fn commands(cluster: &Cluster, machine: &dyn Machine) -> Vec<Check> {
    let mut checks = Vec::new();
    for program in ["condor_status", "condor_q", "condor_history"] {
        checks.push(match live::text(machine, &command(program, &["-version"])) {
            Ok(text) => {
                Check::ok(program, text.lines().next().unwrap_or_default().trim_matches('$').trim())
            }
            Err(failure) => Check::fail(
                program,
                format!("tried {}: {failure}", place(cluster)),
                "install HTCondor's client commands there, put their folder into PATH, or name a \
                 machine that has them in command_prefix",
            ),
        });
    }
    if checks.iter().any(|check| check.verdict != Verdict::Ok) {
        return checks;
    }
    match live::text(machine, &daemons()) {
        Ok(text) => {
            checks.push(Check::ok("collector", "it answers"));
            let known = parse(Daemons::default(), text.as_bytes()).records;
            let points = known.into_iter().filter_map(|daemon| match daemon {
                Daemon::AccessPoint(point) => Some(point.name.into()),
                Daemon::Negotiator(_) => None,
            });
            let names: Vec<String> = points.collect();
            checks.push(access_points(&names));
            checks.extend(names.iter().flat_map(|name| access_point(machine, name)));
        }
        Err(failure) => checks.push(Check::fail(
            "collector",
            failure.to_string(),
            "see that COLLECTOR_HOST is right and that this machine may READ",
        )),
    }
    checks
}

fn command(program: &'static str, arguments: &[&str]) -> Command {
    Command {
        program,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        time_limit: Duration::from_secs(60),
    }
}

fn access_points(names: &[String]) -> Check {
    let what = "access points";
    match names {
        [] => Check::warn(
            what,
            "the pool lists none",
            "jobs are known from their access points alone: see that `condor_status -schedd` \
             prints them here",
        ),
        names => Check::ok(what, names.join(", ")),
    }
}

/// The findings about one access point: whether its queue and its history can be asked from here.
fn access_point(machine: &dyn Machine, name: &str) -> Vec<Check> {
    let queue = ["-name", name, "-allusers", "-totals"];
    let history = ["-name", name, "-epochs", "-json", "-limit", "1", "-attributes", "GlobalJobId"];
    [
        ("queue", command("condor_q", &queue), "see that its schedd runs and that this machine may READ it"),
        (
            "history",
            command("condor_history", &history),
            "see that `condor_history -epochs` prints something there (JOB_EPOCH_HISTORY), and that \
             this machine may READ it",
        ),
    ]
    .into_iter()
    .filter_map(|(what, command, remedy)| {
        let failure: Failure = live::text(machine, &command).err()?;
        Some(Check::fail(what, format!("{name}: {failure}"), remedy))
    })
    .collect()
}
