//! The names of vpenso/prometheus-slurm-exporter, which Grafana's dashboard 4323 asks for. All are
//! gauges; those of accounts, users and partitions are absent where they would be zero.

use record::{JobCount, Live, SeenNode};
use report::Family;

use super::sinfo::{Cpus, sinfo_state};
use super::sums::Sums;
use super::{is_waiting, partitions};

pub(super) fn vpenso(live: &Live) -> Vec<Family> {
    let mut families = Vec::new();
    if let Some(seen) = &live.nodes {
        families.extend(nodes(&seen.rows));
    }
    if let Some(seen) = &live.jobs {
        families.extend(jobs(&seen.rows));
    }
    families
}

fn one(name: &'static str, help: &'static str, value: f64) -> Family {
    let mut family = Family::gauge(name, "", &[], help);
    family.push(&[], value);
    family
}

fn nodes(rows: &[SeenNode]) -> Vec<Family> {
    let mut all = Cpus::default();
    let (mut gpus, mut held_gpus) = (0, 0);
    for node in rows {
        all += Cpus::of(&node.node);
        gpus += node.node.gpus.unwrap_or(0);
        held_gpus += node.node.alloc_gpus.unwrap_or(0);
    }
    let (gpus, held_gpus) = (gpus as f64, held_gpus as f64);
    let mut families = vec![
        one("slurm_cpus_alloc", "Allocated CPUs.", all.allocated),
        one("slurm_cpus_idle", "Idle CPUs.", all.idle),
        one("slurm_cpus_other", "Free CPUs of nodes that are drained or down.", all.other),
        one("slurm_cpus_total", "All CPUs.", all.total()),
        one("slurm_gpus_alloc", "Allocated GPUs.", held_gpus),
        one("slurm_gpus_idle", "GPUs that are not allocated, usable or not.", gpus - held_gpus),
        one("slurm_gpus_total", "All GPUs.", gpus),
    ];
    if gpus > 0.0 {
        let help = "Share of the GPUs that is allocated.";
        families.push(one("slurm_gpus_utilization", help, held_gpus / gpus));
    }
    let states: Vec<String> = rows.iter().map(|node| sinfo_state(&node.node.state)).collect();
    for (name, help, beginning) in [
        ("slurm_nodes_alloc", "Nodes that are allocated.", "alloc"),
        ("slurm_nodes_comp", "Nodes whose jobs are completing.", "comp"),
        ("slurm_nodes_down", "Nodes that are down.", "down"),
        ("slurm_nodes_drain", "Nodes that are drained or draining.", "drain"),
        ("slurm_nodes_err", "Nodes in error.", "err"),
        ("slurm_nodes_fail", "Nodes that fail.", "fail"),
        ("slurm_nodes_idle", "Nodes that are idle.", "idle"),
        ("slurm_nodes_maint", "Nodes in maintenance.", "maint"),
        ("slurm_nodes_mix", "Nodes of which a part is allocated.", "mix"),
        ("slurm_nodes_resv", "Nodes that are reserved.", "res"),
    ] {
        let count = states.iter().filter(|state| state.starts_with(beginning)).count();
        families.push(one(name, help, count as f64));
    }

    let of_node: &[&str] = &["node", "status"];
    type OfNode = fn(&SeenNode) -> Option<f64>;
    let of_nodes: [(&str, &str, OfNode); 6] = [
        ("slurm_node_cpu_alloc", "Allocated CPUs of a node.", |node| {
            Some(Cpus::of(&node.node).allocated)
        }),
        ("slurm_node_cpu_idle", "Idle CPUs of a node.", |node| Some(Cpus::of(&node.node).idle)),
        ("slurm_node_cpu_other", "Free CPUs of a node that is drained or down.", |node| {
            Some(Cpus::of(&node.node).other)
        }),
        ("slurm_node_cpu_total", "All CPUs of a node.", |node| Some(Cpus::of(&node.node).total())),
        ("slurm_node_mem_alloc", "Allocated memory of a node in MiB.", |node| {
            node.node.alloc_memory_mb
        }),
        ("slurm_node_mem_total", "All memory of a node in MiB.", |node| node.node.memory_mb),
    ];
    for (name, help, value) in of_nodes {
        let mut family = Family::gauge(name, "", of_node, help);
        for (node, state) in rows.iter().zip(&states) {
            family.push(&[&node.node.node, state], value(node));
        }
        families.push(family);
    }

    type OfCpus = fn(Cpus) -> f64;
    let of_partitions: [(&str, &str, OfCpus); 4] = [
        ("slurm_partition_cpus_allocated", "Allocated CPUs of a partition.", |cpus| cpus.allocated),
        ("slurm_partition_cpus_idle", "Idle CPUs of a partition.", |cpus| cpus.idle),
        (
            "slurm_partition_cpus_other",
            "Free CPUs of a partition's nodes that are drained or down.",
            |cpus| cpus.other,
        ),
        ("slurm_partition_cpus_total", "All CPUs of a partition.", Cpus::total),
    ];
    for (name, help, value) in of_partitions {
        let mut sums = Sums::default();
        for node in rows {
            for partition in partitions(&node.node) {
                sums.add(&[partition], value(Cpus::of(&node.node)));
            }
        }
        let mut family = Family::gauge(name, "", &["partition"], help);
        sums.fill_positive(&mut family);
        families.push(family);
    }
    families
}

fn jobs(rows: &[JobCount]) -> Vec<Family> {
    let count = |wanted: &dyn Fn(&JobCount) -> bool| {
        rows.iter().filter(|jobs| wanted(jobs)).map(|jobs| jobs.jobs).sum::<i64>() as f64
    };
    let of_state = |state: &'static str| count(&move |jobs| jobs.state == state);
    let mut families = vec![
        one("slurm_queue_pending", "Jobs that wait.", count(&is_waiting)),
        one(
            "slurm_queue_pending_dependency",
            "Jobs that wait for other jobs.",
            count(&|jobs| is_waiting(jobs) && jobs.reason.as_deref() == Some("Dependency")),
        ),
    ];
    for (name, help, state) in [
        ("slurm_queue_running", "Jobs that run.", "RUNNING"),
        ("slurm_queue_suspended", "Jobs that are suspended.", "SUSPENDED"),
        ("slurm_queue_cancelled", "Jobs that were cancelled lately.", "CANCELLED"),
        ("slurm_queue_completing", "Jobs that are completing.", "COMPLETING"),
        ("slurm_queue_completed", "Jobs that completed lately.", "COMPLETED"),
        ("slurm_queue_configuring", "Jobs whose nodes are made ready.", "CONFIGURING"),
        ("slurm_queue_failed", "Jobs that failed lately.", "FAILED"),
        ("slurm_queue_timeout", "Jobs that lately ran into their limit.", "TIMEOUT"),
        ("slurm_queue_preempted", "Jobs that were preempted lately.", "PREEMPTED"),
        ("slurm_queue_node_fail", "Jobs that lately lost a node.", "NODE_FAIL"),
    ] {
        families.push(one(name, help, of_state(state)));
    }

    let mut pending = Sums::default();
    for jobs in rows.iter().filter(|jobs| is_waiting(jobs)) {
        for partition in jobs.partition.iter().flat_map(|list| list.split(',')) {
            pending.add(&[partition], jobs.jobs as f64);
        }
    }
    let help = "Jobs that wait for a partition; one that waits for several is in each.";
    let mut family = Family::gauge("slurm_partition_jobs_pending", "", &["partition"], help);
    pending.fill_positive(&mut family);
    families.push(family);

    let user: fn(&JobCount) -> Option<&str> = |jobs| jobs.user.as_deref();
    let account: fn(&JobCount) -> Option<&str> = |jobs| jobs.account.as_deref();
    let is_running: fn(&JobCount) -> bool = |jobs| jobs.state == "RUNNING";
    let is_suspended: fn(&JobCount) -> bool = |jobs| jobs.state == "SUSPENDED";
    let is_waiting: fn(&JobCount) -> bool = is_waiting;
    let number: fn(&JobCount) -> Option<f64> = |jobs| Some(jobs.jobs as f64);
    let cpus: fn(&JobCount) -> Option<f64> = |jobs| jobs.cpus.map(|cpus| cpus as f64);
    let (of_account, of_user): (&[&str], &[&str]) = (&["account"], &["user"]);
    for (name, labels, who, wanted, value, help) in [
        (
            "slurm_account_jobs_pending",
            of_account,
            account,
            is_waiting,
            number,
            "Waiting jobs of an account.",
        ),
        (
            "slurm_account_jobs_running",
            of_account,
            account,
            is_running,
            number,
            "Running jobs of an account.",
        ),
        (
            "slurm_account_cpus_running",
            of_account,
            account,
            is_running,
            cpus,
            "CPUs that an account's running jobs hold.",
        ),
        (
            "slurm_account_jobs_suspended",
            of_account,
            account,
            is_suspended,
            number,
            "Suspended jobs of an account.",
        ),
        ("slurm_user_jobs_pending", of_user, user, is_waiting, number, "Waiting jobs of a user."),
        ("slurm_user_jobs_running", of_user, user, is_running, number, "Running jobs of a user."),
        (
            "slurm_user_cpus_running",
            of_user,
            user,
            is_running,
            cpus,
            "CPUs that a user's running jobs hold.",
        ),
        (
            "slurm_user_jobs_suspended",
            of_user,
            user,
            is_suspended,
            number,
            "Suspended jobs of a user.",
        ),
    ] {
        let mut sums = Sums::default();
        for jobs in rows.iter().filter(|jobs| wanted(jobs)) {
            if let Some(name) = who(jobs) {
                sums.add_known(&[name], value(jobs));
            }
        }
        let mut family = Family::gauge(name, "", labels, help);
        sums.fill_positive(&mut family);
        families.push(family);
    }
    families
}
