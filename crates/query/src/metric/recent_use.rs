//! What jobs lately made of what they held, and what backfill gave: a few sums of the lake, made for
//! who shows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp, Zoned};
use lake::Lake;
use record::RecentUse;
use report::{Period, Unit};

use crate::analysis::{Analysis, Column};
use crate::{Judgement, Memory, Question};

/// How far back each window reaches.
const WINDOWS: [(&str, i64); 3] = [("1h", 1), ("24h", 24), ("7d", 7 * 24)];

/// A window is added up again when this part of it has passed: what a week had in it hardly changes
/// in five minutes, and takes longer to read than an hour.
const PARTS: i32 = 48;

/// The report that says what backfill gave; its first row is about all of it.
const BACKFILL: &str = "backfill-summary";

/// What a cluster's jobs made of what they held before `now`, and what backfill gave. Of what is known
/// already, that which is not old for its window stays.
pub(super) async fn recent_use(
    lake: &Lake,
    cluster: &str,
    judgement: &Arc<Judgement>,
    now: &Zoned,
    known: &[RecentUse],
    memory: &Memory,
) -> Result<Vec<RecentUse>> {
    let (now, zone) = (now.timestamp(), now.time_zone());
    let mut rows = Vec::new();
    for (window, hours) in WINDOWS {
        let length = SignedDuration::from_hours(hours);
        let is_fresh = |time: Timestamp| time <= now && now < time + length / PARTS;
        let fresh = known.iter().find(|row| row.window == window && row.time.is_some_and(is_fresh));
        if let Some(fresh) = fresh {
            rows.push(fresh.clone());
            continue;
        }
        let period = Period { start: now - length, end: now, zone: zone.clone() };
        let question = Question {
            clusters: vec![cluster.to_owned()],
            judgement: judgement.clone(),
            memory: memory.clone(),
            ..Question::about(period)
        };
        let analyses = [&SUMS, crate::analysis(BACKFILL)?];
        let reports = crate::run_all(lake, &analyses, &question).await?;
        let mut values = BTreeMap::new();
        for (analysis, report) in analyses.iter().zip(reports) {
            let cells = report.table.rows.into_iter().next().unwrap_or_default();
            let named = analysis.columns.iter().zip(&cells);
            values.extend(named.map(|(column, cell)| (column.name.into(), cell.number())));
        }
        rows.push(RecentUse { window: window.into(), time: Some(now), values });
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
               CAST(sum(in_kib(memory_mib_seconds_used)) AS DOUBLE)
                   / nullif(CAST(sum(in_kib(memory_mib_seconds_measured)) AS DOUBLE), 0)
                   AS memory_efficiency,
               CAST(sum(in_kib(memory_mib_seconds_wasted)) AS DOUBLE) / 1024 AS memory_mib_seconds_wasted,
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
