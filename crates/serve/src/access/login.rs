//! Saying who one is, by a password or elsewhere, and leaving.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use maud::{Markup, html};
use tokio::sync::Semaphore;

use super::openid;
use super::session::{COOKIE, FORM_COOKIE, Proof, Who, cookie, remove_cookie, set_cookie};
use super::store;
use super::visitor::Known;
use crate::App;
use crate::address::{Root, query_of};
use crate::connection::Peer;
use crate::page;
use crate::trouble::Trouble;

pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/login", get(show_login).post(login))
        .route("/logout", get(show_logout).post(logout))
        .merge(openid::router())
}

/// No form of ours is larger.
const MOST_BYTES: usize = 8 * 1024;
/// What a client has to send one.
const TO_SEND: Duration = Duration::from_secs(10);
/// Each password that is compared costs memory and a core's time, on purpose.
static COMPARED_AT_ONCE: Semaphore = Semaphore::const_new(2);

pub(super) type Pairs = Vec<(String, String)>;

async fn show_login(
    State(app): State<Arc<App>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    answered(&app, shown(&app, &headers, &value(&pairs, "next"), None).await).await
}

/// The form, and the cookie without which it is not taken.
async fn shown(
    app: &App,
    headers: &HeaderMap,
    next: &str,
    wrong: Option<&str>,
) -> Result<Response, Trouble> {
    let known = known(app)?;
    let token = match cookie(headers, FORM_COOKIE).filter(|token| token.len() == TOKEN_LENGTH) {
        Some(token) => token,
        None => store::random()?,
    };
    let main = html! {
        h1 { "Log in" }
        @if let Some(wrong) = wrong { p role="alert" { (wrong) } }
        @if known.provider.is_some() {
            @let query = query_of(&[("next".to_owned(), next.to_owned())]);
            p { a href={ "./openid" (query) } { "Log in by single sign-on" } }
        }
        form method="post" action="./login" {
            (hidden("form", &token)) (hidden("next", next))
            p { label { "Name " input name="name" autocomplete="username" required; } }
            p { label { "Password " input name="password" type="password" autocomplete="current-password" required; } }
            p { button { "Log in" } }
        }
    };
    let status = if wrong.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    let mut response = plain(app, status, "Log in", &main).await;
    keep(&mut response, &set_cookie(FORM_COOKIE, &token, known.access.is_local))?;
    Ok(response)
}

/// As many characters as [`store::random`] gives.
const TOKEN_LENGTH: usize = 64;

async fn login(State(app): State<Arc<App>>, request: Request) -> Response {
    answered(&app, enter(&app, request).await).await
}

async fn enter(app: &App, request: Request) -> Result<Response, Trouble> {
    let known = known(app)?;
    let peer = request.extensions().get::<Peer>().copied();
    let (headers, form) = read(request).await?;
    check_form(&headers, &form)?;
    let Some(Peer(peer)) = peer else { return Err(elsewhere()) };
    let from = known.access.origin(peer, &headers);
    let now = (app.site.now)();
    let (name, password) = (value(&form, "name"), value(&form, "password"));
    if !known.attempts.reserve(from, &name, now) {
        let words = "There were too many attempts. Try again in a quarter of an hour.";
        return Err(Trouble::new(StatusCode::TOO_MANY_REQUESTS, words));
    }
    let compared = COMPARED_AT_ONCE.acquire().await.map_err(anyhow::Error::from)?;
    let (store, who) = (known.store.clone(), name.clone());
    let record = tokio::task::spawn_blocking(move || store.check_password(&who, &password))
        .await
        .map_err(anyhow::Error::from)??;
    drop(compared);
    let Some(record) = record else {
        let wrong = "Invalid user name or password.";
        return shown(app, &headers, &value(&form, "next"), Some(wrong)).await;
    };
    known.attempts.release(from, &name);
    let who = Who { name, proof: Proof::Password(record) };
    let mut response = welcome(known, &headers, who, None, &value(&form, "next"), now)?;
    keep(&mut response, &remove_cookie(FORM_COOKIE, known.access.is_local))?;
    Ok(response)
}

/// Begins the session of somebody who has said who they are, on the page that was wanted.
pub(super) fn welcome(
    known: &Known,
    headers: &HeaderMap,
    who: Who,
    id_token: Option<String>,
    next: &str,
    now: Timestamp,
) -> Result<Response, Trouble> {
    // A session that was there before is somebody else's affair, and does not go on.
    if let Some(before) = cookie(headers, COOKIE) {
        known.sessions.end(&before);
    }
    let id = known.sessions.begin(who, id_token, now)?;
    // Below our own pages, whatever is asked for.
    let mut response = to(&format!("./{}", next.trim_start_matches('/')))?;
    keep(&mut response, &set_cookie(COOKIE, &id, known.access.is_local))?;
    Ok(response)
}

async fn show_logout(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let shown = async {
        let known = known(&app)?;
        let token = store::random()?;
        let main = html! {
            h1 { "Log out" }
            form method="post" action="./logout" {
                (hidden("form", &token))
                p { button { "Log out" } }
            }
        };
        if cookie(&headers, COOKIE).is_none() {
            return to("./login");
        }
        let mut response = plain(&app, StatusCode::OK, "Log out", &main).await;
        keep(&mut response, &set_cookie(FORM_COOKIE, &token, known.access.is_local))?;
        Ok(response)
    };
    answered(&app, shown.await).await
}

async fn logout(State(app): State<Arc<App>>, request: Request) -> Response {
    let left = async {
        let known = known(&app)?;
        let (headers, form) = read(request).await?;
        check_form(&headers, &form)?;
        let id_token = cookie(&headers, COOKIE).and_then(|id| known.sessions.end(&id));
        let mut response = match openid::end_of_session(&app, id_token).await {
            Some(address) => leave(&app, &address).await?,
            None => to("./login")?,
        };
        keep(&mut response, &remove_cookie(COOKIE, known.access.is_local))?;
        Ok(response)
    };
    answered(&app, left.await).await
}

/// Sends a browser on to the provider, to leave it too. A form may lead to our own pages alone, so the
/// page that answers it does.
async fn leave(app: &App, address: &str) -> Result<Response, Trouble> {
    let main = html! {
        h1 { "You have left" }
        p { a href=(address) { "Leave the provider of the single sign-on, too" } }
    };
    let mut response = plain(app, StatusCode::OK, "Log out", &main).await;
    let refresh =
        HeaderValue::from_str(&format!("0; url={address}")).map_err(anyhow::Error::from)?;
    response.headers_mut().insert(header::REFRESH, refresh);
    Ok(response)
}

pub(super) fn known(app: &App) -> Result<&Known, Trouble> {
    let nothing = || Trouble::new(StatusCode::NOT_FOUND, "Nobody needs to log in here.");
    app.gate.known.as_ref().ok_or_else(nothing)
}

fn elsewhere() -> Trouble {
    Trouble::new(StatusCode::FORBIDDEN, "This form is not one of ours. Load the page again.")
}

/// A form counts only from our own page: another site can send one, and cannot know our cookie.
fn check_form(headers: &HeaderMap, form: &Pairs) -> Result<(), Trouble> {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    if site.is_some_and(|site| !["same-origin", "none"].contains(&site)) {
        return Err(elsewhere());
    }
    let token = value(form, "form");
    match cookie(headers, FORM_COOKIE) {
        // Hashes are compared, so that the time tells nothing.
        Some(sent) if !token.is_empty() && store::hash(&sent) == store::hash(&token) => Ok(()),
        _ => Err(elsewhere()),
    }
}

/// The headers and the form of a request, if it is small and comes in time.
async fn read(request: Request) -> Result<(HeaderMap, Pairs), Trouble> {
    let (parts, body): (_, Body) = request.into_parts();
    let bytes = match tokio::time::timeout(TO_SEND, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return Err(Trouble::new(StatusCode::PAYLOAD_TOO_LARGE, "The form is too large."));
        }
        Err(_) => {
            return Err(Trouble::new(StatusCode::REQUEST_TIMEOUT, "The form came too slowly."));
        }
    };
    Ok((parts.headers, url::form_urlencoded::parse(&bytes).into_owned().collect()))
}

pub(super) fn value(pairs: &[(String, String)], name: &str) -> String {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

async fn plain(app: &App, status: StatusCode, title: &str, main: &Markup) -> Response {
    page::plain(app, &Root::seen_from("/login"), status, title, main).await
}

pub(super) fn keep(response: &mut Response, cookie: &str) -> Result<(), Trouble> {
    let value = HeaderValue::from_str(cookie).map_err(anyhow::Error::from)?;
    response.headers_mut().append(header::SET_COOKIE, value);
    Ok(())
}

pub(super) fn to(address: &str) -> Result<Response, Trouble> {
    let location = HeaderValue::from_str(address)
        .map_err(|_| Trouble::bad_request("There is no such page to go on to."))?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

pub(super) async fn answered(app: &App, answer: Result<Response, Trouble>) -> Response {
    match answer {
        Ok(response) => response,
        Err(trouble) => {
            let main = html! { p { (trouble.words) } };
            let title = trouble.status.canonical_reason().unwrap_or("Trouble");
            plain(app, trouble.status, title, &main).await
        }
    }
}
