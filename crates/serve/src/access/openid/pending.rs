//! Logins that have begun: between going to the provider and coming back.

use std::collections::HashMap;
use std::sync::Mutex;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};

use crate::access::store::{hash, random};

/// How long somebody may take at the provider's.
const LENGTH: SignedDuration = SignedDuration::from_mins(10);
/// More are not kept: whoever begins as many logins does not fill the memory.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Pending {
    /// By a hash of its state.
    by_state: Mutex<HashMap<String, Login>>,
}

/// A login that has begun.
pub(super) struct Login {
    /// A hash of the cookie of the browser in which it began: nobody can have another browser end it.
    browser: String,
    pub(super) nonce: String,
    /// What proves that who comes back is who went (RFC 7636).
    pub(super) verifier: String,
    /// The page that was wanted.
    pub(super) next: String,
    until: Timestamp,
}

/// What of a login goes out.
pub(super) struct Begun {
    pub(super) state: String,
    /// For the cookie.
    pub(super) browser: String,
    pub(super) nonce: String,
    pub(super) verifier: String,
}

impl Pending {
    pub(super) fn begin(&self, next: String, now: Timestamp) -> Result<Begun> {
        let begun =
            Begun { state: random()?, browser: random()?, nonce: random()?, verifier: random()? };
        let login = Login {
            browser: hash(&begun.browser),
            nonce: begun.nonce.clone(),
            verifier: begun.verifier.clone(),
            next,
            until: now + LENGTH,
        };
        let mut logins = self.by_state.lock().expect("no holder of this lock panics");
        logins.retain(|_, login| login.until > now);
        anyhow::ensure!(logins.len() < MOST, "too many logins have begun");
        logins.insert(hash(&begun.state), login);
        Ok(begun)
    }

    /// The login that a browser comes back with, once.
    pub(super) fn end(&self, state: &str, browser: &str, now: Timestamp) -> Option<Login> {
        let mut logins = self.by_state.lock().expect("no holder of this lock panics");
        let login = logins.remove(&hash(state))?;
        (login.until > now && login.browser == hash(browser)).then_some(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_ends_once_in_its_own_browser_and_in_time() {
        let (pending, now) = (Pending::default(), Timestamp::UNIX_EPOCH);
        let begin = || pending.begin("/jobs".to_owned(), now).unwrap();
        let (one, other) = (begin(), begin());
        assert_eq!(pending.end(&one.state, &one.browser, now).unwrap().next, "/jobs");
        assert!(pending.end(&one.state, &one.browser, now).is_none(), "once");
        assert!(pending.end(&other.state, &one.browser, now).is_none(), "another browser");
        let late = begin();
        assert!(pending.end(&late.state, &late.browser, now + LENGTH).is_none(), "too late");
        assert!(pending.end("", "", now).is_none());
    }
}
