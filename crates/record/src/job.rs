//! One attempt of a job, as its scheduler accounted for it.

use jiff::Timestamp;

use crate::Text;

record! {
    "One attempt of a job: a requeue, a preemption or an eviction ends one and begins another."
    pub struct Job in "job" key [job_id, submit_time, attempt] sort [user, submit_time] moment submit_time observed observed_time merge job_merge {
        job_id: Text, "", "The job, as its scheduler names it; an array's task is `16_5`, its tasks that wait together `18_[]`, a part of a heterogeneous job `24+1`.";
        submit_time: Timestamp, "UTC", "When this attempt entered the queue.";
        attempt: i64, "", "Tells rows with one submit time apart: 0 in SLURM but for rare duplicates; HTCondor counts its executions.";
        observed_time: Timestamp, "UTC", "When the scheduler was asked; a running job is known until then.";
        source: Text, "", "The command that printed it, or `elasticsearch`; `squeue` has those that wait and that `sacct` does not show yet.";
        array_job_id: Option<Text> [kept], "", "The array that it is a task of.";
        array_task_id: Option<Text> [kept], "", "Its number in the array; a range while tasks wait together.";
        het_job_id: Option<Text> [kept], "", "The heterogeneous job that it is a part of.";
        het_offset: Option<i64> [kept], "", "Which part of the heterogeneous job it is.";
        user: Option<Text> [kept], "", "Who submitted it; unknown if the account was deleted before the job was first collected.";
        unix_group: Option<Text> [kept], "", "The submitter's unix group.";
        account: Option<Text> [kept], "", "The account or project that it is charged to.";
        job_name: Option<Text> [kept], "", "The name that the user gave it.";
        partition: Option<Text> [kept], "", "The partition or partitions that it was submitted to.";
        qos: Option<Text> [kept], "", "The quality of service that it asked for.";
        reservation: Option<Text> [kept], "", "The reservation that it ran in.";
        state: Text, "", "The scheduler's word for where it stands, without flags.";
        is_complete: bool, "", "Whether the state is final.";
        exit_code: Option<i64>, "", "What it returned.";
        exit_signal: Option<i64>, "", "The signal that ended it; 0 is none.";
        reason: Option<Text>, "", "Why it last waited.";
        end_reason: Option<Text>, "", "Who or what ended it, where the scheduler says.";
        eligible_time: Option<Timestamp> [kept], "UTC", "When it could first have started.";
        start_time: Option<Timestamp> [kept], "UTC", "When it started, or when a change of size began this part of it; unknown while it waits.";
        end_time: Option<Timestamp>, "UTC", "When it ended; unknown while it runs.";
        time_limit_seconds: Option<i64> [ended], "s", "The time that it may take; unknown where there is no limit.";
        elapsed_seconds: Option<i64> [ended], "s", "The time that it ran, suspension left out.";
        suspended_seconds: Option<i64> [ended], "s", "The time that it was suspended.";
        node_list: Option<Text> [kept], "", "The machines that it ran on, as the scheduler writes them.";
        slot: Option<Text> [kept], "", "The slot that it ran in (HTCondor).";
        gpu_ids: Option<Text> [kept], "", "The GPUs that it held, separated by commas.";
        alloc_nodes: Option<i64> [kept], "", "Machines allocated.";
        alloc_cpus: Option<i64> [kept], "", "CPUs allocated.";
        alloc_mem_mb: Option<f64> [kept], "MiB", "Memory allocated, over all machines.";
        alloc_gpus: Option<i64> [kept], "", "GPUs allocated; unknown where the scheduler does not account for them.";
        gpu_types: Option<Text> [kept], "", "GPUs allocated by model, such as `a100=2,h100=1`.";
        req_nodes: Option<i64> [kept], "", "Machines asked for.";
        req_cpus: Option<i64> [kept], "", "CPUs asked for.";
        req_mem_mb: Option<f64> [kept], "MiB", "Memory asked for, over all machines.";
        req_gpus: Option<i64> [kept], "", "GPUs asked for.";
        max_rss_mb: Option<f64> [measured], "MiB", "The most resident memory that it held over all machines, as `req_mem_mb` is over all: of its largest step, the sum over tasks of the most that each had. Sampled; unknown while it runs.";
        total_cpu_seconds: Option<f64> [measured], "s", "CPU time that it used, over all its steps; unknown while it runs and where it was not measured.";
        usage_source: Option<Text> [measured], "", "Where CPU time and memory come from, such as `sacct` or `slurm-usage`; `sacct+slurm-usage` is CPU time from the first and memory from the second.";
        cpu_efficiency: Option<f64> [derived], "%", "CPU time used of CPU time held, at most 100.";
        memory_efficiency: Option<f64> [derived], "%", "Largest memory used of memory asked for, at most 100.";
        cpu_hours_wasted: Option<f64> [derived], "h", "CPU time held and not used.";
        memory_gb_hours_wasted: Option<f64> [derived], "GiB h", "Memory asked for and never used, times the time it ran.";
        cpu_hours_reserved: Option<f64> [derived], "h", "CPUs times the time it ran.";
        memory_gb_hours_reserved: Option<f64> [derived], "GiB h", "Memory asked for times the time it ran.";
        gpu_hours_reserved: Option<f64> [derived], "h", "GPUs times the time it ran.";
        gpu_utilization: Option<f64> [measured], "%", "Measured use of its GPUs, on average over them; `gpu_usage_source` says of what: `JS1` and `GPUsAverageUsage` are means over time, `gres/gpuutil` is the largest sample.";
        gpu_memory_max_mb: Option<f64> [measured], "MiB", "Largest measured GPU memory; in SLURM over all of its GPUs.";
        gpu_usage_source: Option<Text> [measured], "", "Where the measured GPU use comes from: `JS1`, `gres/gpuutil`, `gres/gpumem` or `GPUsAverageUsage`; of two joined by `+` the second is that of the memory.";
        energy_joules: Option<f64> [largest], "J", "Energy that the scheduler accounted to it.";
        earlier_values: Option<Text> [derived], "", "Columns whose value is not from the latest observation, each with the source, phase and time of the one that it comes from: `qos=squeue/waiting/2026-01-01T11:00:00Z`.";
    }
}

impl Job {
    /// Computes the columns that follow from the others.
    pub fn set_usage(&mut self) {
        let usage = Usage::of(
            self.elapsed_seconds,
            self.alloc_cpus,
            self.req_mem_mb,
            self.alloc_gpus,
            self.total_cpu_seconds,
            self.max_rss_mb,
        );
        self.cpu_efficiency = usage.cpu_efficiency;
        self.memory_efficiency = usage.memory_efficiency;
        self.cpu_hours_wasted = usage.cpu_hours_wasted;
        self.memory_gb_hours_wasted = usage.memory_gb_hours_wasted;
        self.cpu_hours_reserved = usage.cpu_hours_reserved;
        self.memory_gb_hours_reserved = usage.memory_gb_hours_reserved;
        self.gpu_hours_reserved = usage.gpu_hours_reserved;
    }

    /// Names the source of the CPU time and memory that were measured.
    pub fn set_usage_source(&mut self, source: &str) {
        let is_measured = self.total_cpu_seconds.is_some() || self.max_rss_mb.is_some();
        self.usage_source = is_measured.then(|| source.into());
    }
}

/// What follows from a job's measurements, by the formulas that slurm-usage made known.
///
/// Every value is unknown where one that it rests on is.
#[derive(Debug, Default, PartialEq)]
pub struct Usage {
    pub cpu_efficiency: Option<f64>,
    pub memory_efficiency: Option<f64>,
    pub cpu_hours_wasted: Option<f64>,
    pub memory_gb_hours_wasted: Option<f64>,
    pub cpu_hours_reserved: Option<f64>,
    pub memory_gb_hours_reserved: Option<f64>,
    pub gpu_hours_reserved: Option<f64>,
}

impl Usage {
    pub fn of(
        elapsed_seconds: Option<i64>,
        cpus: Option<i64>,
        req_mem_mb: Option<f64>,
        gpus: Option<i64>,
        total_cpu_seconds: Option<f64>,
        max_rss_mb: Option<f64>,
    ) -> Usage {
        let Some(elapsed_seconds) = elapsed_seconds.map(|seconds| seconds as f64) else {
            return Usage::default();
        };
        let hours = elapsed_seconds / 3600.0;
        let cpu_seconds_held = cpus.map(|cpus| cpus as f64 * elapsed_seconds);
        let memory_gb = req_mem_mb.map(|megabytes| megabytes / 1024.0);
        Usage {
            cpu_efficiency: both(total_cpu_seconds, cpu_seconds_held).and_then(share_percent),
            memory_efficiency: both(max_rss_mb, req_mem_mb).and_then(share_percent),
            cpu_hours_wasted: both(total_cpu_seconds, cpu_seconds_held)
                .map(|(used, held)| ((held - used) / 3600.0).max(0.0)),
            memory_gb_hours_wasted: both(max_rss_mb, req_mem_mb)
                .map(|(used, asked)| ((asked - used) / 1024.0 * hours).max(0.0)),
            cpu_hours_reserved: cpus.map(|cpus| cpus as f64 * hours),
            memory_gb_hours_reserved: memory_gb.map(|memory| memory * hours),
            gpu_hours_reserved: gpus.map(|gpus| gpus as f64 * hours),
        }
    }
}

/// Whether a state is one that a job does not leave. A state that is not known counts as one
/// that it may leave, so that it is asked for again.
pub fn is_final_state(state: &str) -> bool {
    // The final states of the sacct manual page, and HTCondor's ends of an execution.
    const FINAL: [&str; 16] = [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "REVOKED",
        "TIMEOUT",
        "EVICTED",
        "REMOVED",
        "RESIZED",
    ];
    FINAL.contains(&state)
}

fn both(used: Option<f64>, held: Option<f64>) -> Option<(f64, f64)> {
    used.zip(held)
}

fn share_percent((used, held): (f64, f64)) -> Option<f64> {
    (held > 0.0).then(|| (100.0 * used / held).min(100.0))
}
