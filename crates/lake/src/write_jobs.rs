//! Jobs into their files, and what is added up of them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use jiff::Timestamp;
use object_store::path::Path;
use record::{Attempt, DaySums, Job, JobDay, NodeDay};

use crate::job_file::{self, JobFile, Touched, key};
use crate::merge::merge;
use crate::{Change, Writer, path};

impl Writer {
    /// Adds jobs, or merges them with their stored rows. Most observations repeat earlier ones, and most
    /// others are of running jobs. Only the row groups that they change are read and written.
    pub(crate) async fn upsert_jobs(&mut self, jobs: &[&Job]) -> Result<Change> {
        let known = self.tracker.lookup();
        let news: Vec<&Job> = jobs.iter().copied().filter(|job| !known.says(job)).collect();
        let superseded = news.iter().filter(|job| known.is_superseded_by(job)).map(|job| key(job));
        let superseded: job_file::Keys<'_> = superseded.collect();
        drop(known);
        let mut change = Change::default();
        for (path, came) in self.by_file(news) {
            let file = self.job_file(&path).await?;
            let touched = match &file {
                Some(file) => {
                    file.touched_by(&came, &superseded).with_context(|| self.no_merge(&path))?
                }
                None => Touched::default(),
            };
            let merged = merge(&touched.jobs, &came);
            let (added, changed) = (merged.added, merged.changed);
            if added + changed == 0 {
                continue;
            }
            let rows = merged.rows();
            let large = self.lake.large_file;
            let encoded = match &file {
                Some(file) => file.replaced(&touched, &rows, large),
                None => job_file::encode(&rows, large),
            };
            self.put(&path, encoded).await?;
            let zone = self.lake.zone.clone();
            let mut sums = DaySums::new(&zone);
            if let Some(file) = &file {
                file.sum_up_left(&touched, &mut sums)?;
            }
            self.sum_up(&path, &touched.jobs, &rows, sums).await?;
            let superseded = touched.superseded;
            change += Change { added: added - superseded, changed: changed + superseded };
        }
        Ok(change)
    }

    /// Jobs of the lake, each by its id, when it was submitted, and its attempt.
    pub async fn jobs<'a>(
        &self,
        keys: impl IntoIterator<Item = (&'a str, Timestamp, i64)>,
    ) -> Result<Vec<Job>> {
        let mut files: BTreeMap<Path, job_file::Keys<'_>> = BTreeMap::new();
        for (job_id, submit_time, attempt) in keys {
            let key = (job_id, submit_time.as_microsecond(), attempt);
            files.entry(self.file::<Job>(submit_time)).or_default().insert(key);
        }
        let mut jobs = Vec::new();
        for (path, keys) in files {
            if let Some(file) = self.job_file(&path).await? {
                jobs.extend(file.find(&keys).with_context(|| self.no_merge(&path))?);
            }
        }
        Ok(jobs)
    }

    /// Puts jobs in the place of all that are in a file.
    pub(crate) async fn replace_jobs(&mut self, path: &Path, jobs: &[&Job]) -> Result<()> {
        self.put(path, job_file::encode(jobs, self.lake.large_file)).await?;
        let zone = self.lake.zone.clone();
        self.sum_up(path, &[], jobs, DaySums::new(&zone)).await
    }

    /// Makes what long questions read instead of the jobs of a file: of these, which took the place of
    /// others and are all that are not over, and of those that are added up already. Until it is there
    /// the tracker, which is written later, does not know the file of the jobs.
    async fn sum_up(
        &mut self,
        path: &Path,
        replaced: &[Job],
        jobs: &[&Job],
        mut sums: DaySums<'_>,
    ) -> Result<()> {
        let Some(first) = jobs.first() else { return Ok(()) };
        let submit_day = path::midnight(path::date(first.submit_time));
        jobs.iter().for_each(|job| sums.add(&Attempt::from(*job)));
        let (days, nodes) = sums.into_rows(&self.cluster, submit_day);
        self.tracker.note_jobs(path, replaced, jobs);
        let path = self.file::<JobDay>(submit_day);
        self.replace(&path, &days.iter().collect::<Vec<_>>()).await?;
        let path = self.file::<NodeDay>(submit_day);
        self.replace(&path, &nodes.iter().collect::<Vec<_>>()).await
    }

    /// The same of a file as it is.
    pub(crate) async fn sum_up_again(&mut self, path: &Path) -> Result<()> {
        let jobs: Vec<Job> = self.lake.read(&self.cluster, path).await?;
        let zone = self.lake.zone.clone();
        self.sum_up(path, &[], &jobs.iter().collect::<Vec<_>>(), DaySums::new(&zone)).await
    }

    /// A file of jobs that is about to be rewritten; none if there is no such file.
    async fn job_file(&self, path: &Path) -> Result<Option<JobFile>> {
        let Some(bytes) = self.files.read(path).await? else { return Ok(None) };
        let file = JobFile::open(&self.cluster, bytes).context("the file is left as it is");
        file.map(Some).with_context(|| self.no_merge(path))
    }
}
