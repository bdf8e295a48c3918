//! What follows what on the backfill side of GPUs.

use report::Unit;

use super::{Analysis, BACKFILL_OPEN, BY, BY_PLACE, Column, DEVICE, Drawn, GPU_SEEN};
use crate::drawn::DrawnGrid;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "backfill-transitions",
    question: "What follows what on GPUs that are offered for backfill?",
    sql: "
        SELECT by_value AS by,
               situation,
               after,
               count(*) AS times,
               100.0 * count(*) / sum(count(*)) OVER (PARTITION BY by_value, situation) AS share,
               86400.0 * count(*)
                   / nullif(sum(sum(seconds)) OVER (PARTITION BY by_value, situation), 0)
                   AS per_day,
               distribution(seconds, 1.0)['median'] AS median
        FROM (
            SELECT *,
                   seconds_between(start_time, end_time) AS seconds,
                   $by AS by_value,
                   $rank AS rank
            FROM backfill_phase
            WHERE $device IS NULL OR is_device($device, device_name)
        )
        GROUP BY by_value, situation, after
        ORDER BY min(rank), by_value NULLS LAST,
                 CASE situation WHEN 'open' THEN 0 WHEN 'taken' THEN 1 WHEN 'owner' THEN 2 ELSE 3 END,
                 situation, times DESC, after
    ",
    columns: &[
        BY,
        Column {
            name: "situation",
            heading: "From",
            unit: Unit::Label,
            meaning: "open, taken by a backfill job, owner (claimed by the owner's side), drained or gone.",
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
    notes: &[BACKFILL_OPEN, GPU_SEEN],
    options: &[BY_PLACE, DEVICE],
    drawn: Some(Drawn::Grid(DrawnGrid {
        group: "by",
        row: "situation",
        column: "after",
        order: &["open", "taken", "owner", "drained", "gone", "unknown"],
        value: "share",
    })),
};
