//! The names of slurm_monitoring_and_reporting of 2021.

use record::{Away, IdleGpu, JobCount, Live, SeenNode, away, cpu_shares, gpu_shares};
use report::Family;

use super::sums::Sums;

pub(super) fn origin(live: &Live) -> Vec<Family> {
    let mut families = Vec::new();
    if let Some(seen) = &live.nodes {
        families.extend(nodes(&seen.rows));
    }
    if let Some(seen) = &live.jobs {
        families.extend(jobs(&seen.rows));
    }
    families
}

/// Into which of its four words a share goes.
fn word(state: &str) -> &'static str {
    match state {
        "allocated" => "alloc",
        "idle" => "idle",
        _ => "drain",
    }
}

/// The reservation that a node is in: `None` where it is in none.
fn reservation(node: &SeenNode) -> &str {
    super::reservation(&node.node).unwrap_or("None")
}

fn nodes(rows: &[SeenNode]) -> Vec<Family> {
    let mut families = Vec::new();
    for (name, wanted, help) in [
        ("slurm_cpus_total", "total", "All CPUs."),
        ("slurm_cpus_alloc", "alloc", "CPUs that jobs hold."),
        ("slurm_cpus_idle", "idle", "CPUs that are free where a job could start."),
        ("slurm_cpus_drain", "drain", "CPUs that nobody can have."),
    ] {
        let mut sums = Sums::default();
        for node in rows {
            for share in cpu_shares(&node.node) {
                let counts = wanted == "total" || wanted == word(share.state);
                sums.add(&[reservation(node)], if counts { share.amount } else { 0.0 });
            }
        }
        let mut family = Family::gauge(name, "", &["reservation"], help);
        sums.fill(&mut family);
        families.push(family);
    }
    for (name, wanted, help) in [
        ("slurm_gpus_total", "total", "All GPUs."),
        ("slurm_gpus_alloc", "alloc", "GPUs that jobs hold."),
        (
            "slurm_gpus_idle",
            "idle",
            "GPUs that are free beside a free CPU where a job could start.",
        ),
        ("slurm_gpus_drain", "drain", "GPUs that nobody can have."),
    ] {
        let mut sums = Sums::default();
        for node in rows {
            for (model, share) in gpu_shares(&node.node, IdleGpu::NeedsCpu) {
                let counts = wanted == "total" || wanted == word(share.state);
                let labels = [model.as_deref().unwrap_or("gpu"), reservation(node)];
                sums.add(&labels, if counts { share.amount } else { 0.0 });
            }
        }
        let mut family = Family::gauge(name, "", &["type", "reservation"], help);
        sums.fill(&mut family);
        families.push(family);
    }
    let mut states = Family::gauge(
        "slurm_node_states",
        "",
        &["name", "slurm_node_states"],
        "The state that a node is in.",
    );
    for node in rows {
        states.push(&[&node.node.node, &normalised(&node.node.state)], 1.0);
    }
    families.push(states);
    families
}

/// One word for a state: down before drained before the first.
fn normalised(state: &str) -> String {
    match away(state) {
        Some(Away::Down) => "down".to_owned(),
        Some(Away::Drained | Away::Draining) => "drained".to_owned(),
        _ => state.split('+').next().unwrap_or(state).to_ascii_lowercase(),
    }
}

fn jobs(rows: &[JobCount]) -> Vec<Family> {
    let (mut by_state, mut by_partition) = (Sums::default(), Sums::default());
    for jobs in rows {
        by_state.add(&[&jobs.state], jobs.jobs as f64);
        for partition in jobs.partition.iter().flat_map(|list| list.split(',')) {
            by_partition.add(&[partition], jobs.jobs as f64);
        }
    }
    let mut states = Family::gauge("slurm_job_states", "", &["name"], "Jobs in a state.");
    by_state.fill(&mut states);
    let mut partitions = Family::gauge("slurm_partitions", "", &["name"], "Jobs of a partition.");
    by_partition.fill(&mut partitions);
    vec![states, partitions]
}
