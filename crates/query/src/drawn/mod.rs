//! How the table of an analysis is drawn: which of its columns are what.
//!
//! A picture has the numbers of the report's table. Nothing is asked again for it.

mod bars;
mod curves;
mod grid;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use report::{Drawing, Picture, Report, Table, Unit, Value};

pub use bars::{DrawnBars, DrawnPart};
pub use curves::DrawnCurves;
pub use grid::DrawnGrid;

use crate::analysis::{ANALYSES, Analysis};
use crate::{CHARTS, Chart, Question, nearest, option};

/// What an analysis is drawn as.
pub enum Drawn {
    Bars(DrawnBars),
    Grid(DrawnGrid),
    Curves(DrawnCurves),
}

/// What `plimsoll chart` draws by a name.
#[derive(Clone, Copy)]
pub enum NamedChart {
    /// What GPUs did, from their spans.
    Gpus(&'static Chart),
    /// The answer of an analysis that says how it is drawn.
    Report(&'static Analysis),
}

impl NamedChart {
    /// Every chart, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = NamedChart> {
        let drawn = ANALYSES.into_iter().filter(|analysis| analysis.drawn.is_some());
        CHARTS.iter().map(NamedChart::Gpus).chain(drawn.map(NamedChart::Report))
    }

    pub fn name(self) -> &'static str {
        match self {
            NamedChart::Gpus(chart) => chart.name,
            NamedChart::Report(analysis) => analysis.name,
        }
    }

    pub fn question(self) -> &'static str {
        match self {
            NamedChart::Gpus(chart) => chart.question,
            NamedChart::Report(analysis) => analysis.question,
        }
    }
}

/// A chart by its name; an unknown one is answered with what there is.
pub fn chart_by_name(name: &str) -> Result<NamedChart> {
    if let Some(chart) = NamedChart::all().find(|chart| chart.name() == name) {
        return Ok(chart);
    }
    if ANALYSES.iter().any(|analysis| analysis.name == name) {
        bail!("the report {name} has no chart; `plimsoll report {name}` shows its table");
    }
    let names: Vec<&str> = NamedChart::all().map(NamedChart::name).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => bail!("there is no chart {name:?}; did you mean {near:?}?"),
        None => bail!("there is no chart {name:?}; there are {}", names.join(", ")),
    }
}

/// The options with which an analysis is answered for its chart: those that are given, and what the chart
/// requires beside.
pub fn options_of_chart(
    analysis: &Analysis,
    options: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut options = options.clone();
    if let Some(Drawn::Curves(drawn)) = &analysis.drawn {
        options
            .extend(drawn.told.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    }
    options
}

/// Draws an answer of an analysis: `report` is what `question` was answered with.
pub fn draw(analysis: &Analysis, question: &Question, report: &Report) -> Result<Picture> {
    let drawn = analysis
        .drawn
        .as_ref()
        .with_context(|| format!("the report {} has no chart", analysis.name))?;
    let answer = Answer { analysis, question, table: &report.table };
    let Shown { drawing, mut subtitle, mut notes } = match drawn {
        Drawn::Bars(drawn) => bars::draw(drawn, &answer)?,
        Drawn::Grid(drawn) => grid::draw(drawn, &answer)?,
        Drawn::Curves(drawn) => curves::draw(drawn, &answer)?,
    };
    for said in option::said(analysis, question) {
        subtitle += &format!(", {said}");
    }
    notes.extend(report.notes.iter().cloned());
    Ok(Picture {
        name: report.name.clone(),
        title: report.title.clone(),
        subtitle,
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        drawing,
        notes,
    })
}

/// A drawing, and what is to be said of it.
struct Shown {
    drawing: Drawing,
    subtitle: String,
    notes: Vec<String>,
}

/// The table that is drawn, and what it answers.
struct Answer<'a> {
    analysis: &'a Analysis,
    question: &'a Question,
    table: &'a Table,
}

impl Answer<'_> {
    /// The place of a column.
    fn place(&self, name: &str) -> Result<usize> {
        let place = self.table.columns.iter().position(|column| column.name == name);
        place.with_context(|| format!("{} was answered without {name}", self.analysis.name))
    }

    fn heading(&self, place: usize) -> &str {
        &self.table.columns[place].heading
    }

    fn unit(&self, place: usize) -> Unit {
        self.table.columns[place].unit
    }

    /// What stands in a cell, as a label.
    fn label(&self, row: &[Value], place: usize) -> String {
        match &row[place] {
            Value::Unknown => "unknown".to_owned(),
            value => self.unit(place).show(value, &self.question.period.zone),
        }
    }

    /// What a column adds up by: its name, or the word that was said for it.
    fn word<'a>(&'a self, column: &'a str) -> &'a str {
        option::word(self.analysis, self.question, column).unwrap_or(column)
    }

    /// The same in the middle of a sentence.
    fn word_in_a_sentence(&self, column: &str, place: usize) -> String {
        match option::word(self.analysis, self.question, column) {
            Some(word) => word.to_owned(),
            None => in_a_sentence(self.heading(place)),
        }
    }
}

/// A heading in the middle of a sentence.
fn in_a_sentence(heading: &str) -> String {
    let mut letters = heading.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => heading.to_owned(),
    }
}

/// The places of the largest numbers, and those of the others, each in their order.
fn largest(numbers: &[f64], most: usize) -> (Vec<usize>, Vec<usize>) {
    let mut places: Vec<usize> = (0..numbers.len()).collect();
    places.sort_by(|one, other| numbers[*other].total_cmp(&numbers[*one]));
    let mut others = places.split_off(most.min(places.len()));
    places.sort_unstable();
    others.sort_unstable();
    (places, others)
}

#[cfg(test)]
mod tests;
