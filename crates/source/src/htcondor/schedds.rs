//! The access points of a pool, each with a queue and a history of its own.

use std::time::Duration;

use crate::notation::classad::{Ad, Ads};
use crate::{Command, Parsed, Parser};

/// Asks the pool for its access points.
pub fn schedds() -> Command {
    let arguments = ["-schedd", "-json", "-attributes", "Name"];
    Command {
        program: "condor_status",
        arguments: arguments.map(str::to_owned).to_vec(),
        time_limit: Duration::from_secs(60),
    }
}

/// Reads what [`schedds`] prints: the names by which
/// [`condor_q`](super::condor_q) and [`condor_history_of`](super::condor_history_of) ask them, each
/// once and in order. Several can stand on one machine, as `jobs@ap1.example.org`.
#[derive(Default)]
pub struct Schedds {
    names: Ads<String>,
}

impl Parser<String> for Schedds {
    fn push(&mut self, piece: &[u8]) {
        self.names.push(piece, |text| {
            let name = Ad::read(text)?.words("Name");
            name.ok_or_else(|| "the access point has no name".to_owned())
        });
    }

    fn finish(self) -> Parsed<String> {
        let mut parsed = self.names.finish();
        parsed.records.sort_unstable();
        parsed.records.dedup();
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::parse;

    #[test]
    fn only_names_are_asked_for() {
        let Command { program, arguments, time_limit } = schedds();
        assert_eq!((program, time_limit.as_secs()), ("condor_status", 60));
        assert_eq!(arguments, ["-schedd", "-json", "-attributes", "Name"]);
    }

    #[test]
    fn a_pool_has_its_access_points() {
        let text = fixture::read("2026-11-15T034635Z/status_schedd.json");
        let Parsed { records, rejects } = parse(Schedds::default(), &text);
        assert_eq!(records, ["ap2001.chtc.example.org", "ap2002.chtc.example.org"]);
        assert_eq!(rejects, []);
    }

    #[test]
    fn one_that_cannot_be_read_is_set_aside() {
        let text = br#"[{"Name":"b@ap1"},{"Name":""},{"Name":"a@ap1"},{"Name":"b@ap1"}]"#;
        let Parsed { records, rejects } = parse(Schedds::default(), text);
        assert_eq!(records, ["a@ap1", "b@ap1"]);
        assert_eq!(rejects[0].reason, "the access point has no name");
        assert_eq!(parse(Schedds::default(), b""), Parsed::default());
    }
}
