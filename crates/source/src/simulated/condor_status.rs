//! Prints the simulated pool's slots as `condor_status -json` does.

use super::arguments::Arguments;
use super::condor_json::{Ads, OPTIONS, attributes, plain, real, string, truth};
use super::condor_machines::{LABS, Machine, OutageKind, Owner};
use super::condor_pool::{ACCESS_POINTS, CondorPool, Execution, Side, access_point_name};
use super::condor_workload::Job;
use super::{CONDOR_POOL, Moment};
use crate::htcondor;
use crate::machine::{Command, Failure};

pub(super) fn condor_status(
    pool: &CondorPool,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    if arguments.has("-any") {
        return daemons(&arguments, now, sink);
    }
    if !arguments.has("-json") || arguments.has("-epochs") || !arguments.words.is_empty() {
        return Err(arguments.failure("Error: this simulated pool prints only -json"));
    }
    let only_free = match arguments.get("-constraint") {
        None => false,
        // Every machine here has GPUs, so that every slot meets what the collector asks for.
        Some(all) if htcondor::condor_status().arguments.iter().any(|known| known == all) => false,
        Some("GPUs >= 1") => true,
        Some(other) => {
            return Err(arguments.failure(format!("Error: cannot evaluate here: {other}")));
        }
    };
    let attributes = attributes(&arguments, &ATTRIBUTES);

    let mut running: Vec<Vec<&Execution>> = vec![Vec::new(); pool.machines.len()];
    for index in pool.alive.between(now, now) {
        let execution = &pool.executions[index as usize];
        if execution.start <= now && now < execution.end {
            running[usize::from(execution.machine)].push(execution);
        }
    }
    let mut ads = Ads::new(sink);
    for (index, (machine, running)) in pool.machines.iter().zip(&mut running).enumerate() {
        let outage = pool.outage_at(index, now);
        let kind = outage.map(|outage| outage.kind);
        if kind == Some(OutageKind::Absent) {
            continue;
        }
        running.sort_by_key(|execution| execution.slot);
        for side in [Side::Backfill, Side::Primary] {
            if side == Side::Backfill && !machine.has_backfill {
                continue;
            }
            let of_side = || running.iter().copied().filter(|execution| execution.side == side);
            // The parent first, then its children.
            for execution in std::iter::once(None).chain(of_side().map(Some)) {
                let slot = Slot {
                    pool,
                    machine,
                    running,
                    side,
                    execution,
                    kind,
                    reason: outage.map_or("", |outage| outage.reason),
                    since: outage.map(|outage| outage.start),
                    now,
                };
                if !only_free || slot.available().count_ones() > 0 {
                    ads.ad(&attributes, |attribute, out| slot.value(attribute, out));
                }
            }
        }
    }
    ads.finish();
    Ok(())
}

/// The access points and the negotiator, which were heard of just now; the negotiator has ended a cycle
/// at the last whole minute.
fn daemons(arguments: &Arguments, now: Moment, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
    if !arguments.has("-json") || arguments.get("-constraint") != Some(DAEMONS) {
        return Err(arguments.failure("Error: this simulated pool prints only its daemons"));
    }
    let known = [
        "LastHeardFrom",
        "LastNegotiationCycleDuration0",
        "LastNegotiationCycleEnd0",
        "MyType",
        "Name",
    ]
    .map(|name| (name, name));
    let attributes = attributes(arguments, &known);
    let mut ads = Ads::new(sink);
    for number in 0..ACCESS_POINTS {
        let name = access_point_name(number);
        ads.ad(&attributes, |attribute, out| match attribute {
            "Name" => string(out, format_args!("{name}")),
            "MyType" => string(out, format_args!("Scheduler")),
            "LastHeardFrom" => plain(out, format_args!("{now}")),
            _ => None,
        });
    }
    ads.ad(&attributes, |attribute, out| match attribute {
        "Name" => string(out, format_args!("cm.{CONDOR_POOL}.example.org")),
        "MyType" => string(out, format_args!("Negotiator")),
        "LastHeardFrom" => plain(out, format_args!("{now}")),
        "LastNegotiationCycleEnd0" => plain(out, format_args!("{}", now - now % 60)),
        _ => plain(out, format_args!("5")),
    });
    ads.finish();
    Ok(())
}

/// The constraint with which the collector asks for daemons.
const DAEMONS: &str = r#"MyType == "Scheduler" || MyType == "Negotiator""#;

struct Slot<'a> {
    pool: &'a CondorPool,
    machine: &'a Machine,
    running: &'a [&'a Execution],
    side: Side,
    /// Of a dynamic slot; None for a partitionable one.
    execution: Option<&'a Execution>,
    kind: Option<OutageKind>,
    reason: &'static str,
    /// When the outage began.
    since: Option<Moment>,
    now: Moment,
}

impl Slot<'_> {
    fn value(&self, attribute: Attribute, out: &mut Vec<u8>) -> Option<()> {
        let Slot { machine, execution, .. } = self;
        let is_draining = self.kind == Some(OutageKind::Drain);
        let job = || execution.map(|execution| &self.pool.jobs[execution.job as usize]);
        match attribute {
            Attribute::Name => self.name(out),
            Attribute::Machine => string(out, format_args!("{}", machine.name)),
            Attribute::SlotType => {
                let slot_type = if execution.is_some() { "Dynamic" } else { "Partitionable" };
                string(out, format_args!("{slot_type}"))
            }
            Attribute::SlotId => plain(out, format_args!("{}", self.slot_id())),
            Attribute::DSlotId => plain(out, format_args!("{}", (*execution)?.slot)),
            Attribute::PartitionableSlot => {
                if execution.is_none() {
                    truth(out, true)
                } else {
                    None
                }
            }
            Attribute::DynamicSlot => execution.and_then(|_| truth(out, true)),
            Attribute::BackfillSlot => {
                if self.side == Side::Backfill {
                    truth(out, true)
                } else {
                    None
                }
            }
            Attribute::State => string(out, format_args!("{}", self.state())),
            Attribute::Activity => string(out, format_args!("{}", self.activity())),
            Attribute::Gpus => plain(out, format_args!("{}", self.available().count_ones())),
            Attribute::TotalGpus => plain(out, format_args!("{}", machine.gpus.len())),
            Attribute::AssignedGpus => self.assigned(out),
            Attribute::AvailableGpus => self.available_gpus(out),
            Attribute::DeviceName => string(out, format_args!("{}", machine.model.device_name)),
            Attribute::GlobalMemoryMb => plain(out, format_args!("{}", machine.model.memory_mb)),
            Attribute::Capability => plain(out, format_args!("{}", machine.model.capability)),
            Attribute::GpusAverageUsage => {
                real(out, job()?.average_usage(self.now - (*execution)?.start)?)
            }
            Attribute::DeviceGpusAverageUsage => real(out, self.device_usage()),
            Attribute::PrioritizedProjects => {
                string(out, format_args!("{}", self.prioritized_projects()))
            }
            Attribute::PreventJobsReason => {
                let is_prevented = self.kind == Some(OutageKind::Prevented);
                string(out, format_args!("{}", if is_prevented { self.reason } else { "" }))
            }
            Attribute::RemoteOwner => {
                string(out, format_args!("{}@{CONDOR_POOL}.example.org", job()?.user.name))
            }
            Attribute::GlobalJobId => {
                string(out, format_args!("{}#{}", job()?.id(), job()?.submit))
            }
            Attribute::Draining => {
                if is_draining {
                    truth(out, true)
                } else {
                    None
                }
            }
            Attribute::DrainReason => {
                if is_draining {
                    string(out, format_args!("{}", self.reason))
                } else {
                    None
                }
            }
            Attribute::LastDrainStartTime => {
                plain(out, format_args!("{}", self.since.filter(|_| is_draining)?))
            }
            Attribute::EnteredCurrentState => match execution {
                Some(execution) => plain(out, format_args!("{}", execution.start)),
                None => plain(out, format_args!("{}", self.since?)),
            },
            Attribute::Cpus => plain(out, format_args!("{}", self.left(Machine::cpus, Job::cpus))),
            Attribute::Memory => {
                plain(out, format_args!("{}", self.left(Machine::memory_mb, Job::memory_mb)))
            }
            Attribute::TotalCpus => real(out, f64::from(machine.cpus())),
            Attribute::TotalMemory => plain(out, format_args!("{}", machine.memory_mb())),
            Attribute::TotalSlotCpus => {
                plain(out, format_args!("{}", job().map_or(machine.cpus(), Job::cpus)))
            }
            Attribute::TotalSlotMemory => {
                plain(out, format_args!("{}", job().map_or(machine.memory_mb(), Job::memory_mb)))
            }
            Attribute::TotalLoadAvg => real(out, self.load()),
            Attribute::MyCurrentTime => plain(out, format_args!("{}", self.now)),
        }
    }

    fn name(&self, out: &mut Vec<u8>) -> Option<()> {
        let side = if self.side == Side::Backfill { "backfill" } else { "slot" };
        let (id, machine) = (self.slot_id(), &self.machine.name);
        match self.execution {
            Some(Execution { slot, .. }) => {
                string(out, format_args!("{side}{id}_{slot}@{machine}"))
            }
            None => string(out, format_args!("{side}{id}@{machine}")),
        }
    }

    fn slot_id(&self) -> u8 {
        if self.side == Side::Backfill { 2 } else { 1 }
    }

    fn state(&self) -> &'static str {
        match (self.execution, self.kind) {
            (Some(_), _) => "Claimed",
            (None, Some(OutageKind::Drain)) => "Drained",
            (None, Some(OutageKind::Prevented)) => "Owner",
            (None, _) => "Unclaimed",
        }
    }

    fn activity(&self) -> &'static str {
        let is_draining = self.kind == Some(OutageKind::Drain);
        match self.execution {
            _ if is_draining && !self.running.is_empty() => "Retiring",
            Some(_) => "Busy",
            None => "Idle",
        }
    }

    fn held(&self, side: Side) -> u8 {
        self.running
            .iter()
            .filter(|execution| execution.side == side)
            .fold(0, |held, execution| held | execution.gpus)
    }

    /// The GPUs that the slot offers. The primary side offers those that backfill uses.
    fn available(&self) -> u8 {
        let all = self.machine.all_gpus();
        match (self.execution, self.side) {
            (Some(execution), _) => execution.gpus,
            (None, Side::Primary) => all & !self.held(Side::Primary),
            (None, Side::Backfill) => all & !self.held(Side::Primary) & !self.held(Side::Backfill),
        }
    }

    /// What a dynamic slot has, or what is left of a partitionable one: on the primary side what its own
    /// children leave, on the backfill side what the children of both leave.
    fn left(&self, whole: fn(&Machine) -> u32, part: fn(&Job) -> u32) -> u32 {
        let part_of = |execution: &Execution| part(&self.pool.jobs[execution.job as usize]);
        if let Some(execution) = self.execution {
            return part_of(execution);
        }
        let takes = |execution: &&&Execution| {
            self.side == Side::Backfill || execution.side == Side::Primary
        };
        let held: u32 = self.running.iter().filter(takes).map(|execution| part_of(execution)).sum();
        whole(self.machine).saturating_sub(held)
    }

    /// The busy CPUs of all jobs on the machine, as far as two digits tell.
    fn load(&self) -> f64 {
        let busy = |execution: &&Execution| {
            let job = &self.pool.jobs[execution.job as usize];
            f64::from(job.cpus) * f64::from(job.cpu_use)
        };
        // A sum of no numbers is -0.0.
        let cpus = self.running.iter().map(busy).fold(0.0, |sum, busy| sum + busy);
        (cpus * 100.0).round() / 100.0
    }

    /// A partitionable slot lists all GPUs, also those that its children hold.
    fn assigned(&self, out: &mut Vec<u8>) -> Option<()> {
        let held = self.execution.map_or(self.machine.all_gpus(), |execution| execution.gpus);
        gpu_list(self.machine, held, out)
    }

    fn available_gpus(&self, out: &mut Vec<u8>) -> Option<()> {
        out.push(b'[');
        let mut separator = "";
        for gpu in gpus(self.available()) {
            let id = self.machine.gpus[gpu];
            plain(out, format_args!("{separator}\n    \"\\/Expr(GPUs_GPU_{id:08x})\\/\""))?;
            separator = ",";
        }
        plain(out, format_args!("\n  ]"))
    }

    fn prioritized_projects(&self) -> &'static str {
        match self.machine.owner {
            Owner::Lab(lab) => {
                let lab = &LABS[usize::from(lab)];
                if self.side == Side::Primary || lab.on_backfill { lab.projects } else { "" }
            }
            Owner::Institution | Owner::Open => "",
        }
    }

    /// The use of the devices, whoever uses them: the sum over those that are assigned.
    fn device_usage(&self) -> f64 {
        let assigned = self.execution.map_or(self.machine.all_gpus(), |execution| execution.gpus);
        self.running
            .iter()
            .map(|execution| {
                let shared = f64::from((execution.gpus & assigned).count_ones());
                shared * self.pool.jobs[execution.job as usize].gpu_ratio()
            })
            .sum()
    }
}

impl Job {
    fn cpus(&self) -> u32 {
        u32::from(self.cpus)
    }

    fn memory_mb(&self) -> u32 {
        self.memory_mb
    }

    /// The part of its GPUs that it keeps busy, as far as four digits tell it.
    pub(super) fn gpu_ratio(&self) -> f64 {
        (f64::from(self.gpu_use) * 10_000.0).round() / 10_000.0
    }

    /// The sum over its GPUs, once it has run long enough to be measured.
    pub(super) fn average_usage(&self, elapsed: Moment) -> Option<f64> {
        (elapsed >= MEASURED_SECONDS).then(|| self.gpu_ratio() * f64::from(self.gpus))
    }
}

/// The GPU monitor reports once a minute or so.
pub(super) const MEASURED_SECONDS: Moment = 60;

/// The indices of the bits that are set.
pub(super) fn gpus(bits: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |gpu| bits & (1 << gpu) != 0)
}

/// `"GPU-33552702,GPU-c29660f0"`.
pub(super) fn gpu_list(machine: &Machine, bits: u8, out: &mut Vec<u8>) -> Option<()> {
    out.push(b'"');
    let mut separator = "";
    for gpu in gpus(bits) {
        plain(out, format_args!("{separator}GPU-{:08x}", machine.gpus[gpu]))?;
        separator = ",";
    }
    out.push(b'"');
    Some(())
}

#[derive(Clone, Copy)]
enum Attribute {
    Name,
    Machine,
    SlotType,
    SlotId,
    DSlotId,
    PartitionableSlot,
    DynamicSlot,
    BackfillSlot,
    State,
    Activity,
    Gpus,
    TotalGpus,
    AssignedGpus,
    AvailableGpus,
    DeviceName,
    GlobalMemoryMb,
    Capability,
    GpusAverageUsage,
    DeviceGpusAverageUsage,
    PrioritizedProjects,
    PreventJobsReason,
    RemoteOwner,
    GlobalJobId,
    Draining,
    DrainReason,
    LastDrainStartTime,
    EnteredCurrentState,
    Cpus,
    Memory,
    TotalCpus,
    TotalMemory,
    TotalSlotCpus,
    TotalSlotMemory,
    TotalLoadAvg,
    MyCurrentTime,
}

const ATTRIBUTES: [(&str, Attribute); 35] = [
    ("Name", Attribute::Name),
    ("Machine", Attribute::Machine),
    ("SlotType", Attribute::SlotType),
    ("SlotID", Attribute::SlotId),
    ("DSlotID", Attribute::DSlotId),
    ("PartitionableSlot", Attribute::PartitionableSlot),
    ("DynamicSlot", Attribute::DynamicSlot),
    ("BackfillSlot", Attribute::BackfillSlot),
    ("State", Attribute::State),
    ("Activity", Attribute::Activity),
    ("GPUs", Attribute::Gpus),
    ("TotalGPUs", Attribute::TotalGpus),
    ("AssignedGPUs", Attribute::AssignedGpus),
    ("AvailableGPUs", Attribute::AvailableGpus),
    ("GPUs_DeviceName", Attribute::DeviceName),
    ("GPUs_GlobalMemoryMb", Attribute::GlobalMemoryMb),
    ("GPUs_Capability", Attribute::Capability),
    ("GPUsAverageUsage", Attribute::GpusAverageUsage),
    ("DeviceGPUsAverageUsage", Attribute::DeviceGpusAverageUsage),
    ("PrioritizedProjects", Attribute::PrioritizedProjects),
    ("PreventJobsReason", Attribute::PreventJobsReason),
    ("RemoteOwner", Attribute::RemoteOwner),
    ("GlobalJobId", Attribute::GlobalJobId),
    ("Draining", Attribute::Draining),
    ("DrainReason", Attribute::DrainReason),
    ("LastDrainStartTime", Attribute::LastDrainStartTime),
    ("EnteredCurrentState", Attribute::EnteredCurrentState),
    ("Cpus", Attribute::Cpus),
    ("Memory", Attribute::Memory),
    ("TotalCpus", Attribute::TotalCpus),
    ("TotalMemory", Attribute::TotalMemory),
    ("TotalSlotCpus", Attribute::TotalSlotCpus),
    ("TotalSlotMemory", Attribute::TotalSlotMemory),
    ("TotalLoadAvg", Attribute::TotalLoadAvg),
    ("MyCurrentTime", Attribute::MyCurrentTime),
];
