//! At which hours jobs on backfill are evicted.

use report::{Kind, Unit};

use super::{Analysis, BACKFILL_LINKED, Column, DEVICE, DrawnPart, amounts};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "backfill-hazard",
    question: "At which hours of the day are jobs on backfill evicted?",
    sql: "
        SELECT hour_name AS hour, run_hours, evicted, per_100_hours
        FROM (
        SELECT exposed.hour AS number,
               lpad(CAST(exposed.hour AS VARCHAR), 2, '0') AS hour_name,
               run_hours,
               coalesce(evicted, 0) AS evicted,
               100.0 * coalesce(evicted, 0) / nullif(run_hours, 0) AS per_100_hours
        FROM (
            SELECT piece['hour'] AS hour, sum(piece['microseconds']) / 3.6e9 AS run_hours
            FROM (
                SELECT unnest(pieces_by_hour(
                           greatest(start_time, $start),
                           greatest(least(until_time, $known_end), $start)
                       )) AS piece
                FROM backfill_attempt
                WHERE $device IS NULL OR is_device($device, device_name)
            )
            GROUP BY piece['hour']
        ) AS exposed
        LEFT JOIN (
            SELECT hour_of_week(end_time)['hour'] % 24 AS hour, count(*) AS evicted
            FROM backfill_attempt
            WHERE outcome = 'evicted' AND end_time >= $start AND end_time < $known_end
              AND ($device IS NULL OR is_device($device, device_name))
            GROUP BY hour_of_week(end_time)['hour'] % 24
        ) AS ended ON ended.hour = exposed.hour
        )
        ORDER BY number
    ",
    columns: &[
        Column {
            name: "hour",
            heading: "Hour",
            unit: Unit::Label,
            meaning: "The hour of the day, in the site's zone.",
        },
        Column {
            name: "run_hours",
            heading: "Job hours",
            unit: Unit::Hours,
            meaning: "How long executions on backfill ran in that hour of the days, together.",
        },
        Column {
            name: "evicted",
            heading: "Evicted",
            unit: Unit::Count,
            meaning: "Evictions in it.",
        },
        Column {
            name: "per_100_hours",
            heading: "Per 100 h",
            unit: Unit::Average,
            meaning: "Evictions for each 100 hours that executions ran in it.",
        },
    ],
    notes: &[BACKFILL_LINKED],
    options: &[DEVICE],
    drawn: Some(amounts(
        &["hour"],
        "Evictions for each 100 hours of jobs",
        &[DrawnPart::new("per_100_hours", "evictions", Kind::Ranked(4))],
    )),
};
