//! Refuses names that nothing in the history has, and suggests others.
//!
//! Names are read as the visitor sees them. To those who do not see a name, it is the same as one that
//! does not exist.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::StatusCode;
use lake::Version;
use query::{Judgement, Pattern, Question, SLOT_CLASSES, Sight, nearest};
use report::{Period, Value};
use tokio::sync::Mutex;

use crate::App;
use crate::trouble::Trouble;

/// More names than these are not listed.
const MOST_LISTED: usize = 10;
const MOST_NAMES: usize = 100_000;
/// Lists of names that are kept at a time.
const MOST_LISTS: usize = 64;

/// The states of jobs that SLURM and HTCondor have, whether or not a job was ever in one.
const JOB_STATES: [&str; 27] = [
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "SUSPENDED",
    "STOPPED",
    "COMPLETING",
    "STAGE_OUT",
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "OUT_OF_MEMORY",
    "NODE_FAIL",
    "PREEMPTED",
    "REQUEUED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "BOOT_FAIL",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
    "DEADLINE",
    "REVOKED",
    "RESIZED",
    "IDLE",
    "HELD",
    "EVICTED",
    "REMOVED",
];

/// Names of the history, read once for each state of the lake. Reading them takes a scan of the whole
/// history, and anybody can name something that does not exist as often as they like.
#[derive(Default)]
pub(crate) struct KnownNames(Mutex<HashMap<Listed, NameList>>);

/// Names, and the state of the lake that they are of.
struct NameList {
    version: Version,
    names: Arc<Vec<String>>,
}

impl KnownNames {
    #[cfg(test)]
    pub(crate) async fn lists(&self) -> usize {
        self.0.lock().await.len()
    }
}

/// Which names a list has, and who sees them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Listed {
    sight: Sight,
    clusters: Vec<String>,
    sql: &'static str,
}

/// Refuses the name of a cluster that has no data.
pub(crate) async fn refuse_clusters(app: &App, names: &[String]) -> Result<(), Trouble> {
    if names.is_empty() {
        return Ok(());
    }
    let clusters = app.site.lake.clusters().await?;
    match names.iter().find(|name| !clusters.contains(name)) {
        Some(name) => Err(not_found("cluster", name, &clusters)),
        None => Ok(()),
    }
}

/// Refuses the value of an option if that is a name that nothing has. An option that names nothing is
/// accepted.
pub(crate) async fn refuse(
    app: &App,
    question: &Question,
    option: &str,
    name: &str,
) -> Result<(), Trouble> {
    // A new user has a page before the first job.
    if let Sight::Own { user, .. } = &question.sight
        && (option, name) == ("user", user.as_str())
    {
        return Ok(());
    }
    let policy = query::current_policy(&app.site.lake, &question.judgement).await?.all;
    let known = match (option, statement(option)) {
        // An id is not like another one.
        ("job", _) => return Err(not_found("job", name, &[])),
        ("class", _) => Arc::new(classes(&policy)),
        (_, Some(sql)) => names(app, question, sql).await?,
        (_, None) => return Ok(()),
    };
    if known.iter().any(|one| is_name(&policy, option, name, one)) {
        return Ok(());
    }
    if option != "state" {
        return Err(not_found(&option.replace('-', " "), name, &known));
    }
    let states = || JOB_STATES.into_iter().chain(known.iter().map(String::as_str));
    if states().any(|state| state.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let hint = match nearest(&name.to_uppercase(), states()) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => format!("Known are {}.", JOB_STATES.join(", ")),
    };
    Err(Trouble::new(StatusCode::NOT_FOUND, format!("There is no state {name:?}. {hint}")))
}

/// Selects the names that an option may have, at any time.
fn statement(option: &str) -> Option<&'static str> {
    Some(match option {
        "user" => {
            r#"SELECT "user" FROM job_day
               UNION SELECT "user" FROM queue_span
               UNION SELECT primary_user FROM gpu_span
               UNION SELECT backfill_user FROM gpu_span"#
        }
        "account" => "SELECT account FROM job_day UNION SELECT account FROM queue_span",
        "partition" => "SELECT partition FROM job_day UNION SELECT partition FROM queue_span",
        "state" => "SELECT DISTINCT state FROM job_day",
        "group" => r#"SELECT DISTINCT "group" FROM user_group"#,
        "node" => "SELECT node FROM node_span UNION SELECT machine FROM gpu_span",
        "host" => "SELECT DISTINCT machine FROM gpu_span",
        "gpu" => "SELECT DISTINCT gpu_id FROM gpu_span",
        "model" | "device" => "SELECT DISTINCT device_name FROM gpu_span",
        _ => return None,
    })
}

/// The names that a statement selects, of all time. While one visitor has them read, others wait.
async fn names(
    app: &App,
    question: &Question,
    sql: &'static str,
) -> Result<Arc<Vec<String>>, Trouble> {
    let moment = app.moment().await?;
    let listed = Listed { sight: question.sight.clone(), clusters: question.clusters.clone(), sql };
    let mut lists = app.known_names.0.lock().await;
    if let Some(list) = lists.get(&listed)
        && list.version == moment.version
    {
        return Ok(list.names.clone());
    }
    let zone = question.period.zone.clone();
    let period = Period { start: jiff::Timestamp::UNIX_EPOCH, end: moment.time, zone };
    let question = Question { period, period_end: None, ..question.clone() };
    let report = query::sql(&app.site.lake, sql, MOST_NAMES, &question).await?;
    let text = |row: Vec<Value>| match row.into_iter().next() {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    let names: Arc<Vec<String>> =
        Arc::new(report.table.rows.into_iter().filter_map(text).collect());
    if lists.len() >= MOST_LISTS {
        lists.clear();
    }
    lists.insert(listed, NameList { version: moment.version, names: names.clone() });
    Ok(names)
}

/// The classes of slots, as the site calls them, and of machines.
fn classes(policy: &Judgement) -> Vec<String> {
    let slots = SLOT_CLASSES.iter().map(|class| policy.class_name(class));
    let machines = ["prioritized", "institution-owned", "open capacity"];
    slots.chain(machines).map(str::to_owned).collect()
}

/// Whether an option of this value is about a name.
fn is_name(policy: &Judgement, option: &str, said: &str, name: &str) -> bool {
    match option {
        "class" => name.eq_ignore_ascii_case(said),
        "host" => Pattern::new(said).is_ok_and(|pattern| pattern.matches_machine(name)),
        "gpu" => query::is_gpu(said, name),
        "model" | "device" => policy.is_model(said, name),
        _ => name == said,
    }
}

fn not_found(what: &str, name: &str, known: &[String]) -> Trouble {
    let mut words = format!("There is no {what} {name:?}.");
    if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
        words += &format!(" Did you mean {near:?}?");
    } else if !known.is_empty() && known.len() <= MOST_LISTED {
        words += &format!(" Known are {}.", known.join(", "));
    }
    Trouble::new(StatusCode::NOT_FOUND, words)
}
