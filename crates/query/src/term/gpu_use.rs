//! The time of GPUs, added up by GPU and state.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "gpu_use",
    meaning: "seconds of gpu_time added up by GPU and state: the same columns, without moments, \
              slots, users and jobs. gpus is 1 in one row of each GPU and 0 in the others, that of \
              its longest state, which also has unseen_seconds, the time of the period for which \
              nothing is known of it: so gpus add up to the GPUs, and seconds and unseen_seconds \
              to GPUs times the period",
    // Spans are added up by what they say before anything is judged: there are millions of spans
    // and thousands of these. What a mask leaves out for a part of the period is unseen there.
    sql: concat!(
        "
        SELECT * EXCEPT (is_institution, is_prioritized, is_prioritized_machine,
                         is_backfill_claimed, projects_said, has_backfill, masked, hidden,
                         policy, microseconds, seen, place),
               microseconds / 1e6 AS seconds,
               CASE WHEN place = 1 THEN 1 ELSE 0 END AS gpus,
               CASE WHEN place = 1
                    THEN seconds_between($start, $known_end) - seen / 1e6
                    ELSE 0.0
               END AS unseen_seconds
        FROM (
            SELECT *,
                   sum(microseconds) OVER (PARTITION BY cluster, machine, gpu_id) AS seen,
                   row_number() OVER (
                       PARTITION BY cluster, machine, gpu_id
                       ORDER BY microseconds DESC, ",
        gpu_state_columns!(),
        "
                   ) AS place
            FROM ",
        gpu_shown!(concat!(
            "(
                        SELECT *,
                               bool_or(projects_said) OVER (PARTITION BY cluster, machine)
                                   AS machine_projects
                        FROM (
                            SELECT cluster, machine, gpu_id, ",
            gpu_state_columns!(),
            ",
                                   sum(arrow_cast(to_time, 'Int64') - arrow_cast(from_time, 'Int64'))
                                       AS microseconds
                            FROM ",
            gpu_cut!(),
            "
                            GROUP BY cluster, machine, gpu_id, ",
            gpu_state_columns!(),
            "
                        )
                    )"
        )),
        "
        )
    "
    ),
};
