//! Amounts of things that have names or stand in a row, such as models or hours: a bar each.

use crate::{Kind, Unit};

/// A bar for each thing, of one or several parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What the labels are, such as `Model`.
    pub label_heading: String,
    /// What the amounts are, such as `GPU hours`.
    pub heading: String,
    pub unit: Unit,
    /// Whether the labels are steps on a way, such as hours, which goes from left to right. Names
    /// stand below each other, where there is room for them.
    pub is_sequence: bool,
    pub layout: Layout,
    pub parts: Vec<Part>,
    pub groups: Vec<Group>,
}

/// Where the parts of a thing are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each where the one before ends: they add up.
    Stacked,
    /// Each from zero, beside the others: they are compared.
    Beside,
}

/// What every thing has an amount of; the legend has a line for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    pub kind: Kind,
}

/// One thing with its amounts, in the order of the parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub label: String,
    pub amounts: Vec<Amount>,
}

/// How much of one part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Unknown where nothing is known of it: a gap, never zero.
    pub value: Option<f64>,
    pub band: Option<Band>,
}

/// Between what an estimate lies with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    pub lower: f64,
    pub upper: f64,
}

impl Bars {
    /// Where the longest bar or band ends: the length of the axis. A stack of which a part is
    /// unknown is not drawn.
    pub fn longest(&self) -> f64 {
        let of_group = |group: &Group| match self.layout {
            Layout::Stacked => group.total().unwrap_or(0.0),
            Layout::Beside => group.amounts.iter().map(Amount::end).fold(0.0, f64::max),
        };
        self.groups.iter().map(of_group).fold(0.0, f64::max)
    }
}

impl Group {
    /// The length of the stack; unknown if one of its parts is.
    pub fn total(&self) -> Option<f64> {
        self.amounts.iter().map(|amount| amount.value).sum()
    }
}

impl Amount {
    fn end(&self) -> f64 {
        self.value.unwrap_or(0.0).max(self.band.map_or(0.0, |band| band.upper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(layout: Layout, groups: &[&[Option<f64>]], longest: f64) {
        let amount = |value: &Option<f64>| Amount { value: *value, band: None };
        let group = |amounts: &&[Option<f64>]| Group {
            label: String::new(),
            amounts: amounts.iter().map(amount).collect(),
        };
        let bars = Bars {
            label_heading: "Model".into(),
            heading: "GPU hours".into(),
            unit: Unit::Hours,
            is_sequence: false,
            layout,
            parts: Vec::new(),
            groups: groups.iter().map(group).collect(),
        };
        assert_eq!(bars.longest(), longest);
    }

    #[test]
    fn a_stack_is_as_long_as_its_parts_and_one_with_an_unknown_part_is_none() {
        check(Layout::Stacked, &[&[Some(1.0), Some(2.0)], &[Some(9.0), None]], 3.0);
        check(Layout::Beside, &[&[Some(1.0), Some(2.0)], &[Some(9.0), None]], 9.0);
        check(Layout::Beside, &[], 0.0);
    }

    #[test]
    fn a_band_reaches_beyond_its_bar() {
        let band = Some(Band { lower: 1.0, upper: 5.0 });
        assert_eq!(Amount { value: Some(2.0), band }.end(), 5.0);
        assert_eq!(Amount { value: None, band: None }.end(), 0.0);
    }
}
