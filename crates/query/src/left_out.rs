//! What reports about GPUs say of the GPUs that they leave out.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use report::Value;

use crate::{Session, Term, answer};

/// The terms that leave out what the site masks or hides.
const TERMS: [&str; 8] = [
    "gpu_time",
    "gpu_use",
    "gpu_use_by_hour",
    "gpu_use_by_day",
    "gpu_held",
    "backfill_phase",
    "primary_phase",
    "backfill_attempt",
];

/// Whether a statement rests on the history of GPUs.
pub(crate) fn is_about_gpus(sql: &str) -> bool {
    let tables = ["gpu_span", "gpu_sample", "gpu_left_out"];
    concerns(sql) || tables.iter().any(|table| crate::mentions(sql, table))
}

/// Whether a statement rests on such a term.
pub(crate) fn concerns(sql: &str) -> bool {
    TERMS.iter().any(|term| crate::mentions(sql, term))
}

/// Whether a term is the one that says what is left out.
pub(crate) fn is_said_by(term: &Term) -> bool {
    term.name == "gpu_left_out"
}

/// One note for each reason, with the machines and the number of their GPUs; one for each family
/// that is hidden.
pub(crate) async fn notes(session: &Session) -> Result<Vec<String>> {
    let batches = session
        .collect("SELECT masked, family, machine, gpus FROM gpu_left_out ORDER BY cluster, machine")
        .await?;
    let mut masked: BTreeMap<String, (i64, BTreeSet<String>)> = BTreeMap::new();
    let mut hidden: BTreeMap<String, i64> = BTreeMap::new();
    for row in answer::rows(&batches)? {
        let [masked_by, family, Value::Text(machine), Value::Integer(gpus)] = &row[..] else {
            continue;
        };
        match (masked_by, family) {
            (Value::Text(reason), _) => {
                let (sum, machines) = masked.entry(reason.clone()).or_default();
                *sum += gpus;
                machines.insert(machine.clone());
            }
            (_, Value::Text(family)) => *hidden.entry(family.clone()).or_default() += gpus,
            _ => {}
        }
    }
    let count = |gpus: i64| if gpus == 1 { "1 GPU".to_owned() } else { format!("{gpus} GPUs") };
    let masked = masked.into_iter().map(|(reason, (gpus, machines))| {
        let machines: Vec<String> = machines.into_iter().collect();
        format!("Left out: {} of {} ({reason}).", count(gpus), machines.join(", "))
    });
    let hidden = hidden
        .into_iter()
        .map(|(family, gpus)| format!("Left out: {} of the hidden family {family}.", count(gpus)));
    Ok(masked.chain(hidden).collect())
}
