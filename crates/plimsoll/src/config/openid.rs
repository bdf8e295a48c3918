//! `[access.openid]`: a provider of single sign-on.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serve::ClientSecret;
use toml::Spanned;
use toml::de::DeValue;

use super::SecretPlace;
use super::check::{Problems, unknown_keys, words, wrong_type};
use super::reader::{Reader, certificates, is_readable_by_others};
use super::secret::without_secrets;

/// A provider, and where its secret is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenId {
    issuer: String,
    client_id: String,
    client_secret: Option<SecretPlace>,
    address: String,
    user_claim: String,
    domain: Option<String>,
    groups_claim: String,
    staff_groups: Vec<String>,
    scopes: Vec<String>,
    ca_file: Option<PathBuf>,
}

const KEY: &str = "access.openid";
const KEYS: [&str; 11] = [
    "issuer",
    "client_id",
    "client_secret_file",
    "client_secret_env",
    "address",
    "user_claim",
    "domain",
    "groups_claim",
    "staff_groups",
    "scopes",
    "ca_file",
];

impl OpenId {
    /// What logins need. The secret is read now.
    pub(crate) fn provider(&self) -> Result<serve::OpenId> {
        let secret = self.client_secret.as_ref().map(SecretPlace::read).transpose()?;
        Ok(serve::OpenId {
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret: secret.map(ClientSecret),
            address: self.address.clone(),
            user_claim: self.user_claim.clone(),
            domain: self.domain.clone(),
            groups_claim: self.groups_claim.clone(),
            staff_groups: self.staff_groups.iter().cloned().collect(),
            scopes: self.scopes.clone(),
            certificates: certificates(self.ca_file.as_deref())?,
        })
    }

    /// Whether browsers find us by an address that is encrypted, whoever does that for us.
    pub(crate) fn is_reached_by_https(&self) -> bool {
        self.address.starts_with("https://")
    }

    /// Has paths begin at the file's folder.
    pub(super) fn below(self, folder: &Path) -> OpenId {
        OpenId {
            client_secret: self.client_secret.map(|place| place.below(folder)),
            ca_file: self.ca_file.map(|path| folder.join(path)),
            ..self
        }
    }
}

/// What the file says, as far as it could be read; the rest is a problem.
pub(super) fn openid(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<OpenId> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type(KEY, "a table ([access.openid])", value, problems);
        return None;
    };
    unknown_keys(&without_secrets(KEY, &["client_secret"], table, problems), &KEYS, problems);
    let reader = Reader { table, span: value.span(), key: KEY };
    // The issuer is compared letter by letter: a `/` at its end is a part of it.
    let is_address = reader.url("issuer", "https://sso.example.org/realms/hpc", problems);
    let issuer = is_address.and(reader.text("issuer", problems));
    let address = reader.url("address", "https://plimsoll.example.org/", problems);
    let client_id = reader.needed("client_id", "plimsoll", problems);
    for (name, url) in [("issuer", issuer), ("address", address.as_deref())] {
        if let Some(url) = url.filter(|url| is_readable_by_others(url)) {
            let words = format!("{url:?} would say for all to read who somebody is: use https");
            reader.complain(name, &words, problems);
        }
    }
    let list = |name: &str, problems: &mut Problems| {
        table.get(name).map(|value| words(&format!("{KEY}.{name}"), value, problems))
    };
    let text = |name: &str, unsaid: &str, problems: &mut Problems| {
        reader.text(name, problems).unwrap_or(unsaid).to_owned()
    };
    Some(OpenId {
        client_secret: reader.secret("client_secret", problems),
        user_claim: text("user_claim", "preferred_username", problems),
        domain: reader.text("domain", problems).map(str::to_owned),
        groups_claim: text("groups_claim", "groups", problems),
        staff_groups: list("staff_groups", problems).unwrap_or_default(),
        scopes: list("scopes", problems).unwrap_or_else(|| vec!["profile".to_owned()]),
        ca_file: reader.text("ca_file", problems).map(PathBuf::from),
        issuer: issuer?.to_owned(),
        client_id: client_id?.to_owned(),
        address: format!("{}/", address?),
    })
}
