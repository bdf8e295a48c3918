//! What was seen of nodes in the period.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "node_seen",
    meaning: "a node's state, as far as it was seen in the period",
    sql: "
        SELECT *
        FROM node_span
        WHERE start_time < $end AND end_time > $start
    ",
};
