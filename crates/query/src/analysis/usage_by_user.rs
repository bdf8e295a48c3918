//! Who used how much, and how well.

use report::Unit;

use super::{
    Analysis, CPU_EFFICIENCY, CPU_HOURS, CPU_HOURS_DRAWN, Column, GPU_HOURS, JOBS,
    MEMORY_EFFICIENCY, MEMORY_GIB_HOURS, USAGE_NOTES, WAIT_HOURS, WHOSE, amounts,
};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "usage-by-user",
    question: "Who used how much, and how well?",
    sql: concat!(
        "SELECT user, jobs, ",
        usage_figures!(),
        " FROM (SELECT user, ",
        usage_sums!(),
        " FROM usage WHERE ",
        chosen!(),
        " GROUP BY user)",
        " ORDER BY cpu_hours DESC NULLS LAST, jobs DESC, user"
    ),
    columns: &[
        Column {
            name: "user",
            heading: "User",
            unit: Unit::Label,
            meaning: "Who submitted; a dash where the scheduler no longer knows.",
        },
        JOBS,
        CPU_HOURS,
        GPU_HOURS,
        MEMORY_GIB_HOURS,
        WAIT_HOURS,
        CPU_EFFICIENCY,
        MEMORY_EFFICIENCY,
    ],
    notes: USAGE_NOTES,
    options: WHOSE,
    drawn: Some(amounts(&["user"], "CPU hours", &[CPU_HOURS_DRAWN])),
};
