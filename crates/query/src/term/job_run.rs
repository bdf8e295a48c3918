//! A job's time on the machine, cut to the period.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "job_run",
    meaning: "the part of an attempt's run that lies in the period: from_time to to_time, \
              run_seconds of it not suspended, run_ratio of the whole run; one that still runs \
              is known until it was last observed",
    sql: "
        SELECT *,
               run_rate * seconds_between(from_time, to_time) AS run_seconds,
               CASE WHEN whole_seconds > 0
                    THEN seconds_between(from_time, to_time) / whole_seconds
                    ELSE 1.0
               END AS run_ratio
        FROM (
            SELECT *,
                   greatest(start_time, $start) AS from_time,
                   greatest(start_time, least(coalesce(end_time, observed_time), $end)) AS to_time,
                   seconds_between(start_time, coalesce(end_time, observed_time)) AS whole_seconds,
                   CASE WHEN elapsed_seconds >= 0
                         AND elapsed_seconds < seconds_between(start_time, coalesce(end_time, observed_time))
                        THEN elapsed_seconds / seconds_between(start_time, coalesce(end_time, observed_time))
                        ELSE 1.0
                   END AS run_rate
            FROM job
            WHERE start_time < $end
              AND (start_time >= $start
                   OR end_time > $start
                   OR (end_time IS NULL AND observed_time > $start))
        )
    ",
};
