//! One GPU at one observation.

use jiff::Timestamp;

use crate::Text;

record! {
    "One GPU at one observation, until its day is compacted into spans."
    pub struct GpuSample in "gpu_sample" key [machine, gpu_id, time] sort [machine, gpu_id, time] moment time observed time {
        machine: Text, "", "The machine that holds the GPU.";
        gpu_id: Text, "", "The GPU, in one spelling.";
        time: Timestamp, "UTC", "When it was observed.";
        device_name: Option<Text>, "", "The model.";
        device_memory_mb: Option<i64>, "MiB", "The GPU's memory.";
        capability: Option<f64>, "", "CUDA compute capability.";
        primary_slot: Option<Text>, "", "The slot that offers it first, without its machine's name; of SLURM a partition.";
        primary_state: Option<Text>, "", "That slot's state; unknown where no such slot was seen. Of SLURM Claimed, Unclaimed, or why the node takes no jobs, such as Down.";
        primary_user: Option<Text>, "", "Who holds it there.";
        primary_job_id: Option<Text>, "", "The job that holds it there.";
        prevent_reason: Option<Text>, "", "Why the machine takes no jobs.";
        availability: Option<Text>, "", "Whether the machine takes jobs: up, draining, drained, down, maintenance, rebooting, prevented or unknown; null in rows of older versions.";
        prioritized_projects: Option<Text>, "", "The projects that come first on the machine.";
        interactive: Option<bool>, "", "Whether the slot is for interactive work.";
        backfill_slot: Option<Text>, "", "The slot that offers it for backfill, likewise.";
        backfill_state: Option<Text>, "", "That slot's state.";
        backfill_user: Option<Text>, "", "Who holds it there.";
        backfill_job_id: Option<Text>, "", "The job that holds it there.";
        use_ratio: Option<f64>, "0 to 1", "Measured use; unknown where it was not measured.";
    }
}
