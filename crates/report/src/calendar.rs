//! Periods of the calendar: the last whole day, week or month, and the one before it.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::Period;

/// How much of the calendar is told of at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    Daily,
    /// From Monday to Monday.
    Weekly,
    Monthly,
}

impl Rhythm {
    pub const ALL: [Rhythm; 3] = [Rhythm::Daily, Rhythm::Weekly, Rhythm::Monthly];

    pub fn name(self) -> &'static str {
        match self {
            Rhythm::Daily => "daily",
            Rhythm::Weekly => "weekly",
            Rhythm::Monthly => "monthly",
        }
    }

    /// The last day, week or month of the zone that is over; nothing where the calendar ends.
    pub fn last_whole(self, zone: &TimeZone, now: Timestamp) -> Option<Period> {
        let today = now.to_zoned(zone.clone()).date();
        let (start, end) = match self {
            Rhythm::Daily => (today.yesterday().ok()?, today),
            Rhythm::Weekly => {
                let days = i64::from(today.weekday().since(Weekday::Monday));
                let monday = today.checked_sub(days.days()).ok()?;
                (monday.checked_sub(7.days()).ok()?, monday)
            }
            Rhythm::Monthly => {
                let first = today.first_of_month();
                (first.yesterday().ok()?.first_of_month(), first)
            }
        };
        Period::of_days(start, end, zone)
    }
}

impl Period {
    /// From the first moment of a day to the first of another.
    pub fn of_days(start: Date, end: Date, zone: &TimeZone) -> Option<Period> {
        let first_moment = |day: Date| Some(day.to_zoned(zone.clone()).ok()?.timestamp());
        Some(Period { start: first_moment(start)?, end: first_moment(end)?, zone: zone.clone() })
    }

    /// The period of the same length that ends where this one begins: as many months if it is made of
    /// whole ones, as many days if of whole days, else as long.
    pub fn before(&self) -> Option<Period> {
        let Some((start, end)) = self.whole_days() else {
            let length = self.start.duration_until(self.end);
            let start = self.start.checked_sub(length).ok()?;
            return Some(Period { start, end: self.start, zone: self.zone.clone() });
        };
        let earlier = if start.day() == 1 && end.day() == 1 {
            let months = |day: Date| i64::from(day.year()) * 12 + i64::from(day.month());
            start.checked_sub((months(end) - months(start)).months()).ok()?
        } else {
            let days = start.until(end).ok()?.get_days();
            start.checked_sub(days.days()).ok()?
        };
        Period::of_days(earlier, start, &self.zone)
    }

    /// As people call it: a day, a month, the days from one to another, or its two ends.
    pub fn named(&self) -> String {
        let Some((start, end)) = self.whole_days() else {
            let shown = |time: Timestamp| {
                time.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
            };
            return format!("{} to {}", shown(self.start), shown(self.end));
        };
        let last = end.yesterday().unwrap_or(end);
        if start == last {
            return start.to_string();
        }
        if start.day() == 1 && start.last_of_month() == last {
            return start.strftime("%B %Y").to_string();
        }
        format!("{start} to {last}")
    }

    /// Its first day and the day after its last, if it is made of whole days of its zone.
    fn whole_days(&self) -> Option<(Date, Date)> {
        let day = |time: Timestamp| {
            let moment = time.to_zoned(self.zone.clone());
            // A day may begin at another hour than midnight, where clocks are set forward then.
            let begins = moment.start_of_day().is_ok_and(|first| first.timestamp() == time);
            (begins || moment.time() == Time::midnight()).then(|| moment.date())
        };
        let (start, end) = (day(self.start)?, day(self.end)?);
        (start < end).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chicago() -> TimeZone {
        TimeZone::get("America/Chicago").unwrap()
    }

    fn check(rhythm: Rhythm, now: &str, period: &str, before: &str) {
        let period_found = rhythm.last_whole(&chicago(), now.parse().unwrap()).unwrap();
        assert_eq!(period_found.named(), period);
        assert_eq!(period_found.before().unwrap().named(), before);
    }

    #[test]
    fn the_last_whole_day_week_and_month_are_those_of_the_site() {
        // 03:00 in UTC is still Sunday the 15th in Chicago: that week is not over.
        let now = "2026-11-16T03:00:00Z";
        check(Rhythm::Daily, now, "2026-11-14", "2026-11-13");
        check(Rhythm::Weekly, now, "2026-11-02 to 2026-11-08", "2026-10-26 to 2026-11-01");
        check(Rhythm::Monthly, now, "October 2026", "September 2026");
        // Four hours later it is Monday.
        check(
            Rhythm::Weekly,
            "2026-11-16T07:00:00Z",
            "2026-11-09 to 2026-11-15",
            "2026-11-02 to 2026-11-08",
        );
        check(Rhythm::Monthly, "2026-03-01T06:00:00Z", "February 2026", "January 2026");
    }

    #[test]
    fn a_week_in_which_clocks_are_set_has_seven_days_all_the_same() {
        let week =
            Rhythm::Weekly.last_whole(&chicago(), "2026-11-02T12:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(week.seconds(), (7 * 24 + 1) * 3600); // the hour from 1 to 2 comes twice
        assert_eq!(week.before().unwrap().seconds(), 7 * 24 * 3600);
    }

    #[test]
    fn what_is_no_whole_day_is_followed_by_as_much() {
        let period = Period {
            start: "2026-11-10T12:00:00Z".parse().unwrap(),
            end: "2026-11-10T18:00:00Z".parse().unwrap(),
            zone: TimeZone::UTC,
        };
        assert_eq!(period.named(), "2026-11-10 12:00 to 2026-11-10 18:00");
        assert_eq!(period.before().unwrap().named(), "2026-11-10 06:00 to 2026-11-10 12:00");
        let quarter = Period::of_days(
            "2026-04-01".parse().unwrap(),
            "2026-07-01".parse().unwrap(),
            &chicago(),
        );
        assert_eq!(quarter.unwrap().before().unwrap().named(), "2026-01-01 to 2026-03-31");
    }
}
