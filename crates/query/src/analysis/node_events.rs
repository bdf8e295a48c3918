//! When nodes went away, and when they came back.

use report::Unit;

use super::{Analysis, Column, NODE};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "node-events",
    question: "Which nodes went out of service or came back, when and why?",
    // What holds when a node is first seen in the period is an event only if it is away.
    sql: "
        SELECT from_time AS time,
               node_service.cluster,
               node,
               coalesce(away, 'in service') AS event,
               reason,
               reason_user,
               seconds,
               part = parts AS is_last,
               CASE WHEN away IS NOT NULL
                    THEN CAST(free_gpu_seconds AS DOUBLE) / 3600
               END AS gpu_hours
        FROM node_service
        WHERE (part > 1 OR away IS NOT NULL) AND ($node IS NULL OR node = $node)
        ORDER BY time DESC, node_service.cluster, node
    ",
    columns: &[
        Column {
            name: "time",
            heading: "When",
            unit: Unit::Time,
            meaning: "When it was first seen so, or the period's beginning.",
        },
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "node", heading: "Node", unit: Unit::Label, meaning: "The node." },
        Column {
            name: "event",
            heading: "Event",
            unit: Unit::Label,
            meaning: "`in service`, or why no job could start on it.",
        },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "The reason that was given.",
        },
        Column { name: "reason_user", heading: "By", unit: Unit::Label, meaning: "Who gave it." },
        Column {
            name: "seconds",
            heading: "For",
            unit: Unit::Duration,
            meaning: "How long it was seen so, until the next event or the period's end.",
        },
        Column {
            name: "is_last",
            heading: "Still so",
            unit: Unit::Plain,
            meaning: "Whether it was so when it was last seen in the period.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours lost",
            unit: Unit::Hours,
            meaning: "GPUs that no job held meanwhile, times the time.",
        },
    ],
    notes: &[
        "A node that is reserved, planned or powered down to save energy is in service.",
        "Time in which nobody looked is not counted.",
    ],
    options: &[NODE],
    drawn: None,
};
