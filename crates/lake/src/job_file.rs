//! A file of jobs, of which a collection reads and writes only what it touches.
//!
//! While some jobs of a large day are not over, its rows lie in parts: by the day on which they
//! ended, the last of these days by the hour, and those that have not ended, which change with every
//! look, in a part of their own. So little is written anew when jobs end, and a question about somebody
//! finds few parts to look into. Which part a row lies in follows from the rows of the file, so the same
//! rows are the same bytes however they came. When all are over the file is one, sorted as every other.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};
use arrow::array::{AsArray, BooleanArray, Int64Array, StringArray, TimestampMicrosecondArray};
use bytes::Bytes;
use hashbrown::HashSet;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use record::{Attempts, DaySums, Job, Record};

use crate::assemble::{Piece, assemble, schema};
use crate::merge::sort;
use crate::parquet_file::{self, Footer, ROWS_A_BATCH};

/// What tells a job from others: its id, when it was submitted in microseconds, and its attempt.
pub(crate) type Key<'a> = (&'a str, i64, i64);

pub(crate) type Keys<'a> = HashSet<Key<'a>>;

pub(crate) fn key(job: &Job) -> Key<'_> {
    (&job.job_id, job.submit_time.as_microsecond(), job.attempt)
}

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Rows that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// They ended on the day that begins with this second.
    EndedOn(i64),
    /// They ended in the hour that begins with this second, on the last day on which any did.
    EndedIn(i64),
    /// They are not over, or it is not known when they ended.
    Open,
}

impl Part {
    fn of(job: &Job, last_day: Option<i64>) -> Part {
        match job.end_time {
            Some(end) if job.is_complete => {
                Part::ended(job.submit_time.as_second(), end.as_second(), last_day)
            }
            _ => Part::Open,
        }
    }

    /// Of a job by the seconds in which it was submitted and ended.
    fn ended(submit: i64, end: i64, last_day: Option<i64>) -> Part {
        let day = day_of(end);
        // Few last until the day after the next; a part for each hour would be a few rows.
        let is_soon = day < day_of(submit) + 2 * DAY;
        match last_day == Some(day) && is_soon {
            true => Part::EndedIn(end.div_euclid(HOUR) * HOUR),
            false => Part::EndedOn(day),
        }
    }

    /// The part that a group of rows is in by what its footer says; none if there are several.
    fn of_group(group: &RowGroupMetaData, last_day: Option<i64>) -> Option<Part> {
        let submits = seconds(group, "submit_time")?;
        let ends = seconds(group, "end_time")?;
        match ends.range {
            None if ends.nulls == group.num_rows() as u64 => Some(Part::Open),
            Some((first, last)) if ends.nulls == 0 => {
                let (submit, _) = submits.range?;
                let part = Part::ended(submit, first, last_day);
                (part == Part::ended(submit, last, last_day)).then_some(part)
            }
            _ => None,
        }
    }
}

/// What a footer says of a column of moments in a group of rows.
struct Seconds {
    /// The first and the last.
    range: Option<(i64, i64)>,
    nulls: u64,
}

fn seconds(group: &RowGroupMetaData, name: &str) -> Option<Seconds> {
    let column = group.columns().iter().find(|column| column.column_descr().name() == name);
    match column?.statistics()? {
        Statistics::Int64(statistics) => {
            let second = |micros: &i64| micros.div_euclid(1_000_000);
            let (first, last) =
                (statistics.min_opt().map(second), statistics.max_opt().map(second));
            Some(Seconds { range: first.zip(last), nulls: statistics.null_count_opt()? })
        }
        _ => None,
    }
}

/// The second with which a second's day begins.
fn day_of(second: i64) -> i64 {
    second.div_euclid(DAY) * DAY
}

/// The last day on which any of some jobs ended.
fn last_day(jobs: &[&Job]) -> Option<i64> {
    jobs.iter().filter_map(|job| job.end_time).max().map(|end| day_of(end.as_second()))
}

/// The same of the jobs of a group of rows.
fn last_day_of_group(group: &RowGroupMetaData) -> Option<i64> {
    seconds(group, "end_time")?.range.map(|(_, last)| day_of(last))
}

/// The bytes of a file with these jobs, which are in the order of a file. One of more than `large`
/// rows is in parts while some are not over.
pub(crate) fn encode(jobs: &[&Job], large: usize) -> Result<(Vec<u8>, Footer)> {
    if jobs.len() <= large || jobs.iter().all(|job| job.is_complete) {
        return parquet_file::encode(jobs);
    }
    assemble(by_part(jobs, last_day(jobs)).into_values().map(Piece::Rows))
}

fn by_part<'a>(jobs: &[&'a Job], last_day: Option<i64>) -> BTreeMap<Part, Vec<&'a Job>> {
    let mut parts: BTreeMap<Part, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        parts.entry(Part::of(job, last_day)).or_default().push(job);
    }
    parts
}

/// Jobs and others, in the order of a file.
fn together<'a>(jobs: &[&'a Job], others: &'a [Job]) -> Vec<&'a Job> {
    let mut all: Vec<&Job> = jobs.iter().copied().chain(others).collect();
    if !others.is_empty() {
        sort(&mut all);
    }
    all
}

/// A file of jobs as it is stored.
pub(crate) struct JobFile {
    cluster: String,
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    last_day: Option<i64>,
    /// The part of each group of rows; none if the file is not in parts.
    parts: Option<Vec<Part>>,
}

/// Some groups of a file, and what they hold.
#[derive(Default)]
pub(crate) struct Touched {
    /// How many jobs of each group were read.
    groups: BTreeMap<usize, usize>,
    pub(crate) jobs: Vec<Job>,
    /// How many jobs of these groups were not read, since others take their place.
    pub(crate) superseded: usize,
}

impl JobFile {
    pub(crate) fn open(cluster: &str, bytes: Bytes) -> Result<JobFile> {
        parquet_file::check_columns(&Job::TABLE, &bytes)?;
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())?;
        let stored = metadata.metadata();
        let is_ours =
            *stored.file_metadata().schema_descr().root_schema_ptr() == *schema(&Job::TABLE)?;
        let last_day = stored.row_groups().iter().filter_map(last_day_of_group).max();
        let parts = stored.row_groups().iter().map(|group| Part::of_group(group, last_day));
        let parts = parts.collect::<Option<Vec<Part>>>().filter(|_| is_ours);
        Ok(JobFile { cluster: cluster.to_owned(), bytes, metadata, last_day, parts })
    }

    /// What has to be read to write these jobs: the parts that they are and will be in, and all that
    /// may still change, but for what they supersede. What is not read is over.
    pub(crate) fn touched_by(&self, jobs: &[&Job], superseded: &Keys<'_>) -> Result<Touched> {
        let mut parts: BTreeSet<Part> =
            jobs.iter().map(|job| Part::of(job, self.last_day)).collect();
        parts.insert(Part::Open);
        self.touched(&jobs.iter().map(|job| key(job)).collect(), parts, superseded)
    }

    /// Some of its jobs.
    pub(crate) fn find(&self, keys: &Keys<'_>) -> Result<Vec<Job>> {
        let mut jobs = self.touched(keys, BTreeSet::from([Part::Open]), &Keys::new())?.jobs;
        jobs.retain(|job| keys.contains(&key(job)));
        Ok(jobs)
    }

    fn touched(
        &self,
        keys: &Keys<'_>,
        mut touched: BTreeSet<Part>,
        superseded: &Keys<'_>,
    ) -> Result<Touched> {
        let groups = 0..self.groups().len();
        let Some(parts) = &self.parts else {
            let (jobs, groups) = (self.read(groups.clone().collect(), None)?, groups);
            let groups = groups.map(|group| (group, self.rows_of(group))).collect();
            return Ok(Touched { groups, jobs, superseded: 0 });
        };
        for (group, part) in parts.iter().enumerate() {
            if !touched.contains(part) && self.has_any(group, keys)? {
                touched.insert(*part);
            }
        }
        let mut read = Touched::default();
        for group in groups.filter(|group| touched.contains(&parts[*group])) {
            let before = read.jobs.len();
            let others = match parts[group] {
                Part::Open if !superseded.is_empty() => Some(self.others_than(group, superseded)?),
                _ => None,
            };
            read.jobs.extend(self.read(vec![group], others)?);
            let count = read.jobs.len() - before;
            read.superseded += self.rows_of(group) - count;
            read.groups.insert(group, count);
        }
        Ok(read)
    }

    /// The rows of a group that are not of these jobs.
    fn others_than(&self, group: usize, keys: &Keys<'_>) -> Result<RowSelection> {
        let mut others = Vec::new();
        self.each_batch_of_keys(group, |batch| {
            others.push((0..batch.rows).map(|row| Some(!keys.contains(&batch.key(row)))).collect());
            true
        })?;
        Ok(RowSelection::from_filters(&others))
    }

    /// Whether a group has one of some jobs, or one that may still change.
    fn has_any(&self, group: usize, keys: &Keys<'_>) -> Result<bool> {
        let mut has_any = false;
        self.each_batch_of_keys(group, |batch| {
            let is_one = |row: usize| keys.contains(&batch.key(row));
            has_any = batch.are_complete.has_false() || (0..batch.rows).any(is_one);
            !has_any
        })?;
        Ok(has_any)
    }

    /// Reads what tells the jobs of a group apart, as long as it is wanted.
    fn each_batch_of_keys(
        &self,
        group: usize,
        mut take: impl FnMut(&BatchOfKeys<'_>) -> bool,
    ) -> Result<()> {
        let columns = ["job_id", "submit_time", "attempt", "is_complete"];
        for batch in self.reader(vec![group], Some(&columns), None)? {
            let batch = batch?;
            let column = |name: &str| {
                let column = batch.column_by_name(name);
                column.with_context(|| format!("it has no column {name}"))
            };
            let is_wanted = take(&BatchOfKeys {
                rows: batch.num_rows(),
                ids: column("job_id")?.as_string(),
                submits: column("submit_time")?.as_primitive(),
                attempts: column("attempt")?.as_primitive(),
                are_complete: column("is_complete")?.as_boolean(),
            });
            if !is_wanted {
                break;
            }
        }
        Ok(())
    }

    /// The file with these jobs, in the order of a file, in the place of those that were read.
    pub(crate) fn replaced(
        &self,
        touched: &Touched,
        jobs: &[&Job],
        large: usize,
    ) -> Result<(Vec<u8>, Footer)> {
        let left = self.groups_left(touched);
        let rows = jobs.len() + left.iter().map(|group| self.rows_of(*group)).sum::<usize>();
        let is_in_parts = rows > large && jobs.iter().any(|job| !job.is_complete);
        let Some(parts) = self.parts.as_ref().filter(|_| is_in_parts) else {
            let left = self.read(left, None)?;
            return encode(&together(jobs, &left), large);
        };
        let last_left = left.iter().filter_map(|group| last_day_of_group(&self.groups()[*group]));
        let last_day = last_left.chain(last_day(jobs)).max();
        // Where another day is now the last, jobs lie otherwise that ended on that or the one before.
        let (kept, moved): (Vec<usize>, Vec<usize>) = left.into_iter().partition(|group| {
            Part::of_group(&self.groups()[*group], last_day) == Some(parts[*group])
        });
        let moved = self.read(moved, None)?;
        let copy = |group: usize| Piece::Copied(&self.bytes, &self.groups()[group]);
        let mut pieces: BTreeMap<Part, Vec<Piece<'_, Job>>> = BTreeMap::new();
        for group in kept {
            pieces.entry(parts[group]).or_default().push(copy(group));
        }
        let stored = self.stored(touched, parts);
        for (part, rows) in by_part(&together(jobs, &moved), last_day) {
            let made = match stored.get(&part) {
                Some(before) if before.are(&rows) => {
                    before.groups.iter().map(|group| copy(*group)).collect()
                }
                _ => vec![Piece::Rows(rows)],
            };
            pieces.insert(part, made);
        }
        assemble(pieces.into_values().flatten())
    }

    /// Adds up the jobs that were not read.
    pub(crate) fn sum_up_left(&self, touched: &Touched, sums: &mut DaySums<'_>) -> Result<()> {
        let columns: Vec<&str> = Attempts::columns().collect();
        for batch in self.reader(self.groups_left(touched), Some(&columns), None)? {
            let attempts = Attempts::of(&batch?).map_err(|error| anyhow!(error))?;
            attempts.iter().for_each(|attempt| sums.add(&attempt));
        }
        Ok(())
    }

    fn groups(&self) -> &[RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    fn rows_of(&self, group: usize) -> usize {
        self.groups()[group].num_rows() as usize
    }

    fn groups_left(&self, touched: &Touched) -> Vec<usize> {
        (0..self.groups().len()).filter(|group| !touched.groups.contains_key(group)).collect()
    }

    /// The parts that were read.
    fn stored<'a>(&self, touched: &'a Touched, parts: &[Part]) -> BTreeMap<Part, StoredPart<'a>> {
        let mut jobs = &touched.jobs[..];
        let mut stored: BTreeMap<Part, StoredPart<'_>> = BTreeMap::new();
        for (group, count) in &touched.groups {
            let (read, rest) = jobs.split_at(*count);
            let part = stored.entry(parts[*group]).or_default();
            part.groups.push(*group);
            part.rows += self.rows_of(*group);
            part.jobs.extend(read);
            jobs = rest;
        }
        stored
    }

    fn read(&self, groups: Vec<usize>, rows: Option<RowSelection>) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for batch in self.reader(groups, None, rows)? {
            jobs.extend(Job::from_batch(&self.cluster, &batch?).map_err(|error| anyhow!(error))?);
        }
        Ok(jobs)
    }

    /// Reads some groups, of these some columns and rows.
    fn reader(
        &self,
        groups: Vec<usize>,
        columns: Option<&[&str]>,
        rows: Option<RowSelection>,
    ) -> Result<ParquetRecordBatchReader> {
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        );
        if let Some(columns) = columns {
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            builder = builder.with_projection(mask);
        }
        if let Some(rows) = rows {
            builder = builder.with_row_selection(rows);
        }
        Ok(builder.with_row_groups(groups).with_batch_size(ROWS_A_BATCH).build()?)
    }
}

/// A part as it is stored.
#[derive(Default)]
struct StoredPart<'a> {
    groups: Vec<usize>,
    rows: usize,
    /// Those of its jobs that were read.
    jobs: Vec<&'a Job>,
}

impl StoredPart<'_> {
    /// Whether it has these very jobs and no others.
    fn are(&self, jobs: &[&Job]) -> bool {
        self.rows == jobs.len()
            && self.jobs.len() == jobs.len()
            && self.jobs.iter().zip(jobs).all(|(one, other)| std::ptr::eq(*one, *other))
    }
}

/// What tells some jobs apart.
struct BatchOfKeys<'a> {
    rows: usize,
    ids: &'a StringArray,
    submits: &'a TimestampMicrosecondArray,
    attempts: &'a Int64Array,
    are_complete: &'a BooleanArray,
}

impl BatchOfKeys<'_> {
    fn key(&self, row: usize) -> Key<'_> {
        (self.ids.value(row), self.submits.value(row), self.attempts.value(row))
    }
}

#[cfg(test)]
mod tests;
