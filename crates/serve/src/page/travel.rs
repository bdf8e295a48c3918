//! Times around the one that is shown: one goes from each to the next by links.

use jiff::{SignedDuration, Timestamp};
use report::Period;

use crate::about::Span;

/// A period that can be gone to.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) sign: &'static str,
    pub(super) span: Span,
}

/// The period before and the one after, as long as this; and a longer and a shorter one around its
/// middle. Nothing is known of what is later than now, and so nothing leads there.
pub(super) fn steps(period: &Period, now: Timestamp) -> Vec<Step> {
    let (start, end) = (period.start, period.end);
    let whole = end.duration_since(start);
    let part = |numerator: i32, denominator: i32| whole * numerator / denominator;
    let steps = [
        ("earlier", "←", -whole, -whole),
        ("later", "→", whole, whole),
        ("wider", "−", -part(1, 2), part(1, 2)),
        ("narrower", "+", part(1, 4), -part(1, 4)),
    ];
    let step = |(name, sign, from, to): (&'static str, _, _, _)| {
        let (mut from, mut to) = (moved(start, from)?, moved(end, to)?);
        if to > now && name != "narrower" {
            // As long as it would be, and until now.
            let ahead = to.duration_since(now);
            (from, to) = (moved(from, -ahead)?, now);
        }
        let is_another = (from, to) != (start, end);
        let is_long_enough = to.duration_since(from) >= SHORTEST;
        let span = Span::Between { from: shown(from, period), to: Some(shown(to, period)) };
        (is_another && is_long_enough).then_some(Step { name, sign, span })
    };
    steps.into_iter().filter_map(step).collect()
}

/// Less than this shows nothing more.
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);

fn moved(time: Timestamp, by: SignedDuration) -> Option<Timestamp> {
    time.checked_add(by).ok()
}

fn shown(time: Timestamp, period: &Period) -> String {
    time.to_zoned(period.zone.clone()).strftime("%Y-%m-%dT%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    /// Where one can go from a period on 2 January, at some time of that day.
    fn check(start: &str, end: &str, now: &str, expected: &[&str]) {
        let moment = |time: &str| format!("2026-01-02T{time}:00Z").parse().unwrap();
        let period = Period { start: moment(start), end: moment(end), zone: TimeZone::UTC };
        let found: Vec<String> = steps(&period, moment(now))
            .into_iter()
            .map(|step| {
                let Span::Between { from, to } = step.span else { unreachable!() };
                format!("{} {from} {}", step.name, to.unwrap()).replace("2026-01-0", "")
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn one_goes_by_whole_periods_and_zooms_around_the_middle() {
        check(
            "08:00",
            "12:00",
            "23:00",
            &[
                "earlier 2T04:00 2T08:00",
                "later 2T12:00 2T16:00",
                "wider 2T06:00 2T14:00",
                "narrower 2T09:00 2T11:00",
            ],
        );
    }

    #[test]
    fn nothing_leads_beyond_now() {
        check(
            "08:00",
            "12:00",
            "12:00",
            &["earlier 2T04:00 2T08:00", "wider 2T04:00 2T12:00", "narrower 2T09:00 2T11:00"],
        );
        // One hour is left: the later period ends with it.
        check(
            "08:00",
            "11:00",
            "12:00",
            &[
                "earlier 2T05:00 2T08:00",
                "later 2T09:00 2T12:00",
                "wider 2T06:00 2T12:00",
                "narrower 2T08:45 2T10:15",
            ],
        );
    }

    #[test]
    fn there_is_a_shortest_time() {
        check(
            "08:00",
            "08:15",
            "09:00",
            &["earlier 2T07:45 2T08:00", "later 2T08:15 2T08:30", "wider 2T07:52 2T08:22"],
        );
    }
}
