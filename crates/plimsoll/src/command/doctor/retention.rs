//! Whether data is collected before the scheduler deletes it.

use jiff::{SignedDuration, Timestamp};
use record::Collection;

use super::{Check, Verdict, shown};
use crate::config::Kind;

/// How often the job history of a cluster was collected, as the lake shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CollectionPace {
    /// When collections succeeded, in order, and now.
    times: Vec<Timestamp>,
}

impl CollectionPace {
    /// The pace of `runs` until now.
    pub(super) fn of(runs: &[Collection], kind: Kind, now: Timestamp) -> CollectionPace {
        let source = match kind {
            Kind::Slurm => "sacct",
            Kind::Htcondor => "condor_history",
        };
        let successes = runs.iter().filter(|run| run.source == source && run.error.is_none());
        let mut times: Vec<Timestamp> = successes.map(|run| run.start_time).collect();
        times.push(now);
        times.sort_unstable();
        CollectionPace { times }
    }

    /// The longest time without a successful collection, of those that ended within the last `retention`.
    /// An earlier loss is not repeated for ever. None if there was no collection yet.
    fn longest_pause(&self, retention: SignedDuration) -> Option<SignedDuration> {
        let now = *self.times.last()?;
        let pairs = self.times.windows(2).map(|pair| (pair[1].duration_since(pair[0]), pair[1]));
        let recent = pairs.filter(|(_, end)| now.duration_since(*end) <= retention);
        recent.map(|(pause, _)| pause).max()
    }

    /// How a retention compares with the pace: a note where data is collected in time, a warning
    /// where one more missed collection loses data, a failure where data is lost already.
    pub(super) fn verdict(&self, retention: SignedDuration) -> Verdict {
        match self.longest_pause(retention) {
            Some(pause) if pause > retention => Verdict::Fail,
            Some(pause) if pause > retention / 2 => Verdict::Warn,
            Some(_) => Verdict::Note,
            None => Verdict::Warn,
        }
    }

    fn sentence(&self, retention: SignedDuration) -> String {
        match self.longest_pause(retention) {
            Some(pause) => format!("the longest time without a collection was {}", shown(pause)),
            None => "nothing was collected yet".to_owned(),
        }
    }
}

/// The finding about data that a scheduler deletes after some time.
pub(super) fn check(
    what: &'static str,
    pace: &CollectionPace,
    retention: SignedDuration,
    deleted: &str,
    missing: &str,
    line: &str,
) -> Check {
    let seen = format!("{deleted} after {}; {}", shown(retention), pace.sentence(retention));
    let days = (retention.as_hours() / 24).clamp(1, 3660);
    let remedy = match pace.verdict(retention) {
        Verdict::Fail => format!(
            "{missing} of the time between is lost; run `plimsoll collect --days {days}` now, \
             collect more often, and {line}"
        ),
        Verdict::Warn => format!(
            "{missing} will be lost unless it is collected before; run `plimsoll collect --days \
             {days}` now, collect more often, and {line}"
        ),
        Verdict::Note | Verdict::Ok => {
            format!("{missing} cannot be collected later than that; to keep it longer, {line}")
        }
    };
    Check { verdict: pace.verdict(retention), ..Check::warn(what, seen, remedy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn run(source: &str, start_time: &str, error: Option<&str>) -> Collection {
        Collection {
            cluster: "maple".into(),
            source: source.into(),
            start_time: time(start_time),
            window_start: None,
            window_end: None,
            duration_seconds: 1.0,
            bytes: 1,
            records: 1,
            rejects: 0,
            changed: 0,
            error: error.map(Into::into),
        }
    }

    #[test]
    fn the_longest_pause_is_between_successes_of_the_job_history() {
        let runs = [
            run("sacct", "2026-11-14T06:00:00Z", None),
            run("squeue", "2026-11-14T07:00:00Z", None),
            run("sacct", "2026-11-14T08:00:00Z", Some("timed out")),
            run("sacct", "2026-11-14T11:00:00Z", None),
        ];
        let month = SignedDuration::from_hours(30 * 24);
        let pause = |now| CollectionPace::of(&runs, Kind::Slurm, time(now)).longest_pause(month);
        // From 06:00 to 11:00: the failure at 08:00 collected nothing.
        assert_eq!(pause("2026-11-14T12:00:00Z"), Some(SignedDuration::from_hours(5)));
        assert_eq!(pause("2026-11-15T11:00:00Z"), Some(SignedDuration::from_hours(24)));
        let none = CollectionPace::of(&runs, Kind::Htcondor, time("2026-11-15T11:00:00Z"));
        assert_eq!(none.longest_pause(month), None);
    }

    #[test]
    fn a_pause_that_a_collection_ended_counts_until_a_retention_later() {
        let runs = [
            run("sacct", "2026-09-01T00:00:00Z", None),
            // After 40 days.
            run("sacct", "2026-10-11T00:00:00Z", None),
            run("sacct", "2026-10-12T00:00:00Z", None),
            run("sacct", "2026-10-24T00:00:00Z", None),
            run("sacct", "2026-11-07T00:00:00Z", None),
        ];
        let verdict = |collections: usize, now: &str| {
            let pace = CollectionPace::of(&runs[..collections], Kind::Slurm, time(now));
            pace.verdict(SignedDuration::from_hours(30 * 24))
        };
        assert_eq!(verdict(2, "2026-10-11T01:00:00Z"), Verdict::Fail);
        assert_eq!(verdict(5, "2026-11-10T00:00:00Z"), Verdict::Fail);
        assert_eq!(verdict(5, "2026-11-11T00:00:00Z"), Verdict::Note);
    }

    #[test]
    fn a_retention_that_is_short_beside_the_pace_is_a_warning_and_else_a_note() {
        let retention = SignedDuration::from_hours(30 * 24);
        for (days, verdict) in [
            (Some(1), Verdict::Note),
            (Some(15), Verdict::Note),
            (Some(16), Verdict::Warn),
            (Some(30), Verdict::Warn),
            (Some(31), Verdict::Fail),
            (None, Verdict::Warn),
        ] {
            let now = time("2026-11-15T00:00:00Z");
            let last = days.map(|days| now - SignedDuration::from_hours(24 * days));
            let pace = CollectionPace { times: last.into_iter().chain([now]).collect() };
            assert_eq!(pace.verdict(retention), verdict, "{days:?}");
        }
    }
}
