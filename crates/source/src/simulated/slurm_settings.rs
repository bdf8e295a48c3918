//! Prints the versions and the settings of the simulated cluster's programs.

use super::arguments::Arguments;
use super::{Moment, SLURM_CLUSTER, timestamp};
use crate::machine::{Command, Failure};

/// The version that nodes report, too.
pub(super) const VERSION: &str = "22.05.8";

/// Prints what each of SLURM's programs prints with `--version` alone; false for other arguments.
pub(super) fn prints_version(command: &Command, sink: &mut dyn FnMut(&[u8])) -> bool {
    const PROGRAMS: [&str; 6] = ["sacct", "squeue", "scontrol", "sinfo", "sacctmgr", "sreport"];
    let is_asked =
        PROGRAMS.contains(&command.program) && command.arguments.iter().eq(["--version"]);
    if is_asked {
        sink(format!("slurm {VERSION}\n").as_bytes());
    }
    is_asked
}

/// `scontrol show config`: the settings that Plimsoll reads.
pub(super) fn show_config(now: Moment, sink: &mut dyn FnMut(&[u8])) {
    let time = timestamp(now).strftime("%Y-%m-%dT%H:%M:%S");
    sink(
        format!(
            "Configuration data as of {time}\n\
             AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu\n\
             AccountingStorageType   = accounting_storage/slurmdbd\n\
             ClusterName             = {SLURM_CLUSTER}\n\
             JobAcctGatherFrequency  = 30\n\
             JobAcctGatherType       = jobacct_gather/cgroup\n\
             PrivateData             = none\n\
             SLURM_VERSION           = {VERSION}\n"
        )
        .as_bytes(),
    );
}

/// `sacctmgr show configuration`: the settings of its database that Plimsoll reads. Accounts have no
/// coordinators.
pub(super) fn sacctmgr(
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let words: Vec<&str> = command.arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["show", "configuration"] => {
            let time = timestamp(now).strftime("%Y-%m-%dT%H:%M:%S");
            sink(
                format!(
                    "Configuration data as of {time}\n\n\
                     SlurmDBD configuration:\n\
                     PurgeEventAfter        = NONE\n\
                     PurgeJobAfter          = NONE\n\
                     PurgeResvAfter         = NONE\n\
                     PurgeStepAfter         = NONE\n\
                     PurgeSuspendAfter      = NONE\n\
                     PurgeTXNAfter          = NONE\n\
                     PurgeUsageAfter        = NONE\n\
                     SLURMDBD_VERSION       = {VERSION}\n"
                )
                .as_bytes(),
            );
            Ok(())
        }
        [.., "show", "account", "withcoord", "format=Account,Coordinators"] => Ok(()),
        _ => {
            let arguments = Arguments::of(command, &[])?;
            Err(arguments.failure("this simulated site prints only its configuration"))
        }
    }
}
