//! What attempts held and used on each day, added up.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "usage",
    meaning: "what attempts held and used on one day of the period, added up by user, account, \
              partition, QOS, GPU types and state: jobs counts each attempt once in the period, \
              jobs_of_day on every day that it ran",
    sql: "
        SELECT cluster, start_time, user, account, partition, qos, gpu_types, state,
               started + CASE WHEN start_time <= $start THEN carried ELSE 0 END AS jobs,
               started + carried AS jobs_of_day,
               run_seconds,
               cpu_seconds,
               gpu_seconds,
               memory_mib_seconds,
               cpu_seconds_used,
               cpu_seconds_measured,
               cpu_seconds_wasted,
               memory_mib_seconds_used,
               memory_mib_seconds_measured,
               memory_mib_seconds_wasted,
               waited,
               wait_seconds
        FROM internal.summed_job_day
        WHERE start_time >= $first_day AND start_time < $last_day
        UNION ALL
        SELECT cluster, day_start AS start_time, user, account, partition, qos, gpu_types, state,
               CASE WHEN is_start OR day_start <= $start THEN 1 ELSE 0 END AS jobs,
               1 AS jobs_of_day,
               run_seconds,
               alloc_cpus * run_seconds AS cpu_seconds,
               alloc_gpus * run_seconds AS gpu_seconds,
               req_mem_mb * run_seconds AS memory_mib_seconds,
               total_cpu_seconds * run_ratio AS cpu_seconds_used,
               CASE WHEN total_cpu_seconds IS NOT NULL
                    THEN alloc_cpus * run_seconds
               END AS cpu_seconds_measured,
               CASE WHEN total_cpu_seconds IS NOT NULL AND alloc_cpus IS NOT NULL
                    THEN greatest(alloc_cpus * run_seconds - total_cpu_seconds * run_ratio, 0)
               END AS cpu_seconds_wasted,
               CASE WHEN req_mem_mb IS NOT NULL
                    THEN max_rss_mb * run_seconds
               END AS memory_mib_seconds_used,
               CASE WHEN max_rss_mb IS NOT NULL
                    THEN req_mem_mb * run_seconds
               END AS memory_mib_seconds_measured,
               CASE WHEN req_mem_mb IS NOT NULL AND max_rss_mb IS NOT NULL
                    THEN greatest(req_mem_mb - max_rss_mb, 0) * run_seconds
               END AS memory_mib_seconds_wasted,
               CASE WHEN is_start AND eligible_time <= start_time THEN 1 ELSE 0 END AS waited,
               CASE WHEN is_start AND eligible_time <= start_time
                    THEN seconds_between(eligible_time, start_time)
               END AS wait_seconds
        FROM internal.job_piece
    ",
};
