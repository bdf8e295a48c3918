//! The machines of the simulated HTCondor pool: whose they are, their GPUs, and their outages.

use super::random::Random;
use super::{CONDOR_POOL, Moment, NEVER};

pub(super) struct Machine {
    pub(super) name: String,
    pub(super) owner: Owner,
    pub(super) model: &'static Model,
    /// Of each GPU the number in its id.
    pub(super) gpus: Vec<u32>,
    pub(super) has_backfill: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    /// Researchers: the number of their lab.
    Lab(u8),
    Institution,
    /// Nobody in particular: open capacity.
    Open,
}

/// A model of GPU, as `condor_gpu_discovery` describes it.
pub(super) struct Model {
    pub(super) device_name: &'static str,
    pub(super) memory_mb: u32,
    pub(super) capability: &'static str,
}

const MODELS: [Model; 5] = [
    Model { device_name: "NVIDIA A100-SXM4-80GB", memory_mb: 81_152, capability: "8.0" },
    Model { device_name: "NVIDIA L40S", memory_mb: 45_596, capability: "8.9" },
    Model { device_name: "NVIDIA H200", memory_mb: 143_156, capability: "9.0" },
    Model { device_name: "NVIDIA GeForce RTX 2080 Ti", memory_mb: 11_012, capability: "7.5" },
    Model { device_name: "NVIDIA A40", memory_mb: 45_416, capability: "8.6" },
];

pub(super) struct Lab {
    pub(super) name: &'static str,
    /// What its machines have as PrioritizedProjects.
    pub(super) projects: &'static str,
    /// Some labs name their projects on the backfill slots too.
    pub(super) on_backfill: bool,
    pub(super) users: [&'static str; 3],
    pub(super) group: &'static str,
}

pub(super) const LABS: [Lab; 7] = [
    lab("smith", "smith_lab", true, ["psmith", "rgray", "lsantoro"], "group_smith"),
    lab("jones", "jones_lab,dsi_shared", false, ["ajones", "qlee", "hmeyer"], "group_jones"),
    lab("garcia", "garcia_lab", true, ["dgarcia", "ymori", "tkowal"], "group_garcia"),
    lab("chen", "chen_lab", false, ["wchen", "zali", "mfontaine"], "group_chen"),
    lab("okonkwo", "okonkwo_lab", true, ["cokonkwo", "ebrandt", "snair"], "group_okonkwo"),
    lab("virtanen", "virtanen_lab,neuro", true, ["evirtanen", "jpark", "oreyes"], "group_virtanen"),
    lab("haddad", "haddad_lab", false, ["nhaddad", "kvolkov", "aito"], "group_haddad"),
];

const fn lab(
    name: &'static str,
    projects: &'static str,
    on_backfill: bool,
    users: [&'static str; 3],
    group: &'static str,
) -> Lab {
    Lab { name, projects, on_backfill, users, group }
}

/// A third each of labs, of the institution, and of nobody in particular; every fourth machine
/// has 8 GPUs, the others 4.
pub(super) fn machines(seed: u64, count: u32) -> Vec<Machine> {
    let mut random = Random::new(seed, 11);
    let mut machines: Vec<Machine> = (0..count.clamp(3, 60_000))
        .map(|index| {
            let number = index / 3;
            let (owner, host) = match index % 3 {
                0 => {
                    let lab = number as usize % LABS.len();
                    let host =
                        format!("{}gpu{}", LABS[lab].name, 4000 + number / LABS.len() as u32);
                    (Owner::Lab(lab as u8), host)
                }
                1 => (Owner::Institution, format!("gpu{}", 2000 + number)),
                _ => (Owner::Open, format!("opengpu{}", 1000 + number)),
            };
            Machine {
                name: format!("{host}.{CONDOR_POOL}.example.org"),
                owner,
                model: &MODELS[(index / 2) as usize % MODELS.len()],
                gpus: (0..if index % 4 == 0 { 8 } else { 4 })
                    .map(|_| random.next() as u32)
                    .collect(),
                // Of the open machines every other one.
                has_backfill: owner != Owner::Open || number % 2 == 0,
            }
        })
        .collect();
    machines.sort_by(|one, other| one.name.cmp(&other.name));
    machines
}

impl Machine {
    /// More than the jobs on all of its GPUs ask for.
    pub(super) fn cpus(&self) -> u32 {
        16 * self.gpus.len() as u32
    }

    pub(super) fn memory_mb(&self) -> u32 {
        65_536 * self.gpus.len() as u32
    }

    /// A bit for each GPU.
    pub(super) fn all_gpus(&self) -> u8 {
        u8::MAX >> (8 - self.gpus.len())
    }
}

/// A time for which a machine takes no new jobs.
pub(super) struct Outage {
    pub(super) machine: u16,
    pub(super) start: Moment,
    /// [`NEVER`] where it outlasts the simulation.
    pub(super) end: Moment,
    pub(super) kind: OutageKind,
    pub(super) reason: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OutageKind {
    /// Backfill jobs go at once, the others after a grace.
    Drain,
    /// It is gone from `condor_status`, and its jobs with it.
    Absent,
    /// It has a PreventJobsReason; its jobs run on.
    Prevented,
}

/// The outages of all machines, in the order of their beginning.
pub(super) fn outages(seed: u64, machines: usize, start: Moment, end: Moment) -> Vec<Outage> {
    const MEAN_SECONDS_BETWEEN: f64 = 14.0 * 86_400.0;
    let mut random = Random::new(seed, 12);
    let mut outages = Vec::new();
    for machine in 0..machines as u16 {
        let mut time = f64::from(start);
        loop {
            time += random.exponential(MEAN_SECONDS_BETWEEN);
            if time >= f64::from(end) {
                break;
            }
            let begin = time as Moment;
            let (kind, median_hours, reason) = match random.below(3) {
                0 => (OutageKind::Drain, 5.0, *random.pick(&["kernel update", "driver update"])),
                1 => (OutageKind::Absent, 1.5, ""),
                _ => (
                    OutageKind::Prevented,
                    10.0,
                    *random.pick(&[
                        "INF-4321: power supply to be replaced",
                        "INF-4410: GPU fell off the bus",
                    ]),
                ),
            };
            time += random.lognormal(median_hours * 3600.0, 0.7).max(120.0);
            let over = if time > f64::from(end) { NEVER } else { time as Moment };
            outages.push(Outage { machine, start: begin, end: over, kind, reason });
        }
    }
    outages.sort_by_key(|outage| (outage.start, outage.machine));
    outages
}
