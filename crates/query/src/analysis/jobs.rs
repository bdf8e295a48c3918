//! The jobs themselves, some at a time.

use report::Unit;

use super::{ACCOUNT, Analysis, AnalysisOption, Column, GROUP, NODE, PARTITION, USER, Values, by};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "jobs",
    question: "Which jobs were there?",
    sql: concat!(
        "
        SELECT cluster, job_id, user, account, job_name, partition, state, attempts, submit_time,
               wait_seconds, elapsed_seconds, cpus, gpus, cpu_hours, gpu_hours, cpu_efficiency,
               memory_efficiency, gpu_utilization
        FROM (
            SELECT $columns
            FROM job
            WHERE submit_time < $known_end
              AND (end_time >= $start
                   OR (end_time IS NULL AND (observed_time >= $start OR NOT is_complete)))
              AND ($state IS NULL OR state = upper($state))
              AND ($name IS NULL OR strpos(job_name, $name) > 0)
              AND ($node IS NULL OR array_has(nodes_of(node_list), $node))
              AND ",
        chosen!(),
        "
            $together
        )
        ORDER BY $sort, cluster, job_id, submit_time DESC, attempt DESC
        LIMIT $rows OFFSET ($page - 1) * $rows
    "
    ),
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "job_id",
            heading: "Job",
            unit: Unit::Label,
            meaning: "The job, as its scheduler names it; with arrays=together, the array.",
        },
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Who submitted it." },
        Column {
            name: "account",
            heading: "Account",
            unit: Unit::Label,
            meaning: "What it is charged to.",
        },
        Column {
            name: "job_name",
            heading: "Name",
            unit: Unit::Label,
            meaning: "The name that the user gave it.",
        },
        Column {
            name: "partition",
            heading: "Partition",
            unit: Unit::Label,
            meaning: "Where it was submitted to; HTCondor has none.",
        },
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "The scheduler's word; of several, all of them.",
        },
        Column {
            name: "attempts",
            heading: "Attempts",
            unit: Unit::Count,
            meaning: "How many attempts the row stands for.",
        },
        Column {
            name: "submit_time",
            heading: "Submitted",
            unit: Unit::Time,
            meaning: "When it entered the queue; of several, the first.",
        },
        Column {
            name: "wait_seconds",
            heading: "Wait",
            unit: Unit::Duration,
            meaning: "From eligible to start; of several, the longest.",
        },
        Column {
            name: "elapsed_seconds",
            heading: "Ran",
            unit: Unit::Duration,
            meaning: "How long it ran; of several, the sum.",
        },
        Column {
            name: "cpus",
            heading: "CPUs",
            unit: Unit::Count,
            meaning: "CPUs that it held, or else asked for; of several, the most.",
        },
        Column { name: "gpus", heading: "GPUs", unit: Unit::Count, meaning: "GPUs, likewise." },
        Column {
            name: "cpu_hours",
            heading: "CPU hours",
            unit: Unit::Hours,
            meaning: "CPUs times the time it ran.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours",
            unit: Unit::Hours,
            meaning: "GPUs times the time it ran.",
        },
        Column {
            name: "cpu_efficiency",
            heading: "CPU eff. %",
            unit: Unit::Percent,
            meaning: "CPU time used of CPU time held.",
        },
        Column {
            name: "memory_efficiency",
            heading: "Memory eff. %",
            unit: Unit::Percent,
            meaning: "Largest memory used of memory asked for; of several, weighted by memory and time.",
        },
        Column {
            name: "gpu_utilization",
            heading: "GPU util. %",
            unit: Unit::Percent,
            meaning: "Measured use of its GPUs; of several, weighted by GPU hours.",
        },
    ],
    notes: &[
        "Attempts that waited, ran or ended in the period, each with the whole of its run.",
        "A dash is what is not known: of an attempt that waits or runs, its use.",
    ],
    options: &[
        USER,
        GROUP,
        ACCOUNT,
        PARTITION,
        AnalysisOption {
            name: "state",
            meaning: "Only those in this state, such as FAILED, in any case of letters",
            values: Values::Filter,
        },
        AnalysisOption {
            name: "name",
            meaning: "Only those with this in their name",
            values: Values::Filter,
        },
        NODE,
        AnalysisOption {
            name: "arrays",
            meaning: "Whether tasks of an array, and attempts of a job, have each a row, or one together",
            values: Values::OneOf(&[
                by("each", &[("$columns", EACH), ("$together", "")], ""),
                by(
                    "together",
                    &[
                        ("$columns", TOGETHER),
                        ("$together", "GROUP BY cluster, coalesce(array_job_id, job_id)"),
                    ],
                    "",
                ),
            ]),
        },
        AnalysisOption {
            name: "sort",
            meaning: "What comes first",
            values: Values::OneOf(&[
                by("newest", &[("$sort", "submit_time DESC")], ""),
                by("oldest", &[("$sort", "submit_time")], ""),
                by("wait", &[("$sort", "wait_seconds DESC NULLS LAST")], ""),
                by("time", &[("$sort", "elapsed_seconds DESC NULLS LAST")], ""),
                by("cpu-hours", &[("$sort", "cpu_hours DESC NULLS LAST")], ""),
                by("gpu-hours", &[("$sort", "gpu_hours DESC NULLS LAST")], ""),
                by("cpu-efficiency", &[("$sort", "cpu_efficiency NULLS LAST")], ""),
            ]),
        },
        AnalysisOption {
            name: "rows",
            meaning: "How many rows to give",
            values: Values::Number("50"),
        },
        AnalysisOption {
            name: "page",
            meaning: "Which of the pages of so many rows",
            values: Values::Number("1"),
        },
    ],
    drawn: None,
};

const EACH: &str = "cluster, job_id, user, account, job_name, partition, state, 1 AS attempts, \
    submit_time, attempt, \
    CASE WHEN eligible_time <= start_time \
         THEN seconds_between(eligible_time, start_time) END AS wait_seconds, \
    elapsed_seconds, \
    coalesce(alloc_cpus, req_cpus) AS cpus, \
    coalesce(alloc_gpus, req_gpus) AS gpus, \
    cpu_hours_reserved AS cpu_hours, \
    gpu_hours_reserved AS gpu_hours, \
    cpu_efficiency, memory_efficiency, gpu_utilization";

const TOGETHER: &str = "cluster, coalesce(array_job_id, job_id) AS job_id, \
    max(user) AS user, max(account) AS account, max(job_name) AS job_name, \
    max(partition) AS partition, \
    string_agg(DISTINCT state, ', ' ORDER BY state) AS state, \
    count(*) AS attempts, min(submit_time) AS submit_time, max(attempt) AS attempt, \
    max(CASE WHEN eligible_time <= start_time \
             THEN seconds_between(eligible_time, start_time) END) AS wait_seconds, \
    sum(elapsed_seconds) AS elapsed_seconds, \
    max(coalesce(alloc_cpus, req_cpus)) AS cpus, \
    max(coalesce(alloc_gpus, req_gpus)) AS gpus, \
    CAST(sum(exact(cpu_hours_reserved)) AS DOUBLE) AS cpu_hours, \
    CAST(sum(exact(gpu_hours_reserved)) AS DOUBLE) AS gpu_hours, \
    CAST(sum(exact(cpu_efficiency * cpu_hours_reserved)) AS DOUBLE) \
        / nullif(CAST(sum(exact(CASE WHEN cpu_efficiency IS NOT NULL \
                                     THEN cpu_hours_reserved END)) AS DOUBLE), 0) \
        AS cpu_efficiency, \
    CAST(sum(exact(memory_efficiency * memory_gb_hours_reserved)) AS DOUBLE) \
        / nullif(CAST(sum(exact(CASE WHEN memory_efficiency IS NOT NULL \
                                     THEN memory_gb_hours_reserved END)) AS DOUBLE), 0) \
        AS memory_efficiency, \
    CAST(sum(exact(gpu_utilization * gpu_hours_reserved)) AS DOUBLE) \
        / nullif(CAST(sum(exact(CASE WHEN gpu_utilization IS NOT NULL \
                                     THEN gpu_hours_reserved END)) AS DOUBLE), 0) \
        AS gpu_utilization";
