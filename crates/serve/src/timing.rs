//! How long our own answers take: the part of the health page that is about ourselves.

use std::collections::BTreeMap;
use std::sync::Mutex;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::{Column, Coverage, Period, Report, Table, Unit, Value};

/// How long answers took, by what was asked.
#[derive(Default)]
pub(crate) struct Timings(Mutex<BTreeMap<&'static str, Timing>>);

#[derive(Clone, Copy, Default)]
struct Timing {
    /// Answers that were made before, and cost next to nothing.
    kept: i64,
    /// Answers that were made; the rest is about these.
    made: i64,
    seconds: f64,
    longest: f64,
    last: f64,
}

impl Timings {
    /// An answer was given, which was made now or kept.
    pub(crate) fn note(
        &self,
        what: &'static str,
        began: Timestamp,
        ended: Timestamp,
        is_new: bool,
    ) {
        let seconds = ended.duration_since(began).as_secs_f64().max(0.0);
        let mut timings = self.0.lock().expect("no holder of this lock panics");
        let timing = timings.entry(what).or_default();
        if !is_new {
            timing.kept += 1;
            return;
        }
        timing.made += 1;
        timing.seconds += seconds;
        timing.longest = timing.longest.max(seconds);
        timing.last = seconds;
    }

    /// As a table, what took longest in all first.
    pub(crate) fn report(&self, zone: &TimeZone, now: Timestamp) -> Report {
        let timings = self.0.lock().expect("no holder of this lock panics").clone();
        let mut timings: Vec<_> = timings.into_iter().collect();
        timings.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
        let column = |name: &str, heading: &str, unit| Column {
            name: name.to_owned(),
            heading: heading.to_owned(),
            unit,
        };
        let milliseconds = |seconds: f64| Value::Number(seconds * 1000.0);
        let row = |(what, timing): &(&str, Timing)| {
            vec![
                Value::Text((*what).to_owned()),
                Value::Integer(timing.kept),
                Value::Integer(timing.made),
                // Unknown where none was made.
                if timing.made == 0 {
                    Value::Unknown
                } else {
                    milliseconds(timing.seconds / timing.made as f64)
                },
                milliseconds(timing.longest),
                milliseconds(timing.last),
            ]
        };
        Report {
            name: "timings".to_owned(),
            title: "How long do our own answers take?".to_owned(),
            period: Period { start: now, end: now, zone: zone.clone() },
            coverage: Coverage::default(),
            table: Table {
                columns: vec![
                    column("page", "Page", Unit::Label),
                    column("kept", "Kept", Unit::Count),
                    column("made", "Made", Unit::Count),
                    column("mean_milliseconds", "Mean ms", Unit::Average),
                    column("longest_milliseconds", "Longest ms", Unit::Average),
                    column("last_milliseconds", "Last ms", Unit::Average),
                ],
                rows: timings.iter().map(row).collect(),
            },
            charts: Vec::new(),
            notes: vec![
                "Since this process began; only answers that were given.".to_owned(),
                "An answer is kept until something new is collected, and for five minutes at the \
                 most; times are of those that were made."
                    .to_owned(),
            ],
        }
    }
}
