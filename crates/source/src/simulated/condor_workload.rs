//! Who uses the simulated HTCondor pool, and how: the labs on their own machines, others on open
//! capacity, and backfill on what is left.

use super::condor_machines::{LABS, Machine, Owner};
use super::random::Random;
use super::{DAY, Moment};

/// A job, over all of its executions.
pub(super) struct Job {
    pub(super) access_point: u8,
    pub(super) cluster: u32,
    pub(super) process: u16,
    pub(super) user: User,
    pub(super) wish: Wish,
    pub(super) submit: Moment,
    pub(super) gpus: u8,
    pub(super) cpus: u8,
    pub(super) memory_mb: u32,
    pub(super) cpu_use: f32,
    pub(super) memory_use: f32,
    pub(super) gpu_use: f32,
    pub(super) exit: Exit,
    /// Executions so far.
    pub(super) starts: u16,
    /// When the last of them began and ended.
    pub(super) last_run: Option<(Moment, Moment)>,
    pub(super) remaining_seconds: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exit {
    Code(u8),
    Signal(u8),
    /// Its user takes it away, which looks like an eviction.
    Removed,
}

/// Where a job wants to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wish {
    /// The primary slots of a lab's machines.
    Lab(u8),
    /// The primary slots of everybody's machines.
    Shared,
    /// Backfill slots, from which it may be evicted: it keeps what it has done.
    Backfill,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct User {
    pub(super) name: &'static str,
    pub(super) group: &'static str,
    /// Blank for those of no lab.
    pub(super) projects: &'static str,
}

pub(super) const OTHERS: [&str; 14] = [
    "tnguyen", "kpatel", "mgarcia", "bwalsh", "fchung", "iserrano", "jnovak", "lpetit", "oadeyemi",
    "rsingh", "sbjork", "uweber", "vrao", "xlin",
];

/// Those who leave their GPUs idle.
const IDLERS: [&str; 4] = ["rgray", "wchen", "lpetit", "kpatel"];

/// One stream of submissions.
pub(super) struct Stream {
    random: Random,
    kind: Kind,
    /// By lab, the GPUs that it has and those of the labs before it.
    lab_gpus: Vec<u32>,
    mean_gap_seconds: f64,
    next: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Lab,
    Shared,
    Backfill,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Lab, Kind::Shared, Kind::Backfill];

struct Habit {
    gpus: &'static [u8],
    processes: (u32, u32),
    median_seconds: f64,
    sigma: f64,
    /// The part of its machines' GPU time that is asked for.
    load: f64,
}

impl Kind {
    fn habit(self) -> Habit {
        match self {
            Kind::Lab => Habit {
                gpus: &[1, 1, 2, 4],
                processes: (1, 8),
                median_seconds: 4.0 * 3600.0,
                sigma: 0.9,
                load: 0.38,
            },
            Kind::Shared => Habit {
                gpus: &[1, 1, 1, 2, 4],
                processes: (1, 6),
                median_seconds: 2.5 * 3600.0,
                sigma: 0.9,
                load: 0.66,
            },
            Kind::Backfill => Habit {
                gpus: &[1, 1, 1, 2],
                processes: (4, 30),
                median_seconds: 4.0 * 3600.0,
                sigma: 0.8,
                load: 0.33,
            },
        }
    }

    fn wants(self, machine: &Machine) -> bool {
        match self {
            Kind::Lab => matches!(machine.owner, Owner::Lab(_)),
            Kind::Shared => !matches!(machine.owner, Owner::Lab(_)),
            Kind::Backfill => machine.has_backfill,
        }
    }
}

impl Stream {
    pub(super) fn new(seed: u64, kind: Kind, machines: &[Machine], begin: Moment) -> Stream {
        let gpus = |machine: &Machine| machine.gpus.len() as u32;
        let mut total = 0;
        let lab_gpus = (0..LABS.len() as u8).map(|lab| {
            let own = machines.iter().filter(|machine| machine.owner == Owner::Lab(lab));
            total += own.map(gpus).sum::<u32>();
            total
        });
        let mut stream = Stream {
            random: Random::new(seed, 20 + kind as u64),
            kind,
            lab_gpus: lab_gpus.collect(),
            mean_gap_seconds: 1.0,
            next: f64::from(begin),
        };
        // Measured on a sample: the GPU time that a submission asks for on average.
        const SAMPLE: u32 = 4000;
        let asked: f64 = (0..SAMPLE)
            .flat_map(|_| stream.submission(begin, (0, 0)))
            .map(|job| f64::from(job.gpus) * f64::from(job.remaining_seconds))
            .sum();
        let held: u32 = machines.iter().filter(|machine| kind.wants(machine)).map(gpus).sum();
        let offered_per_second = f64::from(held.max(1)) * kind.habit().load;
        stream.mean_gap_seconds = asked / f64::from(SAMPLE) / offered_per_second;
        stream.random = Random::new(seed, 30 + kind as u64);
        stream
    }

    /// The moment of the next submission.
    pub(super) fn next(&mut self, now: Moment) -> Moment {
        let weekday = (now / DAY + 3) % 7;
        let by_weekday = if weekday < 5 { 1.2 } else { 0.5 };
        let by_hour = if (8..20).contains(&(now / 3600 % 24)) { 1.5 } else { 0.5 };
        // Backfill is fed by workflows, which do not sleep.
        let rate = if self.kind == Kind::Backfill { 1.0 } else { by_weekday * by_hour };
        self.next += self.random.exponential(self.mean_gap_seconds / rate);
        (self.next as Moment).max(now)
    }

    /// The jobs of one submission.
    pub(super) fn submission(
        &mut self,
        now: Moment,
        (access_point, cluster): (u8, u32),
    ) -> Vec<Job> {
        let random = &mut self.random;
        let habit = self.kind.habit();
        let (wish, user) = match self.kind {
            Kind::Lab => {
                let drawn = random.below(self.lab_gpus[LABS.len() - 1]);
                let lab = self.lab_gpus.partition_point(|&gpus| gpus <= drawn);
                let Some(found) = LABS.get(lab) else { return Vec::new() };
                let name = *random.pick(&found.users);
                let user = User { name, group: found.group, projects: found.projects };
                (Wish::Lab(lab as u8), user)
            }
            Kind::Shared => {
                let name = *random.pick(&OTHERS);
                (Wish::Shared, User { name, group: "group_open", projects: "" })
            }
            Kind::Backfill => {
                let name = *random.pick(&OTHERS[..6]);
                (Wish::Backfill, User { name, group: "group_open", projects: "" })
            }
        };
        let is_idler = IDLERS.contains(&user.name);
        let gpus = *random.pick(habit.gpus);
        let cpus = gpus * *random.pick(&[1, 2, 4, 8]);
        let memory_mb = u32::from(gpus) * *random.pick(&[2048, 8192, 16_384, 32_768]);
        let typical = random.lognormal(habit.median_seconds, habit.sigma);
        (0..random.between(habit.processes.0, habit.processes.1))
            .map(|process| {
                let seconds = random.lognormal(typical, 0.3).clamp(20.0, 2.0 * 86_400.0);
                let luck = random.unit();
                let (part, exit) = match luck {
                    ..0.05 => (random.unit().powi(3), Exit::Code(*random.pick(&[1, 1, 2, 139]))),
                    ..0.06 => (random.unit(), Exit::Signal(11)),
                    ..0.08 => (random.unit(), Exit::Removed),
                    _ => (1.0, Exit::Code(0)),
                };
                Job {
                    access_point,
                    cluster,
                    process: process as u16,
                    user,
                    wish,
                    submit: now,
                    gpus,
                    cpus,
                    memory_mb,
                    cpu_use: random.within((0.2, 0.95)) as f32,
                    memory_use: random.within((0.05, 0.9)) as f32,
                    gpu_use: random.within(if is_idler { (0.0, 0.06) } else { (0.4, 0.98) }) as f32,
                    exit,
                    starts: 0,
                    last_run: None,
                    remaining_seconds: ((seconds * part) as Moment).max(5),
                }
            })
            .collect()
    }
}
