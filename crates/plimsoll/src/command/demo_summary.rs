//! What `plimsoll demo` prints: the clusters, the users with most CPU hours, a week of GPU hours, and
//! commands to try next.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Component, Path};

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use query::metric::LastSeen;
use query::{Question, Sight, now};
use report::{BarChart, Column, Period, Report, Table, Value};
use source::simulated::Simulation;

use crate::command::output::terminal;
use crate::config::Config;

pub(super) async fn print(config: &Config, folder: &Path) -> Result<()> {
    let lake = Lake::open(&config.data_dir)?;
    let Some(simulation) = config.simulation() else { return Ok(()) };
    let reports = reports(config, &lake, simulation).await?;
    let text = view::by_name("text").expect("text is one of the formats");
    let mut printed = text.render(&reports, &terminal());
    let program = std::env::args_os().next();
    printed.extend(next_steps(program.as_deref(), folder).into_bytes());
    io::stdout().write_all(&printed).context("cannot write")
}

async fn reports(config: &Config, lake: &Lake, simulation: &Simulation) -> Result<[Report; 2]> {
    let (start, end) = (simulation.scale().start, simulation.history_end());
    let about = |start: Timestamp, end: Timestamp| Question {
        groups: config.groups.clone(),
        judgement: config.judgement.clone(),
        memory: config.memory.clone(),
        ..Question::about(Period { start, end, zone: config.zone.clone() })
    };
    let whole = about(start, end);
    let summary = query::run(lake, query::analysis("cluster-summary")?, &whole).await?;
    let mut users = query::run(lake, query::analysis("usage-by-user")?, &whole).await?;
    let midnight = end.to_zoned(config.zone.clone()).start_of_day()?.timestamp();
    let week = (midnight - SignedDuration::from_hours(24 * CHART_DAYS)).max(start);
    let daily = query::run(lake, query::analysis("daily")?, &about(week, midnight)).await?;

    let seen = LastSeen::load(lake).await?;
    let shown =
        now::Shown { clusters: &[], filters: &Default::default(), top: None, sight: &Sight::Staff };
    let seen = now::CLUSTERS.report(&seen, &shown, &config.zone, end);

    users.table.rows.truncate(TOP_USERS);
    let chart = BarChart::of_column(&daily.table, "gpu_hours", CHART_DAYS as usize);
    Ok([
        Report {
            title: "Clusters".to_owned(),
            table: beside(&seen.table, &summary.table, &CLUSTER_COLUMNS),
            ..plain(summary)
        },
        Report {
            title: "Top five users by CPU hours".to_owned(),
            charts: chart
                .map(|chart| BarChart { heading: "GPU hours by day".to_owned(), ..chart })
                .into_iter()
                .collect(),
            table: beside(&users.table, &users.table, &USER_COLUMNS),
            ..plain(users)
        },
    ])
}

const TOP_USERS: usize = 5;
const CHART_DAYS: i64 = 7;

/// The columns of the clusters' table, each from the first of two reports that has it.
const CLUSTER_COLUMNS: [&str; 8] =
    ["cluster", "scheduler", "nodes", "cpus", "gpus", "jobs", "cpu_hours", "gpu_hours"];

/// The columns of the users' table. All of them would be wider than a terminal of 80 columns.
const USER_COLUMNS: [&str; 7] =
    ["user", "jobs", "cpu_hours", "gpu_hours", "wait_hours", "cpu_efficiency", "memory_efficiency"];

/// Some columns of two tables whose rows begin with the same names, as one table.
fn beside(one: &Table, other: &Table, columns: &[&str]) -> Table {
    let place =
        |table: &Table, name: &str| table.columns.iter().position(|column| column.name == name);
    let mut joined: Table = Table { columns: Vec::new(), rows: vec![Vec::new(); one.rows.len()] };
    for name in columns {
        let (table, index) = match (place(one, name), place(other, name)) {
            (Some(index), _) => (one, index),
            (None, Some(index)) => (other, index),
            (None, None) => continue,
        };
        let Column { name, heading, unit } = &table.columns[index];
        joined.columns.push(Column { name: name.clone(), heading: heading.clone(), unit: *unit });
        for (row, first) in joined.rows.iter_mut().zip(&one.rows) {
            let same = table.rows.iter().find(|row| row.first() == first.first());
            row.push(same.and_then(|row| row.get(index)).cloned().unwrap_or(Value::Unknown));
        }
    }
    joined
}

/// A report without its notes, which belong to columns that are left out here.
fn plain(report: Report) -> Report {
    Report { notes: Vec::new(), charts: Vec::new(), ..report }
}

/// Commands that work when they are pasted into the shell that started `program`.
fn next_steps(program: Option<&OsStr>, folder: &Path) -> String {
    let program = quoted(&path_from(folder, program.unwrap_or(OsStr::new("plimsoll"))));
    let enter = match folder == Path::new(".") {
        true => String::new(),
        false => format!("  cd {}\n", quoted(&folder.to_string_lossy())),
    };
    format!(
        "\nNext: the nodes right now, GPU backfill, and all of it as web pages.\n\
         {enter}  {program} nodes\n  {program} backfill\n  {program} serve\n"
    )
}

/// How a program that was started here is called in a folder.
fn path_from(folder: &Path, program: &OsStr) -> String {
    let path = Path::new(program);
    let name = program.to_string_lossy();
    // One without a slash was found in PATH.
    if path.is_absolute() || !name.contains('/') {
        return name.into_owned();
    }
    let path = path.strip_prefix(".").unwrap_or(path).to_string_lossy().into_owned();
    let mut up = String::new();
    for component in folder.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => up += "../",
            _ => {
                let here = std::env::current_dir().unwrap_or_default();
                return here.join(path).to_string_lossy().into_owned();
            }
        }
    }
    if up.is_empty() { format!("./{path}") } else { up + &path }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_from_the_demos_folder() {
        let check = |program: &str, folder: &str, expected: &str| {
            let found = path_from(Path::new(folder), OsStr::new(program));
            assert_eq!(found, expected, "{program} {folder}");
        };
        check("plimsoll", "plimsoll-demo", "plimsoll");
        check("/usr/bin/plimsoll", "plimsoll-demo", "/usr/bin/plimsoll");
        check("target/debug/plimsoll", "plimsoll-demo", "../target/debug/plimsoll");
        check("./plimsoll", "demos/one", "../../plimsoll");
        check("./plimsoll", ".", "./plimsoll");
        let here = std::env::current_dir().unwrap();
        let absolute = here.join("target/debug/plimsoll").display().to_string();
        check("target/debug/plimsoll", "/tmp/demo", &absolute);
        check("target/debug/plimsoll", "../demo", &absolute);
    }

    #[test]
    fn words_with_blanks_are_quoted() {
        assert_eq!(quoted("plimsoll-demo"), "plimsoll-demo");
        assert_eq!(quoted("it's mine"), r"'it'\''s mine'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn each_column_comes_from_the_table_that_has_it() {
        let table = |names: [&str; 2], rows: &[[Value; 2]]| Table {
            columns: names
                .map(|name| Column {
                    name: name.to_owned(),
                    heading: name.to_owned(),
                    unit: report::Unit::Count,
                })
                .into(),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
        };
        let text = |text: &str| Value::Text(text.to_owned());
        let seen = [[text("alder"), Value::Integer(60)], [text("birch"), Value::Integer(2)]];
        let summary = [[text("alder"), Value::Integer(9)]];
        let joined = beside(
            &table(["cluster", "nodes"], &seen),
            &table(["cluster", "jobs"], &summary),
            &["cluster", "jobs", "nodes"],
        );
        assert_eq!(
            joined.rows,
            [
                [text("alder"), Value::Integer(9), Value::Integer(60)],
                [text("birch"), Value::Unknown, Value::Integer(2)],
            ]
        );
    }
}
