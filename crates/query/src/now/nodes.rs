//! Each node now.

use jiff::Timestamp;
use record::Live;
use report::{Unit, Value};

use super::{Look, count, known_text, text, time};
use crate::analysis::Column;

pub static LOOK: Look = Look {
    name: "nodes",
    question: "What does each node do now?",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "node", heading: "Node", unit: Unit::Label, meaning: "The node." },
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "The scheduler's word, with its flags.",
        },
        Column { name: "cpus", heading: "CPUs", unit: Unit::Count, meaning: "Its CPUs." },
        Column {
            name: "cpus_held",
            heading: "CPUs held",
            unit: Unit::Count,
            meaning: "Those that jobs hold.",
        },
        Column {
            name: "cpu_load",
            heading: "Load",
            unit: Unit::Average,
            meaning: "The mean number of busy processes.",
        },
        Column { name: "memory", heading: "Memory", unit: Unit::Bytes, meaning: "Its memory." },
        Column {
            name: "memory_held",
            heading: "Memory held",
            unit: Unit::Bytes,
            meaning: "The part that jobs hold.",
        },
        Column { name: "gpus", heading: "GPUs", unit: Unit::Count, meaning: "Its GPUs." },
        Column {
            name: "gpus_held",
            heading: "GPUs held",
            unit: Unit::Count,
            meaning: "Those that jobs hold.",
        },
        Column {
            name: "gpu_types",
            heading: "GPU models",
            unit: Unit::Label,
            meaning: "Their models.",
        },
        Column {
            name: "partitions",
            heading: "Partitions",
            unit: Unit::Label,
            meaning: "The partitions that it is in.",
        },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "Why it takes no jobs.",
        },
        Column {
            name: "reason_time",
            heading: "Since",
            unit: Unit::Time,
            meaning: "When that reason was given.",
        },
    ],
    rows,
    notes: &["Nodes on which no job can start come first."],
};

fn rows(lives: &[&Live], _now: Timestamp) -> Vec<Vec<Value>> {
    const MIB: f64 = 1024.0 * 1024.0;
    let bytes =
        |memory: Option<f64>| memory.map_or(Value::Unknown, |memory| Value::Number(memory * MIB));
    let mut nodes: Vec<_> =
        lives.iter().flat_map(|live| live.nodes.iter().flat_map(|seen| &seen.rows)).collect();
    nodes.sort_by_key(|seen| {
        let node = &seen.node;
        (record::away(&node.state).is_none(), node.cluster.clone(), node.node.clone())
    });
    let row = |seen: &&record::SeenNode| {
        let node = &seen.node;
        vec![
            text(&node.cluster),
            text(&node.node),
            text(&node.state),
            count(node.cpus),
            count(node.alloc_cpus),
            seen.cpu_load.map_or(Value::Unknown, Value::Number),
            bytes(node.memory_mb),
            bytes(node.alloc_memory_mb),
            count(node.gpus),
            count(node.alloc_gpus),
            known_text(node.gpu_types.as_deref()),
            known_text(node.partitions.as_deref()),
            known_text(node.reason.as_deref()),
            time(node.reason_time),
        ]
    };
    nodes.iter().map(row).collect()
}
