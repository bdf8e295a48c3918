//! One GPU in one unchanging state.

use jiff::Timestamp;

record! {
    "One GPU in one unchanging state. Its primary and its backfill side are kept apart, since one GPU is offered by both at once."
    pub struct GpuSpan in "gpu_span" key [machine, gpu_id, start_time] sort [machine, gpu_id, start_time] moment start_time observed start_time {
        machine: String, "", "The machine that holds the GPU.";
        gpu_id: String, "", "The GPU, in one spelling.";
        start_time: Timestamp, "UTC", "When the state was first seen, or midnight.";
        end_time: Timestamp, "UTC", "When it was last known to hold, or midnight; not included.";
        samples: i64, "", "Observations that it rests on.";
        device_name: Option<String>, "", "The model.";
        device_memory_mb: Option<i64>, "MiB", "The GPU's memory.";
        capability: Option<f64>, "", "CUDA compute capability.";
        primary_slot: Option<String>, "", "The slot that offers it first.";
        primary_state: Option<String>, "", "That slot's state; unknown where no such slot was seen.";
        primary_user: Option<String>, "", "Who holds it there.";
        primary_job_id: Option<String>, "", "The job that holds it there.";
        prevent_reason: Option<String>, "", "Why the machine takes no jobs.";
        prioritized_projects: Option<String>, "", "The projects that come first on the machine.";
        interactive: Option<bool>, "", "Whether the slot is for interactive work.";
        backfill_slot: Option<String>, "", "The slot that offers it for backfill.";
        backfill_state: Option<String>, "", "That slot's state.";
        backfill_user: Option<String>, "", "Who holds it there.";
        backfill_job_id: Option<String>, "", "The job that holds it there.";
        mean_use_ratio: Option<f64>, "0 to 1", "Measured use, on average; unknown where it was not measured.";
    }
}
