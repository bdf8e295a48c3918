//! What running attempts have used of allocations so far.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "allocation_in_flight",
    meaning: "what an attempt that had not ended by the end of the period, or by now, had used of an \
              allocation until then; it is a part of allocation_use",
    sql: concat!(
        "
        SELECT cluster, allocation, job_id, user, account, seconds, is_unknown
        FROM (",
        allocation_amount!(
            "(
                    SELECT *,
                           alloc_gpus * run_seconds AS gpu_seconds,
                           alloc_cpus * run_seconds AS cpu_seconds,
                           alloc_nodes * run_seconds AS node_seconds
                    FROM (
                        SELECT cluster, allocation.allocation, measure, job_id, user, account,
                               gpu_types, alloc_gpus, alloc_cpus, alloc_nodes,
                               run_rate * seconds_between(
                                   greatest(from_time, allocation.start_time),
                                   least(to_time, allocation.end_time)
                               ) AS run_seconds
                        FROM (
                            SELECT cluster,
                                   unnest(allocations_of(cluster, user, account)) AS name,
                                   job_id, user, account, gpu_types, alloc_gpus,
                                   alloc_cpus, alloc_nodes, run_rate, from_time, to_time
                            FROM job_run
                            WHERE end_time IS NULL OR end_time > $known_end
                        ) AS run
                        JOIN allocation ON allocation.allocation = run.name
                        WHERE from_time < allocation.end_time AND to_time > allocation.start_time
                    )
                )"
        ),
        ")
    "
    ),
};
