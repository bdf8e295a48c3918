//! Which machines were used how much, and which not at all.

use report::Unit;

use super::{
    ALLOCATED_PERCENT, Alternative, Analysis, AnalysisOption, Column, DOWN, DRAINED, DRAINING,
    GPU_REASONS, GPU_SEEN, MAINTENANCE, PREVENTED, REBOOTING, Values,
};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-machines",
    question: "Which machines with GPUs were used how much, and which not at all?",
    sql: "
        SELECT cluster,
               by_value AS by,
               CASE WHEN owners = 1 THEN owner_class ELSE 'several' END AS owner_class,
               CASE WHEN devices > 1 THEN 'several' ELSE device END AS device,
               gpus,
               never_claimed,
               100 * claimed / nullif(seen, 0) AS allocated_percent,
               claimed / $period_seconds AS allocated,
               backfill / $period_seconds AS backfill,
               idle / $period_seconds AS idle,
               draining / $period_seconds AS draining,
               drained / $period_seconds AS drained,
               down / $period_seconds AS down,
               maintenance / $period_seconds AS maintenance,
               rebooting / $period_seconds AS rebooting,
               prevented / $period_seconds AS prevented,
               other / $period_seconds AS other,
               unknown / $period_seconds AS unknown
        FROM (
            SELECT cluster, $by AS by_value,
                   count(DISTINCT owner_class) AS owners,
                   max(owner_class) AS owner_class,
                   count(DISTINCT device) AS devices,
                   max(device) AS device,
                   count(*) AS gpus,
                   count(*) FILTER (WHERE claimed = 0) AS never_claimed,
                   CAST(sum(seen) AS DOUBLE) AS seen,
                   CAST(sum(claimed) AS DOUBLE) AS claimed,
                   CAST(sum(backfill) AS DOUBLE) AS backfill,
                   CAST(sum(idle) AS DOUBLE) AS idle,
                   CAST(sum(draining) AS DOUBLE) AS draining,
                   CAST(sum(drained) AS DOUBLE) AS drained,
                   CAST(sum(down) AS DOUBLE) AS down,
                   CAST(sum(maintenance) AS DOUBLE) AS maintenance,
                   CAST(sum(rebooting) AS DOUBLE) AS rebooting,
                   CAST(sum(prevented) AS DOUBLE) AS prevented,
                   CAST(sum(other) AS DOUBLE) AS other,
                   CAST(sum(unknown) AS DOUBLE) AS unknown
            FROM (
                SELECT cluster, machine, gpu_id,
                       max(owner_class) AS owner_class,
                       max(CASE WHEN gpus = 1 THEN device END) AS device,
                       max(CASE WHEN gpus = 1 THEN tier END) AS tier,
                       sum(exact(seconds)) AS seen,
                       sum(exact(CASE WHEN state = 'claimed' THEN seconds ELSE 0 END)) AS claimed,
                       sum(exact(CASE WHEN state = 'backfill' THEN seconds ELSE 0 END)) AS backfill,
                       sum(exact(CASE WHEN state = 'idle' THEN seconds ELSE 0 END)) AS idle,
                       sum(exact(CASE WHEN state = 'draining' THEN seconds ELSE 0 END))
                           AS draining,
                       sum(exact(CASE WHEN state = 'drained' THEN seconds ELSE 0 END))
                           AS drained,
                       sum(exact(CASE WHEN state = 'down' THEN seconds ELSE 0 END))
                           AS down,
                       sum(exact(CASE WHEN state = 'maintenance' THEN seconds ELSE 0 END))
                           AS maintenance,
                       sum(exact(CASE WHEN state = 'rebooting' THEN seconds ELSE 0 END))
                           AS rebooting,
                       sum(exact(CASE WHEN state = 'prevented' THEN seconds ELSE 0 END))
                           AS prevented,
                       sum(exact(CASE WHEN state = 'other' THEN seconds ELSE 0 END)) AS other,
                       sum(exact(CASE WHEN state = 'unknown' THEN seconds ELSE 0 END
                                 + unseen_seconds)) AS unknown
                FROM gpu_use
                GROUP BY cluster, machine, gpu_id
            )
            GROUP BY cluster, by_value
        )
        ORDER BY allocated_percent NULLS LAST, gpus DESC, cluster, by_value
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "by",
            heading: "Machine",
            unit: Unit::Label,
            meaning: "The machine, or what was asked for in its place.",
        },
        Column {
            name: "owner_class",
            heading: "Owner",
            unit: Unit::Label,
            meaning: "Whose machine it is: prioritized (projects come first on it), institution-owned, or open capacity.",
        },
        Column {
            name: "device",
            heading: "Model",
            unit: Unit::Label,
            meaning: "The model of its GPUs.",
        },
        Column {
            name: "gpus",
            heading: "GPUs",
            unit: Unit::Count,
            meaning: "GPUs that were seen in the period.",
        },
        Column {
            name: "never_claimed",
            heading: "Never claimed",
            unit: Unit::Count,
            meaning: "Those of them that no job held on the primary side; all of them: the machine was not used by those for whom it is there.",
        },
        ALLOCATED_PERCENT,
        Column {
            name: "allocated",
            heading: "Allocated",
            unit: Unit::Average,
            meaning: "GPUs held on the primary side, on average over the period.",
        },
        Column {
            name: "backfill",
            heading: "Backfill",
            unit: Unit::Average,
            meaning: "GPUs held by backfill alone, on average.",
        },
        Column {
            name: "idle",
            heading: "Idle",
            unit: Unit::Average,
            meaning: "GPUs that nobody held and that jobs could take, on average.",
        },
        DRAINING,
        DRAINED,
        DOWN,
        MAINTENANCE,
        REBOOTING,
        PREVENTED,
        Column {
            name: "other",
            heading: "Other",
            unit: Unit::Average,
            meaning: "GPUs in any other state, such as Owner, on average.",
        },
        Column {
            name: "unknown",
            heading: "Unknown",
            unit: Unit::Average,
            meaning: "GPUs of which nothing was known, or nothing of their primary side, on average.",
        },
    ],
    notes: &["The least used come first.", GPU_REASONS, GPU_SEEN],
    options: &[AnalysisOption {
        name: "by",
        meaning: "A row for each of these, of a cluster",
        values: Values::OneOf(&[
            Alternative { word: "machine", replaces: &[("$by", "machine")], heading: "Machine" },
            Alternative { word: "tier", replaces: &[("$by", "tier")], heading: "Tier" },
            Alternative { word: "device", replaces: &[("$by", "device")], heading: "Model" },
        ]),
    }],
    drawn: None,
};
