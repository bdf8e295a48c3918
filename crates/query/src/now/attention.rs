//! What somebody should look at.

use std::collections::BTreeMap;

use jiff::Timestamp;
use record::Live;
use report::{Unit, Value};

use super::{Look, known_text, text, time};
use crate::analysis::Column;
use crate::metric::is_up;

pub static LOOK: Look = Look {
    name: "attention",
    question: "What needs attention?",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "what", heading: "What", unit: Unit::Label, meaning: "What is wrong." },
        Column {
            name: "which",
            heading: "Which",
            unit: Unit::Label,
            meaning: "The sources or nodes; of many, the first.",
        },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "Why, as the scheduler or the machine says.",
        },
        Column {
            name: "since_time",
            heading: "Since",
            unit: Unit::Time,
            meaning: "Since when; of many, the earliest.",
        },
    ],
    rows,
    notes: &[
        "Sources that do not answer, pieces that could not be read, and nodes on which no job can start.",
    ],
};

fn rows(lives: &[&Live], now: Timestamp) -> Vec<Vec<Value>> {
    lives.iter().flat_map(|live| sources(live, now).into_iter().chain(nodes(live))).collect()
}

/// Those that have a trouble in common, and when it began for the first of them.
#[derive(Default)]
struct Together<'a> {
    names: Vec<&'a str>,
    since: Option<Timestamp>,
}

impl<'a> Together<'a> {
    fn add(&mut self, name: &'a str, since: Option<Timestamp>) {
        self.names.push(name);
        self.since = [self.since, since].into_iter().flatten().min();
    }

    fn row(&self, cluster: &str, thing: &str, how: &str, reason: Option<&str>) -> Vec<Value> {
        vec![
            text(cluster),
            Value::Text(counted(self.names.len(), thing, how)),
            Value::Text(some(&self.names)),
            known_text(reason),
            time(self.since),
        ]
    }
}

fn sources(live: &Live, now: Timestamp) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut stale: BTreeMap<&str, Together> = BTreeMap::new();
    for source in &live.sources {
        if !is_up(live, source, now) {
            let reason = source.error.as_deref().unwrap_or("nobody asked since");
            stale.entry(reason).or_default().add(&source.source, source.success_time);
        }
        if let Some(rejects) = source.rejects.filter(|rejects| *rejects > 0) {
            rows.push(vec![
                text(&live.cluster),
                Value::Text(counted(rejects as usize, "piece", "set aside")),
                text(&source.source),
                text("could not be read; the report rejects shows them"),
                time(source.last_time),
            ]);
        }
    }
    let row = |(reason, together): (&str, Together)| {
        together.row(&live.cluster, "source", "not fresh", Some(reason))
    };
    rows.extend(stale.into_iter().map(row));
    rows
}

fn nodes(live: &Live) -> Vec<Vec<Value>> {
    let mut away: BTreeMap<(&str, Option<&str>), Together> = BTreeMap::new();
    for seen in live.nodes.iter().flat_map(|seen| &seen.rows) {
        let node = &seen.node;
        if let Some(word) = record::away(&node.state) {
            let together = away.entry((word.name(), node.reason.as_deref())).or_default();
            together.add(&node.node, node.reason_time);
        }
    }
    let row = |((word, reason), together): ((&str, _), Together)| {
        together.row(&live.cluster, "node", word, reason)
    };
    away.into_iter().map(row).collect()
}

fn counted(count: usize, thing: &str, how: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural} {how}")
}

fn some(names: &[&str]) -> String {
    const MOST: usize = 5;
    let mut text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}
