//! What was granted to whom: the line that use is compared with.
//!
//! Configuration says it, as it says groups; nothing of it is in the lake. Statements see the
//! tables `allocation`, `allocation_cluster` and `allocation_day`, and ask `allocations_of` which
//! allocations an attempt counts in.

mod line;
mod member;
mod table;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use report::Period;

use crate::{Question, mentions};

pub(crate) use line::line;
pub(crate) use member::question_of_totals;
pub(crate) use table::tables;

/// An amount that somebody may use in some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// What reports call it; no two have one name.
    pub name: String,
    pub holders: Holders,
    /// Where it holds; none named means everywhere.
    pub clusters: Vec<String>,
    pub unit: AllocationUnit,
    pub amount: f64,
    /// Its first day, in the site's zone.
    pub from: Date,
    /// The day after its last.
    pub to: Date,
}

/// Whose attempts count: those of any of these, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// By the names of configuration.
    pub groups: Vec<String>,
    pub accounts: Vec<String>,
    pub users: Vec<String>,
}

/// What an amount is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationUnit {
    pub measure: Measure,
    pub length: Length,
}

/// What is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Gpu,
    /// GPUs times the weight of their model, such as reference GPU units (RGU).
    WeightedGpu,
    Cpu,
    Node,
}

/// For how long it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Hour,
    /// 365 days, whichever year it is.
    Year,
}

impl AllocationUnit {
    /// Every unit with its name, in the order in which documents list them.
    pub const ALL: [(&'static str, AllocationUnit); 8] = [
        ("gpu-hour", AllocationUnit { measure: Measure::Gpu, length: Length::Hour }),
        ("gpu-year", AllocationUnit { measure: Measure::Gpu, length: Length::Year }),
        ("rgu-hour", AllocationUnit { measure: Measure::WeightedGpu, length: Length::Hour }),
        ("rgu-year", AllocationUnit { measure: Measure::WeightedGpu, length: Length::Year }),
        ("cpu-hour", AllocationUnit { measure: Measure::Cpu, length: Length::Hour }),
        ("cpu-year", AllocationUnit { measure: Measure::Cpu, length: Length::Year }),
        ("node-hour", AllocationUnit { measure: Measure::Node, length: Length::Hour }),
        ("node-year", AllocationUnit { measure: Measure::Node, length: Length::Year }),
    ];

    /// The unit of a name.
    pub fn by_name(name: &str) -> Option<AllocationUnit> {
        AllocationUnit::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, unit)| unit)
    }

    pub fn name(self) -> &'static str {
        let named = AllocationUnit::ALL.into_iter().find(|(_, unit)| *unit == self);
        named.expect("every measure is listed with every length").0
    }

    /// How long one of what is measured is held for one of the unit.
    pub(crate) fn seconds(self) -> f64 {
        match self.length {
            Length::Hour => 3600.0,
            Length::Year => 365.0 * 86_400.0,
        }
    }
}

impl Measure {
    /// The word for it in statements.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Measure::Gpu => "gpu",
            Measure::WeightedGpu => "weighted",
            Measure::Cpu => "cpu",
            Measure::Node => "node",
        }
    }
}

impl Allocation {
    /// Its first moment, and the first after it; nothing beyond the calendar.
    pub fn time(&self, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let midnight = |date: Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp());
        Some((midnight(self.from)?, midnight(self.to)?))
    }

    /// How much of what is measured may be held all the time, for exactly this amount.
    pub fn at_once(&self, zone: &TimeZone) -> Option<f64> {
        let (start, end) = self.time(zone)?;
        let seconds = (end.as_microsecond() - start.as_microsecond()) as f64 / 1e6;
        Some(self.amount * self.unit.seconds() / seconds)
    }

    /// Whether it holds in any of some clusters; none named means all.
    fn holds_in_any(&self, clusters: &[String]) -> bool {
        clusters.is_empty()
            || self.clusters.is_empty()
            || self.clusters.iter().any(|cluster| clusters.contains(cluster))
    }
}

/// Whether a statement is about allocations.
pub(crate) fn concerns(sql: &str) -> bool {
    mentions(sql, "allocation")
}

/// The question that answers what is asked about allocations: about those that touch the period
/// and hold in its clusters, since the first of them began, and all that they hold in. What is left
/// of an amount depends on all that was used of it, however short the time that is asked about.
pub(crate) fn question_about(question: &Question) -> Question {
    let Period { start, end, zone } = &question.period;
    let mut first = *start;
    let mut about = question.clone();
    about.clusters = Vec::new();
    about.allocations.retain(|allocation| match allocation.time(zone) {
        Some((from, to)) if from < *end && to > *start => {
            let is_asked_about = allocation.holds_in_any(&question.clusters);
            if is_asked_about {
                first = first.min(from);
            }
            is_asked_about
        }
        _ => false,
    });
    about.period.start = first;
    about
}
