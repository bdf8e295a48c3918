//! The time that a question is about.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// A half-open interval of time, and the zone in which people read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    pub start: Timestamp,
    /// Not included.
    pub end: Timestamp,
    pub zone: TimeZone,
}

impl Period {
    /// From midnight so many days before `end` until `end`; nothing if that is before the calendar
    /// begins. A period of no days that ends at midnight is the day before: it is never empty.
    pub fn last_days(days: u16, zone: &TimeZone, end: Timestamp) -> Option<Period> {
        let midnight = |days: i64| {
            let day = end.to_zoned(zone.clone()).checked_sub(days.days()).ok()?;
            Some(day.start_of_day().ok()?.timestamp())
        };
        let days = i64::from(days);
        let start = match midnight(days)? {
            start if start < end => start,
            _ => midnight(days + 1)?,
        };
        Some(Period { start, end, zone: zone.clone() })
    }

    /// The last hours until `end`.
    pub fn last_hours(hours: u32, zone: &TimeZone, end: Timestamp) -> Option<Period> {
        let start = end.checked_sub(SignedDuration::from_hours(hours.into())).ok()?;
        Some(Period { start, end, zone: zone.clone() })
    }

    pub fn seconds(&self) -> i64 {
        self.end.as_second() - self.start.as_second()
    }

    /// Whether it is a moment: what was seen then, not what happened over a time.
    pub fn is_moment(&self) -> bool {
        self.start == self.end
    }

    /// A moment as people of the zone read it. Seconds are shown only if there are any: a period made
    /// by hand has none.
    pub fn moment(&self, time: Timestamp) -> String {
        let zoned = time.to_zoned(self.zone.clone());
        let format = if zoned.second() == 0 { "%Y-%m-%d %H:%M %Z" } else { "%Y-%m-%d %H:%M:%S %Z" };
        zoned.strftime(format).to_string()
    }

    /// The zone's name, such as `America/Chicago`; of one that has none, its offset at the end.
    pub fn zone_name(&self) -> String {
        match self.zone.iana_name() {
            Some(name) => name.to_owned(),
            None => self.end.to_zoned(self.zone.clone()).strftime("%:z").to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(days: u16, end: &str, start: &str) {
        let period = Period::last_days(days, &TimeZone::UTC, end.parse().unwrap()).unwrap();
        assert_eq!(period.start.to_string(), start);
    }

    #[test]
    fn the_last_days_begin_at_midnight_and_are_never_empty() {
        check(7, "2026-03-08T12:00:00Z", "2026-03-01T00:00:00Z");
        check(7, "2026-03-08T00:00:00Z", "2026-03-01T00:00:00Z");
        check(0, "2026-03-08T12:00:00Z", "2026-03-08T00:00:00Z");
        check(0, "2026-03-08T00:00:00Z", "2026-03-07T00:00:00Z");
    }
}
