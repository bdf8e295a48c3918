//! The clock on the wall, which shows an hour twice when it is set back and skips one when it is
//! set forward.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

/// Reads times that a clock showed one after the other.
pub(super) struct WallClock {
    zone: TimeZone,
    previous: Option<Timestamp>,
}

impl WallClock {
    pub(super) fn new(zone: TimeZone) -> WallClock {
        WallClock { zone, previous: None }
    }

    /// The moment at which the clock showed `2026-04-01 12:00:00.123456`, or why there is none.
    ///
    /// Of an hour that comes twice it is the first, until the clock shows less than it did before.
    pub(super) fn moment(&mut self, text: &str) -> Result<Timestamp, String> {
        let moment = match text.strip_suffix('Z') {
            Some(_) => text.parse().map_err(|_| format!("{text:?} is no time"))?,
            None => self.shown(text)?,
        };
        // As the lake writes moments, so that a second import says the same.
        let whole = TimestampRound::new().smallest(Unit::Microsecond).mode(RoundMode::Floor);
        let moment = moment.round(whole).map_err(|error| error.to_string())?;
        self.previous = Some(moment);
        Ok(moment)
    }

    fn shown(&self, text: &str) -> Result<Timestamp, String> {
        let shown: DateTime = text.parse().map_err(|_| format!("{text:?} is no time"))?;
        let ambiguous = self.zone.to_ambiguous_timestamp(shown);
        let moment = match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => ambiguous.compatible(),
            AmbiguousOffset::Gap { .. } => {
                return Err(format!("{} has no {shown}", self.zone_name()));
            }
            AmbiguousOffset::Fold { .. } => match (ambiguous.earlier(), self.previous) {
                (Ok(first), Some(previous)) if first <= previous => ambiguous.later(),
                (first, _) => first,
            },
        };
        moment.map_err(|error| error.to_string())
    }

    fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("the zone of this machine")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(zone: &str, shown: &[&str], expected: &[&str]) {
        let mut clock = WallClock::new(TimeZone::get(zone).unwrap());
        let moments: Vec<String> = shown
            .iter()
            .map(|text| clock.moment(text).map_or_else(|error| error, |moment| moment.to_string()))
            .collect();
        assert_eq!(moments, expected);
    }

    #[test]
    fn times_are_read_in_every_form() {
        check(
            "America/Chicago",
            &[
                "2025-08-14 12:00:00.123456",
                "2025-08-14T12:05:00",
                "2025-08-14T12:10:00.123456789",
                "2025-08-14T17:15:00Z",
                "2025-01-14 12:00:00",
                "soon",
                "",
            ],
            &[
                "2025-08-14T17:00:00.123456Z",
                "2025-08-14T17:05:00Z",
                "2025-08-14T17:10:00.123456Z",
                "2025-08-14T17:15:00Z",
                "2025-01-14T18:00:00Z",
                "\"soon\" is no time",
                "\"\" is no time",
            ],
        );
    }

    /// On 2 November 2025 the clocks of Chicago go back from 02:00 to 01:00, which is 07:00 UTC.
    #[test]
    fn an_hour_that_comes_twice_is_two_hours() {
        check(
            "America/Chicago",
            &[
                "2025-11-02 00:55:00",
                "2025-11-02 01:00:00",
                "2025-11-02 01:55:00",
                "2025-11-02 01:00:00",
                "2025-11-02 01:05:00",
                "2025-11-02 01:55:00",
                "2025-11-02 02:00:00",
            ],
            &[
                "2025-11-02T05:55:00Z",
                "2025-11-02T06:00:00Z",
                "2025-11-02T06:55:00Z",
                "2025-11-02T07:00:00Z",
                "2025-11-02T07:05:00Z",
                "2025-11-02T07:55:00Z",
                "2025-11-02T08:00:00Z",
            ],
        );
    }

    /// On 8 March 2026 they go forward from 02:00 to 03:00, which is 08:00 UTC.
    #[test]
    fn an_hour_that_does_not_come_is_none() {
        check(
            "America/Chicago",
            &["2026-03-08 01:55:00", "2026-03-08 03:00:00", "2026-03-08 02:30:00"],
            &[
                "2026-03-08T07:55:00Z",
                "2026-03-08T08:00:00Z",
                "America/Chicago has no 2026-03-08T02:30:00",
            ],
        );
        check("UTC", &["2026-03-08 02:30:00"], &["2026-03-08T02:30:00Z"]);
    }
}
