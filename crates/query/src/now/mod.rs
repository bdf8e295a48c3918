//! What was last seen of the clusters, as tables. No scheduler is asked, and no history is read.

mod attention;
mod clusters;
mod nodes;
mod queue;
mod sources;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use record::Live;
use report::{Column, Coverage, Period, Report, Table, Value};

pub use attention::LOOK as ATTENTION;
pub use clusters::LOOK as CLUSTERS;
pub use nodes::LOOK as NODES;
pub use queue::LOOK as QUEUE;
pub use sources::LOOK as SOURCES;

use crate::Sight;
use crate::analysis;
use crate::metric::LastSeen;

/// A table of what was last seen.
pub struct Look {
    /// As in addresses.
    pub name: &'static str,
    pub question: &'static str,
    columns: &'static [analysis::Column],
    /// The rows of some clusters, at a moment.
    rows: fn(&[&Live], Timestamp) -> Vec<Vec<Value>>,
    notes: &'static [&'static str],
}

/// Every look, in the order in which documents list them.
pub static LOOKS: [&Look; 5] = [&CLUSTERS, &ATTENTION, &NODES, &QUEUE, &SOURCES];

/// Which rows of a look to show.
pub struct Shown<'a> {
    /// The clusters; none named means all.
    pub clusters: &'a [String],
    /// What rows must have, by the name of a column.
    pub filters: &'a BTreeMap<String, String>,
    pub top: Option<usize>,
    /// What who asks may see.
    pub sight: &'a Sight,
}

impl Look {
    /// Whether rows can be chosen by a column.
    pub fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The table at a moment.
    pub fn report(
        &self,
        seen: &LastSeen,
        shown: &Shown<'_>,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Report {
        let is_shown = |live: &&Live| {
            shown.clusters.is_empty() || shown.clusters.iter().any(|shown| *shown == live.cluster)
        };
        let lives: Vec<_> =
            seen.lives().iter().filter(is_shown).map(|live| shown.sight.veil_live(live)).collect();
        let lives: Vec<&Live> = lives.iter().map(AsRef::as_ref).collect();
        let mut rows = (self.rows)(&lives, now);
        for (place, column) in self.columns.iter().enumerate() {
            if let Some(wanted) = shown.filters.get(column.name) {
                rows.retain(|row| matches!(&row[place], Value::Text(text) if text == wanted));
            }
        }
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.to_owned(),
            heading: column.heading.to_owned(),
            unit: column.unit,
        });
        let mut report = Report {
            name: self.name.to_owned(),
            title: self.question.to_owned(),
            period: Period { start: now, end: now, zone: zone.clone() },
            coverage: Coverage::default(),
            table: Table { columns: columns.collect(), rows },
            charts: Vec::new(),
            notes: self.notes.iter().map(|&note| note.to_owned()).collect(),
        };
        if let Some(top) = shown.top {
            report.keep_first(top);
        }
        report
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn known_text(known: Option<&str>) -> Value {
    known.map_or(Value::Unknown, text)
}

fn count(known: Option<i64>) -> Value {
    known.map_or(Value::Unknown, Value::Integer)
}

fn time(known: Option<Timestamp>) -> Value {
    known.map_or(Value::Unknown, Value::Time)
}

#[cfg(test)]
mod tests;
