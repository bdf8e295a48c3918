//! Prints the simulated cluster's jobs that wait or run as `squeue` does.

use super::arguments::{Arguments, Known, flag, value};
use super::slurm_attempt::{Attempt, Hold, State, job_id};
use super::slurm_cluster::SlurmCluster;
use super::slurm_workload::{Partition, USERS};
use super::text::{Output, memory, number, push, time_limit};
use super::{Moment, SLURM_CLUSTER};
use crate::machine::{Command, Failure};

const OPTIONS: [Known; 7] = [
    flag(&["--all", "-a"]),
    flag(&["--array", "-r"]),
    flag(&["--local"]),
    value(&["--clusters", "-M"]),
    flag(&["--noheader", "-h"]),
    value(&["--states", "-t"]),
    value(&["--Format", "-O"]),
];

/// Nothing here is in another state; what ended is forgotten at once.
const KNOWN_STATES: [&str; 5] = ["ALL", "PENDING", "PD", "RUNNING", "R"];

pub(super) fn squeue(
    cluster: &SlurmCluster,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    let states = arguments.get("--states").unwrap_or("all");
    let is_known = |state: &str| KNOWN_STATES.iter().any(|name| name.eq_ignore_ascii_case(state));
    if !states.split(',').all(is_known) {
        return Err(arguments.failure(format!(
            "squeue: error: Invalid job state specified: {states}\n\
             squeue: error: Valid job states here: {}",
            KNOWN_STATES.join(",")
        )));
    }
    let columns = columns(&arguments)?;

    let mut output = Output::new(sink);
    if let Some(name) = arguments.get("--clusters") {
        if name != SLURM_CLUSTER {
            return Err(arguments.failure(format!("squeue: error: no cluster '{name}' is known")));
        }
        push(&mut output.text, "CLUSTER: ");
        push(&mut output.text, name);
        output.text.push(b'\n');
    }
    if !arguments.has("--noheader") {
        for (_, heading, suffix) in &columns {
            push(&mut output.text, heading);
            push(&mut output.text, suffix);
        }
        output.text.push(b'\n');
    }
    let asks = |names: &[&str]| {
        states.split(',').any(|state| names.iter().any(|name| name.eq_ignore_ascii_case(state)))
    };
    let each_task = arguments.has("--array");
    let waiting = asks(&["ALL", "PENDING", "PD"]).then(|| rows(cluster, now, each_task));
    let running = asks(&["ALL", "RUNNING", "R"]).then(|| running(cluster, now));
    for row in waiting.into_iter().chain(running).flatten() {
        for (column, _, suffix) in &columns {
            match column {
                // A task that is printed by itself is named as one that runs.
                Column::JobArrayId if each_task => {
                    job_id(&mut output.text, row.attempt, row.last, false);
                }
                column => row.cell(*column, cluster, now, &mut output.text),
            }
            push(&mut output.text, suffix);
        }
        output.text.push(b'\n');
        output.flow();
    }
    output.finish();
    Ok(())
}

struct Row<'a> {
    attempt: &'a Attempt,
    /// Of tasks that wait together.
    last: &'a Attempt,
    reason: &'static str,
    state: &'static str,
}

/// The jobs that run now.
fn running(cluster: &SlurmCluster, now: Moment) -> Vec<Row<'_>> {
    let alive = cluster.alive.between(now, now);
    let attempts = alive.into_iter().map(|index| &cluster.attempts[index as usize]);
    attempts
        .filter(|attempt| attempt.state_at(now) == Some(State::Running))
        .map(|attempt| Row { attempt, last: attempt, reason: "None", state: "RUNNING" })
        .collect()
}

/// The jobs that wait now, by partition, those that come first in it first.
fn rows(cluster: &SlurmCluster, now: Moment, each_task: bool) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut gpus_of_user = [0; USERS.len()];
    for index in cluster.alive.between(now, now) {
        let attempt = &cluster.attempts[index as usize];
        match attempt.state_at(now) {
            Some(State::Running) if attempt.partition == Partition::Gpu => {
                gpus_of_user[usize::from(attempt.user)] += u32::from(attempt.need.gpus);
            }
            Some(State::Pending) => match rows.last_mut() {
                Some(row) if !each_task && row.last.waits_with(attempt) => row.last = attempt,
                _ => rows.push(Row { attempt, last: attempt, reason: "", state: "PENDING" }),
            },
            _ => {}
        }
    }
    rows.sort_by_key(|row| (row.attempt.partition.name(), row.attempt.eligible));
    let mut first_of: Option<Partition> = None;
    for row in &mut rows {
        let attempt = row.attempt;
        let gpus = gpus_of_user[usize::from(attempt.user)] + u32::from(attempt.need.gpus);
        row.reason = match attempt.hold {
            Hold::User if attempt.eligible > now => "JobHeldUser",
            Hold::Dependency if attempt.eligible > now => "Dependency",
            Hold::BeginTime if attempt.eligible > now => "BeginTime",
            _ if attempt.partition == Partition::Gpu && gpus > cluster.gpus_per_user => {
                "QOSMaxGRESPerUser"
            }
            _ if first_of == Some(attempt.partition) => "Priority",
            _ => {
                first_of = Some(attempt.partition);
                "Resources"
            }
        };
    }
    rows
}

impl Row<'_> {
    fn cell(&self, column: Column, cluster: &SlurmCluster, now: Moment, out: &mut Vec<u8>) {
        let attempt = self.attempt;
        match column {
            Column::JobArrayId => job_id(out, attempt, self.last, self.state == "PENDING"),
            Column::UserName => push(out, attempt.user().name),
            Column::Account => push(out, attempt.user().account),
            Column::Partition => push(out, attempt.partition.name()),
            Column::Qos => push(out, attempt.partition.qos()),
            Column::Name => push(out, attempt.name),
            Column::Cluster => push(out, SLURM_CLUSTER),
            Column::State => push(out, self.state),
            Column::SubmitTime => number(out, attempt.submit),
            Column::EligibleTime => {
                if attempt.is_eligible_known(now) {
                    number(out, attempt.eligible);
                } else {
                    push(out, "N/A");
                }
            }
            Column::NumNodes => number(out, attempt.need.nodes),
            Column::NumCpus => number(out, attempt.cpus()),
            Column::TresAlloc => tres(out, attempt),
            Column::TimeLimit => time_limit(out, attempt.limit_minutes),
            Column::Reason => push(out, self.reason),
            Column::OverSubscribe => push(out, "OK"),
            Column::NodeList if self.state == "PENDING" => {}
            Column::NodeList => {
                let placements = cluster.placements(attempt);
                cluster.node_list(&placements[..usize::from(attempt.need.nodes)], out);
            }
        }
    }
}

/// In squeue's own order: what a job holds, or asks for while it waits.
fn tres(out: &mut Vec<u8>, attempt: &Attempt) {
    push(out, "cpu=");
    number(out, attempt.cpus());
    push(out, ",mem=");
    memory(out, attempt.memory_mb());
    push(out, ",node=");
    number(out, attempt.need.nodes);
    push(out, ",billing=");
    number(out, attempt.cpus());
    if attempt.need.gpus > 0 {
        push(out, ",gres/gpu=");
        number(out, attempt.gpus());
        if let [pool] = attempt.pools
            && let Some(gpu_type) = pool.gpu_type()
        {
            push(out, ",gres/gpu:");
            push(out, gpu_type);
            out.push(b'=');
            number(out, attempt.gpus());
        }
    }
}

/// The columns asked for, each with its heading and the text that is to stand behind it.
fn columns<'a>(arguments: &Arguments<'a>) -> Result<Vec<(Column, &'static str, &'a str)>, Failure> {
    let Some(asked) = arguments.get("--Format") else {
        return Err(arguments.failure("squeue: error: this simulated site needs --Format"));
    };
    let mut columns = Vec::new();
    for field in asked.split(',') {
        let (asked_name, suffix) = field.split_once(':').unwrap_or((field, " "));
        let mut known = COLUMNS.into_iter();
        let Some((column, _, heading)) =
            known.find(|(_, name, _)| name.eq_ignore_ascii_case(asked_name))
        else {
            return Err(arguments.failure(format!(
                "squeue: error: Invalid job format specification: {asked_name}"
            )));
        };
        columns.push((column, heading, suffix));
    }
    Ok(columns)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    JobArrayId,
    UserName,
    Account,
    Partition,
    Qos,
    Name,
    Cluster,
    State,
    SubmitTime,
    EligibleTime,
    NumNodes,
    NumCpus,
    TresAlloc,
    TimeLimit,
    Reason,
    OverSubscribe,
    NodeList,
}

/// The columns, how they are asked for, and what squeue writes above them.
const COLUMNS: [(Column, &str, &str); 17] = [
    (Column::JobArrayId, "JobArrayID", "JOBID"),
    (Column::UserName, "UserName", "USER"),
    (Column::Account, "Account", "ACCOUNT"),
    (Column::Partition, "Partition", "PARTITION"),
    (Column::Qos, "QOS", "QOS"),
    (Column::Name, "Name", "NAME"),
    (Column::Cluster, "Cluster", "CLUSTER"),
    (Column::State, "State", "STATE"),
    (Column::SubmitTime, "SubmitTime", "SUBMIT_TIME"),
    (Column::EligibleTime, "EligibleTime", "ELIGIBLE_TIME"),
    (Column::NumNodes, "NumNodes", "NODES"),
    (Column::NumCpus, "NumCPUs", "CPUS"),
    (Column::TresAlloc, "tres-alloc", "TRES_ALLOC"),
    (Column::TimeLimit, "TimeLimit", "TIME_LIMIT"),
    (Column::Reason, "Reason", "REASON"),
    (Column::OverSubscribe, "OverSubscribe", "OVER_SUBSCRIBE"),
    (Column::NodeList, "NodeList", "NODELIST"),
];
