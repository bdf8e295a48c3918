//! Where a secret is, and what it is.
//!
//! A secret is never in the file itself, which is read by many and copied around: the file names
//! another file, or a variable of the environment.

use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::de::DeTable;

use super::SecretPlace;
use super::check::{Problems, string};

impl SecretPlace {
    /// The secret, read now and kept nowhere.
    #[expect(clippy::disallowed_methods, reason = "the configuration names the variable")]
    pub(crate) fn read(&self) -> Result<String> {
        let text = match self {
            SecretPlace::File(path) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?,
            SecretPlace::Variable(name) => std::env::var(name)
                .ok()
                .with_context(|| format!("${name} is not set, which the configuration names"))?,
        };
        let text = text.trim();
        if text.is_empty() || text.contains(['\n', '\r', '\0']) {
            match self {
                SecretPlace::File(path) => {
                    bail!("{} is not one line with a secret", path.display())
                }
                SecretPlace::Variable(name) => bail!("${name} is not one line with a secret"),
            }
        }
        Ok(text.to_owned())
    }

    /// Where it is, as the configuration says it.
    pub(super) fn shown(&self, name: &str) -> String {
        match self {
            SecretPlace::File(path) => format!("{name}_file {}", path.display()),
            SecretPlace::Variable(variable) => format!("{name}_env ${variable}"),
        }
    }

    /// Has a path begin at the file's folder.
    pub(super) fn below(self, folder: &Path) -> SecretPlace {
        match self {
            SecretPlace::File(path) => SecretPlace::File(folder.join(path)),
            variable => variable,
        }
    }
}

/// Where a table of the file says that a secret is: `NAME_file` or `NAME_env`. `key` is the table.
pub(super) fn secret_place(
    key: &str,
    name: &str,
    table: &DeTable,
    problems: &mut Problems,
) -> Option<SecretPlace> {
    let mut text = |ending: &str| {
        let name = format!("{name}_{ending}");
        let value = table.get(name.as_str())?;
        let text = string(&format!("{key}.{name}"), "a string", value, problems)?;
        if text.is_empty() {
            problems.add(value.span(), format!("{key}.{name}: it is empty"));
        }
        Some((text.to_owned(), value.span()))
    };
    match (text("file"), text("env")) {
        (Some((path, _)), Some((_, span))) => {
            let words = format!("{key}.{name}_env: {name}_file stands here, too: choose one");
            problems.add(span, words);
            Some(SecretPlace::File(path.into()))
        }
        (Some((path, _)), None) => Some(SecretPlace::File(path.into())),
        (None, Some((variable, _))) => Some(SecretPlace::Variable(variable)),
        (None, None) => None,
    }
}

/// Complains of secrets that stand in the file itself, and gives the table without them.
pub(super) fn without_secrets<'i>(
    key: &str,
    names: &[&str],
    table: &DeTable<'i>,
    problems: &mut Problems,
) -> DeTable<'i> {
    let is_secret = |name: &str| names.contains(&name);
    for secret in table.keys().filter(|key| is_secret(key.get_ref())) {
        let name: &str = secret.get_ref();
        let words = format!(
            "{key}.{name}: a secret does not belong here: put it into a file that only Plimsoll's \
             user may read, and name that as {name}_file"
        );
        problems.add(secret.span(), words);
    }
    let others = table.iter().filter(|(key, _)| !is_secret(key.get_ref()));
    others.map(|(key, value)| (key.clone(), value.clone())).collect()
}
