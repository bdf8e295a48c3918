//! What to ask for next time.

use report::Unit;

use super::{ACCOUNT, Analysis, AnalysisOption, Column, GROUP, PARTITION, USER, Values};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "rightsizing",
    question: "What should jobs of this name ask for next time?",
    // In memory, what is asked and used is for each machine, as `--mem` is.
    sql: concat!(
        "
        WITH attempt AS (
            SELECT cluster,
                   user,
                   job_name,
                   source LIKE 'condor%' AS is_condor,
                   state = 'COMPLETED' AS is_complete,
                   elapsed_seconds,
                   alloc_nodes,
                   req_mem_mb / 1024 / alloc_nodes AS asked_gib,
                   max_rss_mb / 1024 / alloc_nodes AS used_gib,
                   CASE WHEN state = 'OUT_OF_MEMORY' THEN req_mem_mb / 1024 / alloc_nodes END
                       AS exceeded_gib,
                   CASE WHEN alloc_nodes = 1 THEN coalesce(req_cpus, alloc_cpus) END AS asked_cpus,
                   total_cpu_seconds / elapsed_seconds AS used_cpus,
                   time_limit_seconds,
                   CASE WHEN state = 'TIMEOUT' THEN time_limit_seconds END AS exceeded_seconds
            FROM job_ended
            WHERE state IN ('COMPLETED', 'OUT_OF_MEMORY', 'TIMEOUT')
              AND elapsed_seconds > 0
              AND alloc_nodes > 0
              AND user IS NOT NULL
              AND job_name IS NOT NULL
              AND ($job IS NULL
                   OR concat(user, ' ', job_name) IN (
                       SELECT concat(user, ' ', job_name)
                       FROM job
                       WHERE (job_id = $job OR array_job_id = $job)
                         AND submit_time < $known_end
                         AND (end_time >= $start OR end_time IS NULL)))
              AND ",
        chosen!(),
        "
        ),
        experience AS (
            SELECT cluster,
                   user,
                   job_name,
                   is_condor,
                   count(CASE WHEN is_complete THEN 1 END) AS jobs,
                   count(CASE WHEN is_complete THEN asked_gib + used_gib END) AS memory_jobs,
                   max(CASE WHEN is_complete THEN asked_gib END) AS asked_gib,
                   max(CASE WHEN is_complete THEN used_gib END) AS used_gib,
                   max(exceeded_gib) AS exceeded_gib,
                   sum(exact(CASE WHEN is_complete AND used_gib IS NOT NULL
                                  THEN asked_gib * alloc_nodes * elapsed_seconds END))
                       AS memory_gib_seconds,
                   sum(CASE WHEN is_complete AND used_gib + asked_gib IS NOT NULL
                            THEN alloc_nodes * elapsed_seconds END) AS memory_seconds,
                   count(CASE WHEN is_complete THEN asked_cpus + used_cpus END) AS cpu_jobs,
                   max(CASE WHEN is_complete THEN asked_cpus END) AS asked_cpus,
                   max(CASE WHEN is_complete THEN used_cpus END) AS used_cpus,
                   sum(CASE WHEN is_complete AND used_cpus IS NOT NULL
                            THEN asked_cpus * elapsed_seconds END) AS asked_cpu_seconds,
                   sum(CASE WHEN is_complete AND used_cpus + asked_cpus IS NOT NULL
                            THEN elapsed_seconds END) AS cpu_job_seconds,
                   max(CASE WHEN is_complete THEN alloc_nodes END) AS most_nodes,
                   max(CASE WHEN is_complete THEN elapsed_seconds END) AS longest_seconds,
                   max(CASE WHEN is_complete THEN time_limit_seconds END) AS limit_seconds,
                   sum(CASE WHEN is_complete THEN time_limit_seconds END) AS limit_seconds_sum,
                   count(CASE WHEN is_complete THEN time_limit_seconds END) AS limit_jobs,
                   max(exceeded_seconds) AS exceeded_seconds
            FROM attempt
            GROUP BY cluster, user, job_name, is_condor
            HAVING count(CASE WHEN is_complete THEN 1 END) >= 5
        ),
        enough AS (
            SELECT *,
                   CASE WHEN memory_jobs >= 5
                        THEN greatest(1.0, ceil(1.2 * used_gib), ceil(1.5 * exceeded_gib))
                   END AS enough_gib,
                   CASE WHEN cpu_jobs >= 5 AND most_nodes = 1
                        THEN greatest(1.0, ceil(round(used_cpus, 1)))
                   END AS enough_cpus,
                   900 * CAST(ceil(greatest(1.25 * longest_seconds, 1.5 * exceeded_seconds) / 900) AS BIGINT)
                       AS enough_seconds
            FROM experience
        ),
        saving AS (
            SELECT *,
                   (asked_cpu_seconds - enough_cpus * cpu_job_seconds) / 3600 AS cpu_hours_saved,
                   (CAST(memory_gib_seconds AS DOUBLE) - enough_gib * memory_seconds) / 3600
                       AS memory_gib_hours_saved,
                   limit_seconds_sum - enough_seconds * limit_jobs AS limit_seconds_saved
            FROM enough
        ),
        advice AS (
            SELECT *,
                   CASE WHEN (enough_gib < asked_gib AND memory_gib_hours_saved > 0)
                          OR (enough_gib > asked_gib AND exceeded_gib IS NOT NULL)
                        THEN enough_gib
                   END AS gib,
                   CASE WHEN enough_cpus < asked_cpus AND cpu_hours_saved > 0
                        THEN enough_cpus
                   END AS cpus,
                   CASE WHEN (enough_seconds < limit_seconds AND limit_seconds_saved > 0)
                          OR (enough_seconds > limit_seconds AND exceeded_seconds IS NOT NULL)
                        THEN enough_seconds
                   END AS seconds
            FROM saving
        ),
        saved AS (
            SELECT cluster, user, job_name, is_condor, jobs, gib, cpus, seconds,
                   CASE WHEN cpus IS NOT NULL THEN cpu_hours_saved END AS cpu_hours_saved,
                   CASE WHEN gib IS NOT NULL THEN memory_gib_hours_saved END AS memory_gib_hours_saved,
                   gib > asked_gib AS is_memory_raised,
                   seconds > limit_seconds AS is_time_raised
            FROM advice
            WHERE gib IS NOT NULL OR cpus IS NOT NULL OR seconds IS NOT NULL
        )
        SELECT cluster,
               user,
               job_name,
               jobs,
               CASE WHEN is_condor THEN 'request_memory = ' || CAST(CAST(gib AS BIGINT) AS VARCHAR) || 'GB'
                    ELSE '--mem=' || CAST(CAST(gib AS BIGINT) AS VARCHAR) || 'G'
               END AS memory,
               CASE WHEN is_condor THEN 'request_cpus = ' || CAST(CAST(cpus AS BIGINT) AS VARCHAR)
                    ELSE '--cpus-per-task=' || CAST(CAST(cpus AS BIGINT) AS VARCHAR)
               END AS cpus,
               '--time='
                   || CASE WHEN seconds >= 86400 THEN CAST(seconds / 86400 AS VARCHAR) || '-' ELSE '' END
                   || lpad(CAST(seconds % 86400 / 3600 AS VARCHAR), 2, '0') || ':'
                   || lpad(CAST(seconds % 3600 / 60 AS VARCHAR), 2, '0') || ':00' AS time,
               cpu_hours_saved,
               memory_gib_hours_saved,
               CASE WHEN is_memory_raised AND is_time_raised THEN 'memory, time'
                    WHEN is_memory_raised THEN 'memory'
                    WHEN is_time_raised THEN 'time'
               END AS raise
        FROM saved
        ORDER BY coalesce(cpu_hours_saved, 0) + coalesce(memory_gib_hours_saved, 0) / 4 DESC,
                 jobs DESC, cluster, user, job_name, is_condor
    "
    ),
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Who submitted." },
        Column { name: "job_name", heading: "Job name", unit: Unit::Label, meaning: "The jobs' name; tasks of an array have one." },
        Column { name: "jobs", heading: "Jobs", unit: Unit::Count, meaning: "Completed attempts that the advice rests on." },
        Column { name: "memory", heading: "Memory", unit: Unit::Label, meaning: "What to ask for on each machine; a dash where what was asked for fits, or too little was measured." },
        Column { name: "cpus", heading: "CPUs", unit: Unit::Label, meaning: "What to ask for, in a job of one task; a dash likewise, and for jobs over several machines." },
        Column { name: "time", heading: "Time", unit: Unit::Label, meaning: "The time limit to ask for; a dash likewise." },
        Column { name: "cpu_hours_saved", heading: "CPU hours saved", unit: Unit::Hours, meaning: "CPU hours asked for by these attempts, less what they would have held by the advice." },
        Column { name: "memory_gib_hours_saved", heading: "Memory GiB h saved", unit: Unit::GibibyteHours, meaning: "Memory GiB hours asked for by these attempts, less what they would have held by the advice; below zero where more is advised." },
        Column { name: "raise", heading: "Raise", unit: Unit::Label, meaning: "What to ask more of, since jobs of this name ran out of it." },
    ],
    notes: &[
        "Of jobs of one user and name with at least five attempts that ended COMPLETED in the period and were measured.",
        "Memory: the largest that was used, and a fifth more, since it is sampled; in whole GiB. CPUs: the largest mean number that was busy in an attempt, to a tenth and then rounded up; a job that uses more for part of its time would take longer. Time: the longest run and a quarter more, in quarters of an hour.",
        "Less is advised where these attempts would have held less in all; where they asked for different amounts, some may have asked for less than is advised.",
        "More than was asked for is advised only where jobs of the name ended OUT_OF_MEMORY or TIMEOUT: half more than those had asked for, at least.",
        "The largest saving comes first, four GiB of memory counting as much as one CPU.",
    ],
    options: &[
        USER,
        GROUP,
        ACCOUNT,
        PARTITION,
        AnalysisOption {
            name: "job",
            meaning: "Only those that have the user and the name of this job",
            values: Values::Filter,
        },
    ],
    drawn: None,
};
