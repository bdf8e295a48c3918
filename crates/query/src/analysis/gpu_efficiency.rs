//! How well GPUs were used, by user.

use report::Unit;

use super::{Analysis, Column, RUNNING_JOBS, WHOSE};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-efficiency",
    question: "How well did each user use their GPUs?",
    sql: concat!(
        "
        SELECT user,
               jobs,
               CAST(gpu_seconds AS DOUBLE) / 3600 AS gpu_hours,
               CAST(measured_gpu_seconds AS DOUBLE) / 3600 AS measured_gpu_hours,
               CAST(used_percent_seconds AS DOUBLE)
                   / nullif(CAST(measured_gpu_seconds AS DOUBLE), 0) AS gpu_utilization,
               (CAST(measured_gpu_seconds AS DOUBLE) - CAST(used_percent_seconds AS DOUBLE) / 100)
                   / 3600 AS unused_gpu_hours,
               gpu_memory_max_mb * 1024 * 1024 AS gpu_memory_max,
               sources
        FROM (
            SELECT user,
                   count(*) AS jobs,
                   sum(exact(alloc_gpus * run_seconds)) AS gpu_seconds,
                   sum(exact(CASE WHEN gpu_utilization IS NOT NULL THEN alloc_gpus * run_seconds END))
                       AS measured_gpu_seconds,
                   sum(exact(gpu_utilization * alloc_gpus * run_seconds)) AS used_percent_seconds,
                   max(gpu_memory_max_mb) AS gpu_memory_max_mb,
                   string_agg(DISTINCT gpu_usage_source, ', ' ORDER BY gpu_usage_source) AS sources
            FROM job_run
            WHERE alloc_gpus > 0 AND ",
        chosen!(),
        "
            GROUP BY user
        )
        ORDER BY gpu_hours DESC, jobs DESC, user
    "
    ),
    columns: &[
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Who submitted; a dash where the scheduler no longer knows." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Attempts with GPUs that ran in the period." },
        Column { name: "gpu_hours", heading: "GPU hours", unit: Unit::Hours, meaning: "GPUs held, times the time." },
        Column { name: "measured_gpu_hours", heading: "Measured GPU hours", unit: Unit::Hours, meaning: "Those of them whose use was measured." },
        Column { name: "gpu_utilization", heading: "GPU util. %", unit: Unit::Percent, meaning: "Measured use of the GPUs that were allocated, weighted by GPU hours." },
        Column { name: "unused_gpu_hours", heading: "Unused GPU hours", unit: Unit::Hours, meaning: "Measured GPU hours, less their use." },
        Column { name: "gpu_memory_max", heading: "Largest GPU memory", unit: Unit::Bytes, meaning: "Largest GPU memory that was measured of an attempt." },
        Column { name: "sources", heading: "Measured by", unit: Unit::Label, meaning: "Where the measured use comes from." },
    ],
    notes: &[
        RUNNING_JOBS,
        "Use is over the attempts where it was measured, as an average of the whole attempt; a dash means that none was. Attempts whose GPUs the scheduler does not account for are left out.",
    ],
    options: WHOSE,
    drawn: None,
};
