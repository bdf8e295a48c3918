//! Who used how much, and how well.

use report::Unit;

use super::{Analysis, Column, RUNNING_JOBS};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "usage-by-user",
    question: "Who used how much, and how well?",
    sql: "
        SELECT user,
               jobs,
               CAST(cpu_seconds AS DOUBLE) / 3600 AS cpu_hours,
               CAST(gpu_seconds AS DOUBLE) / 3600 AS gpu_hours,
               CAST(memory_mib_seconds AS DOUBLE) / 1024 / 3600 AS memory_gib_hours,
               100 * CAST(cpu_seconds_used AS DOUBLE)
                   / nullif(CAST(cpu_seconds_measured AS DOUBLE), 0) AS cpu_efficiency,
               100 * CAST(memory_used AS DOUBLE)
                   / nullif(CAST(memory_measured AS DOUBLE), 0) AS memory_efficiency
        FROM (
            SELECT user,
                   count(*) AS jobs,
                   sum(exact(alloc_cpus * run_seconds)) AS cpu_seconds,
                   sum(exact(alloc_gpus * run_seconds)) AS gpu_seconds,
                   sum(exact(req_mem_mb * run_seconds)) AS memory_mib_seconds,
                   sum(exact(total_cpu_seconds * run_ratio)) AS cpu_seconds_used,
                   sum(exact(CASE WHEN total_cpu_seconds IS NOT NULL THEN alloc_cpus * run_seconds END))
                       AS cpu_seconds_measured,
                   sum(exact(CASE WHEN req_mem_mb IS NOT NULL THEN max_rss_mb * run_seconds END))
                       AS memory_used,
                   sum(exact(CASE WHEN max_rss_mb IS NOT NULL THEN req_mem_mb * run_seconds END))
                       AS memory_measured
            FROM job_run
            GROUP BY user
        )
        ORDER BY cpu_hours DESC NULLS LAST, jobs DESC, user
    ",
    columns: &[
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Who submitted; a dash where the scheduler no longer knows." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Attempts that ran in the period." },
        Column { name: "cpu_hours", heading: "CPU hours", unit: Unit::Hours, meaning: "CPUs held, times the time." },
        Column { name: "gpu_hours", heading: "GPU hours", unit: Unit::Hours, meaning: "GPUs held, times the time." },
        Column { name: "memory_gib_hours", heading: "Memory GiB h", unit: Unit::GibibyteHours, meaning: "Memory asked for, times the time." },
        Column { name: "cpu_efficiency", heading: "CPU %", unit: Unit::Percent, meaning: "CPU time used of CPU time held, over attempts where it was measured." },
        Column { name: "memory_efficiency", heading: "Memory %", unit: Unit::Percent, meaning: "Largest memory used of memory asked for, weighted by memory and time, over attempts where it was measured." },
    ],
    notes: &[
        RUNNING_JOBS,
        "Efficiency is over the attempts where use was measured; a dash means that none was.",
    ],
};
