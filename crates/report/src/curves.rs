//! Step curves over the time since the start, such as the share of jobs that still run.

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
    /// In the order of time. Each holds until the next one, and the last one ends the curve.
    pub points: Vec<Point>,
}

/// The value from a time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// How long after the start.
    pub at_seconds: f64,
    pub value: f64,
    pub band: Option<Band>,
}

impl Curves {
    /// Where a logarithmic axis begins and ends: at a minute, or at the first time after it, and at the
    /// last time.
    pub fn span(&self) -> Option<(f64, f64)> {
        const MINUTE: f64 = 60.0;
        let times = || self.curves.iter().flat_map(|curve| &curve.points).map(|at| at.at_seconds);
        let last = times().reduce(f64::max)?;
        let first = times().filter(|seconds| *seconds > 0.0).reduce(f64::min)?;
        Some((first.max(MINUTE).min(last), last))
    }
}

impl Curve {
    /// The point that holds at a time; none before the first and after the last one.
    pub fn point_at(&self, seconds: f64) -> Option<&Point> {
        let place = self.points.partition_point(|point| point.at_seconds <= seconds);
        let is_over = self.points.last().is_none_or(|last| last.at_seconds < seconds);
        self.points[..place].last().filter(|_| !is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_holds_until_the_next_one() {
        let points = [(0.0, 100.0), (600.0, 50.0), (7200.0, 50.0)];
        let points = points.map(|(at_seconds, value)| Point { at_seconds, value, band: None });
        let curve = Curve { name: "A100".into(), kind: Kind::Ranked(0), points: points.into() };
        let value = |seconds: f64| curve.point_at(seconds).map(|point| point.value);
        assert_eq!(
            [599.0, 600.0, 7200.0, 7201.0].map(value),
            [Some(100.0), Some(50.0), Some(50.0), None]
        );
    }
}
