//! What a scheduler has to be asked about.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use lake::{Heard, Tracker};

use super::Wanted;

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

/// What each access point has to be asked about, in the order in which to ask: the questions about
/// one day together. What came since an access point was last heard of is asked first, the oldest
/// first, so that nothing lies between what is known of it; then days from before it was first
/// heard of, if so many are wanted.
pub(crate) fn histories(
    tracker: &Tracker,
    names: &[String],
    now: Timestamp,
    wanted: Wanted,
) -> Result<Vec<Vec<(String, Window)>>> {
    let days = days_until(now, wanted.days)?;
    let first = midnight(days[0]);
    let today = whole(*days.last().unwrap_or(&days[0]))?;
    let mut since: BTreeMap<Date, Vec<(String, Window)>> = BTreeMap::new();
    let mut before = since.clone();
    for name in names {
        let add = |rounds: &mut BTreeMap<Date, Vec<(String, Window)>>, window: Window| {
            for window in by_day(window)? {
                rounds.entry(date(window.start)).or_default().push((name.clone(), window));
            }
            anyhow::Ok(())
        };
        match tracker.access_points.get(name).filter(|_| !wanted.refresh) {
            Some(heard) => {
                let start = heard.since.max(heard.until - lake::LAG);
                add(&mut since, Window { start, end: today.end })?;
                add(&mut before, Window { start: first, end: heard.since })?;
            }
            None => {
                // Where nothing is known of it, the days since the pool was last asked count too.
                let last = tracker.days.keys().next_back().map(|day| midnight(*day));
                let start = last.filter(|_| !wanted.refresh).map_or(first, |last| first.min(last));
                add(&mut since, Window { start, end: today.end })?;
            }
        }
    }
    Ok(since.into_values().chain(before.into_values()).collect())
}

/// What a server that keeps job ads has to be asked about: what came since it was last asked, the
/// oldest first, then days from before it was first asked, if so many are wanted, the latest first: so
/// that each meets what is known.
pub(crate) fn documents(
    heard: Option<&Heard>,
    now: Timestamp,
    wanted: Wanted,
) -> Result<Vec<Window>> {
    let days = days_until(now, wanted.days)?;
    let first = midnight(days[0]);
    let end = whole(*days.last().unwrap_or(&days[0]))?.end;
    let Some(heard) = heard.filter(|_| !wanted.refresh) else {
        return by_day(Window { start: first, end });
    };
    let start = heard.since.max(heard.until - ADS_LAG);
    let mut windows = by_day(Window { start, end })?;
    windows.extend(by_day(Window { start: first, end: heard.since })?.into_iter().rev());
    Ok(windows)
}

/// How late ads are pushed: `condor_adstash` goes round every 20 minutes as it is delivered, and may
/// take longer than that where there are many access points.
const ADS_LAG: SignedDuration = SignedDuration::from_hours(2);

/// A time, cut at midnights.
fn by_day(window: Window) -> Result<Vec<Window>> {
    let mut windows = Vec::new();
    let mut start = window.start;
    while start < window.end {
        let end = whole(date(start))?.end.min(window.end);
        windows.push(Window { start, end });
        start = end;
    }
    Ok(windows)
}

fn date(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
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

    /// What two access points are asked about at noon of the third, the one heard of between two
    /// times, the other never.
    fn check_histories(heard: (&str, &str), days: u16, refresh: bool, expected: &[&str]) {
        let mut tracker = Tracker::default();
        let heard = Heard { since: heard.0.parse().unwrap(), until: heard.1.parse().unwrap() };
        tracker.access_points.insert("ap1".to_owned(), heard);
        let wanted = Wanted { days, refresh, parallel: 1 };
        let names = ["ap1".to_owned(), "ap2".to_owned()];
        let now = "2026-01-03T12:00:00Z".parse().unwrap();
        let shown = |time: Timestamp| time.strftime("%dT%H:%M").to_string();
        let rounds: Vec<String> = histories(&tracker, &names, now, wanted)
            .unwrap()
            .iter()
            .map(|round| {
                let questions = round.iter().map(|(name, Window { start, end })| {
                    format!("{name} {}..{}", shown(*start), shown(*end))
                });
                questions.collect::<Vec<_>>().join(", ")
            })
            .collect();
        assert_eq!(rounds, expected);
    }

    #[test]
    fn an_access_point_is_asked_from_where_it_was_last_heard_of() {
        check_histories(
            ("2026-01-02T00:00:00Z", "2026-01-02T23:30:00Z"),
            1,
            false,
            &[
                // An hour before, for what was written late.
                "ap1 02T22:30..03T00:00, ap2 02T00:00..03T00:00",
                "ap1 03T00:00..04T00:00, ap2 03T00:00..04T00:00",
            ],
        );
    }

    #[test]
    fn days_from_before_it_was_heard_of_come_last() {
        check_histories(
            ("2026-01-02T00:00:00Z", "2026-01-03T11:55:00Z"),
            2,
            false,
            &[
                "ap2 01T00:00..02T00:00",
                "ap2 02T00:00..03T00:00",
                "ap1 03T10:55..04T00:00, ap2 03T00:00..04T00:00",
                "ap1 01T00:00..02T00:00",
            ],
        );
    }

    #[test]
    fn if_all_is_wanted_all_is_asked_for() {
        check_histories(
            ("2026-01-02T00:00:00Z", "2026-01-03T11:55:00Z"),
            0,
            true,
            &["ap1 03T00:00..04T00:00, ap2 03T00:00..04T00:00"],
        );
    }

    #[test]
    fn a_server_is_asked_from_where_it_was_last_heard_of_and_then_backwards() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let heard =
            Heard { since: time("2026-01-02T00:00:00Z"), until: time("2026-01-03T09:00:00Z") };
        let check = |heard: Option<&Heard>, days, refresh, expected: &[&str]| {
            let wanted = Wanted { days, refresh, parallel: 1 };
            let windows = documents(heard, time("2026-01-03T10:00:00Z"), wanted).unwrap();
            let shown: Vec<String> =
                windows.iter().map(|window| format!("{} {}", window.start, window.end)).collect();
            assert_eq!(shown, expected);
        };
        let days = [
            "2026-01-01T00:00:00Z 2026-01-02T00:00:00Z",
            "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z",
            "2026-01-03T00:00:00Z 2026-01-04T00:00:00Z",
        ];
        check(None, 2, false, &days);
        check(Some(&heard), 2, true, &days);
        // Two hours before: ads are pushed late.
        let since = "2026-01-03T07:00:00Z 2026-01-04T00:00:00Z";
        check(Some(&heard), 1, false, &[since]);
        let before = "2025-12-31T00:00:00Z 2026-01-01T00:00:00Z";
        check(Some(&heard), 3, false, &[since, days[0], before]);
    }
}
