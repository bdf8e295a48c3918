//! How well time limits fit.

use report::Unit;

use super::{Analysis, Column, PERCENTILES, WHOSE};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "time-limit",
    question: "How well did time limits fit?",
    sql: concat!(
        "
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE cluster END AS cluster,
               CASE WHEN is_whole = 1 THEN 'all' ELSE partition END AS partition,
               jobs,
               used['median'] AS median_used,
               100.0 * under_10 / jobs AS under_10,
               100.0 * under_50 / jobs AS under_50,
               100.0 * timeouts / jobs AS timeout,
               CAST(limit_seconds AS DOUBLE) / 3600 AS limit_hours,
               CAST(run_seconds AS DOUBLE) / 3600 AS run_hours,
               100.0 * run_seconds / limit_seconds AS share_used
        FROM (
            SELECT cluster,
                   partition,
                   grouping(partition) AS is_whole,
                   count(*) AS jobs,
                   distribution(100.0 * elapsed_seconds / time_limit_seconds, 1) AS used,
                   count(CASE WHEN elapsed_seconds * 10 < time_limit_seconds THEN 1 END) AS under_10,
                   count(CASE WHEN elapsed_seconds * 2 < time_limit_seconds THEN 1 END) AS under_50,
                   count(CASE WHEN state = 'TIMEOUT' THEN 1 END) AS timeouts,
                   sum(time_limit_seconds) AS limit_seconds,
                   sum(elapsed_seconds) AS run_seconds
            FROM job_ended
            WHERE state IN ('COMPLETED', 'TIMEOUT')
              AND time_limit_seconds > 0
              AND elapsed_seconds >= 0
              AND ",
        chosen!(),
        "
            GROUP BY GROUPING SETS ((), (cluster, partition))
        )
        WHERE jobs > 0
        ORDER BY is_whole DESC, cluster, partition
    "
    ),
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster; `all` in the first row." },
        Column { name: "partition", heading: "Partition", unit: Unit::Label, meaning: "The partition; `all` in the first row." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Attempts with a time limit that completed or reached it in the period." },
        Column { name: "median_used", heading: "Median used %", unit: Unit::Percent, meaning: "Half of them used no more of their limit." },
        Column { name: "under_10", heading: "Under 10 %", unit: Unit::Percent, meaning: "Share that used less than a tenth of the limit." },
        Column { name: "under_50", heading: "Under 50 %", unit: Unit::Percent, meaning: "Share that used less than half of the limit." },
        Column { name: "timeout", heading: "Timeout %", unit: Unit::Percent, meaning: "Share that was ended at the limit." },
        Column { name: "limit_hours", heading: "Hours asked", unit: Unit::Hours, meaning: "The limits, added up." },
        Column { name: "run_hours", heading: "Hours run", unit: Unit::Hours, meaning: "The time that they ran, added up." },
        Column { name: "share_used", heading: "Hours run %", unit: Unit::Percent, meaning: "Hours run of hours asked." },
    ],
    notes: &[
        "Of attempts that ended COMPLETED or TIMEOUT in the period and had a time limit: how long a job ran that failed or was cancelled says nothing about its limit.",
        "A limit that is far too long lets the scheduler fit fewer jobs into gaps.",
        PERCENTILES,
    ],
    options: WHOSE,
    drawn: None,
};
