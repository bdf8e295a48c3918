//! A report as a piece of a web page, and the style and script that all pages share.
//!
//! Nothing here is inline: pages are served with a policy that lets them run and style nothing
//! but the two files of [`page_style`] and [`page_script`].

use maud::{Markup, html};
use report::{Report, Table, Unit, Value};

use crate::ending::{Line, ending, nothing};
use crate::format::html_class;
use crate::theme;
use crate::visible::visible;

/// A report on a page of several.
pub struct Piece<'a> {
    pub report: &'a Report,
    /// What stands above it; its question, if nothing shorter is given.
    pub heading: Option<&'a str>,
    /// Its name on the page, which no other piece has.
    pub id: &'a str,
    pub layout: Layout,
    /// Where the cell of a row and a column leads to, if it does.
    pub link: &'a dyn Fn(&Table, usize, usize) -> Option<String>,
    /// Names and addresses of the same in other formats.
    pub formats: &'a [(&'static str, String)],
}

/// How a table lies on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A row a row.
    Rows,
    /// A row is a column: for few rows of many columns.
    Sideways,
    /// A row a row, of some columns by name; all of them are behind a detail.
    Brief(&'static [&'static str]),
}

impl Piece<'_> {
    /// The piece as a `<section class="report">`, everything in it escaped.
    pub fn html(&self) -> String {
        let table = &self.report.table;
        let title = format!("{}-title", self.id);
        let is_empty = table.rows.is_empty() || table.columns.is_empty();
        html! {
            section class="report" id=(self.id) aria-labelledby=(title) { "\n"
                h2 id=(title) { (visible(self.heading.unwrap_or(&self.report.title))) } "\n"
                @for line in ending(self.report) {
                    @if let Line::Warning(words) = line { p class="warning" { (words) } "\n" }
                }
                @if is_empty {
                    p { (nothing(self.report)) } "\n"
                } @else {
                    div class="wide" tabindex="0" role="region" aria-labelledby=(title) {
                        @match self.layout {
                            Layout::Rows => (self.rows(table, &all(table))),
                            Layout::Sideways => (self.sideways(table)),
                            Layout::Brief(names) => (self.rows(table, &named(table, names))),
                        }
                    } "\n"
                    @if let Layout::Brief(_) = self.layout {
                        details class="whole" {
                            summary { "All " (table.columns.len()) " columns" } "\n"
                            div class="wide" tabindex="0" role="region" aria-labelledby=(title) {
                                (self.rows(table, &all(table)))
                            } "\n"
                        } "\n"
                    }
                }
                (self.notes())
            } "\n"
        }
        .into_string()
    }

    /// A row a row, of the columns at these places.
    fn rows(&self, table: &Table, places: &[usize]) -> Markup {
        html! {
            table class=[column_classes(table, places)] { "\n"
                thead {
                    tr {
                        @for (position, place) in places.iter().enumerate() {
                            @let column = &table.columns[*place];
                            th scope="col" class=[cell_class(column.unit, position)] {
                                (visible(&column.heading))
                            }
                        }
                    }
                } "\n"
                tbody { "\n"
                    @for (row, values) in table.rows.iter().enumerate() {
                        tr {
                            @for (position, &column) in places.iter().enumerate() {
                                @let is_name = column == 0 && !table.columns[0].unit.is_numeric();
                                @let class = cell_class(table.columns[column].unit, position);
                                (self.cell(table, row, column, &values[column], is_name, class))
                            }
                        } "\n"
                    }
                } "\n"
            }
        }
    }

    fn sideways(&self, table: &Table) -> Markup {
        html! {
            table class="sideways" { "\n"
                tbody { "\n"
                    @for (column, about) in table.columns.iter().enumerate() {
                        tr {
                            th scope="row" { (visible(&about.heading)) }
                            @for (row, values) in table.rows.iter().enumerate() {
                                @let class = html_class(about.unit);
                                (self.cell(table, row, column, &values[column], false, class))
                            }
                        } "\n"
                    }
                } "\n"
            }
        }
    }

    fn cell(
        &self,
        table: &Table,
        row: usize,
        column: usize,
        value: &Value,
        is_name: bool,
        class: Option<&str>,
    ) -> Markup {
        let unit = table.columns[column].unit;
        let shown = unit.show(value, &self.report.period.zone);
        let shown = html! {
            @match (self.link)(table, row, column) {
                Some(address) => a href=(address) { (visible(&shown)) },
                None => (visible(&shown)),
            }
        };
        html! {
            @if is_name {
                th scope="row" class=[class] { (shown) }
            } @else {
                td class=[class] { (shown) }
            }
        }
    }

    fn notes(&self) -> Markup {
        html! {
            details class="notes" {
                summary { "About these numbers" } "\n"
                ul { "\n"
                    @for line in ending(self.report) {
                        @match line {
                            Line::Plain(words) | Line::Note(words) => li { (words) },
                            Line::Warning(_) => {},
                        } "\n"
                    }
                } "\n"
                @if !self.formats.is_empty() {
                    p class="formats" {
                        "The same as "
                        @for (index, (name, address)) in self.formats.iter().enumerate() {
                            @if index > 0 { ", " }
                            a href=(address) { (name) }
                        }
                    } "\n"
                }
            } "\n"
        }
    }
}

fn all(table: &Table) -> Vec<usize> {
    (0..table.columns.len()).collect()
}

/// The places of columns by their names.
fn named(table: &Table, names: &[&str]) -> Vec<usize> {
    all(table).into_iter().filter(|place| names.contains(&&*table.columns[*place].name)).collect()
}

/// The style sheet knows this many columns of a table by their positions.
const STYLED_COLUMNS: usize = 24;

/// Classes of a table that say which of its columns are numbers or times, such as `n3 m4`. A class at
/// each cell would be a fifth of a page's weight.
fn column_classes(table: &Table, places: &[usize]) -> Option<String> {
    let class = |(position, place): (usize, &usize)| {
        let letter = column_letter(table.columns[*place].unit)?;
        (position < STYLED_COLUMNS).then(|| format!("{letter}{}", position + 1))
    };
    let classes: Vec<String> = places.iter().enumerate().filter_map(class).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// The class of a cell whose table cannot say it.
fn cell_class(unit: Unit, position: usize) -> Option<&'static str> {
    html_class(unit).filter(|_| position >= STYLED_COLUMNS)
}

fn column_letter(unit: Unit) -> Option<char> {
    html_class(unit)?.chars().next()
}

/// Styles the columns of [`column_classes`] as `.number` and `.moment` style a cell.
fn column_rules() -> String {
    let cells = |letter: char| {
        let cell = |column| format!(".{letter}{column} tr>:nth-child({column})");
        (1..=STYLED_COLUMNS).map(cell).collect::<Vec<_>>().join(",")
    };
    let (numbers, moments) = (cells('n'), cells('m'));
    format!(
        "{numbers} {{ text-align: right; }}\n\
         {numbers},{moments} {{ white-space: nowrap; overflow-wrap: normal; min-width: 0; }}\n\
         thead th {{ white-space: normal !important; }}\n"
    )
}

/// The style sheet of all pages.
pub fn page_style() -> String {
    let [colors, page, night] =
        [theme::PAGE_COLORS, include_str!("page.css"), &theme::night_rules()];
    format!("{colors}{page}{}{night}", column_rules())
}

/// The script of all pages, which are whole without it.
pub fn page_script() -> String {
    format!("{}{}", include_str!("../picture/picture.js"), include_str!("page.js"))
}

#[cfg(test)]
mod tests;
