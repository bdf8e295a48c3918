//! The questions; a file a question.

/// What usage is added up to, whatever by.
macro_rules! usage_sums {
    () => {
        "sum(jobs) AS jobs,
         count(DISTINCT user) AS users,
         sum(exact(cpu_seconds)) AS cpu_seconds,
         sum(exact(gpu_seconds)) AS gpu_seconds,
         sum(exact(memory_mib_seconds)) AS memory,
         sum(waited) AS waited,
         sum(exact(wait_seconds)) AS wait,
         sum(exact(cpu_seconds_used)) AS cpu_used,
         sum(exact(cpu_seconds_measured)) AS cpu_measured,
         sum(exact(memory_mib_seconds_used)) AS memory_used,
         sum(exact(memory_mib_seconds_measured)) AS memory_measured"
    };
}

/// What people read of these sums, in the columns from `CPU_HOURS` to `MEMORY_EFFICIENCY`.
macro_rules! usage_figures {
    () => {
        "CAST(cpu_seconds AS DOUBLE) / 3600 AS cpu_hours,
         CAST(gpu_seconds AS DOUBLE) / 3600 AS gpu_hours,
         CAST(memory AS DOUBLE) / 1024 / 3600 AS memory_gib_hours,
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
        };
    };
}

mod cluster_summary;
mod collections;
mod daily;
mod efficiency;
mod gpu_efficiency;
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

use report::Unit;

/// A question that people ask, and how it is answered.
pub struct Analysis {
    /// As on the command line and in addresses.
    pub name: &'static str,
    pub question: &'static str,
    pub sql: &'static str,
    pub columns: &'static [Column],
    /// What a reader must know to read the numbers right.
    pub notes: &'static [&'static str],
}

/// One column of an answer.
pub struct Column {
    pub name: &'static str,
    pub heading: &'static str,
    pub unit: Unit,
    pub meaning: &'static str,
}

/// Every analysis, in the order in which help and pages list them.
pub static ANALYSES: [&Analysis; 18] = [
    &cluster_summary::ANALYSIS,
    &daily::ANALYSIS,
    &usage_by_user::ANALYSIS,
    &usage_by_group::ANALYSIS,
    &usage_by_account::ANALYSIS,
    &usage_by_partition::ANALYSIS,
    &usage_by_qos::ANALYSIS,
    &usage_by_gpu_model::ANALYSIS,
    &usage_by_node::ANALYSIS,
    &wasters::ANALYSIS,
    &states::ANALYSIS,
    &efficiency::ANALYSIS,
    &gpu_efficiency::ANALYSIS,
    &wait::ANALYSIS,
    &time_limit::ANALYSIS,
    &rightsizing::ANALYSIS,
    &collections::ANALYSIS,
    &rejects::ANALYSIS,
];

/// Said by every analysis that adds up the time of runs.
const RUNNING_JOBS: &str = "A job counts for the part of its run that lies in the period; one \
    that still runs counts until it was last observed, in HTCondor once it is over.";

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
    heading: "CPU %",
    unit: Unit::Percent,
    meaning: "CPU time used of CPU time held, over attempts where it was measured.",
};
const MEMORY_EFFICIENCY: Column = Column {
    name: "memory_efficiency",
    heading: "Memory %",
    unit: Unit::Percent,
    meaning: "Largest memory used of memory asked for, weighted by memory and time, over attempts where it was measured.",
};

/// Said by every analysis of usage.
const USAGE_NOTES: &[&str] = &[
    RUNNING_JOBS,
    "Efficiency is over the attempts where use was measured; a dash means that none was.",
];

/// Said by every analysis that gives a median or another percentile.
const PERCENTILES: &str = "A median or another percentile is the smallest value, to the hundredth, \
    that half or so many of them do not exceed (nearest rank).";

#[cfg(test)]
mod tests {
    use super::*;

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
