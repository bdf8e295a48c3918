//! What happened in the simulated HTCondor pool.

use super::condor_machines::OutageKind;
use super::condor_pool::{CondorPool, Ending, Execution};
use super::truth::{TrueAttempt, TrueGpuInterval, TrueOutage, Truth};
use super::{CONDOR_POOL, Moment, timestamp, timestamp_if_come};

pub(super) fn add(pool: &CondorPool, end: Moment, truth: &mut Truth) {
    truth.attempts.extend(pool.executions.iter().map(|execution| attempt(pool, execution)));
    let job_id = |job: Option<u32>| job.map(|job| pool.jobs[job as usize].id());
    truth.gpu_intervals.extend(pool.gpu_intervals.iter().map(|interval| {
        let machine = &pool.machines[usize::from(interval.machine)];
        TrueGpuInterval {
            machine: machine.name.clone(),
            gpu_id: format!("GPU-{:08x}", machine.gpus[usize::from(interval.gpu)]),
            start: timestamp(interval.start),
            end: timestamp(interval.end),
            primary: job_id(interval.primary),
            backfill: job_id(interval.backfill),
            drained: interval.drained,
        }
    }));
    for outage in pool.outages.iter().filter(|outage| outage.start <= end) {
        truth.outages.push(TrueOutage {
            cluster: CONDOR_POOL,
            node: pool.machines[usize::from(outage.machine)].name.clone(),
            start: timestamp(outage.start),
            end: timestamp_if_come(outage.end),
            kind: match outage.kind {
                OutageKind::Drain => "DRAIN",
                OutageKind::Absent => "ABSENT",
                OutageKind::Prevented => "PREVENTED",
            },
            reason: outage.reason,
        });
    }
}

fn attempt(pool: &CondorPool, execution: &Execution) -> TrueAttempt {
    let job = &pool.jobs[execution.job as usize];
    let measured = execution.measured(job);
    TrueAttempt {
        cluster: CONDOR_POOL,
        job_id: job.id(),
        restarts: i64::from(execution.number) - 1,
        user: job.user.name,
        account: job.user.group,
        partition: None,
        nodes: vec![pool.machines[usize::from(execution.machine)].name.clone()],
        state: match execution.ending {
            Ending::Running => "RUNNING",
            Ending::Exited { code: 0, signal: 0 } => "COMPLETED",
            Ending::Exited { .. } => "FAILED",
            Ending::Vacated(_) => "EVICTED",
        },
        submit: timestamp(job.submit),
        // An eviction puts the job back into the queue at once.
        eligible: Some(timestamp(execution.last_run.map_or(job.submit, |(_, end)| end))),
        start: Some(timestamp(execution.start)),
        end: timestamp_if_come(execution.end),
        cpus: i64::from(job.cpus),
        memory_mb: i64::from(job.memory_mb),
        gpus: i64::from(job.gpus),
        total_cpu_seconds: measured.map(|measured| measured.user_cpu + measured.system_cpu),
        max_rss_mb: measured.map(|measured| measured.resident_kb as f64 / 1024.0),
        gpu_use_ratio: Some(job.gpu_ratio()),
    }
}
