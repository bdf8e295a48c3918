//! One waiting job with one reason.

use jiff::Timestamp;

use crate::Text;

record! {
    "One waiting job with one reason."
    pub struct QueueSpan in "queue_span" key [job_id, start_time] sort [user, start_time, job_id] moment start_time observed last_seen_time {
        job_id: Text, "", "The job, as its scheduler names it.";
        start_time: Timestamp, "UTC", "When it was first seen to wait for this reason, or midnight.";
        end_time: Timestamp, "UTC", "Until when it holds, or midnight; not included.";
        last_seen_time: Timestamp, "UTC", "When it was last observed.";
        samples: i64, "", "Observations that it rests on.";
        user: Option<Text>, "", "Who submitted it.";
        account: Option<Text>, "", "The account or project that it is charged to.";
        partition: Option<Text>, "", "Where it waits.";
        qos: Option<Text>, "", "The quality of service that it asked for.";
        state: Text, "", "The scheduler's word for its state.";
        reason: Option<Text>, "", "Why it waits.";
        submit_time: Option<Timestamp>, "UTC", "When it entered the queue.";
        eligible_time: Option<Timestamp>, "UTC", "When it could first start.";
        tasks: Option<i64>, "", "Waiting tasks that the row stands for; 1 but for an array.";
        req_nodes: Option<i64>, "", "Machines asked for.";
        req_cpus: Option<i64>, "", "CPUs asked for.";
        req_mem_mb: Option<f64>, "MiB", "Memory asked for.";
        req_gpus: Option<i64>, "", "GPUs asked for.";
        gpu_types: Option<Text>, "", "GPUs asked for by model.";
        time_limit_seconds: Option<i64>, "s", "The time that it may take.";
    }
}

span!(QueueSpan, entity job_id, state [
    user, account, partition, qos, state, reason, submit_time, eligible_time, tasks, req_nodes,
    req_cpus, req_mem_mb, req_gpus, gpu_types, time_limit_seconds
]);
