//! How long jobs waited.

use report::Unit;

use super::{Analysis, Column, PERCENTILES, WHOSE};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "wait",
    question: "How long did jobs wait to start?",
    sql: concat!(
        "
        SELECT cluster,
               partition,
               CASE WHEN is_whole = 1 THEN 'all' ELSE gpu_model END AS gpu_model,
               CASE WHEN is_whole = 1 THEN 'all' ELSE size END AS size,
               jobs,
               waited['median'] AS median,
               waited['p90'] AS p90,
               waited['p95'] AS p95,
               waited['highest'] AS longest,
               waited['mean'] AS mean,
               CASE WHEN NOT is_of_pool THEN waiting END AS waiting
        FROM (
            SELECT cluster,
                   partition,
                   gpu_model,
                   size,
                   grouping(size) AS is_whole,
                   count(CASE WHEN NOT is_waiting THEN 1 END) AS jobs,
                   count(CASE WHEN is_waiting THEN 1 END) AS waiting,
                   bool_or(source IN ('condor_history', 'condor_q', 'elasticsearch')) AS is_of_pool,
                   distribution(wait_seconds, 1) AS waited,
                   min(gpus) AS least_gpus,
                   min(cpus) AS least_cpus
            FROM job_wait
            WHERE ",
        chosen!(),
        "
            GROUP BY GROUPING SETS ((cluster, partition), (cluster, partition, gpu_model, size))
        )
        ORDER BY cluster, partition, is_whole DESC, gpu_model, least_gpus, least_cpus, size
    "
    ),
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "partition",
            heading: "Partition",
            unit: Unit::Label,
            meaning: "Where it was submitted to; HTCondor has none.",
        },
        Column {
            name: "gpu_model",
            heading: "GPU model",
            unit: Unit::Label,
            meaning: "The GPUs that it got; `none` without any, a dash where it is not known, `all` in a partition's own row.",
        },
        Column {
            name: "size",
            heading: "Size",
            unit: Unit::Label,
            meaning: "By its GPUs, or by its CPUs if it has none; `all` in a partition's own row.",
        },
        Column {
            name: "jobs",
            heading: "Started",
            unit: Unit::Count,
            meaning: "Attempts that started in the period.",
        },
        Column {
            name: "median",
            heading: "Median",
            unit: Unit::Duration,
            meaning: "Half of them did not wait longer.",
        },
        Column {
            name: "p90",
            heading: "90 %",
            unit: Unit::Duration,
            meaning: "Nine of ten did not wait longer.",
        },
        Column {
            name: "p95",
            heading: "95 %",
            unit: Unit::Duration,
            meaning: "Nineteen of twenty did not wait longer.",
        },
        Column {
            name: "longest",
            heading: "Longest",
            unit: Unit::Duration,
            meaning: "The longest wait.",
        },
        Column { name: "mean", heading: "Mean", unit: Unit::Duration, meaning: "The mean wait." },
        Column {
            name: "waiting",
            heading: "Still waiting",
            unit: Unit::Count,
            meaning: "Attempts that were eligible and had not started at the period's end, as far as is known; their wait is in none of the other columns. A dash in HTCondor, whose waiting jobs are in the report `queue-pressure`.",
        },
    ],
    notes: &[
        "A wait is from when a job is eligible to its start. In HTCondor it begins at the job's submission, and for a later execution at the end of the one before. It is unknown for jobs that were ever on hold, because the history does not have the time of their release.",
        "Only attempts that started in the period have a wait here; where many are still waiting, waits are longer than these. An array whose tasks wait together counts once among them, and what GPUs a waiting job will get is not known.",
        PERCENTILES,
    ],
    options: WHOSE,
    drawn: None,
};
