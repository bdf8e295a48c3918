//! How jobs stand at the end of the period, or ended in it.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "job_outcome",
    meaning: "an attempt that ended in the period, or that had not ended when it was last observed",
    sql: "
        SELECT *
        FROM job
        WHERE (end_time >= $start AND end_time < $end)
           OR (end_time IS NULL
               AND submit_time < $end
               AND (observed_time >= $start OR NOT is_complete)
               AND state <> 'SPLIT')
    ",
};
