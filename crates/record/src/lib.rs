//! What was observed: the tables of the lake, one file a table, one line a column.
//!
//! Words only. A record knows its Arrow schema and how to become a batch and come back;
//! it knows no file, no scheduler and no SQL.

mod attempt;
mod availability;
mod cell;
#[macro_use]
mod macros;

mod collection;
mod gpu_sample;
mod gpu_span;
mod job;
mod job_day;
mod job_merge;
mod live;
pub mod node_list;
mod node_share;
mod node_span;
mod queue_span;
mod reject;
mod site_policy;

use std::fmt::Debug;
use std::hash::Hasher;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use jiff::Timestamp;

/// A text of a record. Most are short: up to 23 bytes lie in it.
pub use smol_str::SmolStr as Text;

pub use attempt::{Attempt, Attempts};
pub use availability::{Availability, Away, away};
pub use cell::Cell;
pub use collection::Collection;
pub use gpu_sample::GpuSample;
pub use gpu_span::{GpuSpan, Looks, spans_of};
pub use job::{Job, Usage, is_final_state};
pub use job_day::{DaySums, JobDay, NodeDay, in_kib, millionths};
pub use job_merge::AttemptExtent;
pub(crate) use job_merge::KeptRule;
pub use live::{
    AccessPoint, GpuCount, JobCount, Live, Negotiator, RecentUse, Seen, SeenNode, SinkHealth,
    SourceHealth, gpu_counts, is_nonsense, job_counts,
};
pub use node_share::{GpuModel, IdleGpu, Share, cpu_shares, gpu_models, gpu_shares, memory_shares};
pub use node_span::NodeSpan;
pub use queue_span::QueueSpan;
pub use reject::Reject;
pub use site_policy::SitePolicy;

/// Every table, in the order in which documents and `status` list them.
pub static TABLES: [&Table; 10] = [
    &Job::TABLE,
    &JobDay::TABLE,
    &NodeDay::TABLE,
    &GpuSpan::TABLE,
    &GpuSample::TABLE,
    &NodeSpan::TABLE,
    &QueueSpan::TABLE,
    &Collection::TABLE,
    &Reject::TABLE,
    &SitePolicy::TABLE,
];

/// A row of a table.
///
/// The cluster is a field of every record but a column of no file: the file's path says it
/// (`cluster=…`), and a reader that takes columns from paths would otherwise meet it twice.
pub trait Record: Sized + Clone + PartialEq + Debug + Send + Sync + 'static {
    const TABLE: Table;

    fn cluster(&self) -> &str;

    /// The moment whose UTC date is the row's partition.
    fn moment(&self) -> Timestamp;

    /// When its source was asked.
    fn observed_time(&self) -> Timestamp;

    /// The rows as Arrow columns, in the order of [`Table::columns`].
    fn to_batch(rows: &[&Self]) -> RecordBatch;

    /// The rows of a batch, found by column name: a column that the file lacks is unknown, one
    /// that this version does not know is passed over.
    fn from_batch(cluster: &str, batch: &RecordBatch) -> Result<Vec<Self>, String>;

    /// Orders rows by key; equal means the same thing observed twice.
    fn compare_key(&self, other: &Self) -> std::cmp::Ordering;

    /// Hashes what [`compare_key`](Record::compare_key) compares.
    fn hash_key(&self, hasher: &mut impl Hasher);

    /// Whether `other` says the same, whenever either was observed.
    fn says_the_same(&self, other: &Self) -> bool;

    /// Hashes what [`says_the_same`](Record::says_the_same) compares.
    fn hash_content(&self, hasher: &mut impl Hasher);

    /// Orders rows by the columns that come from the latest observation.
    fn compare_latest(&self, other: &Self) -> std::cmp::Ordering;

    /// Merges two observations with one key. The result does not depend on the order in which
    /// observations are merged, nor on how often. Without a rule of its own a table keeps the row
    /// that was observed later.
    fn merge(&self, other: &Self) -> MergeOutcome<Self> {
        let order = self.observed_time().cmp(&other.observed_time());
        match order.then_with(|| self.compare_latest(other)) {
            std::cmp::Ordering::Less => MergeOutcome::Second,
            _ => MergeOutcome::First,
        }
    }

    /// Merges a row that was derived again from the archive with the stored row of its key, which
    /// may hold values that the archive does not have.
    fn rederive(&self, _stored: &Self) -> MergeOutcome<Self> {
        MergeOutcome::First
    }

    /// Orders rows as they lie in a file, so that row-group statistics prune.
    fn compare_place(&self, other: &Self) -> std::cmp::Ordering;
}

/// The result of merging two rows.
#[derive(Debug, PartialEq)]
pub enum MergeOutcome<R> {
    /// The first row, unchanged.
    First,
    /// The second row, unchanged.
    Second,
    /// A row with values of both.
    New(Box<R>),
}

/// How a column of two observations with one key becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    /// The value of the latest observation, known or not.
    Latest,
    /// The latest known value.
    Kept,
    /// The latest known value of the observations after the end, and before it that of the latest one.
    Ended,
    /// A measurement: the most complete one.
    Measured,
    /// Computed from the merged row.
    Derived,
}

/// A record that holds over a time, made of repeated observations of one thing.
pub trait Span: Record {
    fn start_time(&self) -> Timestamp;
    fn end_time(&self) -> Timestamp;
    fn set_start_time(&mut self, time: Timestamp);
    fn set_end_time(&mut self, time: Timestamp);
    fn last_seen_time(&self) -> Timestamp;

    /// Counts one more observation, made at `time`.
    fn see_again(&mut self, time: Timestamp);

    /// Makes it the part of a span that goes on after midnight: nothing was observed in it yet.
    fn carry_over(&mut self);

    /// What the span is of: two spans of one entity never overlap.
    fn entity(&self) -> &str;

    /// Whether `other` says the same of the entity, times apart.
    fn same_state(&self, other: &Self) -> bool;
}

/// What a table is: its name, its meaning, its columns.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub meaning: &'static str,
    /// Beside the cluster, which is always part of the key.
    pub key: &'static [&'static str],
    pub sort: &'static [&'static str],
    /// The column whose UTC date is the partition.
    pub moment: &'static str,
    /// The column that says when a row was observed.
    pub observed: &'static str,
    pub columns: &'static [Column],
}

/// One column of a table.
#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    pub data_type: fn() -> DataType,
    pub nullable: bool,
    /// Blank for a name, a word or a count.
    pub unit: &'static str,
    pub meaning: &'static str,
    pub merge_rule: MergeRule,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Flag,
    Time,
}

impl Column {
    pub fn kind(&self) -> Kind {
        match (self.data_type)() {
            DataType::Boolean => Kind::Flag,
            DataType::Int64 => Kind::Integer,
            DataType::Float64 => Kind::Number,
            DataType::Timestamp(..) => Kind::Time,
            _ => Kind::Text,
        }
    }
}

impl Table {
    /// The schema of the table's files: every column, without those that the path carries.
    pub fn schema(&self) -> Schema {
        Schema::new(
            self.columns
                .iter()
                .map(|column| {
                    arrow::datatypes::Field::new(column.name, (column.data_type)(), column.nullable)
                })
                .collect::<Vec<_>>(),
        )
    }

    /// The columns that hold moments: the lake keeps their range for each file.
    pub fn time_columns(&self) -> impl Iterator<Item = &'static str> {
        self.columns
            .iter()
            .filter(|column| matches!((column.data_type)(), DataType::Timestamp(..)))
            .map(|column| column.name)
    }
}

#[cfg(test)]
mod tests;
