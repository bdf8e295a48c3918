//! What SLURM says of itself: `scontrol show config`, `sacctmgr show configuration` and the
//! version that every command prints.

use std::time::Duration;

use jiff::SignedDuration;

use crate::machine::Command;

/// Asks the controller for its settings.
pub fn scontrol_show_config() -> Command {
    command("scontrol", &["show", "config"])
}

/// Asks the accounting database for its settings, purging among them.
pub fn sacctmgr_show_configuration() -> Command {
    command("sacctmgr", &["show", "configuration"])
}

/// Asks a command for its version, which asks nothing of a daemon.
pub fn version_of(program: &'static str) -> Command {
    command(program, &["--version"])
}

/// Asks who ran what of late, a line a job.
pub fn sacct_users() -> Command {
    let arguments = [
        "--allusers",
        "--allocations",
        "--noheader",
        "--parsable2",
        "--starttime=now-6hours",
        "--endtime=now",
        "--format=User",
    ];
    command("sacct", &arguments)
}

fn command(program: &'static str, arguments: &[&str]) -> Command {
    Command {
        program,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        time_limit: Duration::from_secs(60),
    }
}

/// The value of a setting in `Key = Value` lines, the first of that name; nothing where it is not
/// set.
pub fn setting<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty() && *value != "(null)")
}

/// The settings of the accounting database, which `sacctmgr` prints behind its own.
pub fn database_settings(text: &str) -> &str {
    text.split_once("SlurmDBD configuration:").map_or("", |(_, settings)| settings)
}

/// Year and month of a release: `slurm-wlm 22.05.8` is (22, 5).
pub fn release(version: &str) -> Option<(u32, u32)> {
    let numbers = version.split_whitespace().find(|word| word.starts_with(char::is_numeric))?;
    let mut numbers = numbers.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// How long the database keeps rows of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    Never,
    After(SignedDuration),
}

/// Reads a setting such as `PurgeJobAfter`: `NONE`, `12 months`, `30 days*`. The mark says that
/// slurmdbd archives the rows before it deletes them.
pub fn purge(value: &str) -> Option<Purge> {
    let value = value.trim_end_matches('*').trim();
    if value.eq_ignore_ascii_case("none") {
        return Some(Purge::Never);
    }
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let number: i64 = value[..digits].parse().ok()?;
    let unit = value[digits..].trim().to_ascii_lowercase();
    let hours = match unit.trim_end_matches('s') {
        // The shortest month, so that rows stay at least this long.
        "" | "month" => number.checked_mul(28 * 24)?,
        "day" => number.checked_mul(24)?,
        "hour" => number,
        _ => return None,
    };
    SignedDuration::try_from_hours(hours).map(Purge::After)
}

/// How often SLURM samples the processes of a running job, in seconds: `task=30,energy=60`, or
/// `30`. None if the setting names no such interval.
pub fn task_sampling_seconds(frequency: &str) -> Option<u64> {
    let mut intervals = frequency.split(',').map(str::trim);
    intervals.find_map(|interval| interval.strip_prefix("task=").unwrap_or(interval).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        std::fs::read_to_string(format!("{folder}{name}")).unwrap()
    }

    #[test]
    fn settings_are_found_by_name() {
        let config = fixture("scontrol-show-config.txt");
        assert_eq!(setting(&config, "ClusterName"), Some("maple"));
        assert_eq!(setting(&config, "AccountingStorageType"), Some("accounting_storage/slurmdbd"));
        assert_eq!(setting(&config, "PrivateData"), Some("none"));
        assert_eq!(setting(&config, "AccountingStorageBackupHost"), None);
        assert_eq!(setting(&config, "NoSuchKey"), None);
    }

    #[test]
    fn the_databases_settings_are_told_from_the_clients() {
        let text = fixture("sacctmgr-configuration.txt");
        let database = database_settings(&text);
        assert_eq!(setting(database, "PurgeJobAfter"), Some("NONE"));
        assert_eq!(setting(database, "SLURMDBD_VERSION"), Some("22.05.8"));
        assert_eq!(setting(database, "AccountingStorageHost"), None);
        assert_eq!(database_settings("nothing of the kind"), "");
    }

    #[test]
    fn a_release_is_a_year_and_a_month() {
        for (text, expected) in [
            ("slurm-wlm 22.05.8", Some((22, 5))),
            ("slurm 20.11.9-1", Some((20, 11))),
            ("slurm 26.05.0-0rc1", Some((26, 5))),
            ("slurm 24.11-pre1", Some((24, 11))),
            ("command not found", None),
            ("slurm 2", None),
        ] {
            assert_eq!(release(text), expected, "{text}");
        }
    }

    #[test]
    fn a_purge_is_a_length_of_time() {
        let after = |hours| Some(Purge::After(SignedDuration::from_hours(hours)));
        for (text, expected) in [
            ("NONE", Some(Purge::Never)),
            ("12 months", after(12 * 28 * 24)),
            ("1 month*", after(28 * 24)),
            ("30 days", after(720)),
            ("36 hours", after(36)),
            ("12", after(12 * 28 * 24)),
            ("soon", None),
        ] {
            assert_eq!(purge(text), expected, "{text}");
        }
    }

    #[test]
    fn the_sampling_interval_of_tasks_is_found_among_the_others() {
        for (text, expected) in [
            ("task=2", Some(2)),
            ("30", Some(30)),
            ("0", Some(0)),
            ("energy=30,task=0", Some(0)),
            ("energy=30", None),
        ] {
            assert_eq!(task_sampling_seconds(text), expected, "{text}");
        }
    }
}
