//! `sreport`: what the accounting database has added up, by account and user.

use std::time::Duration;

use jiff::Timestamp;

use super::count;
use crate::machine::Command;
use crate::parsed::{Parsed, Parser};

/// Asks for the CPU and GPU seconds of each account and user in a period of whole hours: usage is
/// added up by the hour.
pub fn sreport(start: Timestamp, end: Timestamp, cluster_in_slurmdbd: Option<&str>) -> Command {
    let time = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let mut arguments: Vec<String> = [
        "--parsable2",
        "-t",
        "seconds",
        "--tres=cpu,gres/gpu",
        "cluster",
        "AccountUtilizationByUser",
        // Not the user's proper name, which may hold anything.
        "format=Cluster,Account,Login,TRESName,Used",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend([format!("start={}", time(start)), format!("end={}", time(end))]);
    arguments.extend(cluster_in_slurmdbd.map(|name| format!("clusters={name}")));
    Command { program: "sreport", arguments, time_limit: Duration::from_secs(300) }
}

/// What an account, or one user of it, used.
#[derive(Clone, Debug, PartialEq)]
pub struct Utilization {
    pub cluster: String,
    pub account: String,
    /// Nobody for the account as a whole, the accounts below it included.
    pub user: Option<String>,
    /// `cpu` or `gres/gpu`.
    pub resource: String,
    pub seconds: i64,
}

/// Reads what [`sreport`] prints: a frame with the period, a header, rows.
#[derive(Default)]
pub struct Sreport {
    text: Vec<u8>,
}

impl Sreport {
    pub fn new() -> Sreport {
        Sreport::default()
    }
}

impl Parser<Utilization> for Sreport {
    /// A line for each user and resource is all there is: it is held whole.
    fn push(&mut self, piece: &[u8]) {
        self.text.extend_from_slice(piece);
    }

    fn finish(self) -> Parsed<Utilization> {
        let mut parsed = Parsed::default();
        let mut columns: Option<Columns> = None;
        for (index, line) in self.text.split(|&byte| byte == b'\n').enumerate() {
            let text = String::from_utf8_lossy(line);
            let cells: Vec<&str> = text.split('|').collect();
            match &columns {
                // The frame above the header says again what was asked.
                None => columns = Columns::of(&cells),
                Some(_) if line.is_empty() => {}
                Some(columns) => match columns.read(&cells) {
                    Ok(row) => parsed.records.push(row),
                    Err(reason) => parsed.reject(index as u64 + 1, reason, line),
                },
            }
        }
        if columns.is_none() && !self.text.trim_ascii().is_empty() {
            parsed.reject(1, "there is no header", &self.text);
        }
        parsed
    }
}

struct Columns {
    cells: usize,
    cluster: usize,
    account: usize,
    login: usize,
    resource: usize,
    used: usize,
}

impl Columns {
    fn of(header: &[&str]) -> Option<Columns> {
        let find = |name: &str| header.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        Some(Columns {
            cells: header.len(),
            cluster: find("Cluster")?,
            account: find("Account")?,
            login: find("Login")?,
            resource: find("TRES Name")?,
            used: find("Used")?,
        })
    }

    fn read(&self, cells: &[&str]) -> Result<Utilization, String> {
        if cells.len() != self.cells {
            return Err(format!("expected {} cells, found {}", self.cells, cells.len()));
        }
        let used = cells[self.used];
        Ok(Utilization {
            cluster: cells[self.cluster].to_owned(),
            account: cells[self.account].to_owned(),
            user: Some(cells[self.login].to_owned()).filter(|user| !user.is_empty()),
            resource: cells[self.resource].to_owned(),
            seconds: count(used.as_bytes()).ok_or_else(|| format!("Used cannot be `{used}`"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parsed::parse;

    fn recorded(name: &str) -> Parsed<Utilization> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        parse(Sreport::new(), &std::fs::read(format!("{folder}{name}")).unwrap())
    }

    #[test]
    fn the_command_asks_for_seconds_of_cpus_and_gpus() {
        let command = sreport(
            "2026-11-15T09:00:00Z".parse().unwrap(),
            "2026-11-15T10:00:00Z".parse().unwrap(),
            Some("birch"),
        );
        assert_eq!(command.program, "sreport");
        assert_eq!(
            command.arguments.join(" "),
            "--parsable2 -t seconds --tres=cpu,gres/gpu cluster AccountUtilizationByUser \
             format=Cluster,Account,Login,TRESName,Used \
             start=2026-11-15T09:00:00 end=2026-11-15T10:00:00 clusters=birch"
        );
    }

    #[test]
    fn a_recording_is_read() {
        let parsed = recorded("sreport-account-user-seconds.psv");
        assert_eq!(parsed.rejects, []);
        let seconds = |account: &str, user: Option<&str>, resource: &str| {
            let of = |row: &&Utilization| {
                (row.account.as_str(), row.user.as_deref(), row.resource.as_str())
                    == (account, user, resource)
            };
            parsed.records.iter().find(of).map(|row| row.seconds)
        };
        assert_eq!(seconds("ml", Some("bob"), "cpu"), Some(2823));
        assert_eq!(seconds("ml", Some("carol"), "gres/gpu"), Some(840));
        // An account includes those below it: physics is alice's own and what she used in hep.
        assert_eq!(
            seconds("physics", None, "cpu").unwrap(),
            seconds("physics", Some("alice"), "cpu").unwrap()
                + seconds("hep", None, "cpu").unwrap()
        );
    }

    /// Recorded with every resource and with proper names, of which there are none.
    #[test]
    fn columns_are_found_by_the_header() {
        let parsed = recorded("sreport-account-user.psv");
        assert_eq!(parsed.rejects, []);
        let bob = parsed.records.iter().find(|row| row.user.as_deref() == Some("bob")).unwrap();
        assert_eq!((bob.resource.as_str(), bob.seconds), ("cpu", 742));
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let header = "Cluster|Account|Login|TRES Name|Used";
        let text = format!("{header}\nmaple|ml|bob|cpu|many\nmaple|ml\nmaple|ml|bob|cpu|3\n");
        let parsed = parse(Sreport::new(), text.as_bytes());
        assert_eq!(parsed.records.len(), 1);
        let reasons: Vec<_> =
            parsed.rejects.iter().map(|reject| (reject.position, reject.reason.as_str())).collect();
        assert_eq!(reasons, [(2, "Used cannot be `many`"), (3, "expected 5 cells, found 2")]);
        assert_eq!(parse(Sreport::new(), b"no such report\n").rejects.len(), 1);
        assert_eq!(parse(Sreport::new(), b"").rejects, []);
    }

    proptest! {
        /// Every line behind the header is a record that says what the line says, or a reject that holds
        /// the line.
        #[test]
        fn every_line_is_a_record_or_a_reject(
            frame in prop::collection::vec("[a-z -]{0,9}", 0..3),
            has_header in any::<bool>(),
            rows in prop::collection::vec(
                "[a-z]{0,3}\\|[a-z]{0,3}\\|[a-z]{0,3}\\|cpu\\|[0-9]{0,4}|[a-z|0-9]{0,12}|[^\n]{0,9}",
                0..6,
            ),
        ) {
            let mut lines = frame.clone();
            lines.extend(has_header.then(|| "Cluster|Account|Login|TRES Name|Used".to_owned()));
            lines.extend(rows.clone());
            let text = lines.join("\n");
            let Parsed { records, rejects } = parse(Sreport::new(), text.as_bytes());
            if !has_header {
                let kept: Vec<&str> = rejects.iter().map(|reject| reject.text.as_str()).collect();
                let expected = if text.trim_ascii().is_empty() { vec![] } else { vec![text.as_str()] };
                prop_assert_eq!(kept, expected);
                prop_assert_eq!(records, []);
                return Ok(());
            }
            let (mut records, mut rejects) = (records.iter(), rejects.iter().peekable());
            for (number, line) in (frame.len() as u64 + 2..).zip(&rows) {
                if line.is_empty() {
                    continue;
                }
                if let Some(reject) = rejects.next_if(|reject| reject.position == number) {
                    prop_assert_eq!(&reject.text, line);
                    continue;
                }
                let record = records.next().expect("a line is a record or a reject");
                let user = record.user.as_deref().unwrap_or_default();
                let used = line.rsplit('|').next().unwrap_or_default();
                prop_assert_eq!(
                    format!("{}|{}|{user}|{}|{used}", record.cluster, record.account, record.resource),
                    line.as_str()
                );
                prop_assert_eq!(used.parse(), Ok(record.seconds));
            }
            prop_assert_eq!((records.next(), rejects.next()), (None, None));
        }

        #[test]
        fn bytes_without_a_header_are_one_reject(text in any::<Vec<u8>>()) {
            let Parsed { records, rejects } = parse(Sreport::new(), &text);
            prop_assert_eq!(records, []);
            prop_assert_eq!(rejects.len(), usize::from(!text.trim_ascii().is_empty()));
        }
    }
}
