//! Refuses names that nothing in the history has, and suggests others.
//!
//! Names are read as the visitor sees them. To those who do not see a name, it is the same as one that
//! does not exist.

use axum::http::StatusCode;
use query::{Pattern, Question, SLOT_CLASSES, nearest};
use report::{Period, Value};

use super::answer::{Asked, Content, Part};
use crate::App;
use crate::trouble::Trouble;

/// More names than these are not listed.
const MOST_LISTED: usize = 10;
const MOST_NAMES: usize = 100_000;

/// Refuses the name of a cluster in a path.
pub(super) async fn refuse_cluster(app: &App, name: &str) -> Result<(), Trouble> {
    let clusters = app.site.lake.clusters().await?;
    match clusters.iter().any(|cluster| cluster == name) {
        true => Ok(()),
        false => Err(not_found("cluster", name, &clusters)),
    }
}

/// Refuses the first name that is unknown, of those in the page's path and of its filters.
pub(super) async fn refuse(asked: &Asked<'_>, parts: &[Part]) -> Result<(), Trouble> {
    for (option, name) in asked.said() {
        if shows_any(asked, parts, &option) {
            continue;
        }
        let known = match option.as_str() {
            // An id is not like another one.
            "job" => return Err(not_found("job", &name, &[])),
            "class" => classes(asked),
            other => match statement(other) {
                Some(sql) => names(asked, sql).await?,
                None => continue,
            },
        };
        if !known.iter().any(|one| is_name(asked, &option, &name, one)) {
            return Err(not_found(&option.replace('-', " "), &name, &known));
        }
    }
    Ok(())
}

/// Whether anything on the page that is chosen by an option has rows, or nothing is chosen by it.
fn shows_any(asked: &Asked<'_>, parts: &[Part], option: &str) -> bool {
    let mut is_chosen = false;
    for part in parts {
        let has_rows = match &part.content {
            Content::Report(report) => !report.table.rows.is_empty(),
            _ => false,
        };
        match asked.ask(&part.section) {
            Some(ask) if ask.options.contains_key(option) => {
                is_chosen = true;
                if has_rows {
                    return true;
                }
            }
            Some(_) => {}
            // Tables of the present have no options of their own.
            None if has_rows => return true,
            None => {}
        }
    }
    !is_chosen
}

/// Selects the names that an option may have, at any time.
fn statement(option: &str) -> Option<&'static str> {
    Some(match option {
        "user" => r#"SELECT "user" FROM job_day UNION SELECT "user" FROM queue_span"#,
        "account" => "SELECT account FROM job_day UNION SELECT account FROM queue_span",
        "partition" => "SELECT partition FROM job_day UNION SELECT partition FROM queue_span",
        "group" => r#"SELECT DISTINCT "group" FROM user_group"#,
        "node" => "SELECT node FROM node_span UNION SELECT machine FROM gpu_span",
        "host" => "SELECT DISTINCT machine FROM gpu_span",
        "model" | "device" => "SELECT DISTINCT device_name FROM gpu_span",
        _ => return None,
    })
}

async fn names(asked: &Asked<'_>, sql: &str) -> Result<Vec<String>, Trouble> {
    let site = &asked.app.site;
    let period = Period { start: jiff::Timestamp::UNIX_EPOCH, ..asked.question.period.clone() };
    let question = Question { period, period_end: None, ..asked.question.clone() };
    let report = query::sql(&site.lake, sql, MOST_NAMES, &question).await?;
    let text = |row: Vec<Value>| match row.into_iter().next() {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    Ok(report.table.rows.into_iter().filter_map(text).collect())
}

/// The classes of slots, as the site calls them, and of machines.
fn classes(asked: &Asked<'_>) -> Vec<String> {
    let slots = SLOT_CLASSES.iter().map(|class| asked.question.judgement.class_name(class));
    let machines = ["prioritized", "institution-owned", "open capacity"];
    slots.chain(machines).map(str::to_owned).collect()
}

/// Whether an option of this value is about a name.
fn is_name(asked: &Asked<'_>, option: &str, said: &str, name: &str) -> bool {
    match option {
        "class" => name.eq_ignore_ascii_case(said),
        "host" => Pattern::new(said).is_ok_and(|pattern| pattern.matches_machine(name)),
        "model" | "device" => asked.question.judgement.is_model(said, name),
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
