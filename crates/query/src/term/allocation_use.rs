//! What was used of allocations on each day.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "allocation_use",
    meaning: "what attempts used of an allocation on one day of it, in seconds of what it is \
              measured in; an attempt counts once in each allocation that it falls under. Where \
              is_unknown, a model has no weight",
    sql: concat!(
        "
        SELECT allocation, day_start AS start_time, seconds, is_unknown
        FROM (",
        allocation_amount!(
            "(
                    SELECT allocation.allocation, measure, day_start, gpu_types, run_seconds,
                           gpu_seconds, cpu_seconds,
                           CAST(NULL AS DOUBLE) AS node_seconds
                    FROM (
                        SELECT unnest(allocations_of(cluster, user, account)) AS name,
                               start_time AS day_start,
                               gpu_types, run_seconds, gpu_seconds, cpu_seconds
                        FROM usage
                    ) AS used
                    JOIN allocation ON allocation.allocation = used.name
                    WHERE measure <> 'node'
                      AND day_start >= allocation.start_time
                      AND day_start < allocation.end_time
                )"
        ),
        ")
        UNION ALL
        SELECT allocation.allocation,
               day.start_time,
               alloc_nodes * run_rate * seconds_between(
                   greatest(from_time, day.start_time),
                   greatest(from_time, least(to_time, day.end_time))
               ) AS seconds,
               false AS is_unknown
        FROM (
            SELECT name, unnest(days_touched(from_time, to_time)) AS day_date,
                   alloc_nodes, run_rate, from_time, to_time
            FROM (
                SELECT unnest(allocations_of(cluster, user, account)) AS name,
                       alloc_nodes, run_rate, from_time, to_time
                FROM job_run
                WHERE $counts_nodes
            )
        ) AS run
        JOIN day ON day.date = run.day_date
        JOIN allocation ON allocation.allocation = run.name
        WHERE measure = 'node'
          AND day.start_time >= allocation.start_time
          AND day.start_time < allocation.end_time
    "
    ),
};
