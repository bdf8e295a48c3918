//! How the sources of each cluster fare.

use jiff::Timestamp;
use record::Live;
use report::{Unit, Value};

use super::{Look, count, known_text, text, time};
use crate::analysis::Column;
use crate::metric::is_up;

pub static LOOK: Look = Look {
    name: "sources",
    question: "How do the sources fare?",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "source",
            heading: "Source",
            unit: Unit::Label,
            meaning: "The command that is asked.",
        },
        Column {
            name: "is_fresh",
            heading: "Fresh",
            unit: Unit::Label,
            meaning: "Whether it answered when it was last asked, and that was lately.",
        },
        Column {
            name: "success_time",
            heading: "Last answer",
            unit: Unit::Time,
            meaning: "When it last answered.",
        },
        Column {
            name: "duration_seconds",
            heading: "Took s",
            unit: Unit::Seconds,
            meaning: "How long the last run took.",
        },
        Column {
            name: "bytes",
            heading: "Size",
            unit: Unit::Bytes,
            meaning: "Of the last answer.",
        },
        Column {
            name: "records",
            heading: "Records",
            unit: Unit::Count,
            meaning: "In the last answer.",
        },
        Column {
            name: "rejects",
            heading: "Set aside",
            unit: Unit::Count,
            meaning: "Pieces of the last answer that could not be read.",
        },
        Column { name: "commands", heading: "Runs", unit: Unit::Count, meaning: "Runs in all." },
        Column {
            name: "failures",
            heading: "Failed",
            unit: Unit::Count,
            meaning: "Those that were not answered.",
        },
        Column {
            name: "seconds",
            heading: "Took in all s",
            unit: Unit::Seconds,
            meaning: "The time that all runs took.",
        },
        Column {
            name: "error",
            heading: "Error",
            unit: Unit::Label,
            meaning: "Why the last run failed; a dash if it worked.",
        },
    ],
    rows,
    notes: &["An answer is fresh for three times the cluster's cadence."],
};

fn rows(lives: &[&Live], now: Timestamp) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for live in lives {
        for source in &live.sources {
            rows.push(vec![
                text(&live.cluster),
                text(&source.source),
                Value::Boolean(is_up(live, source, now)),
                time(source.success_time),
                source.duration_seconds.map_or(Value::Unknown, Value::Number),
                count(source.bytes),
                count(source.records),
                count(source.rejects),
                Value::Integer(source.commands),
                Value::Integer(source.failures),
                Value::Number(source.seconds),
                known_text(source.error.as_deref()),
            ]);
        }
    }
    rows
}
