//! The daemons that a pool's jobs depend on: its access points, each with a queue and a history of its
//! own, and its negotiators, which match jobs with slots.

use std::cmp::Reverse;
use std::time::Duration;

use record::{AccessPoint, Negotiator};

use crate::notation::classad::{Ad, Ads};
use crate::{Command, Parsed, Parser};

/// Asks the pool for both at once: one question is less of a burden than two.
pub fn daemons() -> Command {
    const ATTRIBUTES: [&str; 6] = [
        "MyType",
        "Name",
        "LastHeardFrom",
        "LastNegotiationCycleEnd0",
        "LastNegotiationCycleDuration0",
        "LastNegotiationCycleMatches0",
    ];
    let arguments = [
        "-any",
        "-json",
        "-constraint",
        r#"MyType == "Scheduler" || MyType == "Negotiator""#,
        "-attributes",
        &ATTRIBUTES.join(","),
    ];
    Command {
        program: "condor_status",
        arguments: arguments.map(str::to_owned).to_vec(),
        time_limit: Duration::from_secs(60),
    }
}

/// A daemon, as the pool's collector knows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Daemon {
    AccessPoint(AccessPoint),
    Negotiator(Negotiator),
}

impl Daemon {
    /// What tells it from others; access points come first.
    pub fn key(&self) -> (u8, &str) {
        match self {
            Daemon::AccessPoint(point) => (0, &point.name),
            Daemon::Negotiator(negotiator) => (1, &negotiator.name),
        }
    }

    fn read(text: &[u8]) -> Result<Daemon, String> {
        let ad = Ad::read(text)?;
        let name = ad.words("Name").ok_or("the daemon has no name")?;
        let update_time = ad.time("LastHeardFrom");
        if ad.is("MyType", "Negotiator") {
            return Ok(Daemon::Negotiator(Negotiator {
                name,
                update_time,
                // The newest cycle is number 0.
                cycle_end_time: ad.time("LastNegotiationCycleEnd0"),
                cycle_seconds: ad.number("LastNegotiationCycleDuration0"),
                cycle_matches: ad.integer("LastNegotiationCycleMatches0"),
            }));
        }
        Ok(Daemon::AccessPoint(AccessPoint { name, heard_time: None, update_time }))
    }

    fn update_time(&self) -> Option<jiff::Timestamp> {
        match self {
            Daemon::AccessPoint(point) => point.update_time,
            Daemon::Negotiator(negotiator) => negotiator.update_time,
        }
    }
}

/// Reads what [`daemons`] prints, each once and in order. Access points have the names by which
/// [`condor_q`](super::condor_q) and [`condor_history_of`](super::condor_history_of) ask them; several
/// can stand on one machine, as `jobs@ap1.example.org`.
#[derive(Default)]
pub struct Daemons {
    ads: Ads<Daemon>,
}

impl Parser<Daemon> for Daemons {
    fn push(&mut self, piece: &[u8]) {
        self.ads.push(piece, Daemon::read);
    }

    fn finish(self) -> Parsed<Daemon> {
        let mut parsed = self.ads.finish();
        // Of two of one name the one that was heard from later.
        parsed.records.sort_by(|one, other| {
            (one.key(), Reverse(one.update_time()))
                .cmp(&(other.key(), Reverse(other.update_time())))
        });
        parsed.records.dedup_by(|one, other| one.key() == other.key());
        parsed
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::fixture;
    use super::*;
    use crate::parse;

    fn shown(text: &[u8]) -> Vec<String> {
        let time = |time: Option<Timestamp>| {
            time.map_or("-".to_owned(), |time| time.as_second().to_string())
        };
        let Parsed { records, rejects } = parse(Daemons::default(), text);
        let mut lines: Vec<String> = records
            .iter()
            .map(|daemon| match daemon {
                Daemon::AccessPoint(point) => format!("{} {}", point.name, time(point.update_time)),
                Daemon::Negotiator(negotiator) => format!(
                    "negotiator {} {} cycle {} {:?} {:?}",
                    negotiator.name,
                    time(negotiator.update_time),
                    time(negotiator.cycle_end_time),
                    negotiator.cycle_seconds,
                    negotiator.cycle_matches
                ),
            })
            .collect();
        lines.extend(rejects.into_iter().map(|reject| reject.reason));
        lines
    }

    #[test]
    fn both_kinds_are_asked_for_at_once() {
        let Command { program, arguments, time_limit } = daemons();
        assert_eq!((program, time_limit.as_secs()), ("condor_status", 60));
        assert_eq!(
            arguments[..4],
            ["-any", "-json", "-constraint", r#"MyType == "Scheduler" || MyType == "Negotiator""#]
        );
    }

    #[test]
    fn a_pool_has_its_access_points_and_its_negotiator() {
        // `LastHeardFrom` of the recordings, and the newest cycle of the negotiator.
        assert_eq!(
            shown(&fixture::read("2026-11-15T034635Z/status_schedd.json")),
            ["ap2001.chtc.example.org 1794714368", "ap2002.chtc.example.org 1794714387"]
        );
        assert_eq!(
            shown(&fixture::read("2026-11-15T032105Z/status_negotiator.json")),
            ["negotiator cm.chtc.example.org 1794712842 cycle 1794712827 Some(1.0) Some(0)"]
        );
    }

    #[test]
    fn one_that_cannot_be_read_is_set_aside_and_the_latest_of_a_name_counts() {
        let text = br#"[{"Name":"b@ap1","LastHeardFrom":5},{"Name":""},{"Name":"a@ap1"},
            {"Name":"b@ap1","LastHeardFrom":7},{"MyType":"Negotiator","Name":"a@ap1"}]"#;
        assert_eq!(
            shown(text),
            [
                "a@ap1 -",
                "b@ap1 7",
                "negotiator a@ap1 - cycle - None None",
                "the daemon has no name"
            ]
        );
        assert_eq!(parse(Daemons::default(), b""), Parsed::default());
    }
}
