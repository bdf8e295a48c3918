//! One job, attempt by attempt.

use report::Unit;

use super::{Analysis, AnalysisOption, Column, Values};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "job",
    question: "What became of one job?",
    sql: "
        SELECT cluster,
               job_id,
               row_number() OVER (PARTITION BY cluster, job_id ORDER BY submit_time, attempt) AS attempt,
               user,
               account,
               job_name,
               partition,
               qos,
               state,
               end_reason,
               exit_code,
               submit_time,
               eligible_time,
               start_time,
               end_time,
               CASE WHEN eligible_time <= start_time THEN seconds_between(eligible_time, start_time) END AS wait_seconds,
               elapsed_seconds,
               time_limit_seconds,
               node_list,
               coalesce(alloc_cpus, req_cpus) AS cpus,
               cpu_efficiency,
               cpu_hours_wasted,
               req_mem_mb * 1048576 AS memory_bytes,
               max_rss_mb * 1048576 AS memory_used_bytes,
               memory_efficiency,
               coalesce(alloc_gpus, req_gpus) AS gpus,
               gpu_types,
               gpu_ids,
               gpu_utilization,
               gpu_memory_max_mb * 1048576 AS gpu_memory_bytes,
               gpu_hours_reserved AS gpu_hours,
               energy_joules,
               observed_time
        FROM job
        WHERE (job_id = $job OR array_job_id = $job)
          -- The id of a task begins with its array's, and goes on with a letter before this one: so most
          -- files are skipped.
          AND job_id >= $job AND job_id < $job || '`'
          AND submit_time < $known_end
          AND (end_time >= $start OR end_time IS NULL)
        ORDER BY cluster, submit_time DESC, job_id, attempt DESC
        LIMIT 100
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "job_id", heading: "Job", unit: Unit::Label, meaning: "The job, as its scheduler names it." },
        Column { name: "attempt", heading: "Attempt", unit: Unit::Count, meaning: "Which of its attempts, from 1; one begins when the job enters the queue again." },
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Who submitted it." },
        Column { name: "account", heading: "Account", unit: Unit::Label, meaning: "What it is charged to." },
        Column { name: "job_name", heading: "Name", unit: Unit::Label, meaning: "The name that the user gave it." },
        Column { name: "partition", heading: "Partition", unit: Unit::Label, meaning: "Where it was submitted to; HTCondor has none." },
        Column { name: "qos", heading: "QOS", unit: Unit::Label, meaning: "The quality of service that it asked for." },
        Column { name: "state", heading: "State", unit: Unit::Label, meaning: "The scheduler's word." },
        Column { name: "end_reason", heading: "Ended by", unit: Unit::Label, meaning: "Who or what ended it, where the scheduler says." },
        Column { name: "exit_code", heading: "Exit code", unit: Unit::Plain, meaning: "What it returned." },
        Column { name: "submit_time", heading: "Submitted", unit: Unit::Time, meaning: "When it entered the queue." },
        Column { name: "eligible_time", heading: "Eligible", unit: Unit::Time, meaning: "When it could first have started." },
        Column { name: "start_time", heading: "Started", unit: Unit::Time, meaning: "When it started." },
        Column { name: "end_time", heading: "Ended", unit: Unit::Time, meaning: "When it ended." },
        Column { name: "wait_seconds", heading: "Wait", unit: Unit::Duration, meaning: "From eligible to start." },
        Column { name: "elapsed_seconds", heading: "Ran", unit: Unit::Duration, meaning: "The time that it ran, suspension left out." },
        Column { name: "time_limit_seconds", heading: "Time limit", unit: Unit::Duration, meaning: "The time that it could take." },
        Column { name: "node_list", heading: "Nodes", unit: Unit::Label, meaning: "The machines that it ran on." },
        Column { name: "cpus", heading: "CPUs", unit: Unit::Count, meaning: "CPUs that it held, or else asked for." },
        Column { name: "cpu_efficiency", heading: "CPU eff. %", unit: Unit::Percent, meaning: "CPU time used of CPU time held." },
        Column { name: "cpu_hours_wasted", heading: "CPU hours wasted", unit: Unit::Hours, meaning: "CPU time held and not used." },
        Column { name: "memory_bytes", heading: "Memory asked for", unit: Unit::Bytes, meaning: "Memory asked for, over all machines." },
        Column { name: "memory_used_bytes", heading: "Memory used", unit: Unit::Bytes, meaning: "The most that it held." },
        Column { name: "memory_efficiency", heading: "Memory eff. %", unit: Unit::Percent, meaning: "Largest memory used of memory asked for." },
        Column { name: "gpus", heading: "GPUs", unit: Unit::Count, meaning: "GPUs that it held, or else asked for." },
        Column { name: "gpu_types", heading: "GPU models", unit: Unit::Label, meaning: "The models of its GPUs." },
        Column { name: "gpu_ids", heading: "GPU ids", unit: Unit::Label, meaning: "The GPUs that it held, where the scheduler says." },
        Column { name: "gpu_utilization", heading: "GPU util. %", unit: Unit::Percent, meaning: "Measured use of its GPUs." },
        Column { name: "gpu_memory_bytes", heading: "GPU memory", unit: Unit::Bytes, meaning: "Largest measured GPU memory." },
        Column { name: "gpu_hours", heading: "GPU hours", unit: Unit::Hours, meaning: "GPUs times the time it ran." },
        Column { name: "energy_joules", heading: "Energy J", unit: Unit::Plain, meaning: "Energy that the scheduler accounted to it." },
        Column { name: "observed_time", heading: "Last asked", unit: Unit::Time, meaning: "When the scheduler was last asked about it." },
    ],
    notes: &[
        "The last hundred attempts; of an array, those of its tasks. A dash is what is not known.",
        "The job is looked for in the period: one that ended before it is not found.",
    ],
    options: &[JOB],
    drawn: None,
};

/// Which job.
pub(super) const JOB: AnalysisOption = AnalysisOption {
    name: "job",
    meaning: "The job, as its scheduler names it; an array's number gives its tasks",
    values: Values::Subject,
};
