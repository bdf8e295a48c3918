//! An Elasticsearch or OpenSearch that is named in the file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use source::elasticsearch::{Credential, Purpose, Server};
use toml::Spanned;
use toml::de::DeTable;

use super::check::{Problems, unknown_keys};
use super::reader::{Reader, certificates, is_readable_by_others};
use super::secret::without_secrets;
use super::{Login, SearchServer};

impl SearchServer {
    /// What the server is asked with. Its secrets are read now, and kept nowhere.
    pub(crate) fn server(&self, purpose: Purpose) -> Result<Server> {
        let credential = match &self.login {
            Login::Nobody => None,
            Login::Password { user, place } => {
                Some(Credential::basic(user, &place.read()?, &place.shown("password")))
            }
            Login::ApiKey { place } => {
                Some(Credential::api_key(&place.read()?, &place.shown("api_key")))
            }
        };
        let certificates = certificates(self.ca_file.as_deref())?;
        let (url, index) = (self.url.clone(), self.index.clone());
        Ok(Server { url, index, purpose, credential, certificates })
    }

    /// Has paths begin at the file's folder.
    pub(super) fn below(mut self, folder: &Path) -> SearchServer {
        self.login = match self.login {
            Login::Nobody => Login::Nobody,
            Login::Password { user, place } => Login::Password { user, place: place.below(folder) },
            Login::ApiKey { place } => Login::ApiKey { place: place.below(folder) },
        };
        self.ca_file = self.ca_file.map(|path| folder.join(path));
        self
    }
}

const KEYS: [&str; 8] = [
    "url",
    "index",
    "user",
    "password_file",
    "password_env",
    "api_key_file",
    "api_key_env",
    "ca_file",
];

/// The server that a table names, as far as it could be read; the rest is a problem. The table may have
/// other keys, too.
pub(super) fn search_server(
    table: &DeTable,
    span: Range<usize>,
    place: &Place,
    problems: &mut Problems,
) -> Option<SearchServer> {
    let Place { key, other_keys, .. } = place;
    let others = without_secrets(key, &["password", "api_key"], table, problems);
    unknown_keys(&others, &[other_keys, &KEYS[..]].concat(), problems);
    let reader = Reader { table, span: span.clone(), key };
    let url = reader.url("url", "https://search.example.org:9200", problems);
    let index = reader.index(place, problems);
    let login = reader.login(problems);
    let ca_file = reader.text("ca_file", problems).map(PathBuf::from);
    if login != Login::Nobody
        && let Some(url) = url.as_deref().filter(|url| is_readable_by_others(url))
    {
        let span = table.get("url").map_or(span, Spanned::span);
        let words = format!("{key}.url: {url:?} would send the secret for all to read: use https");
        problems.add(span, words);
    }
    Some(SearchServer { url: url?, index: index?, login, ca_file })
}

/// Where in the file a server is named, and for what.
pub(super) struct Place {
    /// Such as `cluster.job_history`.
    pub(super) key: &'static str,
    pub(super) other_keys: &'static [&'static str],
    pub(super) example_index: &'static str,
    /// Letters of which a name is not made, but a pattern of several.
    pub(super) pattern: &'static str,
}

impl Reader<'_, '_> {
    /// The index is a part of a path, so that it must not look like more of one.
    fn index(&self, place: &Place, problems: &mut Problems) -> Option<String> {
        let Place { example_index, pattern, .. } = place;
        let index = self.needed("index", example_index, problems)?;
        let fits = |letter: char| {
            letter.is_ascii_alphanumeric() || "._-".contains(letter) || pattern.contains(letter)
        };
        if !index.chars().all(fits) || index.starts_with(['_', '-', '+']) {
            let kind = if pattern.is_empty() { "name" } else { "name or pattern" };
            let words = format!("{index:?} is no {kind} of an index");
            self.complain("index", &words, problems);
        }
        Some(index.to_owned())
    }

    fn login(&self, problems: &mut Problems) -> Login {
        let user = self.text("user", problems);
        let password = self.secret("password", problems);
        let api_key = self.secret("api_key", problems);
        match (user, password, api_key) {
            (None, None, None) => Login::Nobody,
            (Some(user), Some(place), None) => Login::Password { user: user.to_owned(), place },
            (None, None, Some(place)) => Login::ApiKey { place },
            (Some(_), None, None) => {
                let words = "it has no password: name a password_file";
                self.complain("user", words, problems);
                Login::Nobody
            }
            (None, Some(_), _) => {
                let name = self.given("password");
                self.complain(&name, "it is nobody's: name its user", problems);
                Login::Nobody
            }
            (Some(_), _, Some(_)) => {
                let name = self.given("api_key");
                self.complain(&name, "it stands instead of a user: choose one", problems);
                Login::Nobody
            }
        }
    }
}
