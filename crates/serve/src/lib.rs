//! HTTP requests in, reports out: the same numbers as on the command line.
//!
//! A page is plain HTML that needs no script, and its address is its state. With an ending
//! (`/users.json`), or for a client that accepts it, the same comes in any of the formats.
//! `/api/v1` is for programs, `/metrics` for Prometheus.

mod about;
mod access;
mod address;
mod api;
mod asset;
mod connection;
mod files;
mod granted;
mod kept;
mod metrics;
mod page;
mod respond;
mod timing;
mod trouble;
mod unknown_name;
mod wanted;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::get;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::Lake;
use query::metric::{LastSeen, MetricOptions};
use query::{Allocation, Judgement, Memory};
use report::Report;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use access::Gate;
use granted::Granted;
use kept::{Kept, Moment, ask_ahead, watch};
use respond::respond;
use timing::Timings;
use unknown_name::KnownNames;

pub use access::{
    Access, ClientSecret, Coordinators, Fetch, FetchRequest, Need, Network, OpenId, Proxy, Scope,
    Store, routes,
};
pub use files::{File, Files};

/// What the pages are about.
pub struct Site {
    pub lake: Lake,
    pub zone: TimeZone,
    /// Users by the name of their group.
    pub groups: BTreeMap<String, Vec<String>>,
    /// What was granted to whom.
    pub allocations: Vec<Allocation>,
    /// What other dashboards may want to know of the site, such as prices, by name.
    pub constants: BTreeMap<String, Constant>,
    /// What the site says of its GPUs.
    pub judgement: Arc<Judgement>,
    /// What all questions may hold together.
    pub memory: Memory,
    /// How metrics are made.
    pub metrics: MetricOptions,
    /// Who may see what; without any everybody sees everything, which is for one machine alone.
    pub access: Option<Access>,
    pub now: Clock,
    /// What asks other servers.
    pub fetch: Fetch,
    /// What asks who coordinates which accounts, beside those that `access` names.
    pub coordinators: Option<Coordinators>,
    /// What finds the parts of a job.
    pub steps: Option<FindSteps>,
}

/// Tells what time it is; pages that are written as files are all of one moment.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Something that the site says of itself, which we serve and do not use.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Number(f64),
    Text(String),
}

/// Finds what a job was made of, or says why that is not known; only the program knows schedulers.
pub type FindSteps = Box<
    dyn Fn(JobRun) -> Pin<Box<dyn Future<Output = anyhow::Result<Result<Report, String>>> + Send>>
        + Send
        + Sync,
>;

/// A run of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRun {
    pub cluster: String,
    pub job_id: String,
    pub start_time: Timestamp,
    /// When it ended, or was last seen.
    pub last_time: Timestamp,
}

/// Answers requests until `stop`.
pub async fn run(
    listener: TcpListener,
    site: Site,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let app = Arc::new(App::new(site)?);
    let pages = connection::made_by(&Handle::current(), pages(&app));
    let beside = [
        tokio::spawn(watch(app.clone())),
        tokio::spawn(ask_ahead(app.clone(), pages.clone())),
        tokio::spawn(access::keep_asking(app.clone())),
        tokio::spawn(granted::keep_asking(app.clone())),
    ];
    // Metrics are given where they are asked for: a scrape waits for nobody.
    let all = pages.merge(metrics::router(&app));
    let served = connection::serve(listener, guarded(app, all), stop).await;
    beside.iter().for_each(JoinHandle::abort);
    Ok(served?)
}

/// What requests share.
pub(crate) struct App {
    pub(crate) site: Arc<Site>,
    pub(crate) timings: Timings,
    pub(crate) gate: Gate,
    pub(crate) kept: Kept,
    pub(crate) granted: Granted,
    pub(crate) known_names: KnownNames,
    seen: Mutex<Option<Arc<LastSeen>>>,
}

impl App {
    fn new(site: Site) -> anyhow::Result<App> {
        Ok(App {
            gate: Gate::open(site.access.clone(), site.now.clone(), site.fetch)?,
            site: Arc::new(site),
            timings: Timings::default(),
            kept: Kept::new(),
            granted: Granted::default(),
            known_names: KnownNames::default(),
            seen: Mutex::default(),
        })
    }

    /// Now, and the state of the lake that is now.
    pub(crate) async fn moment(&self) -> anyhow::Result<Moment> {
        Ok(Moment { time: (self.site.now)(), version: self.site.lake.version().await? })
    }

    /// What was last seen of the clusters; it is read again when somebody has looked again.
    pub(crate) async fn seen(&self) -> anyhow::Result<Arc<LastSeen>> {
        let known = self.seen.lock().expect("no holder of this lock panics").clone();
        if let Some(known) = known
            && known.is_current(&self.site.lake).await?
        {
            return Ok(known);
        }
        let seen = Arc::new(LastSeen::load(&self.site.lake).await?);
        *self.seen.lock().expect("no holder of this lock panics") = Some(seen.clone());
        Ok(seen)
    }
}

/// All that is answered beside metrics, to whoever it is that asks.
fn pages(app: &Arc<App>) -> Router {
    Router::new()
        .merge(page::router())
        .merge(api::router())
        .merge(access::router())
        .route("/asset/{name}", get(asset::asset))
        .with_state(app.clone())
}

/// The same for those who may see it.
fn guarded(app: Arc<App>, pages: Router) -> Router {
    pages.layer(from_fn_with_state(app, access::admit)).layer(map_response(respond::guard))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use axum::body::{Body, to_bytes};
    use axum::http::{Request, StatusCode, header};
    use tower::ServiceExt;
    use tracing::field::{Field, Visit};
    use tracing::span;

    use super::*;
    use crate::connection::Peer;

    /// Keeps the text of each event.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl tracing::Subscriber for Log {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            *metadata.level() == tracing::Level::ERROR
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut text = Text::default();
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    #[derive(Default)]
    struct Text(String);

    impl Visit for Text {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.0 += &format!("{}={value:?} ", field.name());
        }
    }

    fn app(folder: &std::path::Path) -> Arc<App> {
        let site = Site {
            lake: Lake::create(folder).unwrap(),
            zone: TimeZone::UTC,
            groups: BTreeMap::new(),
            allocations: Vec::new(),
            constants: BTreeMap::new(),
            judgement: Arc::default(),
            memory: Memory::default(),
            metrics: MetricOptions::default(),
            access: None,
            now: Arc::new(|| Timestamp::UNIX_EPOCH),
            fetch: |_| Err("nothing is fetched".to_owned()),
            coordinators: None,
            steps: None,
        };
        Arc::new(App::new(site).unwrap())
    }

    #[tokio::test]
    async fn known_names_are_read_once_for_each_visibility() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(folder.path());
        let time = Timestamp::UNIX_EPOCH;
        let period = report::Period { start: time, end: time, zone: TimeZone::UTC };
        let staff = query::Question::about(period);
        let public = query::Sight::Public { secret: query::Secret::new(b"salt") };
        let public = query::Question { sight: public, ..staff.clone() };
        for (question, option, lists) in
            [(&staff, "user", 1), (&staff, "user", 1), (&public, "user", 2), (&staff, "node", 3)]
        {
            let refused = unknown_name::refuse(&app, question, option, "nobody").await;
            assert_eq!(refused.unwrap_err().status, StatusCode::NOT_FOUND);
            assert_eq!(app.known_names.lists().await, lists);
        }
    }

    #[tokio::test]
    async fn ones_own_name_is_known_before_the_first_job() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(folder.path());
        let time = Timestamp::UNIX_EPOCH;
        let period = report::Period { start: time, end: time, zone: TimeZone::UTC };
        let secret = query::Secret::new(b"salt");
        let sight = query::Sight::Own { user: "ann".to_owned(), accounts: Vec::new(), secret };
        let question = query::Question { sight, ..query::Question::about(period) };
        assert!(unknown_name::refuse(&app, &question, "user", "ann").await.is_ok());
        assert!(unknown_name::refuse(&app, &question, "user", "bob").await.is_err());
    }

    #[tokio::test]
    async fn a_panic_in_a_handler_is_an_error_page_and_a_log_entry() {
        let folder = tempfile::tempdir().unwrap();
        let app = app(folder.path());
        let panics = || async {
            if true {
                panic!("index 7 of {}", 3)
            }
        };
        let pages =
            Router::new().route("/gpus", get(panics)).route("/api/v1/clusters", get(panics));
        let pages = connection::made_by(&Handle::current(), pages);
        let in_place = Router::new().route("/metrics", get(panics));
        let router = guarded(app, pages.merge(in_place));
        let log = Log::default();
        let _guard = tracing::subscriber::set_default(log.clone());
        for (path, accepted, media_type) in [
            ("/gpus", "text/html", "text/html; charset=utf-8"),
            ("/api/v1/clusters", "*/*", "application/problem+json"),
            ("/metrics", "text/plain", "text/plain; charset=utf-8"),
        ] {
            let request = Request::get(path)
                .header(header::ACCEPT, accepted)
                .extension(Peer("127.0.0.1".parse().unwrap()))
                .body(Body::empty())
                .unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR, "{path}");
            assert_eq!(response.headers()[header::CONTENT_TYPE], media_type, "{path}");
            assert!(response.headers().contains_key(header::CONTENT_SECURITY_POLICY), "{path}");
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains("Something went wrong."), "{path}: {body}");
            assert!(!body.contains("index 7"), "{path}: {body}");
            assert_eq!(body.contains("<nav"), path == "/gpus", "{path}: {body}");
            let logged = log.0.lock().unwrap().pop().unwrap();
            assert!(logged.contains("a request handler panicked"), "{logged}");
            assert!(logged.contains(path) && logged.contains("index 7 of 3"), "{logged}");
        }
    }
}
