//! What a scheduler has to be asked about.

use anyhow::{Context, Result};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use lake::Tracker;

/// A part of a UTC day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// The windows from `back` days ago until now that were not asked about when they were over, in
/// the order of time. If nobody asked for longer than that, they begin where the last answer
/// ended: what ran since is not in any other.
pub(crate) fn due(tracker: &Tracker, now: Timestamp, back: u16) -> Result<Vec<Window>> {
    let mut first = days_until(now, back)?[0];
    if let Some((last, _)) = tracker.days.last_key_value() {
        first = first.min(*last);
    }
    days_from(first, now)?
        .into_iter()
        .filter_map(|day| {
            let start = tracker.due_from(day)?;
            Some(whole(day).map(|window| Window { start, ..window }))
        })
        .collect()
}

/// The days from `back` days ago until today, whole.
pub(crate) fn all(now: Timestamp, back: u16) -> Result<Vec<Window>> {
    days_until(now, back)?.into_iter().map(whole).collect()
}

fn whole(day: Date) -> Result<Window> {
    Ok(Window { start: midnight(day), end: midnight(day.tomorrow()?) })
}

fn days_until(now: Timestamp, back: u16) -> Result<Vec<Date>> {
    let first = now
        .to_zoned(TimeZone::UTC)
        .date()
        .checked_sub(i64::from(back).days())
        .context("so many days ago there was no calendar")?;
    days_from(first, now)
}

fn days_from(first: Date, now: Timestamp) -> Result<Vec<Date>> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let mut days = Vec::new();
    let mut day = first.min(today);
    while day <= today {
        days.push(day);
        day = day.tomorrow().context("the end of the calendar")?;
    }
    Ok(days)
}

fn midnight(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC).expect("UTC has every midnight").timestamp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lake::DayFacts;

    /// What is due at `now`, where each day was last asked about at a time.
    fn check(asked: &[(&str, &str)], now: &str, back: u16, expected: &[&str]) {
        let mut tracker = Tracker::default();
        for (day, time) in asked {
            let facts = DayFacts { collected_time: time.parse().unwrap(), is_imported: false };
            tracker.days.insert(day.parse().unwrap(), facts);
        }
        let due: Vec<String> = due(&tracker, now.parse().unwrap(), back)
            .unwrap()
            .iter()
            .map(|window| format!("{} {}", window.start, window.end))
            .collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn the_first_time_whole_days_are_due() {
        check(
            &[],
            "2026-01-03T10:00:00Z",
            1,
            &[
                "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z",
                "2026-01-03T00:00:00Z 2026-01-04T00:00:00Z",
            ],
        );
    }

    #[test]
    fn a_day_that_was_over_for_an_hour_when_it_was_asked_about_is_not_asked_about_again() {
        // Of today, what came since, and an hour before: accounting may be late.
        check(
            &[("2026-01-02", "2026-01-03T01:00:00Z"), ("2026-01-03", "2026-01-03T09:00:00Z")],
            "2026-01-03T10:00:00Z",
            1,
            &["2026-01-03T08:00:00Z 2026-01-04T00:00:00Z"],
        );
    }

    #[test]
    fn a_day_that_was_just_over_is_asked_about_once_more_for_its_end() {
        check(
            &[("2026-01-02", "2026-01-03T00:30:00Z"), ("2026-01-03", "2026-01-03T00:30:00Z")],
            "2026-01-03T02:00:00Z",
            1,
            &[
                "2026-01-02T23:30:00Z 2026-01-03T00:00:00Z",
                "2026-01-03T00:00:00Z 2026-01-04T00:00:00Z",
            ],
        );
    }

    #[test]
    fn after_a_pause_what_was_missed_is_due_however_few_days_are_asked_for() {
        check(
            &[("2026-01-01", "2026-01-01T12:00:00Z")],
            "2026-01-03T02:00:00Z",
            0,
            &[
                "2026-01-01T11:00:00Z 2026-01-02T00:00:00Z",
                "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z",
                "2026-01-03T00:00:00Z 2026-01-04T00:00:00Z",
            ],
        );
    }
}
