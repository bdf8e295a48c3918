//! The looks of a month, from both files that it may have, each once and in order.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::{ForeignRows, read_foreign, read_foreign_table};
use source::Rejected;
use source::origin::gpureports::{GpuState, Look};

use super::files;
use crate::command::import::modified;

/// The looks of a month.
pub(super) struct Month {
    /// What the first has, the others need not say.
    files: Vec<File>,
}

impl Month {
    pub(super) fn open(files: &files::Month, cluster: &str, zone: &TimeZone) -> Month {
        let open = |path: &Path, rows: Result<Rows>| {
            let opened = rows.and_then(|rows| Ok((rows, modified(path)?)));
            let (rows, modified, error): (Rows, _, _) = match opened {
                Ok((rows, modified)) => (rows, Some(modified), None),
                Err(error) => (Box::new(std::iter::empty()), None, Some(error)),
            };
            File {
                shown: path.display().to_string(),
                rows,
                state: GpuState::new(cluster, zone.clone()),
                ready: VecDeque::new(),
                is_over: false,
                read: Read {
                    rows: 0,
                    modified,
                    rejects: Vec::new(),
                    first: None,
                    last: None,
                    error,
                },
            }
        };
        let mut opened = Vec::new();
        if let Some(path) = &files.parquet {
            opened.push(open(path, read_foreign(path).map(|rows| Box::new(rows) as Rows)));
        }
        if let Some(path) = &files.sqlite {
            let rows = read_foreign_table(path, "gpu_state").and_then(|rows| match rows {
                Some(rows) => Ok(Box::new(rows) as Rows),
                None => bail!("{} has no table gpu_state", path.display()),
            });
            opened.push(open(path, rows));
        }
        Month { files: opened }
    }

    /// The next look.
    pub(super) fn next(&mut self) -> Option<Look> {
        let times: Vec<Option<Timestamp>> = self.files.iter_mut().map(File::peek).collect();
        let first = times.iter().flatten().min().copied()?;
        let mut look = None;
        for (file, time) in self.files.iter_mut().zip(times) {
            if time == Some(first) {
                // One look that both files have is one look.
                let same = file.ready.pop_front();
                look = look.or(same);
            }
        }
        look
    }

    /// What was read of each file.
    pub(super) fn end(self) -> Vec<Read> {
        self.files.into_iter().map(|file| file.read).collect()
    }
}

type Rows = Box<dyn Iterator<Item = Result<ForeignRows>>>;

/// A file that is read.
struct File {
    shown: String,
    rows: Rows,
    state: GpuState,
    /// Looks that are whole.
    ready: VecDeque<Look>,
    is_over: bool,
    read: Read,
}

/// What was read of a file.
pub(super) struct Read {
    pub(super) rows: u64,
    /// When it was written; nothing of one that cannot be opened.
    pub(super) modified: Option<Timestamp>,
    pub(super) rejects: Vec<Rejected>,
    /// Its first look.
    pub(super) first: Option<Timestamp>,
    /// Its last look.
    pub(super) last: Option<Timestamp>,
    /// Why it could not be read, or not to its end.
    pub(super) error: Option<anyhow::Error>,
}

impl File {
    /// The time of the next look.
    fn peek(&mut self) -> Option<Timestamp> {
        while self.ready.is_empty() && !self.is_over {
            if let Err(error) = self.fill() {
                self.read.error = Some(error);
                self.is_over = true;
            }
        }
        self.ready.front().map(|look| look.time)
    }

    /// Reads on.
    fn fill(&mut self) -> Result<()> {
        match self.rows.next().transpose()? {
            Some(rows) => {
                if let Some(column) = GpuState::missing_column(rows.names()) {
                    return Err(anyhow!("{} has no column {column}", self.shown));
                }
                let looks =
                    self.state.add(rows.names(), rows.rows(), |row, column| rows.cell(row, column));
                self.ready.extend(looks);
            }
            None => {
                self.ready.extend(self.state.end());
                self.is_over = true;
            }
        }
        self.read.rows = self.state.rows();
        self.read.first = self.read.first.or(self.ready.front().map(|look| look.time));
        self.read.last = self.ready.back().map(|look| look.time).or(self.read.last);
        let free = MOST_REJECTS.saturating_sub(self.read.rejects.len());
        self.read.rejects.extend(self.state.take_rejects().into_iter().take(free));
        Ok(())
    }
}

/// A file that is damaged in one column would be set aside whole; some of it says as much.
const MOST_REJECTS: usize = 1000;
