//! The queue now.

use std::cmp::Reverse;

use jiff::Timestamp;
use record::{JobCount, Live};
use report::{Unit, Value};

use super::{Look, count, known_text, text, time};
use crate::analysis::Column;
use crate::metric::is_waiting;

pub static LOOK: Look = Look {
    name: "queue",
    question: "Who runs and waits for what now?",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "The scheduler's word.",
        },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "Why they wait, without the names of nodes.",
        },
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Whose they are." },
        Column {
            name: "account",
            heading: "Account",
            unit: Unit::Label,
            meaning: "What they are charged to.",
        },
        Column {
            name: "partition",
            heading: "Partition",
            unit: Unit::Label,
            meaning: "Where they are, or may start.",
        },
        Column {
            name: "jobs",
            heading: "Jobs",
            unit: Unit::Count,
            meaning: "How many, each task of an array counted.",
        },
        Column {
            name: "cpus",
            heading: "CPUs",
            unit: Unit::Count,
            meaning: "CPUs that they hold, or ask for while they wait.",
        },
        Column { name: "gpus", heading: "GPUs", unit: Unit::Count, meaning: "GPUs, likewise." },
        Column {
            name: "eligible_time",
            heading: "Waiting since",
            unit: Unit::Time,
            meaning: "When the first of those that could start could.",
        },
    ],
    rows,
    notes: &["Those that wait come first, then by GPUs and CPUs."],
};

fn rows(lives: &[&Live], _now: Timestamp) -> Vec<Vec<Value>> {
    let mut jobs: Vec<(&str, &JobCount)> = lives
        .iter()
        .flat_map(|live| {
            let seen = live.jobs.iter().flat_map(|seen| &seen.rows);
            seen.map(|jobs| (live.cluster.as_str(), jobs))
        })
        .collect();
    jobs.sort_by_key(|(cluster, jobs)| {
        let size = (Reverse(jobs.gpus), Reverse(jobs.cpus), Reverse(jobs.jobs));
        let names = (&jobs.user, &jobs.partition, &jobs.state, &jobs.reason, &jobs.account);
        (!is_waiting(jobs), size, *cluster, names, &jobs.access_point)
    });
    let row = |(cluster, jobs): &(&str, &JobCount)| {
        vec![
            text(cluster),
            text(&jobs.state),
            known_text(jobs.reason.as_deref()),
            known_text(jobs.user.as_deref()),
            known_text(jobs.account.as_deref()),
            known_text(jobs.partition.as_deref()),
            Value::Integer(jobs.jobs),
            count(jobs.cpus),
            count(jobs.gpus),
            time(jobs.eligible_time),
        ]
    };
    jobs.iter().map(row).collect()
}
