//! One JSON object, for programs: all of a report, a row a line. Several are an array of them.

use report::{Coverage, Period, Report, Value};
use serde_json::{Map, json};

use super::{Format, Look};
use crate::raw;

pub(super) struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn meaning(&self) -> &'static str {
        "Everything, raw values, unknown as null, a row an object by column name"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn media_type(&self) -> &'static str {
        "application/json"
    }

    fn render(&self, reports: &[Report], _look: &Look) -> Vec<u8> {
        match reports {
            [report] => format!("{}\n", object(report)),
            reports => {
                format!("[\n{}\n]\n", reports.iter().map(object).collect::<Vec<_>>().join(",\n"))
            }
        }
        .into_bytes()
    }
}

fn object(report: &Report) -> String {
    let names = raw::column_names(&report.table);
    let members = [
        ("report", json!(report.name).to_string()),
        ("title", json!(report.title).to_string()),
        ("period", period(&report.period).to_string()),
        ("coverage", coverage(&report.coverage).to_string()),
        ("columns", lines(columns(report, &names))),
        ("rows", lines(rows(report, &names))),
        ("notes", lines(report.notes.iter().map(|note| json!(note)))),
    ];
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
    format!("{{\n{}\n}}", members.join(",\n"))
}

/// An array, an element a line.
pub(crate) fn lines(elements: impl Iterator<Item = serde_json::Value>) -> String {
    let mut text = "[".to_owned();
    for (index, element) in elements.enumerate() {
        text.push_str(if index == 0 { "\n    " } else { ",\n    " });
        text.push_str(&element.to_string());
    }
    if text.len() > 1 {
        text.push_str("\n  ");
    }
    text + "]"
}

pub(crate) fn period(period: &Period) -> serde_json::Value {
    json!({
        "start": period.start.to_string(),
        "end": period.end.to_string(),
        "zone": period.zone_name(),
    })
}

pub(crate) fn coverage(coverage: &Coverage) -> serde_json::Value {
    let clusters: Vec<_> = coverage
        .clusters
        .iter()
        .map(|cluster| {
            let imported: Vec<_> = cluster
                .imported
                .iter()
                .map(|imported| json!({ "tool": imported.tool, "days": imported.days }))
                .collect();
            json!({
                "cluster": cluster.cluster,
                "days_collected": cluster.days_collected,
                "imported": imported,
                "days": cluster.days,
                "fresh_time": cluster.fresh_time.map(|time| time.to_string()),
            })
        })
        .collect();
    let skipped: Vec<_> = coverage
        .skipped
        .iter()
        .map(|file| json!({ "path": file.path, "reason": file.reason }))
        .collect();
    let newest = coverage.ends_at_newest.map(
        |newest| json!({ "time": newest.time.to_string(), "age_seconds": newest.age_seconds() }),
    );
    json!({ "clusters": clusters, "skipped": skipped, "ends_at_newest_data": newest })
}

fn columns(report: &Report, names: &[String]) -> impl Iterator<Item = serde_json::Value> {
    report.table.columns.iter().zip(names).map(|(column, name)| {
        json!({ "name": name, "heading": column.heading, "unit": column.unit.sign() })
    })
}

fn rows(report: &Report, names: &[String]) -> impl Iterator<Item = serde_json::Value> {
    report.table.rows.iter().map(move |row| {
        let members = names.iter().cloned().zip(row.iter().map(cell));
        serde_json::Value::Object(Map::from_iter(members))
    })
}

fn cell(value: &Value) -> serde_json::Value {
    match value {
        Value::Unknown => serde_json::Value::Null,
        Value::Text(text) => json!(text),
        Value::Integer(number) => json!(number),
        // What is not a number or not finite becomes null: JSON has no word for it.
        Value::Number(number) => json!(number),
        Value::Boolean(yes) => json!(yes),
        Value::Time(time) => json!(time.to_string()),
        Value::Date(date) => json!(date.to_string()),
    }
}
