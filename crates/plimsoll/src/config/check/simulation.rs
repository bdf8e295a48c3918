//! `[simulation]` and the clusters with `simulated = true`: the site of `plimsoll demo`.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp};
use source::simulated::{Scale, Simulation, Site};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Kind, Problems, advice, boolean, unknown_keys, whole_number, wrong_type};

/// The file's `[simulation]`. One that is wrong counts as there, so that clusters need not complain too.
pub(super) enum Simulated {
    Missing,
    Wrong,
    Site(Simulation),
}

/// All jobs of the simulated site are kept in memory, so a mistyped year must not be simulated.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 400);

pub(super) fn simulation(document: &DeTable, problems: &mut Problems) -> Simulated {
    let Some((_, value)) = document.get_key_value("simulation") else {
        return Simulated::Missing;
    };
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("simulation", "a table ([simulation])", value, problems);
        return Simulated::Wrong;
    };
    unknown_keys(table, &["seed", "start", "history_end", "end"], problems);
    let missing = |name: &str, example: &str, problems: &mut Problems| {
        let words = format!("simulation.{name}: missing: write {name} = {example}");
        problems.add(value.span(), words);
    };
    let seed = match table.get("seed") {
        Some(seed) => whole_number("simulation.seed", seed, 0..=i64::MAX as usize, problems),
        None => {
            missing("seed", "1", problems);
            None
        }
    };
    let mut time = |name: &str, example: &str| match table.get(name) {
        Some(value) => moment(&format!("simulation.{name}"), value, problems),
        None => {
            missing(name, example, problems);
            None
        }
    };
    let start = time("start", "2026-11-01T00:00:00Z");
    let history_end = time("history_end", "2026-11-15T00:00:00Z");
    let end = time("end", "2026-11-22T00:00:00Z");
    let (Some(seed), Some(start), Some(history_end), Some(end)) = (seed, start, history_end, end)
    else {
        return Simulated::Wrong;
    };
    let (key, words) = if history_end <= start {
        ("history_end", "it must be after simulation.start".to_owned())
    } else if end < history_end {
        ("end", "it must not be before simulation.history_end".to_owned())
    } else if end.duration_since(start) > LONGEST {
        (
            "end",
            format!("it may be at most {} days after simulation.start", LONGEST.as_hours() / 24),
        )
    } else {
        let scale = Scale::demo_between(seed as u64, start, end);
        return Simulated::Site(Simulation::new(scale, history_end));
    };
    let span = table.get(key).map_or(value.span(), Spanned::span);
    problems.add(span, format!("simulation.{key}: {words}"));
    Simulated::Wrong
}

fn moment(key: &str, value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Timestamp> {
    let expected = "a time with its zone, such as 2026-11-01T00:00:00Z";
    let DeValue::Datetime(time) = value.get_ref() else {
        wrong_type(key, expected, value, problems);
        return None;
    };
    let moment = time.to_string().parse().ok();
    if moment.is_none() {
        problems.add(value.span(), format!("{key}: expected {expected}, found {time}"));
    }
    moment
}

/// The simulation that a cluster runs on, if the cluster says so.
pub(super) fn of_cluster(
    table: &DeTable,
    kind: Option<Kind>,
    simulated: &Simulated,
    problems: &mut Problems,
) -> Option<Simulation> {
    let value = table.get("simulated")?;
    if !boolean("cluster.simulated", value, problems)? {
        return None;
    }
    if let Some(prefix) = table.get("command_prefix") {
        let words =
            "cluster.command_prefix: a simulated cluster runs no commands: remove this line";
        problems.add(prefix.span(), words);
    }
    site_cluster(table, kind, problems);
    match simulated {
        Simulated::Site(simulation) => Some(simulation.clone()),
        Simulated::Wrong => None,
        Simulated::Missing => {
            let words = "cluster.simulated: the file has no [simulation]: write one with seed, \
                         start, history_end and end, as `plimsoll demo` does";
            problems.add(value.span(), words);
            None
        }
    }
}

/// Complains of a name or a kind that the simulated site does not have.
fn site_cluster(table: &DeTable, kind: Option<Kind>, problems: &mut Problems) {
    let Some(value) = table.get("name") else { return };
    let DeValue::String(name) = value.get_ref() else { return };
    let expected = match name.as_ref() {
        name if name == Site::slurm_cluster() => Kind::Slurm,
        name if name == Site::condor_pool() => Kind::Htcondor,
        name => {
            let advice = advice(name, &Site::clusters());
            let words = format!("cluster.name: the simulated site has no {name:?}: {advice}");
            problems.add(value.span(), words);
            return;
        }
    };
    if let (Some(kind), Some(value)) = (kind, table.get("kind"))
        && kind != expected
    {
        let expected = expected.name();
        let words = format!("cluster.kind: the simulated {name} is of kind {expected:?}");
        problems.add(value.span(), words);
    }
}

/// Complains of a simulation that no cluster runs on, and of real clusters beside simulated ones: the
/// clock of a simulation stands still at its end.
pub(super) fn mixture(simulated: &Simulated, document: &DeTable, problems: &mut Problems) {
    let Simulated::Site(_) = simulated else { return };
    let clusters = match document.get("cluster").map(Spanned::get_ref) {
        Some(DeValue::Array(elements)) => elements.iter().collect(),
        _ => Vec::new(),
    };
    let is_simulated = |element: &&Spanned<DeValue>| {
        let DeValue::Table(table) = element.get_ref() else { return false };
        matches!(table.get("simulated").map(Spanned::get_ref), Some(DeValue::Boolean(true)))
    };
    if !clusters.iter().any(is_simulated) {
        let words =
            "simulation: no cluster is simulated: write simulated = true below a [[cluster]]";
        problems.add(span_of(document, "simulation"), words);
        return;
    }
    for element in clusters.into_iter().filter(|element| !is_simulated(element)) {
        let words = "cluster: simulated and real clusters cannot share a file: write simulated = true, \
                     or move this cluster to a file of its own";
        problems.add(element.span(), words);
    }
}

fn span_of(document: &DeTable, key: &str) -> Range<usize> {
    document.get(key).map_or(0..0, Spanned::span)
}
