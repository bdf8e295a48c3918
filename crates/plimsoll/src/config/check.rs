//! From bytes to a [`Config`], or to everything that is wrong with them.
//!
//! The parsed document is walked by hand rather than by a derived reader, which would stop at
//! the first error.

mod allocation;
mod data_dir;
mod digest;
mod gpu;
mod mail;
mod memory;
mod notify;
mod push;
mod simulation;

pub(super) use digest::default_digests;
pub(crate) use memory::memory_limit;
pub(super) use notify::default_notify;

pub(super) use allocation::{
    Entry as AllocationEntry, KEYS as KEYS_OF_ALLOCATIONS, Known as AllocationKnown, complaint,
};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use source::slurm::Backfill;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::search_server::{Place, search_server};
use super::{
    Cluster, Config, ConfigError, Digests, Environment, Kind, LONGEST_CLUSTER_NAME, Mail, Notify,
    OpenId, SearchServer, Sink, access, is_cluster_name, shown,
};
use query::metric::MetricOptions;
use query::{Allocation, Judgement, Memory, Preemptible, nearest};
use record::IdleGpu;
use serve::{Access, Constant};

/// The lake is made of days: a cluster that is sampled less than daily has days without a sample.
pub(crate) const LONGEST_CADENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads a file's bytes. `path` is absolute: relative paths in the file begin at its folder.
pub(super) fn config(
    path: &Path,
    bytes: &[u8],
    environment: &Environment,
) -> Result<Config, ConfigError> {
    let file = shown(path, environment);
    let text = str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let (line, column) = place(&valid, valid.len());
        ConfigError { problems: vec![format!("{file}:{line}:{column}: not UTF-8 from here on")] }
    })?;
    // A byte order mark is no character of the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);

    let mut problems = Problems::default();
    let (document, syntax_errors) = DeTable::parse_recoverable(text);
    for error in &syntax_errors {
        let span = error.span().unwrap_or(0..0);
        let words = match text.get(span.clone()).map(str::trim) {
            None | Some("") => error.message().to_owned(),
            Some(culprit) => format!("{}: {:?}", error.message(), shortened(culprit)),
        };
        problems.add(span, words);
    }
    // What a document with broken syntax means is a guess: its errors are told first, alone.
    let settings = if syntax_errors.is_empty() {
        settings(document.get_ref(), &mut problems, &|offset| place(text, offset).0)
    } else {
        Settings::default()
    };

    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut of_file = Vec::new();
    let mut allocations = settings.allocations;
    if let Some((name, span)) = settings.allocation_file {
        let known = known(&settings.groups, &settings.clusters);
        match allocations_of_file(&folder.join(&name), &known, environment) {
            Ok(others) => add_others(&mut allocations, others, &name, span, &mut problems),
            Err(error) => of_file = error.problems,
        }
    }

    let (data_dir, own_state_dir) =
        settings.folders.below(folder, &environment.store_settings, &mut problems);

    if problems.found.is_empty() && of_file.is_empty() {
        let judgement = Judgement {
            preemptible: settings.clusters.iter().filter_map(preemptible).collect(),
            ..settings.judgement
        };
        let state_dir = own_state_dir.as_deref().or(data_dir.folder());
        let state_dir = state_dir.expect("the history is in a folder, or state_dir is said");
        let access = settings.access.map(|known| access::below(known, folder, state_dir));
        Ok(Config {
            path: Some(path.to_owned()),
            data_dir,
            own_state_dir,
            zone: settings.zone.unwrap_or_else(|| environment.system_zone.clone()),
            memory: settings.memory,
            clusters: settings.clusters.into_iter().map(|cluster| below(folder, cluster)).collect(),
            groups: settings.groups,
            allocations,
            constants: settings.constants,
            judgement: Arc::new(judgement),
            metrics: settings.metrics,
            sinks: settings.sinks.into_iter().map(|sink| sink.below(folder)).collect(),
            access,
            openid: settings.openid.map(|openid| openid.below(folder)),
            coordinators_of: settings.coordinators_of,
            mail: settings.mail.map(|mail| mail.below(folder)),
            digests: settings.digests.unwrap_or_else(default_digests).below(folder),
            notify: settings.notify.unwrap_or_else(default_notify),
        })
    } else {
        // Tables come in the order of their keys; a reader goes through the file.
        problems.found.sort_by_key(|(span, _)| span.start);
        // The parser may say one thing several times, such as of brackets left open.
        problems.found.dedup();
        let lines = problems.found.into_iter().map(|(span, words)| {
            let (line, column) = place(text, span.start);
            format!("{file}:{line}:{column}: {words}")
        });
        Err(ConfigError { problems: lines.chain(of_file).collect() })
    }
}

/// What allocations may name.
fn known<'a>(
    groups: &'a BTreeMap<String, Vec<String>>,
    clusters: &'a [Cluster],
) -> AllocationKnown<'a> {
    let clusters = clusters.iter().map(|cluster| cluster.name.as_str());
    AllocationKnown { groups, clusters: clusters.collect() }
}

fn allocations_of_file(
    path: &Path,
    known: &AllocationKnown<'_>,
    environment: &Environment,
) -> Result<Vec<Allocation>, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        super::unreadable(path, ", which allocation_file names", &error, environment)
    })?;
    let file = shown(path, environment);
    super::allocation_file::allocations(&text, known).map_err(|problems| ConfigError {
        problems: problems.into_iter().map(|problem| format!("{file}:{problem}")).collect(),
    })
}

/// Adds what a file says to what the configuration says; of two of one name neither counts.
fn add_others(
    allocations: &mut Vec<Allocation>,
    others: Vec<Allocation>,
    file: &str,
    span: Range<usize>,
    problems: &mut Problems,
) {
    for other in others {
        if allocations.iter().any(|one| one.name == other.name) {
            let words =
                format!("allocation_file: {:?} is in {file} and here: keep one", other.name);
            problems.add(span.clone(), words);
        }
        allocations.push(other);
    }
}

/// A cluster whose relative paths begin at a folder.
fn below(folder: &Path, cluster: Cluster) -> Cluster {
    let job_history = cluster.job_history.map(|history| history.below(folder));
    Cluster { job_history, ..cluster }
}

/// What the file says, before defaults.
#[derive(Default)]
struct Settings {
    folders: data_dir::Folders,
    zone: Option<TimeZone>,
    memory: Memory,
    clusters: Vec<Cluster>,
    groups: BTreeMap<String, Vec<String>>,
    allocations: Vec<Allocation>,
    /// A file that has more of them, and where it is named.
    allocation_file: Option<(String, Range<usize>)>,
    constants: BTreeMap<String, Constant>,
    judgement: Judgement,
    metrics: MetricOptions,
    sinks: Vec<Sink>,
    access: Option<Access>,
    openid: Option<OpenId>,
    coordinators_of: Vec<String>,
    mail: Option<Mail>,
    digests: Option<Digests>,
    notify: Option<Notify>,
}

/// What is wrong, and where.
#[derive(Default)]
pub(super) struct Problems {
    found: Vec<(Range<usize>, String)>,
}

impl Problems {
    pub(super) fn add(&mut self, span: Range<usize>, words: impl Into<String>) {
        self.found.push((span, words.into()));
    }
}

fn settings(
    document: &DeTable,
    problems: &mut Problems,
    line: &dyn Fn(usize) -> usize,
) -> Settings {
    let mut settings = Settings::default();
    const KEYS: [&str; 17] = [
        "data_dir",
        "state_dir",
        "zone",
        "memory_limit",
        "simulation",
        "cluster",
        "groups",
        "gpu",
        "metrics",
        "push",
        "access",
        "allocation",
        "allocation_file",
        "constants",
        "mail",
        "digest",
        "notify",
    ];
    unknown_keys(document, &KEYS, problems);
    let (data_dir, state_dir) = (document.get("data_dir"), document.get("state_dir"));
    settings.folders = data_dir::Folders::read(data_dir, state_dir, problems);
    if let Some(value) = document.get("zone") {
        settings.zone = zone(value, problems);
    }
    if let Some(value) = document.get("memory_limit") {
        settings.memory = memory::memory(value, problems);
    }
    let simulated = simulation::simulation(document, problems);
    if let Some(value) = document.get("cluster") {
        settings.clusters = clusters(value, &simulated, problems, line);
    }
    simulation::mixture(&simulated, document, problems);
    if let Some(value) = document.get("groups") {
        settings.groups = groups(value, problems);
    }
    if let Some(value) = document.get("gpu") {
        settings.judgement = gpu::judgement(value, problems);
    }
    if let Some(value) = document.get("metrics") {
        settings.metrics = metrics(value, problems);
    }
    if let Some(value) = document.get("push") {
        settings.sinks = push::sinks(value, problems);
    }
    if let Some(value) = document.get("access") {
        let (access, openid) = access::access(value, problems);
        (settings.access, settings.openid) = (Some(access), openid);
        settings.coordinators_of = access::coordinators_of(value, &settings.clusters, problems);
    }
    if let Some(value) = document.get("allocation") {
        let known = known(&settings.groups, &settings.clusters);
        settings.allocations = allocation::allocations(value, &known, problems);
    }
    if let Some(value) = document.get("allocation_file") {
        settings.allocation_file = allocation::file(value, problems);
    }
    if let Some(value) = document.get("constants") {
        settings.constants = constants(value, problems);
    }
    if let Some(value) = document.get("mail") {
        settings.mail = mail::mail(value, problems);
    }
    if let Some(value) = document.get("digest") {
        settings.digests = Some(digest::digests(value, problems));
    }
    if let Some(value) = document.get("notify") {
        settings.notify = Some(notify::notify(value, problems));
    }
    settings
}

fn zone(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<TimeZone> {
    let name = string("zone", "a string", value, problems)?;
    let zone = TimeZone::get(name).ok();
    if zone.is_none() {
        let known: Vec<String> = jiff::tz::db().available().map(|zone| zone.to_string()).collect();
        let advice = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "write a name such as \"America/Chicago\"".to_owned(),
        };
        problems.add(value.span(), format!("zone: unknown time zone {name:?}: {advice}"));
    }
    zone
}

fn clusters(
    value: &Spanned<DeValue>,
    simulated: &simulation::Simulated,
    problems: &mut Problems,
    line: &dyn Fn(usize) -> usize,
) -> Vec<Cluster> {
    let DeValue::Array(elements) = value.get_ref() else {
        let words = format!("cluster: write [[cluster]], not {}", type_name(value.get_ref()));
        problems.add(value.span(), words);
        return Vec::new();
    };
    let mut lines_by_name = HashMap::new();
    let mut clusters = Vec::new();
    for element in elements {
        let DeValue::Table(table) = element.get_ref() else {
            wrong_type("cluster", "a table", element, problems);
            continue;
        };
        let Some(cluster) = cluster(table, element.span(), simulated, problems) else {
            continue;
        };
        let span = table.get("name").map_or(element.span(), Spanned::span);
        if let Some(first) = lines_by_name.get(&cluster.name) {
            let name = &cluster.name;
            let words =
                format!("cluster.name: {name:?} is already the name of a cluster, in line {first}");
            problems.add(span, words);
        } else {
            lines_by_name.insert(cluster.name.clone(), line(span.start));
        }
        clusters.push(cluster);
    }
    clusters
}

/// A cluster whose name could be read; the rest may be wrong, and then is a problem.
fn cluster(
    table: &DeTable,
    span: Range<usize>,
    simulated: &simulation::Simulated,
    problems: &mut Problems,
) -> Option<Cluster> {
    const KEYS: [&str; 10] = [
        "name",
        "kind",
        "simulated",
        "command_prefix",
        "time_limit",
        "cadence",
        "slurm_cluster",
        "backfill_partitions",
        "backfill_qos",
        "job_history",
    ];
    unknown_keys(table, &KEYS, problems);
    let kind = match table.get("kind") {
        Some(value) => kind(value, problems),
        None => {
            let words = "cluster.kind: missing: write kind = \"slurm\" or kind = \"htcondor\"";
            problems.add(span.clone(), words);
            None
        }
    };
    let command_prefix = table
        .get("command_prefix")
        .map(|value| words("cluster.command_prefix", value, problems))
        .unwrap_or_default();
    let time = |key: &str, problems: &mut Problems| {
        table.get(key).and_then(|value| time(&format!("cluster.{key}"), value, problems))
    };
    let own_cadence = time("cadence", problems);
    let time_limit = time("time_limit", problems);
    let slurm_cluster =
        table.get("slurm_cluster").and_then(|value| slurm_cluster(value, kind, problems));
    let backfill = Backfill {
        partitions: backfill("backfill_partitions", table, kind, problems),
        qos: backfill("backfill_qos", table, kind, problems),
    };
    let job_history = table.get("job_history").and_then(|value| job_history(value, kind, problems));
    let simulation = simulation::of_cluster(table, kind, simulated, problems);
    let name = match table.get("name") {
        Some(value) => cluster_name(value, problems),
        None => {
            problems.add(span, "cluster.name: missing: every cluster needs one");
            None
        }
    };
    Some(Cluster {
        name: name?,
        // A stand-in for what is wrong: with a problem on record no cluster is handed out.
        kind: kind.unwrap_or(Kind::Slurm),
        command_prefix,
        time_limit,
        own_cadence,
        slurm_cluster,
        backfill,
        job_history,
        simulation,
    })
}

/// Who else keeps the history of a pool's jobs.
fn job_history(
    value: &Spanned<DeValue>,
    kind: Option<Kind>,
    problems: &mut Problems,
) -> Option<SearchServer> {
    const PLACE: Place = Place {
        key: "cluster.job_history",
        other_keys: &[],
        example_index: "htcondor-*",
        pattern: "*,:+",
    };
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type(PLACE.key, "a table ([cluster.job_history])", value, problems);
        return None;
    };
    if kind == Some(Kind::Slurm) {
        problems.add(value.span(), format!("{}: only an htcondor cluster has one", PLACE.key));
    }
    search_server(table, value.span(), &PLACE, problems)
}

/// What of a cluster is backfill, for questions about its jobs.
fn preemptible(cluster: &Cluster) -> Option<Preemptible> {
    let Backfill { partitions, qos } = cluster.backfill.clone();
    let place = Preemptible { cluster: cluster.name.clone(), partitions, qos };
    (place.partitions.len() + place.qos.len() > 0).then_some(place)
}

/// The partitions or the QOS whose jobs give way to others.
fn backfill(
    key: &str,
    table: &DeTable,
    kind: Option<Kind>,
    problems: &mut Problems,
) -> Vec<String> {
    let Some(value) = table.get(key) else { return Vec::new() };
    let key = format!("cluster.{key}");
    if kind == Some(Kind::Htcondor) {
        let words =
            format!("{key}: only a slurm cluster has any; HTCondor's slots say it themselves");
        problems.add(value.span(), words);
    }
    words(&key, value, problems)
}

/// The name is an argument of commands, so it must not look like an option or a list.
fn slurm_cluster(
    value: &Spanned<DeValue>,
    kind: Option<Kind>,
    problems: &mut Problems,
) -> Option<String> {
    let name = string("cluster.slurm_cluster", "a string", value, problems)?;
    if kind == Some(Kind::Htcondor) {
        problems.add(value.span(), "cluster.slurm_cluster: only a slurm cluster has one");
    } else if !is_cluster_name(name) {
        let words = format!("cluster.slurm_cluster: {name:?} is no name of a SLURM cluster");
        problems.add(value.span(), words);
    }
    Some(name.to_owned())
}

fn cluster_name(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<String> {
    let name = string("cluster.name", "a string", value, problems)?;
    if !is_cluster_name(name) {
        let words = format!(
            "cluster.name: {name:?} cannot name a folder: use letters, digits, '.', '_' and '-', \
             a letter or a digit first, at most {LONGEST_CLUSTER_NAME}"
        );
        problems.add(value.span(), words);
        return None;
    }
    Some(name.to_owned())
}

fn kind(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Kind> {
    let name = string("cluster.kind", "a string", value, problems)?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    if kind.is_none() {
        let advice = advice(name, &Kind::ALL.map(Kind::name));
        problems.add(value.span(), format!("cluster.kind: unknown scheduler {name:?}: {advice}"));
    }
    kind
}

fn time(key: &str, value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Duration> {
    let written = string(key, "a string such as \"5m\"", value, problems)?;
    let problem = match duration(written) {
        None => "is not a whole number and s, m or h, such as \"5m\"",
        Some(Duration::ZERO) => "is no time at all",
        Some(time) if time > LONGEST_CADENCE => "is more than a day (24h)",
        Some(time) => return Some(time),
    };
    problems.add(value.span(), format!("{key}: {written:?} {problem}"));
    None
}

/// A whole number of seconds, minutes or hours. More than fits is the longest time there is.
pub(crate) fn duration(written: &str) -> Option<Duration> {
    let unit_seconds = match written.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        _ => return None,
    };
    let number = &written[..written.len() - 1];
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = number.parse::<u64>().unwrap_or(u64::MAX);
    Some(Duration::from_secs(number.saturating_mul(unit_seconds)))
}

fn metrics(value: &Spanned<DeValue>, problems: &mut Problems) -> MetricOptions {
    /// More would be a number a user, which is what a limit is to prevent.
    const MOST: usize = 10_000;
    let mut options = MetricOptions::default();
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("metrics", "a table ([metrics])", value, problems);
        return options;
    };
    unknown_keys(table, &["top", "idle_gpu_needs_cpu"], problems);
    if let Some(value) = table.get("top")
        && let Some(top) = whole_number("metrics.top", value, 0..=MOST, problems)
    {
        options.top = top;
    }
    if let Some(value) = table.get("idle_gpu_needs_cpu") {
        options.idle_gpu = match boolean("metrics.idle_gpu_needs_cpu", value, problems) {
            Some(true) => IdleGpu::NeedsCpu,
            _ => IdleGpu::Always,
        };
    }
    options
}

/// A whole number within a range.
fn whole_number(
    key: &str,
    value: &Spanned<DeValue>,
    range: RangeInclusive<usize>,
    problems: &mut Problems,
) -> Option<usize> {
    let DeValue::Integer(number) = value.get_ref() else {
        wrong_type(key, "a whole number", value, problems);
        return None;
    };
    let number = usize::from_str_radix(number.as_str(), number.radix()).ok();
    let number = number.filter(|number| range.contains(number));
    if number.is_none() {
        let words = format!("{key}: write {} to {}", range.start(), range.end());
        problems.add(value.span(), words);
    }
    number
}

fn boolean(key: &str, value: &Spanned<DeValue>, problems: &mut Problems) -> Option<bool> {
    match value.get_ref() {
        DeValue::Boolean(yes) => Some(*yes),
        _ => {
            wrong_type(key, "true or false", value, problems);
            None
        }
    }
}

/// What the site says of itself for other dashboards.
fn constants(value: &Spanned<DeValue>, problems: &mut Problems) -> BTreeMap<String, Constant> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("constants", "a table ([constants])", value, problems);
        return BTreeMap::new();
    };
    let mut constants = BTreeMap::new();
    for (name, value) in table {
        let constant = match value.get_ref() {
            DeValue::String(text) => Some(Constant::Text(text.to_string())),
            other => number(other).map(Constant::Number),
        };
        match constant {
            Some(constant) => {
                constants.insert(name.get_ref().to_string(), constant);
            }
            None => {
                let key = format!("constants.{}", name.get_ref().escape_debug());
                wrong_type(&key, "a number or a string", value, problems);
            }
        }
    }
    constants
}

/// A number above zero.
fn above_zero(path: &str, key: &str, table: &DeTable, problems: &mut Problems) -> Option<f64> {
    let value = table.get(key)?;
    if !matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_)) {
        wrong_type(path, "a number", value, problems);
        return None;
    }
    let number = number(value.get_ref()).filter(|number| *number > 0.0);
    if number.is_none() {
        problems.add(value.span(), format!("{path}: a number above zero"));
    }
    number
}

/// A number that is one, whole or not.
fn number(value: &DeValue) -> Option<f64> {
    let number = match value {
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number as f64)
        }
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn groups(value: &Spanned<DeValue>, problems: &mut Problems) -> BTreeMap<String, Vec<String>> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("groups", "a table ([groups])", value, problems);
        return BTreeMap::new();
    };
    let mut groups = BTreeMap::new();
    for (name, members) in table {
        if name.get_ref().is_empty() {
            problems.add(name.span(), "groups: a group's name is empty");
        }
        let key = format!("groups.{}", name.get_ref().escape_debug());
        groups.insert(name.get_ref().to_string(), words(&key, members, problems));
        repeated_users(&key, members, problems);
    }
    groups
}

/// A user who stands twice in one group would count twice.
fn repeated_users(key: &str, members: &Spanned<DeValue>, problems: &mut Problems) {
    let DeValue::Array(members) = members.get_ref() else { return };
    let mut seen = HashSet::new();
    for member in members {
        if let DeValue::String(user) = member.get_ref()
            && !seen.insert(user)
        {
            problems.add(member.span(), format!("{key}: {user:?} stands here twice"));
        }
    }
}

/// A list of words, none empty.
pub(super) fn words(key: &str, value: &Spanned<DeValue>, problems: &mut Problems) -> Vec<String> {
    let DeValue::Array(elements) = value.get_ref() else {
        wrong_type(key, "an array of strings", value, problems);
        return Vec::new();
    };
    let mut words = Vec::new();
    for element in elements {
        let Some(word) = string(key, "strings only", element, problems) else { continue };
        if word.is_empty() {
            problems.add(element.span(), format!("{key}: an empty string"));
        }
        words.push(word.to_owned());
    }
    words
}

pub(super) fn string<'a>(
    key: &str,
    expected: &str,
    value: &'a Spanned<DeValue>,
    problems: &mut Problems,
) -> Option<&'a str> {
    match value.get_ref() {
        DeValue::String(text) => Some(text),
        _ => {
            wrong_type(key, expected, value, problems);
            None
        }
    }
}

pub(super) fn wrong_type(
    key: &str,
    expected: &str,
    value: &Spanned<DeValue>,
    problems: &mut Problems,
) {
    let found = type_name(value.get_ref());
    problems.add(value.span(), format!("{key}: expected {expected}, found {found}"));
}

fn type_name(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn unknown_keys(table: &DeTable, valid: &[&str], problems: &mut Problems) {
    for key in table.keys() {
        let name: &str = key.get_ref();
        if !valid.contains(&name) {
            let advice = advice(name, valid);
            problems.add(key.span(), format!("unknown key {name:?}: {advice}"));
        }
    }
}

pub(super) fn advice(wrong: &str, valid: &[&str]) -> String {
    match nearest(wrong, valid.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => {
            let names: Vec<String> = valid.iter().map(|name| format!("{name:?}")).collect();
            format!("there are {}", names.join(", "))
        }
    }
}

/// The beginning of the first line.
fn shortened(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(40).collect()
}

/// Line and column of an offset, from 1, in characters.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
