//! The words of the commands about what the schedulers printed, which is kept.

use anyhow::{Result, bail};
use clap::Args;
use jiff::civil::Date;
use jiff::{Span, ToSpan};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll reprocess                            everything, after an update that reads more\n  \
    plimsoll reprocess --from 2026-11-01 --to 2026-12-01\n\n\
    What the schedulers printed is kept in raw/ and read again, as it came. Rows of which nothing\n\
    was kept there, such as imported ones, stay as they are. No scheduler is asked.")]
pub(crate) struct Reprocess {
    /// Only rows of this UTC day and later
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<Date>,
    /// Only rows before this UTC day
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<Date>,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll prune --older-than 1y --dry-run      what there is to remove\n  \
    plimsoll prune --older-than 400d --cluster alder\n  \
    40 5 1 * * plimsoll prune --older-than 2y     a line for cron, once a month\n\n\
    The tables stay, whole: all reports say what they said. Only 'plimsoll reprocess', and the steps of\n\
    a job on its page, need what was printed. It is most of what is on the disk.")]
pub(crate) struct Prune {
    /// Remove what is about days before this: a number and d, w or y, 30d at the least
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Span,
    /// Only tell what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
}

/// What was printed about the last days may be read again: of jobs that had not ended, and after an
/// update.
const FEWEST_DAYS: i32 = 30;

fn age(written: &str) -> Result<Span> {
    let unit = written.chars().last().filter(char::is_ascii).unwrap_or_default();
    let number: Option<i32> = written.strip_suffix(unit).and_then(|number| number.parse().ok());
    match (number, unit) {
        (Some(days @ FEWEST_DAYS..=36_600), 'd') => Ok(days.days()),
        (Some(weeks @ 5..=5_200), 'w') => Ok(weeks.weeks()),
        (Some(years @ 1..=100), 'y') => Ok(years.years()),
        _ => bail!(
            "write a whole number and d, w or y, such as 400d or 2y, and no less than {FEWEST_DAYS}d"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_whole_and_not_short() {
        for (written, expected) in [("30d", 30.days()), ("60w", 60.weeks()), ("2y", 2.years())] {
            assert_eq!(age(written).unwrap().fieldwise(), expected.fieldwise(), "{written}");
        }
        for written in [
            "29d",
            "4w",
            "0y",
            "-2y",
            "1.5y",
            "y",
            "",
            "400",
            "2m",
            "99999999999d",
            "2 y",
            "3\u{e9}",
        ] {
            assert!(age(written).is_err(), "{written:?}");
        }
    }
}
