//! One GPU at one observation.

use jiff::Timestamp;

record! {
    "One GPU at one observation, until its day is compacted into spans."
    pub struct GpuSample in "gpu_sample" key [machine, gpu_id, time] sort [machine, gpu_id, time] moment time observed time {
        machine: String, "", "The machine that holds the GPU.";
        gpu_id: String, "", "The GPU, in one spelling.";
        time: Timestamp, "UTC", "When it was observed.";
        device_name: Option<String>, "", "The model.";
        device_memory_mb: Option<i64>, "MiB", "The GPU's memory.";
        capability: Option<f64>, "", "CUDA compute capability.";
        primary_slot: Option<String>, "", "The slot that offers it first, without its machine's name; of SLURM a partition.";
        primary_state: Option<String>, "", "That slot's state; unknown where no such slot was seen.";
        primary_user: Option<String>, "", "Who holds it there.";
        primary_job_id: Option<String>, "", "The job that holds it there.";
        prevent_reason: Option<String>, "", "Why the machine takes no jobs.";
        prioritized_projects: Option<String>, "", "The projects that come first on the machine.";
        interactive: Option<bool>, "", "Whether the slot is for interactive work.";
        backfill_slot: Option<String>, "", "The slot that offers it for backfill, likewise.";
        backfill_state: Option<String>, "", "That slot's state.";
        backfill_user: Option<String>, "", "Who holds it there.";
        backfill_job_id: Option<String>, "", "The job that holds it there.";
        use_ratio: Option<f64>, "0 to 1", "Measured use; unknown where it was not measured.";
    }
}
