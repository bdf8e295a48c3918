//! What is left of allocations, for `/metrics`: it is asked of the lake beside, so that no scrape waits
//! for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use query::Sight;
use query::metric::granted;
use report::Family;

use crate::App;
use crate::about::{About, Span};

/// Between looks at the lake's version.
const PAUSE: Duration = Duration::from_secs(10);
/// Time goes on though nothing is collected: allocations run out.
const LONGEST: SignedDuration = SignedDuration::from_hours(1);

/// The families as they were last made.
#[derive(Default)]
pub(crate) struct Granted(Mutex<Arc<Vec<Family>>>);

impl Granted {
    pub(crate) fn families(&self) -> Arc<Vec<Family>> {
        self.0.lock().expect("no holder of this lock panics").clone()
    }
}

/// Asks whenever something was collected, until it is dropped.
pub(crate) async fn keep_asking(app: Arc<App>) {
    let mut last = None;
    while !app.site.allocations.is_empty() {
        if let Ok(moment) = app.moment().await
            && last.as_ref().is_none_or(|made| !moment.is_as(made, LONGEST))
            && let Ok(question) =
                About::default().question_until_now(&app.site, &Span::Days(1), &Sight::Staff)
        {
            match granted(&app.site.lake, &question).await {
                Ok(families) => {
                    *app.granted.0.lock().expect("no holder of this lock panics") =
                        Arc::new(families);
                }
                Err(error) => tracing::warn!("cannot tell what is left of allocations: {error:#}"),
            }
            last = Some(moment);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
