//! Each cluster now.

use jiff::Timestamp;
use record::{GpuCount, JobCount, Live, NodeSpan, SeenNode};
use report::{Unit, Value};

use super::{Look, count, text, time};
use crate::analysis::Column;
use crate::metric::{is_running, is_waiting};

pub static LOOK: Look = Look {
    name: "clusters",
    question: "What does each cluster do now?",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "scheduler",
            heading: "Scheduler",
            unit: Unit::Label,
            meaning: "What runs it.",
        },
        Column { name: "nodes", heading: "Nodes", unit: Unit::Count, meaning: "Its nodes." },
        Column {
            name: "nodes_away",
            heading: "Out of service",
            unit: Unit::Count,
            meaning: "Nodes on which no job can start.",
        },
        Column { name: "cpus", heading: "CPUs", unit: Unit::Count, meaning: "CPUs of its nodes." },
        Column {
            name: "cpus_held",
            heading: "CPUs held",
            unit: Unit::Count,
            meaning: "CPUs that jobs hold.",
        },
        Column { name: "gpus", heading: "GPUs", unit: Unit::Count, meaning: "GPUs of its nodes." },
        Column {
            name: "gpus_held",
            heading: "GPUs held",
            unit: Unit::Count,
            meaning: "GPUs that jobs hold.",
        },
        Column {
            name: "jobs_running",
            heading: "Jobs running",
            unit: Unit::Count,
            meaning: "Jobs that hold what they asked for, each task of an array counted.",
        },
        Column {
            name: "jobs_waiting",
            heading: "Jobs waiting",
            unit: Unit::Count,
            meaning: "Jobs that wait, each task of an array counted.",
        },
        Column {
            name: "seen_time",
            heading: "Seen",
            unit: Unit::Time,
            meaning: "When it was last looked at; of its nodes, GPUs and queue, the one that was longest ago.",
        },
    ],
    rows,
    notes: &["A dash is what was never seen."],
};

fn rows(lives: &[&Live], _now: Timestamp) -> Vec<Vec<Value>> {
    lives.iter().map(|live| row(live)).collect()
}

fn row(live: &Live) -> Vec<Value> {
    let nodes: Option<&[SeenNode]> = live.nodes.as_ref().map(|seen| &seen.rows[..]);
    let sum = |amount: fn(&NodeSpan) -> Option<i64>| {
        count(nodes.map(|nodes| nodes.iter().filter_map(|seen| amount(&seen.node)).sum()))
    };
    let nodes_of = |is_counted: fn(&NodeSpan) -> bool| {
        count(nodes.map(|nodes| nodes.iter().filter(|seen| is_counted(&seen.node)).count() as i64))
    };
    let jobs_of = |is_counted: fn(&JobCount) -> bool| {
        let jobs = live.jobs.as_ref().map(|seen| seen.rows.iter().filter(|jobs| is_counted(jobs)));
        count(jobs.map(|jobs| jobs.map(|jobs| jobs.jobs).sum()))
    };
    // A pool of which nodes are not known may have told of its GPUs.
    let gpus_seen = |is_counted: fn(&GpuCount) -> bool| {
        let gpus = live.gpus.as_ref().map(|seen| seen.rows.iter().filter(|gpus| is_counted(gpus)));
        count(gpus.map(|gpus| gpus.map(|gpus| gpus.gpus).sum()))
    };
    let is_held = |gpus: &GpuCount| {
        let claimed = Some("Claimed");
        gpus.primary_state.as_deref() == claimed || gpus.backfill_state.as_deref() == claimed
    };
    let (gpus, gpus_held) = match nodes {
        Some(_) => (sum(|node| node.gpus), sum(|node| node.alloc_gpus)),
        None => (gpus_seen(|_| true), gpus_seen(is_held)),
    };
    let looks = [
        live.nodes.as_ref().map(|seen| seen.time),
        live.gpus.as_ref().map(|seen| seen.time),
        live.jobs.as_ref().map(|seen| seen.time),
    ];
    vec![
        text(&live.cluster),
        text(&live.scheduler),
        nodes_of(|_| true),
        nodes_of(|node| record::away(&node.state).is_some()),
        sum(|node| node.cpus),
        sum(|node| node.alloc_cpus),
        gpus,
        gpus_held,
        jobs_of(is_running),
        jobs_of(is_waiting),
        time(looks.into_iter().flatten().min()),
    ]
}
