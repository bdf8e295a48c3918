//! What attempts held on each node on each day, added up.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "usage_of_node",
    meaning: "what attempts held on one node on one day of the period, one over several nodes an \
              equal part on each: jobs counts each attempt once in the period",
    sql: "
        SELECT cluster, start_time, node,
               started + CASE WHEN start_time <= $start THEN carried ELSE 0 END AS jobs,
               cpu_seconds,
               gpu_seconds
        FROM internal.summed_node_day
        WHERE start_time >= $first_day AND start_time < $last_day
        UNION ALL
        SELECT cluster, start_time, node, jobs,
               alloc_cpus * run_seconds / nodes AS cpu_seconds,
               alloc_gpus * run_seconds / nodes AS gpu_seconds
        FROM (
            SELECT cluster, day_start AS start_time, alloc_cpus, alloc_gpus, run_seconds,
                   CASE WHEN is_start OR day_start <= $start THEN 1 ELSE 0 END AS jobs,
                   cardinality(nodes_of(node_list)) AS nodes,
                   unnest(nodes_of(node_list)) AS node
            FROM internal.job_piece
        )
    ",
};
