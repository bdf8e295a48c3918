//! HTTP requests in, reports out: the same numbers as on the command line.
//!
//! Every page is plain HTML that needs no script. `/report/NAME` is a page, and with an ending
//! (`/report/NAME.json`) any of the formats; `?days=N` and `?cluster=NAME` are the question, and
//! what else the report can be told, such as `?by=device`, comes by the name of its option.
//! `/metrics` is for Prometheus.

mod metrics;
mod page;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use lake::Lake;
use query::metric::MetricOptions;
use query::{Judgement, Question};
use report::Period;
use serde::Deserialize;
use tokio::net::TcpListener;
use view::Look;

/// What the pages are about.
pub struct Site {
    pub lake: Lake,
    pub zone: TimeZone,
    /// Users by the name of their group.
    pub groups: BTreeMap<String, Vec<String>>,
    /// What the site says of its GPUs.
    pub judgement: Arc<Judgement>,
    /// How metrics are made.
    pub metrics: MetricOptions,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Answers requests until `stop`.
pub async fn run(
    listener: TcpListener,
    site: Site,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(site)).with_graceful_shutdown(stop).await
}

fn router(site: Site) -> Router {
    let site = Arc::new(site);
    Router::new()
        .route("/", get(index))
        .route("/report/{name}", get(report))
        .route("/status", get(status))
        .merge(metrics::router(site.clone()))
        .with_state(site)
}

/// What a request asks about.
#[derive(Debug, Deserialize)]
struct About {
    days: Option<u16>,
    cluster: Option<String>,
    /// The report's own options; one that it does not have is refused.
    #[serde(flatten)]
    options: BTreeMap<String, String>,
}

async fn index(State(site): State<Arc<Site>>) -> Response {
    match site.lake.clusters().await {
        Ok(clusters) => html(page::index(&clusters)),
        Err(error) => failure(&error),
    }
}

async fn status(State(site): State<Arc<Site>>) -> Response {
    match query::status(&site.lake, &site.zone, (site.now)()).await {
        Ok(reports) => html(page::reports("Status", &reports)),
        Err(error) => failure(&error),
    }
}

async fn report(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Query(about): Query<About>,
) -> Response {
    let (name, format) = match name.split_once('.') {
        None => (name.as_str(), None),
        Some((name, ending)) => {
            match view::by_extension(std::path::Path::new(&format!("_.{ending}"))) {
                Some(format) => (name, Some(format)),
                None => return not_found(&format!("there is no format {ending:?}")),
            }
        }
    };
    let analysis = match query::analysis(name) {
        Ok(analysis) => analysis,
        Err(error) => return not_found(&error.to_string()),
    };
    let question = match question(&site, &about) {
        Ok(question) => question,
        Err(error) => return bad_request(&error.to_string()),
    };
    if let Err(error) = query::check_options(analysis, &question) {
        return bad_request(&error.to_string());
    }
    if let Some(cluster) = &about.cluster {
        match site.lake.clusters().await {
            Ok(clusters) if !clusters.contains(cluster) => {
                return not_found(&format!("there is no cluster {cluster:?}"));
            }
            Ok(_) => {}
            Err(error) => return failure(&error),
        }
    }
    let report = match query::run(&site.lake, analysis, &question).await {
        Ok(report) => report,
        Err(error) => return failure(&error),
    };
    match format {
        None => html(page::reports(analysis.question, &[report])),
        Some(format) => {
            respond(StatusCode::OK, format.media_type(), format.render(&[report], &Look::default()))
        }
    }
}

fn question(site: &Site, about: &About) -> anyhow::Result<Question> {
    const DEFAULT_DAYS: u16 = 7;
    let end = (site.now)();
    let days = i64::from(about.days.unwrap_or(DEFAULT_DAYS));
    let start = end.to_zoned(site.zone.clone()).checked_sub(days.days())?.start_of_day()?;
    let period = Period { start: start.timestamp(), end, zone: site.zone.clone() };
    Ok(Question {
        clusters: about.cluster.iter().cloned().collect(),
        groups: site.groups.clone(),
        judgement: site.judgement.clone(),
        options: about.options.clone(),
        ..Question::about(period)
    })
}

fn html(page: String) -> Response {
    respond(StatusCode::OK, "text/html; charset=utf-8", page.into_bytes())
}

fn not_found(message: &str) -> Response {
    let page = page::message("Not found", message);
    respond(StatusCode::NOT_FOUND, "text/html; charset=utf-8", page.into_bytes())
}

fn bad_request(message: &str) -> Response {
    let page = page::message("Not understood", message);
    respond(StatusCode::BAD_REQUEST, "text/html; charset=utf-8", page.into_bytes())
}

/// What went wrong is for the log: it may name files.
fn failure(error: &anyhow::Error) -> Response {
    tracing::error!("cannot answer a request: {error:#}");
    let page = page::message("Something went wrong", "The server's log says what.");
    respond(StatusCode::INTERNAL_SERVER_ERROR, "text/html; charset=utf-8", page.into_bytes())
}

fn respond(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    // A second wall behind the escaping: a page may load and run nothing.
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    (status, headers, body).into_response()
}
