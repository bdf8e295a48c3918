//! `[access]`: how a site knows who asks for its pages, and who is who.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serve::{Access, Network, Proxy};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::{Problems, advice, string, unknown_keys, words, wrong_type};
use super::openid::{self, OpenId};
use super::{Cluster, Kind};

/// Where users, tokens and the record of requests are kept if nobody says, below what is kept here.
const FOLDER: &str = "access";

/// What the file says, as far as it could be read; the rest is a problem. Paths begin at its folder,
/// and what is kept is below `state_dir` unless it says otherwise.
pub(super) fn access(
    value: &Spanned<DeValue>,
    problems: &mut Problems,
) -> (Access, Option<OpenId>) {
    let mut access = Access::default();
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("access", "a table ([access])", value, problems);
        return (access, None);
    };
    let keys =
        ["anonymous", "staff", "coordinators", "coordinators_of", "proxy", "openid", "folder"];
    unknown_keys(table, &keys, problems);
    if let Some(value) = table.get("anonymous") {
        access.is_public = is_public(value, problems);
    }
    if let Some(value) = table.get("staff") {
        access.staff = words("access.staff", value, problems).into_iter().collect();
    }
    if let Some(value) = table.get("coordinators") {
        access.coordinators = coordinators(value, problems);
    }
    if let Some(value) = table.get("proxy") {
        access.proxy = proxy(value, problems);
    }
    if let Some(value) = table.get("folder")
        && let Some(folder) = string("access.folder", "a string", value, problems)
    {
        access.folder = PathBuf::from(folder);
    }
    (access, table.get("openid").and_then(|value| openid::openid(value, problems)))
}

/// The clusters whose `sacctmgr` is asked who coordinates what, which must be SLURM's.
pub(super) fn coordinators_of(
    value: &Spanned<DeValue>,
    clusters: &[Cluster],
    problems: &mut Problems,
) -> Vec<String> {
    let DeValue::Table(table) = value.get_ref() else { return Vec::new() };
    let Some(value) = table.get("coordinators_of") else { return Vec::new() };
    let names = words("access.coordinators_of", value, problems);
    let is_slurm = |cluster: &&Cluster| cluster.kind == Kind::Slurm;
    let known: Vec<&str> =
        clusters.iter().filter(is_slurm).map(|cluster| cluster.name.as_str()).collect();
    for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
        let advice = advice(name, &known);
        let words = format!("access.coordinators_of: there is no SLURM cluster {name:?}: {advice}");
        problems.add(value.span(), words);
    }
    names
}

/// Where users, tokens and the secret of pseudonyms are kept if nobody says.
pub(super) fn unsaid_folder(state_dir: &Path) -> PathBuf {
    state_dir.join(FOLDER)
}

/// Has the folder begin at the file's, or else at `state_dir`.
pub(super) fn below(mut access: Access, folder: &Path, state_dir: &Path) -> Access {
    access.folder = if access.folder.as_os_str().is_empty() {
        unsaid_folder(state_dir)
    } else {
        folder.join(access.folder)
    };
    access
}

fn is_public(value: &Spanned<DeValue>, problems: &mut Problems) -> bool {
    const WORDS: [&str; 2] = ["nobody", "public"];
    let Some(word) = string("access.anonymous", "a string", value, problems) else { return false };
    if !WORDS.contains(&word) {
        let advice = advice(word, &WORDS);
        problems.add(value.span(), format!("access.anonymous: there is no {word:?}: {advice}"));
    }
    word == "public"
}

fn coordinators(
    value: &Spanned<DeValue>,
    problems: &mut Problems,
) -> BTreeMap<String, Vec<String>> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("access.coordinators", "a table ([access.coordinators])", value, problems);
        return BTreeMap::new();
    };
    let accounts = |(user, accounts): (&Spanned<_>, &Spanned<DeValue>)| {
        let user: &std::borrow::Cow<str> = user.get_ref();
        let key = format!("access.coordinators.{}", user.escape_debug());
        (user.to_string(), words(&key, accounts, problems))
    };
    table.iter().map(accounts).collect()
}

fn proxy(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Proxy> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("access.proxy", "a table ([access.proxy])", value, problems);
        return None;
    };
    unknown_keys(table, &["header", "trusted"], problems);
    let needed = |name: &str, example: &str, problems: &mut Problems| {
        if !table.contains_key(name) {
            let words = format!("access.proxy.{name}: missing: write {name} = {example}");
            problems.add(value.span(), words);
        }
    };
    needed("header", "\"X-Remote-User\"", problems);
    needed("trusted", "[\"127.0.0.1\"]", problems);
    let header = header(table.get("header")?, problems);
    let trusted = trusted(table, problems);
    Some(Proxy { header: header?, trusted })
}

fn header(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<String> {
    let name = string("access.proxy.header", "a string", value, problems)?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if name.is_empty() || !name.chars().all(fits) {
        let words = format!("access.proxy.header: {name:?} is no name of a header");
        problems.add(value.span(), words);
    }
    Some(name.to_ascii_lowercase())
}

fn trusted(table: &DeTable, problems: &mut Problems) -> Vec<Network> {
    let Some(value) = table.get("trusted") else { return Vec::new() };
    let mut networks = Vec::new();
    for text in words("access.proxy.trusted", value, problems) {
        match text.parse() {
            Ok(network) => networks.push(network),
            Err(wrong) => problems.add(value.span(), format!("access.proxy.trusted: {wrong}")),
        }
    }
    networks
}
