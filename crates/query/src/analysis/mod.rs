//! The questions; a file a question.

/// Whose rows count, by [`WHOSE`].
macro_rules! chosen {
    () => {
        "($user IS NULL OR user = $user)
         AND ($account IS NULL OR account = $account)
         AND ($partition IS NULL OR partition = $partition)
         AND ($group IS NULL
              OR user IN (SELECT user FROM user_group WHERE \"group\" = $group))"
    };
}

/// Whether a row is of the class that is asked for, by [`CLASS`]: its slot is, or its machine.
macro_rules! of_class {
    () => {
        "($class IS NULL
          OR lower(class) = lower($class)
          OR lower(owner_class) = lower($class))"
    };
}

/// Whether a row is of GPUs that are selected, by [`GPU_HOST`], [`GPU_HOST_PATTERN`] and [`GPU_MODEL`].
macro_rules! of_selected_gpus {
    () => {
        "(($host IS NULL AND $host_pattern IS NULL AND $model IS NULL)
          OR selects_gpu($host, $host_pattern, $model, machine, device))"
    };
}

/// What usage is added up to, whatever by.
macro_rules! usage_sums {
    () => {
        "sum(jobs) AS jobs,
         count(DISTINCT user) AS users,
         sum(exact(cpu_seconds)) AS cpu_seconds,
         sum(exact(gpu_seconds)) AS gpu_seconds,
         sum(in_kib(memory_mib_seconds)) AS memory,
         sum(waited) AS waited,
         sum(exact(wait_seconds)) AS wait,
         sum(exact(cpu_seconds_used)) AS cpu_used,
         sum(exact(cpu_seconds_measured)) AS cpu_measured,
         sum(in_kib(memory_mib_seconds_used)) AS memory_used,
         sum(in_kib(memory_mib_seconds_measured)) AS memory_measured"
    };
}

/// What people read of these sums, in the columns from `CPU_HOURS` to `MEMORY_EFFICIENCY`.
macro_rules! usage_figures {
    () => {
        "CAST(cpu_seconds AS DOUBLE) / 3600 AS cpu_hours,
         CAST(gpu_seconds AS DOUBLE) / 3600 AS gpu_hours,
         CAST(memory AS DOUBLE) / 1024 / 1024 / 3600 AS memory_gib_hours,
         CAST(wait AS DOUBLE) / nullif(waited, 0) / 3600 AS wait_hours,
         100 * CAST(cpu_used AS DOUBLE) / nullif(CAST(cpu_measured AS DOUBLE), 0)
             AS cpu_efficiency,
         100 * CAST(memory_used AS DOUBLE) / nullif(CAST(memory_measured AS DOUBLE), 0)
             AS memory_efficiency"
    };
}

/// Who or what used how much, and how well: the same columns whatever usage is added up by.
macro_rules! usage_by {
    ($name:literal, $question:literal, $by:literal, $from:literal, $heading:literal, $meaning:literal, $notes:expr) => {
        pub(super) static ANALYSIS: super::Analysis = super::Analysis {
            name: $name,
            question: $question,
            sql: concat!(
                "SELECT ",
                $by,
                ", jobs, users, ",
                usage_figures!(),
                " FROM (SELECT ",
                $by,
                ", ",
                usage_sums!(),
                " FROM ",
                $from,
                " WHERE ",
                chosen!(),
                " GROUP BY ",
                $by,
                ")",
                " ORDER BY cpu_hours DESC NULLS LAST, jobs DESC, ",
                $by
            ),
            columns: &[
                super::Column {
                    name: $by,
                    heading: $heading,
                    unit: report::Unit::Label,
                    meaning: $meaning,
                },
                super::JOBS,
                super::USERS,
                super::CPU_HOURS,
                super::GPU_HOURS,
                super::MEMORY_GIB_HOURS,
                super::WAIT_HOURS,
                super::CPU_EFFICIENCY,
                super::MEMORY_EFFICIENCY,
            ],
            notes: $notes,
            options: super::WHOSE,
            drawn: Some(super::amounts(&[$by], "CPU hours", &[super::CPU_HOURS_DRAWN])),
        };
    };
}

/// Rows of a term of GPU use, once for each side of a GPU: its class, and what it did. On the
/// backfill side, idle is what backfill could take; what the primary side has is other.
macro_rules! gpu_sides {
    ($rows:literal) => {
        concat!(
            "(
                SELECT *,
                       CASE WHEN side = 'primary' THEN primary_class ELSE backfill_class END
                           AS class,
                       CASE WHEN side = 'primary' THEN state
                            WHEN backfill_use IN ('claimed', 'draining', 'drained', 'down', 'maintenance',
                                                  'rebooting', 'prevented')
                                THEN backfill_use
                            WHEN backfill_use = 'available' THEN 'idle'
                            ELSE 'other'
                       END AS use
                FROM (SELECT *, unnest(make_array('primary', 'backfill')) AS side FROM ",
            $rows,
            ")
                WHERE side = 'primary' OR backfill_class IS NOT NULL
            )"
        )
    };
}

/// Sums by side and class, and over all classes of a side; `$keys` beside.
macro_rules! gpu_sums {
    () => {
        "CAST(sum(exact(seconds)) AS DOUBLE) AS seen,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'claimed'), 0) AS DOUBLE) AS claimed,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'backfill'), 0) AS DOUBLE)
             AS backfill,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'idle'), 0) AS DOUBLE) AS idle,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'draining'), 0) AS DOUBLE)
             AS draining,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'drained'), 0) AS DOUBLE)
             AS drained,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'down'), 0) AS DOUBLE)
             AS down,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'maintenance'), 0) AS DOUBLE)
             AS maintenance,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'rebooting'), 0) AS DOUBLE)
             AS rebooting,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'prevented'), 0) AS DOUBLE)
             AS prevented,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'other'), 0) AS DOUBLE) AS other,
         CAST(coalesce(sum(exact(seconds)) FILTER (WHERE use = 'unknown'), 0) AS DOUBLE)
             AS unclear"
    };
}

/// A class of slots in a table that lists them all, and the sums over them.
macro_rules! gpu_class {
    () => {
        "CASE WHEN is_total = 0 THEN class
              WHEN side = 'primary' THEN 'All GPUs'
              ELSE 'All backfill'
         END AS class"
    };
}

/// GPU hours by class and user: of all that was held, or of one side's. `$sets` are the groups beside
/// the sum of all and those of each class.
macro_rules! gpu_users {
    ($name:literal, $question:literal, $where:literal, $sets:literal, $notes:expr) => {
        pub(super) static ANALYSIS: super::Analysis = super::Analysis {
            name: $name,
            question: $question,
            sql: concat!(
                "
        SELECT class,
               user,
               seconds / 3600 AS gpu_hours,
               100 * seconds / nullif(max(seconds) OVER (), 0) AS share,
               weighted / 3600 AS weighted_hours
        FROM (
            SELECT CASE WHEN grouping(class) = 1 THEN 'all' ELSE class END AS class,
                   CASE WHEN grouping(user) = 1 THEN 'all' ELSE user END AS user,
                   grouping(class) AS is_total,
                   grouping(user) AS is_whole,
                   CAST(sum(exact(seconds)) AS DOUBLE) AS seconds,
                   CASE WHEN count(weight) = count(*)
                        THEN CAST(sum(exact(weight * seconds)) AS DOUBLE)
                   END AS weighted
            FROM gpu_held
            WHERE ($device IS NULL OR is_device($device, device_name))
              AND ($user IS NULL OR user = $user) AND ",
                of_class!(),
                " AND ",
                of_selected_gpus!(),
                " AND ",
                $where,
                "
            GROUP BY GROUPING SETS ((), (class), ",
                $sets,
                ")
        )
        WHERE seconds > 0 AND (is_total = 0 OR $class IS NULL)
        ORDER BY is_total DESC,
                 max(seconds) OVER (PARTITION BY is_total, class) DESC,
                 class,
                 is_whole DESC,
                 seconds DESC,
                 user
    "
            ),
            columns: &[
                super::Column {
                    name: "class",
                    heading: "Class",
                    unit: report::Unit::Label,
                    meaning: "The class of the slots; `all` in rows that add up all classes, unless a class was asked for.",
                },
                super::Column {
                    name: "user",
                    heading: "User",
                    unit: report::Unit::Label,
                    meaning: "Who held them; `all` in rows that add up all users, a dash where the scheduler did not say.",
                },
                super::Column {
                    name: "gpu_hours",
                    heading: "GPU hours",
                    unit: report::Unit::Hours,
                    meaning: "GPUs held, times the time that they were seen to be held.",
                },
                super::Column {
                    name: "share",
                    heading: "Share %",
                    unit: report::Unit::Percent,
                    meaning: "Of all GPU hours of this table.",
                },
                super::Column {
                    name: "weighted_hours",
                    heading: "Weighted h",
                    unit: report::Unit::Hours,
                    meaning: "GPU hours times the model's weight; a dash where a model has none.",
                },
            ],
            notes: $notes,
            options: &[
                super::USER,
                super::DEVICE,
                super::CLASS,
                super::GPU_HOST,
                super::GPU_HOST_PATTERN,
                super::GPU_MODEL,
            ],
            drawn: Some(super::Drawn::Bars(super::GPU_HOURS_OF_USERS)),
        };
    };
}

/// Hours of GPUs by week or month.
macro_rules! gpu_calendar {
    ($name:literal, $question:literal, $part:literal, $heading:literal, $meaning:literal) => {
        pub(super) static ANALYSIS: super::Analysis = super::Analysis {
            name: $name,
            question: $question,
            sql: concat!(
                "
        SELECT part AS ",
                $part,
                ", ",
                gpu_class!(),
                ",
               claimed / 3600 AS allocated_hours,
               seen / 3600 AS available_hours,
               100 * claimed / nullif(seen, 0) AS allocated_percent,
               100 * claimed / nullif(seen, 0) - lag(100 * claimed / nullif(seen, 0)) OVER (
                   PARTITION BY side, is_total, class ORDER BY part
               ) AS change
        FROM (
            SELECT side, class, part, grouping(class) AS is_total, ",
                gpu_sums!(),
                "
            FROM (
                SELECT *, CAST(date_trunc('",
                $part,
                "', date) AS DATE) AS part
                FROM ",
                gpu_sides!("gpu_use_by_day"),
                "
            )
            GROUP BY GROUPING SETS ((side, part), (side, class, part))
        )
        ORDER BY part, side DESC, is_total DESC, class_rank(class), class
    "
            ),
            columns: &[
                super::Column {
                    name: $part,
                    heading: $heading,
                    unit: report::Unit::Date,
                    meaning: $meaning,
                },
                super::GPU_CLASS,
                super::Column {
                    name: "allocated_hours",
                    heading: "Allocated h",
                    unit: report::Unit::Hours,
                    meaning: "GPU hours that somebody held.",
                },
                super::Column {
                    name: "available_hours",
                    heading: "Available h",
                    unit: report::Unit::Hours,
                    meaning: "GPU hours that were seen, whatever the GPUs did.",
                },
                super::ALLOCATED_PERCENT,
                super::Column {
                    name: "change",
                    heading: "Change (points)",
                    unit: report::Unit::PercentagePoints,
                    meaning: "The difference from the one before, in percentage points; a dash in the first.",
                },
            ],
            notes: &[super::GPU_SEEN],
            options: &[],
            drawn: None,
        };
    };
}

/// The lengths of the times during which a side of GPUs stayed open.
macro_rules! open_periods {
    ($name:literal, $question:literal, $phases:literal, $notes:expr) => {
        pub(super) static ANALYSIS: super::Analysis = super::Analysis {
            name: $name,
            question: $question,
            sql: concat!(
                "
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE by_value END AS by,
               periods,
               seconds / 3600 AS hours,
               length['mean'] AS mean,
               length['deviation'] AS deviation,
               length['lowest'] AS shortest,
               length['p25'] AS p25,
               length['median'] AS median,
               life['median'] AS estimated_median,
               length['p75'] AS p75,
               length['p95'] AS p95,
               length['highest'] AS longest,
               taken,
               owner,
               drained,
               down,
               maintenance,
               rebooting,
               gone,
               cut,
               100.0 * cut / periods AS cut_percent
        FROM (
            SELECT by_value,
                   grouping(by_value) AS is_whole,
                   min(rank) AS rank,
                   count(*) AS periods,
                   CAST(sum(exact(seconds)) AS DOUBLE) AS seconds,
                   distribution(seconds, 1.0) AS length,
                   survival(seconds, after <> 'unknown', NULL)
                       FILTER (WHERE before <> 'unknown') AS life,
                   count(*) FILTER (WHERE after = 'taken') AS taken,
                   count(*) FILTER (WHERE after = 'owner') AS owner,
                   count(*) FILTER (WHERE after IN ('draining', 'drained')) AS drained,
                   count(*) FILTER (WHERE after = 'down') AS down,
                   count(*) FILTER (WHERE after = 'maintenance') AS maintenance,
                   count(*) FILTER (WHERE after = 'rebooting') AS rebooting,
                   count(*) FILTER (WHERE after = 'gone') AS gone,
                   count(*) FILTER (WHERE before = 'unknown' OR after = 'unknown') AS cut
            FROM (
                SELECT *,
                       seconds_between(start_time, end_time) AS seconds,
                       $by AS by_value,
                       $rank AS rank
                FROM ",
                $phases,
                "
                WHERE situation = 'open' AND backfill_class IS NOT NULL
                  AND ($device IS NULL OR is_device($device, device_name))
            )
            GROUP BY GROUPING SETS ((), (by_value))
        )
        WHERE periods > 0
        ORDER BY is_whole DESC, rank, by_value NULLS LAST
    "
            ),
            columns: &[
                super::BY,
                super::Column {
                    name: "periods",
                    heading: "Periods",
                    unit: report::Unit::Count,
                    meaning: "How many times a GPU was open, each from its first moment to its last.",
                },
                super::Column {
                    name: "hours",
                    heading: "GPU hours",
                    unit: report::Unit::Hours,
                    meaning: "How long they lasted together.",
                },
                super::Column {
                    name: "mean",
                    heading: "Mean",
                    unit: report::Unit::Duration,
                    meaning: "How long one lasted on average, as far as it was seen.",
                },
                super::Column {
                    name: "deviation",
                    heading: "Std dev",
                    unit: report::Unit::Duration,
                    meaning: "The standard deviation of their lengths; a dash for a single one.",
                },
                super::Column {
                    name: "shortest",
                    heading: "Shortest",
                    unit: report::Unit::Duration,
                    meaning: "The shortest.",
                },
                super::Column {
                    name: "p25",
                    heading: "P25",
                    unit: report::Unit::Duration,
                    meaning: "A quarter of them were no longer.",
                },
                super::Column {
                    name: "median",
                    heading: "Median",
                    unit: report::Unit::Duration,
                    meaning: "Half of them were no longer, as far as they were seen.",
                },
                super::Column {
                    name: "estimated_median",
                    heading: "Est. median",
                    unit: report::Unit::Duration,
                    meaning: "After so long half of them had ended, by Kaplan and Meier's estimate, which takes one that was cut off to have lasted longer than it was seen, and leaves out those whose start is not known; a dash if fewer than half ever ended.",
                },
                super::Column {
                    name: "p75",
                    heading: "P75",
                    unit: report::Unit::Duration,
                    meaning: "Three quarters of them were no longer.",
                },
                super::Column {
                    name: "p95",
                    heading: "P95",
                    unit: report::Unit::Duration,
                    meaning: "95 in 100 of them were no longer.",
                },
                super::Column {
                    name: "longest",
                    heading: "Longest",
                    unit: report::Unit::Duration,
                    meaning: "The longest.",
                },
                super::Column {
                    name: "taken",
                    heading: "Taken",
                    unit: report::Unit::Count,
                    meaning: "How many ended because a backfill job took the GPU.",
                },
                super::Column {
                    name: "owner",
                    heading: "Owner",
                    unit: report::Unit::Count,
                    meaning: "How many ended because the owner's side was claimed.",
                },
                super::Column {
                    name: "drained",
                    heading: "Drained",
                    unit: report::Unit::Count,
                    meaning: "How many ended because the GPU was drained, or kept from taking jobs.",
                },
                super::Column {
                    name: "down",
                    heading: "Down",
                    unit: report::Unit::Count,
                    meaning: "How many ended because the GPU's machine failed.",
                },
                super::Column {
                    name: "maintenance",
                    heading: "Maintenance",
                    unit: report::Unit::Count,
                    meaning: "How many ended because the maintenance of the GPU's machine began.",
                },
                super::Column {
                    name: "rebooting",
                    heading: "Rebooting",
                    unit: report::Unit::Count,
                    meaning: "How many ended because the GPU's machine rebooted.",
                },
                super::Column {
                    name: "gone",
                    heading: "Gone",
                    unit: report::Unit::Count,
                    meaning: "How many ended because the GPU was no longer there, or no longer offered.",
                },
                super::Column {
                    name: "cut",
                    heading: "Cut",
                    unit: report::Unit::Count,
                    meaning: "How many were cut off by the period, the present or a time without looks, at their start or at their end.",
                },
                super::Column {
                    name: "cut_percent",
                    heading: "Cut %",
                    unit: report::Unit::Percent,
                    meaning: "That is of all of them.",
                },
            ],
            notes: $notes,
            options: &[super::BY_PLACE, super::DEVICE],
            drawn: Some(super::Drawn::Bars(super::OPEN_MEDIANS)),
        };
    };
}

mod allocation_days;
mod allocations;
mod backfill_advice;
mod backfill_availability;
mod backfill_hazard;
mod backfill_opportunity;
mod backfill_summary;
mod backfill_survival;
mod backfill_transitions;
mod backfill_users;
mod cluster_summary;
mod collections;
mod daily;
mod efficiency;
mod evictions;
mod gpu_at;
mod gpu_doubts;
mod gpu_draining;
mod gpu_efficiency;
mod gpu_left_out;
mod gpu_machines;
mod gpu_monthly;
mod gpu_prevented;
mod gpu_timeseries;
mod gpu_usage;
mod gpu_users;
mod gpu_weekly;
mod job;
mod job_queue;
mod jobs;
mod node_availability;
mod node_events;
mod queue_pressure;
mod queue_reasons;
mod rejects;
mod rightsizing;
mod states;
mod time_limit;
mod usage_by_account;
mod usage_by_gpu_model;
mod usage_by_group;
mod usage_by_node;
mod usage_by_partition;
mod usage_by_qos;
mod usage_by_user;
mod wait;
mod wasters;

use report::{Kind, Layout, Unit};

use crate::drawn::{Drawn, DrawnBars, DrawnPart};
use crate::option::{Alternative, AnalysisOption, Values};
use crate::picture::{host_pattern, model_pattern};

/// A question that people ask, and how it is answered.
pub struct Analysis {
    /// As on the command line and in addresses.
    pub name: &'static str,
    pub question: &'static str,
    pub sql: &'static str,
    pub columns: &'static [Column],
    /// What a reader must know to read the numbers right.
    pub notes: &'static [&'static str],
    /// What it can be told beside the period.
    pub options: &'static [AnalysisOption],
    /// What a chart of its answer shows, if it has one.
    pub drawn: Option<Drawn>,
}

impl Analysis {
    /// Whether it is about collecting itself, which may fail long after the newest data: its period
    /// ends now, however old that is.
    pub fn is_about_collecting(&self) -> bool {
        [collections::ANALYSIS.name, rejects::ANALYSIS.name].contains(&self.name)
    }
}

/// One column of an answer.
pub struct Column {
    pub name: &'static str,
    pub heading: &'static str,
    pub unit: Unit,
    pub meaning: &'static str,
}

/// Every analysis, in the order in which help and pages list them.
pub static ANALYSES: [&Analysis; 47] = [
    &cluster_summary::ANALYSIS,
    &daily::ANALYSIS,
    &usage_by_user::ANALYSIS,
    &usage_by_group::ANALYSIS,
    &usage_by_account::ANALYSIS,
    &usage_by_partition::ANALYSIS,
    &usage_by_qos::ANALYSIS,
    &usage_by_gpu_model::ANALYSIS,
    &usage_by_node::ANALYSIS,
    &allocations::ANALYSIS,
    &allocation_days::ANALYSIS,
    &wasters::ANALYSIS,
    &states::ANALYSIS,
    &jobs::ANALYSIS,
    &job::ANALYSIS,
    &job_queue::ANALYSIS,
    &efficiency::ANALYSIS,
    &gpu_efficiency::ANALYSIS,
    &gpu_usage::ANALYSIS,
    &gpu_users::ANALYSIS,
    &backfill_users::ANALYSIS,
    &gpu_machines::ANALYSIS,
    &gpu_draining::ANALYSIS,
    &gpu_prevented::ANALYSIS,
    &gpu_left_out::ANALYSIS,
    &gpu_monthly::ANALYSIS,
    &gpu_weekly::ANALYSIS,
    &gpu_timeseries::ANALYSIS,
    &gpu_at::ANALYSIS,
    &gpu_doubts::ANALYSIS,
    &queue_pressure::ANALYSIS,
    &backfill_summary::ANALYSIS,
    &backfill_availability::ANALYSIS,
    &backfill_opportunity::ANALYSIS,
    &backfill_transitions::ANALYSIS,
    &evictions::ANALYSIS,
    &backfill_survival::ANALYSIS,
    &backfill_hazard::ANALYSIS,
    &backfill_advice::ANALYSIS,
    &wait::ANALYSIS,
    &time_limit::ANALYSIS,
    &rightsizing::ANALYSIS,
    &queue_reasons::ANALYSIS,
    &node_availability::ANALYSIS,
    &node_events::ANALYSIS,
    &collections::ANALYSIS,
    &rejects::ANALYSIS,
];

/// Said by every analysis that adds up the time of runs.
const RUNNING_JOBS: &str = "A job counts for the part of its run that lies in the period. A \
    running job counts until it was last observed.";

/// The columns of usage.
const JOBS: Column = Column {
    name: "jobs",
    heading: "Jobs",
    unit: Unit::Count,
    meaning: "Attempts that ran in the period.",
};
const USERS: Column = Column {
    name: "users",
    heading: "Users",
    unit: Unit::Count,
    meaning: "Users whose attempts they were.",
};
const CPU_HOURS: Column = Column {
    name: "cpu_hours",
    heading: "CPU hours",
    unit: Unit::Hours,
    meaning: "CPUs held, times the time.",
};
const GPU_HOURS: Column = Column {
    name: "gpu_hours",
    heading: "GPU hours",
    unit: Unit::Hours,
    meaning: "GPUs held, times the time.",
};
const MEMORY_GIB_HOURS: Column = Column {
    name: "memory_gib_hours",
    heading: "Memory GiB h",
    unit: Unit::GibibyteHours,
    meaning: "Memory asked for, times the time.",
};
const WAIT_HOURS: Column = Column {
    name: "wait_hours",
    heading: "Wait h",
    unit: Unit::Hours,
    meaning: "Mean time from eligible to start, over attempts that started in the period.",
};
const CPU_EFFICIENCY: Column = Column {
    name: "cpu_efficiency",
    heading: "CPU eff. %",
    unit: Unit::Percent,
    meaning: "CPU time used of CPU time held, over attempts where it was measured.",
};
const MEMORY_EFFICIENCY: Column = Column {
    name: "memory_efficiency",
    heading: "Memory eff. %",
    unit: Unit::Percent,
    meaning: "Largest memory used of memory asked for, weighted by memory and time, over attempts where it was measured.",
};

/// Said by every analysis of what GPUs were seen to do.
const GPU_SEEN: &str = "What a look at a cluster saw holds until the next look, and for twice its \
    cadence at the most (a fiftieth longer if the next comes no later than that); for the rest \
    nothing is known, and nothing is assumed.";

/// Free GPUs that could take no job, on average: one column for each reason.
const DRAINING: Column = Column {
    name: "draining",
    heading: "Draining",
    unit: Unit::Average,
    meaning: "Free GPUs of machines that take no new jobs while others still run, on average.",
};
const DRAINED: Column = Column {
    name: "drained",
    heading: "Drained",
    unit: Unit::Average,
    meaning: "GPUs of drained slots on which nothing ran, on average.",
};
const DOWN: Column = Column {
    name: "down",
    heading: "Down",
    unit: Unit::Average,
    meaning: "GPUs of machines that failed or do not respond, on average.",
};
const MAINTENANCE: Column = Column {
    name: "maintenance",
    heading: "Maintenance",
    unit: Unit::Average,
    meaning: "GPUs of machines in maintenance, on average.",
};
const REBOOTING: Column = Column {
    name: "rebooting",
    heading: "Rebooting",
    unit: Unit::Average,
    meaning: "GPUs of machines that reboot, on average.",
};
const PREVENTED: Column = Column {
    name: "prevented",
    heading: "Prevented",
    unit: Unit::Average,
    meaning: "GPUs on which nothing ran, and that another reason kept jobs away from, on average.",
};

/// Said where the reasons are shown.
const GPU_REASONS: &str = "Data that an earlier version collected do not say why a SLURM node \
    took no jobs: a GPU that was draining, down, in maintenance or rebooting counts there as drained.";

/// Said where backfill is told apart.
const GPU_BACKFILL: &str = "Where both sides of a GPU are claimed, it is the primary side's; \
    gpu-doubts counts that.";

const GPU_CLASS: Column = Column {
    name: "class",
    heading: "Class",
    unit: Unit::Label,
    meaning: "The class of the slots. A GPU has a primary side, and may be offered for backfill too: so All GPUs are the GPUs, and the classes of backfill are some of them again.",
};
const ALLOCATED_PERCENT: Column = Column {
    name: "allocated_percent",
    heading: "Allocated %",
    unit: Unit::Percent,
    meaning: "The time that they were held, of the time that they were seen.",
};

/// Whose jobs: what `chosen!` asks for.
const WHOSE: &[AnalysisOption] = &[USER, GROUP, ACCOUNT, PARTITION];
const USER: AnalysisOption =
    AnalysisOption { name: "user", meaning: "Only this user's", values: Values::Filter };
const GROUP: AnalysisOption = AnalysisOption {
    name: "group",
    meaning: "Only those of this group's users, by configuration",
    values: Values::Filter,
};
const ACCOUNT: AnalysisOption = AnalysisOption {
    name: "account",
    meaning: "Only what is charged to this account",
    values: Values::Filter,
};
const PARTITION: AnalysisOption = AnalysisOption {
    name: "partition",
    meaning: "Only what was submitted to this partition",
    values: Values::Filter,
};

/// Which node.
const NODE: AnalysisOption =
    AnalysisOption { name: "node", meaning: "Only this node", values: Values::Filter };

/// Which model.
const DEVICE: AnalysisOption = AnalysisOption {
    name: "device",
    meaning: "Only this model: by its short or its whole name or by its family; * and ? stand for letters",
    values: Values::Device,
};

/// The machine of GPUs.
pub const GPU_HOST: AnalysisOption = AnalysisOption {
    name: "host",
    meaning: "Only this machine, with or without its domain",
    values: Values::Filter,
};

pub const GPU_HOST_PATTERN: AnalysisOption = AnalysisOption {
    name: "host-pattern",
    meaning: "Only machines in whose name this regular expression is found",
    values: Values::Checked(|expression| host_pattern(expression).map(|_| ())),
};

pub const GPU_MODEL: AnalysisOption = AnalysisOption {
    name: "model",
    meaning: "Only models with this in their name",
    values: Values::Checked(|model| model_pattern(model).map(|_| ())),
};

/// Rows of a class are what they are without it; sums over classes are left out.
const CLASS: AnalysisOption = AnalysisOption {
    name: "class",
    meaning: "Only this class of slots or of machines",
    values: Values::Filter,
};

const BY: Column = Column {
    name: "by",
    heading: "By",
    unit: Unit::Label,
    meaning: "What it is added up by; `all` in the first row, a dash where it is not known.",
};

/// By what reports about backfill add up; `start_time` is when something began.
const BY_PLACE: AnalysisOption = AnalysisOption {
    name: "by",
    meaning: "Add up by this",
    values: Values::OneOf(&[
        by("device", &[("$by", "device"), ("$rank", "0")], "Model"),
        by("class", &[("$by", "backfill_class"), ("$rank", "class_rank(backfill_class)")], "Class"),
        by("owner", &[("$by", "owner_class"), ("$rank", "0")], "Owner class"),
        by("machine", &[("$by", "\"cluster\" || '/' || machine"), ("$rank", "0")], "Machine"),
        by("cluster", &[("$by", "\"cluster\""), ("$rank", "0")], "Cluster"),
        by(
            "hour",
            &[
                ("$by", "hour_of_week(start_time)['name']"),
                ("$rank", "hour_of_week(start_time)['hour']"),
            ],
            "Began",
        ),
    ]),
};

const fn by(
    word: &'static str,
    replaces: &'static [(&'static str, &'static str)],
    heading: &'static str,
) -> Alternative {
    Alternative { word, replaces, heading }
}

/// Said by every analysis of the time that backfill had.
const BACKFILL_OPEN: &str = "Open for backfill: the backfill side is unclaimed, the owner's side is \
    not claimed, and the GPU is neither drained nor kept from taking jobs.";

/// Said by every analysis of the lengths of such times.
const BACKFILL_TIMES: &str = "Samples decide what a GPU did, and the job history decides when. A time \
    begins at the end of the job before it and ends at the start of the job after it if the job \
    history has these jobs, otherwise at sampling times. A job that ran between two samples splits \
    the time around it if the job history names its GPUs. GPU hours by job times may differ from \
    those of gpu-usage, which are by samples, by up to one sampling interval for each start and end.";

/// Said by every analysis of attempts on backfill.
const BACKFILL_LINKED: &str = "Where the job history has an execution, its times are exact and its \
    end is what the scheduler says. One that only looks at GPUs saw has the times of the looks; it \
    counts as evicted if its owner's job or a drain followed at once.";

/// Said by every analysis of usage.
const USAGE_NOTES: &[&str] = &[
    RUNNING_JOBS,
    "Efficiency is over the attempts where use was measured; a dash means that none was.",
];

/// Said by every analysis that gives a median or another percentile.
const PERCENTILES: &str = "A median or another percentile is the smallest value, to the hundredth, \
    that half or so many of them do not exceed (nearest rank).";

/// A bar for each row of a table without sums, in the order of the table.
const fn amounts(
    labels: &'static [&'static str],
    heading: &'static str,
    parts: &'static [DrawnPart],
) -> Drawn {
    Drawn::Bars(DrawnBars { labels, has_sums: false, heading, layout: Layout::Stacked, parts })
}

const CPU_HOURS_DRAWN: DrawnPart = DrawnPart::new("cpu_hours", "CPU hours", Kind::Ranked(0));
const GPU_HOURS_DRAWN: DrawnPart = DrawnPart::new("gpu_hours", "GPU hours", Kind::Ranked(0));

const GPU_HOURS_OF_USERS: DrawnBars = DrawnBars {
    labels: &["class", "user"],
    has_sums: true,
    heading: "GPU hours",
    layout: Layout::Stacked,
    parts: &[GPU_HOURS_DRAWN],
};

/// How long GPUs stay open: as it was seen, and as it is estimated of those that were cut off.
const OPEN_MEDIANS: DrawnBars = DrawnBars {
    labels: &["by"],
    has_sums: true,
    heading: "Half of the periods lasted longer",
    layout: Layout::Beside,
    parts: &[
        DrawnPart::new("estimated_median", "estimated median (Kaplan and Meier)", Kind::Ranked(0)),
        DrawnPart::new("median", "median of what was seen", Kind::Ranked(5)),
    ],
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_is_drawn_of_an_analysis_is_in_its_table() {
        for analysis in ANALYSES {
            let drawn: Vec<&str> = match &analysis.drawn {
                None => continue,
                Some(Drawn::Bars(bars)) => {
                    assert!(!bars.parts.is_empty(), "{} has bars of nothing", analysis.name);
                    let parts = bars
                        .parts
                        .iter()
                        .flat_map(|part| part.band.into_iter().flatten().chain([part.column]));
                    bars.labels.iter().copied().chain(parts).collect()
                }
                Some(Drawn::Grid(grid)) => vec![grid.group, grid.row, grid.column, grid.value],
                Some(Drawn::Curves(curves)) => {
                    let [lower, upper] = curves.band;
                    vec![curves.group, curves.at, curves.value, lower, upper, curves.weight]
                }
            };
            for name in drawn {
                let is_there = analysis.columns.iter().any(|column| column.name == name);
                assert!(is_there, "{} has no column {name}", analysis.name);
            }
        }
    }

    /// Used of allocated, and allocated of existing, are both percentages of CPUs.
    #[test]
    fn a_heading_of_percentages_stands_for_one_column_and_a_column_has_one_heading() {
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        let mut headings: BTreeMap<&str, &str> = BTreeMap::new();
        let columns = ANALYSES.iter().flat_map(|analysis| analysis.columns);
        for Column { name, heading, .. } in columns.filter(|it| it.unit == Unit::Percent) {
            assert_eq!(names.entry(heading).or_insert(name), name, "the heading {heading}");
            assert_eq!(headings.entry(name).or_insert(heading), heading, "the column {name}");
        }
        assert_eq!(names.get("CPU eff. %"), Some(&"cpu_efficiency"));
        assert_eq!(names.get("CPU allocated %"), Some(&"cpu_allocated_percent"));
    }

    #[test]
    fn every_analysis_of_backfill_is_drawn() {
        let is_about_backfill = |name: &str| name.starts_with("backfill") || name == "evictions";
        let backfill = ANALYSES.into_iter().filter(|analysis| is_about_backfill(analysis.name));
        let names: Vec<&str> = backfill
            .filter(|analysis| analysis.drawn.is_none())
            .map(|analysis| analysis.name)
            .collect();
        assert!(names.is_empty(), "{names:?}");
    }

    #[test]
    fn every_file_of_the_folder_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/analysis");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "mod.rs")
            .collect();
        let mut names: Vec<String> = ANALYSES
            .iter()
            .map(|analysis| format!("{}.rs", analysis.name.replace('-', "_")))
            .collect();
        files.sort();
        names.sort();
        assert_eq!(files, names);
    }
}
