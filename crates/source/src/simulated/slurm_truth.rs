//! What happened on the simulated SLURM cluster.

use super::slurm_attempt::{Attempt, State, job_id};
use super::slurm_cluster::SlurmCluster;
use super::slurm_nodes::OutageKind;
use super::slurm_usage::Usage;
use super::truth::{TrueAttempt, TrueOutage, Truth};
use super::{Moment, NEVER, SLURM_CLUSTER, timestamp, timestamp_if_come};

pub(super) fn add(cluster: &SlurmCluster, end: Moment, truth: &mut Truth) {
    let mut attempts = cluster.attempts.iter().peekable();
    while let Some(first) = attempts.next() {
        let mut last = first;
        // Tasks of an array that never left the queue are one row of accounting.
        while let Some(next) = attempts.next_if(|next| {
            matches!(first.state, State::Pending | State::CancelledWaiting)
                && last.waits_with(next)
                && next.state == first.state
                && next.end == first.end
        }) {
            last = next;
        }
        truth.attempts.push(attempt(cluster, first, last));
    }
    for outage in cluster.outages.iter().filter(|outage| outage.start <= end) {
        truth.outages.push(TrueOutage {
            cluster: SLURM_CLUSTER,
            node: cluster.nodes[usize::from(outage.node)].name.clone(),
            start: timestamp(outage.start),
            end: timestamp_if_come(outage.end),
            kind: match outage.kind {
                OutageKind::Down | OutageKind::NotResponding => "DOWN",
                OutageKind::Drain => "DRAIN",
            },
            reason: outage.reason,
        });
    }
}

fn attempt(cluster: &SlurmCluster, first: &Attempt, last: &Attempt) -> TrueAttempt {
    let is_waiting = matches!(first.state, State::Pending | State::CancelledWaiting);
    let mut id = Vec::new();
    job_id(&mut id, first, last, is_waiting);
    let usage = Usage::of(first);
    let was_eligible = first.eligible != NEVER && first.eligible <= first.end;
    TrueAttempt {
        cluster: SLURM_CLUSTER,
        job_id: String::from_utf8_lossy(&id).into_owned(),
        restarts: i64::from(first.restarts),
        user: first.user().name,
        account: first.user().account,
        partition: Some(first.partition.name()),
        nodes: cluster
            .placements(first)
            .iter()
            .map(|placement| cluster.nodes[usize::from(placement.node)].name.clone())
            .collect(),
        state: first.state.name(),
        submit: timestamp(first.submit),
        eligible: was_eligible.then(|| timestamp(first.eligible)),
        start: timestamp_if_come(first.start),
        end: timestamp_if_come(first.end),
        cpus: i64::from(first.cpus()),
        memory_mb: first.memory_mb() as i64,
        gpus: i64::from(first.gpus()),
        total_cpu_seconds: usage.map(|usage| usage.cpu_milliseconds() as f64 / 1000.0),
        max_rss_mb: usage
            .and_then(|usage| usage.max_resident_pages(first.need.nodes))
            .map(|pages| f64::from(pages) / 256.0),
        gpu_use_ratio: (first.need.gpus > 0).then_some(f64::from(first.plan.gpu_use)),
    }
}
