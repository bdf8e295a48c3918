//! Who coordinates which accounts, as the scheduler's accounting knows it: asked when we start, and
//! again every so often.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::App;

/// Asks who coordinates which accounts; only the program can. Or why there is no answer.
pub type Coordinators =
    Box<dyn Fn() -> Result<BTreeMap<String, Vec<String>>, String> + Send + Sync>;

const PAUSE: Duration = Duration::from_secs(15 * 60);

/// What was heard last. An answer that fails changes nothing.
#[derive(Default)]
pub(super) struct Heard(Mutex<BTreeMap<String, Vec<String>>>);

impl Heard {
    pub(super) fn accounts_of(&self, user: &str) -> Vec<String> {
        let accounts = self.0.lock().expect("no holder of this lock panics");
        accounts.get(user).cloned().unwrap_or_default()
    }

    fn set(&self, accounts: BTreeMap<String, Vec<String>>) {
        *self.0.lock().expect("no holder of this lock panics") = accounts;
    }
}

/// Asks, until it is dropped.
pub(crate) async fn keep_asking(app: Arc<App>) {
    while app.site.coordinators.is_some() {
        let asked = app.clone();
        let answer =
            tokio::task::spawn_blocking(move || asked.site.coordinators.as_ref().map(|ask| ask()));
        match (answer.await, &app.gate.known) {
            (Ok(Some(Ok(accounts))), Some(known)) => known.heard.set(accounts),
            (Ok(Some(Err(reason))), _) => {
                tracing::warn!("who coordinates accounts is not known: {reason}");
            }
            _ => return,
        }
        tokio::time::sleep(PAUSE).await;
    }
}
