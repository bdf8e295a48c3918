//! What waited, on each day.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "queue_waited",
    meaning: "a job's waiting for one reason on one day of the period; reason is without the names \
              of nodes, seconds are those of each of its tasks",
    sql: "
        SELECT queued.cluster, job_id, user, account, partition, qos, state,
               waited_for AS reason,
               task_count AS tasks,
               req_cpus, req_gpus, from_time, to_time,
               day.start_time AS day_start,
               seconds_between(
                   greatest(queued.from_time, day.start_time),
                   greatest(queued.from_time, least(queued.to_time, day.end_time))
               ) AS seconds
        FROM (
            SELECT cluster, job_id, user, account, partition, qos, state,
                   coalesce(trim(split_part(split_part(split_part(reason, ',', 1), '(', 1), ':', 1)),
                            'none') AS waited_for,
                   coalesce(tasks, 1) AS task_count,
                   req_cpus, req_gpus,
                   greatest(start_time, $start) AS from_time,
                   least(end_time, $end) AS to_time,
                   unnest(days_touched(greatest(start_time, $start), least(end_time, $end)))
                       AS day_date
            FROM queue_span
            WHERE start_time < $end AND end_time > $start
        ) AS queued
        JOIN day ON day.date = queued.day_date
    ",
};
