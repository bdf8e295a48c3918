//! What other tools were configured with.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use query::Pattern;
use yaml_rust2::{Yaml, YamlLoader};

/// The machines of `chtc_owned`: one a line.
pub(super) fn owned_machines(path: &Path) -> Result<Vec<Pattern>> {
    let text = read(path)?;
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(|name| pattern(path, name)).collect()
}

/// The masks of `masked_hosts.yaml`: `excluded_hosts`, with the reason of each. gpureports looks for
/// them anywhere in the name of a machine.
pub(super) fn masks(path: &Path) -> Result<Vec<(Pattern, String)>> {
    let Some(hosts) = entry(path, "excluded_hosts")? else { return Ok(Vec::new()) };
    let Some(hosts) = hosts.as_hash() else {
        bail!("{}: excluded_hosts is no mapping of hosts to reasons", path.display());
    };
    let mask = |(host, reason): (&Yaml, &Yaml)| {
        let (Some(host), Some(reason)) = (text(host), text(reason)) else {
            bail!("{}: excluded_hosts has a host or a reason that is no text", path.display());
        };
        Ok((pattern(path, &format!("*{host}*"))?, reason))
    };
    hosts.iter().map(mask).collect()
}

/// The groups of the `config.yaml` of slurm-usage: users by the name of their group.
pub(super) fn groups(path: &Path) -> Result<BTreeMap<String, Vec<String>>> {
    let Some(groups) = entry(path, "groups")? else { return Ok(BTreeMap::new()) };
    let wrong = || format!("{}: groups is no mapping of groups to lists of users", path.display());
    let group = |(name, users): (&Yaml, &Yaml)| {
        let users = users.as_vec()?.iter().map(text).collect::<Option<Vec<String>>>()?;
        Some((text(name)?, users))
    };
    let groups = groups.as_hash().with_context(wrong)?;
    groups.iter().map(group).collect::<Option<_>>().with_context(wrong)
}

/// An entry of the mapping that a file holds; nothing if the file has none, or it is blank.
fn entry(path: &Path, key: &str) -> Result<Option<Yaml>> {
    let documents = YamlLoader::load_from_str(&read(path)?)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let found = documents.first().and_then(|document| document.as_hash()).and_then(|entries| {
        entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value.clone())
    });
    Ok(found.filter(|value| !value.is_null()))
}

/// A name, which may be all digits.
fn text(value: &Yaml) -> Option<String> {
    match value {
        Yaml::String(text) | Yaml::Real(text) => Some(text.clone()),
        Yaml::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn pattern(path: &Path, written: &str) -> Result<Pattern> {
    Pattern::new(written)
        .map_err(|error| anyhow::anyhow!("{}: {written:?} {error}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
