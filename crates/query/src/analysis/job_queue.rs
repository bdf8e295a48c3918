//! What one job waited for.

use report::Unit;

use super::job::JOB;
use super::{Analysis, Column};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "job-queue",
    question: "What did one job wait for?",
    sql: "
        SELECT cluster, job_id, state, reason, tasks, start_time, last_seen_time,
               seconds_between(start_time, end_time) AS seconds
        FROM queue_span
        WHERE (job_id = $job
               OR split_part(job_id, '_', 1) = $job
               OR job_id = split_part($job, '_', 1) || '_[]')
          AND start_time < $known_end
          AND end_time > $start
        ORDER BY cluster, start_time, job_id
        LIMIT 100
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "job_id",
            heading: "Job",
            unit: Unit::Label,
            meaning: "The job; tasks of an array that wait together are `18_[]`.",
        },
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "The scheduler's word.",
        },
        Column { name: "reason", heading: "Reason", unit: Unit::Label, meaning: "Why it waited." },
        Column {
            name: "tasks",
            heading: "Tasks",
            unit: Unit::Count,
            meaning: "How many tasks waited together.",
        },
        Column {
            name: "start_time",
            heading: "From",
            unit: Unit::Time,
            meaning: "When it was first seen to wait so.",
        },
        Column {
            name: "last_seen_time",
            heading: "Last seen",
            unit: Unit::Time,
            meaning: "When it was last seen to wait so.",
        },
        Column {
            name: "seconds",
            heading: "For",
            unit: Unit::Duration,
            meaning: "For how long that held.",
        },
    ],
    notes: &[
        "What a look at the queue saw holds until the next look. Jobs that do not wait for GPUs in HTCondor are not seen to wait.",
    ],
    options: &[JOB],
    drawn: None,
};
