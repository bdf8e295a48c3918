//! The newest data of a lake, where a period ends because it is old.

use jiff::{SignedDuration, Timestamp};

use crate::Period;

/// The newest data, if it is so old that a period without an end of its own ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewestData {
    /// The latest moment up to which there is data.
    pub time: Timestamp,
    /// When the question was asked.
    pub now: Timestamp,
}

/// While the newest data is not older than this, periods end now.
const CURRENT: SignedDuration = SignedDuration::from_hours(24);

impl NewestData {
    /// The newest data, if it is more than one day old at `now`.
    pub fn if_old(time: Timestamp, now: Timestamp) -> Option<NewestData> {
        (now.duration_since(time) > CURRENT).then_some(NewestData { time, now })
    }

    pub fn age_seconds(&self) -> i64 {
        self.now.as_second() - self.time.as_second()
    }

    /// How old the newest data is, in days, or in hours where these are few.
    pub fn age(&self) -> String {
        match self.age_seconds() / 3600 {
            hours @ ..48 => format!("{hours} hours"),
            hours => format!("{} days", hours / 24),
        }
    }

    /// The line that every format shows beside the period. An answer may be read long after it was
    /// made, so the age is that at its time and not "ago".
    pub fn line(&self, period: &Period) -> String {
        let ends = if period.end < self.time { "before that" } else { "there" };
        format!(
            "The newest data is from {}, {} before this report. The period ends {ends}.",
            period.moment(self.time),
            self.age()
        )
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn check(newest: &str, now: &str, age: Option<&str>) {
        let old = NewestData::if_old(time(newest), time(now));
        assert_eq!(old.map(|old| old.age()).as_deref(), age, "{newest} at {now}");
    }

    #[test]
    fn data_is_old_after_more_than_one_day() {
        let newest = "2026-03-08T00:00:00Z";
        check(newest, "2026-03-08T00:00:00Z", None);
        check(newest, "2026-03-09T00:00:00Z", None);
        check(newest, "2026-03-09T00:00:01Z", Some("24 hours"));
        check(newest, "2026-03-09T23:59:59Z", Some("47 hours"));
        check(newest, "2026-03-10T00:00:00Z", Some("2 days"));
        check(newest, "2026-11-18T02:00:00Z", Some("255 days"));
        // A clock that is behind the collector's.
        check(newest, "2026-03-07T00:00:00Z", None);
    }

    #[test]
    fn the_line_names_the_moment_in_the_zone_of_the_period() {
        let old = NewestData::if_old(time("2026-03-08T00:00:00Z"), time("2026-11-18T02:00:00Z"));
        let old = old.unwrap();
        let chicago = TimeZone::get("America/Chicago").unwrap();
        let ending = |end: Timestamp| Period::last_days(7, &chicago, end).unwrap();
        assert_eq!(
            old.line(&ending(old.time)),
            "The newest data is from 2026-03-07 18:00 CST, 255 days before this report. The period \
             ends there."
        );
        let line = old.line(&ending(time("2026-03-02T06:00:00Z")));
        assert!(line.ends_with("The period ends before that."), "{line}");
    }
}
