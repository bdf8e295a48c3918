//! The words of the commands that write to people.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use jiff::{Timestamp, ToSpan};
use lake::Lake;
use query::{PeriodEnd, Question};
use report::{NewestData, Period, Rhythm};

use super::{TOO_EARLY, between, question_about};
use crate::config::Config;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll digest                                   the last whole week, in the terminal\n  \
    plimsoll digest monthly -o october.html\n  \
    plimsoll digest weekly --from 2026-11-02 --to 2026-11-09 --format pdf -o week.pdf\n  \
    plimsoll digest daily --mail --dry-run            what would be sent\n  \
    30 6 * * 1 plimsoll digest weekly --mail          a line for cron\n\n\
    The period is the last day, week (from Monday) or month of the site's calendar that is over. If\n\
    the newest data is more than a day old, it is the last one that was over by then, but not with\n\
    --mail: an email is always about the last period before now, and says that it is incomplete. Who\n\
    got it already does not get it again. Sections, recipients and the mail server are in\n\
    plimsoll.toml: docs/digest.md.\n\n\
    Exit status: 0 done, 1 somebody could not be reached or files could not be read, 2 could not.")]
pub(crate) struct Digest {
    /// daily, weekly or monthly
    #[arg(value_name = "HOW OFTEN", default_value = "weekly", value_parser = ["daily", "weekly", "monthly"])]
    rhythm: String,
    /// From this day or moment on, instead (2026-11-01, 2026-11-01T12:00, 2026-11-01T12:00:00Z)
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until this day or moment, not included [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    /// text, markdown, html or pdf [default: by the file's ending, else text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "mail")]
    pub(crate) format: Option<String>,
    /// Write to a file instead of the terminal
    #[arg(short, long, value_name = "FILE", conflicts_with = "mail")]
    pub(crate) output: Option<PathBuf>,
    /// Put a pseudonym in the place of each user: always the same for the same user
    #[arg(long)]
    anonymize: bool,
    /// Send it to those whom plimsoll.toml names, by mail and to webhooks
    #[arg(long)]
    pub(crate) mail: bool,
    /// Show the head and the text of what would be sent, and send nothing
    #[arg(long, requires = "mail")]
    pub(crate) dry_run: bool,
    /// Send it also to those who have it already
    #[arg(long, requires = "mail")]
    pub(crate) again: bool,
}

impl Digest {
    pub(crate) fn rhythm(&self) -> Rhythm {
        let named = Rhythm::ALL.into_iter().find(|rhythm| rhythm.name() == self.rhythm);
        named.expect("clap takes these words only")
    }

    /// The question. What is sent is always about the last whole day, week or month before now: with
    /// old data it goes out as incomplete, and never as an earlier one that its readers have.
    pub(crate) async fn question(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
    ) -> Result<Question> {
        let last_whole =
            |end: Timestamp| self.rhythm().last_whole(&config.zone, end).context(TOO_EARLY);
        let named = between(self.from.as_deref(), self.to.as_deref(), &config.zone, now)?;
        let (period, period_end) = match named {
            Some(period) => (period, None),
            None if self.mail => (last_whole(now)?, None),
            None => {
                let end = PeriodEnd::find(lake, &self.cluster, now).await?;
                (last_whole(end.time)?, Some(end))
            }
        };
        let question = question_about(config, period, &self.cluster, now);
        Ok(Question { anonymize: self.anonymize, period_end, ..question })
    }
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll notify --dry-run             who would get a letter about the last days, and what it says\n  \
    plimsoll notify --csv waste.csv       the same as a list for staff\n  \
    plimsoll notify --send                sends them\n  \
    0 9 * * * plimsoll notify --send      a line for cron: nobody gets one too often\n\n\
    Who wasted enough, how often one may be told and when nobody is told are rules in plimsoll.toml:\n\
    docs/digest.md. If the newest data is more than a day old, --send sends nothing without --from.\n\n\
    Exit status: 0 done, 1 somebody could not be reached, 2 could not.")]
pub(crate) struct Notify {
    /// From this day or moment on [default: so many whole days before today as the rules say]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until this day or moment, not included [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    /// Write who wasted what, and who gets a letter, to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Send the letters; without it nothing is sent
    #[arg(long)]
    pub(crate) send: bool,
    /// Show the letters and send nothing, as without --send
    #[arg(long, conflicts_with = "send")]
    pub(crate) dry_run: bool,
}

impl Notify {
    /// The question, and the newest data if it is too old to tell users about a period that was
    /// not named. That period ends today all the same: an email about old usage is of no use.
    pub(crate) async fn question(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
    ) -> Result<(Question, Option<NewestData>)> {
        let named = between(self.from.as_deref(), self.to.as_deref(), &config.zone, now)?;
        let (period, newest) = match named {
            Some(period) => (period, None),
            None => {
                let today = now.to_zoned(config.zone.clone()).date();
                let days = i64::from(config.notify.days).days();
                let first = today.checked_sub(days).context(TOO_EARLY)?;
                let period = Period::of_days(first, today, &config.zone).context(TOO_EARLY)?;
                (period, PeriodEnd::find(lake, &self.cluster, now).await?.newest)
            }
        };
        Ok((question_about(config, period, &self.cluster, now), newest))
    }
}
