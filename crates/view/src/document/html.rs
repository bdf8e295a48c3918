//! A document as a page by itself, or as the HTML of a mail.
//!
//! Programs that show mail leave out style sheets, scripts and whatever is to be fetched: so every
//! style is beside what it is for, tables are tables, and pictures come with the mail, as pixels.
//! In a page they are drawn in place. maud escapes whatever it is not told to leave alone, and it is
//! told so of our own drawings and rules for paper only.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::{Document, Picture, Report, Section, Unit};

use super::{coverage, head};
use crate::Look;
use crate::chart::{self, Style};
use crate::ending::{Line, ending};
use crate::picture::{PictureLook, picture_format_by_name};
use crate::theme::mail as style;
use crate::visible::visible;

/// The HTML of a mail, and the pictures that it shows.
pub struct DocumentMail {
    pub html: String,
    pub pictures: Vec<Attached>,
}

/// A picture that comes with a mail.
pub struct Attached {
    /// By which the HTML names it, after `cid:`.
    pub id: String,
    /// PNG.
    pub bytes: Vec<u8>,
}

/// The document as a mail shows it.
pub fn document_mail(document: &Document) -> DocumentMail {
    let mut pictures = Vec::new();
    let html = page(document, None, |picture| {
        let id = format!("picture-{}", pictures.len() + 1);
        let shown = html! {
            img src=(format!("cid:{id}")) alt=(alternative(picture)) width="920"
                style=(style::PICTURE);
        };
        pictures.push(Attached { id, bytes: pixels(picture) });
        shown
    });
    DocumentMail { html, pictures }
}

/// The document as a file that needs nothing else.
pub(super) fn write(document: &Document, _look: &Look) -> String {
    let mut drawn = 0;
    page(document, Some(style::PAGE), |picture| {
        drawn += 1;
        let prefix = format!("picture-{drawn}-");
        let look = PictureLook::default();
        let chart_style = Style { prefix: &prefix, ..look.style() };
        html! {
            div role="img" aria-label=(alternative(picture)) {
                (PreEscaped(chart::draw(picture, &chart_style)))
            }
        }
    })
}

/// Pixels enough for a screen with two to a point.
const DOTS_PER_INCH: f64 = 144.0;

fn pixels(picture: &Picture) -> Vec<u8> {
    let format = picture_format_by_name("png").expect("PNG is one of the formats");
    let look = PictureLook { dots_per_inch: DOTS_PER_INCH, ..PictureLook::default() };
    // One that is too large to be drawn is left out; its numbers stand in a table.
    format.render(picture, &look).unwrap_or_default()
}

fn alternative(picture: &Picture) -> String {
    visible(&format!("{}: {}", picture.title, picture.subtitle)).into_owned()
}

fn page(
    document: &Document,
    rules: Option<&str>,
    mut draw: impl FnMut(&Picture) -> Markup,
) -> String {
    let head = head(document);
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8"; "\n"
                meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                title { (visible(&document.title)) } "\n"
                @if let Some(rules) = rules {
                    // A second wall behind the escaping: such a page may load and run nothing.
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; style-src 'unsafe-inline'"; "\n"
                    style { (PreEscaped(rules)) } "\n"
                }
            } "\n"
            body style=(style::BODY) { "\n"
                table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"
                    style=(style::SHEET) {
                    tr { td style=(style::INSIDE) { "\n"
                        h1 style=(style::TITLE) { (visible(&document.title)) } "\n"
                        p style=(style::PERIOD) { (visible(&head.period)) } "\n"
                        @if let Some(warning) = &head.warning {
                            p style=(style::WARNING) { (visible(warning)) } "\n"
                        }
                        @for section in &document.sections {
                            @match section {
                                Section::Report(report) => (table(report)),
                                // Its title is drawn with it.
                                Section::Picture(picture) => {
                                    div style=(style::FIGURE) { (draw(picture)) } "\n"
                                }
                            }
                        }
                        p style=(style::NOTE) {
                            @for line in coverage(document) { (line) br; "\n" }
                        } "\n"
                    } }
                } "\n"
            }
        } "\n"
    };
    page.into_string()
}

fn table(report: &Report) -> Markup {
    let columns = &report.table.columns;
    html! {
        h2 style=(style::HEADING) { (visible(&report.title)) } "\n"
        table cellpadding="5" cellspacing="0" border="0" style=(style::TABLE) { "\n"
            thead { tr valign="bottom" {
                @for column in columns {
                    th scope="col" align=(side(column.unit)) style=(style::HEAD_CELL) {
                        (visible(&column.heading))
                    }
                }
            } } "\n"
            tbody valign="top" { "\n"
                @for (index, row) in report.table.rows.iter().enumerate() {
                    tr bgcolor=[(index % 2 == 1).then_some(style::STRIPE)] {
                        @for (column, value) in columns.iter().zip(row) {
                            @let shown = column.unit.show(value, &report.period.zone);
                            td align=[column.unit.is_numeric().then_some("right")]
                                nowrap[has_blanks(column.unit)] { (visible(&shown)) }
                        }
                    } "\n"
                }
            } "\n"
        } "\n"
        @for line in ending(report) {
            @if let Line::Note(words) = line { p style=(style::NOTE) { (words) } "\n" }
        }
    }
}

/// Whether what is shown could be broken into lines.
fn has_blanks(unit: Unit) -> bool {
    matches!(unit, Unit::Time | Unit::Date)
}

fn side(unit: Unit) -> &'static str {
    if unit.is_numeric() { "right" } else { "left" }
}
