//! `plimsoll test`: does everything work that collecting needs, and if not, what to do.

mod htcondor;
mod retention;
mod slurm_settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Lake, Place, Trackers};
use record::{Collection, Record};
use report::{Report, Unit, Value};
use source::slurm::{
    database_settings, has_gpus, release, sacct_users, sacctmgr_show_configuration,
    scontrol_show_config, scontrol_show_node, setting, version_of,
};
use source::{Command, Failure, Live, Machine};

use crate::cli::Test;
use crate::command::{live, output};
use crate::config::{Cluster, Config, Kind};
use crate::{Outcome, words};
use retention::CollectionPace;
use slurm_settings::SlurmSettings;

pub(crate) async fn run(config: &Config, arguments: &Test) -> Result<Outcome> {
    let format = output::format(&arguments.output)?;
    let now = config.now();
    let mut checks = Vec::new();
    checks.push(configuration(config));
    match &config.data_dir {
        Place::Folder(folder) => checks.extend(data_folder(folder)),
        Place::Store(store) => checks.push(data_store(&config.data_dir, store.variables()).await),
    }
    let clusters = match config.path {
        Some(_) if config.clusters.is_empty() => Vec::new(),
        Some(_) => live::clusters(config, &arguments.cluster)?,
        None => live::local_cluster().into_iter().collect(),
    };
    let lake = Lake::open(&config.data_dir).ok();
    for cluster in &clusters {
        let past = Past::read(lake.as_ref(), cluster, now, config).await;
        let mut of_cluster = scheduler(cluster, &past);
        of_cluster.extend(past.checks);
        checks.extend(of_cluster.into_iter().map(|check| check.of(&cluster.name)));
    }

    if format.name() == "text" {
        write(&lines(&checks), arguments)?;
    } else {
        output::write(&[report(&checks, now, config)], &arguments.output)?;
    }
    let is_fine = checks.iter().all(|check| check.verdict.is_fine());
    Ok(if is_fine { Outcome::Done } else { Outcome::Findings })
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq)]
struct Check {
    verdict: Verdict,
    /// The cluster that it is about; none for the site as a whole.
    cluster: Option<String>,
    what: &'static str,
    seen: String,
    /// What to do about it.
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// It works, and there is something to know about it.
    Note,
    /// It works, and may not for long.
    Warn,
    Fail,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Note => "note",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        }
    }

    fn is_fine(self) -> bool {
        matches!(self, Verdict::Ok | Verdict::Note)
    }
}

impl Check {
    fn ok(what: &'static str, seen: impl Into<String>) -> Check {
        Check { verdict: Verdict::Ok, cluster: None, what, seen: seen.into(), remedy: None }
    }

    fn warn(what: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { verdict: Verdict::Warn, remedy: Some(remedy.into()), ..Check::ok(what, seen) }
    }

    fn fail(what: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { verdict: Verdict::Fail, ..Check::warn(what, seen, remedy) }
    }

    fn of(mut self, cluster: &str) -> Check {
        self.cluster = Some(cluster.to_owned());
        self
    }
}

/// A line a check, whole: a remedy that is cut helps nobody.
fn lines(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        text += &format!("{:<5} ", check.verdict.word());
        if let Some(cluster) = &check.cluster {
            text += &format!("{cluster}: ");
        }
        text += &format!("{}: {}", check.what, one_line(&check.seen));
        if let Some(remedy) = &check.remedy {
            text += &format!("; {}", one_line(remedy));
        }
        text.push('\n');
    }
    let number = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    text + &format!(
        "\n{} ok, {} notes, {} to look at, {} that must be mended\n",
        number(Verdict::Ok),
        number(Verdict::Note),
        number(Verdict::Warn),
        number(Verdict::Fail)
    )
}

fn write(text: &str, arguments: &Test) -> Result<()> {
    match &arguments.output.output {
        Some(file) => {
            fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
        }
        None => io::stdout().write_all(text.as_bytes()).context("cannot write"),
    }
}

fn report(checks: &[Check], now: Timestamp, config: &Config) -> Report {
    let columns = [
        ("result", "Result", Unit::Label),
        ("cluster", "Cluster", Unit::Label),
        ("check", "Check", Unit::Label),
        ("seen", "Seen", Unit::Label),
        ("remedy", "What to do", Unit::Label),
    ];
    let rows = checks
        .iter()
        .map(|check| {
            vec![
                Value::Text(check.verdict.word().to_owned()),
                live::label(check.cluster.as_deref()),
                Value::Text(check.what.to_owned()),
                Value::Text(check.seen.clone()),
                live::label(check.remedy.as_deref()),
            ]
        })
        .collect();
    live::report(
        "test",
        "Does everything work that collecting needs?",
        now,
        &config.zone,
        &columns,
        rows,
    )
}

fn configuration(config: &Config) -> Check {
    match &config.path {
        None => Check::fail(
            "configuration",
            "no plimsoll.toml was found",
            "`plimsoll init` writes one; until then only the cluster of this machine is tried",
        ),
        Some(path) if config.clusters.is_empty() => Check::fail(
            "configuration",
            format!("{} names no cluster", path.display()),
            "add a [[cluster]] to it; `plimsoll init` in an empty folder writes an example",
        ),
        Some(path) => {
            let names: Vec<_> = config.clusters.iter().map(|cluster| &*cluster.name).collect();
            let mut seen = format!("{}: {}", path.display(), names.join(", "));
            if let Some(simulation) = config.simulation() {
                let end = simulation.scale().end.to_zoned(config.zone.clone());
                seen += &format!(", simulated until {}", end.strftime("%Y-%m-%d %H:%M %Z"));
            }
            Check::ok("configuration", seen)
        }
    }
}

/// Whether the history can be written, and for how long.
fn data_folder(data_dir: &Path) -> Vec<Check> {
    // Without the dot of `data_dir = "."`.
    let data_dir: PathBuf = data_dir.components().collect();
    let there = nearest_folder(&data_dir);
    let probe = there.join(format!(".plimsoll-test-{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe)
        .and_then(|mut file| file.write_all(b"test"));
    // It is ours, and may be there even if it could not be filled.
    let _ = fs::remove_file(&probe);
    let mut checks = vec![match written {
        Ok(()) if there == data_dir => {
            Check::ok("data folder", format!("{} can be written", data_dir.display()))
        }
        Ok(()) => Check::ok(
            "data folder",
            format!("{} is not there yet and can be made", data_dir.display()),
        ),
        Err(error) => Check::fail(
            "data folder",
            format!("cannot write in {}: {error}", there.display()),
            "give the folder to the user that runs plimsoll, or name another with data_dir",
        ),
    }];
    let command = Command {
        program: "df",
        arguments: vec!["-P".to_owned(), "-k".to_owned(), there.display().to_string()],
        time_limit: Duration::from_secs(20),
    };
    checks.push(match live::text(&Live::default(), &command) {
        Ok(text) => match free_kibibytes(&text) {
            Some(free) => disk(free),
            None => Check::warn("disk", "cannot read what df prints", "look at `df -P -k` by hand"),
        },
        Err(failure) => Check::warn("disk", failure.to_string(), "look at the free space by hand"),
    });
    checks
}

/// Whether the history can be written where it is on object storage.
async fn data_store(data_dir: &Place, variables: &str) -> Check {
    let probed = async { Lake::open(data_dir)?.probe_store().await };
    match probed.await {
        Ok(()) => {
            let seen = format!("{data_dir} can be written, and keeps what changed meanwhile");
            Check::ok("data store", seen)
        }
        Err(error) => Check::fail(
            "data store",
            words(&error),
            format!(
                "see that there is such a bucket or container, that the variables are set by which \
                 the store is reached, such as {variables}, and that it puts objects on conditions"
            ),
        ),
    }
}

/// The folder, or the nearest above it that is there.
fn nearest_folder(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

/// The free space in what `df -P -k` prints: the fourth column, as POSIX has it. The name of a
/// device may hold blanks, so columns are counted from the one with the percent sign.
fn free_kibibytes(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.lines().nth(1)?.split_whitespace().collect();
    let percent = words.iter().position(|word| word.ends_with('%'))?;
    words.get(percent.checked_sub(1)?)?.parse().ok()
}

fn disk(free_kibibytes: u64) -> Check {
    let mebibytes = free_kibibytes / 1024;
    let seen = match mebibytes {
        0..10_240 => format!("{mebibytes} MiB free"),
        _ => format!("{} GiB free", mebibytes / 1024),
    };
    let remedy = "make room, or move the folder and say where with data_dir";
    match mebibytes {
        0..200 => Check::fail("disk", seen, remedy),
        200..5120 => Check::warn("disk", seen, remedy),
        _ => Check::ok("disk", seen),
    }
}

/// Whether the scheduler answers, and tells all that it knows.
fn scheduler(cluster: &Cluster, past: &Past) -> Vec<Check> {
    let machine = live::machine(cluster);
    let mut checks = Vec::new();
    if !cluster.command_prefix.is_empty() {
        checks.push(clock(cluster, &*machine));
    }
    match cluster.kind {
        Kind::Slurm => checks.extend(slurm(cluster, &*machine, past)),
        Kind::Htcondor => checks.extend(htcondor::checks(cluster, &*machine, past)),
    }
    checks
}

/// Where a cluster's commands run.
fn place(cluster: &Cluster) -> String {
    match cluster.command_prefix.is_empty() {
        true => "here".to_owned(),
        false => format!("behind `{}`", cluster.command_prefix.join(" ")),
    }
}

fn slurm(cluster: &Cluster, machine: &dyn Machine, past: &Past) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut is_there = true;
    // The first three are needed to collect, the others to say more.
    for (program, is_needed) in [
        ("sacct", true),
        ("squeue", true),
        ("scontrol", true),
        ("sinfo", false),
        ("sacctmgr", false),
        ("sreport", false),
    ] {
        match live::text(machine, &version_of(program)) {
            Ok(version) if program == "sacct" => checks.push(sacct_version(&version)),
            Ok(version) => checks.push(Check::ok(program, version.trim())),
            Err(failure) => {
                let seen = format!("tried {}: {failure}", place(cluster));
                let remedy = "install SLURM's client commands there, put their folder into PATH, \
                              or name a machine that has them in command_prefix";
                if is_needed {
                    is_there = false;
                    checks.push(Check::fail(program, seen, remedy));
                } else {
                    checks.push(Check::warn(program, seen, remedy));
                }
            }
        }
    }
    if !is_there {
        return checks;
    }
    let config = match live::text(machine, &scontrol_show_config()) {
        Ok(config) => config,
        Err(failure) => {
            checks.push(Check::fail(
                "slurmctld",
                failure.to_string(),
                "start slurmctld, or see that slurm.conf is found where the commands run",
            ));
            String::new()
        }
    };
    let database = live::text(machine, &sacctmgr_show_configuration());
    if !config.is_empty() {
        checks.push(controller(&cluster.name, &config));
        checks.push(accounting(&config));
        let nodes = live::text(machine, &scontrol_show_node(cluster.slurm_cluster.as_deref()));
        checks.extend(slurm_settings::recording(&SlurmSettings {
            controller: &config,
            database: database.as_deref().map_or("", database_settings),
            has_gpus: nodes.as_ref().is_ok_and(|nodes| has_gpus(nodes.as_bytes())),
        }));
        if let Err(failure) = nodes {
            let unknown = slurm_settings::unknown_gpus(&config, &failure.to_string());
            if let Some(unknown) = unknown {
                checks.retain(|check| check.what != unknown.what);
                checks.push(unknown);
            }
        }
    }
    checks.push(others(live::text(machine, &sacct_users()), setting(&config, "PrivateData")));
    match database {
        Ok(text) => checks.extend(slurm_settings::purging(&text, &past.pace)),
        Err(failure) => checks.push(slurm_settings::unknown_purging(&failure.to_string())),
    }
    checks
}

fn sacct_version(version: &str) -> Check {
    // The first and the last release whose output was looked at.
    const SUPPORTED: std::ops::RangeInclusive<(u32, u32)> = (20, 11)..=(26, 5);
    let version = version.trim();
    match release(version) {
        Some(release) if SUPPORTED.contains(&release) => Check::ok("sacct", version),
        Some(release) if release < *SUPPORTED.start() => Check::warn(
            "sacct",
            format!("{version}, older than 20.11"),
            "what it prints may not be understood: look at `plimsoll report rejects`",
        ),
        Some(_) => Check::warn(
            "sacct",
            format!("{version}, newer than 26.05"),
            "look for a newer plimsoll, and at `plimsoll report rejects`",
        ),
        None => {
            Check::warn("sacct", format!("its version is {version:?}"), "see that it is SLURM's")
        }
    }
}

fn controller(name: &str, config: &str) -> Check {
    match setting(config, "ClusterName") {
        Some(own) if own != name => Check::warn(
            "slurmctld",
            format!("it answers, and calls itself {own:?}"),
            "that is fine if you chose the name; if not, the commands ask another cluster: see \
             command_prefix",
        ),
        _ => Check::ok("slurmctld", "it answers"),
    }
}

fn accounting(config: &str) -> Check {
    match setting(config, "AccountingStorageType") {
        Some("accounting_storage/slurmdbd") => Check::ok("accounting", "slurmdbd keeps it"),
        Some(kind) if !kind.ends_with("/none") => Check::warn(
            "accounting",
            format!("AccountingStorageType is {kind}"),
            "sacct tells all only with accounting_storage/slurmdbd",
        ),
        kind => Check::fail(
            "accounting",
            format!("AccountingStorageType is {}", kind.unwrap_or("not set")),
            "set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf: without it SLURM \
             keeps no history",
        ),
    }
}

/// Whether the jobs of other users are shown.
fn others(answer: Result<String, Failure>, private_data: Option<&str>) -> Check {
    let what = "jobs of others";
    let text = match answer {
        Ok(text) => text,
        Err(failure) => {
            return Check::fail(
                what,
                format!("sacct does not answer: {failure}"),
                "see that slurmdbd runs and that this machine may ask it",
            );
        }
    };
    let users: BTreeSet<&str> = text.lines().filter(|user| !user.is_empty()).collect();
    let jobs = text.lines().count();
    let is_private = private_data.is_some_and(|data| {
        data.split(',').any(|word| matches!(word.trim(), "jobs" | "usage" | "all"))
    });
    let seen = format!("{} users in {jobs} jobs of the last 6 hours", users.len());
    let grant = "let the user that runs plimsoll see all: `sacctmgr modify user NAME set \
                 adminlevel=Operator`";
    match (users.len(), is_private) {
        (2.., _) => Check::ok(what, seen),
        (_, true) => Check::fail(
            what,
            format!("{seen}, and PrivateData is {}", private_data.unwrap_or_default()),
            grant,
        ),
        (_, false) => Check::ok(what, format!("{seen}; PrivateData hides none")),
    }
}

/// Whether the clock where the commands run shows the same time.
fn clock(cluster: &Cluster, machine: &dyn Machine) -> Check {
    let command = Command {
        program: "date",
        arguments: vec!["+%s".to_owned()],
        time_limit: Duration::from_secs(60),
    };
    let before = machine.now();
    let answer = live::text(machine, &command);
    let after = machine.now();
    match answer {
        Ok(text) => match text.trim().parse() {
            Ok(there) => skew(before, there, after),
            Err(_) => {
                Check::warn("clock", format!("date says {:?}", text.trim()), "see what it is")
            }
        },
        Err(failure) => Check::fail(
            "clock",
            format!("tried `date` {}: {failure}", place(cluster)),
            "see that command_prefix works by itself, without a password",
        ),
    }
}

/// How far a clock that showed `there` at some moment between two is off.
fn skew(before: Timestamp, there: i64, after: Timestamp) -> Check {
    // Seconds are cut off there, so the moment lies up to a second later.
    let early = before.as_second() - (there + 1);
    let late = there - after.as_second();
    let off = early.max(late).max(0);
    let remedy = "let NTP or chrony set both clocks: a job's time is counted by them";
    match off {
        0..=2 => Check::ok("clock", "the same there as here"),
        3..=60 => Check::warn("clock", format!("{off} s off"), remedy),
        _ => Check::fail("clock", format!("{off} s off"), remedy),
    }
}

/// What the lake says about collecting a cluster so far.
struct Past {
    pace: CollectionPace,
    /// The most executions that ended on one of the last days, by access point of a pool.
    executions_a_day: BTreeMap<String, u64>,
    checks: Vec<Check>,
}

impl Past {
    async fn read(lake: Option<&Lake>, cluster: &Cluster, now: Timestamp, config: &Config) -> Past {
        let mut past = Past {
            pace: CollectionPace::of(&[], cluster.kind, now),
            executions_a_day: BTreeMap::new(),
            checks: Vec::new(),
        };
        let Some(lake) = lake else {
            past.checks.push(Check::warn(
                "history",
                "nothing was collected yet",
                "collect the first time with `plimsoll collect --days 30`",
            ));
            return past;
        };
        past.checks.push(match lake.collector(&cluster.name).await {
            Ok(None) => Check::ok("lock", "nobody collects it right now"),
            Ok(Some(collector)) => Check::ok("lock", format!("{collector} collects it right now")),
            Err(error) => Check::fail(
                "lock",
                words(&error),
                "give the data folder to the user that runs plimsoll",
            ),
        });
        match Past::history(lake, cluster, now, config).await {
            Ok((runs, executions)) => {
                past.pace = CollectionPace::of(&runs, cluster.kind, now);
                past.executions_a_day = executions;
                past.checks.push(last_collection(&of_last_day(runs), cluster.kind, now));
            }
            Err(error) => past.checks.push(Check::fail(
                "history",
                words(&error),
                "see that the data folder can be read, or restore the file from a copy",
            )),
        }
        past
    }

    /// The runs so far, and how many executions end in a day.
    async fn history(
        lake: &Lake,
        cluster: &Cluster,
        now: Timestamp,
        config: &Config,
    ) -> Result<(Vec<Collection>, BTreeMap<String, u64>)> {
        let runs = runs(lake, &cluster.name).await?;
        let executions = match cluster.kind {
            Kind::Slurm => BTreeMap::new(),
            Kind::Htcondor => htcondor::executions_a_day(lake, &cluster.name, now, config).await?,
        };
        Ok((runs, executions))
    }
}

/// The runs of sources on the last days that have any, as many as a scheduler may keep its rows for.
async fn runs(lake: &Lake, cluster: &str) -> Result<Vec<Collection>> {
    const MOST_DAYS: usize = 3 * 366;
    const AT_ONCE: usize = 16;
    let mut files = lake.files(&Collection::TABLE, &Trackers::new()).await?;
    files.retain(|file| file.cluster == cluster);
    files.sort_by_key(|file| std::cmp::Reverse(file.date));
    files.truncate(MOST_DAYS);
    let days = files.iter().map(|file| lake.read::<Collection>(cluster, &file.meta.location));
    let days: Vec<Vec<Collection>> =
        stream::iter(days).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(days.into_iter().flatten().collect())
}

/// The runs of the last day that has any.
fn of_last_day(mut runs: Vec<Collection>) -> Vec<Collection> {
    let date = |run: &Collection| run.start_time.to_zoned(TimeZone::UTC).date();
    let last = runs.iter().map(date).max();
    runs.retain(|run| Some(date(run)) == last);
    runs
}

fn last_collection(runs: &[Collection], kind: Kind, now: Timestamp) -> Check {
    let what = "last collection";
    let Some(last) = runs.iter().map(|run| run.start_time).max() else {
        return Check::warn(
            what,
            "there was none",
            "`plimsoll collect --days 30` is the first; then a line for cron: 5 * * * * plimsoll collect",
        );
    };
    let age = now.duration_since(last);
    let seen = format!("{} ago", shown(age));
    // Each source by its last run: an error that was followed by a success is over.
    let mut failed: Vec<String> = Vec::new();
    let sources: BTreeSet<&str> = runs.iter().map(|run| run.source.as_str()).collect();
    for source in sources {
        let of_source = runs.iter().filter(|run| run.source == source);
        let last = of_source.max_by_key(|run| run.start_time);
        if let Some(error) = last.and_then(|run| run.error.as_ref()) {
            failed.push(error.to_string());
        }
    }
    if !failed.is_empty() {
        return Check::fail(
            what,
            format!("{seen}, and failed: {}", failed.join("; ")),
            match kind {
                Kind::Slurm => {
                    "mend what is named above and collect again; nothing is lost until SLURM purges it"
                }
                Kind::Htcondor => {
                    "mend what is named above and collect again; executions are lost when the access \
                     points rotate their history"
                }
            },
        );
    }
    if age > SignedDuration::from_hours(26) {
        return Check::warn(
            what,
            seen,
            "see that cron or the timer runs; 5 * * * * plimsoll collect is a line for cron",
        );
    }
    Check::ok(what, seen)
}

/// A length of time in its largest unit.
fn shown(age: SignedDuration) -> String {
    let minutes = age.as_mins();
    match minutes {
        ..120 => format!("{minutes} minutes"),
        120..2880 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_seen_and_what_to_do() {
        let checks = [
            Check::ok("sacct", "slurm 22.05.8").of("maple"),
            Check::fail("disk", "9 MiB free", "make\nroom"),
        ];
        assert_eq!(
            lines(&checks),
            "ok    maple: sacct: slurm 22.05.8\n\
             FAIL  disk: 9 MiB free; make room\n\n\
             1 ok, 0 notes, 0 to look at, 1 that must be mended\n"
        );
    }

    #[test]
    fn releases_that_were_looked_at_are_fine() {
        for (version, verdict) in [
            ("slurm-wlm 22.05.8", Verdict::Ok),
            ("slurm 20.11.0", Verdict::Ok),
            ("slurm 26.05.1", Verdict::Ok),
            ("slurm 20.02.7", Verdict::Warn),
            ("slurm 26.11.0", Verdict::Warn),
            ("what?", Verdict::Warn),
        ] {
            assert_eq!(sacct_version(version).verdict, verdict, "{version}");
        }
    }

    #[test]
    fn free_space_is_read_as_posix_has_it() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                    //nas/my share 2000000 1000000 900000 53% /srv/data\n";
        assert_eq!(free_kibibytes(text), Some(900_000));
        assert_eq!(free_kibibytes("df: no\n"), None);
        // 900000 KiB are 878 MiB.
        assert_eq!(disk(900_000).seen, "878 MiB free");
        assert_eq!(disk(900_000).verdict, Verdict::Warn);
        assert_eq!(disk(1000).verdict, Verdict::Fail);
        assert_eq!(disk(100_000_000).seen, "95 GiB free");
    }

    #[test]
    fn a_clock_may_be_off_by_what_the_question_takes() {
        let check = |before: i64, there: i64, after: i64, verdict: Verdict| {
            let at = |second| Timestamp::from_second(second).unwrap();
            assert_eq!(skew(at(before), there, at(after)).verdict, verdict, "{there}");
        };
        check(1000, 1003, 1006, Verdict::Ok);
        check(1000, 999, 1000, Verdict::Ok);
        check(1000, 1010, 1002, Verdict::Warn); // 8 s ahead
        check(1000, 900, 1002, Verdict::Fail); // 99 s behind
    }

    #[test]
    fn accounting_must_be_on() {
        let check = |config: &str, verdict| assert_eq!(accounting(config).verdict, verdict);
        check("AccountingStorageType   = accounting_storage/slurmdbd", Verdict::Ok);
        check("AccountingStorageType   = accounting_storage/none", Verdict::Fail);
        check("AccountingStorageType   = accounting_storage/filetxt", Verdict::Warn);
        check("AccountingStorageType   = (null)", Verdict::Fail);
    }

    #[test]
    fn one_user_alone_is_a_finding_only_where_data_is_private() {
        let check = |text: &str, private, verdict| {
            assert_eq!(others(Ok(text.to_owned()), Some(private)).verdict, verdict, "{text}");
        };
        check("ann\nbob\n", "jobs", Verdict::Ok);
        check("ann\nann\n", "none", Verdict::Ok);
        check("ann\nann\n", "accounts,jobs", Verdict::Fail);
        check("", "usage", Verdict::Fail);
    }
}
