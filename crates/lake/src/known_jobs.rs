//! What is known of jobs that may be told of again: what is said twice needs no look into a file.

use std::hash::Hasher;

use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;
use record::{AttemptExtent, Job, Record, Text};
use serde::{Deserialize, Serialize};

use crate::LAG;

/// The jobs of a file that may be told of again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownJobs {
    /// Those that are not over.
    pub(crate) open: Vec<OpenJob>,
    /// Those that ended lately, as they are stored: a scheduler is asked about the time before the
    /// last question once more.
    ended: Vec<EndedJob>,
}

/// A job that may still change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpenJob {
    pub job_id: Text,
    pub submit_time: Timestamp,
    pub attempt: i64,
    /// Whether it has not started.
    pub is_waiting: bool,
    /// When the scheduler was asked.
    pub observed_time: Timestamp,
    /// A hash of what it said.
    content: u64,
    /// Decides whether a later observation supersedes it; none if an earlier version wrote this.
    #[serde(default)]
    extent: Option<AttemptExtent>,
}

impl OpenJob {
    /// What tells it from others: its id, when it was submitted, and its attempt.
    pub fn key(&self) -> (&str, Timestamp, i64) {
        (&self.job_id, self.submit_time, self.attempt)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct EndedJob {
    end_second: i64,
    /// A hash of what was said of it.
    content: u64,
}

impl KnownJobs {
    /// Takes note of jobs of a file, all that are not over among them, which took the place of some
    /// that were in it.
    pub(crate) fn note(&mut self, replaced: &[Job], jobs: &[&Job]) {
        // What ended longer before is not asked about again by itself.
        let last = jobs.iter().map(|job| job.observed_time.as_second()).max().unwrap_or_default();
        let is_recent = |end_second: i64| end_second >= last - 2 * LAG.as_secs();
        let ended = |job: &Job| {
            let end = job.end_time.filter(|_| job.is_complete)?.as_second();
            is_recent(end).then(|| EndedJob { end_second: end, content: content(job) })
        };
        let gone: HashSet<u64> = replaced.iter().filter_map(ended).map(|job| job.content).collect();
        self.ended.retain(|job| is_recent(job.end_second) && !gone.contains(&job.content));
        self.ended.extend(jobs.iter().filter_map(|job| ended(job)));
        let open = jobs.iter().filter(|job| !job.is_complete);
        self.open = open
            .map(|job| OpenJob {
                job_id: job.job_id.clone(),
                submit_time: job.submit_time,
                attempt: job.attempt,
                is_waiting: job.start_time.is_none(),
                observed_time: job.observed_time,
                content: content(job),
                extent: Some(AttemptExtent::of(job)),
            })
            .collect();
    }
}

type Key<'a> = (&'a str, Timestamp, i64);

fn key(job: &Job) -> Key<'_> {
    (&job.job_id, job.submit_time, job.attempt)
}

/// The known jobs of all files, to look them up.
pub(crate) struct Lookup<'a> {
    open: HashMap<Key<'a>, &'a OpenJob>,
    ended: HashSet<u64>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn of(files: impl Iterator<Item = &'a KnownJobs> + Clone) -> Lookup<'a> {
        let open = files.clone().flat_map(|file| &file.open);
        Lookup {
            open: open.map(|job| (job.key(), job)).collect(),
            ended: files.flat_map(|file| &file.ended).map(|job| job.content).collect(),
        }
    }

    /// Whether a job is stored as it is told here.
    pub(crate) fn says(&self, job: &Job) -> bool {
        if job.is_complete {
            return !self.ended.is_empty() && self.ended.contains(&content(job));
        }
        self.open.get(&key(job)).is_some_and(|known| known.content == content(job))
    }

    /// Whether this observation supersedes the stored one: that one is earlier, still open, and has no
    /// value that this one lacks.
    pub(crate) fn is_superseded_by(&self, job: &Job) -> bool {
        self.open.get(&key(job)).is_some_and(|known| {
            known.extent.is_some_and(|extent| extent.is_superseded_by(known.observed_time, job))
        })
    }
}

/// A hash of what is said of a job, the same in every process. Another version's may differ: then
/// nothing is known.
fn content(job: &Job) -> u64 {
    let mut hasher = Mixer(0);
    job.hash_content(&mut hasher);
    hasher.finish()
}

/// Mixes words by multiplying them: std's hasher withstands whoever looks for two that hash the same,
/// and takes four times as long.
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(bytes.len() as u64);
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u64(&mut self, word: u64) {
        /// The digits of the golden ratio, odd and with half of its bits set.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(self.0.rotate_left(23) ^ word ^ FACTOR) * u128::from(FACTOR);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
