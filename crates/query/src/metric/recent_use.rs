//! What jobs lately made of what they held: a few sums of the lake, made once a collection.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use record::RecentUse;
use report::{Period, Unit};

use crate::Question;
use crate::analysis::{Analysis, Column};

/// How far back each window reaches.
const WINDOWS: [(&str, i64); 3] = [("1h", 1), ("24h", 24), ("7d", 7 * 24)];

/// What a cluster's jobs made of what they held before `now`.
pub async fn recent_use(lake: &Lake, cluster: &str, now: Timestamp) -> Result<Vec<RecentUse>> {
    let mut rows = Vec::new();
    for (window, hours) in WINDOWS {
        let start = now - SignedDuration::from_hours(hours);
        let period = Period { start, end: now, zone: TimeZone::UTC };
        let question = Question { clusters: vec![cluster.to_owned()], ..Question::about(period) };
        let report = crate::run(lake, &SUMS, &question).await?;
        let cells = report.table.rows.into_iter().next().unwrap_or_default();
        let values: BTreeMap<String, Option<f64>> = SUMS
            .columns
            .iter()
            .zip(cells)
            .map(|(column, cell)| (column.name.to_owned(), cell.number()))
            .collect();
        rows.push(RecentUse { window: window.to_owned(), values });
    }
    Ok(rows)
}

/// It is asked like an analysis, and is in no list: it is for programs.
static SUMS: Analysis = Analysis {
    name: "recent-use",
    question: "What did jobs lately make of what they held?",
    sql: "
        SELECT coalesce(sum(jobs), 0) AS jobs,
               CAST(sum(exact(cpu_seconds)) AS DOUBLE) AS cpu_seconds,
               CAST(sum(exact(cpu_seconds_wasted)) AS DOUBLE) AS cpu_seconds_wasted,
               CAST(sum(exact(cpu_seconds_used)) AS DOUBLE)
                   / nullif(CAST(sum(exact(cpu_seconds_measured)) AS DOUBLE), 0) AS cpu_efficiency,
               CAST(sum(exact(gpu_seconds)) AS DOUBLE) AS gpu_seconds,
               CAST(sum(exact(memory_mib_seconds_used)) AS DOUBLE)
                   / nullif(CAST(sum(exact(memory_mib_seconds_measured)) AS DOUBLE), 0)
                   AS memory_efficiency,
               CAST(sum(exact(memory_mib_seconds_wasted)) AS DOUBLE) AS memory_mib_seconds_wasted,
               CAST(sum(exact(wait_seconds)) AS DOUBLE) / nullif(sum(waited), 0) AS wait_seconds
        FROM usage
    ",
    columns: &[
        plain("jobs"),
        plain("cpu_seconds"),
        plain("cpu_seconds_wasted"),
        plain("cpu_efficiency"),
        plain("gpu_seconds"),
        plain("memory_efficiency"),
        plain("memory_mib_seconds_wasted"),
        plain("wait_seconds"),
    ],
    notes: &[],
    options: &[],
    drawn: None,
};

const fn plain(name: &'static str) -> Column {
    Column { name, heading: name, unit: Unit::Plain, meaning: "" }
}
