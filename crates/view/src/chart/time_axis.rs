//! Where marks stand along an axis of time, and what they say, in the site's zone.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

/// A mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) time: Timestamp,
    pub(crate) label: String,
    /// What stands below it: the day of hours, the year of days. Blank where the mark before
    /// has said it.
    pub(crate) below: String,
}

/// The marks of a time, at most `most` of them: at hours that divide the day, at midnights, on
/// Mondays, on the first of months.
pub(crate) fn ticks(start: Timestamp, end: Timestamp, zone: &TimeZone, most: usize) -> Vec<Tick> {
    let seconds = (end.as_second() - start.as_second()).max(0);
    let most = i64::try_from(most.max(1)).unwrap_or(i64::MAX);
    let step = STEPS.into_iter().find(|step| seconds / step.seconds() < most);
    let times = times(start, end, zone, step.unwrap_or(STEPS[STEPS.len() - 1]));
    let mut ticks: Vec<Tick> = Vec::new();
    let mut said: Option<Zoned> = None;
    for time in times {
        let (label, below) = words(&time, said.as_ref(), step);
        ticks.push(Tick { time: time.timestamp(), label, below });
        said = Some(time);
    }
    ticks
}

/// How far marks are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Minutes(i64),
    Days(i64),
    Weeks(i64),
    Months(i64),
}

const STEPS: [Step; 20] = [
    Step::Minutes(1),
    Step::Minutes(2),
    Step::Minutes(5),
    Step::Minutes(10),
    Step::Minutes(15),
    Step::Minutes(30),
    Step::Minutes(60),
    Step::Minutes(2 * 60),
    Step::Minutes(3 * 60),
    Step::Minutes(6 * 60),
    Step::Minutes(12 * 60),
    Step::Days(1),
    Step::Days(2),
    Step::Weeks(1),
    Step::Weeks(2),
    Step::Months(1),
    Step::Months(3),
    Step::Months(6),
    Step::Months(12),
    Step::Months(120),
];

impl Step {
    /// About how long it is.
    fn seconds(self) -> i64 {
        const DAY: i64 = 86_400;
        match self {
            Step::Minutes(minutes) => minutes * 60,
            Step::Days(days) => days * DAY,
            Step::Weeks(weeks) => weeks * 7 * DAY,
            Step::Months(months) => months * 30 * DAY,
        }
    }
}

fn times(start: Timestamp, end: Timestamp, zone: &TimeZone, step: Step) -> Vec<Zoned> {
    match step {
        Step::Minutes(minutes) => clock_times(start, end, zone, minutes),
        Step::Days(days) => midnights(start, end, zone, |date| day_number(date) % days == 0),
        Step::Weeks(weeks) => midnights(start, end, zone, |date| {
            date.weekday() == Weekday::Monday && day_number(date) / 7 % weeks == 0
        }),
        Step::Months(months) => midnights(start, end, zone, |date| {
            let month = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
            date.day() == 1 && month % months == 0
        }),
    }
}

/// Counts days, so that every other day stays every other day when a year begins.
fn day_number(date: Date) -> i64 {
    date.duration_since(Date::constant(1970, 1, 1)).as_hours() / 24
}

/// Moments at which the site's clocks show a multiple of so many minutes. An hour that clocks
/// show twice has its marks twice, one that they leave out has none: so moments are tried one
/// after the other, and asked what the clocks show.
fn clock_times(start: Timestamp, end: Timestamp, zone: &TimeZone, minutes: i64) -> Vec<Zoned> {
    // Clocks are a multiple of a quarter of an hour from UTC.
    let stride = match minutes {
        1 | 2 => 1,
        5 | 10 => 5,
        _ => 15,
    } * 60;
    let first = start.as_second().div_euclid(stride) * stride;
    let moments = (0..).map(|index| first + index * stride);
    let moments = moments.take_while(|second| *second <= end.as_second());
    let moments = moments.filter(|second| *second >= start.as_second());
    moments
        .filter_map(|second| Timestamp::from_second(second).ok())
        .map(|time| time.to_zoned(zone.clone()))
        .filter(|time| {
            let minute = i64::from(time.hour()) * 60 + i64::from(time.minute());
            minute % minutes == 0 && time.second() == 0
        })
        .collect()
}

/// The beginnings of the days that are wanted.
fn midnights(
    start: Timestamp,
    end: Timestamp,
    zone: &TimeZone,
    is_wanted: impl Fn(Date) -> bool,
) -> Vec<Zoned> {
    let last = end.to_zoned(zone.clone()).date();
    let mut date = start.to_zoned(zone.clone()).date();
    let mut found = Vec::new();
    while date <= last {
        if is_wanted(date)
            && let Ok(time) = date.to_zoned(zone.clone())
            && (start..=end).contains(&time.timestamp())
        {
            found.push(time);
        }
        match date.checked_add(1.day()) {
            Ok(next) => date = next,
            Err(_) => break, // the calendar ends
        }
    }
    found
}

fn words(time: &Zoned, said: Option<&Zoned>, step: Option<Step>) -> (String, String) {
    let shown = |format: &str| time.strftime(format).to_string();
    let is_new = |part: fn(&Zoned) -> i64| said.is_none_or(|said| part(said) != part(time));
    match step {
        Some(Step::Minutes(_)) => {
            let mut below = String::new();
            if is_new(|time| i64::from(time.day())) {
                below = shown("%a %-d %b");
            }
            // Clocks were changed since the last mark: which ones these are must be said.
            if said.is_some_and(|said| said.offset() != time.offset()) {
                below = format!("{below} {}", shown("%Z")).trim_start().to_owned();
            }
            (shown("%H:%M"), below)
        }
        Some(Step::Days(_) | Step::Weeks(_)) => {
            let is_new_year = is_new(|time| i64::from(time.year()));
            (shown("%-d %b"), if is_new_year { shown("%Y") } else { String::new() })
        }
        _ => {
            let is_new_year = is_new(|time| i64::from(time.year()));
            (shown("%b"), if is_new_year { shown("%Y") } else { String::new() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start: &str, end: &str, zone: &str, most: usize, expected: &str) {
        let zone = TimeZone::get(zone).unwrap();
        let ticks = ticks(start.parse().unwrap(), end.parse().unwrap(), &zone, most);
        let shown: Vec<String> =
            ticks.iter().map(|tick| format!("{}|{}", tick.label, tick.below)).collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn hours_of_a_day_stand_with_their_day() {
        check(
            "2026-11-14T06:00:00Z",
            "2026-11-15T06:00:00Z",
            "America/Chicago",
            5,
            "00:00|Sat 14 Nov 06:00| 12:00| 18:00| 00:00|Sun 15 Nov",
        );
    }

    #[test]
    fn an_hour_that_clocks_show_twice_has_two_marks() {
        // 2026-11-01 02:00 CDT is 01:00 CST.
        check(
            "2026-11-01T05:00:00Z",
            "2026-11-01T09:00:00Z",
            "America/Chicago",
            5,
            "00:00|Sun 1 Nov 01:00| 01:00|CST 02:00| 03:00|",
        );
    }

    #[test]
    fn an_hour_that_clocks_leave_out_has_none() {
        // 2026-03-08 02:00 CST is 03:00 CDT.
        check(
            "2026-03-08T06:00:00Z",
            "2026-03-08T10:00:00Z",
            "America/Chicago",
            5,
            "00:00|Sun 8 Mar 01:00| 03:00|CDT 04:00| 05:00|",
        );
    }

    #[test]
    fn clocks_between_whole_hours_have_their_own_marks() {
        check(
            "2026-01-01T00:00:00Z",
            "2026-01-01T02:00:00Z",
            "Asia/Kathmandu", // five hours and three quarters ahead
            3,
            "06:00|Thu 1 Jan 07:00|",
        );
    }

    #[test]
    fn days_begin_at_the_sites_midnight_also_when_clocks_change() {
        check(
            "2026-10-31T05:00:00Z",
            "2026-11-03T06:00:00Z",
            "America/Chicago",
            5,
            "31 Oct|2026 1 Nov| 2 Nov| 3 Nov|",
        );
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_their_first() {
        let (start, end) = ("2026-11-04T00:00:00Z", "2026-12-02T00:00:00Z");
        check(start, end, "UTC", 6, "9 Nov|2026 16 Nov| 23 Nov| 30 Nov|");
        check(
            "2026-01-01T00:00:00Z",
            "2027-02-01T00:00:00Z",
            "UTC",
            6,
            "Jan|2026 Apr| Jul| Oct| Jan|2027",
        );
    }

    #[test]
    fn a_moment_and_a_time_of_a_thousand_years_do_no_harm() {
        check("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "UTC", 9, "00:00|Thu 1 Jan");
        let zone = TimeZone::UTC;
        let (start, end) = ("1026-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
        assert!(ticks(start.parse().unwrap(), end.parse().unwrap(), &zone, 9).len() < 200);
    }
}
