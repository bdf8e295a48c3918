//! One part of a page.

use maud::{Markup, PreEscaped, html};
use view::{Layout, PictureLook, Piece, picture_fragment};

use super::answer::{Asked, Content, Part};
use super::{Show, definitions, reports};
use crate::about::About;
use crate::address::Root;

/// A part, whose place on the page is its name.
pub(super) fn section(asked: &Asked<'_>, part: &Part, index: usize) -> Markup {
    let heading = Some(part.section.heading).filter(|heading| !heading.is_empty());
    let id = format!("part-{}", index + 1);
    html! {
        @match &part.content {
            Content::Report(report) => {
                @let layout = match part.section.show {
                    Show::Report { layout, .. } => layout,
                    _ => Layout::Rows,
                };
                @let link = |table: &_, row, column| asked.link(table, row, column);
                @let formats = formats_of_section(asked, part);
                // Escaped by the view that made it.
                (PreEscaped(Piece { report, heading, id: &id, layout, link: &link, formats: &formats }.html()))
                (pager(asked, part, report.table.rows.len()))
            },
            Content::Picture(picture) => {
                @let is_half = matches!(part.section.show, Show::Drawn { is_half: true, .. });
                @let link = |name: &str| asked.jobs_of(name);
                div class=[is_half.then_some("half")] {
                    (PreEscaped(picture_fragment(picture, &picture_look(is_half), &id, &link)))
                }
            },
            Content::Words(words) => {
                section id=(id) {
                    @if let Some(heading) = heading { h2 { (heading) } }
                    p { (words) }
                }
            },
            Content::Nothing => {},
            Content::Fixed => {
                @match part.section.show {
                    Show::Definitions => (definitions::all(asked)),
                    Show::Definition(name) => (definitions::of_report(name)),
                    _ => (reports::list(asked)),
                }
            },
        }
    }
}

fn picture_look(is_half: bool) -> PictureLook {
    let whole = PictureLook::default();
    if !is_half {
        return whole;
    }
    PictureLook { width_inches: 0.6 * whole.width_inches, height_inches: Some(4.0), ..whole }
}

/// The report of a section by itself, in other formats.
fn formats_of_section(asked: &Asked<'_>, part: &Part) -> Vec<(&'static str, String)> {
    let (Some(ask), Show::Report { .. }) = (asked.ask(&part.section), part.section.show) else {
        return Vec::new();
    };
    let about = About {
        options: ask.options,
        clusters: asked.question.clusters.clone(),
        span: Some(asked.about.span.clone().unwrap_or_else(|| asked.page.span.clone())),
    };
    // A file is about all: what is told more has none.
    if asked.root.is_of_files() && !about.options.is_empty() {
        return Vec::new();
    }
    let query = about.query();
    let address = |file: &str| asked.root.to(&["reports", file], &query);
    let name = ask.analysis.name;
    let mut formats = vec![("a page of its own", address(name))];
    for (words, ending) in formats_of(&asked.root) {
        formats.push((words, address(&format!("{name}.{ending}"))));
    }
    formats
}

/// Formats that a page names beside itself, and their endings. Files are for those who go on with them.
pub(super) fn formats_of(root: &Root) -> &'static [(&'static str, &'static str)] {
    let formats = &[("JSON", "json"), ("CSV", "csv"), ("text", "txt")];
    if root.is_of_files() { &formats[..2] } else { formats }
}

/// Leads to the pages before and after, where a report is given some rows at a time.
fn pager(asked: &Asked<'_>, part: &Part, rows: usize) -> Markup {
    let Some(ask) = asked.ask(&part.section) else { return html! {} };
    let is_paged = asked.page.filters.contains(&"page") && !asked.root.is_of_files();
    let number = |name: &str| {
        let option = ask.analysis.options.iter().find(|option| option.name == name)?;
        let query::Values::Number(unsaid) = option.values else { return None };
        ask.options.get(name).map_or(unsaid, String::as_str).parse::<usize>().ok()
    };
    let (true, Some(page), Some(most)) = (is_paged, number("page"), number("rows")) else {
        return html! {};
    };
    let to = |page: usize| asked.about.with("page", &page.to_string()).query();
    html! {
        nav class="pager" aria-label="Rows" {
            @if page > 1 { a href=(to(page - 1)) rel="prev" { "← before" } }
            span { "page " (page) }
            @if rows == most { a href=(to(page + 1)) rel="next" { "after →" } }
        } "\n"
    }
}
