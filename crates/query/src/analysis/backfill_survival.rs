//! How long jobs on backfill live.

use report::Unit;

use super::{
    Analysis, AnalysisOption, BACKFILL_LINKED, BY, BY_PLACE, Column, DEVICE, Drawn, Values, by,
};
use crate::drawn::DrawnCurves;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "backfill-survival",
    question: "How likely is a job that started on backfill still running after a while?",
    sql: "
        WITH lived AS (
            SELECT outcome,
                   seconds_between(start_time, until_time) AS seconds,
                   $by AS by_value,
                   $rank AS rank
            FROM backfill_attempt
            WHERE is_start_known AND start_time >= $start AND start_time < $known_end
              AND ($device IS NULL OR is_device($device, device_name))
        )
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE curve.by_value END AS by,
               life['at_seconds'] AS at_seconds,
               100 * life['share'] AS survival,
               100 * life['lower'] AS lower,
               100 * life['upper'] AS upper,
               life['at_risk'] AS at_risk,
               life['observed'] AS starts,
               life['ended'] AS evicted,
               compared['p_value'] AS p_value
        FROM (
            SELECT by_value, is_whole, rank, unnest(lives) AS life
            FROM (
                SELECT by_value,
                       grouping(by_value) AS is_whole,
                       min(rank) AS rank,
                       $points(seconds, outcome = 'evicted') AS lives
                FROM lived
                GROUP BY GROUPING SETS ((), (by_value))
            )
        ) AS curve
        LEFT JOIN (
            SELECT unnest(log_rank(by_value, seconds, outcome = 'evicted')) AS compared
            FROM lived
        ) AS compared
        ON is_whole = 0 AND compared['group'] IS NOT DISTINCT FROM curve.by_value
        ORDER BY is_whole DESC, rank, curve.by_value NULLS LAST, at_seconds
    ",
    columns: &[
        BY,
        Column {
            name: "at_seconds",
            heading: "After",
            unit: Unit::Duration,
            meaning: "How long after its start.",
        },
        Column {
            name: "survival",
            heading: "Not evicted %",
            unit: Unit::Percent,
            meaning: "The share of jobs that are not evicted until then, by Kaplan and Meier's estimate: one that ended otherwise, or still runs, counts for as long as it ran.",
        },
        Column {
            name: "lower",
            heading: "Lower %",
            unit: Unit::Percent,
            meaning: "The lower end of its 95 % confidence band.",
        },
        Column {
            name: "upper",
            heading: "Upper %",
            unit: Unit::Percent,
            meaning: "The upper end.",
        },
        Column {
            name: "at_risk",
            heading: "At risk",
            unit: Unit::Count,
            meaning: "How many were watched for so long.",
        },
        Column {
            name: "starts",
            heading: "Starts",
            unit: Unit::Count,
            meaning: "Executions that began in the period, on which it rests.",
        },
        Column {
            name: "evicted",
            heading: "Evicted",
            unit: Unit::Count,
            meaning: "How many of these were evicted.",
        },
        Column {
            name: "p_value",
            heading: "p",
            unit: Unit::PValue,
            meaning: "How likely so great a difference from all the others is by chance, by the log-rank test; small if these really live longer or shorter, and a dash in the rows of `all`.",
        },
    ],
    notes: &[
        BACKFILL_LINKED,
        "Only executions that began in the period are in it: of those that were running already it is not known how many like them had been evicted before.",
        "A line ends where nobody was watched for so long.",
    ],
    options: &[
        BY_PLACE,
        DEVICE,
        AnalysisOption {
            name: "points",
            meaning: "At which times to estimate: at round ones, or at each at which one was evicted, as the chart does",
            values: Values::OneOf(&[
                by("times", &[("$points", "survival_curve")], ""),
                by("evictions", &[("$points", "survival_steps")], ""),
            ]),
        },
    ],
    drawn: Some(Drawn::Curves(DrawnCurves {
        group: "by",
        at: "at_seconds",
        value: "survival",
        band: ["lower", "upper"],
        weight: "starts",
        told: &[("points", "evictions")],
    })),
};
