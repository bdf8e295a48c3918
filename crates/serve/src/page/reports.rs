//! Every report by itself, and the list of them.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use maud::{Markup, html};
use query::{ANALYSES, Analysis, Values};
use view::Layout;

use super::answer::{self, Asked};
use super::{Page, Request, Section, Show};
use crate::App;
use crate::about::Span;
use crate::access::Visitor;
use crate::trouble::Trouble;
use crate::wanted::without_ending;

/// A report by its name.
pub(super) const PATH: &str = "/reports/{report}";

/// The most rows of a report on a page; other formats have all of them.
const MOST_ROWS: usize = 500;

/// `/reports/{report}`: a page of one report, on which all that it can be told can be chosen.
pub(super) async fn one(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(pairs): Query<Vec<(String, String)>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let request = Request { visitor: &visitor, pairs: &pairs, uri: &uri, headers: &headers };
    let (path, _) = without_ending(uri.path());
    let name = path.rsplit('/').next().unwrap_or_default();
    let analysis = match query::analysis(name) {
        Ok(analysis) => analysis,
        Err(error) => {
            let trouble = Trouble::new(StatusCode::NOT_FOUND, error.to_string());
            return answer::refuse(&app, &request, &trouble).await;
        }
    };
    if let Err(hidden) = visitor.sight.covers(analysis) {
        let trouble = Trouble::new(StatusCode::FORBIDDEN, hidden.to_string());
        return answer::refuse(&app, &request, &trouble).await;
    }
    answer::answer(&app, &page(analysis), &request).await
}

/// The page of one report.
pub(crate) fn page(analysis: &'static Analysis) -> Page {
    let show =
        Show::Report { name: analysis.name, said: &[], top: MOST_ROWS, layout: Layout::Rows };
    Page {
        path: PATH,
        title: "Report",
        lead: "",
        span: Span::Days(7),
        filters: Cow::Owned(analysis.options.iter().map(|option| option.name).collect()),
        sections: Cow::Owned(vec![
            Section { heading: "", show },
            Section { heading: "", show: Show::Picture },
            Section { heading: "", show: Show::Definition(analysis.name) },
        ]),
    }
}

/// Whether a link to the page of a report leads to one that shows something. Among files there is none
/// of a report about one thing that has to be said.
pub(super) fn has_page(asked: &Asked<'_>, analysis: &Analysis) -> bool {
    let is_about_one =
        || analysis.options.iter().any(|option| matches!(option.values, Values::Subject));
    asked.question.sight.covers(analysis).is_ok() && !(asked.root.is_of_files() && is_about_one())
}

/// Links to all reports.
pub(super) fn list(asked: &Asked<'_>) -> Markup {
    let query = asked.about.place().query();
    html! {
        ul class="list" {
            @for analysis in ANALYSES.into_iter().filter(|analysis| has_page(asked, analysis)) {
                li {
                    a href=(asked.root.to(&["reports", analysis.name], &query)) {
                        (analysis.question)
                    }
                } "\n"
            }
        }
    }
}
