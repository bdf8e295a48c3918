//! `sacct --helpformat`: the fields that this version of sacct has.
//!
//! sacct refuses to print anything at all if it is asked for a field that it does not know, and
//! versions differ: the wait is `Reserved` until 22.05 and `Planned` from 23.02 on, `SubmitLine`
//! is there from 21.08 on, `Restarts` from 24.11 on.

use std::collections::HashSet;
use std::time::Duration;

use crate::machine::Command;

/// Without these no row can be told from another, nor read for what it is.
const ESSENTIAL: [&str; 4] = ["JobID", "JobIDRaw", "Submit", "State"];

/// Asks for the names of the fields; no database is asked.
pub fn sacct_fields() -> Command {
    Command {
        program: "sacct",
        arguments: vec!["--helpformat".to_owned()],
        time_limit: Duration::from_secs(60),
    }
}

/// The fields that a sacct has, those among them without which it could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    lower_case_names: HashSet<String>,
}

/// A sacct that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("this sacct has no field {field}, without which its jobs cannot be told apart")]
pub struct Lacking {
    pub field: &'static str,
}

impl Offered {
    /// Reads what [`sacct_fields`] prints: names between blanks, a few a line.
    pub fn read(text: &[u8]) -> Result<Offered, Lacking> {
        let names = text.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty());
        let offered = Offered {
            lower_case_names: names
                .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
                .collect(),
        };
        match ESSENTIAL.into_iter().find(|field| !offered.has(field)) {
            Some(field) => Err(Lacking { field }),
            None => Ok(offered),
        }
    }

    /// Whether there is a field, however it is spelt.
    pub fn has(&self, field: &str) -> bool {
        self.lower_case_names.contains(&field.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::slurm::sacct;

    /// The fields that each version added, and those that it took away, by the table `fields` in
    /// src/sacct/sacct.c of the branches slurm-20.11 to slurm-26.05.
    const VERSIONS: [(&str, &str, &str); 10] = [
        (
            "20.11",
            "Account AdminComment AllocCPUS AllocNodes AllocTRES AssocID AveCPU AveCPUFreq \
             AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize BlockID Cluster Comment \
             Constraints ConsumedEnergy ConsumedEnergyRaw CPUTime CPUTimeRAW DBIndex \
             DerivedExitCode Elapsed ElapsedRaw Eligible End ExitCode Flags GID Group JobID \
             JobIDRaw JobName Layout MaxDiskRead MaxDiskReadNode MaxDiskReadTask MaxDiskWrite \
             MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSS \
             MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask McsLabel MinCPU \
             MinCPUNode MinCPUTask NCPUS NNodes NodeList NTasks Partition Priority QOS QOSRAW \
             Reason ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqMem ReqNodes \
             ReqTRES Reservation ReservationId Reserved ResvCPU ResvCPURAW Start State Submit \
             Suspended SystemComment SystemCPU Timelimit TimelimitRaw TotalCPU TRESUsageInAve \
             TRESUsageInMax TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin \
             TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve \
             TRESUsageOutMax TRESUsageOutMaxNode TRESUsageOutMaxTask TRESUsageOutMin \
             TRESUsageOutMinNode TRESUsageOutMinTask TRESUsageOutTot UID User UserCPU WCKey \
             WCKeyID WorkDir",
            "",
        ),
        ("21.08", "Container SubmitLine", ""),
        ("22.05", "", ""),
        (
            "23.02",
            "Extra FailedNode Licenses Planned PlannedCPU PlannedCPURAW",
            "Reserved ResvCPU ResvCPURAW",
        ),
        ("23.11", "", ""),
        ("24.05", "StdErr StdIn StdOut", ""),
        ("24.11", "QOSREQ Restarts SLUID", ""),
        ("25.05", "ReqReservation SegmentSize", ""),
        ("25.11", "", ""),
        ("26.05", "Exclusive OriginalSLUID OverSubscribe", ""),
    ];

    fn versions() -> Vec<(&'static str, Vec<&'static str>)> {
        let mut names: Vec<&str> = Vec::new();
        let mut versions = Vec::new();
        for (version, added, removed) in VERSIONS {
            names.extend(added.split_whitespace());
            names.retain(|name| !removed.split_whitespace().any(|removed| removed == *name));
            versions.push((version, names.clone()));
        }
        versions
    }

    fn asked_for(offered: &Offered) -> Vec<String> {
        let day = sacct(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, offered, None);
        let format = day.arguments.iter().find_map(|word| word.strip_prefix("--format="));
        format.unwrap().split(',').map(str::to_owned).collect()
    }

    #[test]
    fn the_command_needs_no_database() {
        let command = sacct_fields();
        assert_eq!(
            (command.program, &command.arguments[..]),
            ("sacct", &["--helpformat".to_owned()][..])
        );
    }

    #[test]
    fn a_recording_has_the_fields_of_its_version() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        let text = std::fs::read(format!("{folder}sacct-fields.txt")).unwrap();
        let (_, names) = versions().remove(2);
        assert_eq!(names.len(), 109);
        assert_eq!(Offered::read(&text), Offered::read(names.join(" ").as_bytes()));
        let offered = Offered::read(&text).unwrap();
        assert_eq!((offered.has("reserved"), offered.has("Planned")), (true, false));
    }

    #[test]
    fn every_version_has_all_that_is_wanted() {
        // The number of entries in each version's table.
        let counts = [107, 109, 109, 112, 112, 115, 118, 120, 120, 123];
        for ((version, names), count) in versions().into_iter().zip(counts) {
            assert_eq!(names.len(), count, "{version}");
            let offered = Offered::read(names.join(" ").as_bytes()).unwrap();
            let asked = asked_for(&offered);
            assert_eq!(asked.len(), 34, "{version}");
            assert_eq!(asked.last().unwrap(), "JobName", "{version}");
            assert!(asked.iter().all(|field| names.contains(&field.as_str())), "{version}");
        }
    }

    #[test]
    fn a_field_that_is_not_offered_is_not_asked_for() {
        let offered = Offered::read(b"STATE submit JobIDRaw  jobid\nJOBNAME NodeList").unwrap();
        assert_eq!(
            asked_for(&offered),
            ["JobID", "JobIDRaw", "State", "Submit", "NodeList", "JobName"]
        );
    }

    #[test]
    fn a_sacct_without_an_essential_field_is_refused_by_its_name() {
        for (text, field) in [
            ("", "JobID"),
            ("JobID Submit State", "JobIDRaw"),
            ("JobID JobIDRaw State Submits", "Submit"),
            ("JobID JobIDRaw Submit", "State"),
        ] {
            assert_eq!(Offered::read(text.as_bytes()), Err(Lacking { field }), "{text}");
        }
        assert_eq!(
            Lacking { field: "Submit" }.to_string(),
            "this sacct has no field Submit, without which its jobs cannot be told apart"
        );
    }
}
