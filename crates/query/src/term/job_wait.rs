//! How long attempts waited for their start.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "job_wait",
    meaning: "an attempt that started in the period, with wait_seconds from eligible to start \
              (unknown where the scheduler does not say when it was eligible), or that was \
              eligible and still waited at the period's end (is_waiting); gpu_model is `none` \
              without GPUs, size a class of its GPUs, or of its CPUs if it has none",
    // A job that has not ended and is not complete was in the queue when it was last looked at.
    sql: "
        SELECT *,
               CASE WHEN gpus = 0 THEN 'none'
                    ELSE regexp_replace(gpu_types, '=[0-9]+', '', 'g')
               END AS gpu_model,
               CASE WHEN gpus = 1 THEN '1 GPU'
                    WHEN gpus BETWEEN 2 AND 4 THEN '2-4 GPUs'
                    WHEN gpus BETWEEN 5 AND 8 THEN '5-8 GPUs'
                    WHEN gpus > 8 THEN '9+ GPUs'
                    WHEN cpus <= 1 THEN '1 CPU'
                    WHEN cpus <= 8 THEN '2-8 CPUs'
                    WHEN cpus <= 32 THEN '9-32 CPUs'
                    WHEN cpus <= 128 THEN '33-128 CPUs'
                    WHEN cpus > 128 THEN '129+ CPUs'
               END AS size
        FROM (
            SELECT *,
                   start_time IS NULL OR start_time >= $end AS is_waiting,
                   CASE WHEN start_time < $end AND eligible_time <= start_time
                        THEN seconds_between(eligible_time, start_time)
                   END AS wait_seconds,
                   coalesce(alloc_gpus, req_gpus) AS gpus,
                   coalesce(alloc_cpus, req_cpus) AS cpus
            FROM job
            WHERE (start_time >= $start AND start_time < $end)
               OR (eligible_time < $end
                   AND (start_time >= $end
                        OR (start_time IS NULL AND end_time >= $end)
                        OR (start_time IS NULL AND end_time IS NULL AND NOT is_complete)))
        )
    ",
};
