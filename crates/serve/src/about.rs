//! What a request asks about: the parameters of its address, which are the state of a page.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use query::{PeriodEnd, Question, Sight};
use report::Period;

use crate::Site;
use crate::address::query_of;
use crate::trouble::Trouble;

/// What a request asks about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct About {
    pub(crate) clusters: Vec<String>,
    /// The time; a page has one of its own if none is said.
    pub(crate) span: Option<Span>,
    /// All else, by the name of an option.
    pub(crate) options: BTreeMap<String, String>,
}

/// A time, as it is said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Span {
    Hours(u32),
    Days(u16),
    Between { from: String, to: Option<String> },
}

/// The times that every page offers.
pub(crate) const PRESETS: [(&str, Span); 4] = [
    ("6 h", Span::Hours(6)),
    ("24 h", Span::Hours(24)),
    ("7 d", Span::Days(7)),
    ("30 d", Span::Days(30)),
];

/// Nobody has kept more, and a calendar of more days is of no use to anybody.
const MOST_DAYS: i64 = 3660;

impl About {
    /// What the parameters of an address say; one that is blank, as forms send them, says nothing.
    pub(crate) fn read(pairs: &[(String, String)]) -> Result<About, String> {
        let mut about = About::default();
        let (mut hours, mut days, mut from, mut to) = (None, None, None, None);
        for (name, value) in pairs.iter().filter(|(_, value)| !value.trim().is_empty()) {
            let value = value.trim();
            match name.as_str() {
                "cluster" => about.clusters.push(value.to_owned()),
                "hours" => hours = Some(number(name, value)?),
                "days" => days = Some(number(name, value)?),
                "from" => from = Some(value.to_owned()),
                "to" => to = Some(value.to_owned()),
                _ => {
                    if about.options.insert(name.clone(), value.to_owned()).is_some() {
                        return Err(format!("{name} is said twice"));
                    }
                }
            }
        }
        about.span = match (from, hours, days) {
            (Some(from), _, _) => Some(Span::Between { from, to }),
            (None, ..) if to.is_some() => return Err("to needs from: say when it begins".into()),
            (None, Some(hours), _) => Some(Span::Hours(hours)),
            (None, None, Some(days)) => Some(Span::Days(days)),
            (None, None, None) => None,
        };
        Ok(about)
    }

    /// The parameters that say the same.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut pairs: Vec<_> = self.clusters.iter().map(|name| pair("cluster", name)).collect();
        match &self.span {
            Some(Span::Hours(hours)) => pairs.push(pair("hours", &hours.to_string())),
            Some(Span::Days(days)) => pairs.push(pair("days", &days.to_string())),
            Some(Span::Between { from, to }) => {
                pairs.push(pair("from", from));
                pairs.extend(to.iter().map(|to| pair("to", to)));
            }
            None => {}
        }
        pairs.extend(self.options.iter().map(|(name, value)| pair(name, value)));
        pairs
    }

    /// The parameters as a part of an address, with their question mark; blank if there are none.
    pub(crate) fn query(&self) -> String {
        query_of(&self.pairs())
    }

    /// The same clusters and time, and nothing else: what links from page to page keep.
    pub(crate) fn place(&self) -> About {
        About { options: BTreeMap::new(), ..self.clone() }
    }

    /// The same with another time.
    pub(crate) fn during(&self, span: Span) -> About {
        About { span: Some(span), ..self.clone() }
    }

    /// The same with an option said.
    pub(crate) fn with(&self, name: &str, value: &str) -> About {
        let mut about = self.clone();
        about.options.insert(name.to_owned(), value.to_owned());
        about
    }

    /// The question of somebody, without the options, about a time of the page's own if none is
    /// said. A time that is said by its length ends at the newest data if it is old.
    pub(crate) async fn question(
        &self,
        site: &Site,
        unsaid: &Span,
        sight: &Sight,
    ) -> Result<Question, Trouble> {
        let now = (site.now)();
        if let Span::Between { .. } = self.span.as_ref().unwrap_or(unsaid) {
            return self.question_until(site, unsaid, sight, now).map_err(Trouble::bad_request);
        }
        let end = PeriodEnd::find(&site.lake, &self.clusters, now).await?;
        let question = self.question_until(site, unsaid, sight, end.time);
        let question = question.map_err(Trouble::bad_request)?;
        Ok(Question { now, period_end: Some(end), ..question })
    }

    /// The same, in which a time that is said by its length ends now: for what has to show that
    /// nothing is collected.
    pub(crate) fn question_until_now(
        &self,
        site: &Site,
        unsaid: &Span,
        sight: &Sight,
    ) -> Result<Question, String> {
        self.question_until(site, unsaid, sight, (site.now)())
    }

    fn question_until(
        &self,
        site: &Site,
        unsaid: &Span,
        sight: &Sight,
        now: Timestamp,
    ) -> Result<Question, String> {
        let period = period(self.span.as_ref().unwrap_or(unsaid), &site.zone, now)?;
        Ok(Question {
            clusters: self.clusters.clone(),
            groups: site.groups.clone(),
            allocations: site.allocations.clone(),
            judgement: site.judgement.clone(),
            sight: sight.clone(),
            now,
            memory: site.memory.clone(),
            ..Question::about(period)
        })
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} {value:?} is no whole number, or too large"))
}

fn period(span: &Span, zone: &TimeZone, now: Timestamp) -> Result<Period, String> {
    let too_long = || format!("the period is longer than {MOST_DAYS} days");
    let period = match span {
        Span::Hours(hours) => Period::last_hours(*hours, zone, now).ok_or_else(too_long)?,
        Span::Days(days) => Period::last_days(*days, zone, now).ok_or_else(too_long)?,
        Span::Between { from, to } => {
            let moment = |name: &str, text: &str| {
                report::moment(text, zone).map_err(|wrong| format!("{name} {wrong}"))
            };
            let end = to.as_ref().map_or(Ok(now), |to| moment("to", to))?;
            Period { start: moment("from", from)?, end, zone: zone.clone() }
        }
    };
    if period.start >= period.end {
        return Err("the period ends before it begins; to is not included".to_owned());
    }
    if period.seconds() > MOST_DAYS * 86_400 {
        return Err(too_long());
    }
    Ok(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an address says, as the address that says the same.
    fn check(address: &[(&str, &str)], expected: Result<&str, &str>) {
        let pairs: Vec<_> =
            address.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let read = About::read(&pairs).map(|about| about.query());
        assert_eq!(read.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn an_address_says_the_clusters_the_time_and_the_options() {
        check(&[], Ok(""));
        check(
            &[("user", "ann b"), ("cluster", "maple"), ("days", "7"), ("name", "")],
            Ok("?cluster=maple&days=7&user=ann%20b"),
        );
        check(&[("days", "7"), ("from", "2026-01-01")], Ok("?from=2026-01-01"));
        check(&[("days", "7"), ("hours", "6")], Ok("?hours=6"));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        check(&[("days", "-1")], Err("days \"-1\" is no whole number, or too large"));
        check(&[("to", "2026-01-01")], Err("to needs from: say when it begins"));
        check(&[("user", "a"), ("user", "b")], Err("user is said twice"));
    }

    #[test]
    fn a_period_has_an_end_and_a_limit() {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().unwrap();
        let of = |span: Span| period(&span, &TimeZone::UTC, now).map(|period| period.seconds());
        assert_eq!(of(Span::Hours(6)), Ok(6 * 3600));
        assert_eq!(of(Span::Days(1)), Ok(36 * 3600)); // from midnight of the day before
        let between =
            |from: &str, to: &str| of(Span::Between { from: from.into(), to: Some(to.into()) });
        assert_eq!(between("2026-01-01", "2026-01-02"), Ok(24 * 3600));
        assert!(between("2026-01-02", "2026-01-02").unwrap_err().contains("before it begins"));
        assert!(between("1990-01-01", "2026-01-02").unwrap_err().contains("longer than 3660"));
        assert!(of(Span::Hours(u32::MAX)).is_err());
    }
}
