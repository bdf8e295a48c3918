//! The settings of SLURM by which data is never recorded, or deleted.

use source::slurm::{Purge, database_settings, purge, setting, task_sampling_seconds};

use super::retention::{self, CollectionPace};
use super::{Check, Verdict};

/// The settings of a cluster, as its commands print them.
pub(super) struct SlurmSettings<'a> {
    /// `scontrol show config`
    pub(super) controller: &'a str,
    /// `sacctmgr show configuration`, the part of slurmdbd.
    pub(super) database: &'a str,
    pub(super) has_gpus: bool,
}

/// A setting by which SLURM does not record something.
struct RecordingCheck {
    setting: &'static str,
    daemon: Daemon,
    /// Whether nothing is recorded with this value; none where the setting has no value.
    is_off: fn(Option<&str>, &SlurmSettings<'_>) -> bool,
    /// The consequence.
    missing: &'static str,
    line: &'static str,
}

#[derive(Clone, Copy)]
enum Daemon {
    Slurmctld,
    Slurmdbd,
}

static RECORDING_CHECKS: [RecordingCheck; 4] = [
    RecordingCheck {
        setting: "JobAcctGatherType",
        daemon: Daemon::Slurmctld,
        is_off: |value, _| value.is_none_or(|value| value.ends_with("/none")),
        missing: "SLURM measures no CPU time and no memory of jobs, so their efficiency is unknown",
        line: "set JobAcctGatherType=jobacct_gather/cgroup in slurm.conf while no job runs",
    },
    RecordingCheck {
        setting: "JobAcctGatherFrequency",
        daemon: Daemon::Slurmctld,
        is_off: |value, _| value.and_then(task_sampling_seconds) == Some(0),
        missing: "SLURM does not sample running jobs, so their peak memory is missing or too low",
        line: "set JobAcctGatherFrequency=30 in slurm.conf",
    },
    RecordingCheck {
        setting: "AccountingStorageTRES",
        daemon: Daemon::Slurmctld,
        is_off: |value, settings| settings.has_gpus && !value.is_some_and(counts_gpus),
        missing: "nodes have GPUs and SLURM does not record how many a job has, so GPU hours of \
                  jobs are unknown",
        line: "add gres/gpu to AccountingStorageTRES in slurm.conf, such as \
               AccountingStorageTRES=gres/gpu, and restart slurmctld",
    },
    RecordingCheck {
        setting: "DisableRollups",
        daemon: Daemon::Slurmdbd,
        is_off: |value, _| value.is_some_and(|value| value.eq_ignore_ascii_case("yes")),
        missing: "slurmdbd computes no usage totals, so `sreport` is empty and `plimsoll \
                  reconcile` has nothing to compare with",
        line: "set DisableRollups=no in slurmdbd.conf",
    },
];

/// Whether a list of TRES has GPUs, with or without their model.
fn counts_gpus(tres: &str) -> bool {
    tres.split(',').any(|entry| entry.trim().split(':').next() == Some("gres/gpu"))
}

/// Rows that slurmdbd deletes after some time.
struct PurgeCheck {
    setting: &'static str,
    rows: &'static str,
    /// Collected rows: what they contain. Other rows: the consequence, as a sentence.
    missing: &'static str,
    use_of_rows: UseOfRows,
}

#[derive(Clone, Copy, PartialEq)]
enum UseOfRows {
    /// Plimsoll collects them, so they must be collected in time.
    Collected,
    /// Plimsoll does not collect them: nothing that it has recorded is lost.
    OnlyCompared,
}

/// `PurgeSuspendAfter` and `PurgeTXNAfter` are not here: no report uses those rows.
static PURGE_CHECKS: [PurgeCheck; 5] = [
    PurgeCheck {
        setting: "PurgeJobAfter",
        rows: "jobs",
        missing: "the history of jobs",
        use_of_rows: UseOfRows::Collected,
    },
    PurgeCheck {
        setting: "PurgeStepAfter",
        rows: "job steps",
        missing: "the CPU time and peak memory of jobs",
        use_of_rows: UseOfRows::Collected,
    },
    PurgeCheck {
        setting: "PurgeResvAfter",
        rows: "reservations",
        missing: "the reservation of jobs",
        use_of_rows: UseOfRows::Collected,
    },
    PurgeCheck {
        setting: "PurgeEventAfter",
        rows: "node events",
        missing: "sacctmgr shows no older node outages; those since the first collection are \
                  recorded from scontrol",
        use_of_rows: UseOfRows::OnlyCompared,
    },
    PurgeCheck {
        setting: "PurgeUsageAfter",
        rows: "usage totals",
        missing: "`plimsoll reconcile` cannot compare older periods with sreport",
        use_of_rows: UseOfRows::OnlyCompared,
    },
];

/// The findings about settings by which SLURM records less than it could.
pub(super) fn recording(settings: &SlurmSettings<'_>) -> Vec<Check> {
    let of_setting = |check: &RecordingCheck| {
        let value = match check.daemon {
            Daemon::Slurmctld => setting(settings.controller, check.setting),
            Daemon::Slurmdbd => setting(settings.database, check.setting),
        };
        let shown = value.unwrap_or("not set");
        match (check.is_off)(value, settings) {
            true => {
                let seen = format!("{shown}: {}", check.missing);
                Some(Check::warn(check.setting, seen, check.line))
            }
            // Older releases do not have every setting.
            false => value.map(|value| Check::ok(check.setting, value)),
        }
    };
    RECORDING_CHECKS.iter().filter_map(of_setting).collect()
}

/// The finding if it is not known whether nodes have GPUs, and SLURM does not account for any.
pub(super) fn unknown_gpus(controller: &str, cause: &str) -> Option<Check> {
    let tres = setting(controller, "AccountingStorageTRES");
    (!tres.is_some_and(counts_gpus)).then(|| {
        Check::warn(
            "AccountingStorageTRES",
            format!(
                "{}: whether nodes have GPUs could not be checked: {cause}",
                tres.unwrap_or("not set")
            ),
            "see that `scontrol show node` works; if nodes have GPUs, add gres/gpu to \
             AccountingStorageTRES in slurm.conf",
        )
    })
}

/// The findings about rows that slurmdbd deletes, by its output of `sacctmgr show configuration`.
pub(super) fn purging(configuration: &str, pace: &CollectionPace) -> Vec<Check> {
    let database = database_settings(configuration);
    let printed: Vec<(&PurgeCheck, &str)> = PURGE_CHECKS
        .iter()
        .filter_map(|check| Some((check, setting(database, check.setting)?)))
        .collect();
    if printed.is_empty() {
        return vec![unknown_purging("sacctmgr prints no settings of slurmdbd")];
    }
    let findings: Vec<Check> =
        printed.iter().filter_map(|(check, value)| of_purge(check, value, pace)).collect();
    match findings.is_empty() {
        true => vec![Check::ok("purging", "slurmdbd deletes none of the rows that are collected")],
        false => findings,
    }
}

/// The finding if it is not known when slurmdbd deletes rows.
pub(super) fn unknown_purging(cause: &str) -> Check {
    Check::warn(
        "purging",
        format!("when slurmdbd deletes rows is not known: {cause}"),
        "look for PurgeJobAfter and PurgeStepAfter in slurmdbd.conf, and collect more often than that",
    )
}

fn of_purge(check: &PurgeCheck, value: &str, pace: &CollectionPace) -> Option<Check> {
    let PurgeCheck { setting, rows, missing, use_of_rows } = *check;
    let retention = match purge(value) {
        Some(Purge::Never) => return None,
        Some(Purge::After(retention)) => retention,
        None => {
            return Some(unknown_purging(&format!("{setting} is {value:?}")));
        }
    };
    let line = format!("set a longer {setting} in slurmdbd.conf, or remove that line");
    Some(match use_of_rows {
        UseOfRows::Collected => {
            let deleted = format!("slurmdbd deletes {rows}");
            retention::check(setting, pace, retention, &deleted, missing, &line)
        }
        UseOfRows::OnlyCompared => Check {
            verdict: Verdict::Note,
            ..Check::warn(
                setting,
                format!("slurmdbd deletes {rows} after {}", super::shown(retention)),
                format!("{missing}; to keep them longer, {line}"),
            )
        },
    })
}
