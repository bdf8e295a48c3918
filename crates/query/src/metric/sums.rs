//! Adds up values by labels.

use std::collections::BTreeMap;

use report::Family;

/// Sums by the values of labels.
#[derive(Default)]
pub(super) struct Sums {
    sums: BTreeMap<Vec<String>, f64>,
}

impl Sums {
    pub(super) fn add(&mut self, labels: &[&str], value: f64) {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        *self.sums.entry(labels).or_default() += value;
    }

    /// Adds a value where it is known; of what is nowhere known there is no sum.
    pub(super) fn add_known(&mut self, labels: &[&str], value: Option<f64>) {
        if let Some(value) = value {
            self.add(labels, value);
        }
    }

    /// All sums.
    pub(super) fn fill(self, family: &mut Family) {
        for (labels, sum) in self.sums {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            family.push(&labels, sum);
        }
    }

    /// Those sums that are above zero, as older exporters show them.
    pub(super) fn fill_positive(mut self, family: &mut Family) {
        self.sums.retain(|_, sum| *sum > 0.0);
        self.fill(family);
    }
}
