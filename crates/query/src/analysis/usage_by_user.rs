//! Who used how much, and how well.

use report::Unit;

use super::{Analysis, Column, RUNNING_JOBS};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "usage-by-user",
    question: "Who used how much, and how well?",
    sql: "
        SELECT user,
               count(*) AS jobs,
               sum(alloc_cpus * run_seconds) / 3600 AS cpu_hours,
               sum(alloc_gpus * run_seconds) / 3600 AS gpu_hours,
               sum(req_mem_mb * run_seconds) / 1024 / 3600 AS memory_gib_hours,
               100 * sum(total_cpu_seconds * run_ratio)
                   / nullif(sum(CASE WHEN total_cpu_seconds IS NOT NULL THEN alloc_cpus * run_seconds END), 0)
                   AS cpu_efficiency,
               100 * sum(CASE WHEN req_mem_mb IS NOT NULL THEN max_rss_mb * run_seconds END)
                   / nullif(sum(CASE WHEN max_rss_mb IS NOT NULL THEN req_mem_mb * run_seconds END), 0)
                   AS memory_efficiency
        FROM job_run
        GROUP BY user
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
