//! How what a node has divides into what jobs hold, what is free, and what nobody can have.
//!
//! The rule: what a job holds is `allocated`, whatever the node's state, so a draining node's
//! running CPUs stay allocated. The rest is `idle` where a job could start on the node, and is
//! counted by the node's own state, such as `drained`, where none can. What is not known is
//! `unknown`. The shares of a resource add up to what the node has of it.

use crate::availability::{Away, away};
use crate::{NodeSpan, Text};

/// A part of what a node has, and what it is to somebody who wants some.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// `allocated`, `idle`, `unknown`, `system`, `stranded`, or why the node takes no jobs.
    pub state: &'static str,
    /// CPUs, GPUs or MiB.
    pub amount: f64,
}

/// Whether a GPU that no job holds is idle. A job needs a CPU to use one, so where all CPUs of a
/// node are held its free GPUs are `stranded`, unless the site shares CPUs among jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleGpu {
    #[default]
    NeedsCpu,
    Always,
}

/// The GPUs of one model that a node has.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuModel {
    /// None where the site does not name models.
    pub model: Option<Text>,
    pub gpus: i64,
    /// Unknown where the scheduler does not say of which model those are that jobs hold.
    pub allocated: Option<i64>,
}

/// The CPUs of a node; none where it does not say how many it has.
pub fn cpu_shares(node: &NodeSpan) -> Vec<Share> {
    let Some(cpus) = node.cpus else { return Vec::new() };
    let system = node.effective_cpus.map_or(0, |effective| (cpus - effective).max(0));
    let mut shares = shares(node, cpus - system, node.alloc_cpus, "idle");
    if system > 0 {
        shares.push(Share { state: "system", amount: system as f64 });
    }
    shares
}

/// The memory of a node in MiB.
pub fn memory_shares(node: &NodeSpan) -> Vec<Share> {
    let Some(memory) = node.memory_mb else { return Vec::new() };
    let Some(allocated) = node.alloc_memory_mb else {
        return vec![Share { state: "unknown", amount: memory }];
    };
    let rest = (memory - allocated).max(0.0);
    vec![
        Share { state: "allocated", amount: allocated },
        Share { state: away(&node.state).map_or("idle", Away::name), amount: rest },
    ]
}

/// The GPUs of a node, by model.
pub fn gpu_shares(node: &NodeSpan, rule: IdleGpu) -> Vec<(Option<Text>, Share)> {
    let free = match (rule, node.effective_cpus.or(node.cpus), node.alloc_cpus) {
        (IdleGpu::Always, _, _) => "idle",
        (IdleGpu::NeedsCpu, Some(cpus), Some(allocated)) if allocated < cpus => "idle",
        (IdleGpu::NeedsCpu, Some(_), Some(_)) => "stranded",
        (IdleGpu::NeedsCpu, _, _) => "unknown",
    };
    let mut found = Vec::new();
    for GpuModel { model, gpus, allocated } in gpu_models(node) {
        for share in shares(node, gpus, allocated, free) {
            found.push((model.clone(), share));
        }
    }
    found
}

fn shares(node: &NodeSpan, total: i64, allocated: Option<i64>, free: &'static str) -> Vec<Share> {
    let Some(allocated) = allocated else {
        return vec![Share { state: "unknown", amount: total as f64 }];
    };
    let rest = (total - allocated).max(0);
    vec![
        Share { state: "allocated", amount: allocated as f64 },
        Share { state: away(&node.state).map_or(free, Away::name), amount: rest as f64 },
    ]
}

/// The GPUs of a node by model, those without a name last.
pub fn gpu_models(node: &NodeSpan) -> Vec<GpuModel> {
    let Some(gpus) = node.gpus.filter(|gpus| *gpus > 0) else { return Vec::new() };
    let installed = counts(node.gpu_types.as_deref());
    let held = counts(node.alloc_gpu_types.as_deref());
    let named: i64 = installed.iter().map(|(_, count)| count).sum();
    let mut models: Vec<(Option<Text>, i64)> =
        installed.into_iter().map(|(model, count)| (Some(model.into()), count)).collect();
    if named < gpus {
        models.push((None, gpus - named));
    }
    let is_one = models.len() == 1;
    let held_named: i64 = held.iter().map(|(_, count)| count).sum();
    models
        .into_iter()
        .map(|(model, gpus)| {
            let allocated = match node.alloc_gpus {
                Some(allocated) if is_one || allocated == 0 => Some(allocated),
                // All that are held have a name, so the other models have none that is held.
                Some(allocated) if allocated == held_named => Some(
                    held.iter()
                        .find(|(name, _)| Some(*name) == model.as_deref())
                        .map_or(0, |(_, count)| *count),
                ),
                _ => None,
            };
            GpuModel { model, gpus, allocated }
        })
        .collect()
}

/// The counts in `a100=2,h100=1`.
fn counts(list: Option<&str>) -> Vec<(&str, i64)> {
    list.into_iter()
        .flat_map(|list| list.split(','))
        .filter_map(|item| {
            let (model, count) = item.rsplit_once('=')?;
            Some((model, count.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `state cpus/allocated gpus/allocated`, each with `gpu_types` and `alloc_gpu_types`.
    fn node(state: &str, cpus: (i64, i64), gpus: (i64, i64), types: (&str, &str)) -> NodeSpan {
        let named = |text: &str| (!text.is_empty()).then(|| text.into());
        NodeSpan {
            cluster: "maple".into(),
            node: "n1".into(),
            start_time: jiff::Timestamp::UNIX_EPOCH,
            end_time: jiff::Timestamp::UNIX_EPOCH,
            last_seen_time: jiff::Timestamp::UNIX_EPOCH,
            samples: 1,
            state: state.into(),
            reason: None,
            reason_user: None,
            reason_time: None,
            partitions: None,
            reservation: None,
            cpus: Some(cpus.0),
            effective_cpus: None,
            alloc_cpus: Some(cpus.1),
            memory_mb: Some(1000.0),
            alloc_memory_mb: Some(400.0),
            gpus: Some(gpus.0),
            alloc_gpus: Some(gpus.1),
            gpu_types: named(types.0),
            alloc_gpu_types: named(types.1),
        }
    }

    fn shown(shares: &[Share]) -> String {
        let shown: Vec<String> = shares
            .iter()
            .filter(|share| share.amount != 0.0)
            .map(|share| format!("{} {}", share.state, share.amount))
            .collect();
        shown.join(", ")
    }

    fn shown_gpus(node: &NodeSpan, rule: IdleGpu) -> String {
        let shown: Vec<String> = gpu_shares(node, rule)
            .iter()
            .filter(|(_, share)| share.amount != 0.0)
            .map(|(model, share)| {
                format!("{} {} {}", model.as_deref().unwrap_or("-"), share.state, share.amount)
            })
            .collect();
        shown.join(", ")
    }

    /// Each state as the parser spells it: a node of 80 CPUs of which jobs hold 32, and of 8 GPUs
    /// of which jobs hold 2, where jobs can be on such a node at all.
    #[test]
    fn what_is_free_is_counted_by_the_state_of_its_node() {
        for (state, held, cpus, gpus) in [
            ("MIXED", true, "allocated 32, idle 48", "allocated 2, idle 6"),
            ("MIXED+DRAIN", true, "allocated 32, draining 48", "allocated 2, draining 6"),
            ("IDLE+DRAIN", false, "drained 80", "drained 8"),
            ("DOWN+NOT_RESPONDING", false, "down 80", "down 8"),
            ("DOWN+DRAIN+NOT_RESPONDING", false, "down 80", "down 8"),
            ("ALLOCATED+COMPLETING", true, "allocated 32, idle 48", "allocated 2, idle 6"),
            ("IDLE+POWERED_DOWN", false, "idle 80", "idle 8"),
            ("IDLE+POWERING_UP", false, "idle 80", "idle 8"),
            ("IDLE+POWERING_DOWN", false, "powering_down 80", "powering_down 8"),
            ("RESERVED", false, "idle 80", "idle 8"),
            ("IDLE+PLANNED", false, "idle 80", "idle 8"),
            ("PLANNED", false, "idle 80", "idle 8"),
            ("MAINT+RESERVED", false, "maint 80", "maint 8"),
            ("FUTURE", false, "future 80", "future 8"),
            ("INVAL", false, "invalid 80", "invalid 8"),
            ("UNKNOWN+NOT_RESPONDING", false, "unknown 80", "unknown 8"),
            ("IDLE+NOT_RESPONDING", false, "not_responding 80", "not_responding 8"),
            ("MIXED+MAINTENANCE", true, "allocated 32, maint 48", "allocated 2, maint 6"),
            ("IDLE+REBOOT_ISSUED", false, "reboot 80", "reboot 8"),
            ("DOWN+REBOOT_ISSUED", false, "reboot 80", "reboot 8"),
            ("MIXED+FAIL", true, "allocated 32, fail 48", "allocated 2, fail 6"),
            ("Claimed", true, "allocated 32, idle 48", "allocated 2, idle 6"),
            ("Unclaimed", false, "idle 80", "idle 8"),
            ("Claimed+Draining", true, "allocated 32, draining 48", "allocated 2, draining 6"),
            ("Unclaimed+Draining", false, "drained 80", "drained 8"),
            ("Owner+Prevented", false, "prevented 80", "prevented 8"),
            ("Claimed+Owner", true, "allocated 32, prevented 48", "allocated 2, prevented 6"),
            ("Absent", false, "down 80", "down 8"),
        ] {
            let (held_cpus, held_gpus) = if held { (32, 2) } else { (0, 0) };
            let node = node(state, (80, held_cpus), (8, held_gpus), ("", ""));
            assert_eq!(shown(&cpu_shares(&node)), cpus, "{state}");
            let gpu_states: String = shown_gpus(&node, IdleGpu::NeedsCpu).replace("- ", "");
            assert_eq!(gpu_states, gpus, "{state}");
            let total: f64 = cpu_shares(&node).iter().map(|share| share.amount).sum();
            assert_eq!(total, 80.0, "{state}");
        }
    }

    #[test]
    fn a_gpu_is_idle_only_where_a_cpu_is_free() {
        let full = node("ALLOCATED", (80, 80), (8, 2), ("a100=8", "a100=2"));
        assert_eq!(shown_gpus(&full, IdleGpu::NeedsCpu), "a100 allocated 2, a100 stranded 6");
        assert_eq!(shown_gpus(&full, IdleGpu::Always), "a100 allocated 2, a100 idle 6");
        // 8 of the 80 are the system's: with 72 held none is free.
        let kept = NodeSpan { effective_cpus: Some(72), alloc_cpus: Some(72), ..full.clone() };
        assert_eq!(shown_gpus(&kept, IdleGpu::NeedsCpu), "a100 allocated 2, a100 stranded 6");
        assert_eq!(shown(&cpu_shares(&kept)), "allocated 72, system 8");
        let unsaid = NodeSpan { alloc_cpus: None, ..full };
        assert_eq!(shown_gpus(&unsaid, IdleGpu::NeedsCpu), "a100 allocated 2, a100 unknown 6");
        assert_eq!(shown(&cpu_shares(&unsaid)), "unknown 80");
    }

    /// The lists of `gpu:8`, `gpu:a100:8`, `gpu:a100:4,gpu:v100:2`, `gpu:a100_3g.20gb:2`.
    #[test]
    fn models_are_told_apart_with_or_without_a_name() {
        for (gpus, types, expected) in [
            ((8, 3), ("", ""), "- allocated 3, - idle 5"),
            ((8, 3), ("a100=8", "a100=3"), "a100 allocated 3, a100 idle 5"),
            ((8, 3), ("a100=8", ""), "a100 allocated 3, a100 idle 5"),
            (
                (6, 3),
                ("a100=4,v100=2", "a100=1,v100=2"),
                "a100 allocated 1, a100 idle 3, v100 allocated 2",
            ),
            ((6, 2), ("a100=4,v100=2", "v100=2"), "a100 idle 4, v100 allocated 2"),
            // It is not said which of the two are held.
            ((6, 2), ("a100=4,v100=2", ""), "a100 unknown 4, v100 unknown 2"),
            ((6, 0), ("a100=4,v100=2", ""), "a100 idle 4, v100 idle 2"),
            (
                (2, 1),
                ("a100_3g.20gb=2", "a100_3g.20gb=1"),
                "a100_3g.20gb allocated 1, a100_3g.20gb idle 1",
            ),
            ((3, 0), ("a100=2", ""), "a100 idle 2, - idle 1"),
            ((0, 0), ("", ""), ""),
        ] {
            let node = node("MIXED", (80, 32), gpus, types);
            assert_eq!(shown_gpus(&node, IdleGpu::NeedsCpu), expected, "{types:?}");
        }
    }

    #[test]
    fn memory_divides_likewise() {
        let node = |state| node(state, (8, 0), (0, 0), ("", ""));
        assert_eq!(shown(&memory_shares(&node("MIXED"))), "allocated 400, idle 600");
        assert_eq!(shown(&memory_shares(&node("MIXED+DRAIN"))), "allocated 400, draining 600");
        let unsaid = NodeSpan { alloc_memory_mb: None, ..node("IDLE") };
        assert_eq!(shown(&memory_shares(&unsaid)), "unknown 1000");
    }
}
