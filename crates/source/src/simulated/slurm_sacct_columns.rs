//! The columns that the simulated `sacct` has, under the names of the real one.

/// Declares the columns once: the variant and the name that sacct's header has for it.
macro_rules! columns {
    ($($variant:ident $name:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum Column {
            $($variant,)*
        }

        impl Column {
            pub(super) const ALL: [Column; [$($name),*].len()] = [$(Column::$variant),*];

            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Column::$variant => $name,)*
                }
            }
        }
    };
}

columns! {
    JobId "JobID"
    JobIdRaw "JobIDRaw"
    JobName "JobName"
    Cluster "Cluster"
    User "User"
    Uid "UID"
    Group "Group"
    Gid "GID"
    Account "Account"
    Partition "Partition"
    Qos "QOS"
    Priority "Priority"
    State "State"
    ExitCode "ExitCode"
    DerivedExitCode "DerivedExitCode"
    Submit "Submit"
    Eligible "Eligible"
    Start "Start"
    End "End"
    Elapsed "Elapsed"
    ElapsedRaw "ElapsedRaw"
    Suspended "Suspended"
    Timelimit "Timelimit"
    TimelimitRaw "TimelimitRaw"
    AllocNodes "AllocNodes"
    AllocCpus "AllocCPUS"
    AllocTres "AllocTRES"
    NNodes "NNodes"
    NCpus "NCPUS"
    ReqNodes "ReqNodes"
    ReqCpus "ReqCPUS"
    ReqMem "ReqMem"
    ReqTres "ReqTRES"
    NodeList "NodeList"
    NTasks "NTasks"
    Layout "Layout"
    CpuTime "CPUTime"
    CpuTimeRaw "CPUTimeRAW"
    TotalCpu "TotalCPU"
    UserCpu "UserCPU"
    SystemCpu "SystemCPU"
    AveCpu "AveCPU"
    MinCpu "MinCPU"
    MaxRss "MaxRSS"
    MaxRssNode "MaxRSSNode"
    AveRss "AveRSS"
    MaxVmSize "MaxVMSize"
    MaxVmSizeNode "MaxVMSizeNode"
    AveVmSize "AveVMSize"
    MaxDiskRead "MaxDiskRead"
    MaxDiskWrite "MaxDiskWrite"
    TresUsageInMax "TRESUsageInMax"
    TresUsageInTot "TRESUsageInTot"
    ConsumedEnergy "ConsumedEnergy"
    ConsumedEnergyRaw "ConsumedEnergyRaw"
    Flags "Flags"
    Reason "Reason"
    WorkDir "WorkDir"
    SubmitLine "SubmitLine"
    Reservation "Reservation"
    ReservationId "ReservationId"
    AdminComment "AdminComment"
    Comment "Comment"
    Constraints "Constraints"
    Container "Container"
}

/// The names of the columns, four a line.
pub(super) fn fields() -> String {
    let mut text = String::new();
    for columns in Column::ALL.chunks(4) {
        let names: Vec<String> =
            columns.iter().map(|column| format!("{:19}", column.name())).collect();
        text.push_str(&names.join(" "));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::{Scale, Simulated, Site};
    use super::*;
    use crate::machine::{Command, Machine};

    const DELIMITER: char = '\x1f';

    /// What some jobs of the recording have, and none of the simulated ones.
    const NOT_SIMULATED: [&str; 4] = ["AdminComment", "Comment", "Reservation", "ReservationId"];

    /// The columns that are not blank, each with the kind of row: `job`, `batch`, `extern` or
    /// `step`. Rows that go on over lines are left out.
    fn filled(text: &str) -> BTreeSet<String> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(DELIMITER).collect();
        let job_id = names.iter().position(|name| *name == "JobID").unwrap();
        let mut filled = BTreeSet::new();
        for line in lines {
            let cells: Vec<&str> = line.split(DELIMITER).collect();
            if cells.len() != names.len() {
                continue;
            }
            let kind = match cells[job_id].rsplit_once('.') {
                None => "job",
                Some((_, kind @ ("batch" | "extern"))) => kind,
                Some(_) => "step",
            };
            let named = names.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty());
            filled.extend(named.map(|(name, _)| format!("{name} of {kind}")));
        }
        filled
    }

    fn simulated() -> String {
        let start = "2026-11-10T00:00:00Z".parse().unwrap();
        let end = "2026-11-11T00:00:00Z".parse().unwrap();
        let scale = Scale {
            seed: 7,
            start,
            end,
            slurm_jobs_per_day: 500,
            slurm_nodes: 20,
            condor_machines: 1,
        };
        let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        let machine = Simulated {
            site: Arc::new(Site::new(&scale)),
            cluster: Site::slurm_cluster().to_owned(),
            now: end,
        };
        let command = Command {
            program: "sacct",
            arguments: vec![
                "-P".to_owned(),
                format!("--delimiter={DELIMITER}"),
                "--starttime=2026-11-10".to_owned(),
                format!("--format={}", names.join(",")),
            ],
            time_limit: Duration::from_secs(1),
        };
        let mut text = Vec::new();
        machine.run(&command, &mut |piece| text.extend_from_slice(piece)).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_column_has_values_on_the_rows_on_which_the_real_one_has() {
        let recording = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/slurm-22.05/sacct-all-unit-separator.txt"
        );
        let recording = String::from_utf8_lossy(&std::fs::read(recording).unwrap()).into_owned();
        let is_simulated = |place: &String| {
            let (name, _) = place.split_once(" of ").unwrap();
            !NOT_SIMULATED.contains(&name) && Column::ALL.iter().any(|column| column.name() == name)
        };
        let real: BTreeSet<String> = filled(&recording).into_iter().filter(is_simulated).collect();
        let simulated = filled(&simulated());
        let differing: Vec<&String> = simulated.symmetric_difference(&real).collect();
        assert!(differing.is_empty(), "{differing:?}");
    }
}
