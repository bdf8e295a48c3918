//! Who uses the simulated SLURM cluster, and how: users with habits, and the jobs they submit.

use super::random::Random;

/// A partition, in the order of sacct's names for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partition {
    Cpu,
    Debug,
    Gpu,
    Preempt,
}

impl Partition {
    pub(super) fn name(self) -> &'static str {
        match self {
            Partition::Cpu => "cpu",
            Partition::Debug => "debug",
            Partition::Gpu => "gpu",
            Partition::Preempt => "preempt",
        }
    }

    pub(super) fn qos(self) -> &'static str {
        match self {
            Partition::Preempt => "scavenger",
            Partition::Debug => "high",
            _ => "normal",
        }
    }
}

/// A group of like nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    Debug,
    Cpu,
    A100,
    H100,
    L40s,
}

pub(super) const POOLS: [Pool; 5] = [Pool::Debug, Pool::Cpu, Pool::A100, Pool::H100, Pool::L40s];

impl Pool {
    pub(super) fn gpu_type(self) -> Option<&'static str> {
        match self {
            Pool::Debug | Pool::Cpu => None,
            Pool::A100 => Some("a100"),
            Pool::H100 => Some("h100"),
            Pool::L40s => Some("l40s"),
        }
    }
}

pub(super) struct User {
    pub(super) name: &'static str,
    pub(super) account: &'static str,
    habit: &'static Habit,
    /// Submissions of this user, as against those of the others.
    weight: u32,
}

pub(super) const FIRST_UID: u32 = 20_001;
pub(super) const FIRST_GID: u32 = 30_001;

/// What a user asks for, and what of it is then used.
struct Habit {
    names: &'static [&'static str],
    place: Place,
    nodes: &'static [u16],
    cpus: &'static [u16],
    memory_mb_per_cpu: &'static [u32],
    /// A GPU comes with as many CPUs as `cpus` says.
    gpus: &'static [u8],
    array_chance: f64,
    array_tasks: (u32, u32),
    typical_seconds: f64,
    sigma: f64,
    cpu_use: (f64, f64),
    memory_use: (f64, f64),
    gpu_use: (f64, f64),
    step_chance: f64,
    fail_chance: f64,
    cancel_chance: f64,
    timeout_chance: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Cpu,
    Debug,
    Gpu,
    PreemptCpu,
    PreemptGpu,
}

const STEADY: Habit = Habit {
    names: &["md_run", "relax", "postprocess", "fit_spectra", "ensemble", "reduce-night"],
    place: Place::Cpu,
    nodes: &[1],
    cpus: &[2, 4, 4, 8, 8, 16],
    memory_mb_per_cpu: &[2000, 3000, 4000],
    gpus: &[0],
    array_chance: 0.1,
    array_tasks: (4, 20),
    typical_seconds: 3600.0,
    sigma: 0.8,
    cpu_use: (0.75, 0.98),
    memory_use: (0.35, 0.85),
    gpu_use: (0.0, 0.0),
    step_chance: 0.3,
    fail_chance: 0.04,
    cancel_chance: 0.02,
    timeout_chance: 0.03,
};

/// Asks for far more than it uses.
const HOARDER: Habit = Habit {
    names: &["analysis", "my_job", "run.sh", "final_final"],
    cpus: &[16, 32, 32, 64],
    memory_mb_per_cpu: &[3500, 4000],
    array_chance: 0.0,
    typical_seconds: 3600.0,
    cpu_use: (0.02, 0.12),
    memory_use: (0.01, 0.08),
    step_chance: 0.0,
    ..STEADY
};

const SWEEPER: Habit = Habit {
    names: &["sweep", "grid-search", "bootstrap", "mc_sample"],
    cpus: &[1, 1, 2],
    memory_mb_per_cpu: &[2000, 4000],
    array_chance: 0.95,
    array_tasks: (10, 160),
    typical_seconds: 900.0,
    sigma: 0.9,
    cpu_use: (0.6, 0.97),
    memory_use: (0.1, 0.5),
    step_chance: 0.0,
    ..STEADY
};

const PARALLEL: Habit = Habit {
    names: &["wrf_72h", "cfd-mesh4", "lattice_qcd", "nbody"],
    nodes: &[2, 2, 2, 4],
    cpus: &[64],
    memory_mb_per_cpu: &[3500],
    array_chance: 0.0,
    typical_seconds: 5400.0,
    sigma: 0.6,
    cpu_use: (0.85, 0.97),
    memory_use: (0.2, 0.6),
    step_chance: 1.0,
    timeout_chance: 0.06,
    ..STEADY
};

/// Needs much memory, and does not always ask for enough.
const ASSEMBLER: Habit = Habit {
    names: &["assemble", "align_reads", "variant-call", "kmer_index"],
    cpus: &[4, 8],
    memory_mb_per_cpu: &[8000, 12_000, 16_000],
    array_chance: 0.05,
    typical_seconds: 7200.0,
    cpu_use: (0.4, 0.8),
    memory_use: (0.3, 1.06),
    step_chance: 0.1,
    ..STEADY
};

const TINKERER: Habit = Habit {
    names: &["test", "debug", "try3", "hello"],
    place: Place::Debug,
    cpus: &[1, 2, 4],
    array_chance: 0.0,
    typical_seconds: 90.0,
    sigma: 1.2,
    cpu_use: (0.1, 0.9),
    memory_use: (0.02, 0.3),
    fail_chance: 0.3,
    cancel_chance: 0.1,
    ..STEADY
};

const TRAINER: Habit = Habit {
    names: &["train_resnet", "finetune-7b", "diffusion", "contrastive"],
    place: Place::Gpu,
    cpus: &[8],
    memory_mb_per_cpu: &[6000],
    gpus: &[1, 1, 2, 4],
    array_chance: 0.05,
    array_tasks: (4, 12),
    typical_seconds: 14_400.0,
    sigma: 0.7,
    cpu_use: (0.3, 0.7),
    memory_use: (0.3, 0.7),
    gpu_use: (0.7, 0.98),
    step_chance: 0.5,
    fail_chance: 0.08,
    cancel_chance: 0.06,
    timeout_chance: 0.08,
    ..STEADY
};

/// Holds a GPU through an interactive session and leaves it idle.
const SITTER: Habit = Habit {
    names: &["jupyter", "interactive", "ondemand-desktop"],
    gpus: &[1],
    array_chance: 0.0,
    typical_seconds: 18_000.0,
    sigma: 0.5,
    cpu_use: (0.005, 0.05),
    memory_use: (0.02, 0.1),
    gpu_use: (0.0, 0.04),
    step_chance: 0.0,
    cancel_chance: 0.45,
    timeout_chance: 0.3,
    ..TRAINER
};

const INFERENCE: Habit = Habit {
    names: &["score_batch", "embed", "segment-tiles"],
    gpus: &[1],
    array_chance: 0.8,
    array_tasks: (5, 40),
    typical_seconds: 1500.0,
    gpu_use: (0.3, 0.65),
    step_chance: 0.1,
    ..TRAINER
};

const SCAVENGER: Habit = Habit {
    names: &["backfill_mc", "low-prio", "replicas"],
    place: Place::PreemptCpu,
    cpus: &[1, 4, 8],
    array_chance: 0.3,
    array_tasks: (10, 50),
    typical_seconds: 5400.0,
    ..STEADY
};

const GPU_SCAVENGER: Habit = Habit {
    names: &["hpo-trial", "rollouts"],
    place: Place::PreemptGpu,
    gpus: &[1, 1, 2],
    ..TRAINER
};

const fn user(
    name: &'static str,
    account: &'static str,
    habit: &'static Habit,
    weight: u32,
) -> User {
    User { name, account, habit, weight }
}

pub(super) static USERS: [User; 40] = [
    user("aalvarez", "physics", &STEADY, 30),
    user("bnovak", "physics", &PARALLEL, 5),
    user("cwright", "physics", &SWEEPER, 10),
    user("dmoreau", "physics", &TINKERER, 25),
    user("efischer", "physics", &HOARDER, 8),
    user("fokafor", "hep", &SWEEPER, 16),
    user("gtanaka", "hep", &STEADY, 30),
    user("hlindgren", "hep", &SCAVENGER, 10),
    user("irossi", "hep", &STEADY, 25),
    user("jkim", "chem", &STEADY, 40),
    user("kbauer", "chem", &PARALLEL, 4),
    user("lsilva", "chem", &HOARDER, 6),
    user("mpatel", "chem", &TRAINER, 12),
    user("nhoang", "chem", &TINKERER, 20),
    user("obrien", "bio", &ASSEMBLER, 25),
    user("pmensah", "bio", &STEADY, 20),
    user("qzhang", "bio", &INFERENCE, 6),
    user("rdubois", "bio", &SITTER, 10),
    user("sjansen", "genomics", &ASSEMBLER, 30),
    user("tivanova", "genomics", &SWEEPER, 14),
    user("uhassan", "genomics", &HOARDER, 8),
    user("vkowalski", "genomics", &STEADY, 15),
    user("wli", "ml", &TRAINER, 35),
    user("xchen", "ml", &TRAINER, 30),
    user("yamamoto", "ml", &INFERENCE, 8),
    user("zahmed", "ml", &SITTER, 14),
    user("abecker", "ml", &GPU_SCAVENGER, 20),
    user("bgarcia", "ml", &TRAINER, 20),
    user("cnguyen", "ml", &SITTER, 8),
    user("dpetrov", "ml", &TINKERER, 20),
    user("esantos", "climate", &PARALLEL, 7),
    user("fmuller", "climate", &STEADY, 25),
    user("gsharma", "climate", &SCAVENGER, 12),
    user("hjohansson", "climate", &HOARDER, 5),
    user("ikone", "astro", &SWEEPER, 12),
    user("jlefevre", "astro", &STEADY, 20),
    user("kostrowski", "astro", &TRAINER, 10),
    user("lmbeki", "astro", &GPU_SCAVENGER, 10),
    user("mvarga", "astro", &STEADY, 15),
    user("nfarah", "astro", &INFERENCE, 4),
];

/// Names that sacct prints raw, as users have been seen to give them.
const AWKWARD_NAMES: [&str; 9] = [
    "a|b|c",
    "two\nlines",
    "unit\u{1f}separator",
    "✓ 日本語",
    " blank at both ends ",
    "tab\there",
    "k=v, w=x [3-5]",
    "back\\slash `n` more",
    "naïve café Ωmega",
];

/// What is submitted in one go: a job, an array of like tasks, or a heterogeneous job.
pub(super) struct Submission {
    pub(super) user: u16,
    pub(super) name: &'static str,
    pub(super) partition: Partition,
    /// Where it may run.
    pub(super) pools: &'static [Pool],
    pub(super) kind: Kind,
    pub(super) nodes: u16,
    pub(super) cpus_per_node: u16,
    pub(super) memory_mb_per_node: u32,
    pub(super) gpus_per_node: u8,
    pub(super) has_step: bool,
    pub(super) limit_minutes: u32,
    typical_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Single,
    Array {
        tasks: u32,
    },
    /// Two components that start together.
    Heterogeneous,
}

/// What a run will come to, if nothing from outside ends it first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) seconds: u32,
    pub(super) ending: Ending,
    pub(super) cpu_use: f32,
    pub(super) memory_use: f32,
    pub(super) gpu_use: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    Completed,
    Failed { code: u8, signal: u8 },
    CancelledByOwner,
    CancelledByRoot,
    Timeout,
    OutOfMemory,
}

/// Makes submissions at the rate and of the length that fill the cluster as wished.
pub(super) struct Workload {
    random: Random,
    weights: Vec<u32>,
    largest_nodes: u16,
    cpu_length: f64,
    gpu_length: f64,
    pub(super) submissions_per_day: f64,
}

/// The part of the cluster that jobs would take if they could come evenly over the week.
const LOAD: f64 = 0.74;
const LONGEST_SECONDS: f64 = 4.0 * 86_400.0;
/// How much the tasks of one submission differ.
const TASK_SIGMA: f64 = 0.3;

impl Workload {
    pub(super) fn new(
        seed: u64,
        jobs_per_day: u32,
        cpus: u32,
        gpus: u32,
        cpu_nodes: u32,
    ) -> Workload {
        let mut total = 0;
        let weights = USERS.iter().map(|user| {
            total += user.weight;
            total
        });
        let mut workload = Workload {
            random: Random::new(seed, 1),
            weights: weights.collect(),
            largest_nodes: (cpu_nodes / 4).clamp(1, 64) as u16,
            cpu_length: 1.0,
            gpu_length: 1.0,
            submissions_per_day: 0.0,
        };
        // Measured on a sample: what a submission asks for on average follows from all the habits.
        const SAMPLE: u32 = 20_000;
        let (mut tasks, mut cpu_seconds, mut gpu_seconds) = (0.0, 0.0, 0.0);
        for _ in 0..SAMPLE {
            let submission = workload.submission();
            let count = submission.count();
            let seconds = workload.plan(&submission).seconds;
            tasks += f64::from(count);
            let held = f64::from(count * seconds) * f64::from(submission.nodes);
            match submission.pools {
                [Pool::Debug] => {}
                [Pool::Cpu] => cpu_seconds += held * f64::from(submission.cpus_per_node),
                _ => gpu_seconds += held * f64::from(submission.gpus_per_node),
            }
        }
        let submissions_per_day = f64::from(jobs_per_day) * f64::from(SAMPLE) / tasks;
        let sampled_days = f64::from(SAMPLE) / submissions_per_day;
        let length = |capacity: u32, wanted_seconds: f64| {
            (LOAD * f64::from(capacity) * 86_400.0 * sampled_days / wanted_seconds)
                .clamp(0.01, 20.0)
        };
        workload.cpu_length = length(cpus, cpu_seconds);
        workload.gpu_length = length(gpus, gpu_seconds);
        workload.submissions_per_day = submissions_per_day;
        workload.random = Random::new(seed, 2);
        workload
    }

    /// The seconds until the next submission: few at night and on Sundays, many on a workday.
    pub(super) fn gap_seconds(&mut self, weekday: u32, hour: u32) -> f64 {
        const BY_HOUR: [f64; 24] = [
            0.55, 0.45, 0.4, 0.35, 0.35, 0.4, 0.5, 0.7, 1.0, 1.35, 1.55, 1.6, 1.5, 1.55, 1.65,
            1.65, 1.6, 1.5, 1.3, 1.1, 1.0, 0.9, 0.8, 0.7,
        ];
        const BY_WEEKDAY: [f64; 7] = [1.15, 1.2, 1.2, 1.15, 1.1, 0.65, 0.55];
        let rate = BY_HOUR[hour as usize % 24] * BY_WEEKDAY[weekday as usize % 7];
        // 1.01875 and 1.0 are the means of the two tables.
        self.random.exponential(86_400.0 / self.submissions_per_day / rate * 1.01875)
    }

    pub(super) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    pub(super) fn submission(&mut self) -> Submission {
        let random = &mut self.random;
        let drawn = random.below(self.weights[self.weights.len() - 1]);
        let user = self.weights.partition_point(|&weight| weight <= drawn);
        let habit = USERS[user].habit;

        let mut gpus_per_node = *random.pick(habit.gpus);
        let cpus = *random.pick(habit.cpus);
        let cpus_per_node = if gpus_per_node > 0 { cpus * u16::from(gpus_per_node) } else { cpus };
        let nodes = (*random.pick(habit.nodes)).min(self.largest_nodes);
        let (partition, pools, length): (_, &'static [Pool], _) = match habit.place {
            Place::Debug => (Partition::Debug, &[Pool::Debug], 1.0),
            Place::Cpu => (Partition::Cpu, &[Pool::Cpu], self.cpu_length),
            Place::PreemptCpu => (Partition::Preempt, &[Pool::Cpu], self.cpu_length),
            Place::Gpu => (Partition::Gpu, gpu_pools(random), self.gpu_length),
            Place::PreemptGpu => (Partition::Preempt, gpu_pools(random), self.gpu_length),
        };
        if pools.len() > 1 {
            gpus_per_node = gpus_per_node.min(4);
        }
        let kind = if random.chance(habit.array_chance) {
            Kind::Array { tasks: random.between(habit.array_tasks.0, habit.array_tasks.1) }
        } else if habit.place == Place::Cpu && nodes == 1 && random.chance(0.01) {
            Kind::Heterogeneous
        } else {
            Kind::Single
        };
        let typical_seconds = (random.lognormal(habit.typical_seconds, habit.sigma) * length)
            .clamp(2.0, LONGEST_SECONDS);
        let slack = random.within((1.6, 6.0));
        let too_little = random.chance(habit.timeout_chance);
        let asked_seconds = typical_seconds * if too_little { 0.7 } else { slack };
        let name = if random.chance(0.004) {
            random.pick(&AWKWARD_NAMES)
        } else {
            random.pick(habit.names)
        };
        Submission {
            user: user as u16,
            name,
            partition,
            pools,
            kind,
            nodes,
            cpus_per_node,
            memory_mb_per_node: u32::from(cpus_per_node) * *random.pick(habit.memory_mb_per_cpu),
            gpus_per_node,
            has_step: random.chance(habit.step_chance),
            limit_minutes: round_limit(asked_seconds / 60.0),
            typical_seconds,
        }
    }

    /// What becomes of one task of a submission.
    pub(super) fn plan(&mut self, submission: &Submission) -> Plan {
        let random = &mut self.random;
        let habit = USERS[usize::from(submission.user)].habit;
        let whole = random.lognormal(submission.typical_seconds, TASK_SIGMA).min(LONGEST_SECONDS);
        let memory_use = random.within(habit.memory_use);
        let luck = random.unit();
        let (mut seconds, mut ending) = (whole, Ending::Completed);
        if memory_use > 1.0 {
            (seconds, ending) = (whole * random.unit(), Ending::OutOfMemory);
        } else if luck < habit.fail_chance {
            // Most mistakes show early.
            let part = random.unit();
            let (code, signal) = *random.pick(&[(1, 0), (1, 0), (1, 0), (2, 0), (127, 0), (0, 11)]);
            (seconds, ending) = (whole * part * part * part, Ending::Failed { code, signal });
        } else if luck < habit.fail_chance + habit.cancel_chance {
            let by_root = random.chance(0.08);
            let ending_by =
                if by_root { Ending::CancelledByRoot } else { Ending::CancelledByOwner };
            (seconds, ending) = (whole * random.unit(), ending_by);
        }
        let limit = f64::from(submission.limit_minutes) * 60.0;
        if seconds > limit {
            // The controller looks for jobs over their limit every half minute.
            (seconds, ending) = (limit + f64::from(random.below(30)), Ending::Timeout);
        }
        Plan {
            seconds: (seconds as u32).max(1),
            ending,
            cpu_use: random.within(habit.cpu_use) as f32,
            memory_use: memory_use.min(0.999) as f32,
            gpu_use: random.within(habit.gpu_use) as f32,
        }
    }
}

impl Submission {
    /// How many rows of accounting it comes to.
    pub(super) fn count(&self) -> u32 {
        match self.kind {
            Kind::Single => 1,
            Kind::Array { tasks } => tasks,
            Kind::Heterogeneous => 2,
        }
    }
}

/// The GPUs that a job asks for: often a model, else any.
fn gpu_pools(random: &mut Random) -> &'static [Pool] {
    match random.below(100) {
        0..40 => &[Pool::A100],
        40..54 => &[Pool::H100],
        54..68 => &[Pool::L40s],
        68..80 => &[Pool::L40s, Pool::A100, Pool::H100],
        _ => &[Pool::A100, Pool::H100, Pool::L40s],
    }
}

/// A time limit as people give it.
fn round_limit(minutes: f64) -> u32 {
    const LIMITS: [u32; 16] =
        [5, 10, 20, 30, 60, 120, 240, 360, 480, 720, 1440, 2880, 4320, 5760, 7200, 10_080];
    LIMITS.into_iter().find(|&limit| f64::from(limit) >= minutes).unwrap_or(10_080)
}
