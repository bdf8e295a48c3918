//! What is left of what was granted.

use report::{Kind, Layout, Unit};

use super::{Analysis, AnalysisOption, Column, Drawn, DrawnBars, DrawnPart, RUNNING_JOBS, Values};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "allocations",
    question: "What is left of what was granted, and until when will it last?",
    sql: "
        WITH used_on_day AS (
            SELECT allocation, start_time,
                   sum(exact(seconds)) AS seconds,
                   bool_or(is_unknown) AS is_unknown
            FROM allocation_use
            GROUP BY allocation, start_time
        ),
        day_of_it AS (
            SELECT allocation_day.allocation, date, is_collected, is_uncollected, known_seconds,
                   days_ago, used_on_day.is_unknown,
                   CAST(used_on_day.seconds AS DOUBLE) AS seconds,
                   CAST(sum(used_on_day.seconds) OVER (
                       PARTITION BY allocation_day.allocation ORDER BY date
                   ) AS DOUBLE) AS seconds_so_far
            FROM allocation_day
            LEFT JOIN used_on_day
                   ON used_on_day.allocation = allocation_day.allocation
                  AND used_on_day.start_time = allocation_day.start_time
        ),
        total AS (
            SELECT day_of_it.allocation,
                   CASE WHEN bool_or(is_unknown) THEN NULL
                        WHEN bool_or(is_collected) THEN coalesce(max(seconds_so_far), 0)
                        ELSE max(seconds_so_far)
                   END AS used,
                   CASE WHEN NOT coalesce(bool_or(is_unknown), false)
                        THEN coalesce(sum(seconds) FILTER (WHERE NOT is_uncollected), 0)
                   END AS known_used,
                   sum(known_seconds) FILTER (WHERE NOT is_uncollected) AS known_seconds,
                   count(*) FILTER (WHERE is_uncollected) AS unknown_days,
                   min(date) FILTER (WHERE seconds_so_far >= granted * unit_seconds)
                       AS used_up_date
            FROM day_of_it
            JOIN allocation ON allocation.allocation = day_of_it.allocation
            GROUP BY day_of_it.allocation
        ),
        running AS (
            SELECT allocation,
                   CASE WHEN NOT bool_or(is_unknown)
                        THEN CAST(sum(exact(seconds)) AS DOUBLE)
                   END AS seconds
            FROM allocation_in_flight
            GROUP BY allocation
        ),
        waiting AS (
            SELECT allocation,
                   CASE WHEN count(seconds) = count(*)
                        THEN CAST(sum(exact(seconds)) AS DOUBLE)
                   END AS seconds
            FROM allocation_committed
            GROUP BY allocation
        ),
        looked_at AS (
            SELECT allocation, bool_and(seen.cluster IS NOT NULL) AS is_seen
            FROM allocation_cluster
            LEFT JOIN (
                SELECT cluster
                FROM queue_span
                WHERE start_time < $known_end AND end_time >= $known_end
                UNION
                SELECT cluster
                FROM node_span
                WHERE start_time < $known_end AND end_time >= $known_end
            ) AS seen ON seen.cluster = allocation_cluster.cluster
            GROUP BY allocation
        ),
        week AS (
            SELECT allocation, (days_ago - 1) / 7 AS weeks_ago,
                   count(*) AS days,
                   sum(coalesce(seconds, 0)) AS seconds
            FROM day_of_it
            WHERE is_collected AND days_ago BETWEEN 1 AND 28
            GROUP BY allocation, (days_ago - 1) / 7
        ),
        recent AS (
            SELECT allocation,
                   sum(seconds) / sum(days) AS seconds_a_day,
                   max(seconds / days) AS most_a_day,
                   min(seconds / days) AS least_a_day
            FROM week
            GROUP BY allocation
            HAVING sum(days) >= 7
        ),
        figure AS (
            SELECT allocation.allocation, unit, unit_seconds, granted, from_date, to_date,
                   unknown_days,
                   CASE WHEN unknown_days = 0 THEN used_up_date END AS used_up_date,
                   CASE WHEN used < in_flight THEN 0 ELSE used - in_flight END AS settled,
                   in_flight,
                   used,
                   committed,
                   used > granted * unit_seconds AS is_over,
                   CASE WHEN unknown_days = 0 THEN granted * unit_seconds - used END
                       AS left_seconds,
                   100 * known_used / (granted * unit_seconds)
                       / nullif(known_seconds / seconds_between(start_time, end_time), 0)
                       AS pace_percent,
                   greatest(seconds_between(start_time, least(end_time, $known_end)), 0)
                       / seconds_between(start_time, end_time) AS elapsed,
                   greatest(seconds_between($known_end, end_time), 0) / 86400 AS days_left,
                   CASE WHEN end_time > $known_end THEN seconds_a_day END AS seconds_a_day,
                   CASE WHEN end_time > $known_end THEN most_a_day END AS most_a_day,
                   CASE WHEN end_time > $known_end THEN least_a_day END AS least_a_day
            FROM (
                SELECT allocation.*, total.used_up_date, total.used, total.known_used,
                       total.known_seconds, total.unknown_days,
                       CASE WHEN total.used IS NULL THEN NULL
                            WHEN running.allocation IS NULL THEN 0
                            ELSE running.seconds
                       END AS in_flight,
                       CASE WHEN NOT coalesce(is_seen, false) THEN NULL
                            WHEN waiting.allocation IS NULL THEN 0
                            ELSE waiting.seconds
                       END AS committed,
                       seconds_a_day, most_a_day, least_a_day
                FROM allocation
                LEFT JOIN total ON total.allocation = allocation.allocation
                LEFT JOIN running ON running.allocation = allocation.allocation
                LEFT JOIN waiting ON waiting.allocation = allocation.allocation
                LEFT JOIN looked_at ON looked_at.allocation = allocation.allocation
                LEFT JOIN recent ON recent.allocation = allocation.allocation
            ) AS allocation
            WHERE $allocation IS NULL OR allocation.allocation = $allocation
        )
        SELECT allocation, unit, from_date, to_date, granted,
               settled / unit_seconds AS settled,
               in_flight / unit_seconds AS in_flight,
               left_seconds / unit_seconds AS remaining,
               committed / unit_seconds AS committed,
               100 * used / unit_seconds / granted AS used_percent,
               100 * elapsed AS elapsed_percent,
               unknown_days,
               pace_percent,
               CASE WHEN unknown_days = 0
                    THEN 100 * (used + seconds_a_day * days_left) / unit_seconds / granted
               END AS projected_percent,
               coalesce(used_up_date, later($known_end, left_seconds / nullif(seconds_a_day, 0)))
                   AS used_up_date,
               CASE WHEN used_up_date IS NULL
                    THEN later($known_end, left_seconds / nullif(most_a_day, 0))
               END AS earliest_date,
               CASE WHEN used_up_date IS NULL
                    THEN later($known_end, left_seconds / nullif(least_a_day, 0))
               END AS latest_date,
               CASE WHEN used IS NULL THEN NULL
                    WHEN is_over THEN 'over'
                    WHEN elapsed >= 1 THEN CASE WHEN unknown_days = 0 THEN 'under' END
                    WHEN pace_percent > 110 THEN 'ahead'
                    WHEN pace_percent < 90 THEN 'behind'
                    WHEN pace_percent IS NOT NULL THEN 'on pace'
               END AS standing
        FROM figure
        ORDER BY used / unit_seconds / granted DESC NULLS LAST, allocation
    ",
    columns: &[
        Column {
            name: "allocation",
            heading: "Allocation",
            unit: Unit::Label,
            meaning: "What the configuration calls it.",
        },
        Column {
            name: "unit",
            heading: "Unit",
            unit: Unit::Label,
            meaning: "What its amounts are in. A year is 365 days; an rgu is a GPU times the weight of its model.",
        },
        Column { name: "from_date", heading: "From", unit: Unit::Date, meaning: "Its first day." },
        Column {
            name: "to_date",
            heading: "To",
            unit: Unit::Date,
            meaning: "The day after its last.",
        },
        Column {
            name: "granted",
            heading: "Granted",
            unit: Unit::Average,
            meaning: "The amount that may be used.",
        },
        Column {
            name: "settled",
            heading: "Settled",
            unit: Unit::Average,
            meaning: "Used by attempts that have ended.",
        },
        Column {
            name: "in_flight",
            heading: "In flight",
            unit: Unit::Average,
            meaning: "Used so far by attempts that still run.",
        },
        Column {
            name: "remaining",
            heading: "Remaining",
            unit: Unit::Average,
            meaning: "Granted, and neither settled nor in flight; below zero where more was used. A dash if there are unknown days.",
        },
        Column {
            name: "committed",
            heading: "Committed",
            unit: Unit::Average,
            meaning: "What waiting jobs would use at most, up to their time limits; a dash where one has none, and where the queue was not seen.",
        },
        Column {
            name: "used_percent",
            heading: "Used %",
            unit: Unit::Percent,
            meaning: "Settled and in flight, of what was granted; at least this much if there are unknown days.",
        },
        Column {
            name: "elapsed_percent",
            heading: "Elapsed %",
            unit: Unit::Percent,
            meaning: "How much of its time is over.",
        },
        Column {
            name: "unknown_days",
            heading: "Unknown days",
            unit: Unit::Count,
            meaning: "Days of its time that are over and were not collected from all of its clusters. Their use is unknown.",
        },
        Column {
            name: "pace_percent",
            heading: "Pace %",
            unit: Unit::Percent,
            meaning: "Use on known days, of the share of the amount for as many days: 100 uses it up on its last day.",
        },
        Column {
            name: "projected_percent",
            heading: "Projected %",
            unit: Unit::Percent,
            meaning: "What will have been used at its end if use goes on as in the last four weeks, of what was granted.",
        },
        Column {
            name: "used_up_date",
            heading: "Used up",
            unit: Unit::Date,
            meaning: "The day on which it was used up, or will be if use goes on as in the last four weeks.",
        },
        Column {
            name: "earliest_date",
            heading: "Earliest",
            unit: Unit::Date,
            meaning: "The same if use goes on as in the busiest of these weeks.",
        },
        Column {
            name: "latest_date",
            heading: "Latest",
            unit: Unit::Date,
            meaning: "The same if use goes on as in the quietest of these weeks; a dash if nothing was used in it.",
        },
        Column {
            name: "standing",
            heading: "Standing",
            unit: Unit::Label,
            meaning: "over: more was used than granted; under: its time is over and something is left; ahead or behind: the pace over known days is more than a tenth off; else on pace. A dash if it is not known.",
        },
    ],
    notes: &[
        "Allocations are the [[allocation]] of plimsoll.toml whose time touches the period. Each is \
         counted since it began, in every cluster that it holds in, whatever the period and the \
         clusters that are asked about.",
        "An attempt counts once in each allocation that it falls under, for the part of its run that \
         lies in the allocation's time. Backfill counts as all else does.",
        "If an allocation began before collection did, the use of the days before is unknown, not zero: \
         pace and standing are computed over known days, and what is left is not known. `plimsoll \
         collect --days N` collects earlier days that the scheduler still has.",
        "The last four weeks are the 28 days before today, as far as they lie in the allocation's \
         time and its clusters were asked about them; with fewer than 7 such days, and for more than \
         a hundred years ahead, nothing is foretold.",
        "A dash for what was used: none of its clusters was asked about its time, or a model has no \
         weight ([[gpu.device]] gives it one).",
        RUNNING_JOBS,
    ],
    options: &[AnalysisOption {
        name: "allocation",
        meaning: "Only this allocation",
        values: Values::Filter,
    }],
    drawn: Some(Drawn::Bars(DrawnBars {
        labels: &["allocation"],
        has_sums: false,
        heading: "% of the allocation",
        layout: Layout::Beside,
        parts: &[
            DrawnPart::new("used_percent", "used", Kind::Ranked(0)),
            DrawnPart::new("projected_percent", "projected use at its end", Kind::Ranked(1)),
            DrawnPart::new("elapsed_percent", "elapsed time", Kind::Ranked(2)),
        ],
    })),
};
