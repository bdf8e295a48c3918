//! Single sign-on by OpenID Connect: the authorization code flow with PKCE (OpenID Connect Core 1.0,
//! RFC 7636). The provider says who somebody is; what they may see is decided here.

mod flow;
mod key;
mod pending;
mod provider;
mod token;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

pub(super) use flow::{end_of_session, router};
pub(super) use provider::Provider;

/// A provider, and what of its words counts.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenId {
    /// As the provider calls itself, in `iss`; what it is made of is asked below it.
    pub issuer: String,
    pub client_id: String,
    /// None of a client that keeps no secrets: PKCE is enough for it.
    pub client_secret: Option<ClientSecret>,
    /// Where browsers find us, with a `/` at its end: the provider sends them back below it.
    pub address: String,
    /// The claim that is the name of the user, as schedulers have it.
    pub user_claim: String,
    /// What names end with after an `@`, and what is cut off; others are refused.
    pub domain: Option<String>,
    /// The claim that lists a user's groups.
    pub groups_claim: String,
    /// Those whose members are staff.
    pub staff_groups: BTreeSet<String>,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
    /// The certificates that are trusted, in PEM; those that this machine trusts if none are given.
    pub certificates: Option<Arc<str>>,
}

/// What is sent and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(pub String);

impl fmt::Debug for ClientSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// Asks a server; only the program can. What is given is its status and what it says.
pub type Fetch = fn(&FetchRequest) -> Result<(u16, Vec<u8>), String>;

/// What a server is asked.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    pub url: String,
    /// A form to send; without one, the address is read.
    pub form: Option<String>,
    /// The value of the header of that name, which is a secret.
    pub authorization: Option<ClientSecret>,
    pub certificates: Option<Arc<str>>,
}
