//! Attempts that ended in the period.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "job_ended",
    meaning: "an attempt that ended in the period",
    sql: "
        SELECT *
        FROM job
        WHERE end_time >= $start AND end_time < $end
    ",
};
