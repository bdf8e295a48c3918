//! What all pages have around what they show.

use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use super::answer::{Asked, Content, Part, html as respond};
use super::section::{formats_of, section};
use super::{PAGES, Page, form, freshness, reports};
use crate::App;
use crate::about::About;
use crate::access::{Visitor, need};
use crate::address::Root;
use crate::asset::{SCRIPT, STYLE};
use crate::kept::Body;
use crate::trouble::Trouble;

/// All that a page shows.
pub(super) async fn body(asked: &Asked<'_>, parts: &[Part]) -> anyhow::Result<Body> {
    let clusters = asked.app.site.lake.clusters().await?;
    let title = title(asked);
    let has_choice = parts.iter().any(|part| !matches!(part.content, Content::Fixed));
    let main = html! {
        h1 { (title) } "\n"
        @if !asked.page.lead.is_empty() { p class="lead" { (asked.page.lead) } "\n" }
        @if has_choice && !asked.root.is_of_files() { (form::form(asked, &clusters)) }
        @if has_choice { (period(asked)) }
        @for (index, part) in parts.iter().enumerate() { (section(asked, part, index)) }
    };
    let formats = parts.iter().any(|part| matches!(part.content, Content::Report(_)));
    let formats = if formats { formats_of_page(asked) } else { Vec::new() };
    Ok(Body { title, main: main.into_string(), formats })
}

/// The time that is shown. An answer is kept for a while, so that its end says how new it is.
fn period(asked: &Asked<'_>) -> Markup {
    let period = &asked.question.period;
    let moment = |time: Timestamp| {
        let shown = time.to_zoned(period.zone.clone()).strftime("%a %-d %b %Y %H:%M").to_string();
        html! { time datetime=(time) { (shown) } }
    };
    html! {
        p class="period" {
            (moment(period.start)) " to " (moment(period.end)) ", " (period.zone_name())
        } "\n"
        @if let Some(newest) = asked.newest_data() {
            p class="period newest" { (newest.line(period)) } "\n"
        }
    }
}

/// A page, with what somebody is told around what it shows.
pub(super) async fn around(
    app: &App,
    page: &Page,
    root: &Root,
    visitor: &Visitor,
    about: &About,
    body: &Body,
) -> String {
    let surroundings = Surroundings {
        title: &body.title,
        root,
        visitor: Some(visitor),
        family: Some(page.family()),
        place: about.place(),
        formats: &body.formats,
    };
    // Escaped when it was made.
    surroundings.around(app, &PreEscaped(&body.main)).await
}

/// A page that says why there is no other.
pub(super) async fn trouble(
    app: &App,
    root: &Root,
    visitor: Option<&Visitor>,
    trouble: &Trouble,
) -> String {
    let title = trouble.status.canonical_reason().unwrap_or("Trouble");
    let main = html! { h1 { (title) } p { (trouble.words) } };
    Surroundings::bare(title, root, visitor).around(app, &main).await
}

/// A page for somebody of whom nothing is known: it shows nothing of the site.
pub(crate) async fn plain(
    app: &App,
    root: &Root,
    status: StatusCode,
    title: &str,
    main: &Markup,
) -> Response {
    respond(status, Surroundings::bare(title, root, None).around(app, main).await)
}

struct Surroundings<'a> {
    title: &'a str,
    root: &'a Root,
    /// Who sees the page; those who are nobody are shown no other page.
    visitor: Option<&'a Visitor>,
    /// Which page of the navigation it is or belongs to.
    family: Option<&'static str>,
    place: About,
    /// Names and addresses of the same in other formats.
    formats: &'a [(&'static str, String)],
}

impl<'a> Surroundings<'a> {
    fn bare(title: &'a str, root: &'a Root, visitor: Option<&'a Visitor>) -> Surroundings<'a> {
        let place = About::default();
        Surroundings { title, root, visitor, family: None, place, formats: &[] }
    }

    /// Whether a page is in the navigation; among files there is none that leads to a login.
    fn is_listed(&self, page: &Page, visitor: &Visitor) -> bool {
        let may_see = || need(page.path).is_some_and(|need| visitor.may(need));
        !page.is_of_one() && (!self.root.is_of_files() || may_see())
    }

    /// Who is logged in, and how to change that.
    fn who(&self, visitor: &Visitor) -> Markup {
        html! {
            @if let Some(name) = &visitor.name {
                p class="who" {
                    (name)
                    @if visitor.can_leave() { " · " a href=(self.root.to(&["logout"], "")) { "log out" } }
                } "\n"
            } @else if visitor.can_enter() {
                p class="who" { a href=(self.root.to(&["login"], "")) { "Log in" } } "\n"
            }
        }
    }

    async fn around(&self, app: &App, main: &(dyn Render + Sync)) -> String {
        let query = self.place.query();
        let asset = |name: &str| self.root.to(&["asset", name], "");
        html! {
            (DOCTYPE) "\n"
            html lang="en" {
                head {
                    meta charset="utf-8"; "\n"
                    meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                    title { (self.title) " · Plimsoll" } "\n"
                    link rel="stylesheet" href=(asset(&STYLE.name)); "\n"
                    link rel="icon" href="data:,"; "\n"
                    script src=(asset(&SCRIPT.name)) defer {} "\n"
                } "\n"
                body { "\n"
                    a class="skip" href="#main" { "Skip to the content" } "\n"
                    header { "\n"
                        @if let Some(visitor) = self.visitor {
                        nav aria-label="Pages" { ul { "\n"
                            @for page in PAGES.iter().filter(|page| self.is_listed(page, visitor)) {
                                @let is_here = self.family == Some(page.family());
                                @let brand = (page.path == "/").then_some("brand");
                                li { a href=(self.root.to(&segments(page.path), &query))
                                    class=[brand] aria-current=[is_here.then_some("page")] {
                                    (brand.map_or(page.title, |_| "Plimsoll"))
                                } } "\n"
                            }
                        } } "\n"
                        (freshness::line(app, visitor, self.root, &self.place.clusters).await)
                        (self.who(visitor))
                        }
                    } "\n"
                    main id="main" { "\n" (main) } "\n"
                    footer {
                        p {
                            "Plimsoll " (env!("CARGO_PKG_VERSION"))
                            @if !self.formats.is_empty() {
                                " · this page as "
                                @for (index, (name, address)) in self.formats.iter().enumerate() {
                                    @if index > 0 { ", " }
                                    a href=(address) { (name) }
                                }
                            }
                            " · "
                            a href=(self.root.to(&["definitions"], "")) { "what the words mean" }
                        }
                        @if !self.root.is_of_files() { (refresh()) }
                    } "\n"
                }
            } "\n"
        }
        .into_string()
    }
}

/// How often a browser asks again; the script shows it.
fn refresh() -> Markup {
    html! {
        label hidden { "Ask again every "
            select id="refresh" {
                @for (seconds, words) in [("", "never"), ("60", "minute"), ("300", "5 minutes")] {
                    option value=(seconds) { (words) }
                }
            }
        }
    }
}

fn segments(path: &'static str) -> Vec<&'static str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// The page's name, with what it is about.
fn title(asked: &Asked<'_>) -> String {
    let mut title = asked.page.title.to_owned();
    for name in asked.names.values() {
        title = format!("{title} {name}");
    }
    if let (true, [cluster]) = (asked.page.path.contains("{cluster}"), &asked.question.clusters[..])
    {
        title = format!("{title} on {cluster}");
    }
    title
}

fn formats_of_page(asked: &Asked<'_>) -> Vec<(&'static str, String)> {
    // The reports of one of many are those of all, told more: they cost as much, and few want them.
    if asked.root.is_of_files() && asked.page.is_of_one() && asked.page.path != reports::PATH {
        return Vec::new();
    }
    let mut segments = segments_with_names(asked);
    let last = segments.pop().unwrap_or_else(|| "overview".to_owned());
    let query = asked.about.query();
    formats_of(&asked.root)
        .iter()
        .map(|(name, ending)| {
            let file = format!("{last}.{ending}");
            let path = segments.iter().map(String::as_str).chain([file.as_str()]);
            (*name, asked.root.to(&path.collect::<Vec<_>>(), &query))
        })
        .collect()
}

fn segments_with_names(asked: &Asked<'_>) -> Vec<String> {
    let parts = asked.page.path.split('/').filter(|part| !part.is_empty());
    let named = |part: &str| {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        match name {
            Some("cluster") => asked.question.clusters.join(","),
            Some(name) => asked.names.get(name).cloned().unwrap_or_default(),
            None => part.to_owned(),
        }
    };
    parts.map(named).collect()
}
