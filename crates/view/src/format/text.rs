//! A table for a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Row, TableComponent, Width};
use report::{Report, Table, Value};

use super::{Format, Look};
use crate::chart::bar;
use crate::ending::{Line, ending, nothing};
use crate::theme;
use crate::visible::visible;

pub(super) struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn meaning(&self) -> &'static str {
        "A table for a terminal, names cut where it is too narrow for them"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["txt", "text"]
    }

    fn media_type(&self) -> &'static str {
        "text/plain; charset=utf-8"
    }

    fn render(&self, reports: &[Report], look: &Look) -> Vec<u8> {
        let endings: Vec<Vec<Line>> = reports.iter().map(ending).collect();
        let texts = reports
            .iter()
            .enumerate()
            .map(|(index, report)| write(report, &said_once(&endings, index), look));
        texts.collect::<Vec<_>>().join("\n").into_bytes()
    }
}

/// What of a report's ending is to be said where several belong together: the period and what was
/// observed of it below the last of those that share it, a note below the first.
fn said_once(endings: &[Vec<Line>], index: usize) -> Vec<&Line> {
    let said_in = |endings: &[Vec<Line>], line: &Line| endings.iter().any(|one| one.contains(line));
    let is_due = |line: &&Line| match line {
        Line::Note(_) => !said_in(&endings[..index], line),
        Line::Plain(_) | Line::Warning(_) => !said_in(&endings[index + 1..], line),
    };
    endings[index].iter().filter(is_due).collect()
}

/// A report, and what is to be said below it.
pub(crate) fn write(report: &Report, ending: &[&Line], look: &Look) -> String {
    let table = &report.table;
    let mut text = String::new();
    text += &styled(&visible(&report.title), theme::BOLD, look);
    text.push_str("\n\n");
    if table.rows.is_empty() || table.columns.is_empty() {
        text += &nothing(report);
        text.push('\n');
    } else {
        let mut above_rule = true;
        for line in drawn(report, look).lines() {
            let line = line.trim_end();
            above_rule &= line.chars().any(|character| character != RULE);
            text += &if above_rule { styled(line, theme::BOLD, look) } else { line.to_owned() };
            text.push('\n');
        }
    }
    for chart in &report.charts {
        text.push('\n');
        text += &styled(&bar::title(chart), theme::BOLD, look);
        text.push('\n');
        text += &bar::draw(chart, &report.period.zone, look);
    }
    if !ending.is_empty() {
        text.push('\n');
    }
    for line in ending {
        text += &match line {
            Line::Plain(words) => words.clone(),
            Line::Warning(words) => styled(&format!("warning: {words}"), theme::WARNING, look),
            Line::Note(words) => format!("note: {words}"),
        };
        text.push('\n');
    }
    text
}

const RULE: char = '─';

/// Blanks between columns.
const GAP: u16 = 2;

/// A name is not cut to less than this, even if the table then is wider than the terminal.
const NARROWEST_NAME: usize = 8;

/// A name is cut to this even where width does not matter: a table with a cell as long as a book
/// is read by nobody, and comfy-table counts widths in 16 bits.
const WIDEST_NAME: usize = 1000;

fn styled(text: &str, style: &str, look: &Look) -> String {
    if look.color { format!("{style}{text}{}", theme::RESET) } else { text.to_owned() }
}

fn drawn(report: &Report, look: &Look) -> comfy_table::Table {
    let columns = &report.table.columns;
    let headings: Vec<_> = columns.iter().map(|column| visible(&column.heading)).collect();

    let mut drawing = comfy_table::Table::new();
    drawing.load_preset(NOTHING);
    drawing.set_style(TableComponent::HeaderLines, RULE);
    drawing.set_truncation_indicator("…");
    for row in &report.table.rows {
        let cells = columns.iter().zip(row).map(|(column, value)| {
            visible(&column.unit.show(value, &report.period.zone)).into_owned()
        });
        let mut row = Row::from(cells.collect::<Vec<_>>());
        row.max_height(1);
        drawing.add_row(row);
    }

    let demands: Vec<Demand> = demands(&report.table, &drawing, &headings);
    let gaps = usize::from(GAP) * (columns.len() - 1);
    let widths = widths(&demands, look.width.map(|width| width.saturating_sub(gaps)));

    drawing.set_header(headings);
    for (index, column) in drawing.column_iter_mut().enumerate() {
        let gap = if index + 1 < columns.len() { GAP } else { 0 };
        column.set_padding((0, gap));
        let width = u16::try_from(widths[index]).unwrap_or(u16::MAX - gap);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + gap)));
        if columns[index].unit.is_numeric() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawing
}

/// What a column asks for, in columns of the terminal.
struct Demand {
    cells: usize,
    heading: usize,
    /// The heading's longest word: headings may wrap between words.
    heading_word: usize,
    /// A name may be cut, a number or a moment may not.
    may_be_cut: bool,
}

fn demands(table: &Table, cells: &comfy_table::Table, headings: &[impl AsRef<str>]) -> Vec<Demand> {
    let measured = |rewrite: fn(&str) -> String| {
        let mut row = comfy_table::Table::new();
        row.add_row(headings.iter().map(|heading| rewrite(heading.as_ref())).collect::<Vec<_>>());
        row.column_max_content_widths()
    };
    let heading_widths = measured(str::to_owned);
    let word_widths = measured(|heading| heading.replace(' ', "\n"));
    let cell_widths = cells.column_max_content_widths();
    (0..headings.len())
        .map(|index| Demand {
            cells: cell_widths[index].into(),
            heading: heading_widths[index].into(),
            heading_word: word_widths[index].into(),
            may_be_cut: table.rows.iter().any(|row| matches!(row.get(index), Some(Value::Text(_)))),
        })
        .collect()
}

/// The columns' widths: as wide as they like if all fits; else headings wrap, and then names are
/// cut, the longest first.
fn widths(demands: &[Demand], available: Option<usize>) -> Vec<usize> {
    let chosen = |heading: fn(&Demand) -> usize, cut: usize| -> Vec<usize> {
        let width = |demand: &Demand| {
            let cells = if demand.may_be_cut { demand.cells.min(cut) } else { demand.cells };
            cells.max(heading(demand)).max(1)
        };
        demands.iter().map(width).collect()
    };
    let fits = |widths: &Vec<usize>| {
        available.is_none_or(|available| widths.iter().sum::<usize>() <= available)
    };
    let unbroken = chosen(|demand| demand.heading, WIDEST_NAME);
    if fits(&unbroken) {
        return unbroken;
    }
    (NARROWEST_NAME..=WIDEST_NAME)
        .rev()
        .map(|cut| chosen(|demand| demand.heading_word, cut))
        .find(fits)
        .unwrap_or_else(|| chosen(|demand| demand.heading_word, NARROWEST_NAME))
}
