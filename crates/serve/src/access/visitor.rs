//! Who asks: by a token, by the word of a trusted proxy, by a session, or nobody.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::Result;
use axum::http::{HeaderMap, StatusCode, header};
use query::{Secret, Sight};

use super::attempts::Attempts;
use super::coordinators::Heard;
use super::openid::{Fetch, Provider};
use super::record::Log;
use super::session::{self, Proof, Sessions};
use super::store::{self, Scope, Store};
use super::{Access, Need};
use crate::Clock;
use crate::trouble::Trouble;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Unknown where nobody asked.
    pub(crate) name: Option<String>,
    pub(crate) sight: Sight,
    how: How,
}

/// How somebody is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// There is nothing configured, and only this machine can ask.
    Open,
    Anonymous,
    Proxy,
    Token,
    /// By a token that is for metrics alone.
    MetricsToken,
    Session,
    /// We ask ourselves, for those who will.
    Ahead,
}

impl Visitor {
    /// Ourselves, in the place of those who see this.
    pub(crate) fn ahead(sight: &Sight) -> Visitor {
        Visitor { name: None, sight: sight.clone(), how: How::Ahead }
    }

    pub(crate) fn is_ahead(&self) -> bool {
        self.how == How::Ahead
    }

    pub(crate) fn may(&self, need: Need) -> bool {
        match need {
            Need::Nothing => true,
            Need::Metrics => self.is_staff() || self.how == How::MetricsToken,
            _ if self.how == How::MetricsToken => false,
            Need::Sight => true,
            Need::Name => !matches!(self.sight, Sight::Public { .. }),
        }
    }

    pub(crate) fn is_staff(&self) -> bool {
        matches!(self.sight, Sight::Staff)
    }

    /// Whether there is a session to end.
    pub(crate) fn can_leave(&self) -> bool {
        self.how == How::Session
    }

    /// Whether a login would show more.
    pub(crate) fn can_enter(&self) -> bool {
        self.how == How::Anonymous
    }
}

/// What admitting needs.
pub(crate) struct Gate {
    /// Without any, everybody who can ask is staff.
    pub(super) known: Option<Known>,
    pub(super) now: Clock,
}

pub(super) struct Known {
    pub(super) access: Access,
    pub(super) store: Store,
    secret: Secret,
    pub(super) sessions: Sessions,
    pub(super) attempts: Attempts,
    pub(super) heard: Heard,
    pub(super) provider: Option<Arc<Provider>>,
    pub(super) log: Log,
}

impl Gate {
    pub(crate) fn open(access: Option<Access>, now: Clock, fetch: Fetch) -> Result<Gate> {
        let known = match access {
            None => None,
            Some(access) => {
                let store = Store::create(&access.folder)?;
                store.check()?;
                Some(Known {
                    secret: store.secret()?,
                    log: Log::open(&store.log_path())?,
                    sessions: Sessions::default(),
                    attempts: Attempts::default(),
                    heard: Heard::default(),
                    provider: access
                        .openid
                        .clone()
                        .map(|openid| Arc::new(Provider::new(openid, fetch))),
                    store,
                    access,
                })
            }
        };
        Ok(Gate { known, now })
    }

    /// Who asks; nobody if they do not say.
    pub(super) fn visitor(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<Option<Visitor>, Trouble> {
        let Some(known) = &self.known else {
            if !is_asked_by_its_own_name(headers) {
                return Err(Trouble::new(
                    StatusCode::FORBIDDEN,
                    "This server is asked by the name of another: without [access] in its \
                     plimsoll.toml it answers at localhost or its address alone.",
                ));
            }
            return Ok(Some(Visitor { name: None, sight: Sight::Staff, how: How::Open }));
        };
        if let Some(token) = bearer(headers) {
            return known.of_token(token).map(Some);
        }
        if let Some(name) = known.access.said_by_proxy(peer, headers)? {
            return Ok(Some(known.of_name(name, How::Proxy)));
        }
        if let Some(id) = session::cookie(headers, session::COOKIE)
            && let Some(who) = known.sessions.who(&id, &known.store, (self.now)())?
        {
            let is_staff = who.proof == Proof::Provider { is_staff: true };
            let visitor = known.of_name(who.name, How::Session);
            let sight = if is_staff { Sight::Staff } else { visitor.sight };
            return Ok(Some(Visitor { sight, ..visitor }));
        }
        Ok(known.access.is_public.then(|| Visitor {
            name: None,
            sight: Sight::Public { secret: known.secret.clone() },
            how: How::Anonymous,
        }))
    }
}

impl Known {
    fn of_name(&self, name: String, how: How) -> Visitor {
        let sight = if self.access.staff.contains(&name) { Sight::Staff } else { self.own(&name) };
        Visitor { name: Some(name), sight, how }
    }

    fn own(&self, name: &str) -> Sight {
        let mut accounts = self.access.coordinators.get(name).cloned().unwrap_or_default();
        accounts.extend(self.heard.accounts_of(name));
        accounts.sort();
        accounts.dedup();
        Sight::Own { user: name.to_owned(), accounts, secret: self.secret.clone() }
    }

    fn of_token(&self, token: &str) -> Result<Visitor, Trouble> {
        let Some((name, scope)) = self.store.token(token)? else {
            return Err(Trouble::new(StatusCode::UNAUTHORIZED, "There is no such token."));
        };
        let sight = match scope {
            Scope::Staff => Sight::Staff,
            Scope::Own => self.own(&name),
            Scope::Public | Scope::Metrics => Sight::Public { secret: self.secret.clone() },
        };
        let how = if scope == Scope::Metrics { How::MetricsToken } else { How::Token };
        Ok(Visitor { name: Some(name), sight, how })
    }
}

impl Access {
    fn is_trusted(&self, peer: IpAddr) -> bool {
        let networks = self.proxy.iter().flat_map(|proxy| &proxy.trusted);
        networks.into_iter().any(|network| network.contains(peer))
    }

    /// Whom a trusted proxy names. More than one name is a mistake, and nobody's.
    fn said_by_proxy(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Option<String>, Trouble> {
        let Some(proxy) = self.proxy.as_ref().filter(|_| self.is_trusted(peer)) else {
            return Ok(None);
        };
        let mut said = headers.get_all(proxy.header.as_str()).iter();
        let (Some(name), None) = (said.next(), said.next()) else {
            return match headers.contains_key(proxy.header.as_str()) {
                true => Err(Trouble::bad_request("The proxy names more than one user.")),
                false => Ok(None),
            };
        };
        let name = name.to_str().unwrap_or_default().trim();
        if name.is_empty() {
            return Ok(None);
        }
        if !store::is_name(name) {
            return Err(Trouble::bad_request("The proxy names somebody who cannot be a user."));
        }
        Ok(Some(name.to_owned()))
    }

    /// The client's address: behind a trusted proxy, the last one in its header, which the proxy added itself.
    pub(super) fn origin(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all("x-forwarded-for");
        let said = lines.iter().next_back().and_then(|value| value.to_str().ok());
        let last = said.and_then(|said| said.rsplit(',').next()?.trim().parse().ok());
        last.filter(|_| self.is_trusted(peer)).unwrap_or(peer)
    }
}

/// Whether the address is one that no other site can give a browser in our place: a name of its
/// own could be made to lead here, and its pages would read ours (DNS rebinding).
fn is_asked_by_its_own_name(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let host = host.to_str().unwrap_or_default();
    let name =
        host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |it| it.0);
    name == "localhost" || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let said = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = said.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Proxy;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_name_that_leads_here_is_not_our_own() {
        let check = |host: &str| is_asked_by_its_own_name(&headers(&[("host", host)]));
        for host in ["localhost", "localhost:8040", "127.0.0.1:8040", "[::1]:8040", "[::1]"] {
            assert!(check(host), "{host}");
        }
        for host in ["evil.example", "evil.example:8040", "localhost.evil.example", ""] {
            assert!(!check(host), "{host}");
        }
    }

    /// What a proxy at 10.0.0.1 says of who asks, and from where.
    #[test]
    fn only_a_trusted_proxy_is_believed() {
        let proxy =
            Proxy { header: "x-user".to_owned(), trusted: vec!["10.0.0.1".parse().unwrap()] };
        let access = Access { proxy: Some(proxy), ..Access::default() };
        let said = headers(&[("x-user", "ann"), ("x-forwarded-for", "192.0.2.9, 192.0.2.1")]);
        let (proxy, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        assert_eq!(access.said_by_proxy(proxy, &said).unwrap().as_deref(), Some("ann"));
        assert_eq!(access.said_by_proxy(other, &said).unwrap(), None);
        assert_eq!(access.origin(proxy, &said).to_string(), "192.0.2.1");
        assert_eq!(access.origin(other, &said), other);
        // A client may send a line of its own, and the proxy adds one.
        let two_lines =
            headers(&[("x-forwarded-for", "192.0.2.9"), ("x-forwarded-for", "192.0.2.1")]);
        assert_eq!(access.origin(proxy, &two_lines).to_string(), "192.0.2.1");
        for wrong in [&[("x-user", "a b")][..], &[("x-user", "a"), ("x-user", "b")]] {
            assert!(access.said_by_proxy(proxy, &headers(wrong)).is_err(), "{wrong:?}");
        }
    }
}
