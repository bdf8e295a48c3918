//! What backfill gave, and what it cost.

use report::{Kind, Layout, Unit};

use super::{
    Analysis, AnalysisOption, BACKFILL_LINKED, BACKFILL_OPEN, BACKFILL_TIMES, BY, Column, Drawn,
    DrawnBars, DrawnPart, GPU_SEEN, Values, by,
};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "backfill-summary",
    question: "What did backfill give, and what did it cost?",
    sql: "
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE by_value END AS by,
               opportunity / 3600 AS opportunity_hours,
               open / 3600 AS open_hours,
               taken / 3600 AS used_hours,
               100.0 * taken / nullif(opportunity, 0) AS used_percent,
               starts,
               CASE WHEN has_outcomes THEN evicted END AS evicted,
               CASE WHEN has_outcomes AND starts > 0 THEN 100.0 * evicted / starts END
                   AS per_100_starts,
               CASE WHEN has_outcomes THEN lost / 3600 END AS badput_hours,
               CASE WHEN has_history THEN finished / 3600 END AS goodput_hours,
               CASE WHEN has_history THEN 100.0 * finished / nullif(lost + finished, 0) END
                   AS goodput_percent,
               100.0 * linked / nullif(attempts, 0) AS linked_percent
        FROM (
            SELECT by_value,
                   grouping(by_value) AS is_whole,
                   min(rank) AS rank,
                   CAST(coalesce(sum(exact(opportunity)), 0) AS DOUBLE) AS opportunity,
                   CAST(coalesce(sum(exact(open)), 0) AS DOUBLE) AS open,
                   CAST(coalesce(sum(exact(taken)), 0) AS DOUBLE) AS taken,
                   sum(starts) AS starts,
                   sum(evicted) AS evicted,
                   CAST(coalesce(sum(exact(lost)), 0) AS DOUBLE) AS lost,
                   CAST(coalesce(sum(exact(finished)), 0) AS DOUBLE) AS finished,
                   sum(linked) AS linked,
                   sum(attempts) AS attempts,
                   count(is_in_history) = 0 OR coalesce(bool_or(is_in_history), false)
                       AS has_history,
                   coalesce(bool_or(is_in_history), false)
                       OR NOT coalesce(bool_or(is_end_unknown), false) AS has_outcomes
            FROM (
                SELECT $by AS by_value, $rank AS rank,
                       $seconds AS opportunity, 0.0 AS open, 0.0 AS taken,
                       0 AS starts, 0 AS evicted, 0.0 AS lost, 0.0 AS finished,
                       0 AS linked, 0 AS attempts, CAST(NULL AS BOOLEAN) AS is_in_history,
                       CAST(NULL AS BOOLEAN) AS is_end_unknown
                FROM (SELECT *, $pieces FROM primary_phase
                      WHERE situation = 'open' AND backfill_class IS NOT NULL)
                UNION ALL
                SELECT $by, $rank, 0.0,
                       CASE WHEN situation = 'open' THEN $seconds ELSE 0.0 END,
                       CASE WHEN situation = 'taken' THEN $seconds ELSE 0.0 END,
                       0, 0, 0.0, 0.0, 0, 0, NULL, NULL
                FROM (SELECT *, $pieces FROM backfill_phase
                      WHERE situation IN ('open', 'taken'))
                UNION ALL
                SELECT $by, $rank, 0.0, 0.0, 0.0,
                       CASE WHEN $first AND is_start_known AND begun >= $start THEN 1 ELSE 0 END,
                       CASE WHEN $last AND outcome = 'evicted' AND ended >= $start
                                 AND ended < $known_end THEN 1 ELSE 0 END,
                       CASE WHEN outcome = 'evicted' THEN gpus * $seconds ELSE 0.0 END,
                       CASE WHEN outcome = 'finished' THEN gpus * $seconds ELSE 0.0 END,
                       CASE WHEN $first AND linked IN ('job', 'gpu') THEN 1 ELSE 0 END,
                       CASE WHEN $first AND linked <> 'history' THEN 1 ELSE 0 END,
                       linked <> 'spans',
                       outcome = 'ended' OR (outcome = 'unknown' AND until_time < $known_end)
                FROM (
                    SELECT *, $pieces
                    FROM (
                        SELECT * EXCEPT (start_time, end_time),
                               start_time AS begun,
                               end_time AS ended,
                               greatest(start_time, $start) AS start_time,
                               greatest(least(until_time, $known_end), $start) AS end_time
                        FROM backfill_attempt
                    )
                )
            )
            GROUP BY GROUPING SETS ((), (by_value))
        )
        WHERE opportunity > 0 OR taken > 0 OR starts > 0
        ORDER BY is_whole DESC, rank, by_value NULLS LAST
    ",
    columns: &[
        BY,
        Column {
            name: "opportunity_hours",
            heading: "Opportunity h",
            unit: Unit::Hours,
            meaning: "GPU hours during which the owner's side of GPUs that are offered for backfill was idle.",
        },
        Column {
            name: "open_hours",
            heading: "Open h",
            unit: Unit::Hours,
            meaning: "GPU hours during which such a GPU was open and nobody took it.",
        },
        Column {
            name: "used_hours",
            heading: "Used h",
            unit: Unit::Hours,
            meaning: "GPU hours during which a backfill job held one.",
        },
        Column {
            name: "used_percent",
            heading: "Used %",
            unit: Unit::Percent,
            meaning: "Used, of the opportunity; more than all of it where jobs go on while the owner's side is drained.",
        },
        Column {
            name: "starts",
            heading: "Starts",
            unit: Unit::Count,
            meaning: "Executions on backfill that began in the period.",
        },
        Column {
            name: "evicted",
            heading: "Evicted",
            unit: Unit::Count,
            meaning: "Executions that were evicted in it; a dash where the job history has none of the executions and samples do not show how all of them ended.",
        },
        Column {
            name: "per_100_starts",
            heading: "Per 100 starts",
            unit: Unit::Average,
            meaning: "Evictions for each 100 starts.",
        },
        Column {
            name: "badput_hours",
            heading: "Badput h",
            unit: Unit::Hours,
            meaning: "GPU hours of executions that were evicted.",
        },
        Column {
            name: "goodput_hours",
            heading: "Goodput h",
            unit: Unit::Hours,
            meaning: "GPU hours of executions that finished well; a dash where the job history has none of the executions.",
        },
        Column {
            name: "goodput_percent",
            heading: "Goodput %",
            unit: Unit::Percent,
            meaning: "Goodput, of goodput and badput; the rest still runs, failed or was removed.",
        },
        Column {
            name: "linked_percent",
            heading: "Linked %",
            unit: Unit::Percent,
            meaning: "Executions seen on GPUs that the job history has too.",
        },
    ],
    notes: &[BACKFILL_OPEN, BACKFILL_TIMES, BACKFILL_LINKED, GPU_SEEN],
    options: &[AnalysisOption {
        name: "by",
        meaning: "Add up by this",
        values: Values::OneOf(&[
            by(
                "class",
                &[
                    ("$by", "backfill_class"),
                    ("$rank", "class_rank(backfill_class)"),
                    ("$seconds", WHOLE),
                    ("$pieces", "0 AS piece"),
                    ("$first", "true"),
                    ("$last", "true"),
                ],
                "Class",
            ),
            by(
                "device",
                &[
                    ("$by", "device"),
                    ("$rank", "0"),
                    ("$seconds", WHOLE),
                    ("$pieces", "0 AS piece"),
                    ("$first", "true"),
                    ("$last", "true"),
                ],
                "Model",
            ),
            by(
                "cluster",
                &[
                    ("$by", "\"cluster\""),
                    ("$rank", "0"),
                    ("$seconds", WHOLE),
                    ("$pieces", "0 AS piece"),
                    ("$first", "true"),
                    ("$last", "true"),
                ],
                "Cluster",
            ),
            by(
                "day",
                &[
                    ("$by", "CAST(piece['date'] AS VARCHAR)"),
                    ("$rank", "0"),
                    ("$seconds", "piece['microseconds'] / 1e6"),
                    ("$pieces", "unnest(pieces_by_day(start_time, end_time)) AS piece"),
                    ("$first", "begun >= piece['start_time']"),
                    (
                        "$last",
                        "days_touched(ended, ended + INTERVAL '1 microsecond')[1] = piece['date']",
                    ),
                ],
                "Day",
            ),
        ]),
    }],
    drawn: Some(Drawn::Bars(DrawnBars {
        labels: &["by"],
        has_sums: true,
        heading: "GPU hours",
        layout: Layout::Stacked,
        parts: &[
            DrawnPart::new("used_hours", "used by backfill jobs", Kind::BusyBackfill),
            DrawnPart::new("open_hours", "open, and nobody took them", Kind::IdleOpenCapacity),
        ],
    })),
};

const WHOLE: &str = "seconds_between(start_time, end_time)";
