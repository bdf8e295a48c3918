//! What gpureports was told of machines, as the site policy of the imported time.

use std::path::{Path, PathBuf};

use anyhow::Result;
use query::{Judgement, Pattern};

use super::{Import, SOURCE};
use crate::cli::ImportGpureports;
use crate::command::import::settings;
use crate::config::Config;

/// A policy, and the files that it is from.
pub(super) struct ImportedPolicy {
    policy: Judgement,
    files: Vec<String>,
}

/// The configuration's policy, with the owners and the masks of gpureports; nothing if it has no such
/// files.
pub(super) fn read(
    config: &Config,
    arguments: &ImportGpureports,
) -> Result<Option<ImportedPolicy>> {
    let folder = match arguments.path.is_dir() {
        true => &arguments.path,
        false => arguments.path.parent().unwrap_or(Path::new("")),
    };
    let found = |named: &Option<PathBuf>, name: &str| {
        named.clone().or_else(|| Some(folder.join(name)).filter(|file| file.is_file()))
    };
    let mut imported =
        ImportedPolicy { policy: Judgement::clone(&config.judgement), files: Vec::new() };
    if let Some(file) = found(&arguments.chtc_owned, "chtc_owned") {
        imported.policy.institution_owned = settings::owned_machines(&file)?;
        let count = imported.policy.institution_owned.len();
        imported.files.push(format!("{count} machines of {}", file.display()));
    }
    if let Some(file) = found(&arguments.masked_hosts, "masked_hosts.yaml") {
        imported.policy.masks = settings::masks(&file)?;
        let count = imported.policy.masks.len();
        imported.files.push(format!("{count} masks of {}", file.display()));
    }
    Ok((!imported.files.is_empty()).then_some(imported))
}

impl ImportedPolicy {
    /// The lines of `plimsoll.toml` for the owners and masks that it lacks. Collections keep the stored ones
    /// without them, but the configuration can then neither show nor change them.
    pub(super) fn lines(&self, config: &Config) -> Option<String> {
        let ImportedPolicy { policy, .. } = self;
        let mut lacking = toml::Table::new();
        if policy.institution_owned != config.judgement.institution_owned {
            let owned: Vec<&str> =
                policy.institution_owned.iter().map(|pattern| pattern.written()).collect();
            lacking.insert("institution_owned".to_owned(), toml::Value::from(owned));
        }
        if policy.masks != config.judgement.masks {
            let mask = |(pattern, reason): &(Pattern, String)| {
                (pattern.written().to_owned(), toml::Value::from(reason.as_str()))
            };
            let masks: toml::Table = policy.masks.iter().map(mask).collect();
            lacking.insert("masks".to_owned(), toml::Value::Table(masks));
        }
        let whole =
            toml::Table::from_iter([("gpu".to_owned(), toml::Value::Table(lacking.clone()))]);
        let note = "# The owners and masks of gpureports, for plimsoll.toml:";
        (!lacking.is_empty()).then(|| format!("{note}\n{whole}"))
    }
}

impl Import {
    /// Stores the policy from the first look on. Where a policy is stored that applies then, that one
    /// stays: the site said more of that time than gpureports was told.
    pub(super) async fn store(&mut self, imported: &ImportedPolicy) -> Result<String> {
        let files = imported.files.join(", ");
        let Some(first) = self.first else {
            return Ok(format!("not stored, since no sample was imported: {files}"));
        };
        if self.writer.policy_starts().await?.iter().any(|start| *start < first) {
            return Ok(format!("not stored, since a stored policy applies to that time: {files}"));
        }
        let ImportedPolicy { policy, .. } = imported;
        let rows = query::policy_rows(policy, &self.cluster, SOURCE, first, self.now);
        self.writer.put_policy(&rows).await?;
        let from = first.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M %Z");
        Ok(format!("stored as the site policy from {from} on: {files}"))
    }
}
