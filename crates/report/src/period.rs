//! The time that a question is about.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A half-open interval of time, and the zone in which people read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    pub start: Timestamp,
    /// Not included.
    pub end: Timestamp,
    pub zone: TimeZone,
}

impl Period {
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
