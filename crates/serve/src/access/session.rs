//! Sessions of browsers. They are kept in memory: a restart ends them, and so does leaving.

use std::collections::HashMap;
use std::sync::Mutex;

use anyhow::Result;
use axum::http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};

use super::store;

/// How long somebody stays logged in.
const LENGTH: SignedDuration = SignedDuration::from_hours(12);
/// The cookie that is a session.
pub(super) const COOKIE: &str = "plimsoll_session";
/// The cookie that a form is sent back with.
pub(super) const FORM_COOKIE: &str = "plimsoll_form";

#[derive(Default)]
pub(super) struct Sessions {
    /// By a hash of what the browser has: who reads our memory cannot become somebody else.
    by_hash: Mutex<HashMap<String, Session>>,
}

struct Session {
    who: Who,
    until: Timestamp,
    id_token: Option<String>,
}

/// Whose session it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Who {
    pub(super) name: String,
    /// Whether who said the name said that, too.
    pub(super) is_staff: bool,
}

impl Sessions {
    /// A new session, as its cookie has it; with the token of the provider that said who it is.
    pub(super) fn begin(
        &self,
        who: Who,
        id_token: Option<String>,
        now: Timestamp,
    ) -> Result<String> {
        let id = store::random()?;
        let mut sessions = self.by_hash.lock().expect("no holder of this lock panics");
        sessions.retain(|_, session| session.until > now);
        sessions.insert(store::hash(&id), Session { who, until: now + LENGTH, id_token });
        Ok(id)
    }

    /// Whose it is, if it is one and not over.
    pub(super) fn who(&self, id: &str, now: Timestamp) -> Option<Who> {
        let sessions = self.by_hash.lock().expect("no holder of this lock panics");
        let session = sessions.get(&store::hash(id))?;
        (session.until > now).then(|| session.who.clone())
    }

    /// Ends a session, and gives the token of the provider with which it began.
    pub(super) fn end(&self, id: &str) -> Option<String> {
        let mut sessions = self.by_hash.lock().expect("no holder of this lock panics");
        sessions.remove(&store::hash(id))?.id_token
    }
}

/// What a browser sends of a cookie.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|cookies| cookies.split(';')).find_map(|cookie| {
        let (key, value) = cookie.trim().split_once('=')?;
        (key == name).then(|| value.to_owned())
    })
}

/// What has a browser keep a cookie for the folder that the page is in, below whatever path a proxy
/// puts us at; out of reach of scripts and of other sites.
pub(super) fn set_cookie(name: &str, value: &str, is_local: bool) -> String {
    let secure = if is_local { "" } else { "; Secure" };
    format!("{name}={value}; HttpOnly; SameSite=Lax{secure}")
}

pub(super) fn remove_cookie(name: &str, is_local: bool) -> String {
    format!("{}; Max-Age=0", set_cookie(name, "", is_local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_itself_or_by_leaving() {
        let sessions = Sessions::default();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let ann = Who { name: "ann".to_owned(), is_staff: true };
        let id = sessions.begin(ann.clone(), Some("token".to_owned()), now).unwrap();
        assert_eq!(sessions.who(&id, now), Some(ann));
        assert_eq!(sessions.who(&id, now + LENGTH), None);
        assert_eq!(sessions.who("", now), None);
        assert_eq!(sessions.end(&id).as_deref(), Some("token"));
        assert_eq!(sessions.who(&id, now), None);
        assert_eq!(sessions.end(&id), None);
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=1; plimsoll_session=x=y".parse().unwrap());
        headers.append(header::COOKIE, "plimsoll_form=2".parse().unwrap());
        assert_eq!(cookie(&headers, COOKIE).as_deref(), Some("x=y"));
        assert_eq!(cookie(&headers, FORM_COOKIE).as_deref(), Some("2"));
        assert_eq!(cookie(&headers, "b"), None);
    }
}
