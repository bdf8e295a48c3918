//! What waiting jobs could use of allocations.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "allocation_committed",
    meaning: "what a job that waited at the end of the period, or waits now, asks for of an \
              allocation that has not ended: all of its tasks, for as long as each may take. \
              Unknown where the job has no time limit",
    sql: concat!(
        "
        SELECT cluster, allocation, job_id, user, account, seconds
        FROM (",
        allocation_amount!(
            "(
                    SELECT cluster, allocation.allocation, measure, job_id, user, account, gpu_types,
                           run_seconds,
                           CASE WHEN req_gpus = 0 THEN 0.0 ELSE req_gpus * run_seconds END
                               AS gpu_seconds,
                           req_cpus * run_seconds AS cpu_seconds,
                           req_nodes * run_seconds AS node_seconds
                    FROM (
                        SELECT cluster,
                               unnest(allocations_of(cluster, user, account)) AS name,
                               job_id, user, account, gpu_types,
                               req_gpus, req_cpus, req_nodes,
                               coalesce(tasks, 1) * CAST(time_limit_seconds AS DOUBLE)
                                   AS run_seconds
                        FROM queue_span
                        WHERE start_time < $known_end AND end_time >= $known_end
                    ) AS waiting
                    JOIN allocation ON allocation.allocation = waiting.name
                    WHERE allocation.end_time > $known_end
                )"
        ),
        ")
    "
    ),
};
