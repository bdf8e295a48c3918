//! Sessions of browsers. They are kept in memory: a restart ends them, and so does leaving.

use std::collections::HashMap;
use std::sync::Mutex;

use anyhow::Result;
use axum::http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};

use super::store::{self, PasswordRecord, Store};

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
    begin: Timestamp,
    id_token: Option<String>,
}

/// Whose session it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Who {
    pub(super) name: String,
    pub(super) proof: Proof,
}

/// How the user logged in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Proof {
    /// With the password of this record. Another password, or none, ends the session.
    Password(PasswordRecord),
    /// At the OpenID Connect provider, which may also have named the user staff.
    Provider { is_staff: bool },
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
        sessions.retain(|_, session| session.begin + LENGTH > now);
        sessions.insert(store::hash(&id), Session { who, begin: now, id_token });
        Ok(id)
    }

    /// Whose it is, if it is one and not over: not by its age, by `plimsoll user logout`, or because the user
    /// was removed or has another password.
    pub(super) fn who(&self, id: &str, store: &Store, now: Timestamp) -> Result<Option<Who>> {
        let found = {
            let sessions = self.by_hash.lock().expect("no holder of this lock panics");
            sessions.get(&store::hash(id)).map(|session| (session.who.clone(), session.begin))
        };
        let Some((who, begin)) = found.filter(|(_, begin)| *begin + LENGTH > now) else {
            return Ok(None);
        };
        if store.logout_time(&who.name)?.is_some_and(|time| begin <= time) {
            return Ok(None);
        }
        let is_current = match &who.proof {
            Proof::Password(record) => store.password_record(&who.name)?.as_ref() == Some(record),
            Proof::Provider { .. } => true,
        };
        Ok(is_current.then_some(who))
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

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("access")).unwrap();
        (folder, store)
    }

    #[test]
    fn a_session_ends_by_itself_or_by_leaving() {
        let (_folder, store) = store();
        let sessions = Sessions::default();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let ann = Who { name: "ann".to_owned(), proof: Proof::Provider { is_staff: true } };
        let id = sessions.begin(ann.clone(), Some("token".to_owned()), now).unwrap();
        let who = |id: &str, now| sessions.who(id, &store, now).unwrap();
        assert_eq!(who(&id, now), Some(ann));
        assert_eq!(who(&id, now + LENGTH), None);
        assert_eq!(who("", now), None);
        assert_eq!(sessions.end(&id).as_deref(), Some("token"));
        assert_eq!(who(&id, now), None);
        assert_eq!(sessions.end(&id), None);
    }

    #[test]
    fn a_session_ends_with_its_password() {
        let (_folder, store) = store();
        let sessions = Sessions::default();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (old, new) = ("correct horse battery", "another long password");
        let log_in = |password: &str| {
            let record = store.check_password("ann", password).unwrap().expect("it is right");
            let who = Who { name: "ann".to_owned(), proof: Proof::Password(record) };
            sessions.begin(who, None, now).unwrap()
        };
        let is_open = |id: &str| sessions.who(id, &store, now).unwrap().is_some();
        store.set_user("ann", old).unwrap();
        let first = log_in(old);
        assert!(is_open(&first));
        store.set_user("ann", new).unwrap();
        assert!(!is_open(&first), "with another password");
        let second = log_in(new);
        assert!(is_open(&second));
        store.remove_user("ann").unwrap();
        assert!(!is_open(&second), "without a user");
        store.set_user("ann", new).unwrap();
        assert!(!is_open(&second), "with another user of that name");
    }

    #[test]
    fn a_logout_ends_all_earlier_sessions_of_a_user() {
        let (_folder, store) = store();
        let sessions = Sessions::default();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later = now + SignedDuration::from_secs(1);
        let log_in = |name: &str, time| {
            let proof = Proof::Provider { is_staff: false };
            sessions.begin(Who { name: name.to_owned(), proof }, None, time).unwrap()
        };
        let (ann, bob) = (log_in("ann", now), log_in("bob", now));
        store.log_out("ann", now).unwrap();
        let after = log_in("ann", later);
        let is_open = |id: &str| sessions.who(id, &store, later).unwrap().is_some();
        assert_eq!((is_open(&ann), is_open(&bob), is_open(&after)), (false, true, true));
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
