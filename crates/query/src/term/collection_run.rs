//! Runs of sources in the period.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "collection_run",
    meaning: "a run of a source in the period",
    sql: "
        SELECT *
        FROM collection
        WHERE start_time >= $start AND start_time < $end
    ",
};
