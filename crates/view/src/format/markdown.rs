//! A table of GitHub's Markdown, for an issue or a wiki.

use report::{Report, Unit};

use super::{Format, Look, one_below_the_other};
use crate::ending::{Line, ending, nothing};
use crate::visible::visible;

pub(super) struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn meaning(&self) -> &'static str {
        "A GitHub table with its period and coverage, for an issue or a wiki"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["md", "markdown"]
    }

    fn media_type(&self) -> &'static str {
        "text/markdown; charset=utf-8; variant=GFM"
    }

    fn render(&self, reports: &[Report], _look: &Look) -> Vec<u8> {
        one_below_the_other(reports, write)
    }
}

fn write(report: &Report) -> Vec<u8> {
    let mut text = format!("## {}\n\n{}\n", escaped(&visible(&report.title)), table(report));
    for line in ending(report) {
        let (sign, words) = match &line {
            Line::Plain(words) => ("", words),
            Line::Warning(words) => ("**Warning:** ", words),
            Line::Note(words) => ("Note: ", words),
        };
        text += &format!("- {sign}{}\n", escaped(words));
    }
    text.into_bytes()
}

/// The report's table, or what stands in its place.
pub(crate) fn table(report: &Report) -> String {
    let table = &report.table;
    let mut text = String::new();
    if table.rows.is_empty() || table.columns.is_empty() {
        text.push_str(&escaped(&nothing(report)));
        text.push('\n');
    } else {
        let columns = || table.columns.iter();
        text += &line(columns().map(|column| escaped(&visible(&column.heading))));
        text += &line(columns().map(|column| alignment(column.unit).to_owned()));
        for row in &table.rows {
            text += &line(columns().zip(row).map(|(column, value)| {
                escaped(&visible(&column.unit.show(value, &report.period.zone)))
            }));
        }
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn alignment(unit: Unit) -> &'static str {
    if unit.is_numeric() { "---:" } else { "---" }
}

/// The text with every character that Markdown, a table of it, or HTML inside it would read as a
/// sign made to stand for itself.
pub(crate) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                written.push('\\');
                written.push(character);
            }
            _ => written.push(character),
        }
    }
    written
}
