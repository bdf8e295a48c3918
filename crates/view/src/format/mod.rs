//! The formats, a file each.

mod csv;
mod html;
mod json;
mod markdown;
pub(crate) mod metrics;
mod text;

use report::Report;

pub(crate) use csv::write_line as write_csv_line;
pub(crate) use html::class as html_class;
pub(crate) use json::{coverage as json_coverage, lines as json_lines, period as json_period};
pub(crate) use markdown::{escaped as escaped_markdown, table as markdown_table};
pub(crate) use text::write as write_text;

/// Every format, in the order in which help and documents list them.
pub static FORMATS: [&dyn Format; 5] =
    [&text::Text, &csv::Csv, &json::Json, &markdown::Markdown, &html::Html];

/// A way to write a report down.
pub trait Format: Sync {
    /// The value of `--format`.
    fn name(&self) -> &'static str;

    /// What it is for, as a sentence of the help.
    fn meaning(&self) -> &'static str;

    /// Endings of the names of its files, without the dot; the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// What a web server calls it.
    fn media_type(&self) -> &'static str;

    /// Reports that belong together, such as the parts of a status: one below the other, unless
    /// the format has a form of its own for several.
    fn render(&self, reports: &[Report], look: &Look) -> Vec<u8>;
}

/// Writes each report, a blank line between two.
fn one_below_the_other(reports: &[Report], write: impl Fn(&Report) -> Vec<u8>) -> Vec<u8> {
    reports.iter().map(write).collect::<Vec<_>>().join(&b'\n')
}

/// What the reader's device can show. Only the text format asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal; unknown for a file or a pipe, and then lines are as long as
    /// they need.
    pub width: Option<usize>,
    pub color: bool,
}
