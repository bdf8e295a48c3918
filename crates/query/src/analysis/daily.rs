//! What ran on each day.

use report::Unit;

use super::{Analysis, CPU_HOURS_DRAWN, Column, RUNNING_JOBS, WHOSE, amounts};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "daily",
    question: "What ran on each day?",
    sql: concat!(
        "
        WITH total AS (
            SELECT start_time,
                   sum(jobs_of_day) AS jobs,
                   count(DISTINCT user) AS users,
                   CAST(sum(exact(cpu_seconds)) AS DOUBLE) / 3600 AS cpu_hours,
                   CAST(sum(exact(gpu_seconds)) AS DOUBLE) / 3600 AS gpu_hours,
                   CAST(sum(in_kib(memory_mib_seconds)) AS DOUBLE) / 1024 / 1024 / 3600 AS memory_gib_hours
            FROM usage
            WHERE ",
        chosen!(),
        "
            GROUP BY start_time
        )
        SELECT day.date,
               CASE WHEN day.is_collected AND total.start_time IS NULL THEN 0 ELSE total.jobs END AS jobs,
               CASE WHEN day.is_collected AND total.start_time IS NULL THEN 0 ELSE total.users END AS users,
               CASE WHEN day.is_collected AND total.start_time IS NULL THEN 0 ELSE total.cpu_hours END AS cpu_hours,
               CASE WHEN day.is_collected AND total.start_time IS NULL THEN 0 ELSE total.gpu_hours END AS gpu_hours,
               CASE WHEN day.is_collected AND total.start_time IS NULL THEN 0 ELSE total.memory_gib_hours END AS memory_gib_hours,
               day.is_partial
        FROM day
        LEFT JOIN total ON total.start_time = day.start_time
        ORDER BY day.date
    "
    ),
    columns: &[
        Column { name: "date", heading: "Date", unit: Unit::Date, meaning: "The day, in the site's zone." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Attempts that ran on the day; one over midnight counts on both." },
        Column { name: "users", heading: "Users", unit: Unit::Count, meaning: "Users whose jobs ran." },
        Column { name: "cpu_hours", heading: "CPU hours", unit: Unit::Hours, meaning: "CPUs held, times the time." },
        Column { name: "gpu_hours", heading: "GPU hours", unit: Unit::Hours, meaning: "GPUs held, times the time." },
        Column { name: "memory_gib_hours", heading: "Memory GiB h", unit: Unit::GibibyteHours, meaning: "Memory asked for, times the time." },
        Column { name: "is_partial", heading: "Partial", unit: Unit::Label, meaning: "Whether only a part of the day counts: the period begins or ends in it, or it was not collected to its end." },
    ],
    notes: &[
        RUNNING_JOBS,
        "A dash is a day that was not collected; a zero is one on which nothing ran.",
        "Means over days leave out partial days.",
    ],
    options: WHOSE,
    drawn: Some(amounts(&["date"], "CPU hours", &[CPU_HOURS_DRAWN])),
};
