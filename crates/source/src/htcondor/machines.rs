//! The machines of a pool, from the slots that `condor_status` lists.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use record::{GpuSample, NodeSpan, SeenNode, Text};

use super::condor_status::{Slot, has_job};
use crate::notation::classad::Ad;

/// The part of a slot's ad that describes its machine.
#[derive(Default)]
pub(crate) struct SlotResources {
    is_dynamic: bool,
    /// Of the machine, the whole slot, and the slot now. A partitionable slot now has what is left.
    cpus: Amounts,
    memory_mb: Amounts,
    total_gpus: Option<i64>,
    load: Option<f64>,
    drain_reason: Option<Text>,
    drain_time: Option<Timestamp>,
    state_time: Option<Timestamp>,
}

/// One resource of a machine, of a slot, and of the slot at this moment.
#[derive(Clone, Copy, Default)]
struct Amounts {
    of_machine: Option<f64>,
    of_slot: Option<f64>,
    now: Option<f64>,
}

impl SlotResources {
    pub(super) fn of(ad: &Ad<'_>) -> SlotResources {
        let amounts = |machine, slot, now| Amounts {
            of_machine: ad.number(machine),
            of_slot: ad.number(slot),
            now: ad.number(now),
        };
        SlotResources {
            is_dynamic: ad.is("SlotType", "Dynamic") || ad.truth("DynamicSlot") == Some(true),
            cpus: amounts("TotalCpus", "TotalSlotCpus", "Cpus"),
            memory_mb: amounts("TotalMemory", "TotalSlotMemory", "Memory"),
            total_gpus: ad.integer("TotalGPUs"),
            load: ad.number("TotalLoadAvg"),
            drain_reason: ad.words("DrainReason"),
            drain_time: ad.time("LastDrainStartTime"),
            state_time: ad.time("EnteredCurrentState"),
        }
    }
}

/// Every machine of a pool at one moment, from all its slots and GPUs.
pub(super) fn machines(
    cluster: &str,
    time: Timestamp,
    end_time: Timestamp,
    slots: &[Slot],
    gpus: &[GpuSample],
) -> Vec<SeenNode> {
    let mut of_machine: BTreeMap<&str, Vec<&Slot>> = BTreeMap::new();
    for slot in slots {
        of_machine.entry(&slot.machine).or_default().push(slot);
    }
    let mut gpus_of: HashMap<&str, Vec<&GpuSample>> = HashMap::new();
    for gpu in gpus {
        gpus_of.entry(&gpu.machine).or_default().push(gpu);
    }
    of_machine
        .into_iter()
        .map(|(name, slots)| {
            let gpus = gpus_of.remove(name).unwrap_or_default();
            let Standing { state, reason, reason_time } = standing(&slots);
            let (cpus, alloc_cpus) = amounts(&slots, |resources| resources.cpus);
            let (memory_mb, alloc_memory_mb) = amounts(&slots, |resources| resources.memory_mb);
            let held: Vec<&GpuSample> = gpus.iter().copied().filter(|gpu| is_held(gpu)).collect();
            let installed = installed_gpus(&slots, gpus.len());
            let node = NodeSpan {
                cluster: cluster.into(),
                node: name.into(),
                start_time: time,
                end_time,
                last_seen_time: time,
                samples: 1,
                state: state.into(),
                reason,
                reason_user: None,
                reason_time,
                partitions: None,
                reservation: None,
                cpus: cpus.map(whole),
                effective_cpus: None,
                alloc_cpus: alloc_cpus.map(whole),
                memory_mb,
                alloc_memory_mb,
                gpus: Some(installed),
                // Without the ids of its GPUs it is not known which of them are claimed.
                alloc_gpus: (!gpus.is_empty() || installed == 0).then_some(held.len() as i64),
                gpu_types: models(&gpus),
                alloc_gpu_types: models(&held),
            };
            SeenNode { node, cpu_load: load(&slots), free_memory_mb: None, weight: None }
        })
        .collect()
}

fn whole(number: f64) -> i64 {
    number.round() as i64
}

fn is_held(gpu: &GpuSample) -> bool {
    has_job(gpu.primary_state.as_deref()) || has_job(gpu.backfill_state.as_deref())
}

/// The startd of a slot: `pilot7@node1.example.org` of `slot1_2@pilot7@node1.example.org`. Several can
/// stand on one machine, each with CPUs of its own.
fn startd(slot: &Slot) -> &str {
    slot.name.split_once('@').map_or(&slot.name, |(_, startd)| startd)
}

fn by_startd<'a>(slots: &[&'a Slot]) -> BTreeMap<&'a str, Vec<&'a Slot>> {
    let mut startds: BTreeMap<&str, Vec<&Slot>> = BTreeMap::new();
    for slot in slots {
        startds.entry(startd(slot)).or_default().push(slot);
    }
    startds
}

/// How much of a resource a machine has, and how much of it jobs hold.
fn amounts(slots: &[&Slot], of: impl Fn(&SlotResources) -> Amounts) -> (Option<f64>, Option<f64>) {
    let (mut totals, mut allocated) = (Some(0.0), Some(0.0));
    for slots in by_startd(slots).into_values() {
        let total = slots.iter().find_map(|slot| of(&slot.resources).of_machine);
        // Both sides of a machine share its hardware, so together they hold no more than it has.
        let held: Option<f64> = slots.iter().map(|slot| held(slot, of(&slot.resources))).sum();
        let held = held.zip(total).map(|(held, total)| held.min(total));
        totals = totals.zip(total).map(|(one, other)| one + other);
        allocated = allocated.zip(held).map(|(one, other)| one + other);
    }
    (totals, allocated)
}

/// How much of a resource a slot adds to what jobs hold.
///
/// A partitionable slot has what its dynamic slots leave. Of a backfill one that is not what backfill
/// jobs hold: since 25.0 it also lacks what the primary side holds. There dynamic slots are counted.
fn held(slot: &Slot, amounts: Amounts) -> Option<f64> {
    let Amounts { of_slot, now, .. } = amounts;
    match (slot.partitionable, slot.resources.is_dynamic, slot.backfill) {
        (true, _, true) | (false, true, false) => Some(0.0),
        (true, _, false) => of_slot.zip(now).map(|(whole, left)| (whole - left).max(0.0)),
        (false, ..) if has_job(slot.state.as_deref()) => now,
        (false, ..) => Some(0.0),
    }
}

/// The GPUs of a machine. One that is not configured to have any does not print `TotalGPUs`.
fn installed_gpus(slots: &[&Slot], with_ids: usize) -> i64 {
    let total_of = |slots: Vec<&Slot>| slots.iter().find_map(|slot| slot.resources.total_gpus);
    let total: i64 = by_startd(slots).into_values().filter_map(total_of).sum();
    total.max(with_ids as i64)
}

fn load(slots: &[&Slot]) -> Option<f64> {
    slots.iter().find_map(|slot| slot.resources.load)
}

/// `NVIDIA H200=2,NVIDIA L40=2`; none if no model is known.
fn models(gpus: &[&GpuSample]) -> Option<Text> {
    super::gpu_types(gpus.iter().filter_map(|gpu| gpu.device_name.as_deref()))
}

/// Where a machine stands: the words of `NodeSpan::state`, and why it takes no jobs.
struct Standing {
    state: String,
    reason: Option<Text>,
    reason_time: Option<Timestamp>,
}

/// The state of a machine, in the words of its slots' states. `Claimed` if jobs hold any of it, else
/// `Unclaimed`, or `Owner` if its START expression lets no job begin on any slot. `Draining`, `Owner` and
/// `Prevented` (all slots give a reason, `PreventJobsReason`) are added if no new job can begin.
///
/// Slots for backfill and dynamic slots decide only where there are no others.
fn standing(slots: &[&Slot]) -> Standing {
    let is_parent = |slot: &&&Slot| !slot.resources.is_dynamic;
    let primary = slots.iter().filter(is_parent).filter(|slot| !slot.backfill);
    let mut parents: Vec<&Slot> = primary.copied().collect();
    if parents.is_empty() {
        parents = slots.to_vec();
    }
    let is_claimed = slots.iter().any(|slot| {
        let allocated = held(slot, slot.resources.cpus);
        has_job(slot.state.as_deref()) || allocated.is_some_and(|cpus| cpus > 0.0)
    });
    let has_state = |slot: &Slot, state: &str| slot.state.as_deref() == Some(state);
    let is_draining = parents.iter().any(|slot| slot.is_draining == Some(true));
    let is_owners = parents.iter().all(|slot| has_state(slot, "Owner"));
    let is_prevented = !is_draining && parents.iter().all(|slot| slot.prevent_reason.is_some());
    let mut words = Vec::new();
    if is_claimed {
        words.push("Claimed");
    }
    if is_owners {
        words.push("Owner");
    }
    if words.is_empty() {
        words.push("Unclaimed");
    }
    if is_draining {
        words.push("Draining");
    }
    if is_prevented {
        words.push("Prevented");
    }
    let of_parents = |time: fn(&SlotResources) -> Option<Timestamp>| {
        parents.iter().filter_map(|slot| time(&slot.resources)).min()
    };
    let reason_time = if is_draining {
        of_parents(|resources| resources.drain_time)
    } else if is_owners {
        of_parents(|resources| resources.state_time)
    } else {
        None
    };
    let reason = if is_draining {
        parents.iter().find_map(|slot| slot.resources.drain_reason.clone())
    } else if is_owners || is_prevented {
        parents.iter().find_map(|slot| slot.prevent_reason.clone())
    } else {
        None
    };
    Standing { state: words.join("+"), reason, reason_time }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::{PoolObservation, PoolSlots, fixture};
    use super::*;
    use crate::{Parsed, parse};

    fn nodes(text: &[u8]) -> Vec<SeenNode> {
        let time = Timestamp::from_second(1794712325).unwrap();
        let parser = PoolSlots::new("chtc", time, SignedDuration::from_secs(600));
        let Parsed { records, rejects } = parse(parser, text);
        assert_eq!(rejects, []);
        let node = |record| match record {
            PoolObservation::Machine(node) => Some(node),
            PoolObservation::Gpu(_) => None,
        };
        records.into_iter().filter_map(node).collect()
    }

    /// `name state CPUs held/all GPUs held/all`, a dash for what is not known.
    fn shown(nodes: &[SeenNode]) -> Vec<String> {
        let count =
            |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
        let line = |SeenNode { node, .. }: &SeenNode| {
            format!(
                "{} {} CPUs {}/{} GPUs {}/{}",
                node.node.split('.').next().unwrap(),
                node.state,
                count(node.alloc_cpus),
                count(node.cpus),
                count(node.alloc_gpus),
                count(node.gpus),
            )
        };
        nodes.iter().map(line).collect()
    }

    fn check(ads: &str, expected: &[&str]) {
        assert_eq!(shown(&nodes(ads.as_bytes())), expected);
    }

    /// The full ads of the recorded pool at its begin: eight machines of 64 CPUs, one of them without GPUs.
    #[test]
    fn a_recorded_pool_has_each_machine_once() {
        let nodes = nodes(&fixture::read("2026-11-15T031205Z/status.json"));
        assert_eq!(
            shown(&nodes),
            [
                "e2000 Unclaimed CPUs 0/64 GPUs 0/0",
                "gpu2000 Unclaimed CPUs 0/64 GPUs 0/4",
                "gpu4000 Unclaimed CPUs 0/64 GPUs 0/8",
                "gpu5000 Unclaimed CPUs 0/64 GPUs 0/4",
                // A partitionable slot with 48 CPUs and a static one with 16, and backfill over the 48.
                "gpulab2000 Unclaimed CPUs 0/64 GPUs 0/4",
                "gpusim1000 Unclaimed CPUs 0/64 GPUs 0/2",
                "jonesgpu4000 Unclaimed CPUs 0/64 GPUs 0/4",
                "smithgpu4000 Unclaimed CPUs 0/64 GPUs 0/4",
            ]
        );
        let gpu5000 = &nodes[3];
        assert_eq!(gpu5000.node.memory_mb, Some(515_000.0));
        assert_eq!(gpu5000.node.alloc_memory_mb, Some(0.0));
        assert_eq!(gpu5000.node.gpu_types.as_deref(), Some("NVIDIA H200=2,NVIDIA L40=2"));
        assert_eq!(gpu5000.cpu_load, Some(5.21));
    }

    /// Two dynamic slots of 4 and 2 CPUs, one of them on the backfill side. Since 25.0 the backfill slot's
    /// own `Cpus` lacks what either side holds (16 - 4 - 2), before it lacked only its own.
    #[test]
    fn cpus_that_both_sides_offer_are_counted_once() {
        for left_to_backfill in [10, 14] {
            check(
                &format!(
                    r#"[{{"Name":"slot1@g","SlotType":"Partitionable","State":"Unclaimed","TotalCpus":16.0,"TotalSlotCpus":16,"Cpus":12}},
                        {{"Name":"slot1_1@g","SlotType":"Dynamic","State":"Claimed","TotalCpus":16.0,"TotalSlotCpus":4,"Cpus":4}},
                        {{"Name":"backfill2@g","SlotType":"Partitionable","BackfillSlot":true,"State":"Unclaimed","TotalCpus":16.0,"TotalSlotCpus":16,"Cpus":{left_to_backfill}}},
                        {{"Name":"backfill2_1@g","SlotType":"Dynamic","BackfillSlot":true,"State":"Claimed","TotalCpus":16.0,"TotalSlotCpus":2,"Cpus":2}}]"#
                ),
                &["g Claimed CPUs 6/16 GPUs 0/0"],
            );
        }
    }

    /// The dynamic slots of a machine without GPUs are not queried.
    #[test]
    fn a_partitionable_slot_tells_what_its_dynamic_slots_hold() {
        check(
            r#"[{"Name":"slot1@e","SlotType":"Partitionable","State":"Unclaimed","TotalCpus":64.0,"TotalSlotCpus":32,"Cpus":20},
                {"Name":"slot2@e","SlotType":"Partitionable","State":"Unclaimed","TotalCpus":64.0,"TotalSlotCpus":32,"Cpus":32}]"#,
            &["e Claimed CPUs 12/64 GPUs 0/0"],
        );
    }

    #[test]
    fn static_slots_hold_their_cpus_while_they_are_claimed() {
        check(
            r#"[{"Name":"slot1@d","SlotType":"Static","State":"Claimed","TotalCpus":4,"TotalSlotCpus":1,"Cpus":1},
                {"Name":"slot2@d","SlotType":"Static","State":"Owner","TotalCpus":4,"TotalSlotCpus":1,"Cpus":1},
                {"Name":"slot3@d","SlotType":"Static","State":"Preempting","TotalCpus":4,"TotalSlotCpus":1,"Cpus":1},
                {"Name":"slot4@d","SlotType":"Static","State":"Unclaimed","TotalCpus":4,"TotalSlotCpus":1,"Cpus":1},
                {"Name":"desk","Machine":"desk","State":"Owner","TotalCpus":8,"TotalSlotCpus":8,"Cpus":8}]"#,
            &["d Claimed CPUs 2/4 GPUs 0/0", "desk Owner CPUs 0/8 GPUs 0/0"],
        );
    }

    #[test]
    fn pilots_on_one_machine_each_bring_cpus() {
        check(
            r#"[{"Name":"slot1@glidein_1@w1","Machine":"w1","SlotType":"Partitionable","State":"Unclaimed","TotalCpus":8,"TotalSlotCpus":8,"Cpus":2},
                {"Name":"slot1@glidein_2@w1","Machine":"w1","SlotType":"Partitionable","State":"Unclaimed","TotalCpus":4,"TotalSlotCpus":4,"Cpus":4}]"#,
            &["w1 Claimed CPUs 6/12 GPUs 0/0"],
        );
    }

    #[test]
    fn amounts_that_the_ads_lack_are_unknown() {
        check(
            r#"[{"Name":"slot1@g","SlotType":"Partitionable","State":"Unclaimed","TotalGPUs":1,"AssignedGPUs":"GPU-1"},
                {"Name":"slot1@h","SlotType":"Partitionable","State":"Unclaimed","TotalGPUs":2,"TotalCpus":8}]"#,
            &["g Unclaimed CPUs -/- GPUs 0/1", "h Unclaimed CPUs -/8 GPUs -/2"],
        );
    }

    /// gpu5000 was closed for its power supply at 03:24:50, gpu4000 drained from 03:28:37 on while three
    /// jobs ran there; at 03:32:20 all of them had ended.
    #[test]
    fn machines_that_take_no_jobs_have_their_reasons() {
        let standing = |snapshot: &str, machine: &str| {
            let nodes = nodes(&fixture::read(&format!("{snapshot}/status_wide.json")));
            let is_it = |seen: &&SeenNode| seen.node.node.starts_with(machine);
            let node = nodes.iter().find(is_it).unwrap().node.clone();
            (node.state.to_string(), node.reason.map(String::from), node.alloc_gpus)
        };
        let supply = Some("INF-4321: power supply to be replaced".to_owned());
        let update = Some("kernel update".to_owned());
        assert_eq!(
            standing("2026-11-15T032935Z", "gpu5000."),
            ("Owner+Prevented".to_owned(), supply, Some(0))
        );
        assert_eq!(
            standing("2026-11-15T032935Z", "gpu4000."),
            ("Claimed+Draining".to_owned(), update.clone(), Some(3))
        );
        assert_eq!(
            standing("2026-11-15T033220Z", "gpu4000."),
            ("Unclaimed+Draining".to_owned(), update, Some(0))
        );
        assert_eq!(
            standing("2026-11-15T033505Z", "gpu4000."),
            ("Claimed".to_owned(), None, Some(5))
        );
    }
}
