//! What a digest is made of, as data.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use report::{Report, Table, Unit, Value};

use crate::{By, Chart, Judgement, NamedChart, Question, chart_by_name};

/// What is put together, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    pub title: String,
    pub parts: Vec<Part>,
    /// What the subject of a mail says; nothing if there is none.
    pub shares: Option<Shares>,
}

/// One part of a digest.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// By which the configuration knows it.
    pub name: String,
    pub heading: String,
    pub shows: Shows,
}

/// What a part shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Shows {
    Report(ReportPart),
    Chart(ChartPart),
    /// What the words above it mean.
    Words,
}

/// The answer of an analysis, or a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportPart {
    /// The analysis' name.
    pub report: String,
    pub options: BTreeMap<String, String>,
    /// The columns that are shown, in this order; all if none is named.
    pub columns: Vec<String>,
    /// Columns beside which the period before is shown.
    pub compare: Vec<String>,
    pub rows: Kept,
    pub top: Option<usize>,
    /// Whether its chart stands above it.
    pub is_drawn: bool,
}

/// Which rows are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kept {
    #[default]
    All,
    /// Those where two columns say the same number.
    Equal(String, String),
    /// Those where a column is above zero.
    AboveZero(String),
}

/// A chart of what GPUs did.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartPart {
    pub name: String,
    pub by: By,
}

/// Some numbers of a column, by the names of their rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    pub report: String,
    pub column: String,
    /// What stands in the first column; classes of slots by our own names for them.
    pub rows: Vec<String>,
}

impl Part {
    pub(super) fn report(&self) -> Option<&ReportPart> {
        match &self.shows {
            Shows::Report(part) => Some(part),
            _ => None,
        }
    }

    pub(super) fn chart(&self) -> Option<&ChartPart> {
        match &self.shows {
            Shows::Chart(part) => Some(part),
            _ => None,
        }
    }
}

impl ChartPart {
    pub(super) fn chart(&self) -> Result<&'static Chart> {
        match chart_by_name(&self.name)? {
            NamedChart::Gpus(chart) => Ok(chart),
            NamedChart::Report(analysis) => {
                bail!("{} draws a report: name that report, and have it drawn", analysis.name)
            }
        }
    }
}

impl ReportPart {
    /// Leaves out the rows that are not wanted.
    pub(super) fn keep_rows(&self, table: &mut Table) {
        let place = |name: &str| table.columns.iter().position(|column| column.name == name);
        match &self.rows {
            Kept::All => {}
            Kept::Equal(one, other) => {
                if let (Some(one), Some(other)) = (place(one), place(other)) {
                    table.rows.retain(|row| row[one].number() == row[other].number());
                }
            }
            Kept::AboveZero(name) => {
                if let Some(place) = place(name) {
                    let is_above = |value: &Value| value.number().is_some_and(|it| it > 0.0);
                    table.rows.retain(|row| is_above(&row[place]));
                }
            }
        }
    }

    /// Leaves the columns that are wanted, in their order, each with what stands beside it.
    pub(super) fn keep_columns(&self, table: &mut Table) {
        if self.columns.is_empty() {
            return;
        }
        let belongs = |column: &str, name: &str| {
            let beside = column.strip_prefix(name);
            beside.is_some_and(|rest| ["", "_before", "_change"].contains(&rest))
        };
        let places: Vec<usize> = self
            .columns
            .iter()
            .flat_map(|name| {
                let columns = table.columns.iter().enumerate();
                columns.filter(|(_, column)| belongs(&column.name, name)).map(|(place, _)| place)
            })
            .collect();
        table.columns = places.iter().map(|&place| table.columns[place].clone()).collect();
        for row in &mut table.rows {
            *row = places.iter().map(|&place| row[place].clone()).collect();
        }
    }
}

impl Shares {
    /// The shares as they are shown, a dash for one that is not known; nothing if none is.
    pub(super) fn of(
        &self,
        parts: &[&ReportPart],
        reports: &[Report],
        policy: &Judgement,
        question: &Question,
    ) -> Vec<String> {
        let is_it = |part: &ReportPart| part.report == self.report && part.options.is_empty();
        let found = parts.iter().zip(reports).find(|(part, _)| is_it(part));
        let Some(table) = found.map(|(_, report)| &report.table) else { return Vec::new() };
        let place = table.columns.iter().position(|column| column.name == self.column);
        let share = |row: &String| {
            let name = Value::Text(policy.class_name(row).to_owned());
            let row = table.rows.iter().find(|row| row.first() == Some(&name))?;
            let value = row.get(place?)?;
            value.number()?;
            Some(format!("{}%", Unit::Percent.show(value, &question.period.zone)))
        };
        let shares: Vec<Option<String>> = self.rows.iter().map(share).collect();
        if shares.iter().all(Option::is_none) {
            return Vec::new();
        }
        shares.into_iter().map(|share| share.unwrap_or_else(|| "-".to_owned())).collect()
    }
}
