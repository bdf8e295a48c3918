//! What a question costs where files are asked for over a network: as many requests as there are days in
//! it, however long the history is.

use std::fmt;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use lake::{Lake, LakeFile, Place, StoreSettings};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use query::PeriodEnd;
use record::{Job, Record};
use report::{Period, Value};
use sqllogictest::AsyncDB;

use crate::site::{Site, period};

/// A store in memory that counts what it is asked.
#[derive(Debug, Default)]
struct Counting {
    store: InMemory,
    asked: Arc<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    requests: AtomicUsize,
    /// How many were read.
    bytes: AtomicU64,
    /// How often the end of a large object, where a footer is, was read.
    footers: AtomicUsize,
}

/// A smaller one is read at once.
const LARGE: u64 = 8 * 1024 * 1024;

impl Counting {
    fn count(&self) {
        self.asked.requests.fetch_add(1, Ordering::SeqCst);
    }

    /// A list comes in pages of a thousand names, as from Amazon's S3.
    fn paged(
        &self,
        listed: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.count();
        let asked = self.asked.clone();
        let counted = listed.enumerate().map(move |(place, listed)| {
            if place > 0 && place % 1000 == 0 {
                asked.requests.fetch_add(1, Ordering::SeqCst);
            }
            listed
        });
        counted.boxed()
    }
}

#[async_trait]
impl ObjectStore for Counting {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, put: PutOptions) -> Result<PutResult> {
        self.count();
        self.store.put_opts(path, bytes, put).await
    }

    async fn get_opts(&self, path: &Path, get: GetOptions) -> Result<GetResult> {
        self.count();
        let is_read = !get.head;
        let got = self.store.get_opts(path, get).await?;
        if is_read {
            self.asked.bytes.fetch_add(got.range.end - got.range.start, Ordering::SeqCst);
            let has_footer = got.meta.size > LARGE && got.range.end == got.meta.size;
            self.asked.footers.fetch_add(has_footer.into(), Ordering::SeqCst);
        }
        Ok(got)
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.count();
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.paged(self.store.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.paged(self.store.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.count();
        self.store.list_with_delimiter(prefix).await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        panic!("a file is put at once")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        panic!("nothing is copied")
    }
}

impl fmt::Display for Counting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Counting")
    }
}

/// A cluster with a job and a GPU, each busy for an hour of every day from one until another.
async fn history(first: Date, last: Date) -> (Site, Arc<Asked>) {
    let store = Counting::default();
    let asked = store.asked.clone();
    let place = FilePath::new("s3://bucket/lake");
    let place = Place::read(place, FilePath::new("/"), &StoreSettings::default()).unwrap();
    let mut site = Site::new();
    site.lake = Lake::of_store(place, Arc::new(store));
    let days: Vec<Date> =
        first.series(jiff::Span::new().days(1)).take_while(|day| *day < last).collect();
    let rows = |row: fn(&Date) -> String| days.iter().map(row).collect::<Vec<_>>().join(", ");
    let jobs = rows(|day| {
        format!("('{day}', 'ann', '{day}T10:00:00Z', '{day}T11:00:00Z', '{day}T12:00:00Z', 4)")
    });
    let spans = rows(|day| {
        format!(
            "('maple', 'gpu01', 'GPU-1', '{day}T10:00:00Z', '{day}T11:00:00Z', 'Claimed', 'ann')"
        )
    });
    for statement in [
        format!(
            "INSERT INTO job (job_id, user, start_time, end_time, observed_time, alloc_cpus) VALUES {jobs}"
        ),
        format!(
            "INSERT INTO gpu_span (cluster, machine, gpu_id, start_time, end_time, primary_state, \
             primary_user) VALUES {spans}"
        ),
    ] {
        site.run(&statement).await.unwrap();
    }
    (site, asked)
}

/// The requests of a report by one who knows nothing yet.
async fn cold(site: &Site, asked: &Asked, analysis: &query::Analysis) -> usize {
    let before = asked.requests.load(Ordering::SeqCst);
    let report = query::run(&site.lake, analysis, &site.question).await.unwrap();
    assert_eq!(report.coverage.skipped, [], "{}", analysis.name);
    asked.requests.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn a_week_of_five_years_takes_at_most_fifty_requests_in_every_report() {
    let (mut site, asked) = history(date(2021, 1, 1), date(2026, 1, 1)).await;
    site.question.period = period("2025-12-22T00:00:00Z", "2025-12-29T00:00:00Z", "UTC").unwrap();
    for analysis in query::ANALYSES {
        site.question.options = crate::subject_options(analysis, "ann");
        let taken = cold(&site, &asked, analysis).await;
        assert!(taken <= 50, "{} takes {taken}", analysis.name);
    }
    site.question.options.clear();
    // The clusters are looked for in ten tables and their tracker is read; jobs and their sums are listed
    // since the first day of the week, and the sums of its seven days are read.
    let usage = query::analysis("usage-by-user").unwrap();
    assert_eq!(cold(&site, &asked, usage).await, 10 + 1 + 2 + 7);
    let report = query::run(&site.lake, usage, &site.question).await.unwrap();
    assert_eq!(report.table.rows.len(), 1);
    // Where a period ends that is named by its length takes no request more.
    let before = asked.requests.load(Ordering::SeqCst);
    let end = PeriodEnd::find(&site.lake, &[], "2026-03-01T00:00:00Z".parse().unwrap()).await;
    let end = end.unwrap();
    assert_eq!(end.time.to_string(), "2025-12-31T11:00:00Z");
    site.question.period = Period::last_days(7, &TimeZone::UTC, end.time).unwrap();
    site.question.period_end = Some(end);
    let report = query::run(&site.lake, usage, &site.question).await.unwrap();
    assert_eq!(report.table.rows.len(), 1);
    // Of the last day, which is not whole, the attempts are read.
    assert_eq!(asked.requests.load(Ordering::SeqCst) - before, 10 + 1 + 2 + 7 + 1);
    site.question.period_end = None;
    // Five years ago a second page of names has to be asked for.
    site.question.period = period("2021-03-01T00:00:00Z", "2021-03-08T00:00:00Z", "UTC").unwrap();
    assert_eq!(cold(&site, &asked, usage).await, 10 + 1 + 4 + 7);
}

/// The file of the only day.
async fn file_of_jobs(site: &Site) -> LakeFile {
    let trackers = site.lake.trackers().await.unwrap();
    site.lake.files(&Job::TABLE, &trackers).await.unwrap().remove(0)
}

/// A text that hardly anything can be saved of.
fn noise(length: usize, seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed;
    let letters = (0..length).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        LETTERS[(state >> 58) as usize] as char
    });
    letters.collect()
}

#[tokio::test]
async fn of_a_large_file_those_parts_are_read_that_are_needed() {
    const JOBS: u64 = 48;
    const NAME: usize = 300_000;
    let (mut site, asked) = history(date(2026, 1, 1), date(2026, 1, 2)).await;
    site.question.period = period("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "UTC").unwrap();
    let file = file_of_jobs(&site).await;
    let one: Vec<Job> = site.lake.read(&file.cluster, &file.meta.location).await.unwrap();
    let jobs: Vec<Job> = (1..=JOBS)
        .map(|number| Job {
            job_id: format!("{number}").into(),
            job_name: Some(noise(NAME, number).into()),
            ..one[0].clone()
        })
        .collect();
    let mut writer = site.lake.writer(&file.cluster).await.unwrap();
    writer.upsert(&jobs).await.unwrap();
    writer.finish().await.unwrap();
    let size = file_of_jobs(&site).await.meta.size;
    assert!(size > LARGE, "a file of {size} bytes is read at once");

    let mut answers = Vec::new();
    for sql in ["SELECT sum(alloc_cpus) FROM job", "SELECT sum(length(job_name)) FROM job"] {
        let before = asked.bytes.load(Ordering::SeqCst);
        let report = query::sql(&site.lake, sql, 10, &site.question).await.unwrap();
        let Value::Integer(sum) = report.table.rows[0][0] else { panic!("{:?}", report.table) };
        answers.push((sum, asked.bytes.load(Ordering::SeqCst) - before));
    }
    let [(cpus, few), (letters, many)] = answers[..] else { panic!("two questions") };
    // Four of each job, of which one was there before.
    assert_eq!((cpus, letters), (4 * (JOBS as i64 + 1), (JOBS * NAME as u64) as i64));
    assert!(few < size / 10, "{few} of {size} bytes");
    assert!(many > size * 9 / 10, "{many} of {size} bytes");

    // Twice through the file, and once to its footer.
    let before = asked.footers.load(Ordering::SeqCst);
    let sql = "SELECT (SELECT sum(alloc_cpus) FROM job) + (SELECT count(user) FROM job)";
    let report = query::sql(&site.lake, sql, 10, &site.question).await.unwrap();
    assert_eq!(report.table.rows[0][0], Value::Integer(5 * (JOBS as i64 + 1)));
    assert_eq!(asked.footers.load(Ordering::SeqCst) - before, 1);
}
