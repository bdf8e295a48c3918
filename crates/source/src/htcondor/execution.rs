//! One execution of a job, as far as its ad tells before it has ended.

use jiff::{SignedDuration, Timestamp};
use record::{Job, Text};

use super::{job_id, machine};
use crate::notation::classad::Ad;

/// Reads an execution from the ad of its job, in the queue or in the history: under one key in
/// both, so that the execution that has ended takes the place of the one that ran.
///
/// It has run until it was observed. What it used is not known: the queue rounds some of it up,
/// and keeps some from the execution before.
pub(super) fn execution(
    cluster: &str,
    observed: Timestamp,
    source: &str,
    ad: &Ad<'_>,
) -> Result<Job, String> {
    let global_job_id = ad.words("GlobalJobId").ok_or("the execution has no GlobalJobId")?;
    let submit_time = ad.time("QDate").ok_or("the execution has no QDate")?;
    let attempt = ad
        .integer("NumShadowStarts")
        .or_else(|| Some(ad.integer("RunInstanceID")? + 1))
        .ok_or("the execution has no NumShadowStarts")?;
    let start_time = ad.time("JobCurrentStartDate");
    let elapsed_seconds = start_time
        .map(|start| observed.as_second() - start.as_second())
        .filter(|&seconds| seconds >= 0);
    let slot = ad.words("RemoteHost");
    let gpu_ids = ad.gpu_ids("AssignedGPUs").filter(|ids| !ids.is_empty());
    let alloc_cpus = ad.integer("CpusProvisioned");
    let alloc_gpus = ad.integer("GPUsProvisioned").or_else(|| Some(gpu_ids.as_ref()?.len() as i64));
    let req_mem_mb = ad.number("RequestMemory");
    let mut job = Job {
        cluster: cluster.into(),
        job_id: job_id(&global_job_id).into(),
        submit_time,
        attempt,
        observed_time: observed,
        source: source.into(),
        array_job_id: None,
        array_task_id: None,
        het_job_id: None,
        het_offset: None,
        user: ad.words("Owner"),
        unix_group: None,
        account: account(ad),
        job_name: ad.words("JobBatchName"),
        partition: None,
        qos: None,
        reservation: None,
        state: "RUNNING".into(),
        is_complete: false,
        exit_code: None,
        exit_signal: None,
        reason: None,
        end_reason: None,
        eligible_time: None,
        start_time,
        end_time: None,
        time_limit_seconds: None,
        elapsed_seconds,
        suspended_seconds: None,
        node_list: slot.as_deref().map(|slot| machine(slot).into()),
        alloc_nodes: slot.as_ref().map(|_| 1),
        slot,
        gpu_ids: gpu_ids.map(|ids| ids.join(",").into()),
        alloc_cpus,
        alloc_mem_mb: ad.number("MemoryProvisioned"),
        alloc_gpus,
        gpu_types: None,
        req_nodes: None,
        req_cpus: ad.integer("RequestCpus"),
        req_mem_mb,
        req_gpus: ad.integer("RequestGPUs"),
        max_rss_mb: None,
        total_cpu_seconds: None,
        usage_source: None,
        cpu_efficiency: None,
        memory_efficiency: None,
        cpu_hours_wasted: None,
        memory_gb_hours_wasted: None,
        cpu_hours_reserved: None,
        memory_gb_hours_reserved: None,
        gpu_hours_reserved: None,
        gpu_utilization: None,
        gpu_memory_max_mb: None,
        gpu_usage_source: None,
        energy_joules: None,
        earlier_values: None,
    };
    job.set_usage();
    Ok(job)
}

/// When the job of an execution last began to wait for it: at its submission, or at the end of the execution
/// before, when it was back in the queue.
///
/// None if the job was ever on hold. It did not wait for a slot then, and its ad does not have the time of
/// the release.
pub(super) fn eligible_time(ad: &Ad<'_>, job: &Job) -> Option<Timestamp> {
    let was_on_hold = ad.integer("NumHolds").is_some_and(|holds| holds > 0)
        || ad.integer("LastHoldReasonCode").is_some()
        || ad.words("ReleaseReason").is_some();
    if was_on_hold {
        return None;
    }
    if job.attempt <= 1 {
        return Some(job.submit_time);
    }
    let last_start = ad.time("JobLastStartDate")?;
    let ran_seconds = ad.number("LastRemoteWallClockTime")?.round() as i64;
    last_start.checked_add(SignedDuration::from_secs(ran_seconds)).ok()
}

/// The accounting group, or the projects that the user named.
pub(super) fn account(ad: &Ad<'_>) -> Option<Text> {
    let group_of_user = || {
        let group = ad.words("AccountingGroup")?;
        Some(group.rsplit_once('.').map_or(group.as_str(), |(group, _)| group).into())
    };
    ad.words("AcctGroup")
        .or_else(group_of_user)
        .or_else(|| ad.words("ChtcProjects"))
        .or_else(|| ad.words("ProjectName"))
}
