//! The names of rivosinc/prometheus-slurm-exporter, which Grafana's dashboard 19835 asks for.
//!
//! In its text mode memory is in bytes with decimal multiples, and what it calls allocated memory of
//! a node is what the kernel does not call free.

use record::{JobCount, Live, SeenNode};
use report::{Family, MetricKind};

use super::sinfo::{Cpus, sinfo_state};
use super::sums::Sums;
use super::{is_waiting, partitions};

const MEGABYTE: f64 = 1e6;

pub(super) fn rivosinc(live: &Live) -> Vec<Family> {
    let mut families = Vec::new();
    if let Some(seen) = &live.nodes {
        families.extend(nodes(&seen.rows));
    }
    if let Some(seen) = &live.jobs {
        families.extend(jobs(&seen.rows));
    }
    for (source, duration, errors) in [
        ("squeue", "slurm_job_scrape_duration", "slurm_job_scrape_error"),
        ("scontrol", "slurm_node_scrape_duration", "slurm_node_scrape_error"),
    ] {
        let Some(health) = live.sources.iter().find(|health| health.source == source) else {
            continue;
        };
        let help = "How long the command took, in milliseconds.";
        let mut family = Family::gauge(duration, "", &[], help);
        family.push(&[], health.duration_seconds.map(|seconds| seconds * 1000.0));
        families.push(family);
        let mut family = Family::gauge(errors, "", &[], "How often the command failed.");
        family.kind = MetricKind::ForeignCounter;
        family.push(&[], health.failures as f64);
        families.push(family);
    }
    families
}

/// What the kernel does not call free.
fn used_memory(node: &SeenNode) -> Option<f64> {
    Some((node.node.memory_mb? - node.free_memory_mb?) * MEGABYTE)
}

type OfNode = fn(&SeenNode) -> Option<f64>;

fn nodes(rows: &[SeenNode]) -> Vec<Family> {
    let cpus: OfNode = |node| node.node.cpus.map(|cpus| cpus as f64);
    let idle: OfNode = |node| Some(Cpus::of(&node.node).idle);
    let allocated: OfNode = |node| node.node.alloc_cpus.map(|cpus| cpus as f64);
    let load: OfNode = |node| node.cpu_load;
    let memory: OfNode = |node| node.node.memory_mb.map(|memory| memory * MEGABYTE);
    let free: OfNode = |node| node.free_memory_mb.map(|memory| memory * MEGABYTE);
    let weight: OfNode = |node| node.weight.map(|weight| weight as f64);
    let one: OfNode = |_| Some(1.0);
    let mut families = Vec::new();
    for (name, value, help) in [
        ("slurm_cpus_total", cpus, "All CPUs."),
        ("slurm_cpus_idle", idle, "Idle CPUs on nodes that are neither drained nor down."),
        ("slurm_cpu_load", load, "Load of all nodes."),
        ("slurm_mem_real", memory, "All memory, in bytes."),
        ("slurm_mem_free", free, "Memory that the nodes' kernels call free, in bytes."),
        ("slurm_mem_alloc", used_memory as OfNode, "Memory that is not free, in bytes."),
    ] {
        let mut sums = Sums::default();
        rows.iter().for_each(|node| sums.add_known(&[], value(node)));
        let mut family = Family::gauge(name, "", &[], help);
        sums.fill(&mut family);
        families.push(family);
    }
    for (name, value, help) in [
        ("slurm_cpus_per_state", cpus, "CPUs of the nodes in a state."),
        ("slurm_node_count_per_state", one, "Nodes in a state."),
    ] {
        let mut sums = Sums::default();
        for node in rows {
            sums.add_known(&[&sinfo_state(&node.node.state)], value(node));
        }
        let mut family = Family::gauge(name, "", &["state"], help);
        sums.fill(&mut family);
        families.push(family);
    }
    for (name, value, help) in [
        ("slurm_partition_total_cpus", cpus, "All CPUs of a partition."),
        ("slurm_partition_idle_cpus", idle, "Idle CPUs of a partition."),
        ("slurm_partition_cpu_load", load, "Load of a partition's nodes."),
        ("slurm_partition_real_mem", memory, "All memory of a partition, in bytes."),
        ("slurm_partition_free_mem", free, "Free memory of a partition, in bytes."),
        ("slurm_partition_weight", weight, "Weights of a partition's nodes."),
    ] {
        let mut sums = Sums::default();
        for node in rows {
            for partition in partitions(&node.node) {
                sums.add_known(&[partition], value(node));
            }
        }
        let mut family = Family::gauge(name, "", &["partition"], help);
        sums.fill_positive(&mut family);
        families.push(family);
    }
    for (name, value, help) in [
        ("slurm_partition_alloc_cpus", allocated, "Allocated CPUs of a partition."),
        (
            "slurm_partition_alloc_mem",
            used_memory as OfNode,
            "Memory of a partition that is not free, in bytes.",
        ),
        ("slurm_partition_node_count", one, "Nodes of a partition."),
    ] {
        let mut sums = Sums::default();
        for node in rows {
            let state = sinfo_state(&node.node.state);
            for partition in partitions(&node.node) {
                sums.add_known(&[partition, &state], value(node));
            }
        }
        let mut family = Family::gauge(name, "", &["partition", "state"], help);
        sums.fill_positive(&mut family);
        families.push(family);
    }
    families
}

type OfJobs = fn(&JobCount) -> Option<f64>;

fn jobs(rows: &[JobCount]) -> Vec<Family> {
    let count: OfJobs = |jobs| Some(jobs.jobs as f64);
    let cpus: OfJobs = |jobs| jobs.cpus.map(|cpus| cpus as f64);
    let memory: OfJobs = |jobs| jobs.memory_mb.map(|memory| memory * MEGABYTE);
    let user: fn(&JobCount) -> Option<&str> = |jobs| jobs.user.as_deref();
    let account: fn(&JobCount) -> Option<&str> = |jobs| jobs.account.as_deref();
    let (of_user, of_account): (&[&str], &[&str]) = (&["username", "state"], &["account", "state"]);
    let mut families = Vec::new();
    for (name, labels, who, value, help) in [
        ("slurm_user_state_total", of_user, user, count, "Jobs of a user."),
        ("slurm_user_cpu_alloc", of_user, user, cpus, "CPUs of a user's jobs."),
        ("slurm_user_mem_alloc", of_user, user, memory, "Memory of a user's jobs, in bytes."),
        ("slurm_account_job_state_total", of_account, account, count, "Jobs of an account."),
        ("slurm_account_job_state_cpu_alloc", of_account, account, cpus, "CPUs of its jobs."),
        (
            "slurm_account_job_state_mem_alloc",
            of_account,
            account,
            memory,
            "Memory of an account's jobs, in bytes.",
        ),
    ] {
        let mut sums = Sums::default();
        for jobs in rows {
            if let Some(name) = who(jobs) {
                sums.add_known(&[name, &jobs.state], value(jobs));
            }
        }
        let mut family = Family::gauge(name, "", labels, help);
        sums.fill_positive(&mut family);
        families.push(family);
    }

    let (mut by_partition, mut by_reason) = (Sums::default(), Sums::default());
    for jobs in rows {
        for partition in jobs.partition.iter().flat_map(|list| list.split(',')) {
            by_partition.add(&[partition, &jobs.state], jobs.jobs as f64);
        }
        if is_waiting(jobs) {
            by_reason.add(&[jobs.reason.as_deref().unwrap_or("None")], jobs.jobs as f64);
        }
    }
    let labels: &[&str] = &["partition", "state"];
    let mut family =
        Family::gauge("slurm_partition_job_state_total", "", labels, "Jobs of a partition.");
    by_partition.fill_positive(&mut family);
    families.push(family);
    let help = "Jobs that wait, by reason.";
    let mut family = Family::gauge("slurm_pending_reason_total", "", &["reason"], help);
    by_reason.fill_positive(&mut family);
    families.push(family);
    families
}
