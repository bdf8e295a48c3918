//! What was concluded: the answer to a question, ready to be shown, with its period and how
//! much of it was observed.
//!
//! Words only. Nothing here reads the lake, and nothing knows how a report looks.

mod coverage;
mod period;
mod table;
mod unit;

pub use coverage::{ClusterCoverage, Coverage, SkippedFile};
pub use period::Period;
pub use table::{Column, Table, Value};
pub use unit::Unit;

/// The answer to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The analysis, such as `usage-by-user`.
    pub name: String,
    /// The question, as a person would ask it.
    pub title: String,
    pub period: Period,
    pub coverage: Coverage,
    pub table: Table,
    /// What a reader must know to read the numbers right.
    pub notes: Vec<String>,
}
