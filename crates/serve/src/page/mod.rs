//! Pages for people. A page is data: what it is called, what can be chosen on it, and what it
//! shows, one below the other. One handler answers all of them.

mod answer;
mod chosen;
mod definitions;
mod form;
mod frame;
mod freshness;
mod gpus;
mod link;
mod list;
mod of_job;
mod reports;
mod section;
mod travel;

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use query::Question;
use query::now::Look;
use report::{Picture, Report};
use view::Layout;

use crate::App;
use crate::about::Span;
use crate::access::Visitor;
use crate::trouble::Trouble;
use crate::wanted::ENDINGS;

pub(crate) use answer::{files, refuse_to};
pub(crate) use frame::plain;
pub(crate) use list::PAGES;
pub(crate) use reports::page as report_page;

/// A page.
#[derive(Clone)]
pub(crate) struct Page {
    /// Its path; what is in braces is one of what it lists, and an option of what it shows.
    pub(crate) path: &'static str,
    /// What it is called; blank where that is the name of what it is about.
    pub(crate) title: &'static str,
    pub(crate) lead: &'static str,
    /// The time that it is about if none is said.
    pub(crate) span: Span,
    /// What can be chosen, by the names of options.
    pub(crate) filters: Cow<'static, [&'static str]>,
    pub(crate) sections: Cow<'static, [Section]>,
}

/// A part of a page.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// What stands above it; its question, if it is blank.
    pub(crate) heading: &'static str,
    pub(crate) show: Show,
}

/// Makes a picture with a title of the answer to a question.
pub(crate) type Draw = fn(&Report, &Question, &str) -> Option<Picture>;

/// What a part of a page shows.
#[derive(Clone, Copy)]
pub(crate) enum Show {
    /// The answer of an analysis, told some options, and how many rows of it.
    Report {
        name: &'static str,
        said: &'static [(&'static str, &'static str)],
        top: usize,
        layout: Layout,
    },
    /// What was last seen.
    Look(&'static Look, usize),
    /// The answer of an analysis as a picture with a title, on half of the width or on all of it.
    Drawn { name: &'static str, draw: Draw, is_half: bool },
    /// The report above it, as that says that it is drawn; nothing if there is nothing to draw.
    Picture,
    /// What the job of the first report was made of.
    Steps,
    /// The answer of an analysis about the job of the first report, and others like it.
    OfJob(&'static str),
    /// What GPUs did.
    Heatmap,
    /// A chart of GPUs.
    Chart(&'static str),
    /// The tables of the lake.
    Holdings,
    /// How long our own answers take.
    Timings,
    /// The list of all reports.
    Reports,
    /// What words mean.
    Definitions,
    /// What the columns of a report mean, and how it is made.
    Definition(&'static str),
}

impl Show {
    pub(crate) fn is_picture(self) -> bool {
        matches!(self, Show::Drawn { .. } | Show::Picture | Show::Heatmap | Show::Chart(_))
    }

    /// Whether it is a table, which every format has.
    pub(crate) fn is_table(self) -> bool {
        matches!(
            self,
            Show::Report { .. }
                | Show::Look(..)
                | Show::Holdings
                | Show::Timings
                | Show::Steps
                | Show::OfJob(_)
        )
    }
}

impl Page {
    /// The first part of its path, which is its place in the navigation.
    pub(crate) fn family(&self) -> &'static str {
        self.path[1..].split('/').next().unwrap_or_default()
    }

    /// The paths at which it is routed: its own, and of a list those with endings. What ends the
    /// path of one of something is a part of its name there.
    pub(crate) fn routes(&self) -> Vec<String> {
        let mut routes = vec![self.path.to_owned()];
        if !self.is_of_one() {
            let path = if self.path == "/" { "/overview" } else { self.path };
            routes.extend(ENDINGS.map(|ending| format!("{path}.{ending}")));
        }
        routes
    }

    /// Whether it is what a path of so many segments, of this family, leads to.
    pub(crate) fn is_at(&self, segments: &[&str]) -> bool {
        let own = self.path[1..].split('/');
        own.clone().count() == segments.len() && segments.first() == Some(&self.family())
    }

    /// Whether it shows whether collecting works.
    pub(crate) fn is_about_collecting(&self) -> bool {
        self.sections.iter().any(|section| match section.show {
            Show::Report { name, .. } => {
                query::analysis(name).is_ok_and(query::Analysis::is_about_collecting)
            }
            _ => false,
        })
    }

    /// Whether it is about one of what another page lists.
    pub(crate) fn is_of_one(&self) -> bool {
        self.path.contains('{')
    }
}

pub(crate) fn router() -> Router<Arc<App>> {
    let mut router = Router::new();
    for page in PAGES {
        let handler = move |State(app): State<Arc<App>>,
                            Extension(visitor): Extension<Visitor>,
                            Query(pairs): Query<Vec<(String, String)>>,
                            uri: Uri,
                            headers: HeaderMap| async move {
            let request =
                Request { visitor: &visitor, pairs: &pairs, uri: &uri, headers: &headers };
            answer::answer(&app, page, &request).await
        };
        for path in page.routes() {
            router = router.route(&path, get(handler));
        }
    }
    router.route(reports::PATH, get(reports::one)).fallback(nothing_here)
}

async fn nothing_here(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let trouble = Trouble::new(StatusCode::NOT_FOUND, "There is no such page.");
    let request = Request { visitor: &visitor, pairs: &[], uri: &uri, headers: &headers };
    answer::refuse(&app, &request, &trouble).await
}

/// What is asked for a page, and by whom.
pub(crate) struct Request<'a> {
    visitor: &'a Visitor,
    pairs: &'a [(String, String)],
    uri: &'a Uri,
    headers: &'a HeaderMap,
}

#[cfg(test)]
mod tests;
