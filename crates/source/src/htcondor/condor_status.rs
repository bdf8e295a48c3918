//! The state of every GPU, from the slots that `condor_status` lists.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use record::{Availability, GpuSample, SeenNode, Text};

use super::machines::{SlotResources, machines};
use super::{job_id, machine, use_ratio};
use crate::notation::classad::{Ad, Ads, gpu_id};
use crate::{Command, Parsed, Parser};

/// Queries every slot of the machines that have a GPU, and of the other machines all slots but dynamic
/// ones: their partitionable slots show what dynamic slots hold, and there can be very many. `GPUs >= 1`
/// would leave out a partitionable slot with none free, and with it what the machine is.
pub fn condor_status() -> Command {
    condor_status_with_models_of([])
}

/// The slots that are queried. A dynamic slot for backfill takes nothing from a partitionable slot that
/// is not for backfill, so it is queried on every machine.
const SLOTS: &str = r#"TotalGPUs >= 1 || size(AssignedGPUs ?: "") > 0 || DynamicSlot =!= true || BackfillSlot =?= true"#;

/// Asks as [`condor_status`] does, and for the own ads of these GPUs.
///
/// A machine with two models names neither in the ads of its partitionable slots; there a GPU that
/// nobody uses has its model only in an ad of its own, which is an attribute that bears its id.
/// So the GPUs whose model one answer lacks are named in the next question.
pub fn condor_status_with_models_of<'a>(gpu_ids: impl IntoIterator<Item = &'a str>) -> Command {
    let mut attributes = "Name,Machine,SlotType,SlotID,DSlotID,PartitionableSlot,DynamicSlot,\
        BackfillSlot,State,Activity,GPUs,TotalGPUs,AssignedGPUs,AvailableGPUs,GPUs_DeviceName,\
        GPUs_GlobalMemoryMb,GPUs_Capability,GPUs_DriverVersion,GPUsAverageUsage,\
        DeviceGPUsAverageUsage,PrioritizedProjects,PreventJobsReason,RemoteOwner,GlobalJobId,\
        Draining,DrainReason,LastDrainStartTime,EnteredCurrentState,Cpus,TotalCpus,TotalSlotCpus,\
        Memory,TotalMemory,TotalSlotMemory,TotalLoadAvg,MyCurrentTime"
        .to_owned();
    for gpu_id in gpu_ids {
        attributes.push_str(",GPUs_");
        // An attribute's name holds letters, digits and underscores.
        let letters = gpu_id.chars();
        attributes.extend(letters.map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }));
    }
    let arguments = ["-json", "-constraint", SLOTS, "-attributes", &attributes];
    Command {
        program: "condor_status",
        arguments: arguments.map(str::to_owned).to_vec(),
        time_limit: Duration::from_secs(60),
    }
}

/// Reads what `condor_status -json` prints.
///
/// A GPU is offered by up to two slots at once, its primary and its backfill side. While the
/// primary side runs a job, the backfill slot still lists the GPU but does not offer it; that side
/// is then unknown, as is a side that no slot has.
pub struct CondorStatus {
    cluster: String,
    time: Timestamp,
    slots: Ads<Slot>,
}

impl CondorStatus {
    pub fn new(cluster: impl Into<String>, time: Timestamp) -> CondorStatus {
        CondorStatus { cluster: cluster.into(), time, slots: Ads::default() }
    }
}

impl Parser<GpuSample> for CondorStatus {
    fn push(&mut self, piece: &[u8]) {
        self.slots.push(piece, slot);
    }

    fn finish(self) -> Parsed<GpuSample> {
        let Parsed { records: slots, rejects } = self.slots.finish();
        Parsed { records: samples(&self.cluster, self.time, &slots), rejects }
    }
}

/// One thing that the slots of a pool show.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolObservation {
    Gpu(GpuSample),
    Machine(SeenNode),
}

/// Reads the same output as [`CondorStatus`], and gives the machines as well as their GPUs.
pub struct PoolSlots {
    status: CondorStatus,
    end_time: Timestamp,
}

impl PoolSlots {
    /// Reads the slots as they stood at a time. The state of a machine is valid for a while.
    pub fn new(cluster: impl Into<String>, time: Timestamp, hold: SignedDuration) -> PoolSlots {
        let end_time = time.checked_add(hold).unwrap_or(Timestamp::MAX);
        PoolSlots { status: CondorStatus::new(cluster, time), end_time }
    }
}

impl Parser<PoolObservation> for PoolSlots {
    fn push(&mut self, piece: &[u8]) {
        self.status.push(piece);
    }

    fn finish(self) -> Parsed<PoolObservation> {
        let CondorStatus { cluster, time, slots } = self.status;
        let Parsed { records: slots, rejects } = slots.finish();
        let gpus = samples(&cluster, time, &slots);
        let nodes = machines(&cluster, time, self.end_time, &slots, &gpus);
        let nodes = nodes.into_iter().map(PoolObservation::Machine);
        let records = gpus.into_iter().map(PoolObservation::Gpu).chain(nodes).collect();
        Parsed { records, rejects }
    }
}

/// Every GPU of a pool at one moment, from all its slots.
pub(crate) fn samples(cluster: &str, time: Timestamp, slots: &[Slot]) -> Vec<GpuSample> {
    let mut slots: Vec<&Slot> = slots.iter().collect();
    slots.sort_by_key(|slot| (slot.machine.as_str(), slot.name.as_str()));
    let mut records = Vec::new();
    for slots in slots.chunk_by(|one, other| one.machine == other.machine) {
        let is_busy = slots.iter().any(|slot| slot.is_busy);
        for (gpu_id, gpu) in gpus(slots) {
            records.push(sample(cluster, time, &slots[0].machine, gpu_id, &gpu, is_busy));
        }
    }
    records
}

/// One slot.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) machine: Text,
    pub(crate) name: Text,
    pub(crate) partitionable: bool,
    pub(crate) backfill: bool,
    pub(crate) state: Option<Text>,
    /// Whether its machine takes no new jobs because it is drained.
    pub(crate) is_draining: Option<bool>,
    /// It runs a job, or waits for another slot of a draining machine to end its job.
    pub(crate) is_busy: bool,
    pub(crate) assigned: Vec<Text>,
    /// The assigned GPUs that are free; unknown in pools that do not say.
    pub(crate) available: Option<Vec<Text>>,
    pub(crate) device: Device,
    /// What the ads of single GPUs say, where they were asked for.
    pub(crate) devices: Vec<(Text, Device)>,
    pub(crate) use_ratio: Option<f64>,
    pub(crate) user: Option<Text>,
    pub(crate) job_id: Option<Text>,
    pub(crate) prioritized_projects: Option<Text>,
    pub(crate) prevent_reason: Option<Text>,
    /// Unknown in what other tools kept of slots.
    pub(crate) resources: SlotResources,
}

impl Slot {
    /// `slot1_2` of `slot1_2@gpu1.example.org`: which machine it is on is told beside it.
    fn name_on_machine(&self) -> Text {
        let name = self.name.strip_suffix(&*self.machine).and_then(|name| name.strip_suffix('@'));
        name.unwrap_or(&self.name).into()
    }
}

#[derive(Default)]
pub(crate) struct Device {
    pub(crate) name: Option<Text>,
    pub(crate) memory_mb: Option<i64>,
    pub(crate) capability: Option<f64>,
}

fn slot(text: &[u8]) -> Result<Slot, String> {
    let ad = Ad::read(text)?;
    let name = ad.words("Name").ok_or("the slot has no name")?;
    let assigned = ad.gpu_ids("AssignedGPUs").unwrap_or_default();
    let available = ad.gpu_ids("AvailableGPUs");
    let state = ad.words("State");
    let is_draining = ad.truth("Draining") == Some(true) || state.as_deref() == Some("Drained");
    // A drained slot is retiring until the other slots of its machine are drained, too.
    let is_busy = has_job(state.as_deref()) || (is_draining && ad.is("Activity", "Retiring"));
    // A machine that drains lets its jobs come to an end: their slots are still claimed.
    let state =
        if is_draining && !has_job(state.as_deref()) { Some("Drained".into()) } else { state };
    let drain_reason = ad.words("DrainReason").filter(|_| state.as_deref() == Some("Drained"));
    Ok(Slot {
        machine: ad.words("Machine").unwrap_or_else(|| machine(&name).into()),
        partitionable: ad.is("SlotType", "Partitionable")
            || ad.truth("PartitionableSlot") == Some(true),
        backfill: ad.truth("BackfillSlot").unwrap_or(false) || is_backfill_by_name(&name),
        device: Device {
            name: ad.words("GPUs_DeviceName"),
            memory_mb: ad.integer("GPUs_GlobalMemoryMb"),
            capability: ad.number("GPUs_Capability"),
        },
        devices: ad
            .nested()
            .filter(|(name, _)| name.starts_with("GPUs_"))
            .filter_map(|(name, ad)| {
                let device = Device {
                    name: ad.words("DeviceName"),
                    memory_mb: ad.integer("GlobalMemoryMb"),
                    capability: ad.number("Capability"),
                };
                Some((gpu_id(&name)?, device))
            })
            .collect(),
        use_ratio: use_ratio(ad.number("GPUsAverageUsage"), assigned.len()),
        user: ad.words("RemoteOwner").map(|owner| user(&owner).into()),
        job_id: ad.words("GlobalJobId").map(|global| job_id(&global).into()),
        prioritized_projects: ad.text("PrioritizedProjects"),
        prevent_reason: drain_reason.or_else(|| ad.words("PreventJobsReason")),
        resources: SlotResources::of(&ad),
        name,
        state,
        is_draining: Some(is_draining),
        is_busy,
        assigned,
        available,
    })
}

/// Returns whether a slot in such a state runs a job. One that is preempted still does.
pub(crate) fn has_job(state: Option<&str>) -> bool {
    matches!(state, Some("Claimed" | "Preempting"))
}

/// Whether a slot is called one for backfill. The machine's own name says nothing of the slot.
pub(crate) fn is_backfill_by_name(slot: &str) -> bool {
    let slot = slot.split('@').next().unwrap_or_default();
    slot.as_bytes().windows(8).any(|part| part.eq_ignore_ascii_case(b"backfill"))
}

/// Who holds a slot, of `ann@example.org`.
pub(crate) fn user(owner: &str) -> &str {
    owner.split_once('@').map_or(owner, |(user, _)| user)
}

/// How a slot has a GPU, the stronger the greater.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Hold {
    /// It lists the GPU, and neither offers it nor has it in use.
    Withheld,
    Offered,
    Held,
}

/// A slot, and how it has the GPU in question.
type Side<'a> = Option<(Hold, &'a Slot)>;

/// One GPU of a machine, with the slot that has the strongest hold of it on each side.
#[derive(Default)]
struct Gpu<'a> {
    primary: Side<'a>,
    backfill: Side<'a>,
    device: Option<&'a Device>,
}

fn gpus<'a>(slots: &[&'a Slot]) -> BTreeMap<&'a str, Gpu<'a>> {
    let mut gpus: BTreeMap<&str, Gpu<'_>> = BTreeMap::new();
    for &slot in slots {
        // Backfill slots of older pools have no AssignedGPUs, only the free ones.
        let available = slot.available.as_deref().unwrap_or_default();
        let only_available = available.iter().filter(|id| !slot.assigned.contains(id));
        for gpu_id in slot.assigned.iter().chain(only_available) {
            let hold = match &slot.available {
                _ if !slot.partitionable => Hold::Held,
                Some(available) if !available.contains(gpu_id) => Hold::Withheld,
                _ => Hold::Offered,
            };
            let gpu = gpus.entry(gpu_id).or_default();
            let side = if slot.backfill { &mut gpu.backfill } else { &mut gpu.primary };
            if side.is_none_or(|(former, holder)| {
                (former, is_claimed(holder)) < (hold, is_claimed(slot))
            }) {
                *side = Some((hold, slot));
            }
        }
    }
    for (gpu_id, device) in slots.iter().flat_map(|slot| &slot.devices) {
        if let Some(gpu) = gpus.get_mut(gpu_id.as_str()) {
            gpu.device = Some(device);
        }
    }
    gpus
}

fn is_claimed(slot: &Slot) -> bool {
    slot.state.as_deref() == Some("Claimed")
}

/// The slot of a side that offers the GPU or has it in use.
fn holder<'a>(side: Side<'a>) -> Option<&'a Slot> {
    side.filter(|(hold, _)| *hold > Hold::Withheld).map(|(_, slot)| slot)
}

/// Returns whether the machine of a GPU takes jobs, by what its slots report. None if they do not.
fn availability(gpu: &Gpu<'_>, is_busy: bool) -> Option<Availability> {
    let slots = || [gpu.primary, gpu.backfill].into_iter().flatten().map(|(_, slot)| slot);
    let is_prevented =
        |slot: &Slot| slot.prevent_reason.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    if slots().any(|slot| slot.is_draining == Some(true)) {
        Some(Availability::of_drain(is_busy))
    } else if slots().next().is_some_and(is_prevented) {
        Some(Availability::Prevented)
    } else {
        slots().all(|slot| slot.is_draining == Some(false)).then_some(Availability::Up)
    }
}

fn sample(
    cluster: &str,
    time: Timestamp,
    machine: &str,
    gpu_id: &str,
    gpu: &Gpu<'_>,
    is_busy: bool,
) -> GpuSample {
    let (primary, backfill) = (holder(gpu.primary), holder(gpu.backfill));
    // What a slot says of its machine and its devices holds though it withholds the GPU.
    let primary_listing = gpu.primary.map(|(_, slot)| slot);
    let listing = || [gpu.primary, gpu.backfill].into_iter().flatten().map(|(_, slot)| slot);
    let devices = || gpu.device.into_iter().chain(listing().map(|slot| &slot.device));
    // What a partitionable slot prints is the use of all its GPUs together.
    let measured = [primary, backfill]
        .into_iter()
        .flatten()
        .find(|slot| !slot.partitionable && is_claimed(slot));
    GpuSample {
        cluster: cluster.into(),
        machine: machine.into(),
        gpu_id: gpu_id.into(),
        time,
        device_name: devices().find_map(|device| device.name.clone()),
        device_memory_mb: devices().find_map(|device| device.memory_mb),
        capability: devices().find_map(|device| device.capability),
        primary_slot: primary.map(Slot::name_on_machine),
        primary_state: primary.and_then(|slot| slot.state.clone()),
        primary_user: primary.and_then(|slot| slot.user.clone()),
        primary_job_id: primary.and_then(|slot| slot.job_id.clone()),
        prevent_reason: listing().next().and_then(|slot| slot.prevent_reason.clone()),
        availability: availability(gpu, is_busy).map(|availability| availability.name().into()),
        prioritized_projects: primary_listing.and_then(|slot| slot.prioritized_projects.clone()),
        interactive: primary_listing
            .map(|slot| slot.name.to_ascii_lowercase().contains("interactive")),
        backfill_slot: backfill.map(Slot::name_on_machine),
        backfill_state: backfill.and_then(|slot| slot.state.clone()),
        backfill_user: backfill.and_then(|slot| slot.user.clone()),
        backfill_job_id: backfill.and_then(|slot| slot.job_id.clone()),
        use_ratio: measured.and_then(|slot| slot.use_ratio),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::fixture;
    use super::*;
    use crate::parse;

    fn parser() -> CondorStatus {
        CondorStatus::new("chtc", Timestamp::from_second(1794712325).unwrap())
    }

    /// The GPUs of some ads, a line each, and the rejects.
    fn check(ads: &str, expected: &[&str]) {
        let Parsed { records, rejects } = parse(parser(), ads.as_bytes());
        let word = |text: &Option<Text>| text.clone().unwrap_or_else(|| "-".into());
        let gpus = records.iter().map(|gpu| {
            format!(
                "{} {} primary {} {} backfill {} {}",
                gpu.machine,
                gpu.gpu_id,
                word(&gpu.primary_slot),
                word(&gpu.primary_state),
                word(&gpu.backfill_slot),
                word(&gpu.backfill_state),
            )
        });
        let rejects = rejects.iter().map(|reject| format!("{} {}", reject.position, reject.reason));
        assert_eq!(gpus.chain(rejects).collect::<Vec<_>>(), expected);
    }

    /// The one GPU of some ads.
    fn gpu(ads: &str) -> GpuSample {
        let Parsed { mut records, rejects } = parse(parser(), ads.as_bytes());
        assert_eq!((records.len(), rejects.len()), (1, 0));
        records.remove(0)
    }

    #[test]
    fn a_pool_is_seen_as_its_own_logs_tell() {
        let mut snapshots: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for row in fixture::table("truth/gpu_state_at_snapshots.csv") {
            snapshots.entry(row["snapshot"].clone()).or_default().push(row);
        }
        assert_eq!(snapshots.len(), 18);
        let mut compared = 0;
        let mut absent = BTreeSet::new();
        let mut disagree = BTreeSet::new();
        for (snapshot, rows) in &snapshots {
            let Parsed { records, rejects } =
                parse(parser(), &fixture::read(&format!("{snapshot}/status_wide.json")));
            assert_eq!(rejects, []);
            let mut gpus: BTreeMap<_, _> = records
                .iter()
                .map(|gpu| ((gpu.machine.as_str(), gpu.gpu_id.as_str()), gpu))
                .collect();
            assert_eq!(gpus.len(), records.len(), "{snapshot}: a GPU is there twice");
            for row in rows {
                let name = format!("{snapshot} {} {}", row["machine"], row["gpu"]);
                let Some(gpu) = gpus.remove(&(row["machine"].as_str(), row["gpu"].as_str())) else {
                    absent.insert(name);
                    continue;
                };
                compared += 1;
                // The row's winner is one of the two sides, whatever the rule by which it won.
                let winner = row["winning_slot"].split('@').next();
                let side = if winner == gpu.primary_slot.as_deref() {
                    (&gpu.primary_state, &gpu.primary_user)
                } else {
                    assert_eq!(gpu.backfill_slot.as_deref(), winner, "{name}");
                    (&gpu.backfill_state, &gpu.backfill_user)
                };
                assert_eq!(side.0.as_deref(), Some(row["winning_state"].as_str()), "{name}");
                let owner = row["winning_owner"].split('@').next().filter(|user| !user.is_empty());
                assert_eq!(side.1.as_deref(), owner, "{name}");

                let primary_job = fixture::name_in_logs(gpu.primary_job_id.as_deref());
                let backfill_job = fixture::name_in_logs(gpu.backfill_job_id.as_deref());
                if (&primary_job, &backfill_job)
                    != (&row["true_primary_job"], &row["true_backfill_job"])
                {
                    disagree.insert(name);
                }
            }
            assert_eq!(gpus.len(), 0, "{snapshot}: GPUs that no log knows");
        }
        assert_eq!(compared, 536);
        // The startd of gpusim1000 was switched off at 03:36:05 and on again at 03:39:07.
        let off = ["2026-11-15T033705Z", "2026-11-15T033905Z"];
        assert_eq!(absent, each(&off, "gpusim1000", ["GPU-a0223334", "GPU-b1223334"]));
        // ap2002:8.0 ended in the second of the question, 03:28:35; its slot was still claimed.
        let ended = ["2026-11-15T032835Z"];
        let mut expected = each(&ended, "jonesgpu4000", ["GPU-287282be", "GPU-c6712b7a"]);
        // gpu2000 crashed at 03:37:06. Its jobs were given up at 03:40:23; the collector shows its
        // last ads for 15 minutes, or until it is back at 03:43:08.
        let crashed = ["2026-11-15T034105Z", "2026-11-15T034305Z"];
        expected.extend(each(&crashed, "gpu2000", ["GPU-33552702", "GPU-c29660f0"]));
        assert_eq!(disagree, expected);
    }

    fn each(snapshots: &[&str], machine: &str, gpus: [&str; 2]) -> BTreeSet<String> {
        let names = snapshots.iter().flat_map(|snapshot| {
            gpus.map(|gpu| format!("{snapshot} {machine}.chtc.example.org {gpu}"))
        });
        names.collect()
    }

    #[test]
    fn a_busy_partitionable_slot_is_asked_for_too() {
        let Command { program, arguments, time_limit } = condor_status();
        assert_eq!((program, time_limit.as_secs()), ("condor_status", 60));
        assert!(arguments[2].starts_with(r#"TotalGPUs >= 1 || size(AssignedGPUs ?: "") > 0 || "#));
        // A machine without GPUs shows itself by its partitionable and static slots.
        assert!(arguments[2].ends_with("DynamicSlot =!= true || BackfillSlot =?= true"));
        assert!(arguments[4].starts_with("Name,Machine,SlotType,"));
        assert!(arguments[4].ends_with(",TotalLoadAvg,MyCurrentTime"));
        assert!(!arguments[4].contains(' '));
    }

    /// The own ads of GPUs in `status.json` of the same pool are called so.
    #[test]
    fn a_gpu_whose_model_is_not_known_is_asked_for_by_its_id() {
        let ids = ["GPU-28685857", "MIG-0c5e2e0f-0f21-a87a-08e4-272625f73de3", "CUDA0"];
        let attributes = condor_status_with_models_of(ids).arguments.remove(4);
        assert!(attributes.ends_with(
            ",MyCurrentTime,GPUs_GPU_28685857,GPUs_MIG_0c5e2e0f_0f21_a87a_08e4_272625f73de3,GPUs_CUDA0"
        ));
    }

    /// gpu5000 has two H200 and two L40, gpulab2000 two A100 and two slices of a third, of which
    /// HTCondor has no model. The slots' own attributes tell none of them.
    #[test]
    fn the_models_of_mixed_machines_are_in_the_gpus_own_ads() {
        let models = |file: &str, machine: &str| -> Vec<String> {
            let text = fixture::read(&format!("2026-11-15T031205Z/{file}"));
            let Parsed { records, rejects } = parse(parser(), &text);
            assert_eq!(rejects, []);
            let of_machine =
                records.into_iter().filter(|gpu| gpu.machine.split('.').next() == Some(machine));
            of_machine.map(|gpu| gpu.device_name.unwrap_or_default().into()).collect()
        };
        assert_eq!(models("status_wide.json", "gpu5000"), [""; 4]);
        let (h200, l40, a100) = ("NVIDIA H200", "NVIDIA L40", "NVIDIA A100-SXM4-40GB");
        assert_eq!(models("status.json", "gpu5000"), [l40, l40, h200, h200]);
        assert_eq!(models("status.json", "gpulab2000"), [a100, a100, "", ""]);
    }

    /// Each row of the table by which the two sides of one GPU are judged: what the slots say goes
    /// into the record as it is, side by side, and nothing is decided here.
    #[test]
    fn both_sides_of_a_gpu_are_kept_as_they_are() {
        for (primary, backfill, prevented) in [
            ("Claimed", "-", ""),
            ("Claimed", "-", "INF-1"),
            // A conflict, which is kept to be seen.
            ("Claimed", "Claimed", ""),
            ("Unclaimed", "-", ""),
            ("Unclaimed", "Unclaimed", ""),
            ("Unclaimed", "Claimed", ""),
            ("Unclaimed", "Claimed", "INF-1"),
            ("Unclaimed", "Unclaimed", "INF-1"),
            ("Drained", "Drained", ""),
            ("Drained", "Claimed", ""),
            ("Owner", "-", ""),
            ("Owner", "Claimed", "INF-1"),
            ("-", "Claimed", ""),
            ("-", "Unclaimed", ""),
            ("-", "Drained", ""),
            ("-", "Owner", ""),
        ] {
            let slot = |name: &str, state: &str| {
                let kind = if state == "Claimed" { "Dynamic" } else { "Partitionable" };
                format!(
                    r#"{{"Name":"{name}@g","SlotType":"{kind}","State":"{state}","AssignedGPUs":"GPU-1",
                        "AvailableGPUs":["GPUs_GPU_1"],"PreventJobsReason":"{prevented}"}}"#
                )
            };
            let sides = [("slot1", primary), ("backfill2", backfill)];
            let ads: Vec<String> = sides
                .into_iter()
                .filter(|(_, state)| *state != "-")
                .map(|(name, state)| slot(name, state))
                .collect();
            let gpu = gpu(&format!("[{}]", ads.join(",")));
            let state = |state: &Option<Text>| state.clone().unwrap_or_else(|| "-".into());
            let found = [state(&gpu.primary_state), state(&gpu.backfill_state)];
            assert_eq!(found, [primary, backfill], "{prevented}");
            assert_eq!(gpu.prevent_reason.unwrap_or_default(), prevented, "{primary} {backfill}");
        }
        // Of a GPU that no slot lists there is no sample: that time is unknown.
        check(r#"[{"Name":"slot1@g","TotalGPUs":1}]"#, &[]);
    }

    #[test]
    fn a_backfill_slot_that_the_primary_job_closed_is_no_side() {
        check(
            r#"[{"Name":"slot1_1@g","SlotType":"Dynamic","State":"Claimed","AssignedGPUs":"GPU-1"},
                {"Name":"backfill2@g","SlotType":"Partitionable","State":"Unclaimed","AssignedGPUs":"GPU-1","AvailableGPUs":[]}]"#,
            &["g GPU-1 primary slot1_1 Claimed backfill - -"],
        );
    }

    #[test]
    fn an_id_is_one_in_every_spelling() {
        let mig = "MIG-0c5e2e0f-0f21-a87a-08e4-272625f73de3";
        for (assigned, available, expected) in [
            (r#""GPU-5d6e65db""#, r#"["GPUs_GPU_5d6e65db"]"#, &["GPU-5d6e65db"][..]),
            (r#""GPU_5d6e65db""#, r#"["\/Expr(GPUs_GPU_5d6e65db)\/"]"#, &["GPU-5d6e65db"]),
            (
                r#""MIG-0c5e2e0f-0f21-a87a-08e4-272625f73de3""#,
                r#"["/Expr(GPUs_MIG_0c5e2e0f_0f21_a87a_08e4_272625f73de3)/"]"#,
                &[mig],
            ),
            (r#""CUDA0,CUDA1""#, r#"["GPUs_CUDA0","GPUs_CUDA1"]"#, &["CUDA0", "CUDA1"]),
            (r#""GPU-1, GPU-2""#, r#""{ GPUs_GPU_1, GPUs_GPU_2 }""#, &["GPU-1", "GPU-2"]),
            (r#""""#, "[]", &[]),
            ("null", "null", &[]),
            (r#""""#, r#"["GPUs_GPU_7"]"#, &["GPU-7"]),
        ] {
            let ad = format!(
                r#"[{{"Name":"slot1@g","SlotType":"Partitionable","State":"Unclaimed",
                     "AssignedGPUs":{assigned},"AvailableGPUs":{available}}}]"#
            );
            let Parsed { records, rejects } = parse(parser(), ad.as_bytes());
            assert_eq!(rejects, []);
            let ids: Vec<_> = records.iter().map(|gpu| gpu.gpu_id.as_str()).collect();
            assert_eq!(ids, expected, "{assigned}");
            assert!(records.iter().all(|gpu| gpu.primary_state.as_deref() == Some("Unclaimed")));
        }
    }

    #[test]
    fn a_side_is_told_by_the_name_of_the_slot_not_of_the_machine() {
        check(
            r#"[{"Name":"interactive-Backfill2@g","State":"Unclaimed","AssignedGPUs":"GPU-1"},
                {"Name":"slot1@backfill-1.example.org","State":"Owner","AssignedGPUs":"GPU-2"},
                {"Name":"slot3@h","BackfillSlot":true,"State":"Owner","AssignedGPUs":"GPU-3"}]"#,
            &[
                "backfill-1.example.org GPU-2 primary slot1 Owner backfill - -",
                "g GPU-1 primary - - backfill interactive-Backfill2 Unclaimed",
                "h GPU-3 primary - - backfill slot3 Owner",
            ],
        );
    }

    #[test]
    fn a_dynamic_slot_holds_what_its_partitionable_slot_also_lists() {
        let ads = r#"[
            {"Name":"slot1@g","Machine":"g","SlotType":"Partitionable","State":"Unclaimed",
             "AssignedGPUs":"GPU-1,GPU-2","AvailableGPUs":["\/Expr(GPUs_GPU_2)\/"]},
            {"Name":"slot1_1@g","Machine":"g","SlotType":"Dynamic","State":"Claimed","AssignedGPUs":"GPU-1"}]"#;
        check(
            ads,
            &[
                "g GPU-1 primary slot1_1 Claimed backfill - -",
                "g GPU-2 primary slot1 Unclaimed backfill - -",
            ],
        );
        // Without AvailableGPUs, free is what no dynamic slot holds.
        check(
            &ads.replace(r#""AvailableGPUs""#, r#""Other""#),
            &[
                "g GPU-1 primary slot1_1 Claimed backfill - -",
                "g GPU-2 primary slot1 Unclaimed backfill - -",
            ],
        );
    }

    #[test]
    fn a_backfill_slot_does_not_offer_what_the_primary_slot_has_in_use() {
        check(
            r#"[{"Name":"backfill2@g","BackfillSlot":true,"SlotType":"Partitionable","State":"Unclaimed",
                 "AssignedGPUs":"GPU-1,GPU-2","AvailableGPUs":["/Expr(GPUs_GPU_2)/"]},
                {"Name":"slot1@g","SlotType":"Partitionable","State":"Unclaimed",
                 "AssignedGPUs":"GPU-1,GPU-2","AvailableGPUs":["/Expr(GPUs_GPU_2)/"]},
                {"Name":"slot1_1@g","SlotType":"Dynamic","State":"Claimed","AssignedGPUs":"GPU-1"}]"#,
            &[
                "g GPU-1 primary slot1_1 Claimed backfill - -",
                "g GPU-2 primary slot1 Unclaimed backfill backfill2 Unclaimed",
            ],
        );
    }

    #[test]
    fn an_old_backfill_slot_is_known_by_its_name_and_has_available_gpus_only() {
        check(
            r#"[{"Name":"Backfill2@g","SlotType":"Partitionable","State":"Unclaimed","AvailableGPUs":["GPUs_GPU_1"]},
                {"Name":"slot1@g","SlotType":"Partitionable","State":"Owner","AssignedGPUs":"GPU_1","AvailableGPUs":["GPUs_GPU_1"]}]"#,
            &["g GPU-1 primary slot1 Owner backfill Backfill2 Unclaimed"],
        );
    }

    #[test]
    fn the_same_id_on_two_machines_is_two_gpus() {
        check(
            r#"[{"Name":"slot1@b","SlotType":"Static","State":"Owner","AssignedGPUs":"CUDA0"},
                {"Name":"slot1@a","SlotType":"Static","State":"Claimed","AssignedGPUs":"CUDA0"}]"#,
            &[
                "a CUDA0 primary slot1 Claimed backfill - -",
                "b CUDA0 primary slot1 Owner backfill - -",
            ],
        );
    }

    #[test]
    fn a_slot_without_gpus_is_none() {
        check(
            r#"[{"Name":"slot1@e","SlotType":"Partitionable","AssignedGPUs":""},{"Name":"slot1@f"}]"#,
            &[],
        );
        check("", &[]);
    }

    #[test]
    fn a_slot_that_cannot_be_read_is_set_aside() {
        check(
            r#"[{"Name":"slot1@a","AssignedGPUs":"CUDA0"},{"State":"Owner"},{"Name":"#,
            &[
                "a CUDA0 primary slot1 - backfill - -",
                "2 the slot has no name",
                "3 the output ends inside an ad",
            ],
        );
    }

    #[test]
    fn a_draining_machine_is_drained_where_no_job_is_left() {
        check(
            r#"[{"Name":"slot1@a","Draining":true,"State":"Unclaimed","SlotType":"Partitionable","AssignedGPUs":"GPU-1,GPU-2"},
                {"Name":"slot1_1@a","Draining":true,"State":"Claimed","SlotType":"Dynamic","AssignedGPUs":"GPU-1"}]"#,
            &[
                "a GPU-1 primary slot1_1 Claimed backfill - -",
                "a GPU-2 primary slot1 Drained backfill - -",
            ],
        );
        let reason = |state: &str, more: &str| {
            gpu(&format!(
                r#"[{{"Name":"slot1@a","State":"{state}","AssignedGPUs":"GPU-1","DrainReason":"kernel update"{more}}}]"#
            ))
            .prevent_reason
        };
        let update = Some(Text::from("kernel update"));
        assert_eq!(reason("Unclaimed", r#","Draining":true"#), update);
        assert_eq!(reason("Drained", r#","PreventJobsReason":"INF-1""#), update);
        // The reason is left from before, or does not keep this job from running.
        assert_eq!(reason("Unclaimed", ""), None);
        assert_eq!(reason("Claimed", r#","Draining":true"#), None);
    }

    #[test]
    fn a_machine_is_draining_until_its_last_job_has_ended() {
        let found = |slots: &[&str]| -> Vec<String> {
            let ads: Vec<String> = (1..)
                .zip(slots)
                .map(|(number, slot)| {
                    format!(r#"{{"Name":"slot{number}@a","AssignedGPUs":"GPU-{number}",{slot}}}"#)
                })
                .collect();
            let gpus = parse(parser(), format!("[{}]", ads.join(",")).as_bytes()).records;
            gpus.into_iter().map(|gpu| gpu.availability.unwrap_or_default().into()).collect()
        };
        let claimed = r#""State":"Claimed","Activity":"Retiring","Draining":true"#;
        let retiring = r#""State":"Drained","Activity":"Retiring","Draining":true"#;
        let idle = r#""State":"Drained","Activity":"Idle","Draining":true"#;
        assert_eq!(found(&[claimed, retiring]), ["draining", "draining"]);
        // A slot without a GPU may run the last job.
        assert_eq!(found(&[retiring]), ["draining"]);
        assert_eq!(found(&[idle, idle]), ["drained", "drained"]);
        assert_eq!(found(&[r#""State":"Unclaimed","PreventJobsReason":"INF-1""#]), ["prevented"]);
        assert_eq!(found(&[r#""State":"Claimed""#, r#""State":"Owner""#]), ["up", "up"]);
    }

    /// gpu4000 was drained from 03:28:37 on for a kernel update: the jobs 14.0, 14.1 and 14.2 of
    /// ap2001 could end, and the other five of its eight GPUs were drained at once.
    #[test]
    fn a_recorded_drain_has_its_reason() {
        let text = fixture::read("2026-11-15T032935Z/status_wide.json");
        let gpus = parse(parser(), &text).records;
        let mut drained = 0;
        for gpu in gpus.iter().filter(|gpu| gpu.machine.starts_with("gpu4000.")) {
            let (state, reason) = (gpu.primary_state.as_deref(), gpu.prevent_reason.as_deref());
            assert_eq!(gpu.availability.as_deref(), Some("draining"));
            match &gpu.primary_job_id {
                Some(job) => {
                    assert!(job.contains("#14."), "{job}");
                    assert_eq!((state, reason), (Some("Claimed"), None));
                }
                None => {
                    assert_eq!((state, reason), (Some("Drained"), Some("kernel update")));
                    drained += 1;
                }
            }
        }
        assert_eq!(drained, 5);
    }

    #[test]
    fn no_projects_and_unknown_projects_are_told_apart() {
        for (printed, expected) in [
            (r#""""#, Some("")),
            (r#""  ""#, Some("  ")),
            (r#""projA""#, Some("projA")),
            ("null", None),
            (r#""\/Expr(TARGET.Projects)\/""#, None),
        ] {
            let ad = format!(
                r#"[{{"Name":"slot1@a","AssignedGPUs":"GPU-1","PrioritizedProjects":{printed}}}]"#
            );
            assert_eq!(gpu(&ad).prioritized_projects.as_deref(), expected, "{printed}");
        }
    }

    #[test]
    fn a_claimed_slot_says_who_what_and_how_much() {
        let gpu = gpu(
            r#"[{"Name":"slot1_1@a","SlotType":"Dynamic","State":"Claimed","AssignedGPUs":"GPU-1","GPUsAverageUsage":0.25,
                 "RemoteOwner":"ann@example.org","GlobalJobId":"ap1#12.0#1794712355","GPUs_DeviceName":"NVIDIA L40S",
                 "GPUs_GlobalMemoryMb":"45589","GPUs_Capability":8.9,"PrioritizedProjects":"","PreventJobsReason":""}]"#,
        );
        assert_eq!(gpu.primary_user.as_deref(), Some("ann"));
        assert_eq!(gpu.primary_job_id.as_deref(), Some("ap1#12.0"));
        assert_eq!(gpu.use_ratio, Some(0.25));
        assert_eq!(gpu.device_name.as_deref(), Some("NVIDIA L40S"));
        assert_eq!((gpu.device_memory_mb, gpu.capability), (Some(45589), Some(8.9)));
        // That a machine has no such projects is known; that nothing prevents jobs is no reason.
        assert_eq!((gpu.prioritized_projects.as_deref(), gpu.prevent_reason), (Some(""), None));
        assert_eq!((gpu.interactive, gpu.backfill_user), (Some(false), None));
    }

    #[test]
    fn use_is_shared_among_a_slots_gpus_and_is_not_a_partitionable_slots() {
        let use_ratios = |ads: &str| -> Vec<_> {
            parse(parser(), ads.as_bytes()).records.iter().map(|gpu| gpu.use_ratio).collect()
        };
        // 1.165 of 2 GPUs.
        let ad = r#"[{"Name":"slot1_1@a","SlotType":"Dynamic","State":"Claimed","AssignedGPUs":"GPU-1,GPU-2","GPUsAverageUsage":1.165}]"#;
        assert_eq!(use_ratios(ad), [Some(0.5825); 2]);
        assert_eq!(use_ratios(&ad.replace("1.165", "75.39")), [None; 2]);
        assert_eq!(use_ratios(&ad.replace("Dynamic", "Partitionable")), [None; 2]);
        assert_eq!(use_ratios(&ad.replace("Claimed", "Unclaimed")), [None; 2]);
    }

    #[test]
    fn the_backfill_side_knows_the_use_and_the_model_of_a_free_primary() {
        let gpu = gpu(
            r#"[{"Name":"slot1@a","SlotType":"Partitionable","State":"Unclaimed","AssignedGPUs":"GPU-1","AvailableGPUs":["GPUs_GPU_1"],
                 "PrioritizedProjects":"smith_lab","PreventJobsReason":"INF-1"},
                {"Name":"backfill2_1@a","BackfillSlot":true,"SlotType":"Dynamic","State":"Claimed","AssignedGPUs":"GPU-1",
                 "GPUsAverageUsage":0.5,"GPUs_DeviceName":"NVIDIA H200","PrioritizedProjects":"other"}]"#,
        );
        assert_eq!(gpu.primary_state.as_deref(), Some("Unclaimed"));
        assert_eq!(gpu.backfill_state.as_deref(), Some("Claimed"));
        assert_eq!((gpu.use_ratio, gpu.device_name.as_deref()), (Some(0.5), Some("NVIDIA H200")));
        assert_eq!(gpu.prioritized_projects.as_deref(), Some("smith_lab"));
        assert_eq!(gpu.prevent_reason.as_deref(), Some("INF-1"));
    }

    #[test]
    fn without_a_primary_slot_its_side_is_unknown() {
        let gpu = gpu(
            r#"[{"Name":"backfill-interactive@a","SlotType":"Static","State":"Unclaimed","AssignedGPUs":"GPU-1","PrioritizedProjects":"x"}]"#,
        );
        assert_eq!(
            (gpu.primary_state, gpu.prioritized_projects, gpu.interactive),
            (None, None, None)
        );
        assert_eq!(gpu.backfill_state.as_deref(), Some("Unclaimed"));
    }

    #[test]
    fn a_gpus_own_ad_has_its_model() {
        let gpu = gpu(
            r#"[{"Name":"Interactive3@a","SlotType":"Static","State":"Owner","AssignedGPUs":"GPU-28685857","GPUs_GPU_28685857":
                 {"Capability":8.9,"DeviceName":"NVIDIA L40","GlobalMemoryMb":45589,"Id":"GPU-28685857"}}]"#,
        );
        assert_eq!(gpu.device_name.as_deref(), Some("NVIDIA L40"));
        assert_eq!((gpu.device_memory_mb, gpu.capability), (Some(45589), Some(8.9)));
        assert_eq!(gpu.interactive, Some(true));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn output_cut_anywhere_is_read_alike(
            cuts in prop::collection::vec(0_usize..9000, 0..8),
            end in 0_usize..36_000,
            flaw in any::<u8>(),
            at in 0_usize..36_000,
        ) {
            let mut text = fixture::read("2026-11-15T034635Z/status_wide.json");
            text.truncate(end);
            if let Some(byte) = text.get_mut(at) {
                *byte = flaw;
            }
            let mut pieces = parser();
            let mut rest = &text[..];
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            pieces.push(rest);
            prop_assert_eq!(pieces.finish(), parse(parser(), &text));
        }
    }
}
