//! How much of a period was observed, and how fresh that is.

use jiff::Timestamp;

use crate::NewestData;

/// What the lake holds of the time and the clusters that a question is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// One entry a cluster, by name.
    pub clusters: Vec<ClusterCoverage>,
    /// Files that could not be read, and so are missing from the answer.
    pub skipped: Vec<SkippedFile>,
    /// The newest data, if the period ends there, or before, because it is old; nothing if the
    /// question named the end, or the data is current.
    pub ends_at_newest: Option<NewestData>,
}

/// One cluster's part of a period.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterCoverage {
    pub cluster: String,
    /// Days of the period, in UTC, that a collection of this cluster asked about once they, or
    /// the part of them in the period, were over.
    pub days_collected: i64,
    /// Other days of the period that were imported from other tools.
    pub imported: Vec<ImportedDays>,
    /// Days that the period touches.
    pub days: i64,
    /// When its scheduler was last asked; unknown if it never was.
    pub fresh_time: Option<Timestamp>,
}

/// Days whose history comes from another tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedDays {
    /// The tool, such as `gpureports`.
    pub tool: String,
    pub days: i64,
}

impl ClusterCoverage {
    /// Days of the period that were collected or imported.
    pub fn days_known(&self) -> i64 {
        self.days_collected + self.imported.iter().map(|imported| imported.days).sum::<i64>()
    }
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct SkippedFile {
    pub path: String,
    pub reason: String,
}

impl Coverage {
    /// What is missing, a line each; nothing if the time is whole.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.clusters.is_empty() {
            gaps.push("nothing was collected from any cluster".to_owned());
        }
        for cluster in self.clusters.iter().filter(|cluster| cluster.days_known() < cluster.days) {
            let how =
                if cluster.imported.is_empty() { "collected" } else { "collected or imported" };
            let (name, known, days) = (&cluster.cluster, cluster.days_known(), cluster.days);
            gaps.push(format!("{name}: {known} of {days} days are {how}"));
        }
        gaps.extend(self.skipped.iter().map(|file| format!("{} could not be read", file.path)));
        gaps
    }
}
