//! How many GPU jobs wait, against how many GPUs are idle.

use report::Unit;

use super::{Analysis, Column, GPU_SEEN, PERCENTILES};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "queue-pressure",
    question: "How many jobs wait for GPUs, and how many GPUs are idle?",
    sql: "
        SELECT coalesce(waiting.cluster, idle.cluster) AS cluster,
               coalesce(waiting.model, idle.model) AS model,
               coalesce(waiting.jobs, 0) AS jobs,
               coalesce(waiting.job_seconds, 0) / $period_seconds AS waiting_jobs,
               coalesce(waiting.gpu_seconds, 0) / $period_seconds AS waiting_gpus,
               idle.seconds / $period_seconds AS idle_gpus,
               waiting.waited['median'] AS median,
               waiting.waited['p90'] AS p90,
               waiting.waited['highest'] AS longest
        FROM (
            SELECT cluster, model,
                   CAST(sum(tasks) AS BIGINT) AS jobs,
                   CAST(sum(job_seconds) AS DOUBLE) AS job_seconds,
                   CAST(sum(gpu_seconds) AS DOUBLE) AS gpu_seconds,
                   distribution(waited, 1) AS waited
            FROM (
                SELECT cluster, job_id, model,
                       max(tasks) AS tasks,
                       sum(exact(tasks * seconds)) AS job_seconds,
                       sum(exact(tasks * req_gpus * seconds)) AS gpu_seconds,
                       seconds_between(min(since_time), max(to_time)) AS waited
                FROM (
                    SELECT *, seconds_between(from_time, to_time) AS seconds
                    FROM (
                        SELECT cluster, job_id, req_gpus,
                               coalesce(tasks, 1) AS tasks,
                               coalesce(
                                   device_of(regexp_replace(gpu_types, '=[0-9]+', '', 'g'))['name'],
                                   'any'
                               ) AS model,
                               coalesce(eligible_time, submit_time, start_time) AS since_time,
                               greatest(start_time, $start) AS from_time,
                               least(end_time, $known_end) AS to_time
                        FROM queue_span
                        WHERE req_gpus > 0
                          AND state <> 'HELD'
                          AND coalesce(reason, '') NOT ILIKE '%held%'
                          AND coalesce(reason, '') <> 'JobHoldMaxRequeue'
                          AND start_time < $known_end
                          AND end_time > $start
                    )
                )
                GROUP BY cluster, job_id, model
            )
            GROUP BY cluster, model
        ) AS waiting
        FULL JOIN (
            SELECT cluster,
                   CASE WHEN grouping(device) = 1 THEN 'any' ELSE device END AS model,
                   CAST(coalesce(sum(exact(seconds)) FILTER (WHERE state = 'idle'), 0) AS DOUBLE)
                       AS seconds
            FROM gpu_use
            GROUP BY GROUPING SETS ((cluster), (cluster, device))
        ) AS idle ON idle.cluster = waiting.cluster AND idle.model = waiting.model
        ORDER BY cluster, waiting_gpus DESC, idle_gpus DESC NULLS LAST, model
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "model",
            heading: "Model",
            unit: Unit::Label,
            meaning: "The model that jobs ask for; `any` is jobs that name none, and all GPUs of the cluster.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Jobs that were seen waiting, each task of an array counted.",
        },
        Column {
            name: "waiting_jobs",
            heading: "Waiting jobs",
            unit: Unit::Average,
            meaning: "Jobs that waited, on average over the period.",
        },
        Column {
            name: "waiting_gpus",
            heading: "Waiting GPUs",
            unit: Unit::Average,
            meaning: "GPUs that they asked for, on average.",
        },
        Column {
            name: "idle_gpus",
            heading: "Idle GPUs",
            unit: Unit::Average,
            meaning: "GPUs of the model that nobody held and that jobs could take, on average; a dash where none of that name was seen.",
        },
        Column {
            name: "median",
            heading: "Median wait",
            unit: Unit::Duration,
            meaning: "Half of them had not waited longer when they were last seen waiting.",
        },
        Column {
            name: "p90",
            heading: "90 %",
            unit: Unit::Duration,
            meaning: "Nine of ten had not waited longer.",
        },
        Column {
            name: "longest",
            heading: "Longest",
            unit: Unit::Duration,
            meaning: "The longest wait.",
        },
    ],
    notes: &[
        "A wait is from when a job could start (or else from its submission) until it was last seen waiting in the period. Jobs on hold wait for people, not for GPUs, and are left out.",
        GPU_SEEN,
        PERCENTILES,
    ],
    options: &[],
    drawn: None,
};
