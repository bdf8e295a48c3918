//! Prints the simulated cluster's jobs as `scontrol --details show job` does: those that run. Those
//! that wait hold nothing, and are printed by squeue.

use std::io::Write;

use super::Moment;
use super::slurm_attempt::{Attempt, Part, State};
use super::slurm_cluster::SlurmCluster;
use super::slurm_scontrol::index_ranges;
use super::text::Output;

pub(super) fn show_jobs(
    cluster: &SlurmCluster,
    now: Moment,
    with_details: bool,
    sink: &mut dyn FnMut(&[u8]),
) {
    let mut output = Output::new(sink);
    let mut any = false;
    for index in cluster.alive.between(now, now) {
        let attempt = &cluster.attempts[index as usize];
        if attempt.state_at(now) == Some(State::Running) {
            line(&mut output.text, cluster, attempt, with_details, now);
            output.flow();
            any = true;
        }
    }
    if !any {
        output.text.extend_from_slice(b"No jobs in the system\n");
    }
    output.finish();
}

fn line(
    out: &mut Vec<u8>,
    cluster: &SlurmCluster,
    attempt: &Attempt,
    with_details: bool,
    now: Moment,
) {
    // Vec<u8> takes whatever is written to it, so that no write here can fail.
    let mut say = |text: std::fmt::Arguments| {
        let _ = out.write_fmt(text);
    };
    let Attempt { id, name, submit, eligible, start, restarts, partition, .. } = attempt;
    match attempt.part {
        Part::Whole => say(format_args!("JobId={id} ")),
        Part::Task { array, task } => {
            say(format_args!("JobId={id} ArrayJobId={array} ArrayTaskId={task} "));
        }
        Part::Component { job, offset } => {
            say(format_args!("JobId={id} HetJobId={job} HetJobOffset={offset} "));
        }
    }
    let (user, uid) = (attempt.user(), attempt.uid());
    say(format_args!(
        "JobName={name} UserId={user}({uid}) GroupId={user}({uid}) MCS_label=N/A Priority=1000 Nice=0 \
         Account={account} QOS={qos} WCKey=* JobState=RUNNING Reason=None Dependency=(null) Requeue=1 \
         Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime={elapsed} \
         TimeLimit={limit} TimeMin=N/A SubmitTime={submit} EligibleTime={eligible} \
         AccrueTime={eligible} StartTime={start} Deadline=N/A SuspendTime=None SecsPreSuspend=0 \
         Scheduler=Main Partition={partition} AllocNode:Sid=login01:3424 ReqNodeList=(null) \
         ExcNodeList=(null) NumNodes={nodes} NumCPUs={cpus}",
        user = user.name,
        account = user.account,
        qos = partition.qos(),
        elapsed = now - start,
        limit = attempt.limit_minutes,
        partition = partition.name(),
        nodes = attempt.need.nodes,
        cpus = attempt.cpus(),
    ));
    if with_details {
        match (attempt.need.gpus, cluster.gpu_type(attempt)) {
            (1.., Some(model)) => say(format_args!(" JOB_GRES=gpu:{model}:{} ", attempt.gpus())),
            _ => say(format_args!(" JOB_GRES=(null) ")),
        }
        for placement in cluster.placements(attempt) {
            let node = &cluster.nodes[usize::from(placement.node)];
            say(format_args!("  Nodes={} CPU_IDs=0 Mem={} GRES=", node.name, placement.memory_mb));
            if let (1.., Some(model)) = (placement.gpus, node.pool.gpu_type()) {
                let (count, indexes) = (placement.gpus.count_ones(), index_ranges(placement.gpus));
                say(format_args!("gpu:{model}:{count}(IDX:{indexes})"));
            }
        }
    }
    say(format_args!(
        " MinCPUsNode=1 MinTmpDiskNode=0 Command=(null) WorkDir=/home/{}\n",
        user.name
    ));
}
