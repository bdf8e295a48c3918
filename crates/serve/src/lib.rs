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
mod metrics;
mod page;
mod respond;
mod timing;
mod trouble;
mod wanted;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::get;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::Lake;
use query::metric::{LastSeen, MetricOptions};
use query::{Allocation, Judgement};
use tokio::net::TcpListener;

use access::Gate;
use respond::respond;
use timing::Timings;

pub use access::{Access, Need, Network, Proxy, Scope, Store, routes};

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
    /// How metrics are made.
    pub metrics: MetricOptions,
    /// Who may see what; without any everybody sees everything, which is for one machine alone.
    pub access: Option<Access>,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Something that the site says of itself, which we serve and do not use.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Number(f64),
    Text(String),
}

/// Answers requests until `stop`.
pub async fn run(
    listener: TcpListener,
    site: Site,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    Ok(connection::serve(listener, router(site)?, stop).await?)
}

/// What requests share.
pub(crate) struct App {
    pub(crate) site: Arc<Site>,
    pub(crate) timings: Timings,
    pub(crate) gate: Gate,
    seen: Mutex<Option<Arc<LastSeen>>>,
}

impl App {
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

fn router(site: Site) -> anyhow::Result<Router> {
    let gate = Gate::open(site.access.clone(), site.now)?;
    let site = Arc::new(site);
    let app = Arc::new(App {
        site: site.clone(),
        timings: Timings::default(),
        gate,
        seen: Mutex::default(),
    });
    Ok(Router::new()
        .merge(page::router())
        .merge(api::router())
        .merge(access::router())
        .route("/asset/{name}", get(asset::asset))
        .with_state(app.clone())
        // Metrics have a state of their own, and keep the state of this router out.
        .merge(metrics::router(site.clone()).with_state(site))
        .layer(from_fn_with_state(app, access::admit))
        .layer(map_response(respond::guard)))
}
