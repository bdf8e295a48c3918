//! What jobs waited for, day by day.

use report::Unit;

use super::{Analysis, Column};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "queue-reasons",
    question: "What did jobs wait for, day by day?",
    sql: "
        SELECT day.date,
               waited.cluster,
               reason,
               jobs,
               waited_seconds / 3600 AS job_hours,
               gpu_seconds / 3600 AS gpu_hours,
               cpu_seconds / 3600 AS cpu_hours,
               100 * waited_seconds
                   / nullif(sum(waited_seconds) OVER (PARTITION BY waited.cluster, day_start), 0) AS share
        FROM (
            SELECT cluster, day_start, reason,
                   count(DISTINCT job_id) AS jobs,
                   CAST(sum(exact(tasks * seconds)) AS DOUBLE) AS waited_seconds,
                   CAST(sum(exact(tasks * req_gpus * seconds)) AS DOUBLE) AS gpu_seconds,
                   CAST(sum(exact(tasks * req_cpus * seconds)) AS DOUBLE) AS cpu_seconds
            FROM queue_waited
            GROUP BY cluster, day_start, reason
        ) AS waited
        JOIN day ON day.start_time = day_start
        ORDER BY day.date, waited.cluster, waited_seconds DESC, reason
    ",
    columns: &[
        Column {
            name: "date",
            heading: "Date",
            unit: Unit::Date,
            meaning: "A day of the site's calendar.",
        },
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "The scheduler's word for why they waited, without the names of nodes.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Jobs that waited for it; tasks of an array that waited together are one.",
        },
        Column {
            name: "job_hours",
            heading: "Waited h",
            unit: Unit::Hours,
            meaning: "The time that they waited for it, each task by itself.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPUs asked h",
            unit: Unit::Hours,
            meaning: "GPUs that they asked for, times that time.",
        },
        Column {
            name: "cpu_hours",
            heading: "CPUs asked h",
            unit: Unit::Hours,
            meaning: "CPUs that they asked for, times that time.",
        },
        Column {
            name: "share",
            heading: "Share %",
            unit: Unit::Percent,
            meaning: "Of all that waited on the day.",
        },
    ],
    notes: &[
        "A job is seen to wait at each look at the queue, and counts until the next, for twice the cadence at the most.",
        "What waits before it is eligible (held, for a time, for another job) is here too.",
    ],
    options: &[],
    drawn: None,
};
