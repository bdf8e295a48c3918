//! `plimsoll nodes`: each node right now, what it has, what of it is in use, and why it is away.

use std::collections::HashMap;

use anyhow::Result;
use jiff::SignedDuration;
use record::NodeSpan;
use report::{Unit, Value};
use source::htcondor::{PoolObservation, PoolSlots, condor_status};
use source::slurm::{GpuModel, ScontrolNode, gpu_models, scontrol_show_node};
use source::{Failure, Machine, parse};

use crate::cli::Nodes;
use crate::command::{live, output};
use crate::config::{Config, Kind};
use crate::{Outcome, complain};

pub(crate) fn run(config: &Config, arguments: &Nodes) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let clusters = live::clusters(config, &arguments.cluster)?;
    let now = config.now();
    let mut rejects = 0;
    let round = live::ask(&clusters, |cluster, machine| {
        let name = &cluster.name;
        let (nodes, unread) = match cluster.kind {
            Kind::Slurm => slurm_nodes(name, machine, cluster.slurm_cluster.as_deref())?,
            Kind::Htcondor => condor_machines(name, machine)?,
        };
        rejects += unread;
        Ok(nodes)
    })?;

    let mut rows = Vec::new();
    let mut notes = round.notes;
    for (cluster, CurrentNodes { nodes, models }) in &round.answers {
        notes.push(summary(cluster, nodes));
        let models: HashMap<&str, &[GpuModel]> =
            models.iter().map(|(node, models)| (node.as_str(), models.as_slice())).collect();
        let mut nodes: Vec<&NodeSpan> = nodes.iter().collect();
        nodes.sort_by(|one, other| one.node.cmp(&other.node));
        for node in nodes {
            rows.push(row(cluster, node, models.get(node.node.as_str()).copied()));
        }
    }
    let mut report = live::report(
        "nodes",
        "What do the nodes have, and what of it is in use?",
        now,
        &config.zone,
        &COLUMNS,
        rows,
    );
    report.notes = notes;
    let written = output::write(&[report], &arguments.output)?;
    Ok(if rejects == 0 && round.is_whole { written } else { Outcome::Findings })
}

/// The nodes of a cluster, and of each the use of its GPUs by model.
struct CurrentNodes {
    nodes: Vec<NodeSpan>,
    models: Vec<(String, Vec<GpuModel>)>,
}

/// The nodes, and how many lines could not be read.
fn slurm_nodes(
    name: &str,
    machine: &dyn Machine,
    known_as: Option<&str>,
) -> Result<(CurrentNodes, usize), Failure> {
    let text = live::text(machine, &scontrol_show_node(known_as))?;
    let parser = ScontrolNode::new(name, machine.now(), SignedDuration::ZERO);
    let parsed = parse(parser, text.as_bytes());
    for reject in &parsed.rejects {
        complain(&format!(
            "warning: {name}: cannot read line {} of scontrol: {}",
            reject.position, reject.reason
        ));
    }
    let nodes = CurrentNodes { nodes: parsed.records, models: gpu_models(&text) };
    Ok((nodes, parsed.rejects.len()))
}

fn condor_machines(name: &str, machine: &dyn Machine) -> Result<(CurrentNodes, usize), Failure> {
    let parser = PoolSlots::new(name, machine.now(), SignedDuration::ZERO);
    let parsed = live::records(name, machine, &condor_status(), parser)?;
    let mut found = CurrentNodes { nodes: Vec::new(), models: Vec::new() };
    for record in parsed.records {
        let PoolObservation::Machine(seen) = record else { continue };
        let model = |model: record::GpuModel| GpuModel {
            model: model.model.map(String::from),
            gpus: model.gpus,
            used: model.allocated,
        };
        let models = record::gpu_models(&seen.node).into_iter().map(model).collect();
        found.models.push((seen.node.node.to_string(), models));
        found.nodes.push(seen.node);
    }
    Ok((found, parsed.rejects.len()))
}

const COLUMNS: [(&str, &str, Unit); 13] = [
    ("cluster", "Cluster", Unit::Label),
    ("node", "Node", Unit::Label),
    ("state", "State", Unit::Label),
    ("partitions", "Partitions", Unit::Label),
    ("cpus_used", "CPUs used", Unit::Count),
    ("cpus", "CPUs", Unit::Count),
    ("memory_used", "Memory used", Unit::Bytes),
    ("memory", "Memory", Unit::Bytes),
    ("gpus_used", "GPUs used", Unit::Count),
    ("gpus", "GPUs", Unit::Count),
    ("gpu_models", "GPUs used of each model", Unit::Label),
    ("reason", "Why not usable", Unit::Label),
    ("reason_user", "Said by", Unit::Label),
];

fn row(cluster: &str, node: &NodeSpan, models: Option<&[GpuModel]>) -> Vec<Value> {
    let bytes = |mebibytes: Option<f64>| {
        mebibytes.map_or(Value::Unknown, |mebibytes| Value::Number(mebibytes * 1024.0 * 1024.0))
    };
    let models = models.filter(|models| !models.is_empty()).map(shown);
    vec![
        live::label(Some(cluster)),
        live::label(Some(&node.node)),
        live::label(Some(&node.state)),
        live::label(node.partitions.as_deref()),
        live::count(node.alloc_cpus),
        live::count(node.cpus),
        bytes(node.alloc_memory_mb),
        bytes(node.memory_mb),
        live::count(node.alloc_gpus),
        live::count(node.gpus),
        live::label(models.as_deref()),
        live::label(node.reason.as_deref()),
        live::label(node.reason_user.as_deref()),
    ]
}

/// `a100 2/4, h100 0/1`.
fn shown(models: &[GpuModel]) -> String {
    let one = |entry: &GpuModel| {
        let used = entry.used.map_or("-".to_owned(), |used| used.to_string());
        format!("{} {used}/{}", entry.model.as_deref().unwrap_or("gpu"), entry.gpus)
    };
    models.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn summary(cluster: &str, nodes: &[NodeSpan]) -> String {
    let sum = |part: fn(&NodeSpan) -> Option<i64>| {
        nodes.iter().map(part).sum::<Option<i64>>().map_or("-".to_owned(), |sum| sum.to_string())
    };
    let usable = nodes.iter().filter(|node| record::away(&node.state).is_none()).count();
    format!(
        "{cluster} in all: {usable} of {} nodes usable, {} of {} CPUs and {} of {} GPUs in use.",
        nodes.len(),
        sum(|node| node.alloc_cpus),
        sum(|node| node.cpus),
        sum(|node| node.alloc_gpus),
        sum(|node| node.gpus),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_shown_each_with_its_use() {
        let model = |model: Option<&str>, used, gpus| GpuModel {
            model: model.map(str::to_owned),
            gpus,
            used,
        };
        assert_eq!(
            shown(&[model(Some("a100"), Some(2), 4), model(None, None, 1)]),
            "a100 2/4, gpu -/1"
        );
    }
}
