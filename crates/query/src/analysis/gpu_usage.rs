//! How much of the GPUs was used, class by class.

use report::Unit;

use super::{
    ALLOCATED_PERCENT, Alternative, Analysis, AnalysisOption, CLASS, Column, DOWN, DRAINED,
    DRAINING, GPU_BACKFILL, GPU_CLASS, GPU_HOST, GPU_HOST_PATTERN, GPU_MODEL, GPU_REASONS,
    GPU_SEEN, MAINTENANCE, PREVENTED, REBOOTING, Values, by,
};

/// Rows of the sides, and those of the primary side once more for both sides together: a GPU that backfill
/// holds is allocated there too. Interactive slots without a prioritized project are in no total, and the
/// class is that of the prioritized total or unknown.
macro_rules! with_both_sides {
    ($sides:expr) => {
        concat!(
            "(
                SELECT * EXCEPT (side, class, use, counted),
                       counted AS side,
                       CASE WHEN counted <> 'both' THEN class
                            WHEN class IN (slot_class('Priority-ResearcherOwned'),
                                           slot_class('Priority-CHTCOwned'))
                                THEN 'Prioritized TOTAL'
                       END AS class,
                       CASE WHEN counted = 'both' AND use = 'backfill' THEN 'claimed' ELSE use END
                           AS use
                FROM (
                    SELECT *,
                           unnest(CASE WHEN side = 'primary' THEN make_array('primary', 'both')
                                       ELSE make_array('backfill')
                                  END) AS counted
                    FROM ",
            $sides,
            "
                )
                WHERE counted <> 'both' OR class <> slot_class('Interactive')
            )"
        )
    };
}

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-usage",
    question: "How much of the GPUs was used?",
    sql: concat!(
        "
        SELECT CASE WHEN is_total = 0 THEN class
                    WHEN side = 'primary' THEN 'All GPUs'
                    WHEN side = 'both' THEN 'TOTAL'
                    ELSE 'All backfill'
               END AS class,
               CASE WHEN is_whole = 1 THEN 'all' ELSE by_value END AS by,
               CASE WHEN side <> 'backfill' THEN gpus END AS gpus,
               100 * claimed / nullif(seen, 0) AS allocated_percent,
               claimed / part AS allocated,
               seen / part AS available,
               CASE WHEN side = 'primary' THEN backfill / part END AS backfill,
               idle / part AS idle,
               draining / part AS draining,
               drained / part AS drained,
               down / part AS down,
               maintenance / part AS maintenance,
               rebooting / part AS rebooting,
               prevented / part AS prevented,
               other / part AS other,
               CASE WHEN side <> 'backfill' THEN (unclear + unseen) / part END AS unknown
        FROM (
            SELECT *,
                   CASE WHEN is_whole = 0 AND part_of_hour > 0 THEN part_of_hour
                        ELSE $period_seconds
                   END AS part,
                   max(CASE WHEN side = 'backfill' THEN 1 ELSE 0 END) OVER () AS has_backfill
            FROM (
                SELECT side, class, by_value,
                       grouping(class) AS is_total,
                       grouping(by_value) AS is_whole,
                       min(rank) AS rank,
                       max(part_of_hour) AS part_of_hour,
                       sum(gpus) AS gpus,
                       CAST(sum(exact(unseen_seconds)) AS DOUBLE) AS unseen,
                       ",
        gpu_sums!(),
        "
                FROM (
                    SELECT *, $by AS by_value, $rank AS rank, $part AS part_of_hour
                    FROM ",
        with_both_sides!(concat!(
            "(SELECT * FROM ",
            gpu_sides!("$rows"),
            " WHERE ",
            of_class!(),
            " AND ",
            of_selected_gpus!(),
            ")"
        )),
        "
                )
                GROUP BY GROUPING SETS (
                    (side), (side, by_value), (side, class), (side, class, by_value)
                )
            )
        )
        WHERE (is_whole = 1 OR by_value IS NULL OR by_value <> '')
          AND (is_total = 0 OR $class IS NULL)
          AND (side <> 'both'
               OR ($class IS NULL AND has_backfill = 1 AND (is_total = 1 OR class IS NOT NULL)))
        ORDER BY CASE side WHEN 'primary' THEN 1 WHEN 'backfill' THEN 2 ELSE 3 END, is_total DESC, class_rank(class), class, is_whole DESC,
                 rank NULLS LAST, by_value
    "
    ),
    columns: &[
        GPU_CLASS,
        Column {
            name: "by",
            heading: "By",
            unit: Unit::Label,
            meaning: "What it is added up by beside, if asked; `all` in a class's own row, a dash where it is not known.",
        },
        Column {
            name: "gpus",
            heading: "GPUs",
            unit: Unit::Count,
            meaning: "GPUs that were seen in the period, each counted once, in the class of its longest state; a dash for backfill, whose GPUs are the same, and for hours.",
        },
        ALLOCATED_PERCENT,
        Column {
            name: "allocated",
            heading: "Allocated",
            unit: Unit::Average,
            meaning: "GPUs held on this side, on average over the period.",
        },
        Column {
            name: "available",
            heading: "Available",
            unit: Unit::Average,
            meaning: "GPUs seen, whatever they did, on average.",
        },
        Column {
            name: "backfill",
            heading: "Backfill",
            unit: Unit::Average,
            meaning: "GPUs that the primary side did not hold and backfill did, on average.",
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
            meaning: "GPUs in any other state, such as Owner, on average; of backfill also those that the primary side held.",
        },
        Column {
            name: "unknown",
            heading: "Unknown",
            unit: Unit::Average,
            meaning: "GPUs of which nothing was known, on average, or nothing of their primary side.",
        },
    ],
    notes: &[
        "GPUs = allocated + backfill + idle + draining + drained + down + maintenance + rebooting + prevented + other + unknown, in every row of the primary side: each GPU is in one of these at every instant.",
        GPU_REASONS,
        "TOTAL and Prioritized TOTAL are gpureports' figures for both sides together. Allocated adds what the primary side and what backfill hold; a GPU that both hold counts once. Available is the GPUs of the primary side alone, because backfill runs on the same GPUs. TOTAL covers prioritized and open capacity, Prioritized TOTAL the two Priority classes. Neither covers interactive slots without a prioritized project. Backfill counts where the primary side of its GPU does, also on open capacity, which gpureports leaves out.",
        "TOTAL and Prioritized TOTAL are listed if any GPU is offered for backfill. In these rows, GPUs = allocated + idle + draining + drained + down + maintenance + rebooting + prevented + other + unknown.",
        GPU_SEEN,
        GPU_BACKFILL,
    ],
    options: &[
        AnalysisOption {
            name: "by",
            meaning: "Add up by this too: machine and hour are of one cluster and of the day",
            values: Values::OneOf(&[
                Alternative {
                    word: "class",
                    replaces: &[
                        ("$by", "''"),
                        ("$rank", "0"),
                        ("$rows", "gpu_use"),
                        ("$part", "0.0"),
                    ],
                    heading: "",
                },
                by(
                    "device",
                    &[("$by", "device"), ("$rank", "0"), ("$rows", "gpu_use"), ("$part", "0.0")],
                    "Model",
                ),
                by(
                    "memory",
                    &[
                        ("$by", "memory_class"),
                        (
                            "$rank",
                            "CASE memory_class WHEN '<48GB' THEN 1 WHEN '48GB' THEN 2 WHEN '>48GB' THEN 3 WHEN '80GB' THEN 4 WHEN '>80GB' THEN 5 END",
                        ),
                        ("$rows", "gpu_use"),
                        ("$part", "0.0"),
                    ],
                    "Memory",
                ),
                by(
                    "tier",
                    &[("$by", "tier"), ("$rank", "0"), ("$rows", "gpu_use"), ("$part", "0.0")],
                    "Tier",
                ),
                by(
                    "machine",
                    &[
                        ("$by", "\"cluster\" || '/' || machine"),
                        ("$rank", "0"),
                        ("$rows", "gpu_use"),
                        ("$part", "0.0"),
                    ],
                    "Machine",
                ),
                by(
                    "cluster",
                    &[
                        ("$by", "\"cluster\""),
                        ("$rank", "0"),
                        ("$rows", "gpu_use"),
                        ("$part", "0.0"),
                    ],
                    "Cluster",
                ),
                by(
                    "hour",
                    &[
                        ("$by", "lpad(CAST(hour AS VARCHAR), 2, '0')"),
                        ("$rank", "hour"),
                        ("$rows", HOURS),
                        ("$part", "part_seconds"),
                    ],
                    "Hour",
                ),
            ]),
        },
        CLASS,
        GPU_HOST,
        GPU_HOST_PATTERN,
        GPU_MODEL,
    ],
    drawn: None,
};

/// Use by the hour of the day, each with the time of the period that is in such an hour. How many
/// GPUs there are, and what was not seen of them, is not counted by the hour.
const HOURS: &str = "(
    SELECT by_hour.*,
           part.part_seconds,
           CAST(NULL AS BIGINT) AS gpus,
           CAST(NULL AS DOUBLE) AS unseen_seconds
    FROM gpu_use_by_hour AS by_hour
    JOIN (
        SELECT piece['hour'] AS hour, sum(piece['microseconds']) / 1e6 AS part_seconds
        FROM (SELECT unnest(pieces_by_hour($start, $known_end)) AS piece)
        GROUP BY piece['hour']
    ) AS part ON part.hour = by_hour.hour
)";
