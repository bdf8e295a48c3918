//! What the words on the pages mean, made of what the numbers are made of.

use maud::{Markup, html};
use query::{ANALYSES, TERMS};

use super::answer::Asked;
use super::reports;

/// Every term with its formula, and every report with what its columns mean.
pub(super) fn all(asked: &Asked<'_>) -> Markup {
    html! {
        section id="terms" {
            h2 { "Terms" }
            p { "Words that reports use, each defined once. " code { "$start" } " and "
                code { "$end" } " are the period." }
            dl {
                @for term in TERMS {
                    dt id={ "term-" (term.name) } { (term.name) }
                    dd {
                        (term.meaning) "."
                        details { summary { "Formula" } pre { code { (outdented(term.sql)) } } }
                    }
                }
            }
        }
        section id="reports" {
            h2 { "Reports" }
            @for analysis in ANALYSES {
                h3 id=(analysis.name) {
                    @if reports::has_page(asked, analysis) {
                        a href=(asked.root.to(&["reports", analysis.name], "")) { (analysis.name) }
                    } @else {
                        (analysis.name)
                    }
                    ": " (analysis.question)
                }
                (columns(analysis))
            }
        }
    }
}

/// What one report's columns mean, and how it is made.
pub(super) fn of_report(name: &str) -> Markup {
    let Ok(analysis) = query::analysis(name) else { return html! {} };
    html! {
        section id="definition" {
            h2 { "What this means" }
            (columns(analysis))
            details { summary { "Formula" } pre { code { (outdented(analysis.sql)) } } }
        }
    }
}

fn columns(analysis: &query::Analysis) -> Markup {
    html! {
        dl {
            @for column in analysis.columns {
                dt { (column.heading) }
                dd { (column.meaning) }
            }
        }
    }
}

/// A formula without the room that it has before it in its file.
fn outdented(sql: &str) -> String {
    let lines = || sql.lines().filter(|line| !line.trim().is_empty());
    let room = lines().skip(1).map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let cut = |line: &str| line.get(room..).unwrap_or_else(|| line.trim_start()).to_owned();
    lines().map(cut).collect::<Vec<_>>().join("\n")
}
