//! What was granted, and what is left of it: from the report `allocations`, not from what was last seen.

use anyhow::Result;
use lake::Lake;
use report::{Family, Report, Value};

use crate::{Question, analysis, run};

/// Gauges of allocations: the name, its unit, the column of the report, what turns that into the unit,
/// and its meaning.
const GAUGES: [(&str, &str, &str, f64, &str); 8] = [
    (
        "plimsoll_allocation_granted",
        "",
        "granted",
        1.0,
        "What was granted, in the unit of the allocation.",
    ),
    (
        "plimsoll_allocation_settled",
        "",
        "settled",
        1.0,
        "What attempts used of the allocation that have ended.",
    ),
    (
        "plimsoll_allocation_in_flight",
        "",
        "in_flight",
        1.0,
        "What attempts have used of the allocation that still run.",
    ),
    (
        "plimsoll_allocation_committed",
        "",
        "committed",
        1.0,
        "What waiting jobs would use of the allocation at most.",
    ),
    (
        "plimsoll_allocation_remaining",
        "",
        "remaining",
        1.0,
        "What is left of the allocation; below zero where more was used.",
    ),
    (
        "plimsoll_allocation_used_ratio",
        "ratio",
        "used_percent",
        0.01,
        "Share of the allocation that was used.",
    ),
    (
        "plimsoll_allocation_elapsed_ratio",
        "ratio",
        "elapsed_percent",
        0.01,
        "Share of the time of the allocation that is over.",
    ),
    (
        "plimsoll_allocation_projected_ratio",
        "ratio",
        "projected_percent",
        0.01,
        "Share of the allocation that will have been used in the end, at the pace of late.",
    ),
];

/// Asks the lake what is left of what was granted.
pub async fn granted(lake: &Lake, question: &Question) -> Result<Vec<Family>> {
    let report = run(lake, analysis("allocations")?, question).await?;
    Ok(granted_families(Some(&report)))
}

/// The gauges of a report; without one, without numbers.
pub fn granted_families(report: Option<&Report>) -> Vec<Family> {
    let labels: &[&str] = &["allocation", "unit"];
    let family = |(name, unit, column, scale, help): (_, _, &str, f64, _)| {
        let mut family = Family::gauge(name, unit, labels, help);
        let Some(table) = report.map(|report| &report.table) else { return family };
        let place = |name: &str| table.columns.iter().position(|column| column.name == name);
        let places = (place("allocation"), place("unit"), place(column));
        let (Some(allocation), Some(unit), Some(amount)) = places else { return family };
        for row in &table.rows {
            if let (Value::Text(allocation), Value::Text(unit)) = (&row[allocation], &row[unit]) {
                let number = row[amount].number().map(|number| number * scale);
                family.push(&[allocation, unit], number);
            }
        }
        family
    };
    GAUGES.into_iter().map(family).collect()
}
