//! What a provider says of itself, and who it says somebody is.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use ring::digest;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::key::{self, Key};
use super::pending::{Begun, Login, Pending};
use super::token::{Expected, Refusal, verify};
use super::{ClientSecret, Fetch, FetchRequest, OpenId};
use crate::access::store;

/// Where browsers come back to, below our address.
pub(super) const RETURN: &str = "openid-return";
/// What a provider says of itself is asked for again after this.
const HOLDS: SignedDuration = SignedDuration::from_hours(1);
/// Keys are asked for again because of one that is not known, but not at every try.
const KEYS_HOLD: SignedDuration = SignedDuration::from_mins(1);

/// A provider, and the logins that have begun with it.
pub(in crate::access) struct Provider {
    pub(super) about: OpenId,
    fetch: Fetch,
    pub(super) pending: Pending,
    said: Mutex<Option<Arc<Said>>>,
}

/// What a provider says of itself.
struct Said {
    document: Document,
    keys: Vec<Key>,
    time: Timestamp,
}

/// OpenID Connect Discovery 1.0, 3.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    /// OpenID Connect RP-Initiated Logout 1.0, 2.1.
    end_session_endpoint: Option<String>,
}

/// Who somebody is.
#[derive(Debug, PartialEq)]
pub(super) struct Person {
    pub(super) name: String,
    pub(super) is_staff: bool,
    /// What the provider said it with.
    pub(super) id_token: String,
}

impl Provider {
    pub(in crate::access) fn new(about: OpenId, fetch: Fetch) -> Provider {
        Provider { about, fetch, pending: Pending::default(), said: Mutex::default() }
    }

    /// Where a browser goes to say who it is.
    pub(super) fn authorization(&self, begun: &Begun, now: Timestamp) -> Result<String> {
        let said = self.said(now, HOLDS)?;
        let challenge = digest::digest(&digest::SHA256, begun.verifier.as_bytes());
        let scope = [&["openid".to_owned()][..], &self.about.scopes].concat().join(" ");
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.about.client_id)
            .append_pair("redirect_uri", &self.return_address())
            .append_pair("scope", &scope)
            .append_pair("state", &begun.state)
            .append_pair("nonce", &begun.nonce)
            .append_pair("code_challenge", &key::encoded(challenge.as_ref()))
            .append_pair("code_challenge_method", "S256")
            .finish();
        Ok(with_query(&said.document.authorization_endpoint, &query))
    }

    /// Who has come back with a code.
    pub(super) fn person(&self, code: &str, login: &Login, now: Timestamp) -> Result<Person> {
        let said = self.said(now, HOLDS)?;
        let token = self.id_token(&said.document.token_endpoint, code, &login.verifier)?;
        let expected = Expected {
            issuer: &self.about.issuer,
            client_id: &self.about.client_id,
            nonce: &login.nonce,
            now,
        };
        let claims = match verify(&token, &said.keys, &expected) {
            // A provider has new keys now and then.
            Err(Refusal::UnknownKey) => verify(&token, &self.said(now, KEYS_HOLD)?.keys, &expected),
            verified => verified,
        };
        let (name, is_staff) = person(&self.about, &claims?)?;
        Ok(Person { name, is_staff, id_token: token })
    }

    /// Where a browser goes to leave the provider, if that has such a place.
    pub(super) fn end_of_session(&self, id_token: &str, now: Timestamp) -> Result<Option<String>> {
        let said = self.said(now, HOLDS)?;
        let Some(endpoint) = &said.document.end_session_endpoint else { return Ok(None) };
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("id_token_hint", id_token)
            .append_pair("client_id", &self.about.client_id)
            .append_pair("post_logout_redirect_uri", &format!("{}login", self.about.address))
            .finish();
        Ok(Some(with_query(endpoint, &query)))
    }

    fn return_address(&self) -> String {
        format!("{}{RETURN}", self.about.address)
    }

    /// What the provider says of itself, if that is not older than this.
    fn said(&self, now: Timestamp, holds: SignedDuration) -> Result<Arc<Said>> {
        let known = self.said.lock().expect("no holder of this lock panics").clone();
        if let Some(known) = known.filter(|known| now.duration_since(known.time) < holds) {
            return Ok(known);
        }
        let issuer = &self.about.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let document: Document = serde_json::from_slice(&self.read(&url)?)
            .with_context(|| format!("{url} is no description of a provider"))?;
        if document.issuer != *issuer {
            bail!(
                "the provider calls itself {:?}, and is configured as {issuer:?}",
                document.issuer
            );
        }
        let keys = key::keys(&self.read(&document.jwks_uri)?)
            .map_err(|reason| anyhow::anyhow!("{} has {reason}", document.jwks_uri))?;
        let said = Arc::new(Said { document, keys, time: now });
        *self.said.lock().expect("no holder of this lock panics") = Some(said.clone());
        Ok(said)
    }

    /// RFC 6749, 4.1.3, with the client's secret as 2.3.1 has it.
    fn id_token(&self, endpoint: &str, code: &str, verifier: &str) -> Result<String> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.return_address())
            .append_pair("client_id", &self.about.client_id)
            .append_pair("code_verifier", verifier);
        let authorization = self.about.client_secret.as_ref().map(|ClientSecret(secret)| {
            let encoded =
                |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(&self.about.client_id), encoded(secret));
            ClientSecret(format!("Basic {}", STANDARD.encode(pair)))
        });
        let answer = self.ask(&FetchRequest {
            url: endpoint.to_owned(),
            form: Some(form.finish()),
            authorization,
            certificates: self.about.certificates.clone(),
        })?;
        let answer: Value = serde_json::from_slice(&answer).context("no JSON")?;
        let token = answer["id_token"].as_str().context("the provider gave no ID token")?;
        Ok(token.to_owned())
    }

    fn read(&self, url: &str) -> Result<Vec<u8>> {
        let certificates = self.about.certificates.clone();
        self.ask(&FetchRequest {
            url: url.to_owned(),
            form: None,
            authorization: None,
            certificates,
        })
    }

    fn ask(&self, request: &FetchRequest) -> Result<Vec<u8>> {
        match (self.fetch)(request) {
            Ok((200, body)) => Ok(body),
            Ok((status, body)) => {
                let body = String::from_utf8_lossy(&body);
                let body: String = body.chars().take(300).collect();
                bail!("{} answered {status}: {body}", request.url)
            }
            Err(reason) => bail!("{reason}"),
        }
    }
}

/// An address that may have parameters of its own, with more of them.
fn with_query(address: &str, query: &str) -> String {
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{query}")
}

/// Who the claims of a verified token name, and whether that is staff.
fn person(about: &OpenId, claims: &Map<String, Value>) -> Result<(String, bool)> {
    let claim = &about.user_claim;
    let said = claims.get(claim).and_then(Value::as_str);
    let said = said.with_context(|| format!("the ID token has no {claim:?}; see user_claim"))?;
    let name = match &about.domain {
        None => said,
        Some(domain) => match said.rsplit_once('@') {
            Some((name, at)) if at.eq_ignore_ascii_case(domain) => name,
            _ => bail!("{said:?} is not of {domain}"),
        },
    };
    if !store::is_name(name) {
        bail!("{name:?} cannot be the name of a user");
    }
    let groups: BTreeSet<&str> = match claims.get(&about.groups_claim) {
        Some(Value::String(one)) => BTreeSet::from([one.as_str()]),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    };
    let is_staff = about.staff_groups.iter().any(|group| groups.contains(group.as_str()));
    Ok((name.to_owned(), is_staff))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Who claims name, at a site whose users are of example.org and whose staff is in `hpc`.
    fn check(claims: &Value, expected: Result<(&str, bool), &str>) {
        let about = OpenId {
            issuer: String::new(),
            client_id: String::new(),
            client_secret: None,
            address: String::new(),
            user_claim: "email".to_owned(),
            domain: Some("example.org".to_owned()),
            groups_claim: "groups".to_owned(),
            staff_groups: BTreeSet::from(["hpc".to_owned()]),
            scopes: Vec::new(),
            certificates: None,
        };
        let person = person(&about, claims.as_object().unwrap());
        let person = person.map_err(|error| error.to_string());
        let expected = expected.map(|(name, is_staff)| (name.to_owned(), is_staff));
        assert_eq!(person, expected.map_err(str::to_owned));
    }

    #[test]
    fn claims_name_a_user_and_may_make_him_staff() {
        check(&json!({ "email": "ann@Example.org" }), Ok(("ann", false)));
        check(&json!({ "email": "ann@example.org", "groups": ["a", "hpc"] }), Ok(("ann", true)));
        check(&json!({ "email": "ann@example.org", "groups": "hpc" }), Ok(("ann", true)));
        check(&json!({ "email": "ann@example.org", "groups": ["hpc2"] }), Ok(("ann", false)));
    }

    #[test]
    fn who_is_of_elsewhere_or_has_no_name_is_nobody() {
        check(&json!({ "sub": "ann" }), Err("the ID token has no \"email\"; see user_claim"));
        check(&json!({ "email": "ann" }), Err("\"ann\" is not of example.org"));
        check(&json!({ "email": "ann@evil.org" }), Err("\"ann@evil.org\" is not of example.org"));
        check(&json!({ "email": "a b@example.org" }), Err("\"a b\" cannot be the name of a user"));
    }
}
