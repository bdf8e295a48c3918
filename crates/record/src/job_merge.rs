//! Merges observations of one attempt, column by column.
//!
//! An attempt is observed many times: by the queue, by the accounts, by imports of other histories. Each
//! observation may lack values that another one has. SLURM, for example, purges the steps of a job long
//! before the job, and CPU time and memory with them. So a column's mark in [`Job`] says how it is merged:
//!
//! - **No mark**: the value of the *latest* observation, known or not. These columns say how the attempt
//!   stands (state, end, reasons) and belong together: a blank exit code of an evicted execution is a
//!   statement.
//! - **`kept`**: the latest known value. `earlier_values` records the origin of each value that the latest
//!   observation lacks, or a third observation could not be ordered between the two.
//! - **`ended`**: the same among the observations after the end of the attempt. Before it, the value of the
//!   latest observation: the time that an attempt has run so far is not the time that it ran, and a time limit
//!   may be lifted.
//! - **`largest`**: the largest known value, of which `earlier_values` records the origin too. Energy is that
//!   of the steps, and is understated once some are purged.
//! - **`measured`**: the most complete measurement. An observation without some of the steps can only
//!   understate CPU time and memory, so the larger value counts, whenever it was observed. CPU time and
//!   memory are merged separately, and so are GPU use and GPU memory.
//! - **`derived`**: computed from the merged row.
//!
//! The latest observation is the one with the highest [`ObservationRank`]: an attempt waits, runs and ends,
//! and never goes back, for a requeue begins another attempt. Of two observations in the same phase the
//! scheduler's own counts before a copy of it, and then the time.
//!
//! Each column is the maximum of a total order, so merging is commutative, associative and idempotent.

use std::cmp::Ordering;
use std::str::FromStr;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Job, MergeOutcome, Record, Text};

/// How a column is merged whose values have origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptRule {
    Kept,
    Ended,
    Largest,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AttemptPhase {
    Waiting,
    Started,
    Ended,
}

impl AttemptPhase {
    const ALL: [(&str, AttemptPhase); 3] = [
        ("waiting", AttemptPhase::Waiting),
        ("started", AttemptPhase::Started),
        ("ended", AttemptPhase::Ended),
    ];

    fn of(job: &Job) -> AttemptPhase {
        match (job.is_complete && job.end_time.is_some(), job.start_time) {
            (true, _) => AttemptPhase::Ended,
            // Also an attempt that was closed because the scheduler no longer reports it: its end is
            // unknown, and the scheduler may report it again.
            (false, Some(_)) => AttemptPhase::Started,
            (false, None) => AttemptPhase::Waiting,
        }
    }

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// How close a source is to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SourceAuthority {
    /// Another tool's history. The archive has it unless its files were removed: `plimsoll reprocess`
    /// replaces a stored value of it only by one that is derived from an import, too.
    Import,
    /// A server that holds copies of job ads, which may lack attributes or hold rounded ones.
    Copy,
    Scheduler,
}

impl SourceAuthority {
    fn of(source: &str) -> SourceAuthority {
        match source {
            "slurm-usage" => SourceAuthority::Import,
            "elasticsearch" => SourceAuthority::Copy,
            _ => SourceAuthority::Scheduler,
        }
    }
}

/// Orders the observations of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObservationRank {
    phase: AttemptPhase,
    authority: SourceAuthority,
    time: Timestamp,
}

impl ObservationRank {
    fn of(job: &Job) -> ObservationRank {
        ObservationRank {
            phase: AttemptPhase::of(job),
            authority: SourceAuthority::of(&job.source),
            time: as_stored(job.observed_time),
        }
    }

    fn key(&self) -> (u64, u64, Timestamp) {
        (self.phase as u64, self.authority as u64, self.time)
    }
}

/// A time in the precision of the lake, so that a row ranks the same before and after it is stored.
fn as_stored(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

/// The observation that a value comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ValueOrigin<'a> {
    rank: ObservationRank,
    source: &'a str,
}

impl<'a> ValueOrigin<'a> {
    fn of(job: &'a Job) -> ValueOrigin<'a> {
        ValueOrigin { rank: ObservationRank::of(job), source: &job.source }
    }

    /// Reads `squeue/waiting/2026-01-01T11:00:00Z`.
    fn read(text: &'a str) -> Option<ValueOrigin<'a>> {
        let mut words = text.splitn(3, '/');
        let (source, phase, time) = (words.next()?, words.next()?, words.next()?);
        let (_, phase) = AttemptPhase::ALL.into_iter().find(|(name, _)| *name == phase)?;
        let authority = SourceAuthority::of(source);
        let time = Timestamp::from_str(time).ok()?;
        Some(ValueOrigin { rank: ObservationRank { phase, authority, time }, source })
    }

    fn text(&self) -> String {
        format!("{}/{}/{}", self.source, self.rank.phase.name(), self.rank.time)
    }
}

/// The origins of a row's kept values.
struct ValueOrigins<'a> {
    own: ValueOrigin<'a>,
    earlier: Vec<(&'a str, ValueOrigin<'a>)>,
}

impl<'a> ValueOrigins<'a> {
    fn of(job: &'a Job) -> ValueOrigins<'a> {
        let entries = job.earlier_values.as_deref().unwrap_or_default().split(", ");
        let read = |entry: &'a str| {
            let (column, origin) = entry.split_once('=')?;
            Some((column, ValueOrigin::read(origin)?))
        };
        ValueOrigins { own: ValueOrigin::of(job), earlier: entries.filter_map(read).collect() }
    }

    fn of_column(&self, column: &str) -> ValueOrigin<'a> {
        let earlier = self.earlier.iter().find(|(name, _)| *name == column);
        earlier.map_or(self.own, |(_, origin)| *origin)
    }
}

/// A measured value and where it comes from.
#[derive(Clone, Copy, Debug)]
struct Measurement<'a> {
    value: Option<f64>,
    source: &'a str,
}

/// The source of a measurement for which no source is stored.
const UNNAMED: &str = "unknown";

impl<'a> Measurement<'a> {
    /// CPU time and memory. A row of an older version does not name their source: it is that of the row.
    fn usage(job: &'a Job) -> [Measurement<'a>; 2] {
        let sources = job.usage_source.as_deref().unwrap_or(&job.source);
        Measurement::both(sources, [job.total_cpu_seconds, job.max_rss_mb])
    }

    /// GPU use and GPU memory.
    fn gpu_usage(job: &'a Job) -> [Measurement<'a>; 2] {
        let sources = job.gpu_usage_source.as_deref().unwrap_or(UNNAMED);
        Measurement::both(sources, [job.gpu_utilization, job.gpu_memory_max_mb])
    }

    fn both(sources: &'a str, [first, second]: [Option<f64>; 2]) -> [Measurement<'a>; 2] {
        let (of_first, of_second) = sources.split_once('+').unwrap_or((sources, sources));
        [
            Measurement { value: first, source: of_first },
            Measurement { value: second, source: of_second },
        ]
    }

    /// Names the sources of two measurements.
    fn sources(of: [Measurement<'_>; 2]) -> Option<Text> {
        let sources: Text = match of.map(|one| one.value.map(|_| one.source)) {
            [Some(first), Some(second)] if first != second => format!("{first}+{second}").into(),
            [first, second] => first.or(second)?.into(),
        };
        (sources != UNNAMED).then_some(sources)
    }

    /// Whether it gives way to a measurement that was derived again.
    fn is_rederived(&self, derived: &Measurement<'_>) -> bool {
        self.source == derived.source || self.source == UNNAMED
    }

    /// Orders measurements of one quantity. A mean over time counts before a largest sample, and an exact
    /// value before one that may be rounded.
    fn compare(&self, other: &Measurement<'_>) -> Ordering {
        let quality = |source: &str| match source {
            "elasticsearch" => 0,
            "JS1" => 2,
            _ => 1,
        };
        let is_scheduler = |source: &str| SourceAuthority::of(source) == SourceAuthority::Scheduler;
        let values = || self.value.unwrap_or_default().total_cmp(&other.value.unwrap_or_default());
        match (self.value, other.value) {
            (None, None) => Ordering::Equal,
            (Some(_), Some(_)) => quality(self.source)
                .cmp(&quality(other.source))
                .then_with(values)
                .then_with(|| is_scheduler(self.source).cmp(&is_scheduler(other.source)))
                .then_with(|| self.source.cmp(other.source)),
            (one, other) => one.is_some().cmp(&other.is_some()),
        }
    }
}

/// Merges two observations of one attempt by the rules of this module.
pub(crate) fn merge(one: &Job, other: &Job) -> MergeOutcome<Job> {
    let rank = ObservationRank::of(one);
    let mut order = rank.cmp(&ObservationRank::of(other)).then_with(|| one.compare_latest(other));
    if rank.phase != AttemptPhase::Ended {
        order = order.then_with(|| one.compare_ended(other));
    }
    match order {
        Ordering::Less => flipped(merge_earlier(other, one, None)),
        _ => merge_earlier(one, other, None),
    }
}

/// Merges a row that was derived again from the archive with the stored one. A stored value counts only where
/// the derived row has none: the archive was read anew, perhaps by a version that reads it better.
///
/// The archive may lack what was imported. So an imported value counts as in [`merge`], unless the derived one
/// is imported, too; and so does a measurement, unless the derived one has the same source.
pub(crate) fn rederive(derived: &Job, stored: &Job) -> MergeOutcome<Job> {
    let (rank, derived_rank) = (ObservationRank::of(stored), ObservationRank::of(derived));
    let is_rederived = is_rederived(rank.authority, derived_rank.authority);
    if !is_rederived && rank > derived_rank {
        flipped(merge_earlier(stored, derived, Some(Side::Latest)))
    } else {
        merge_earlier(derived, stored, Some(Side::Earlier))
    }
}

/// Whether a stored value gives way to the one that was derived, by their sources.
fn is_rederived(stored: SourceAuthority, derived: SourceAuthority) -> bool {
    stored != SourceAuthority::Import || derived == SourceAuthority::Import
}

fn flipped(outcome: MergeOutcome<Job>) -> MergeOutcome<Job> {
    match outcome {
        MergeOutcome::First => MergeOutcome::Second,
        MergeOutcome::Second => MergeOutcome::First,
        new => new,
    }
}

/// One of two rows that are merged.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Latest,
    Earlier,
}

/// Merges an earlier row into the latest. One of the two may be the `stored` row of [`rederive`].
fn merge_earlier(latest: &Job, earlier: &Job, stored: Option<Side>) -> MergeOutcome<Job> {
    if stored.is_none() && supersedes(latest, earlier) {
        return MergeOutcome::First;
    }
    let origins = (ValueOrigins::of(latest), ValueOrigins::of(earlier));
    // By whether one of two values gives way to the other, which was derived again.
    let rederived = |latest: SourceAuthority, earlier: SourceAuthority| match stored {
        Some(Side::Latest) if is_rederived(latest, earlier) => Ordering::Less,
        Some(Side::Earlier) if is_rederived(earlier, latest) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let have_ended = [latest, earlier].map(AttemptPhase::of) == [AttemptPhase::Ended; 2];
    let mut merged = latest.clone();
    let mut earlier_values: Vec<String> = Vec::new();
    merged.merge_kept(earlier, |column, rule, known, values| {
        let (one, other) = (origins.0.of_column(column), origins.1.of_column(column));
        let takes_other = match known {
            _ if rule == KeptRule::Ended && !have_ended => false,
            (_, false) => false,
            (false, true) => true,
            (true, true) => {
                let rederived = rederived(one.rank.authority, other.rank.authority);
                let ranks = one.rank.cmp(&other.rank);
                let order = match rule {
                    KeptRule::Largest => rederived.then(values).then(ranks),
                    KeptRule::Kept | KeptRule::Ended => rederived.then(ranks).then(values),
                };
                order.then_with(|| one.source.cmp(other.source)).is_lt()
            }
        };
        let origin = if takes_other { other } else { one };
        let is_known = if takes_other { known.1 } else { known.0 };
        if is_known && origin != origins.0.own {
            earlier_values.push(format!("{column}={}", origin.text()));
        }
        takes_other
    });
    merged.earlier_values = (!earlier_values.is_empty()).then(|| earlier_values.join(", ").into());

    let usage = better(Measurement::usage(latest), Measurement::usage(earlier), stored);
    [merged.total_cpu_seconds, merged.max_rss_mb] = usage.map(|measured| measured.value);
    merged.usage_source = Measurement::sources(usage);
    let gpu_usage = better(Measurement::gpu_usage(latest), Measurement::gpu_usage(earlier), stored);
    [merged.gpu_utilization, merged.gpu_memory_max_mb] = gpu_usage.map(|measured| measured.value);
    merged.gpu_usage_source = Measurement::sources(gpu_usage);
    merged.set_usage();

    if merged == *latest {
        MergeOutcome::First
    } else if merged == *earlier {
        MergeOutcome::Second
    } else {
        MergeOutcome::New(Box::new(merged))
    }
}

/// The better measurement of each of two quantities.
fn better<'a>(
    latest: [Measurement<'a>; 2],
    earlier: [Measurement<'a>; 2],
    stored: Option<Side>,
) -> [Measurement<'a>; 2] {
    let better = |one: Measurement<'a>, other: Measurement<'a>| {
        let order = match (one.value, other.value, stored) {
            (Some(_), Some(_), Some(Side::Latest)) if one.is_rederived(&other) => Ordering::Less,
            (Some(_), Some(_), Some(Side::Earlier)) if other.is_rederived(&one) => {
                Ordering::Greater
            }
            _ => one.compare(&other),
        };
        if order.is_lt() { other } else { one }
    };
    let ([first, second], [other_first, other_second]) = (latest, earlier);
    [better(first, other_first), better(second, other_second)]
}

/// Whether the latest observation is the result of merging an earlier one into it.
fn supersedes(latest: &Job, earlier: &Job) -> bool {
    let has_better = |latest: [Measurement<'_>; 2], earlier: [Measurement<'_>; 2]| {
        latest.iter().zip(&earlier).all(|(one, other)| one.compare(other).is_ge())
    };
    latest.has_columns_of(ObservationRank::of(earlier).key(), known_columns(earlier))
        && !latest.energy_joules.is_some_and(|energy| Some(energy) < earlier.energy_joules)
        && has_better(Measurement::usage(latest), Measurement::usage(earlier))
        && has_better(Measurement::gpu_usage(latest), Measurement::gpu_usage(earlier))
}

/// The columns with origins that an observation knows, a bit each.
fn known_columns(job: &Job) -> u64 {
    job.known_columns(AttemptPhase::of(job) == AttemptPhase::Ended)
}

/// The part of an observation that decides whether a later one supersedes it. It spares a collection from
/// reading what was stored of an attempt that still runs.
///
/// A number, since a manifest has one for each: from the lowest bit on the authority, the phase, whether
/// anything was measured, the known columns, and from [`LAYOUT_BIT`] on which columns these bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptExtent(u64);

const COLUMNS_BIT: u32 = 5;
const LAYOUT_BIT: u32 = 44;

/// A hash of the columns with origins and their rules, never zero. Another version may have others: the bits
/// of its extents stand for other columns.
static LAYOUT: LazyLock<u64> = LazyLock::new(|| {
    let kept = Job::COLUMN_MARKS.iter().filter_map(|(name, rule)| Some((name, (*rule)?)));
    let text: String = kept.map(|(name, rule)| format!("{name} {rule:?},")).collect();
    // FNV-1a: the same in every process and version.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> LAYOUT_BIT) | 1
});

impl AttemptExtent {
    pub fn of(job: &Job) -> AttemptExtent {
        let mut measured = Measurement::usage(job).into_iter().chain(Measurement::gpu_usage(job));
        let is_measured =
            measured.any(|measured| measured.value.is_some()) || job.energy_joules.is_some();
        let ObservationRank { phase, authority, .. } = ObservationRank::of(job);
        AttemptExtent(
            (*LAYOUT << LAYOUT_BIT)
                | (known_columns(job) << COLUMNS_BIT)
                | (u64::from(is_measured) << 4)
                | ((phase as u64) << 2)
                | authority as u64,
        )
    }

    /// Whether merging the observation, which was made at `time`, into `latest` gives `latest`. One by a
    /// version with other columns must be read.
    pub fn is_superseded_by(self, time: Timestamp, latest: &Job) -> bool {
        let AttemptExtent(bits) = self;
        let rank = ((bits >> 2) & 3, bits & 3, as_stored(time));
        let is_measured = (bits >> 4) & 1 == 1;
        let columns = (bits & ((1 << LAYOUT_BIT) - 1)) >> COLUMNS_BIT;
        bits >> LAYOUT_BIT == *LAYOUT && !is_measured && latest.has_columns_of(rank, columns)
    }
}

impl Job {
    /// Whether it is later than an observation with these known columns, and knows them too.
    fn has_columns_of(&self, rank: (u64, u64, Timestamp), columns: u64) -> bool {
        let names_source = self.usage_source.is_some()
            == (self.total_cpu_seconds.is_some() || self.max_rss_mb.is_some());
        self.earlier_values.is_none()
            && names_source
            && ObservationRank::of(self).key() > rank
            && columns & !known_columns(self) == 0
    }
}

#[cfg(test)]
mod tests;
