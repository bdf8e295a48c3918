//! How well completed jobs used what they held.

use report::Unit;

use super::{Analysis, Column, PERCENTILES};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "efficiency",
    question: "How well did completed jobs use what they held?",
    // Each array has a measure a place, so that the jobs are read once.
    sql: "
        SELECT measure,
               jobs,
               measured,
               CAST(efficiency_sum AS DOUBLE) / nullif(measured, 0) AS mean,
               CAST(weighted_sum AS DOUBLE) / nullif(CAST(weight AS DOUBLE), 0) AS weighted_mean,
               efficiency_distribution['median'] AS median,
               lowest,
               highest
        FROM (
            SELECT unnest([1, 2, 3]) AS place,
                   unnest(['CPU', 'memory', 'GPU']) AS measure,
                   unnest([jobs, jobs, gpu_jobs]) AS jobs,
                   unnest([cpu_measured, memory_measured, gpu_measured]) AS measured,
                   unnest([cpu_sum, memory_sum, gpu_sum]) AS efficiency_sum,
                   unnest([cpu_weighted, memory_weighted, gpu_weighted]) AS weighted_sum,
                   unnest([cpu_weight, memory_weight, gpu_weight]) AS weight,
                   unnest([cpu_distribution, memory_distribution, gpu_distribution])
                       AS efficiency_distribution,
                   unnest([cpu_lowest, memory_lowest, gpu_lowest]) AS lowest,
                   unnest([cpu_highest, memory_highest, gpu_highest]) AS highest
            FROM (
                SELECT count(*) AS jobs,
                       count(CASE WHEN alloc_gpus > 0 THEN 1 END) AS gpu_jobs,
                       count(cpu_efficiency) AS cpu_measured,
                       count(memory_efficiency) AS memory_measured,
                       count(gpu_utilization) AS gpu_measured,
                       sum(exact(cpu_efficiency)) AS cpu_sum,
                       sum(exact(memory_efficiency)) AS memory_sum,
                       sum(exact(gpu_utilization)) AS gpu_sum,
                       sum(exact(cpu_efficiency * cpu_hours_reserved)) AS cpu_weighted,
                       sum(exact(memory_efficiency * memory_gb_hours_reserved)) AS memory_weighted,
                       sum(exact(gpu_utilization * gpu_hours_reserved)) AS gpu_weighted,
                       sum(exact(CASE WHEN cpu_efficiency IS NOT NULL THEN cpu_hours_reserved END))
                           AS cpu_weight,
                       sum(exact(CASE WHEN memory_efficiency IS NOT NULL THEN memory_gb_hours_reserved END))
                           AS memory_weight,
                       sum(exact(CASE WHEN gpu_utilization IS NOT NULL THEN gpu_hours_reserved END))
                           AS gpu_weight,
                       distribution(cpu_efficiency) AS cpu_distribution,
                       distribution(memory_efficiency) AS memory_distribution,
                       distribution(gpu_utilization) AS gpu_distribution,
                       min(cpu_efficiency) AS cpu_lowest,
                       min(memory_efficiency) AS memory_lowest,
                       min(gpu_utilization) AS gpu_lowest,
                       max(cpu_efficiency) AS cpu_highest,
                       max(memory_efficiency) AS memory_highest,
                       max(gpu_utilization) AS gpu_highest
                FROM job_ended
                WHERE state = 'COMPLETED'
            )
        )
        WHERE jobs > 0
        ORDER BY place
    ",
    columns: &[
        Column { name: "measure", heading: "Measure", unit: Unit::Label, meaning: "What was held: CPUs, memory or GPUs." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Attempts that completed in the period; of GPUs, those that held any." },
        Column { name: "measured", heading: "Measured", unit: Unit::Count, meaning: "Those of them whose use was measured; the rest of the row is over these." },
        Column { name: "mean", heading: "Mean %", unit: Unit::Percent, meaning: "Mean efficiency, every attempt counting once." },
        Column { name: "weighted_mean", heading: "Weighted mean %", unit: Unit::Percent, meaning: "Mean efficiency, every attempt counting for the CPU hours, memory GiB hours or GPU hours that it held." },
        Column { name: "median", heading: "Median %", unit: Unit::Percent, meaning: "Half of the attempts do not exceed it." },
        Column { name: "lowest", heading: "Lowest %", unit: Unit::Percent, meaning: "The least efficient attempt." },
        Column { name: "highest", heading: "Highest %", unit: Unit::Percent, meaning: "The most efficient attempt." },
    ],
    notes: &[
        "Of attempts that ended COMPLETED in the period, each with the whole of its run.",
        "CPU: CPU time used of CPU time held. Memory: largest memory used of memory asked for. GPU: measured use, on average over the attempt's GPUs.",
        PERCENTILES,
    ],
};
