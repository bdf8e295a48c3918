//! An Elasticsearch or OpenSearch that is named in the file, and where its secrets are.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use source::elasticsearch::{Credential, Purpose, Server};
use toml::Spanned;
use toml::de::DeTable;

use super::check::{Problems, string, unknown_keys};
use super::secret::{secret_place, without_secrets};
use super::{Login, SearchServer, SecretPlace};

impl SearchServer {
    /// What the server is asked with. Its secrets are read now, and kept nowhere.
    pub(crate) fn server(&self, purpose: Purpose) -> Result<Server> {
        let credential = match &self.login {
            Login::Nobody => None,
            Login::Password { user, place } => {
                Some(Credential::basic(user, &place.secret()?, &place.shown("password")))
            }
            Login::ApiKey { place } => {
                Some(Credential::api_key(&place.secret()?, &place.shown("api_key")))
            }
        };
        let certificates = match &self.ca_file {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read ca_file {}", path.display()))?;
                Some(text.into())
            }
            None => None,
        };
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
    let reader = Reader { table, span: span.clone(), place };
    let url = reader.url(problems);
    let index = reader.index(problems);
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

struct Reader<'a, 'i> {
    table: &'a DeTable<'i>,
    span: Range<usize>,
    place: &'a Place,
}

impl<'a> Reader<'a, '_> {
    fn text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let value = self.table.get(name)?;
        let key = format!("{}.{name}", self.place.key);
        let text = string(&key, "a string", value, problems)?;
        if text.is_empty() {
            problems.add(value.span(), format!("{key}: it is empty"));
        }
        Some(text)
    }

    fn needed(&self, name: &str, example: &str, problems: &mut Problems) -> Option<&'a str> {
        if self.table.get(name).is_none() {
            let key = self.place.key;
            let words = format!("{key}.{name}: missing: write {name} = {example:?}");
            problems.add(self.span.clone(), words);
        }
        self.text(name, problems)
    }

    fn complain(&self, name: &str, words: &str, problems: &mut Problems) {
        let span = self.table.get(name).map_or(self.span.clone(), Spanned::span);
        problems.add(span, format!("{}.{name}: {words}", self.place.key));
    }

    fn url(&self, problems: &mut Problems) -> Option<String> {
        let url = self.needed("url", "https://search.example.org:9200", problems)?;
        let Some((scheme, rest)) = url.split_once("://") else {
            self.complain("url", "it begins with neither https:// nor http://", problems);
            return None;
        };
        let host = rest.split('/').next().unwrap_or_default();
        let problem = if !["https", "http"].contains(&scheme) {
            "it begins with neither https:// nor http://"
        } else if host.contains('@') {
            "a user and a password do not belong into it: use user and password_file"
        } else if host.is_empty() {
            "it names no server"
        } else if rest.contains(['?', '#', ' ']) {
            "it goes on after the path"
        } else {
            return Some(url.trim_end_matches('/').to_owned());
        };
        self.complain("url", problem, problems);
        None
    }

    /// The index is a part of a path, so that it must not look like more of one.
    fn index(&self, problems: &mut Problems) -> Option<String> {
        let Place { example_index, pattern, .. } = self.place;
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

    /// Which of the two ways to name a secret's place is there.
    fn given(&self, name: &str) -> String {
        let file = format!("{name}_file");
        if self.table.contains_key(file.as_str()) { file } else { format!("{name}_env") }
    }

    fn secret(&self, name: &str, problems: &mut Problems) -> Option<SecretPlace> {
        secret_place(self.place.key, name, self.table, problems)
    }
}

/// Whether what is sent there passes others in clear.
fn is_readable_by_others(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    !["localhost", "[::1]"].contains(&host) && !host.starts_with("127.")
}
