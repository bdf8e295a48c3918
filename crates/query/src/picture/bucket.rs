//! Time cut into columns.

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp, ToSpan};
use report::Period;

/// How long a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    Seconds(i64),
    /// Days of the site's calendar, which have 23 or 25 hours when clocks change.
    Days(i64),
}

/// More columns than this are drawn by nobody and seen by nobody.
const MOST_COLUMNS: usize = 20_000;

impl Bucket {
    /// Reads `90s`, `5m`, `2h`, `1d` or `1w`.
    pub fn parse(written: &str) -> Result<Bucket> {
        const HELP: &str = "write a whole number and s, m, h, d or w, such as 5m";
        let digits = written.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: i64 = digits.parse().context(HELP)?;
        if !(1..=100_000).contains(&number) {
            bail!("{HELP}");
        }
        Ok(match &written[digits.len()..] {
            "s" => Bucket::Seconds(number),
            "m" => Bucket::Seconds(number * 60),
            "h" => Bucket::Seconds(number * 3600),
            "d" => Bucket::Days(number),
            "w" => Bucket::Days(number * 7),
            _ => bail!("{HELP}"),
        })
    }

    /// Five minutes, or of those that people are used to the first with no more columns than that.
    pub fn for_period(period: &Period, most: usize) -> Bucket {
        let usual = [5, 10, 15, 30, 60, 120, 180, 360, 720].map(|minutes| minutes * 60);
        let fits = |seconds: &i64| period.seconds() / seconds < most.max(1) as i64;
        match usual.into_iter().find(fits) {
            Some(seconds) => Bucket::Seconds(seconds),
            None => Bucket::Days((period.seconds() / 86_400 / most.max(1) as i64).max(1)),
        }
    }

    /// As people say it: `5 minutes`.
    pub fn words(self) -> String {
        let (number, unit) = match self {
            Bucket::Seconds(seconds) if seconds % 3600 == 0 => (seconds / 3600, "hour"),
            Bucket::Seconds(seconds) if seconds % 60 == 0 => (seconds / 60, "minute"),
            Bucket::Seconds(seconds) => (seconds, "second"),
            Bucket::Days(days) => (days, "day"),
        };
        format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
    }

    /// Where columns begin, and where the last one ends. They begin at the site's midnight and at
    /// multiples of their length from there on; the period's own ends may make the first and the
    /// last one shorter.
    pub fn edges(self, period: &Period) -> Result<Vec<Timestamp>> {
        let (start, end) = (period.start, period.end);
        let mut day = start.to_zoned(period.zone.clone()).start_of_day()?;
        let mut edges = vec![start];
        let mut push = |edge: Timestamp| -> Result<bool> {
            if edge > start && edge < end {
                edges.push(edge);
            }
            if edges.len() > MOST_COLUMNS {
                bail!(
                    "{} from {start} to {end} would be more than {MOST_COLUMNS} columns; \
                     give a longer --bucket or a shorter period",
                    self.words()
                );
            }
            Ok(edge < end)
        };
        match self {
            Bucket::Seconds(seconds) => {
                let length = SignedDuration::from_secs(seconds);
                let midnight = day.timestamp();
                let passed = start.duration_since(midnight).as_secs() / seconds * seconds;
                let mut edge = midnight + SignedDuration::from_secs(passed);
                while push(edge)? {
                    edge = edge.checked_add(length).context("the calendar ends")?;
                }
            }
            Bucket::Days(days) => {
                while push(day.timestamp())? {
                    day = day
                        .checked_add(days.days())
                        .context("the calendar ends")?
                        .start_of_day()?;
                }
            }
        }
        edges.push(end);
        Ok(edges)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn period(start: &str, end: &str) -> Period {
        let zone = TimeZone::get("America/Chicago").unwrap();
        Period { start: start.parse().unwrap(), end: end.parse().unwrap(), zone }
    }

    fn check(bucket: &str, start: &str, end: &str, expected: &[&str]) {
        let edges = Bucket::parse(bucket).unwrap().edges(&period(start, end)).unwrap();
        let shown: Vec<String> = edges.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn columns_begin_at_multiples_and_the_outer_ones_may_be_shorter() {
        check(
            "5m",
            "2026-11-14T12:03:30Z",
            "2026-11-14T12:12:00Z",
            &[
                "2026-11-14T12:03:30Z",
                "2026-11-14T12:05:00Z",
                "2026-11-14T12:10:00Z",
                "2026-11-14T12:12:00Z",
            ],
        );
    }

    #[test]
    fn a_column_that_begins_with_the_period_is_whole() {
        let edges = ["2026-11-14T12:00:00Z", "2026-11-14T13:00:00Z", "2026-11-14T14:00:00Z"];
        check("1h", edges[0], edges[2], &edges);
    }

    #[test]
    fn days_are_the_sites_also_when_clocks_change() {
        // Midnight in Chicago is 05:00 UTC in summer and 06:00 in winter.
        check(
            "1d",
            "2026-10-31T05:00:00Z",
            "2026-11-02T12:00:00Z",
            &[
                "2026-10-31T05:00:00Z",
                "2026-11-01T05:00:00Z",
                "2026-11-02T06:00:00Z",
                "2026-11-02T12:00:00Z",
            ],
        );
    }

    #[test]
    fn a_length_is_a_number_and_a_unit() {
        let shown =
            ["90s", "5m", "1h", "2h", "1d", "2w"].map(|text| Bucket::parse(text).unwrap().words());
        assert_eq!(shown, ["90 seconds", "5 minutes", "1 hour", "2 hours", "1 day", "14 days"]);
        for wrong in ["", "5", "m", "0m", "-5m", "5 m", "5y", "1.5h", "9999999999999999999s"] {
            assert!(Bucket::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_usual_length_grows_with_the_period() {
        let words = |end: &str, most| {
            Bucket::for_period(&period("2026-01-01T06:00:00Z", end), most).words()
        };
        assert_eq!(words("2026-01-02T06:00:00Z", 2100), "5 minutes");
        assert_eq!(words("2026-01-08T06:00:00Z", 2100), "5 minutes");
        assert_eq!(words("2026-01-31T06:00:00Z", 2100), "30 minutes");
        assert_eq!(words("2026-01-02T06:00:00Z", 80), "30 minutes");
        assert_eq!(words("2027-01-01T06:00:00Z", 40), "9 days");
    }

    #[test]
    fn too_many_columns_are_refused() {
        let year = period("2026-01-01T06:00:00Z", "2027-01-01T06:00:00Z");
        let refused = Bucket::Seconds(1).edges(&year).unwrap_err();
        assert!(refused.to_string().contains("give a longer --bucket"));
    }
}
