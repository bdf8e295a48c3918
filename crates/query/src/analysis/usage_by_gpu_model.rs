//! Which GPU model was used how much.

use report::Unit;

use super::{Analysis, Column, GPU_HOURS_DRAWN, RUNNING_JOBS, amounts};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "usage-by-gpu-model",
    question: "Which GPU model was used how much?",
    sql: "
        SELECT gpu_model,
               sum(jobs) AS jobs,
               count(DISTINCT user) AS users,
               CAST(sum(exact(gpu_seconds)) AS DOUBLE) / 3600 AS gpu_hours,
               100 * CAST(sum(exact(gpu_seconds)) AS DOUBLE)
                   / nullif(CAST(sum(sum(exact(gpu_seconds))) OVER () AS DOUBLE), 0) AS share,
               CAST(sum(exact(wait_seconds)) AS DOUBLE) / nullif(sum(waited), 0) / 3600
                   AS wait_hours
        FROM (
            SELECT gpu['model'] AS gpu_model, user, jobs, waited, wait_seconds,
                   gpu['count'] * run_seconds AS gpu_seconds
            FROM (
                SELECT user, jobs, waited, wait_seconds, run_seconds,
                       unnest(gpus_of(gpu_types)) AS gpu
                FROM usage
                WHERE gpu_types IS NOT NULL
            )
            UNION ALL
            SELECT NULL AS gpu_model, user, jobs, waited, wait_seconds, gpu_seconds
            FROM usage
            WHERE gpu_types IS NULL AND gpu_seconds > 0
        )
        GROUP BY gpu_model
        ORDER BY gpu_hours DESC NULLS LAST, gpu_model
    ",
    columns: &[
        Column {
            name: "gpu_model",
            heading: "GPU model",
            unit: Unit::Label,
            meaning: "The model as the scheduler names it; a dash where it does not say.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Attempts that ran in the period; one with two models counts under each.",
        },
        Column {
            name: "users",
            heading: "Users",
            unit: Unit::Count,
            meaning: "Users whose attempts they were.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours",
            unit: Unit::Hours,
            meaning: "GPUs held, times the time.",
        },
        Column {
            name: "share",
            heading: "Share %",
            unit: Unit::Percent,
            meaning: "Of all GPU hours.",
        },
        Column {
            name: "wait_hours",
            heading: "Wait h",
            unit: Unit::Hours,
            meaning: "Mean time from eligible to start, over attempts that started in the period.",
        },
    ],
    notes: &[RUNNING_JOBS],
    options: &[],
    drawn: Some(amounts(&["gpu_model"], "GPU hours", &[GPU_HOURS_DRAWN])),
};
