//! Which machines took no jobs, for what reason.

use report::Unit;

use super::{Analysis, Column, GPU_SEEN};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-prevented",
    question: "Which machines took no jobs, and why?",
    sql: "
        SELECT cluster, machine, reason, gpus,
               CAST(seconds AS DOUBLE) / 3600 AS gpu_hours,
               CAST(seconds AS DOUBLE) / $period_seconds AS average,
               first_time, last_time,
               last_time = latest_time AS is_active
        FROM (
            SELECT cluster, machine, reason,
                   count(DISTINCT CASE WHEN is_prevented THEN gpu_id END) AS gpus,
                   sum(CASE WHEN is_prevented THEN exact(seconds) END) AS seconds,
                   min(CASE WHEN is_prevented THEN from_time END) AS first_time,
                   max(CASE WHEN is_prevented THEN to_time END) AS last_time,
                   max(max(to_time)) OVER (PARTITION BY cluster) AS latest_time
            FROM (
                SELECT cluster, machine, gpu_id, seconds, from_time, to_time,
                       prevent_reason AS reason,
                       state = 'prevented' AS is_prevented
                FROM gpu_time
            )
            GROUP BY cluster, machine, reason
        )
        WHERE gpus > 0
        ORDER BY cluster, machine, reason
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "machine", heading: "Machine", unit: Unit::Label, meaning: "The machine." },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "The reason that it gives.",
        },
        Column {
            name: "gpus",
            heading: "GPUs",
            unit: Unit::Count,
            meaning: "GPUs that it kept jobs away from at some time.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours",
            unit: Unit::Hours,
            meaning: "GPUs on which nothing ran for that reason, times the time.",
        },
        Column {
            name: "average",
            heading: "Average",
            unit: Unit::Average,
            meaning: "The same as GPUs on average over the period.",
        },
        Column {
            name: "first_time",
            heading: "First seen",
            unit: Unit::Time,
            meaning: "When that was first seen in the period.",
        },
        Column {
            name: "last_time",
            heading: "Last seen",
            unit: Unit::Time,
            meaning: "Until when it is known.",
        },
        Column {
            name: "is_active",
            heading: "Active",
            unit: Unit::Label,
            meaning: "Whether it was so at the last look at the cluster.",
        },
    ],
    notes: &["A GPU that runs a job is not kept from it, whatever its machine says.", GPU_SEEN],
    options: &[],
    drawn: None,
};
