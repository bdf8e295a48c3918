//! Input of the period that could not be read.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "reject_seen",
    meaning: "input that was printed in the period and could not be read",
    sql: "
        SELECT *
        FROM reject
        WHERE time >= $start AND time < $end
    ",
};
