//! What was sent to whom: nobody gets the same twice, however often a command runs.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Something that was sent: what, of which time, and to whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    /// Such as `digest weekly`.
    pub(crate) what: String,
    /// What of it, such as a period and clusters; blank if there is only one.
    pub(crate) of: String,
    /// An address, or the name of a webhook.
    pub(crate) to: String,
}

/// The file `ledger/sent.json` of what is kept on this machine. Who has it open is the only one who sends.
pub(crate) struct Ledger {
    path: PathBuf,
    sent: BTreeMap<Sent, Timestamp>,
    /// Held until this is dropped; the system frees that of a process that dies.
    _lock: Option<File>,
}

impl Ledger {
    /// Opens it to send; refuses if somebody else is sending.
    pub(crate) fn open(state_dir: &Path) -> Result<Ledger> {
        let folder = state_dir.join("ledger");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let path = folder.join("sent.lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another plimsoll is sending letters from {}; wait for it",
                    state_dir.display()
                )
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        Ok(Ledger { _lock: Some(lock), ..Ledger::look(state_dir)? })
    }

    /// Reads it, and sends nothing.
    pub(crate) fn look(state_dir: &Path) -> Result<Ledger> {
        let path = state_dir.join("ledger/sent.json");
        let sent = match fs::read(&path) {
            Ok(bytes) => {
                read(&bytes).with_context(|| format!("{} is no ledger", path.display()))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        Ok(Ledger { path, sent, _lock: None })
    }

    /// When that was sent, if it was.
    pub(crate) fn time_of(&self, sent: &Sent) -> Option<Timestamp> {
        self.sent.get(sent).copied()
    }

    /// When something of this kind was last sent to somebody, of whatever time it was.
    pub(crate) fn last(&self, what: &str, to: &str) -> Option<Timestamp> {
        let such = self.sent.iter().filter(|(sent, _)| sent.what == what && sent.to == to);
        such.map(|(_, time)| *time).max()
    }

    /// Notes what was just sent. The file has it once this returns, even if all power is lost then.
    pub(crate) fn note(&mut self, sent: Sent, time: Timestamp) -> Result<()> {
        self.sent.insert(sent, time);
        let unfinished = self.path.with_extension("unfinished");
        let mut file = File::create(&unfinished)
            .with_context(|| format!("cannot write {}", unfinished.display()))?;
        file.write_all(&written(&self.sent))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&unfinished, &self.path))
            .and_then(|()| match self.path.parent() {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            })
            .with_context(|| format!("cannot put {} in place", self.path.display()))
    }
}

fn read(bytes: &[u8]) -> Result<BTreeMap<Sent, Timestamp>> {
    let entries: Vec<Value> = serde_json::from_slice(bytes)?;
    let mut sent = BTreeMap::new();
    for entry in entries {
        let text = |name: &str| match &entry[name] {
            Value::String(text) => Ok(text.clone()),
            _ => bail!("an entry has no {name}"),
        };
        let time = text("time")?.parse().context("an entry has no time")?;
        sent.insert(Sent { what: text("what")?, of: text("of")?, to: text("to")? }, time);
    }
    Ok(sent)
}

/// An entry a line.
fn written(sent: &BTreeMap<Sent, Timestamp>) -> Vec<u8> {
    let entries = sent.iter().map(|(sent, time)| {
        let Sent { what, of, to } = sent;
        json!({ "what": what, "of": of, "to": to, "time": time.to_string() }).to_string()
    });
    format!("[\n{}\n]\n", entries.collect::<Vec<_>>().join(",\n")).into_bytes()
}
