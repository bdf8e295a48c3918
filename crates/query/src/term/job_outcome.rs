//! Attempts that ended in the period, by how they ended.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "job_outcome",
    meaning: "an attempt that ended in the period. If the scheduler no longer reports an attempt and \
              its end is unknown, it counts in the period of its last observation, and its state is \
              unknown unless that is final",
    sql: "
        SELECT * EXCEPT (state),
               CASE WHEN end_time IS NOT NULL OR state NOT IN ('PENDING', 'RUNNING', 'SUSPENDED')
                    THEN state
               END AS state
        FROM job
        WHERE (end_time >= $start AND end_time < $end)
           OR (end_time IS NULL
               AND is_complete
               AND observed_time >= $start
               AND observed_time < $end
               AND state <> 'SPLIT')
    ",
};
