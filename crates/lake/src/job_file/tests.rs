use jiff::{SignedDuration, Timestamp};
use parquet::file::metadata::ParquetMetaDataReader;
use proptest::prelude::*;
use record::{Job, Record, Text};
use tempfile::TempDir;

use crate::test_lake::{files, lake, remove, rows, runtime};
use crate::tests::{job, time};
use crate::{Change, Lake, Trackers};

const MORNING: &str = "2026-01-01T09:30:00Z";

/// A lake in which a file of more than two jobs is large.
fn lake_of_large_files() -> (TempDir, Lake) {
    let (folder, lake) = lake();
    (folder, lake.with_large_file(2))
}

fn running(id: u8, observed: &str) -> Job {
    let elapsed = time(observed).duration_since(time(MORNING)).as_secs();
    let mut job = Job {
        elapsed_seconds: Some(elapsed),
        user: Some(["ann", "bob"][usize::from(id) % 2].into()),
        ..job(&id.to_string(), MORNING, observed, "RUNNING")
    };
    job.set_usage();
    job
}

fn ended(id: u8, observed: &str, end: Timestamp) -> Job {
    Job {
        state: "COMPLETED".into(),
        is_complete: true,
        end_time: Some(end),
        ..running(id, observed)
    }
}

async fn upsert(lake: &Lake, rows: &[Job]) -> Change {
    let mut writer = lake.writer("maple").await.unwrap();
    let change = writer.upsert(rows).await.unwrap();
    writer.finish().await.unwrap();
    change
}

/// The jobs of each group of rows, by their ids.
async fn groups(lake: &Lake) -> Vec<String> {
    let files = lake.files(&Job::TABLE, &Trackers::new()).await.unwrap();
    let bytes = lake.bytes(&files[0].meta.location).await.unwrap().unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    let mut jobs = rows::<Job>(lake).await.into_iter();
    let of_group = |count: i64| {
        let ids: Vec<Text> = jobs.by_ref().take(count as usize).map(|job| job.job_id).collect();
        ids.join(" ")
    };
    metadata.row_groups().iter().map(|group| group.num_rows()).map(of_group).collect()
}

#[tokio::test]
async fn a_large_day_is_in_parts_until_all_of_its_jobs_are_over() {
    let (_folder, lake) = lake_of_large_files();
    let noon = "2026-01-01T12:00:00Z";
    let first = [
        ended(1, noon, time("2026-01-01T10:10:00Z")),
        ended(2, noon, time("2026-01-01T11:59:59Z")),
        ended(3, noon, time("2026-01-01T10:50:00Z")),
        running(4, noon),
        running(5, noon),
    ];
    upsert(&lake, &first).await;
    // By the hour in which they ended; those that run come last.
    assert_eq!(groups(&lake).await, ["1 3", "2", "4 5"].map(sorted_by_user));
    let later = "2026-01-04T07:00:00Z";
    let change = upsert(&lake, &[ended(4, later, time("2026-01-04T06:00:00Z"))]).await;
    assert_eq!(change, Change { added: 0, changed: 1 });
    // What ended on a day that is not the last any more lies by the day, and so does what ended on the
    // third day or later.
    assert_eq!(groups(&lake).await, ["1 2 3", "4", "5"].map(sorted_by_user));
    upsert(&lake, &[ended(6, later, time("2026-01-04T01:00:00Z"))]).await;
    assert_eq!(groups(&lake).await, ["1 2 3", "4 6", "5"].map(sorted_by_user));
    upsert(&lake, &[ended(5, later, time("2026-01-04T06:30:00Z"))]).await;
    assert_eq!(groups(&lake).await, ["4 6 1 3 5 2"].map(sorted_by_user));
}

/// Even ids are ann's, odd ones bob's.
fn sorted_by_user(ids: &str) -> String {
    let mut ids: Vec<&str> = ids.split(' ').collect();
    ids.sort_by_key(|id| (id.parse::<u8>().unwrap() % 2, *id));
    ids.join(" ")
}

#[tokio::test]
async fn what_is_said_again_of_jobs_that_ended_lately_needs_no_look_into_the_file() {
    let (_folder, lake) = lake_of_large_files();
    let noon = "2026-01-01T12:00:00Z";
    let lately = ended(1, noon, time("2026-01-01T11:10:00Z"));
    let before = ended(2, noon, time("2026-01-01T09:40:00Z"));
    upsert(&lake, &[lately.clone(), before.clone(), running(3, noon)]).await;
    let mut writer = lake.writer("maple").await.unwrap();
    remove(&lake, "processed/job/cluster=maple").await;
    let again = |job: &Job| Job { observed_time: time("2026-01-01T12:05:00Z"), ..job.clone() };
    let change = writer.upsert(&[again(&lately), again(&running(3, noon))]).await.unwrap();
    assert_eq!(change, Change::default());
    // More than twice as long ago as accounting may be late: it is looked for.
    let change = writer.upsert(&[again(&before)]).await.unwrap();
    assert_eq!(change, Change { added: 1, changed: 0 });
}

/// The row of a running job is replaced without being read; here it has to be.
#[tokio::test]
async fn a_known_value_of_a_running_job_is_kept_in_a_file_by_parts() {
    let (_folder, lake) = lake_of_large_files();
    let (noon, later) = ("2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z");
    let with_qos = |id, observed| Job { qos: Some("high".into()), ..running(id, observed) };
    let measured = job("1", MORNING, noon, "COMPLETED");
    upsert(&lake, &[measured.clone(), with_qos(2, noon), with_qos(3, noon)]).await;
    let purged = Job {
        observed_time: time(later),
        total_cpu_seconds: None,
        max_rss_mb: None,
        usage_source: None,
        ..measured.clone()
    };
    upsert(&lake, &[purged, with_qos(2, later), running(3, later)]).await;
    let mut jobs = rows::<Job>(&lake).await;
    jobs.sort_by(|one, other| one.job_id.cmp(&other.job_id));
    let qos: Vec<Option<&str>> = jobs.iter().map(|job| job.qos.as_deref()).collect();
    assert_eq!(qos, [None, Some("high"), Some("high")]);
    assert_eq!(jobs[2].earlier_values.as_deref(), Some("qos=sacct/started/2026-01-01T12:00:00Z"));
    assert_eq!(jobs[2].elapsed_seconds, Some(12_600)); // from 9:30 to 13:00
    assert_eq!((jobs[0].max_rss_mb, jobs[0].total_cpu_seconds), (Some(10.0), Some(60.0)));
    assert_eq!(jobs[0].cpu_efficiency, measured.cpu_efficiency);
}

#[tokio::test]
async fn jobs_are_found_in_every_part() {
    let (_folder, lake) = lake_of_large_files();
    let noon = "2026-01-01T12:00:00Z";
    let jobs = [
        ended(1, noon, time("2026-01-01T10:10:00Z")),
        ended(2, noon, time("2026-01-01T11:10:00Z")),
        running(3, noon),
    ];
    upsert(&lake, &jobs).await;
    let writer = lake.writer("maple").await.unwrap();
    let keys = ["1", "3", "4"].map(|id| (id, time(MORNING), 0));
    assert_eq!(writer.jobs(keys).await.unwrap(), [jobs[0].clone(), jobs[2].clone()]);
}

#[tokio::test]
async fn a_job_that_ended_at_another_time_than_was_said_is_in_one_part() {
    let (_folder, lake) = lake_of_large_files();
    let noon = "2026-01-01T12:00:00Z";
    let before: Vec<Job> =
        (1..=3).map(|id| ended(id, noon, time("2026-01-01T10:10:00Z"))).collect();
    upsert(&lake, &before).await;
    upsert(&lake, &[running(4, noon)]).await;
    upsert(&lake, &[ended(1, "2026-01-01T13:00:00Z", time("2026-01-01T12:10:00Z"))]).await;
    assert_eq!(groups(&lake).await, ["2 3", "1", "4"].map(sorted_by_user));
}

#[tokio::test]
async fn the_last_day_on_which_jobs_ended_lies_by_the_hour() {
    let (_folder, lake) = lake_of_large_files();
    let said = "2026-01-02T12:00:00Z";
    let jobs = [
        ended(1, said, time("2026-01-01T10:10:00Z")),
        ended(2, said, time("2026-01-02T00:10:00Z")),
        ended(3, said, time("2026-01-02T11:10:00Z")),
        ended(4, said, time("2026-01-01T11:10:00Z")),
        running(5, said),
    ];
    upsert(&lake, &jobs).await;
    assert_eq!(groups(&lake).await, ["1 4", "2", "3", "5"].map(sorted_by_user));
    // They did not end that late after all: the day before is the last.
    let later = "2026-01-02T13:00:00Z";
    let end = time("2026-01-01T11:20:00Z");
    upsert(&lake, &[ended(3, later, end), ended(2, later, end)]).await;
    assert_eq!(groups(&lake).await, ["1", "2 3 4", "5"].map(sorted_by_user));
}

/// What is said of some jobs, one thing after another: it runs, runs still, has ended, and has ended
/// at another time than was thought. Each is said at a time of its own.
fn any_said() -> impl Strategy<Value = Job> {
    (0..6u8, 0..4u8).prop_map(|(id, stage)| {
        let observed = format!("2026-01-04T1{stage}:00:00Z");
        let end = |hours: i64| time(MORNING) + SignedDuration::from_hours(hours);
        match stage {
            0 | 1 => running(id, &observed),
            2 => ended(id, &observed, end(i64::from(id % 3))),
            _ => ended(id, &observed, end(24 * i64::from(id % 4) + 1)),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_same_jobs_are_the_same_bytes_however_they_came(
        pieces in prop::collection::vec(prop::collection::vec(any_said(), 1..6), 1..5),
        large in 1..4usize,
    ) {
        let runtime = runtime();
        let (_one, apart) = lake();
        let (_other, together) = lake();
        let (apart, together) = (apart.with_large_file(large), together.with_large_file(large));
        runtime.block_on(async {
            for piece in &pieces {
                upsert(&apart, piece).await;
            }
            upsert(&together, &pieces.concat()).await;
        });
        prop_assert_eq!(runtime.block_on(files(&apart)), runtime.block_on(files(&together)));
    }

    #[test]
    fn a_file_that_is_not_in_parts_is_put_into_them(
        before in prop::collection::vec(any_said(), 1..12),
        came in prop::collection::vec(any_said(), 1..4),
    ) {
        let runtime = runtime();
        let (_one, apart) = lake();
        let (_other, together) = lake_of_large_files();
        let before_last: Vec<Job> = before.iter().chain(&came).cloned().collect();
        let is_news = runtime.block_on(async {
            upsert(&apart, &before).await;
            let change = upsert(&apart.clone().with_large_file(2), &came).await;
            upsert(&together, &before_last).await;
            change != Change::default()
        });
        // Without news there is nothing to write.
        if is_news {
            prop_assert_eq!(runtime.block_on(files(&apart)), runtime.block_on(files(&together)));
        }
    }
}
