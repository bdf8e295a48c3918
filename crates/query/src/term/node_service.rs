//! When nodes were in service, and when not.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "node_service",
    meaning: "a part of the period in which a node was in service (away is unknown) or out of it \
              for one reason, however much of it jobs held; only time in which it was seen counts",
    // A new part begins where the node goes away, comes back or gets another reason. Time in which
    // nobody looked ends no part.
    sql: "
        WITH seen AS (
            SELECT cluster, node, gpus, alloc_gpus,
                   away(state) AS away,
                   CASE WHEN away(state) IS NOT NULL THEN reason END AS reason,
                   CASE WHEN away(state) IS NOT NULL THEN reason_user END AS reason_user,
                   greatest(start_time, $start) AS from_time,
                   least(end_time, $end) AS to_time
            FROM node_span
            WHERE start_time < $end AND end_time > $start
        ),
        beside AS (
            SELECT *,
                   lag(node) OVER (PARTITION BY cluster, node ORDER BY from_time) AS node_before,
                   lag(away) OVER (PARTITION BY cluster, node ORDER BY from_time) AS away_before,
                   lag(reason) OVER (PARTITION BY cluster, node ORDER BY from_time) AS reason_before
            FROM seen
        ),
        numbered AS (
            SELECT *,
                   sum(CASE WHEN (node_before IS NOT DISTINCT FROM node)
                             AND (away_before IS NOT DISTINCT FROM away)
                             AND (reason_before IS NOT DISTINCT FROM reason)
                            THEN 0 ELSE 1
                       END) OVER (
                       PARTITION BY cluster, node
                       ORDER BY from_time
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                   ) AS part,
                   seconds_between(from_time, to_time) AS seconds
            FROM beside
        ),
        parts AS (
            SELECT cluster, node, part, away, reason,
                   max(reason_user) AS reason_user,
                   min(from_time) AS from_time,
                   max(to_time) AS to_time,
                   sum(seconds) AS seconds,
                   CASE WHEN count(gpus - alloc_gpus) = count(*)
                        THEN sum((gpus - alloc_gpus) * seconds)
                   END AS free_gpu_seconds
            FROM numbered
            GROUP BY cluster, node, part, away, reason
        )
        SELECT *,
               max(part) OVER (PARTITION BY cluster, node) AS parts
        FROM parts
    ",
};
