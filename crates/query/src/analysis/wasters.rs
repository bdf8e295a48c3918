//! Who held what they did not use.

use report::{Kind, Unit};

use super::{Analysis, Column, DrawnPart, RUNNING_JOBS, WHOSE, amounts};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "wasters",
    question: "Who held what they did not use?",
    sql: concat!(
        "
        SELECT user,
               jobs,
               CAST(cpu_wasted AS DOUBLE) / 3600 AS cpu_hours_wasted,
               100 * CAST(cpu_wasted AS DOUBLE) / nullif(CAST(cpu_measured AS DOUBLE), 0)
                   AS cpu_share,
               CAST(memory_wasted AS DOUBLE) / 1024 / 1024 / 3600 AS memory_gib_hours_wasted,
               100 * CAST(memory_wasted AS DOUBLE) / nullif(CAST(memory_measured AS DOUBLE), 0)
                   AS memory_share
        FROM (
            SELECT user,
                   sum(jobs) AS jobs,
                   sum(exact(cpu_seconds_wasted)) AS cpu_wasted,
                   sum(exact(cpu_seconds_measured)) AS cpu_measured,
                   sum(in_kib(memory_mib_seconds_wasted)) AS memory_wasted,
                   sum(in_kib(memory_mib_seconds_measured)) AS memory_measured
            FROM usage
            WHERE ",
        chosen!(),
        "
            GROUP BY user
        )
        WHERE cpu_wasted IS NOT NULL OR memory_wasted IS NOT NULL
        ORDER BY cpu_hours_wasted DESC NULLS LAST, memory_gib_hours_wasted DESC NULLS LAST, user
    "
    ),
    columns: &[
        Column {
            name: "user",
            heading: "User",
            unit: Unit::Label,
            meaning: "Who submitted; a dash where the scheduler no longer knows.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Attempts that ran in the period.",
        },
        Column {
            name: "cpu_hours_wasted",
            heading: "CPU hours wasted",
            unit: Unit::Hours,
            meaning: "CPU time held and not used, where use was measured.",
        },
        Column {
            name: "cpu_share",
            heading: "Of held %",
            unit: Unit::Percent,
            meaning: "Of the CPU time held where use was measured.",
        },
        Column {
            name: "memory_gib_hours_wasted",
            heading: "Memory GiB h wasted",
            unit: Unit::GibibyteHours,
            meaning: "Memory asked for and never used, times the time, where use was measured.",
        },
        Column {
            name: "memory_share",
            heading: "Of asked %",
            unit: Unit::Percent,
            meaning: "Of the memory asked for, times the time, where use was measured.",
        },
    ],
    notes: &[
        RUNNING_JOBS,
        "Waste is computed over the attempts whose use was measured. Those that still run are not measured yet.",
    ],
    options: WHOSE,
    drawn: Some(amounts(
        &["user"],
        "CPU hours held and not used",
        &[DrawnPart::new("cpu_hours_wasted", "CPU hours", Kind::Ranked(4))],
    )),
};
