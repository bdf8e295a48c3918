//! Amounts over time, and how often amounts occur.

use jiff::Timestamp;

use crate::{Kind, Unit};

/// Amounts over time: some stacked on each other, some drawn as lines, such as the capacity above
/// the use.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Where buckets begin, and where the last one ends.
    pub edges: Vec<Timestamp>,
    /// Whether a bucket's amounts are of a part of it alone, one a bucket: a sum over half a day is no
    /// day's sum. Means leave these buckets out.
    pub partial: Vec<bool>,
    /// What the amounts are, such as `GPUs`.
    pub heading: String,
    pub unit: Unit,
    /// Drawn on each other, the first at the bottom.
    pub stacked: Vec<Amounts>,
    /// Drawn each by itself.
    pub lines: Vec<Amounts>,
}

/// One thing's amounts, one a bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Amounts {
    pub name: String,
    pub kind: Kind,
    /// Unknown where nothing was observed: a gap, never zero.
    pub values: Vec<Option<f64>>,
    /// Over the whole period, for the legend; unknown if it is not known of any of it.
    pub mean: Option<f64>,
}

impl Amounts {
    /// Sums by bucket, with their mean over the buckets that are known and not partial.
    pub fn of_sums(name: &str, kind: Kind, values: Vec<Option<f64>>, partial: &[bool]) -> Amounts {
        let whole = values.iter().zip(partial).filter(|(_, is_partial)| !**is_partial);
        let whole: Vec<f64> = whole.filter_map(|(value, _)| *value).collect();
        let mean = (!whole.is_empty()).then(|| whole.iter().sum::<f64>() / whole.len() as f64);
        Amounts { name: name.to_owned(), kind, values, mean }
    }
}

/// How often amounts occur.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// What was measured, such as `Wait`.
    pub heading: String,
    /// What the bars count, such as `Jobs`.
    pub count_heading: String,
    pub count_unit: Unit,
    pub bins: Vec<Bin>,
}

/// One bar of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Bin {
    /// The amounts that it holds, as people read them: `1 to 2 h`.
    pub label: String,
    pub count: f64,
}
