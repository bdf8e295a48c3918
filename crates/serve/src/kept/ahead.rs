//! Asks ahead: what somebody asked for lately is answered again as soon as something new was
//! collected, before anybody waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use jiff::SignedDuration;
use tower::ServiceExt;

use super::Key;
use crate::App;
use crate::access::Visitor;

/// Between looks at the lake's version.
const PAUSE: Duration = Duration::from_secs(2);
/// What nobody asked for in this time nobody waits for.
const LATELY: SignedDuration = SignedDuration::from_mins(20);
/// As many answers, at the most, while the lake is of one version.
const MOST: usize = 50;

/// Asks the pages again, until it is dropped.
pub(crate) async fn ask_ahead(app: Arc<App>, pages: Router) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let Ok(moment) = app.moment().await else { continue };
        let outdated = app.kept.shelf().outdated(moment.time - LATELY, &moment);
        for key in outdated.into_iter().take(MOST) {
            let Ok(request) = request(&key) else { continue };
            // What comes of it is kept; a failure is told to who asks for it.
            let _ = pages.clone().oneshot(request).await;
        }
    }
}

fn request(key: &Key) -> Result<Request<Body>, axum::http::Error> {
    Request::get(&key.address)
        .header(header::ACCEPT, key.media_type)
        .extension(Visitor::ahead(&key.sight))
        .body(Body::empty())
}
