//! How much history an access point keeps: its rotation settings, by `condor_config_val`.

use std::time::Duration;

use crate::Command;

/// The settings that are queried, in the order of the printed lines.
const SETTINGS: [&str; 5] = [
    "ENABLE_HISTORY_ROTATION",
    "MAX_HISTORY_LOG",
    "MAX_HISTORY_ROTATIONS",
    "MAX_EPOCH_HISTORY_LOG",
    "MAX_EPOCH_HISTORY_ROTATIONS",
];

/// What HTCondor uses where a setting is not defined.
const DEFAULT_FILE_BYTES: u64 = 20 * 1024 * 1024;
const DEFAULT_BACKUPS: u64 = 2;

/// Queries the schedd of an access point for its history settings. The schedd itself is asked,
/// because the files of the local machine can differ, and because `condor_config_val` then prints
/// one line per setting, also for those that are not defined.
pub fn history_settings(access_point: &str) -> Command {
    let arguments = ["-schedd", "-name", access_point].into_iter().chain(SETTINGS);
    Command {
        program: "condor_config_val",
        arguments: arguments.map(str::to_owned).collect(),
        time_limit: Duration::from_secs(60),
    }
}

/// The history files that an access point keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistorySettings {
    /// Of jobs that left the queue.
    pub jobs: Rotation,
    /// Of executions, which Plimsoll reads.
    pub epochs: Rotation,
}

/// When a history file is closed, and how many closed ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The file grows for ever.
    Off,
    On {
        file_bytes: u64,
        backups: u64,
    },
}

impl Rotation {
    /// The bytes of history that are there at any time: the current file may have just begun.
    pub fn least_bytes(self) -> Option<u64> {
        match self {
            Rotation::Off => None,
            Rotation::On { file_bytes, backups } => file_bytes.checked_mul(backups),
        }
    }
}

impl HistorySettings {
    /// Reads the output of [`history_settings`]. None if it is not one line per setting, or if a
    /// value is neither a number nor a product of numbers.
    pub fn read(text: &str) -> Option<HistorySettings> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let lines: [&str; SETTINGS.len()] = lines.try_into().ok()?;
        let [is_rotated, job_bytes, job_backups, epoch_bytes, epoch_backups] =
            lines.map(|line| Some(line).filter(|line| *line != "Not defined"));
        let rotation = |bytes, backups| {
            let file_bytes = number(bytes, DEFAULT_FILE_BYTES)?;
            Some(Rotation::On { file_bytes, backups: number(backups, DEFAULT_BACKUPS)? })
        };
        // The setting is about the history of jobs alone: that of executions is always rotated.
        let jobs = match is_rotated {
            Some(value) if value.eq_ignore_ascii_case("false") => Rotation::Off,
            _ => rotation(job_bytes, job_backups)?,
        };
        Some(HistorySettings { jobs, epochs: rotation(epoch_bytes, epoch_backups)? })
    }
}

/// A number, or a product such as `100 * 1024 * 1024`.
fn number(value: Option<&str>, default: u64) -> Option<u64> {
    let Some(value) = value else { return Some(default) };
    value
        .split('*')
        .try_fold(1_u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_not_defined_have_the_defaults_of_htcondor() {
        // As condor_config_val of HTCondor 25.14.1 printed it.
        let printed = "true\nNot defined\nNot defined\nNot defined\nNot defined\n";
        let usual = Rotation::On { file_bytes: 20_971_520, backups: 2 };
        let settings = HistorySettings::read(printed).unwrap();
        assert_eq!(settings, HistorySettings { jobs: usual, epochs: usual });
        // Two closed files of 20 MiB.
        assert_eq!(settings.epochs.least_bytes(), Some(41_943_040));
    }

    #[test]
    fn each_history_has_settings_of_its_own() {
        let printed = "False\nNot defined\n9\n100 * 1024 * 1024\n10\n";
        let epochs = Rotation::On { file_bytes: 104_857_600, backups: 10 };
        assert_eq!(
            HistorySettings::read(printed),
            Some(HistorySettings { jobs: Rotation::Off, epochs })
        );
    }

    #[test]
    fn other_output_is_not_understood() {
        for printed in ["", "true\n1\n2\n", "true\n20 MB\n2\n1\n2\n"] {
            assert_eq!(HistorySettings::read(printed), None, "{printed}");
        }
    }
}
