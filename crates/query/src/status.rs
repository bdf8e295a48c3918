//! What the lake holds, whether collecting works, what could not be read.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use lake::{FileUse, Lake, LakeFile};
use record::TABLES;
use report::{Column, Coverage, Period, Report, SkippedFile, Table, Unit, Value};

use crate::coverage::{self, History};
use crate::{Memory, Question, analysis, run};

/// The tables of the lake, their disk use, and the collections and rejects of the last month.
pub async fn status(
    lake: &Lake,
    zone: &TimeZone,
    now: Timestamp,
    memory: &Memory,
) -> Result<Vec<Report>> {
    let start = now.to_zoned(zone.clone()).checked_sub(30.days())?.timestamp();
    let month = Question {
        memory: memory.clone(),
        ..Question::about(Period { start, end: now, zone: zone.clone() })
    };
    let mut reports = vec![holdings(lake, zone, now).await?, disk_use(lake, zone, now).await?];
    for name in ["collections", "rejects"] {
        reports.push(run(lake, analysis(name)?, &month).await?);
    }
    Ok(reports)
}

/// The tables: how much of each there is, from when to when.
pub async fn holdings(lake: &Lake, zone: &TimeZone, now: Timestamp) -> Result<Report> {
    let trackers = lake.trackers().await?;
    let mut rows = Vec::new();
    let mut skipped = Vec::new();
    for table in TABLES {
        let mut by_cluster: BTreeMap<String, Vec<LakeFile>> = BTreeMap::new();
        for file in lake.files(table, &trackers).await? {
            by_cluster.entry(file.cluster.clone()).or_default().push(file);
        }
        for (cluster, files) in by_cluster {
            let mut count = Some(0);
            for file in &files {
                let known = match &file.facts {
                    Some(facts) => Ok(facts.rows),
                    None => lake.rows(table, &file.meta.location).await,
                };
                match known {
                    Ok(more) => count = count.map(|rows| rows + more as i64),
                    Err(error) => {
                        count = None;
                        skipped.push(SkippedFile {
                            path: lake.shown(&file.meta.location),
                            reason: format!("{error:#}"),
                        });
                    }
                }
            }
            let days = files.iter().map(|file| file.date);
            let (first, last) = (days.clone().min(), days.max());
            let bytes: u64 = files.iter().map(|file| file.meta.size).sum();
            let changed = files.iter().map(LakeFile::modified).max();
            rows.push(vec![
                Value::Text(table.name.to_owned()),
                Value::Text(cluster),
                count.map_or(Value::Unknown, Value::Integer),
                Value::Integer(bytes as i64),
                Value::Integer(files.len() as i64),
                first.map_or(Value::Unknown, Value::Date),
                last.map_or(Value::Unknown, Value::Date),
                changed.map_or(Value::Unknown, Value::Time),
            ]);
        }
    }
    let whole = Question::about(crate::whole_period(lake, zone, now).await?);
    Ok(Report {
        name: "status".to_owned(),
        title: format!("What is kept in {}?", lake.place()),
        coverage: Coverage {
            clusters: coverage::clusters(&trackers, &whole, History::Gpus)?,
            skipped,
            ends_at_newest: None,
        },
        period: whole.period,
        table: Table {
            columns: vec![
                column("table", "Table", Unit::Label),
                column("cluster", "Cluster", Unit::Label),
                column("rows", "Rows", Unit::Count),
                column("bytes", "Size", Unit::Bytes),
                column("files", "Files", Unit::Count),
                column("first_date", "From", Unit::Date),
                column("last_date", "To", Unit::Date),
                column("changed_time", "Changed", Unit::Time),
            ],
            rows,
        },
        charts: Vec::new(),
        notes: vec!["Dates are in UTC; a job lies on the date of its submission.".to_owned()],
    })
}

/// The size of all files, by what they are for.
async fn disk_use(lake: &Lake, zone: &TimeZone, now: Timestamp) -> Result<Report> {
    let used = lake.disk_use().await?;
    let rows = [
        ("tables", used.tables),
        ("raw scheduler output", used.raw),
        ("state of collecting", used.state),
        ("total", used.total()),
    ];
    let row = |(part, FileUse { files, bytes }): (&str, FileUse)| {
        vec![
            Value::Text(part.to_owned()),
            Value::Integer(bytes as i64),
            Value::Integer(files as i64),
        ]
    };
    Ok(Report {
        name: "disk-use".to_owned(),
        title: "Disk use".to_owned(),
        period: Period { start: now, end: now, zone: zone.clone() },
        coverage: Coverage::default(),
        table: Table {
            columns: vec![
                column("part", "Part", Unit::Label),
                column("bytes", "Size", Unit::Bytes),
                column("files", "Files", Unit::Count),
            ],
            rows: rows.into_iter().map(row).collect(),
        },
        charts: Vec::new(),
        notes: vec!["`plimsoll prune` deletes old raw scheduler output.".to_owned()],
    })
}

fn column(name: &str, heading: &str, unit: Unit) -> Column {
    Column { name: name.to_owned(), heading: heading.to_owned(), unit }
}
