//! Going to the provider, and coming back.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;

use super::Provider;
use crate::App;
use crate::access::login::{Pairs, answered, keep, known, to, value, welcome};
use crate::access::session::{Proof, Who, cookie, remove_cookie, set_cookie};
use crate::trouble::Trouble;

/// The cookie of a login that has begun.
const COOKIE: &str = "plimsoll_openid";

pub(in crate::access) fn router() -> Router<Arc<App>> {
    Router::new().route("/openid", get(go)).route("/openid-return", get(come_back))
}

async fn go(State(app): State<Arc<App>>, Query(pairs): Query<Pairs>) -> Response {
    let gone = async {
        let (known, provider) = (known(&app)?, provider(&app)?);
        let now = (app.site.now)();
        let begun = provider.pending.begin(value(&pairs, "next"), now)?;
        let browser = begun.browser.clone();
        let address = unblocked(move || provider.authorization(&begun, now)).await?;
        let mut response = to(&address)?;
        keep(&mut response, &set_cookie(COOKIE, &browser, known.access.is_local))?;
        Ok(response)
    };
    answered(&app, gone.await).await
}

async fn come_back(
    State(app): State<Arc<App>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    let came = async {
        let (known, provider) = (known(&app)?, provider(&app)?);
        let now = (app.site.now)();
        let browser = cookie(&headers, COOKIE).unwrap_or_default();
        let Some(login) = provider.pending.end(&value(&pairs, "state"), &browser, now) else {
            return Err(refused("This login did not begin here, or took too long. Begin again."));
        };
        let code = value(&pairs, "code");
        if code.is_empty() {
            tracing::info!("a login ended at the provider: {:?}", value(&pairs, "error"));
            return Err(refused("The provider did not say who you are. Begin again."));
        }
        let next = login.next.clone();
        let person = unblocked(move || provider.person(&code, &login, now)).await?;
        let (who, id_token) = (
            Who { name: person.name, proof: Proof::Provider { is_staff: person.is_staff } },
            person.id_token,
        );
        let mut response = welcome(known, &headers, who, Some(id_token), &next, now)?;
        keep(&mut response, &remove_cookie(COOKIE, known.access.is_local))?;
        Ok(response)
    };
    answered(&app, came.await).await
}

/// Where a browser goes to leave the provider as well, if that has such a place and said who it is.
pub(in crate::access) async fn end_of_session(
    app: &App,
    id_token: Option<String>,
) -> Option<String> {
    let (id_token, provider) = (id_token?, provider(app).ok()?);
    let now = (app.site.now)();
    unblocked(move || provider.end_of_session(&id_token, now)).await.ok().flatten()
}

fn provider(app: &App) -> Result<Arc<Provider>, Trouble> {
    let nothing = || Trouble::new(StatusCode::NOT_FOUND, "There is no single sign-on here.");
    known(app)?.provider.clone().ok_or_else(nothing)
}

fn refused(words: &str) -> Trouble {
    Trouble::new(StatusCode::FORBIDDEN, words)
}

/// What waits for the provider, where it holds up nobody. What went wrong is for the log: it may say
/// what is the provider's.
async fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(work).await.map_err(anyhow::Error::from)?;
    done.map_err(|error| {
        tracing::warn!("a login by OpenID Connect failed: {error:#}");
        refused("The login failed. The server's log says why.")
    })
}
