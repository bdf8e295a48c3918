//! Who used how much, and how well.

use report::Unit;

use super::{Analysis, Column, USAGE_NOTES};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "usage-by-user",
    question: "Who used how much, and how well?",
    sql: "
        SELECT user,
               jobs,
               CAST(cpu_seconds AS DOUBLE) / 3600 AS cpu_hours,
               CAST(gpu_seconds AS DOUBLE) / 3600 AS gpu_hours,
               CAST(memory AS DOUBLE) / 1024 / 3600 AS memory_gib_hours,
               CAST(wait AS DOUBLE) / nullif(waited, 0) / 3600 AS wait_hours,
               100 * CAST(cpu_used AS DOUBLE) / nullif(CAST(cpu_measured AS DOUBLE), 0)
                   AS cpu_efficiency,
               100 * CAST(memory_used AS DOUBLE) / nullif(CAST(memory_measured AS DOUBLE), 0)
                   AS memory_efficiency
        FROM (
            SELECT user,
                   sum(jobs) AS jobs,
                   sum(exact(cpu_seconds)) AS cpu_seconds,
                   sum(exact(gpu_seconds)) AS gpu_seconds,
                   sum(exact(memory_mib_seconds)) AS memory,
                   sum(waited) AS waited,
                   sum(exact(wait_seconds)) AS wait,
                   sum(exact(cpu_seconds_used)) AS cpu_used,
                   sum(exact(cpu_seconds_measured)) AS cpu_measured,
                   sum(exact(memory_mib_seconds_used)) AS memory_used,
                   sum(exact(memory_mib_seconds_measured)) AS memory_measured
            FROM usage
            GROUP BY user
        )
        ORDER BY cpu_hours DESC NULLS LAST, jobs DESC, user
    ",
    columns: &[
        Column {
            name: "user",
            heading: "User",
            unit: Unit::Label,
            meaning: "Who submitted; a dash where the scheduler no longer knows.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Attempts that ran in the period.",
        },
        Column {
            name: "cpu_hours",
            heading: "CPU hours",
            unit: Unit::Hours,
            meaning: "CPUs held, times the time.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours",
            unit: Unit::Hours,
            meaning: "GPUs held, times the time.",
        },
        Column {
            name: "memory_gib_hours",
            heading: "Memory GiB h",
            unit: Unit::GibibyteHours,
            meaning: "Memory asked for, times the time.",
        },
        Column {
            name: "wait_hours",
            heading: "Wait h",
            unit: Unit::Hours,
            meaning: "Mean time from eligible to start, over attempts that started in the period.",
        },
        Column {
            name: "cpu_efficiency",
            heading: "CPU %",
            unit: Unit::Percent,
            meaning: "CPU time used of CPU time held, over attempts where it was measured.",
        },
        Column {
            name: "memory_efficiency",
            heading: "Memory %",
            unit: Unit::Percent,
            meaning: "Largest memory used of memory asked for, weighted by memory and time, over attempts where it was measured.",
        },
    ],
    notes: USAGE_NOTES,
};
