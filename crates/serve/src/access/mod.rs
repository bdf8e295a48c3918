//! Who asks, and what they may see. Every request passes [`admit`]: nobody gets further without a
//! route that has a rule, an identity that fits it, and a line in the record.

mod attempts;
mod coordinators;
mod login;
mod network;
mod openid;
mod record;
mod rule;
mod session;
mod store;
mod visitor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::App;
use crate::address::{Root, query_of};
use crate::api::problem;
use crate::connection::Peer;
use crate::page::refuse_to;
use crate::respond::say;
use crate::trouble::{Trouble, catch_panic};
use crate::wanted::without_ending;
use record::Line;

pub use coordinators::Coordinators;
pub(crate) use coordinators::keep_asking;
pub(crate) use login::router;
pub use network::Network;
pub use openid::{ClientSecret, Fetch, FetchRequest, OpenId};
pub(crate) use rule::of as need;
pub use rule::{Need, routes};
pub use store::{Scope, Store};
pub(crate) use visitor::{Gate, Visitor};

/// How a site knows who asks, and who is who.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// Whether those who do not say who they are see what is public.
    pub is_public: bool,
    /// Users who see everything.
    pub staff: BTreeSet<String>,
    /// Accounts of which a user sees everything.
    pub coordinators: BTreeMap<String, Vec<String>>,
    /// Who says who asks, instead of a password.
    pub proxy: Option<Proxy>,
    /// Who else says so.
    pub openid: Option<OpenId>,
    /// Where users, tokens, the secret of pseudonyms and the record of requests are kept.
    pub folder: PathBuf,
    /// Whether browsers may send a session without encryption: on this machine only.
    pub is_local: bool,
}

/// A server in front of ours that knows who asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// The header in which it says so.
    pub header: String,
    /// Where it asks from. What others say in that header counts for nothing.
    pub trusted: Vec<Network>,
}

/// Lets a request pass, or says why not.
pub(crate) async fn admit(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    // Only our own listener makes requests, and it says where they come from.
    let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() else {
        return say(StatusCode::FORBIDDEN, "It is not known where this comes from.");
    };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let headers = request.headers().clone();
    let gate = &app.gate;
    let visitor = gate.visitor(peer, &headers);
    let name = visitor.as_ref().ok().and_then(|known| known.as_ref()?.name.clone());
    let response = match (visitor, need_of(matched.as_deref())) {
        (Err(trouble), _) => refuse(&app, None, &uri, &headers, &trouble).await,
        (Ok(_), None) => {
            tracing::error!("nobody has decided who may see {}", uri.path());
            let trouble = Trouble::new(StatusCode::FORBIDDEN, "Nobody may see this.");
            refuse(&app, None, &uri, &headers, &trouble).await
        }
        (Ok(visitor @ None), Some(Need::Nothing)) => {
            run(&app, visitor, &uri, &headers, request, next).await
        }
        (Ok(Some(visitor)), Some(need)) if visitor.may(need) => {
            request.extensions_mut().insert(visitor.clone());
            run(&app, Some(visitor), &uri, &headers, request, next).await
        }
        (Ok(Some(visitor)), Some(_)) if !visitor.can_enter() => {
            let trouble = Trouble::new(StatusCode::FORBIDDEN, "You may not see this.");
            refuse(&app, Some(&visitor), &uri, &headers, &trouble).await
        }
        _ if method == Method::GET && is_browser(&uri, &headers) => send_to_login(&uri),
        _ => {
            let words = "Say who you are: log in, or send a token.";
            let trouble = Trouble::new(StatusCode::UNAUTHORIZED, words);
            let mut response = refuse(&app, None, &uri, &headers, &trouble).await;
            let scheme = HeaderValue::from_static("Bearer realm=\"plimsoll\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            response
        }
    };
    if let Some(known) = &gate.known
        && matched.as_deref() != Some(rule::ASSET)
    {
        known.log.add(&Line {
            time: (gate.now)(),
            who: name.as_deref(),
            from: known.access.origin(peer, &headers),
            method: &method,
            address: told(&uri),
            status: response.status(),
        });
    }
    response
}

/// What of an address is recorded: a provider's code, with which a session is had, is not.
fn told(uri: &Uri) -> &str {
    match uri.path_and_query() {
        Some(address) if uri.path() != rule::OPENID_RETURN => address.as_str(),
        _ => uri.path(),
    }
}

/// What a route needs; nothing if nobody has decided. What has no route is for nobody but those who
/// may see something.
fn need_of(matched: Option<&str>) -> Option<Need> {
    match matched {
        Some(path) => need(path),
        None => Some(Need::Sight),
    }
}

/// Runs the handler of a request that is admitted.
async fn run(
    app: &App,
    visitor: Option<Visitor>,
    uri: &Uri,
    headers: &HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    match catch_panic(uri.path(), next.run(request)).await {
        Ok(response) => response,
        Err(trouble) => refuse(app, visitor.as_ref(), uri, headers, &trouble).await,
    }
}

/// As a page, as words, or as programs read it.
async fn refuse(
    app: &App,
    visitor: Option<&Visitor>,
    uri: &Uri,
    headers: &HeaderMap,
    trouble: &Trouble,
) -> Response {
    if uri.path().starts_with("/api/") {
        return problem(trouble);
    }
    refuse_to(app, visitor, uri, headers, trouble).await
}

/// Whether a person waits for a page, and can be shown where to log in.
fn is_browser(uri: &Uri, headers: &HeaderMap) -> bool {
    let (path, ending) = without_ending(uri.path());
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let is_for_programs = path.starts_with("/api/") || path.starts_with("/metrics");
    ending.is_none() && !is_for_programs && accept.is_some_and(|said| said.contains("text/html"))
}

fn send_to_login(uri: &Uri) -> Response {
    let wanted = uri.path_and_query().map_or("/", |wanted| wanted.as_str());
    let query = query_of(&[("next".to_owned(), wanted.to_owned())]);
    let address = Root::seen_from(uri.path()).to(&["login"], &query);
    let location = HeaderValue::from_str(&address).expect("an encoded address is of plain letters");
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}
