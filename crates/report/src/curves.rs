//! How something goes on with the time since it began, such as how many are still there.

use crate::{Band, Kind, Unit};

/// Some curves over the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What the time is, such as `After`.
    pub at_heading: String,
    /// What the values are, such as `Not evicted %`.
    pub heading: String,
    pub unit: Unit,
    pub curves: Vec<Curve>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    pub kind: Kind,
    /// In the order of time.
    pub points: Vec<Point>,
}

/// What is known of a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// How long after the beginning; more than nothing.
    pub at_seconds: f64,
    pub value: f64,
    pub band: Option<Band>,
}

impl Curves {
    /// The first and the last time of which anything is known.
    pub fn span(&self) -> Option<(f64, f64)> {
        let times = || self.curves.iter().flat_map(|curve| &curve.points).map(|at| at.at_seconds);
        Some((times().reduce(f64::min)?, times().reduce(f64::max)?))
    }
}
