//! Which node was used how much, of what it has.

use report::Unit;

use super::{Analysis, CPU_HOURS_DRAWN, Column, NODE, RUNNING_JOBS, amounts};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "usage-by-node",
    question: "Which node was used how much, of what it has?",
    sql: "
        WITH held AS (
            SELECT cluster, node,
                   sum(jobs) AS jobs,
                   CAST(sum(exact(cpu_seconds)) AS DOUBLE) AS cpu_seconds,
                   CAST(sum(exact(gpu_seconds)) AS DOUBLE) AS gpu_seconds
            FROM usage_of_node
            WHERE $node IS NULL OR node = $node
            GROUP BY cluster, node
        ),
        has AS (
            SELECT cluster, node, max(cpus) AS cpus, max(gpus) AS gpus
            FROM node_seen
            WHERE $node IS NULL OR node = $node
            GROUP BY cluster, node
        )
        SELECT coalesce(held.cluster, has.cluster) AS cluster,
               coalesce(held.node, has.node) AS node,
               coalesce(held.jobs, 0) AS jobs,
               CASE WHEN held.node IS NULL THEN 0.0 ELSE held.cpu_seconds / 3600 END AS cpu_hours,
               CASE WHEN held.node IS NULL AND has.gpus > 0 THEN 0.0 ELSE held.gpu_seconds / 3600 END
                   AS gpu_hours,
               100 * CASE WHEN held.node IS NULL THEN 0.0 ELSE held.cpu_seconds END
                   / nullif(has.cpus * asked.seconds, 0) AS cpu_allocated_percent,
               100 * CASE WHEN held.node IS NULL THEN 0.0 ELSE held.gpu_seconds END
                   / nullif(has.gpus * asked.seconds, 0) AS gpu_allocated_percent
        FROM held
        FULL JOIN has ON has.cluster = held.cluster AND has.node = held.node
        LEFT JOIN asked ON asked.cluster = coalesce(held.cluster, has.cluster)
        ORDER BY cpu_hours DESC NULLS LAST, jobs DESC, cluster, node
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "node", heading: "Node", unit: Unit::Label, meaning: "The node." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Attempts that ran on it in the period; one over several nodes counts on each." },
        Column { name: "cpu_hours", heading: "CPU hours", unit: Unit::Hours, meaning: "CPUs held, times the time; an attempt over several nodes counts in equal parts." },
        Column { name: "gpu_hours", heading: "GPU hours", unit: Unit::Hours, meaning: "GPUs held, times the time, likewise." },
        Column { name: "cpu_allocated_percent", heading: "CPU allocated %", unit: Unit::Percent, meaning: "CPU hours allocated, of what the node has, over the time that the scheduler was asked about; a dash where it was not seen." },
        Column { name: "gpu_allocated_percent", heading: "GPU allocated %", unit: Unit::Percent, meaning: "GPU hours allocated, of what the node has, likewise." },
    ],
    notes: &[
        RUNNING_JOBS,
        "What a node has is the most that was seen of it in the period.",
        "The scheduler says which nodes an attempt held, not how much of each: it is taken as the same on all.",
    ],
    options: &[NODE],
    drawn: Some(amounts(&["cluster", "node"], "CPU hours", &[CPU_HOURS_DRAWN])),
};
