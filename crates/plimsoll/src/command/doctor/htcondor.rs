//! Whether a pool and each of its access points answer, and how long they keep their history.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use query::Question;
use report::{Period, Value};
use source::elasticsearch::{Purpose, has_executions};
use source::htcondor::{
    Daemon, Daemons, HistorySettings, Rotation, daemons, history_settings, version_of,
};
use source::{Command, Failure, Machine, parse};

use super::{Check, Past, Verdict, place, retention};
use crate::command::live;
use crate::config::{Cluster, Config, SearchServer};

pub(super) fn checks(cluster: &Cluster, machine: &dyn Machine, past: &Past) -> Vec<Check> {
    let mut checks = commands(cluster, machine, past);
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

fn commands(cluster: &Cluster, machine: &dyn Machine, past: &Past) -> Vec<Check> {
    let mut checks = Vec::new();
    // `condor_history` has no option for its version. It is tried with each access point.
    for program in ["condor_status", "condor_q"] {
        checks.push(match live::text(machine, &version_of(program)) {
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
            for name in &names {
                checks.extend(access_point(machine, name));
                checks.extend(kept_history(machine, name, past, cluster.job_history.is_some()));
            }
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
    let failed = |what, failure: &Failure, remedy: &str| {
        Check::fail(what, format!("{name}: {failure}"), remedy)
    };
    let mut checks = Vec::new();
    let queue = command("condor_q", &["-name", name, "-allusers", "-totals"]);
    if let Err(failure) = live::text(machine, &queue) {
        let remedy = "see that its schedd runs and that this machine may READ it";
        checks.push(failed("queue", &failure, remedy));
    }
    const EXECUTION: &str = "GlobalJobId";
    let last = ["-name", name, "-epochs", "-json", "-limit", "1", "-attributes", EXECUTION];
    match live::text(machine, &command("condor_history", &last)) {
        Ok(text) if text.contains(EXECUTION) => {}
        Ok(_) => checks.push(no_execution(machine, name)),
        Err(failure) => {
            let remedy = "see that `condor_history -epochs` works there, and that this machine may \
                          READ it";
            checks.push(failed("history", &failure, remedy));
        }
    }
    checks
}

/// The finding about an access point whose epoch history is empty: whether it writes one at all.
fn no_execution(machine: &dyn Machine, name: &str) -> Check {
    const SETTING: &str = "JOB_EPOCH_HISTORY";
    let what = "epoch history";
    let line = format!("set {SETTING}=$(SPOOL)/epoch_history on {name} and run condor_reconfig");
    let query = command("condor_config_val", &["-schedd", "-name", name, SETTING]);
    match live::text(machine, &query).as_deref().map(str::trim) {
        Ok("" | "Not defined") => Check::fail(
            what,
            format!(
                "{name}: {SETTING} is not defined, so no execution is recorded: no CPU time, no \
                 memory, no evictions"
            ),
            line,
        ),
        Ok(file) => Check {
            verdict: Verdict::Note,
            ..Check::warn(
                what,
                format!("{name}: {SETTING} is {file}, and no execution is in it yet"),
                "run `plimsoll test` again after a job has ended",
            )
        },
        Err(failure) => Check::warn(
            what,
            format!(
                "{name}: `condor_history -epochs` prints no execution, and whether the access point \
                 records any could not be checked: {failure}"
            ),
            format!("if no job has ended yet, that is fine; otherwise {line}"),
        ),
    }
}

/// A history file of an access point, and the settings by which it is rotated.
struct HistoryCheck {
    /// The setting of the largest size of a file.
    setting: &'static str,
    rotations: &'static str,
    rows: &'static str,
    /// What is lost when files are deleted.
    missing: &'static str,
    reader: HistoryReader,
    rotation: fn(&HistorySettings) -> Rotation,
}

#[derive(Clone, Copy, PartialEq)]
enum HistoryReader {
    Plimsoll,
    /// `condor_adstash`, which fills the server of `[cluster.job_history]`.
    Adstash,
}

static HISTORY_CHECKS: [HistoryCheck; 2] = [
    HistoryCheck {
        setting: "MAX_EPOCH_HISTORY_LOG",
        rotations: "MAX_EPOCH_HISTORY_ROTATIONS",
        rows: "executions",
        missing: "the history of executions, with CPU time, memory and evictions,",
        reader: HistoryReader::Plimsoll,
        rotation: |settings| settings.epochs,
    },
    HistoryCheck {
        setting: "MAX_HISTORY_LOG",
        rotations: "MAX_HISTORY_ROTATIONS",
        rows: "ended jobs",
        missing: "an ad that condor_adstash has not pushed to [cluster.job_history] by then",
        reader: HistoryReader::Adstash,
        rotation: |settings| settings.jobs,
    },
];

/// The findings about how long one access point keeps its history.
fn kept_history(machine: &dyn Machine, name: &str, past: &Past, has_adstash: bool) -> Vec<Check> {
    let unknown = |cause: String| {
        let seen = format!("{name}: how long executions are kept is not known: {cause}");
        let remedy = "run `condor_config_val MAX_EPOCH_HISTORY_LOG MAX_EPOCH_HISTORY_ROTATIONS` on \
                      that machine, and collect before its files are rotated";
        vec![Check { verdict: Verdict::Note, ..Check::warn("history size", seen, remedy) }]
    };
    let text = match live::text(machine, &history_settings(name)) {
        Ok(text) => text,
        Err(failure) => return unknown(failure.to_string()),
    };
    let Some(settings) = HistorySettings::read(&text) else {
        return unknown(format!("condor_config_val prints {text:?}"));
    };
    let executions_a_day = past.executions_a_day.get(name).copied();
    let of_history = |check| of_history(check, &settings, name, executions_a_day, past);
    let is_read = |check: &&HistoryCheck| check.reader == HistoryReader::Plimsoll || has_adstash;
    HISTORY_CHECKS.iter().filter(is_read).map(of_history).collect()
}

/// The size of the ad of an execution with its transfers, rounded up: those of HTCondor 25.14 had 5
/// to 6 KiB.
const AD_BYTES: u64 = 8 * 1024;

fn of_history(
    check: &HistoryCheck,
    settings: &HistorySettings,
    name: &str,
    executions_a_day: Option<u64>,
    past: &Past,
) -> Check {
    let HistoryCheck { setting, rotations, rows, missing, reader, rotation } = *check;
    let Some(bytes) = rotation(settings).least_bytes() else {
        return Check::ok(setting, format!("{name} never deletes {rows}"));
    };
    let kept = format!("{name} keeps at least {} MiB of {rows}", bytes / 1024 / 1024);
    let line = format!("set a larger {setting} or {rotations} on {name}");
    // The lake shows the pace of Plimsoll, not that of others.
    let executions = executions_a_day.filter(|_| reader == HistoryReader::Plimsoll);
    let Some(executions) = executions.filter(|executions| *executions > 0) else {
        let remedy =
            format!("{missing} is deleted with the oldest file; to keep it longer, {line}");
        return Check { verdict: Verdict::Note, ..Check::warn(setting, kept, remedy) };
    };
    let seconds = bytes as f64 / (AD_BYTES * executions) as f64 * 86400.0;
    let estimate = SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX);
    let deleted = format!(
        "{kept}, and up to {executions} of them end in a day, so it deletes them by estimate"
    );
    let finding = retention::check(setting, &past.pace, estimate, &deleted, missing, &line);
    // An estimate does not prove that anything is lost.
    match finding.verdict {
        Verdict::Fail => Check { verdict: Verdict::Warn, ..finding },
        _ => finding,
    }
}

/// A pool has fewer access points.
const MOST_ACCESS_POINTS: usize = 10_000;

/// The most executions that ended on one of the last seven days, by access point.
pub(super) async fn executions_a_day(
    lake: &Lake,
    cluster: &str,
    now: Timestamp,
    config: &Config,
) -> Result<BTreeMap<String, u64>> {
    let period = Period::last_days(7, &config.zone, now).context("no such period")?;
    let start = period.start.as_microsecond();
    // Not `clusters` of the question: a cluster that was never collected would be an error there.
    let question = Question { memory: config.memory.clone(), ..Question::about(period) };
    let statement = format!(
        "
        SELECT access_point, max(executions) AS executions
        FROM (
            SELECT split_part(job_id, '#', 1) AS access_point,
                   date_trunc('day', end_time) AS day,
                   count(*) AS executions
            FROM job
            WHERE cluster = '{cluster}'
              AND end_time >= arrow_cast({start}, 'Timestamp(Microsecond, Some(\"UTC\"))')
            GROUP BY split_part(job_id, '#', 1), date_trunc('day', end_time)
        ) AS by_day
        GROUP BY access_point
        ORDER BY access_point
        "
    );
    let report = query::sql(lake, &statement, MOST_ACCESS_POINTS, &question).await?;
    let rows = report.table.rows.into_iter();
    Ok(rows
        .filter_map(|row| match &row[..] {
            [Value::Text(name), Value::Integer(executions)] => {
                Some((name.clone(), u64::try_from(*executions).ok()?))
            }
            _ => None,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::doctor::CollectionPace;
    use crate::config::Kind;

    fn check(executions: Option<u64>, hours_since_last: i64) -> Check {
        let now: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
        let run = record::Collection {
            cluster: "pool".into(),
            source: "condor_history".into(),
            start_time: now - SignedDuration::from_hours(hours_since_last),
            window_start: None,
            window_end: None,
            duration_seconds: 1.0,
            bytes: 1,
            records: 1,
            rejects: 0,
            changed: 0,
            error: None,
        };
        let past = Past {
            pace: CollectionPace::of(&[run], Kind::Htcondor, now),
            executions_a_day: BTreeMap::new(),
            checks: Vec::new(),
        };
        let defaults = "true\nNot defined\nNot defined\nNot defined\nNot defined\n";
        let settings = HistorySettings::read(defaults).unwrap();
        of_history(&HISTORY_CHECKS[0], &settings, "ap1", executions, &past)
    }

    #[test]
    fn a_history_that_is_rotated_sooner_than_it_is_collected_is_a_warning() {
        // Two closed files of 20 MiB have 40 MiB / 8 KiB = 5120 executions: 512 a day are 10 days.
        let seen = "ap1 keeps at least 40 MiB of executions, and up to 512 of them end in a day, \
                    so it deletes them by estimate after 10 days; the longest time without a \
                    collection was 5 hours";
        assert_eq!(check(Some(512), 5).seen, seen);
        assert_eq!(check(Some(512), 5).verdict, Verdict::Note);
        assert_eq!(check(Some(512), 24 * 6).verdict, Verdict::Warn);
        assert_eq!(check(Some(512), 24 * 11).verdict, Verdict::Warn);
        // 20480 a day are 6 hours.
        assert_eq!(check(Some(20_480), 5).verdict, Verdict::Warn);
        assert_eq!(check(None, 5).verdict, Verdict::Note);
        assert!(
            check(Some(20_480), 5).remedy.unwrap().contains("set a larger MAX_EPOCH_HISTORY_LOG")
        );
    }
}
