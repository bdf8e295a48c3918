//! Moments as people write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A day or a moment, in the zone unless it says which: `2026-11-01`, `2026-11-01T12:00` or
/// `2026-11-01T12:00:00Z`.
pub fn moment(text: &str, zone: &TimeZone) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let Ok(time) = text.parse::<DateTime>() else {
        return Err(format!(
            "{text:?} is no day or moment; write 2026-11-01, 2026-11-01T12:00 or \
             2026-11-01T12:00:00Z"
        ));
    };
    match time.to_zoned(zone.clone()) {
        Ok(moment) => Ok(moment.timestamp()),
        Err(_) => Err(format!("{text:?} does not exist in this zone")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let zone = TimeZone::get("America/Chicago").unwrap();
        let shown = moment(text, &zone).map_or_else(|error| error, |moment| moment.to_string());
        assert!(shown.starts_with(expected), "{shown}");
    }

    #[test]
    fn days_and_moments_are_in_the_zone_unless_they_say_which() {
        check("2026-07-01", "2026-07-01T05:00:00Z"); // five hours behind in summer
        check("2026-01-01T12:00", "2026-01-01T18:00:00Z");
        check("2026-01-01T12:00:00+01:00", "2026-01-01T11:00:00Z");
        check("noon", "\"noon\" is no day or moment; write");
    }
}
