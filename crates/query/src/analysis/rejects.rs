//! What could not be read.

use report::Unit;

use super::{Analysis, Column};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "rejects",
    question: "What could not be read?",
    sql: "
        SELECT cluster,
               source,
               reason,
               count(*) AS rejects,
               max(time) AS last_time,
               first_value(text ORDER BY time DESC, position) AS example
        FROM reject_seen
        GROUP BY cluster, source, reason
        ORDER BY rejects DESC, cluster, source, reason
    ",
    columns: &[
        Column {
            name: "cluster",
            heading: "Cluster",
            unit: Unit::Label,
            meaning: "Whose scheduler printed it.",
        },
        Column { name: "source", heading: "Source", unit: Unit::Label, meaning: "The command." },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "Why it could not be read.",
        },
        Column {
            name: "rejects",
            heading: "Pieces",
            unit: Unit::Count,
            meaning: "How many in the period.",
        },
        Column {
            name: "last_time",
            heading: "Last",
            unit: Unit::Time,
            meaning: "When the last of them was printed.",
        },
        Column {
            name: "example",
            heading: "Example",
            unit: Unit::Label,
            meaning: "The beginning of one of them.",
        },
    ],
    notes: &["Nothing here is lost: the text is kept, and counted as soon as it can be read."],
    options: &[],
    drawn: None,
};
