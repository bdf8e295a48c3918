//! How many GPUs were used, over time.

use report::Unit;

use super::{
    ALLOCATED_PERCENT, Alternative, Analysis, AnalysisOption, CLASS, Column, DOWN, DRAINED,
    DRAINING, GPU_BACKFILL, GPU_CLASS, GPU_REASONS, GPU_SEEN, MAINTENANCE, PREVENTED, REBOOTING,
    Values,
};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-timeseries",
    question: "How many GPUs were used, over time?",
    sql: concat!(
        "
        SELECT sums.start_time AS time, ",
        gpu_class!(),
        ",
               100 * claimed / nullif(seen, 0) AS allocated_percent,
               claimed / part.seconds AS allocated,
               CASE WHEN side = 'primary' THEN backfill / part.seconds END AS backfill,
               seen / part.seconds AS available,
               draining / part.seconds AS draining,
               drained / part.seconds AS drained,
               down / part.seconds AS down,
               maintenance / part.seconds AS maintenance,
               rebooting / part.seconds AS rebooting,
               prevented / part.seconds AS prevented
        FROM (
            SELECT side, class, start_time, grouping(class) AS is_total, ",
        gpu_sums!(),
        "
            FROM ",
        gpu_sides!("$rows"),
        "
            WHERE ",
        of_class!(),
        "
            GROUP BY GROUPING SETS ((side, start_time), (side, class, start_time))
        ) AS sums
        JOIN (
            SELECT piece['start_time'] AS start_time, piece['microseconds'] / 1e6 AS seconds
            FROM (SELECT unnest($pieces($start, $known_end)) AS piece)
        ) AS part ON part.start_time = sums.start_time
        WHERE is_total = 0 OR $class IS NULL
        ORDER BY time, side DESC, is_total DESC, class_rank(class), class
    "
    ),
    columns: &[
        Column {
            name: "time",
            heading: "Time",
            unit: Unit::Time,
            meaning: "When the hour or day begins.",
        },
        GPU_CLASS,
        ALLOCATED_PERCENT,
        Column {
            name: "allocated",
            heading: "Allocated",
            unit: Unit::Average,
            meaning: "GPUs held on this side, on average over the hour or day.",
        },
        Column {
            name: "backfill",
            heading: "Backfill",
            unit: Unit::Average,
            meaning: "GPUs that backfill held and the primary side did not, on average; a dash in the classes of backfill, where allocated is that.",
        },
        Column {
            name: "available",
            heading: "Available",
            unit: Unit::Average,
            meaning: "GPUs seen, whatever they did, on average.",
        },
        DRAINING,
        DRAINED,
        DOWN,
        MAINTENANCE,
        REBOOTING,
        PREVENTED,
    ],
    notes: &[
        "An hour or day of which nothing is known is not listed.",
        GPU_REASONS,
        GPU_SEEN,
        GPU_BACKFILL,
    ],
    options: &[
        AnalysisOption {
            name: "step",
            meaning: "How long a step is",
            values: Values::OneOf(&[
                Alternative {
                    word: "hour",
                    replaces: &[("$rows", "gpu_use_by_hour"), ("$pieces", "pieces_by_hour")],
                    heading: "",
                },
                Alternative {
                    word: "day",
                    replaces: &[("$rows", "gpu_use_by_day"), ("$pieces", "pieces_by_day")],
                    heading: "",
                },
            ]),
        },
        CLASS,
    ],
    drawn: None,
};
