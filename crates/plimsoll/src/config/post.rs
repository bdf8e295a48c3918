//! What is sent to people: digests, letters, and by whom.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::civil::{Date, Weekday};
use query::Digest;
use source::{MailServer, Secret, Security};

use super::SecretPlace;

/// The site's digest, and who gets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Digests {
    pub(crate) digest: Digest,
    /// Addresses, no two of one.
    pub(crate) to: Vec<String>,
    pub(crate) webhooks: Vec<Webhook>,
}

/// A chat that is told in a few lines, as Slack and Mattermost take them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    /// Whoever knows its address may write there.
    pub(crate) url: SecretPlace,
}

/// Who takes letters, and in whose name they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mail {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
    pub(crate) login: Option<(String, SecretPlace)>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) from: String,
    pub(crate) reply_to: Option<String>,
    pub(crate) time_limit: Duration,
    /// How often a letter is offered again that could not be handed over.
    pub(crate) retries: usize,
    /// How long is waited before the first time; twice as long before each that follows.
    pub(crate) retry_after: Duration,
}

/// Who gets a letter about waste.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notify {
    /// With `{user}` in it.
    pub(crate) address: Option<String>,
    /// How many days a letter is about.
    pub(crate) days: u16,
    /// How many days lie between two letters to one user, at least.
    pub(crate) cadence_days: u16,
    pub(crate) quiet_days: Vec<Weekday>,
    /// From an hour of the day to another.
    pub(crate) quiet_hours: Option<(i8, i8)>,
    /// Each from its first to its last day.
    pub(crate) quiet_dates: Vec<(Date, Date)>,
    pub(crate) excluded_users: Vec<String>,
    /// The last lines of every letter.
    pub(crate) footer: Option<String>,
    /// No two of one name.
    pub(crate) rules: Vec<Rule>,
}

/// What is waste: so much of it, and such a part of the whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// An analysis with a row for each user.
    pub(crate) report: String,
    /// The column of what was wasted.
    pub(crate) amount: String,
    /// So much at least.
    pub(crate) floor: f64,
    pub(crate) share: ShareOf,
    /// Such a part at least, of one.
    pub(crate) ratio: f64,
    /// What the letter says, with `{amount}` and `{share}` in it.
    pub(crate) words: String,
}

/// Where the share of what was wasted comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ShareOf {
    /// A column has it, in percent.
    Column(String),
    /// A column has the whole of which the amount is a part.
    Whole(String),
}

impl Digests {
    /// What the default is made from.
    pub(super) fn nothing() -> Digests {
        let digest = Digest { title: String::new(), parts: Vec::new(), shares: None };
        Digests { digest, to: Vec::new(), webhooks: Vec::new() }
    }

    /// Has paths begin at the file's folder.
    pub(super) fn below(mut self, folder: &Path) -> Digests {
        let below = |hook: Webhook| Webhook { url: hook.url.below(folder), ..hook };
        self.webhooks = self.webhooks.into_iter().map(below).collect();
        self
    }
}

impl Notify {
    /// What the default is made from.
    pub(super) fn nothing() -> Notify {
        Notify {
            address: None,
            days: 14,
            cadence_days: 14,
            quiet_days: Vec::new(),
            quiet_hours: None,
            quiet_dates: Vec::new(),
            excluded_users: Vec::new(),
            footer: None,
            rules: Vec::new(),
        }
    }
}

impl Mail {
    /// The server with its secrets, which are read now and kept nowhere.
    pub(crate) fn server(&self) -> Result<MailServer> {
        let login = match &self.login {
            Some((user, place)) => Some((user.clone(), Secret::new(place.read()?))),
            None => None,
        };
        let certificates = match &self.ca_file {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read ca_file {}", path.display()))?;
                Some(text.into())
            }
            None => None,
        };
        Ok(MailServer {
            host: self.host.clone(),
            port: self.port,
            security: self.security,
            login,
            certificates,
            time_limit: self.time_limit,
        })
    }

    /// Has paths begin at the file's folder.
    pub(super) fn below(mut self, folder: &Path) -> Mail {
        self.login = self.login.map(|(user, place)| (user, place.below(folder)));
        self.ca_file = self.ca_file.map(|path| folder.join(path));
        self
    }
}
