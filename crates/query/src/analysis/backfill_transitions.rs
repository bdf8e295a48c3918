//! What follows what on the backfill side of GPUs.

use report::Unit;

use super::{
    Analysis, BACKFILL_OPEN, BACKFILL_TIMES, BY, BY_PLACE, Column, DEVICE, Drawn, GPU_SEEN,
};
use crate::drawn::DrawnGrid;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "backfill-transitions",
    question: "What follows what on GPUs that are offered for backfill?",
    sql: "
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE by_value END AS by,
               situation,
               after,
               times,
               100.0 * times / sum(times) OVER (PARTITION BY is_whole, by_value, situation)
                   AS share,
               86400.0 * times
                   / nullif(sum(seconds) OVER (PARTITION BY is_whole, by_value, situation), 0)
                   AS per_day,
               length['median'] AS median
        FROM (
            SELECT by_value,
                   grouping(by_value) AS is_whole,
                   situation,
                   after,
                   CASE WHEN grouping(by_value) = 1 THEN 0 ELSE min(rank) END AS rank,
                   count(*) AS times,
                   CAST(sum(exact(seconds)) AS DOUBLE) AS seconds,
                   distribution(seconds, 1.0) AS length
            FROM (
                SELECT *,
                       seconds_between(start_time, end_time) AS seconds,
                       $by AS by_value,
                       $rank AS rank
                FROM backfill_phase
                WHERE $device IS NULL OR is_device($device, device_name)
            )
            GROUP BY GROUPING SETS ((situation, after), (by_value, situation, after))
        )
        ORDER BY is_whole DESC, rank, by_value NULLS LAST,
                 CASE situation WHEN 'open' THEN 0 WHEN 'taken' THEN 1 WHEN 'owner' THEN 2 ELSE 3 END,
                 situation, times DESC, after
    ",
    columns: &[
        BY,
        Column {
            name: "situation",
            heading: "From",
            unit: Unit::Label,
            meaning: "open, taken by a backfill job, owner (claimed by the owner's side), draining, drained (or prevented), down, maintenance, rebooting, or gone.",
        },
        Column {
            name: "after",
            heading: "To",
            unit: Unit::Label,
            meaning: "What came next; taken after taken is the next job, unknown the end of what was seen.",
        },
        Column { name: "times", heading: "Times", unit: Unit::Count, meaning: "How often." },
        Column {
            name: "share",
            heading: "Share %",
            unit: Unit::Percent,
            meaning: "Of all that came next after such a time.",
        },
        Column {
            name: "per_day",
            heading: "Per GPU-day",
            unit: Unit::Average,
            meaning: "How often for each day that a GPU was so.",
        },
        Column {
            name: "median",
            heading: "Median",
            unit: Unit::Duration,
            meaning: "Half of the times before it were no longer.",
        },
    ],
    notes: &[BACKFILL_OPEN, BACKFILL_TIMES, GPU_SEEN],
    options: &[BY_PLACE, DEVICE],
    drawn: Some(Drawn::Grid(DrawnGrid {
        group: "by",
        row: "situation",
        column: "after",
        order: &[
            "open",
            "taken",
            "owner",
            "draining",
            "drained",
            "down",
            "maintenance",
            "rebooting",
            "gone",
            "unknown",
        ],
        value: "share",
    })),
};
