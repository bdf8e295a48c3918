//! What the lake holds, whether collecting works, what could not be read.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use lake::{Lake, LakeFile};
use record::TABLES;
use report::{Column, Coverage, Period, Report, SkippedFile, Table, Unit, Value};

use crate::{Memory, Question, analysis, run};

/// What is kept, and the collections and rejects of the last month.
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
    let mut reports = vec![holdings(lake, zone, now).await?];
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
    let column = |name: &str, heading: &str, unit| Column {
        name: name.to_owned(),
        heading: heading.to_owned(),
        unit,
    };
    let whole = Question::about(crate::whole_period(lake, zone, now).await?);
    Ok(Report {
        name: "status".to_owned(),
        title: format!("What is kept in {}?", lake.place()),
        coverage: Coverage {
            clusters: crate::coverage::clusters(&trackers, &whole)?,
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
