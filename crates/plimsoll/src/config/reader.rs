//! A table of the file that names a server and where its secrets are.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use toml::Spanned;
use toml::de::DeTable;

use super::SecretPlace;
use super::check::{Problems, string};
use super::secret::secret_place;

/// Reads the entries of a table.
pub(super) struct Reader<'a, 'i> {
    pub(super) table: &'a DeTable<'i>,
    pub(super) span: Range<usize>,
    /// Where in the file the table stands, such as `cluster.job_history`.
    pub(super) key: &'static str,
}

impl<'a> Reader<'a, '_> {
    pub(super) fn text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let value = self.table.get(name)?;
        let key = format!("{}.{name}", self.key);
        let text = string(&key, "a string", value, problems)?;
        if text.is_empty() {
            problems.add(value.span(), format!("{key}: it is empty"));
        }
        Some(text)
    }

    pub(super) fn needed(
        &self,
        name: &str,
        example: &str,
        problems: &mut Problems,
    ) -> Option<&'a str> {
        if self.table.get(name).is_none() {
            let key = self.key;
            let words = format!("{key}.{name}: missing: write {name} = {example:?}");
            problems.add(self.span.clone(), words);
        }
        self.text(name, problems)
    }

    pub(super) fn complain(&self, name: &str, words: &str, problems: &mut Problems) {
        let span = self.table.get(name).map_or(self.span.clone(), Spanned::span);
        problems.add(span, format!("{}.{name}: {words}", self.key));
    }

    /// The address of a server, without a `/` at its end.
    pub(super) fn url(&self, name: &str, example: &str, problems: &mut Problems) -> Option<String> {
        let url = self.needed(name, example, problems)?;
        let Some((scheme, rest)) = url.split_once("://") else {
            self.complain(name, "it begins with neither https:// nor http://", problems);
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
        self.complain(name, problem, problems);
        None
    }

    /// Which of the two ways to name a secret's place is there.
    pub(super) fn given(&self, name: &str) -> String {
        let file = format!("{name}_file");
        if self.table.contains_key(file.as_str()) { file } else { format!("{name}_env") }
    }

    pub(super) fn secret(&self, name: &str, problems: &mut Problems) -> Option<SecretPlace> {
        secret_place(self.key, name, self.table, problems)
    }
}

/// The certificates of a file, in PEM.
pub(super) fn certificates(file: Option<&Path>) -> Result<Option<Arc<str>>> {
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read ca_file {}", path.display()))?;
    Ok(Some(text.into()))
}

/// Whether what is sent there passes others in clear.
pub(super) fn is_readable_by_others(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    !["localhost", "[::1]"].contains(&host) && !host.starts_with("127.")
}
