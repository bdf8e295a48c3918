//! `/metrics`: what collecting last saw, for Prometheus. Nothing is asked at a scrape.
//!
//! What was seen is read and written out once, when its file changes; a scrape adds the ages. What the
//! lake says of the last hours is added up then beside the scrapes. So one costs the same however large
//! the clusters and their history are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use query::metric::{LastSeen, compatible_page};
use serde::Deserialize;
use view::{MetricsText, OPEN_METRICS, PROMETHEUS};

use crate::{App, Site, respond};

/// The pages of metrics.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let metrics =
        Arc::new(Metrics { app: app.clone(), written: Mutex::default(), summed: Mutex::default() });
    tokio::spawn(keep_summing(Arc::downgrade(&metrics)));
    Router::new()
        .route("/metrics", get(own))
        .route("/metrics/{names}", get(compatible))
        .with_state(metrics)
}

struct Metrics {
    app: Arc<App>,
    /// What was written out of what was last seen.
    written: Mutex<Option<Arc<Written>>>,
    /// What was last seen when the last hours were added up, with these sums.
    summed: Mutex<Option<Arc<LastSeen>>>,
}

struct Written {
    seen: LastSeen,
    prometheus: String,
    open_metrics: String,
    /// By cluster and page, as they are asked for.
    pages: Mutex<BTreeMap<(String, &'static str), Arc<String>>>,
}

impl Written {
    fn state(&self, format: MetricsText) -> &str {
        if format == OPEN_METRICS { &self.open_metrics } else { &self.prometheus }
    }
}

impl Metrics {
    async fn written(&self) -> Result<Arc<Written>> {
        let known = self.written.lock().expect("no holder of this lock panics").clone();
        if let Some(known) = known
            && known.seen.is_current(&self.app.site.lake).await?
        {
            return Ok(known);
        }
        let mut seen = LastSeen::load(&self.app.site.lake).await?;
        if let Some(summed) = &*self.summed.lock().expect("no holder of this lock panics") {
            seen.take_lately(summed);
        }
        let policy = query::current_policy(&self.app.site.lake, &self.app.site.judgement).await?;
        let state = seen.state(&self.app.site.metrics, &policy);
        let written = Arc::new(Written {
            prometheus: PROMETHEUS.part(&state),
            open_metrics: OPEN_METRICS.part(&state),
            seen,
            pages: Mutex::new(BTreeMap::new()),
        });
        *self.written.lock().expect("no holder of this lock panics") = Some(written.clone());
        Ok(written)
    }

    /// Adds up the last hours if somebody has collected since. The next scrape writes it out.
    async fn sum_up_lately(&self) -> Result<()> {
        let Site { lake, judgement, zone, memory, .. } = &*self.app.site;
        let known = self.summed.lock().expect("no holder of this lock panics").clone();
        if let Some(known) = &known
            && known.is_current(lake).await?
        {
            return Ok(());
        }
        let mut seen = LastSeen::load(lake).await?;
        seen.sum_up_lately(lake, judgement, zone, known.as_deref(), memory).await;
        *self.summed.lock().expect("no holder of this lock panics") = Some(Arc::new(seen));
        *self.written.lock().expect("no holder of this lock panics") = None;
        Ok(())
    }
}

/// How often it is looked whether somebody has collected.
const GLANCE: Duration = Duration::from_secs(5);

/// Adds up the last hours whenever somebody has collected, as long as there is somebody to show it to.
async fn keep_summing(metrics: Weak<Metrics>) {
    while let Some(metrics) = metrics.upgrade() {
        if let Err(error) = metrics.sum_up_lately().await {
            tracing::warn!("cannot tell what was used lately: {error:#}");
        }
        drop(metrics);
        tokio::time::sleep(GLANCE).await;
    }
}

async fn own(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = MetricsText::accepted(accept.unwrap_or_default());
    match metrics.written().await {
        Ok(written) => {
            let mut text = format.part(&written.seen.health((metrics.app.site.now)()));
            text.push_str(written.state(format));
            text.push_str(&format.part(&metrics.app.granted.families()));
            text.push_str(format.end());
            respond(StatusCode::OK, format.media_type, text.into_bytes())
        }
        Err(error) => failure(&error),
    }
}

/// Which cluster a page is about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    cluster: Option<String>,
}

async fn compatible(
    State(metrics): State<Arc<Metrics>>,
    Path(names): Path<String>,
    Query(about): Query<About>,
) -> Response {
    let Some(page) = compatible_page(&names) else {
        return say(
            StatusCode::NOT_FOUND,
            &format!("there are no metrics in the names of {names:?}"),
        );
    };
    let written = match metrics.written().await {
        Ok(written) => written,
        Err(error) => return failure(&error),
    };
    let clusters: Vec<&str> = written.seen.slurm_clusters().collect();
    let cluster = match (&about.cluster, &clusters[..]) {
        (Some(name), _) => name.as_str(),
        (None, [only]) => only,
        (None, []) => {
            return say(StatusCode::NOT_FOUND, "nothing was seen of a SLURM cluster yet");
        }
        (None, several) => {
            let names = several.join(", ");
            let words = format!(
                "these names cannot tell clusters apart: ask for one of them ({names}), as in \
                 /metrics/{}?cluster={}",
                page.name, several[0]
            );
            return say(StatusCode::BAD_REQUEST, &words);
        }
    };
    let key = (cluster.to_owned(), page.name);
    let known = written.pages.lock().expect("no holder of this lock panics").get(&key).cloned();
    let text = match known {
        Some(known) => known,
        None => {
            let Some(families) = written.seen.compatible(page, cluster) else {
                let words = format!("nothing was seen of a cluster {cluster:?} yet");
                return say(StatusCode::NOT_FOUND, &words);
            };
            let text = Arc::new(PROMETHEUS.render(&families));
            let mut pages = written.pages.lock().expect("no holder of this lock panics");
            pages.insert(key, text.clone());
            text
        }
    };
    respond(StatusCode::OK, PROMETHEUS.media_type, text.as_bytes().to_vec())
}

/// Words for whoever set up the scraper: Prometheus shows them with the target.
fn say(status: StatusCode, words: &str) -> Response {
    respond(status, "text/plain; charset=utf-8", format!("{words}\n").into_bytes())
}

/// What went wrong is for the log: it may name files.
fn failure(error: &anyhow::Error) -> Response {
    tracing::error!("cannot show metrics: {error:#}");
    say(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong; the server's log says what")
}
