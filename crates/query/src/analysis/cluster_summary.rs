//! What a cluster did, on one line.

use report::Unit;

use super::{
    Analysis, CPU_EFFICIENCY, CPU_HOURS, Column, GPU_HOURS, JOBS, MEMORY_EFFICIENCY,
    MEMORY_GIB_HOURS, USAGE_NOTES, USERS, WAIT_HOURS, WHOSE,
};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "cluster-summary",
    question: "What did each cluster do?",
    sql: concat!(
        "SELECT cluster, jobs, users, ",
        usage_figures!(),
        ",
                100.0 * completed / nullif(jobs, 0) AS completed
         FROM (
             SELECT cluster, ",
        usage_sums!(),
        ",
                    sum(CASE WHEN state = 'COMPLETED' THEN jobs ELSE 0 END) AS completed
             FROM usage
             WHERE ",
        chosen!(),
        "
             GROUP BY cluster
         )
         ORDER BY cluster"
    ),
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        JOBS,
        USERS,
        CPU_HOURS,
        GPU_HOURS,
        MEMORY_GIB_HOURS,
        WAIT_HOURS,
        CPU_EFFICIENCY,
        MEMORY_EFFICIENCY,
        Column {
            name: "completed",
            heading: "Completed %",
            unit: Unit::Percent,
            meaning: "Attempts that ran in the period and ended well, of all that ran; those that still run are among the all.",
        },
    ],
    notes: USAGE_NOTES,
    options: WHOSE,
    drawn: None,
};
