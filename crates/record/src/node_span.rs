//! One node in one unchanging state.

use jiff::Timestamp;

use crate::Text;

record! {
    "One node in one unchanging state, with its reason and who gave it."
    pub struct NodeSpan in "node_span" key [node, start_time] sort [node, start_time] moment start_time observed last_seen_time {
        node: Text, "", "The node.";
        start_time: Timestamp, "UTC", "When the state was first seen, or midnight.";
        end_time: Timestamp, "UTC", "Until when it holds, or midnight; not included.";
        last_seen_time: Timestamp, "UTC", "When it was last observed.";
        samples: i64, "", "Observations that it rests on.";
        state: Text, "", "The scheduler's words for it, joined by `+`.";
        reason: Option<Text>, "", "Why it is not in service.";
        reason_user: Option<Text>, "", "Who gave the reason.";
        reason_time: Option<Timestamp>, "UTC", "When the reason was given.";
        partitions: Option<Text>, "", "The partitions that it is in.";
        reservation: Option<Text>, "", "The reservation that it is in, where the scheduler says so.";
        cpus: Option<i64>, "", "CPUs that it has.";
        effective_cpus: Option<i64>, "", "CPUs of it that jobs may hold; the rest is kept for the system.";
        alloc_cpus: Option<i64>, "", "CPUs that jobs hold.";
        memory_mb: Option<f64>, "MiB", "Memory that it has.";
        alloc_memory_mb: Option<f64>, "MiB", "Memory that jobs hold.";
        gpus: Option<i64>, "", "GPUs that it has.";
        alloc_gpus: Option<i64>, "", "GPUs that jobs hold.";
        gpu_types: Option<Text>, "", "GPUs that it has by model, such as `a100=4`.";
        alloc_gpu_types: Option<Text>, "", "GPUs that jobs hold by model.";
    }
}

span!(NodeSpan, entity node, state [
    state, reason, reason_user, reason_time, partitions, reservation, cpus, effective_cpus, alloc_cpus,
    memory_mb, alloc_memory_mb, gpus, alloc_gpus, gpu_types, alloc_gpu_types
]);
