//! One page that needs nothing else.
//!
//! No script, no other file. maud escapes whatever it is not told to leave alone, and it is told
//! so of our own style sheet only.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::{Column, Report, Unit, Value};

use super::{Format, Look};
use crate::ending::{Line, ending, nothing};
use crate::theme;
use crate::visible::visible;

pub(super) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn meaning(&self) -> &'static str {
        "A page by itself, for a browser or a mail"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["html", "htm"]
    }

    fn media_type(&self) -> &'static str {
        "text/html; charset=utf-8"
    }

    fn render(&self, reports: &[Report], _look: &Look) -> Vec<u8> {
        let title = reports.first().map_or("Plimsoll", |report| &report.title);
        let page = html! {
            (DOCTYPE) "\n"
            html lang="en" {
                head {
                    meta charset="utf-8"; "\n"
                    meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                    // A second wall behind the escaping: such a page may load and run nothing.
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; style-src 'unsafe-inline'"; "\n"
                    title { (visible(title)) } "\n"
                    style { "\n" (PreEscaped(style())) }
                } "\n"
                body { "\n" @for report in reports { (markup(report)) } }
            } "\n"
        };
        page.into_string().into_bytes()
    }
}

fn style() -> String {
    format!("{}{STYLE}", theme::PAGE_COLORS)
}

const STYLE: &str = "\
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  font: 1rem/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
.report { margin: 0 0 3rem; }
.report .wide { overflow-x: auto; }
.report table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.report caption, .report h2 { padding: 0 0 .75rem; text-align: left; margin: 0;
  font-size: 1.25rem; font-weight: 600; }
.report th, .report td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; min-width: 5em; }
.report thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
.report tbody th { font-weight: inherit; }
.report tbody tr { border-bottom: 1px solid var(--line); }
.report tbody tr:nth-child(even) { background: var(--stripe); }
.report .number { text-align: right; white-space: nowrap; overflow-wrap: normal; min-width: 0; }
.report thead .number { white-space: normal; }
.report .moment { white-space: nowrap; overflow-wrap: normal; min-width: 0; }
@media print {
  .report { font-size: 85%; }
  .report th, .report td { padding-right: .5rem; }
}
.report ul { padding: 0; list-style: none; font-size: .875rem; color: var(--faint); }
.report .warning { color: var(--warning); }
";

fn markup(report: &Report) -> Markup {
    let table = &report.table;
    html! {
        section class="report" { "\n"
            @if table.rows.is_empty() || table.columns.is_empty() {
                h2 { (visible(&report.title)) } "\n"
                p { (nothing(report)) } "\n"
            } @else {
                div class="wide" {
                    table { "\n"
                        caption { (visible(&report.title)) } "\n"
                        thead {
                            tr {
                                @for column in &table.columns {
                                    th scope="col" class=[class(column.unit)] {
                                        (visible(&column.heading))
                                    }
                                }
                            }
                        } "\n"
                        tbody { "\n"
                            @for row in &table.rows {
                                tr {
                                    @for (index, (column, value)) in
                                        table.columns.iter().zip(row).enumerate()
                                    {
                                        (cell(index, column, value, report))
                                    }
                                } "\n"
                            }
                        } "\n"
                    }
                } "\n"
            }
            ul { "\n"
                @for line in ending(report) {
                    @match line {
                        Line::Plain(words) => li { (words) },
                        Line::Warning(words) => li class="warning" { "Warning: " (words) },
                        Line::Note(words) => li { "Note: " (words) },
                    } "\n"
                }
            } "\n"
        } "\n"
    }
}

/// A row is named by its first cell, if that holds a name or a day.
fn cell(index: usize, column: &Column, value: &Value, report: &Report) -> Markup {
    let shown = column.unit.show(value, &report.period.zone);
    let shown = visible(&shown);
    html! {
        @if index == 0 && !column.unit.is_numeric() {
            th scope="row" class=[class(column.unit)] { (shown) }
        } @else {
            td class=[class(column.unit)] { (shown) }
        }
    }
}

pub(crate) fn class(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Label => None,
        Unit::Time | Unit::Date => Some("moment"),
        _ => Some("number"),
    }
}
