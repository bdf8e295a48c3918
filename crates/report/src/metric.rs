//! What a monitoring system reads: families of numbers, each with a name, a meaning and labels.

/// Numbers of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Subject, thing and unit, such as `plimsoll_source_age_seconds`; that of a counter without
    /// `_total`.
    pub name: &'static str,
    /// A sentence.
    pub help: &'static str,
    pub kind: MetricKind,
    /// The base unit, with which the name ends; blank for counts and the like.
    pub unit: &'static str,
    /// The names of the labels that each sample has.
    pub labels: &'static [&'static str],
    pub samples: Vec<Sample>,
}

/// What a number may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Go up and down.
    Gauge,
    /// Only go up, until its account begins anew.
    Counter,
    /// The same, under a name of another program's, which does not end in `_total`.
    ForeignCounter,
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The values of the labels, in the order of the family's names.
    pub labels: Vec<String>,
    /// Not known is not zero: such a sample is not shown.
    pub value: Option<f64>,
}

impl Family {
    pub fn gauge(
        name: &'static str,
        unit: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Family {
        Family { name, help, kind: MetricKind::Gauge, unit, labels, samples: Vec::new() }
    }

    pub fn counter(
        name: &'static str,
        unit: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Family {
        Family { kind: MetricKind::Counter, ..Family::gauge(name, unit, labels, help) }
    }

    pub fn push(&mut self, labels: &[&str], value: impl Into<Option<f64>>) {
        debug_assert_eq!(labels.len(), self.labels.len(), "labels of {}", self.name);
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        self.samples.push(Sample { labels, value: value.into() });
    }

    /// The name of its samples.
    pub fn sample_name(&self) -> String {
        match self.kind {
            MetricKind::Gauge | MetricKind::ForeignCounter => self.name.to_owned(),
            MetricKind::Counter => format!("{}_total", self.name),
        }
    }
}
