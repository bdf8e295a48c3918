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
    /// From midnight so many days ago until now; nothing if that is before the calendar begins.
    pub fn last_days(days: u16, zone: &TimeZone, now: Timestamp) -> Option<Period> {
        let day = now.to_zoned(zone.clone()).checked_sub(i64::from(days).days()).ok()?;
        let start = day.start_of_day().ok()?.timestamp();
        Some(Period { start, end: now, zone: zone.clone() })
    }

    /// The last hours until now.
    pub fn last_hours(hours: u32, zone: &TimeZone, now: Timestamp) -> Option<Period> {
        let start = now.checked_sub(SignedDuration::from_hours(hours.into())).ok()?;
        Some(Period { start, end: now, zone: zone.clone() })
    }

    pub fn seconds(&self) -> i64 {
        self.end.as_second() - self.start.as_second()
    }

    /// Whether it is a moment: what was seen then, not what happened over a time.
    pub fn is_moment(&self) -> bool {
        self.start == self.end
    }

    /// The zone's name, such as `America/Chicago`; of one that has none, its offset at the end.
    pub fn zone_name(&self) -> String {
        match self.zone.iana_name() {
            Some(name) => name.to_owned(),
            None => self.end.to_zoned(self.zone.clone()).strftime("%:z").to_string(),
        }
    }
}
