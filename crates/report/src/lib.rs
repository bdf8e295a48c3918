//! What was concluded: the answer to a question, ready to be shown, with its period and how
//! much of it was observed.
//!
//! Words only. Nothing here reads the lake, and nothing knows how a report looks.

mod bar_chart;
mod bars;
mod calendar;
mod coverage;
mod curves;
mod document;
mod grid;
mod metric;
mod moment;
mod newest_data;
mod period;
mod picture;
mod scatter;
mod series;
mod table;
mod unit;

pub use bar_chart::{Bar, BarChart};
pub use bars::{Amount, Band, Bars, Group, Layout, Part};
pub use calendar::Rhythm;
pub use coverage::{ClusterCoverage, Coverage, ImportedDays, SkippedFile};
pub use curves::{Curve, Curves, Point};
pub use document::{Document, Section};
pub use grid::{Cell, Cells, Columns, Grid, GridRow, Run};
pub use metric::{Family, MetricKind, Sample};
pub use moment::moment;
pub use newest_data::NewestData;
pub use period::Period;
pub use picture::{Category, Drawing, HIGHEST_LEVEL, Kind, Picture};
pub use scatter::{Axis, Dot, Scatter};
pub use series::{Amounts, Bin, Histogram, Series};
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
    /// Columns of the table that a terminal shows as bars too.
    pub charts: Vec<BarChart>,
    /// What a reader must know to read the numbers right.
    pub notes: Vec<String>,
}

impl Report {
    /// Leaves out all but the first rows, and says so.
    pub fn keep_first(&mut self, top: usize) {
        let rows = self.table.rows.len();
        if top < rows {
            self.notes.push(format!("The first {top} of {rows} rows of {}.", self.name));
            self.table.rows.truncate(top);
        }
    }
}
