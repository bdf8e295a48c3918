//! Things by two amounts.

use crate::Unit;

/// Things by two amounts, a dot each.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// The axis from left to right, by powers of ten: a few have most of everything.
    pub across: Axis,
    /// The axis from below upwards, from zero.
    pub up: Axis,
    /// Those with most of what is across first.
    pub dots: Vec<Dot>,
}

/// What an axis is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub heading: String,
    pub unit: Unit,
}

/// One thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    pub name: String,
    /// More than zero.
    pub across: f64,
    pub up: f64,
}
