//! The questions; a file a question.

mod collections;
mod daily;
mod efficiency;
mod gpu_efficiency;
mod rejects;
mod rightsizing;
mod states;
mod time_limit;
mod usage_by_user;
mod wait;

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
pub static ANALYSES: [&Analysis; 10] = [
    &usage_by_user::ANALYSIS,
    &daily::ANALYSIS,
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
