//! How much of the time each node was in service.

use report::Unit;

use super::{Analysis, Column, NODE};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "node-availability",
    question: "How much of the time was each node in service?",
    sql: "
        SELECT cluster,
               node,
               100 * sum(CASE WHEN away IS NULL THEN seconds ELSE 0 END)
                   / nullif(sum(seconds), 0) AS available,
               CAST(sum(seconds) AS DOUBLE) / 3600 AS seen_hours,
               CAST(sum(CASE WHEN away IS NOT NULL THEN seconds ELSE 0 END) AS DOUBLE) / 3600
                   AS away_hours,
               CASE WHEN count(CASE WHEN away IS NOT NULL THEN 1 END) =
                         count(CASE WHEN away IS NOT NULL THEN free_gpu_seconds END)
                    THEN CAST(sum(CASE WHEN away IS NULL THEN 0
                                       ELSE free_gpu_seconds END) AS DOUBLE) / 3600
               END AS gpu_hours,
               sum(CASE WHEN part > 1 AND is_departure THEN 1 ELSE 0 END) AS departures,
               sum(CASE WHEN part > 1 AND is_failure THEN 1 ELSE 0 END) AS failures,
               sum(CASE WHEN part > 1 AND part < parts AND away IS NULL AND seconds < 3600
                        THEN 1 ELSE 0 END) AS flaps,
               CAST(sum(CASE WHEN away IS NULL THEN seconds ELSE 0 END) AS DOUBLE) / 3600
                   / nullif(sum(CASE WHEN part > 1 AND is_failure THEN 1 ELSE 0 END), 0)
                   AS hours_between_failures
        FROM (
            SELECT *,
                   away IS NOT NULL
                       AND lag(away) OVER (PARTITION BY cluster, node ORDER BY part) IS NULL
                       AS is_departure,
                   away IN ('down', 'fail', 'not_responding')
                       AND coalesce(
                           lag(away) OVER (PARTITION BY cluster, node ORDER BY part)
                               NOT IN ('down', 'fail', 'not_responding'),
                           true
                       ) AS is_failure
            FROM node_service
            WHERE $node IS NULL OR node = $node
        )
        GROUP BY cluster, node
        ORDER BY available, away_hours DESC, cluster, node
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "node", heading: "Node", unit: Unit::Label, meaning: "The node." },
        Column {
            name: "available",
            heading: "In service %",
            unit: Unit::Percent,
            meaning: "Of the time in which it was seen, the share in which a job could have started on it if there was room.",
        },
        Column {
            name: "seen_hours",
            heading: "Seen h",
            unit: Unit::Hours,
            meaning: "The time in which it was seen.",
        },
        Column {
            name: "away_hours",
            heading: "Away h",
            unit: Unit::Hours,
            meaning: "The part of it in which no job could start.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours lost",
            unit: Unit::Hours,
            meaning: "GPUs that no job held meanwhile, times the time; a dash where it is not known whether one did.",
        },
        Column {
            name: "departures",
            heading: "Went away",
            unit: Unit::Count,
            meaning: "How often it went out of service in the period.",
        },
        Column {
            name: "failures",
            heading: "Failed",
            unit: Unit::Count,
            meaning: "How often it was then down, failing or not responding, rather than taken out.",
        },
        Column {
            name: "flaps",
            heading: "Flapped",
            unit: Unit::Count,
            meaning: "How often it came back and was away again within an hour.",
        },
        Column {
            name: "hours_between_failures",
            heading: "Between failures h",
            unit: Unit::Hours,
            meaning: "Its time in service by its failures; a dash without a failure.",
        },
    ],
    notes: &[
        "A node that is reserved, planned or powered down to save energy is in service.",
        "Time in which nobody looked is not counted.",
    ],
    options: &[NODE],
    drawn: None,
};
