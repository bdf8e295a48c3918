//! What is not sure about what GPUs were seen to do.

use report::Unit;

use super::{Analysis, Column};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-doubts",
    question: "What is not sure about the GPUs?",
    sql: "
        SELECT cluster, doubt,
               count(DISTINCT machine) AS machines,
               count(DISTINCT machine || ' ' || gpu_id) AS gpus,
               CAST(sum(exact(seconds)) AS DOUBLE) / 3600 AS gpu_hours
        FROM (
            SELECT *,
                   unnest(make_array(
                       'both sides claimed',
                       'no primary slot seen',
                       'owner never said',
                       'model unknown'
                   )) AS doubt
            FROM (
                SELECT *,
                       bool_or(machine_projects IS NOT NULL) OVER (PARTITION BY cluster) AS is_said
                FROM gpu_use
            )
        )
        WHERE CASE doubt
                  WHEN 'both sides claimed' THEN backfill_use = 'conflict'
                  WHEN 'no primary slot seen' THEN primary_use = 'unknown'
                  WHEN 'owner never said' THEN is_said AND machine_projects IS NULL
                  ELSE device IS NULL
              END
        GROUP BY cluster, doubt
        ORDER BY cluster, doubt
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "doubt",
            heading: "Doubt",
            unit: Unit::Label,
            meaning: "What is not sure, see below.",
        },
        Column {
            name: "machines",
            heading: "Machines",
            unit: Unit::Count,
            meaning: "Machines that it concerns.",
        },
        Column {
            name: "gpus",
            heading: "GPUs",
            unit: Unit::Count,
            meaning: "GPUs that it concerns.",
        },
        Column {
            name: "gpu_hours",
            heading: "GPU hours",
            unit: Unit::Hours,
            meaning: "For how long.",
        },
    ],
    notes: &[
        "both sides claimed: the GPU counts for the primary side alone. no primary slot seen: only its backfill slot was; what the owner did with it is unknown. owner never said: other machines of the cluster say which projects come first on them, this one does not, and counts as open capacity. model unknown: no slot named it.",
    ],
    options: &[],
    drawn: None,
};
