//! Asks ahead: what somebody asked for lately, and every list as staff sees it, is made again as soon as
//! something new was collected, before anybody waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use jiff::SignedDuration;
use query::Sight;
use tokio::time::Instant;
use tower::ServiceExt;

use super::Key;
use crate::App;
use crate::access::Visitor;
use crate::page::PAGES;
use crate::wanted::HTML;

/// Between looks at the lake's version, and at what is due.
const PAUSE: Duration = Duration::from_secs(1);
/// What nobody asked for in this time nobody waits for.
const LATELY: SignedDuration = SignedDuration::from_mins(15);

/// Notes which answers no longer hold, until it is dropped.
pub(crate) async fn watch(app: Arc<App>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Ok(moment) = app.moment().await {
            let since = moment.time - LATELY;
            app.kept.shelf().note_outdated(&moment, since);
        }
    }
}

/// Asks the pages for what is due, one after the other, until it is dropped. Half of the time it leaves
/// to who asks meanwhile.
pub(crate) async fn ask_ahead(app: Arc<App>, pages: Router) {
    for page in PAGES.iter().filter(|page| !page.is_of_one()) {
        let address = page.path.to_owned();
        app.kept.shelf().stand(&Key { sight: Sight::Staff, address, media_type: HTML });
    }
    loop {
        let due = app.kept.shelf().next_due();
        let Some(Ok(request)) = due.map(|key| request(&key)) else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let began = Instant::now();
        // What comes of it is kept; a failure is told to who asks for it.
        let answer = pages.clone().oneshot(request).await;
        let is_made = answer.is_ok_and(|answer| answer.status().is_success());
        tokio::time::sleep(if is_made { began.elapsed() } else { PAUSE }).await;
    }
}

fn request(key: &Key) -> Result<Request<Body>, axum::http::Error> {
    Request::get(&key.address)
        .header(header::ACCEPT, key.media_type)
        .extension(Visitor::ahead(&key.sight))
        .body(Body::empty())
}
