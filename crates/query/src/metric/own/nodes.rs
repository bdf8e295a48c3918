//! Nodes, and what of them is held.

use record::{Live, Seen, SeenNode};
use report::Family;

use super::super::sums::Sums;
use super::super::{MetricOptions, partitions, reservation, seconds_of};
use super::MIB;

/// How many nodes that are away are named.
const MOST_AWAY: usize = 200;

pub(super) fn nodes(lives: &[Live], options: &MetricOptions) -> Vec<Family> {
    let mut seen_time = Family::gauge(
        "plimsoll_nodes_timestamp_seconds",
        "seconds",
        &["cluster"],
        "When the nodes were seen as they are shown.",
    );
    let mut states = Family::gauge(
        "plimsoll_nodes",
        "",
        &["cluster", "state"],
        "Nodes by state, with all of its flags, such as mixed+drain.",
    );
    let mut flags = Family::gauge(
        "plimsoll_nodes_flagged",
        "",
        &["cluster", "flag"],
        "Nodes that have a word in their state; one with several words is counted for each.",
    );
    let mut usable = Family::gauge(
        "plimsoll_nodes_usable",
        "",
        &["cluster"],
        "Nodes on which a job could start if there were room.",
    );
    let mut cpus = Family::gauge(
        "plimsoll_cpus",
        "",
        &["cluster", "reservation", "state"],
        "CPUs that jobs hold (allocated), that are free where a job could start (idle), or that \
         are free on a node that takes no jobs, by its state; they add up to all. The reservation \
         is that of the node: empty without one, unknown where the scheduler does not name it.",
    );
    let mut memory = Family::gauge(
        "plimsoll_memory_bytes",
        "bytes",
        &["cluster", "state"],
        "Memory of the nodes by what holds it, as plimsoll_cpus.",
    );
    let mut gpus = Family::gauge(
        "plimsoll_gpus",
        "",
        &["cluster", "reservation", "model", "state"],
        "GPUs by model and by what holds them, as plimsoll_cpus; one that is free beside no free \
         CPU is stranded, and not idle.",
    );
    let partition_labels: &[&str] = &["cluster", "partition", "state"];
    let mut partition_cpus = Family::gauge(
        "plimsoll_partition_cpus",
        "",
        partition_labels,
        "CPUs as plimsoll_cpus, by partition; a node of two partitions is in both.",
    );
    let mut partition_gpus = Family::gauge(
        "plimsoll_partition_gpus",
        "",
        &["cluster", "partition", "model", "state"],
        "GPUs as plimsoll_gpus, by partition; a node of two partitions is in both.",
    );
    let mut reserved = Family::gauge(
        "plimsoll_reservation_nodes",
        "",
        &["cluster", "reservation"],
        "Nodes by reservation; unknown where the scheduler does not name it.",
    );
    let mut away_since = Family::gauge(
        "plimsoll_node_away_timestamp_seconds",
        "seconds",
        &["cluster", "node", "state", "reason", "user"],
        "Since when a node that takes no jobs has its reason, who gave it; the last 200 nodes.",
    );
    for live in lives {
        let cluster = live.cluster.as_str();
        let Some(Seen { time, rows }) = &live.nodes else { continue };
        seen_time.push(&[cluster], seconds_of(*time));
        let can_start = |seen: &&SeenNode| record::away(&seen.node.state).is_none();
        usable.push(&[cluster], rows.iter().filter(can_start).count() as f64);
        let mut sums: [Sums; 8] = Default::default();
        let [by_state, by_flag, by_cpu, by_memory, by_gpu, by_partition, by_partition_gpu, by_name] =
            &mut sums;
        // These two are always there: no other word says that there are none.
        for state in ["allocated", "idle"] {
            by_cpu.add(&[cluster, "", state], 0.0);
            by_memory.add(&[cluster, state], 0.0);
        }
        let mut away = Vec::new();
        for SeenNode { node, .. } in rows {
            let reserved_for = reservation(node).unwrap_or_default();
            by_state.add(&[cluster, &node.state.to_ascii_lowercase()], 1.0);
            for word in node.state.split('+') {
                by_flag.add(&[cluster, &word.to_ascii_lowercase()], 1.0);
            }
            for share in record::cpu_shares(node).iter().filter(|share| share.amount > 0.0) {
                by_cpu.add(&[cluster, reserved_for, share.state], share.amount);
                for partition in partitions(node) {
                    by_partition.add(&[cluster, partition, share.state], share.amount);
                }
            }
            for share in record::memory_shares(node).iter().filter(|share| share.amount > 0.0) {
                by_memory.add(&[cluster, share.state], share.amount * MIB);
            }
            for (model, share) in record::gpu_shares(node, options.idle_gpu) {
                let model = model.as_deref().unwrap_or("untyped");
                for state in ["allocated", "idle"] {
                    by_gpu.add(&[cluster, reserved_for, model, state], 0.0);
                }
                if share.amount > 0.0 {
                    by_gpu.add(&[cluster, reserved_for, model, share.state], share.amount);
                    for partition in partitions(node) {
                        let labels = [cluster, partition, model, share.state];
                        by_partition_gpu.add(&labels, share.amount);
                    }
                }
            }
            if let Some(name) = reservation(node) {
                by_name.add(&[cluster, name], 1.0);
            }
            if let (Some(state), Some(since)) = (record::away(&node.state), node.reason_time) {
                away.push((since, node, state));
            }
        }
        away.sort_by(|(one, node, _), (other, beside, _)| {
            other.cmp(one).then_with(|| node.node.cmp(&beside.node))
        });
        for (since, node, state) in away.into_iter().take(MOST_AWAY) {
            let reason = node.reason.as_deref().unwrap_or_default();
            let user = node.reason_user.as_deref().unwrap_or_default();
            away_since.push(&[cluster, &node.node, state.name(), reason, user], seconds_of(since));
        }
        let targets = [
            &mut states,
            &mut flags,
            &mut cpus,
            &mut memory,
            &mut gpus,
            &mut partition_cpus,
            &mut partition_gpus,
            &mut reserved,
        ];
        for (sums, family) in sums.into_iter().zip(targets) {
            sums.fill(family);
        }
    }
    vec![
        seen_time,
        states,
        flags,
        usable,
        cpus,
        memory,
        gpus,
        partition_cpus,
        partition_gpus,
        reserved,
        away_since,
    ]
}
