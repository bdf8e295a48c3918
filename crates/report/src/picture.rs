//! A question's answer as a picture: what is to be drawn, not how it looks.

use crate::{Bars, Coverage, Curves, Grid, Histogram, Period, Scatter, Series};

/// A picture with what its reader must know.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its name for programs, such as `heatmap`.
    pub name: String,
    pub title: String,
    /// What is shown, in a line: how many of what, how long a column is.
    pub subtitle: String,
    pub period: Period,
    pub coverage: Coverage,
    pub drawing: Drawing,
    /// What a reader must know to read it right.
    pub notes: Vec<String>,
}

/// The kinds of picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    Grid(Grid),
    Series(Series),
    Histogram(Histogram),
    Bars(Bars),
    Curves(Curves),
    Scatter(Scatter),
}

/// One of the things that a picture tells apart by colour; its legend has a line for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Category {
    pub name: String,
    pub kind: Kind,
    /// Its part of all that is shown, in percent; unknown where that means nothing.
    pub percent: Option<f64>,
}

/// What a category stands for. A view chooses colours by it, and by nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// States of a GPU.
    IdlePrioritized,
    IdleOpenCapacity,
    BusyPrioritized,
    BusyOpenCapacity,
    BusyBackfill,
    Draining,
    Drained,
    Down,
    Maintenance,
    Rebooting,
    Prevented,
    /// Nothing is known of the GPU: it was not seen.
    Unobserved,
    /// The one at this place, from 0, of a list that is sorted: a user, a class, a device.
    Ranked(u8),
    /// All that have no place of their own in such a list.
    Rest,
    /// Held by nobody, where it does not matter whose it is.
    Idle,
    /// A step of a measured quantity, from 0, the lowest, to [`HIGHEST_LEVEL`].
    Level(u8),
    /// What there is in all, above what is used of it.
    Capacity,
    /// What was granted, whatever is used of it and however much there is.
    Granted,
    /// In use, and by how much was not measured.
    Unmeasured,
}

/// The last of the steps of [`Kind::Level`].
pub const HIGHEST_LEVEL: u8 = 4;
