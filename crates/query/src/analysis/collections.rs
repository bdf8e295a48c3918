//! Whether collecting works.

use report::Unit;

use super::{Analysis, Column};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "collections",
    question: "Does collecting work?",
    sql: "
        SELECT cluster,
               source,
               count(*) AS runs,
               count(error) AS failures,
               sum(rejects) AS rejects,
               max(start_time) AS last_time,
               max(CASE WHEN error IS NULL THEN start_time END) AS last_success_time,
               first_value(error ORDER BY start_time DESC, window_start DESC) AS last_error
        FROM collection_run
        GROUP BY cluster, source
        ORDER BY cluster, source
    ",
    columns: &[
        Column {
            name: "cluster",
            heading: "Cluster",
            unit: Unit::Label,
            meaning: "Whose scheduler was asked.",
        },
        Column { name: "source", heading: "Source", unit: Unit::Label, meaning: "The command." },
        Column {
            name: "runs",
            heading: "Runs",
            unit: Unit::Count,
            meaning: "How often it was asked in the period.",
        },
        Column {
            name: "failures",
            heading: "Failures",
            unit: Unit::Count,
            meaning: "How often it failed.",
        },
        Column {
            name: "rejects",
            heading: "Rejects",
            unit: Unit::Count,
            meaning: "Pieces of its output that could not be read.",
        },
        Column {
            name: "last_time",
            heading: "Last asked",
            unit: Unit::Time,
            meaning: "When it was last asked.",
        },
        Column {
            name: "last_success_time",
            heading: "Last success",
            unit: Unit::Time,
            meaning: "When it last worked.",
        },
        Column {
            name: "last_error",
            heading: "Last error",
            unit: Unit::Label,
            meaning: "Why the last run failed; a dash if it worked.",
        },
    ],
    notes: &[],
    options: &[],
    drawn: None,
};
