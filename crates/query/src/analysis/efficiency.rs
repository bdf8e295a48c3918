//! How well completed jobs used what they held.

use report::Unit;

use super::{Analysis, Column, PERCENTILES, WHOSE};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "efficiency",
    question: "How well did completed jobs use what they held?",
    // Each array has a measure a place, so that the jobs are read once.
    sql: concat!(
        "
        SELECT measure,
               jobs,
               efficiency['known'] AS measured,
               efficiency['mean'] AS mean,
               efficiency['weighted_mean'] AS weighted_mean,
               efficiency['median'] AS median,
               efficiency['lowest'] AS lowest,
               efficiency['highest'] AS highest
        FROM (
            SELECT unnest([1, 2, 3]) AS place,
                   unnest(['CPU', 'memory', 'GPU']) AS measure,
                   unnest([jobs, jobs, gpu_jobs]) AS jobs,
                   unnest([cpu, memory, gpu]) AS efficiency
            FROM (
                SELECT count(*) AS jobs,
                       count(CASE WHEN alloc_gpus > 0 THEN 1 END) AS gpu_jobs,
                       distribution(cpu_efficiency, alloc_cpus * elapsed_seconds) AS cpu,
                       distribution(memory_efficiency, req_mem_mb * elapsed_seconds) AS memory,
                       distribution(gpu_utilization, alloc_gpus * elapsed_seconds) AS gpu
                FROM job_ended
                WHERE state = 'COMPLETED' AND ",
        chosen!(),
        "
            )
        )
        WHERE jobs > 0
        ORDER BY place
    "
    ),
    columns: &[
        Column {
            name: "measure",
            heading: "Measure",
            unit: Unit::Label,
            meaning: "What was held: CPUs, memory or GPUs.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Attempts that completed in the period; of GPUs, those that held any.",
        },
        Column {
            name: "measured",
            heading: "Measured",
            unit: Unit::Count,
            meaning: "Those of them whose use was measured; the rest of the row is over these.",
        },
        Column {
            name: "mean",
            heading: "Mean %",
            unit: Unit::Percent,
            meaning: "Mean efficiency, every attempt counting once.",
        },
        Column {
            name: "weighted_mean",
            heading: "Weighted mean %",
            unit: Unit::Percent,
            meaning: "Mean efficiency, every attempt counting for the CPU hours, memory GiB hours or GPU hours that it held.",
        },
        Column {
            name: "median",
            heading: "Median %",
            unit: Unit::Percent,
            meaning: "Half of the attempts do not exceed it.",
        },
        Column {
            name: "lowest",
            heading: "Lowest %",
            unit: Unit::Percent,
            meaning: "The least efficient attempt.",
        },
        Column {
            name: "highest",
            heading: "Highest %",
            unit: Unit::Percent,
            meaning: "The most efficient attempt.",
        },
    ],
    notes: &[
        "Of attempts that ended COMPLETED in the period, each with the whole of its run.",
        "CPU: CPU time used of CPU time held. Memory: largest memory used of memory asked for. GPU: measured use, on average over the attempt's GPUs.",
        PERCENTILES,
    ],
    options: WHOSE,
    drawn: None,
};
