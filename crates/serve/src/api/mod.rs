//! For programs: every report and look as JSON, some rows at a time, and a description of all that
//! is made of the same lists.

mod constants;
mod openapi;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use query::Ask;
use query::now::{LOOKS, Shown};
use report::Report;
use serde_json::{Value, json};
use view::Look;

use crate::App;
use crate::about::{About, Span};
use crate::access::Visitor;
use crate::address::query_of;
use crate::kept::{Answer, Key};
use crate::respond::respond;
use crate::trouble::{Trouble, in_time};
use crate::unknown_name::{self, refuse_clusters};

/// How many rows an answer has if nothing is said, and at the most.
const ROWS: usize = 1000;
const MOST_ROWS: usize = 10_000;
/// The time that an answer is about if none is said.
const SPAN: Span = Span::Days(7);
const JSON: &str = "application/json";

type Pairs = Query<Vec<(String, String)>>;

pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/api/v1", get(index))
        .route("/api/v1/openapi.json", get(openapi::description))
        .route("/api/v1/clusters", get(clusters))
        .route("/api/v1/constants", get(constants::constants))
        .route("/api/v1/reports", get(reports))
        .route("/api/v1/reports/{name}", get(report))
        .route("/api/v1/now/{name}", get(now))
        .route("/api/{*rest}", get(nothing_here))
}

async fn index() -> Response {
    let now: Vec<String> = LOOKS.iter().map(|look| format!("now/{}", look.name)).collect();
    send(&json!({
        "description": "openapi.json",
        "clusters": "clusters",
        "constants": "constants",
        "reports": "reports",
        "now": now,
    }))
}

async fn clusters(State(app): State<Arc<App>>) -> Response {
    match app.site.lake.clusters().await {
        Ok(clusters) => send(&json!({ "clusters": clusters })),
        Err(error) => problem(&error.into()),
    }
}

async fn reports(Extension(visitor): Extension<Visitor>) -> Response {
    let reports: Vec<Value> = visitor
        .sight
        .analyses()
        .map(|analysis| {
            let options: Vec<Value> = analysis
                .options
                .iter()
                .map(|option| json!({ "name": option.name, "meaning": option.meaning }))
                .collect();
            json!({ "name": analysis.name, "question": analysis.question, "options": options })
        })
        .collect();
    send(&json!({ "reports": reports }))
}

async fn report(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    Query(pairs): Pairs,
) -> Response {
    let answer = in_time(async {
        let analysis = query::analysis(&name)
            .map_err(|error| Trouble::new(StatusCode::NOT_FOUND, error.to_string()))?;
        let (about, paging) = read(&pairs)?;
        let moment = app.moment().await?;
        let began = moment.time;
        let key = Key {
            sight: visitor.sight.clone(),
            address: format!("/api/v1/reports/{name}{}", query_of(&pairs)),
            media_type: JSON,
        };
        let made = async {
            refuse_clusters(&app, &about.clusters).await?;
            let question = match analysis.is_about_collecting() {
                true => about
                    .question_until_now(&app.site, &SPAN, &visitor.sight)
                    .map_err(Trouble::bad_request)?,
                false => about.question(&app.site, &SPAN, &visitor.sight).await?,
            };
            let ask = Ask { analysis, options: about.options.clone(), top: None };
            let mut reports = query::run_each(&app.site.lake, &[ask], &question).await?;
            let report = reports.pop().expect("one ask has one report");
            // A report without rows does not say that there is no such job.
            if report.table.rows.is_empty() {
                for (option, name) in about.options.iter().filter(|(option, _)| *option != "job") {
                    unknown_name::refuse(&app, &question, option, name).await?;
                }
            }
            Ok(Answer::File(page_of(report, paging).into()))
        };
        let given = app.kept.answer(&key, moment, visitor.is_ahead(), made).await?;
        app.timings.note("/api/v1/reports", began, (app.site.now)(), given.is_new);
        match &*given.answer {
            Answer::File(bytes) => Ok(respond(StatusCode::OK, JSON, bytes.clone())),
            Answer::Page(_) => unreachable!("this address has no page"),
        }
    });
    answer.await.unwrap_or_else(|trouble| problem(&trouble))
}

async fn now(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    Query(pairs): Pairs,
) -> Response {
    let answer = in_time(async {
        let look = LOOKS.into_iter().find(|look| look.name == name).ok_or_else(|| {
            let names = LOOKS.map(|look| look.name).join(", ");
            Trouble::new(StatusCode::NOT_FOUND, format!("there is no {name:?}; there are {names}"))
        })?;
        let (about, paging) = read(&pairs)?;
        if let Some(name) = about.options.keys().find(|name| !look.has_column(name)) {
            return Err(Trouble::bad_request(format!("{} has no column {name:?}", look.name)));
        }
        refuse_clusters(&app, &about.clusters).await?;
        let shown = Shown {
            clusters: &about.clusters,
            filters: &about.options,
            top: None,
            sight: &visitor.sight,
        };
        let seen = app.seen().await?;
        let report = look.report(&seen, &shown, &app.site.zone, (app.site.now)());
        Ok(respond(StatusCode::OK, JSON, page_of(report, paging)))
    });
    answer.await.unwrap_or_else(|trouble| problem(&trouble))
}

async fn nothing_here() -> Response {
    problem(&Trouble::new(StatusCode::NOT_FOUND, "there is nothing at this address; see /api/v1"))
}

/// Which rows of an answer to give.
#[derive(Clone, Copy)]
struct Paging {
    limit: usize,
    offset: usize,
}

/// What the parameters say, and which rows are wanted.
fn read(pairs: &[(String, String)]) -> Result<(About, Paging), Trouble> {
    let mut about = About::read(pairs).map_err(Trouble::bad_request)?;
    let mut number = |name: &str, unsaid: usize, least: usize, most: usize| {
        let Some(said) = about.options.remove(name) else { return Ok(unsaid) };
        let number = said.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            Trouble::bad_request(format!("{name} {said:?} is no number from {least} to {most}"))
        })
    };
    let paging = Paging {
        limit: number("limit", ROWS, 1, MOST_ROWS)?,
        offset: number("offset", 0, 0, u32::MAX as usize)?,
    };
    Ok((about, paging))
}

/// Some rows of a report, and how many there are.
fn page_of(mut report: Report, Paging { limit, offset }: Paging) -> String {
    let total = report.table.rows.len();
    report.table.rows.drain(..offset.min(total));
    report.table.rows.truncate(limit);
    let next = (offset + limit < total).then_some(offset + limit);
    let paging = json!({ "limit": limit, "offset": offset, "total": total, "next_offset": next });
    let json = view::by_name("json").expect("JSON is one of the formats");
    let report = String::from_utf8_lossy(&json.render(&[report], &Look::default())).into_owned();
    format!("{{\"paging\": {paging},\n\"report\": {report}}}\n")
}

fn send(value: &Value) -> Response {
    respond(StatusCode::OK, JSON, format!("{value:#}\n"))
}

/// What went wrong, as RFC 9457 writes it.
pub(crate) fn problem(trouble: &Trouble) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": trouble.status.canonical_reason(),
        "status": trouble.status.as_u16(),
        "detail": trouble.words,
    });
    respond(trouble.status, "application/problem+json", format!("{body:#}\n").into_bytes())
}
