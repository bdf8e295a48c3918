//! One page that needs nothing else, and its piece for a page with more on it.
//!
//! The SVG says in titles what its parts are; a small script of ours makes a quicker tooltip of
//! them and adds a box to look for rows.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::{Category, Drawing, Picture};

use super::{PictureFormat, PictureLook, TooLarge};
use crate::chart::{self, Style};
use crate::ending::{Line, ending_of_picture};
use crate::theme::Theme;
use crate::visible::visible;

pub(super) struct Html;

impl PictureFormat for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn meaning(&self) -> &'static str {
        "A page by itself, which says what a cell is when pointed at"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["html", "htm"]
    }

    fn media_type(&self) -> &'static str {
        "text/html; charset=utf-8"
    }

    fn is_drawn(&self) -> bool {
        true
    }

    fn render(&self, picture: &Picture, look: &PictureLook) -> Result<Vec<u8>, TooLarge> {
        let page = html! {
            (DOCTYPE) "\n"
            html lang="en" {
                head {
                    meta charset="utf-8"; "\n"
                    meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                    // A second wall behind the escaping: such a page may load nothing.
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"; "\n"
                    title { (visible(&picture.title)) } "\n"
                    style { "\n" (PreEscaped(picture_style(look.theme))) }
                } "\n"
                body { "\n"
                    (markup(picture, &Style { has_tooltips: true, ..look.style() }))
                    script { "\n" (PreEscaped(SCRIPT)) } "\n"
                }
            } "\n"
        };
        Ok(page.into_string().into_bytes())
    }
}

const SCRIPT: &str = include_str!("picture.js");

/// A picture as a `<section class="picture">`, everything in it escaped; a page that holds it has
/// [`crate::page_style`]. The prefix tells the pictures of one page apart; `link` is where a name
/// leads to.
pub fn picture_fragment(
    picture: &Picture,
    look: &PictureLook,
    prefix: &str,
    link: &dyn Fn(&str) -> Option<String>,
) -> String {
    let style = Style { has_tooltips: true, prefix, link, ..look.style() };
    markup(picture, &style).into_string()
}

/// The style sheet of a page with one picture.
fn picture_style(theme: &Theme) -> String {
    let (paper, ink, faint, line) = (theme.paper, theme.ink, theme.faint, theme.line);
    format!(
        "\
body {{ margin: 1rem auto; max-width: 100rem; padding: 0 1rem; background: {paper}; color: {ink};
  font: 1rem/1.45 system-ui, sans-serif; }}
figure.picture {{ margin: 0; overflow-x: auto; }}
figure.picture > svg {{ width: 100%; height: auto; min-width: 40rem; display: block; }}
figure.picture g.row:hover {{ opacity: .8; }}
figure.picture g.row.dim {{ opacity: .08; }}
figure.picture .covers use.dim {{ fill: {paper}; fill-opacity: .92; }}
figure.picture image.cells {{ image-rendering: pixelated; }}
figure.picture image.night {{ display: none; }}
section.picture input {{ font: inherit; padding: .2rem .5rem; width: 20rem; max-width: 100%;
  color: inherit; background: transparent; border: 1px solid {line}; border-radius: .25rem; }}
section.picture details {{ font-size: .875rem; color: {faint}; }}
section.picture th, section.picture td {{ padding: .1rem 1rem .1rem 0; text-align: left;
  border-bottom: 1px solid {line}; font-weight: inherit; }}
.tip {{ position: fixed; padding: .3rem .6rem; white-space: pre; pointer-events: none;
  font-size: .8125rem; color: {ink}; background: {paper}; border: 1px solid {line};
  border-radius: .25rem; box-shadow: 0 1px 4px #0005; }}
"
    )
}

fn markup(picture: &Picture, style: &Style<'_>) -> Markup {
    let categories: &[Category] = match &picture.drawing {
        Drawing::Grid(grid) => &grid.categories,
        _ => &[],
    };
    html! {
        section class="picture" { "\n"
            // It can be wider than a narrow screen: then it is moved about, by keys too.
            figure class="picture" tabindex="0" aria-label=(visible(&picture.title)) { "\n"
                (PreEscaped(chart::draw(picture, style)))
            } "\n"
            details {
                summary { "What is shown" } "\n"
                @if !categories.is_empty() {
                    table { "\n"
                        @for category in categories {
                            tr {
                                th scope="row" { (visible(&category.name)) }
                                td { (chart::percent(category)) }
                            } "\n"
                        }
                    } "\n"
                }
                ul { "\n"
                    @for line in ending_of_picture(picture) {
                        @match line {
                            Line::Plain(words) => li { (words) },
                            Line::Warning(words) => li class="warning" { "Warning: " (words) },
                            Line::Note(words) => li { "Note: " (words) },
                        } "\n"
                    }
                } "\n"
            } "\n"
        } "\n"
    }
}
