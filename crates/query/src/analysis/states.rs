//! How jobs ended.

use report::{Kind, Unit};

use super::{Analysis, Column, DrawnPart, WHOSE, amounts};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "states",
    question: "How did jobs end?",
    sql: concat!(
        "
        SELECT state,
               count(*) AS jobs,
               100.0 * count(*) / sum(count(*)) OVER () AS share,
               count(DISTINCT user) AS users
        FROM job_outcome
        WHERE ",
        chosen!(),
        "
        GROUP BY state
        ORDER BY jobs DESC, state NULLS LAST
    "
    ),
    columns: &[
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "The final state, as the scheduler reports it; a dash if the scheduler no longer knows how the attempt ended.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "Attempts that ended in this state in the period.",
        },
        Column {
            name: "share",
            heading: "Share %",
            unit: Unit::Percent,
            meaning: "Of all attempts here.",
        },
        Column {
            name: "users",
            heading: "Users",
            unit: Unit::Count,
            meaning: "Users with such an attempt.",
        },
    ],
    notes: &[
        "Attempts that ended in the period. Pending and running jobs have not ended; the report jobs lists them.",
    ],
    options: WHOSE,
    drawn: Some(amounts(&["state"], "Jobs", &[DrawnPart::new("jobs", "jobs", Kind::Ranked(0))])),
};
