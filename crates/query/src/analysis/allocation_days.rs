//! What was used of what was granted, day by day.

use report::Unit;

use super::{Analysis, AnalysisOption, Column, RUNNING_JOBS, Values};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "allocation-days",
    question: "What was used of what was granted, day by day?",
    sql: "
        WITH used_on_day AS (
            SELECT allocation, start_time,
                   CAST(sum(exact(seconds)) AS DOUBLE) AS seconds,
                   bool_or(is_unknown) AS is_unknown
            FROM allocation_use
            GROUP BY allocation, start_time
        )
        SELECT date,
               allocation.allocation,
               unit,
               CASE WHEN is_unknown THEN NULL
                    WHEN is_collected THEN coalesce(seconds, 0)
                    ELSE seconds
               END / unit_seconds AS used,
               granted * 86400 / seconds_between(allocation.start_time, allocation.end_time) AS line,
               allocation_day.is_partial
        FROM allocation_day
        JOIN allocation ON allocation.allocation = allocation_day.allocation
        LEFT JOIN used_on_day
               ON used_on_day.allocation = allocation_day.allocation
              AND used_on_day.start_time = allocation_day.start_time
        WHERE $allocation IS NULL OR allocation.allocation = $allocation
        ORDER BY allocation.allocation, date
    ",
    columns: &[
        Column {
            name: "date",
            heading: "Date",
            unit: Unit::Date,
            meaning: "A day of the allocation's time.",
        },
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
            meaning: "What its amounts are in.",
        },
        Column {
            name: "used",
            heading: "Used",
            unit: Unit::Average,
            meaning: "What was used of it on that day.",
        },
        Column {
            name: "line",
            heading: "The line",
            unit: Unit::Average,
            meaning: "What is used each day if it is used up on its last.",
        },
        Column {
            name: "is_partial",
            heading: "Partial",
            unit: Unit::Label,
            meaning: "Whether only a part of the day counts: it is not over, or was not collected to its end.",
        },
    ],
    notes: &[
        "Allocations are the [[allocation]] of plimsoll.toml whose time touches the period, each from \
         its first day, in every cluster that it holds in.",
        "A dash is a day that was not collected. Means over days leave out partial days.",
        RUNNING_JOBS,
    ],
    options: &[AnalysisOption {
        name: "allocation",
        meaning: "Only this allocation",
        values: Values::Filter,
    }],
    drawn: None,
};
