use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use object_store::memory::InMemory;
use record::{GpuSample, GpuSpan, Job, JobDay};

use crate::compact::tests::asked;
use crate::faulty_store::{Fault, FaultyStore};
use crate::test_lake::{files, lake, put, remove, rows, whole};
use crate::tests::{cut_off, gpu_sample, job, time};
use crate::*;

/// When the first two days of January are over.
const LATER: &str = "2026-01-03T00:00:00Z";

/// Looks and jobs of two days and of the one after, of which nothing was made: the last look of the
/// second day holds on over midnight.
async fn neglected(lake: &Lake) {
    let mut writer = lake.writer("maple").await.unwrap();
    for moment in ["01T10:00", "02T10:00", "02T23:55", "03T12:00"] {
        let at = time(&format!("2026-01-{moment}:00Z"));
        writer.upsert(&[gpu_sample("a", at, "Idle")]).await.unwrap();
    }
    for day in ["01", "02", "03"] {
        let submit = format!("2026-01-{day}T03:00:00Z");
        writer.upsert(&[job(day, &submit, "2026-01-05T00:00:00Z", "COMPLETED")]).await.unwrap();
    }
    writer.finish().await.unwrap();
    remove(lake, "processed/job_day").await;
    remove(lake, "processed/node_day").await;
}

async fn catch_up(lake: &Lake, now: &str) -> Result<CaughtUp> {
    lake.catch_up("maple", time(now), None, &mut || ()).await
}

/// The days whose jobs a question takes as added up.
async fn summed_days(lake: &Lake) -> Vec<Date> {
    let trackers = lake.trackers().await.unwrap();
    let mut sums = Vec::new();
    for table in SUMS {
        sums.push(lake.files(table, &trackers).await.unwrap());
    }
    let jobs = lake.files(&Job::TABLE, &trackers).await.unwrap();
    summed(&lake.zone, &trackers, jobs, &sums).iter().map(|file| file.date).collect()
}

fn days(numbers: impl IntoIterator<Item = i8>) -> Vec<Date> {
    numbers.into_iter().map(|number| date(2026, 1, number)).collect()
}

#[tokio::test]
async fn days_that_are_over_become_spans_and_sums_and_the_second_time_nothing_is_left() {
    let (_folder, lake) = lake();
    neglected(&lake).await;
    let hold = SignedDuration::from_mins(10);
    let seen = asked(&lake, hold).await;
    assert_eq!(summed_days(&lake).await, []);
    let expected = Backlog {
        gpu_days: days([1, 2]),
        left_over: Removed::default(),
        job_days: days([1, 2, 3]),
    };
    let before = files(&lake).await;
    assert_eq!(lake.backlog("maple", time(LATER)).await.unwrap(), expected);
    assert_eq!(files(&lake).await, before, "it is only told");

    let mut told = 0;
    let done = lake.catch_up("maple", time(LATER), None, &mut || told += 1).await.unwrap();
    // Two spans of the second day: one look in the morning, one before midnight.
    let expected = CaughtUp {
        compacted: Compacted { days: 2, samples: 3, spans: 3 },
        job_days: 3,
        ..CaughtUp::default()
    };
    assert_eq!((done, told), (expected, 5));
    assert_eq!(asked(&lake, hold).await, seen);
    assert_eq!(summed_days(&lake).await, days([1, 2, 3]));
    assert_eq!(rows::<JobDay>(&lake).await.iter().map(|day| day.started).sum::<i64>(), 3);
    // The day that was not over by then keeps its samples.
    assert_eq!(rows::<GpuSample>(&lake).await.len(), 1);

    let before = files(&lake).await;
    assert!(lake.backlog("maple", time(LATER)).await.unwrap().is_empty());
    assert_eq!(catch_up(&lake, LATER).await.unwrap(), CaughtUp::default());
    assert_eq!(files(&lake).await, before);
}

/// The last look of the first day holds until ten past midnight, and nobody looked again.
#[tokio::test]
async fn a_day_of_which_only_what_is_held_over_is_known_is_made_too() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    let last = [gpu_sample("a", time("2026-01-01T23:58:00Z"), "Idle")];
    writer.upsert(&last).await.unwrap();
    let (first_over, hold) = ("2026-01-02T00:00:00Z", SignedDuration::from_mins(10));
    writer.compact_gpu_days(time(first_over), hold).await.unwrap();
    writer.finish().await.unwrap();
    assert!(lake.backlog("maple", time(first_over)).await.unwrap().is_empty());
    let backlog = lake.backlog("maple", time(LATER)).await.unwrap();
    assert_eq!(backlog.gpu_days, days([2]));
    let done = catch_up(&lake, LATER).await.unwrap();
    assert_eq!(done.compacted, Compacted { days: 1, samples: 0, spans: 1 });
    assert!(lake.backlog("maple", time(LATER)).await.unwrap().is_empty());
}

/// A look at ten, by a lake that lost what it knew of its cadence.
#[tokio::test]
async fn where_it_is_not_known_how_long_a_look_holds_it_is_what_is_said() {
    let hour = SignedDuration::from_hours(1);
    for (known, said, expected) in [
        (None, None, "2026-01-01T10:10:00Z"),
        (None, Some(hour), "2026-01-01T11:00:00Z"),
        (Some(hour * 2), Some(hour), "2026-01-01T12:00:00Z"),
    ] {
        let (_folder, lake) = lake();
        let mut writer = lake.writer("maple").await.unwrap();
        writer.upsert(&[gpu_sample("a", time("2026-01-01T10:00:00Z"), "Idle")]).await.unwrap();
        if let Some(known) = known {
            writer.set_hold(known);
        }
        writer.finish().await.unwrap();
        lake.catch_up("maple", time(LATER), said, &mut || ()).await.unwrap();
        let ends: Vec<_> = rows::<GpuSpan>(&lake).await.iter().map(|span| span.end_time).collect();
        assert_eq!(ends, [time(expected)]);
        let hold = lake.tracker("maple").await.unwrap().hold();
        assert_eq!(hold, known.or(said).unwrap_or(SignedDuration::from_mins(10)));
    }
}

#[tokio::test]
async fn samples_of_compacted_days_go() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&[gpu_sample("a", time("2026-01-01T10:00:00Z"), "Idle")]).await.unwrap();
    writer.finish().await.unwrap();
    let hour = "processed/gpu_sample/cluster=maple/date=2026-01-01/gpu_sample-10.parquet";
    let left = whole(&lake, hour).await;
    catch_up(&lake, LATER).await.unwrap();
    let bytes = left.len() as u64;
    put(&lake, hour, left).await;
    let left_over = Removed { files: 1, bytes };
    let backlog = lake.backlog("maple", time(LATER)).await.unwrap();
    assert_eq!(backlog, Backlog { left_over, ..Backlog::default() });
    let done = catch_up(&lake, LATER).await.unwrap();
    assert_eq!(done, CaughtUp { left_over, ..CaughtUp::default() });
    assert_eq!(rows::<GpuSample>(&lake).await, []);
}

/// Three in the morning in UTC is the evening before in Chicago.
#[tokio::test]
async fn another_zone_has_all_days_added_up_by_its_calendar() {
    let (_folder, lake) = lake();
    neglected(&lake).await;
    catch_up(&lake, LATER).await.unwrap();
    let chicago = lake.clone().with_zone(&TimeZone::get("America/Chicago").unwrap());
    assert_eq!(summed_days(&chicago).await, []);
    assert_eq!(chicago.backlog("maple", time(LATER)).await.unwrap().job_days, days([1, 2, 3]));
    let done = catch_up(&chicago, LATER).await.unwrap();
    assert_eq!(done, CaughtUp { job_days: 3, ..CaughtUp::default() });
    assert_eq!(summed_days(&chicago).await, days([1, 2, 3]));
    let begin: Vec<Timestamp> =
        rows::<JobDay>(&chicago).await.iter().map(|day| day.start_time).collect();
    let midnights = ["2025-12-31", "2026-01-01", "2026-01-02"];
    assert_eq!(begin, midnights.map(|day| time(&format!("{day}T06:00:00Z"))));
}

/// What was added up before by another calendar must not be taken for what could not be read.
#[tokio::test]
async fn jobs_that_cannot_be_read_are_named_and_have_no_sums() {
    let (_folder, lake) = lake();
    neglected(&lake).await;
    catch_up(&lake, LATER).await.unwrap();
    let path = "processed/job/cluster=maple/date=2026-01-02/job.parquet";
    let mut bytes = whole(&lake, path).await;
    // The rows are gone; what the end of the file says of them is not.
    let rows_end = bytes.len() / 4;
    bytes[4..rows_end].fill(0xff);
    put(&lake, path, bytes).await;
    let chicago = lake.clone().with_zone(&TimeZone::get("America/Chicago").unwrap());
    for _ in 0..2 {
        let done = catch_up(&chicago, LATER).await.unwrap();
        let [failure] = &done.failures[..] else { panic!("{:?}", done.failures) };
        let shown = lake.shown(&path.into());
        let expected = format!("cannot add up the jobs of 2026-01-02: cannot read {shown}: ");
        assert!(failure.starts_with(&expected), "{failure}");
        assert_eq!(summed_days(&chicago).await, days([1, 3]));
        assert_eq!(chicago.backlog("maple", time(LATER)).await.unwrap().job_days, days([2]));
    }
}

#[tokio::test]
async fn samples_that_cannot_be_read_are_named_and_the_days_before_them_are_done() {
    let (_folder, lake) = lake();
    neglected(&lake).await;
    let path = "processed/gpu_sample/cluster=maple/date=2026-01-02/gpu_sample-10.parquet";
    cut_off(&lake, path).await;
    let done = catch_up(&lake, LATER).await.unwrap();
    assert_eq!(done.compacted, Compacted { days: 1, samples: 1, spans: 1 });
    assert_eq!(done.job_days, 3);
    let [failure] = &done.failures[..] else { panic!("{:?}", done.failures) };
    let expected = "cannot make spans of the samples of 2026-01-02: cannot read ";
    assert!(failure.starts_with(expected), "{failure}");
    assert_eq!(lake.backlog("maple", time(LATER)).await.unwrap().gpu_days, days([2]));
}

#[tokio::test]
async fn beside_a_collector_of_the_cluster_it_is_refused() {
    let (_folder, lake) = lake();
    neglected(&lake).await;
    let _collector = lake.writer("maple").await.unwrap();
    let error = catch_up(&lake, LATER).await.unwrap_err().to_string();
    assert!(error.starts_with("another collector of cluster \"maple\" is running"), "{error}");
}

/// Every request that changes something is lost, unanswered, or the last that arrives.
#[tokio::test]
async fn whatever_request_fails_the_next_run_ends_the_same() {
    let in_store = |store: Arc<dyn ObjectStore>| {
        let place = Path::new("s3://bucket/lake");
        let place = Place::read(place, Path::new("/"), &StoreSettings::default()).unwrap();
        let zone = TimeZone::get("America/Chicago").unwrap();
        let length = Duration::from_millis(60);
        Lake::of_store(place, store).with_lease_length(length).with_zone(&zone)
    };
    let begun = async || {
        let memory = Arc::new(InMemory::new());
        neglected(&in_store(memory.clone())).await;
        memory
    };
    let memory = begun().await;
    let undisturbed = FaultyStore::over(memory.clone());
    catch_up(&in_store(undisturbed.clone()), LATER).await.unwrap();
    let expected = files(&in_store(memory)).await;
    // Two sums of each of three days, two files of spans, three of samples that go, and what is
    // known, in two files each time: after two days of jobs, after the third, and at the end.
    assert_eq!(undisturbed.changes(), 6 + 2 + 3 + 2 * 3);

    for fault in [Fault::Lost, Fault::Unanswered, Fault::CutOff] {
        for change in 0..undisturbed.changes() {
            let memory = begun().await;
            let hold = SignedDuration::from_mins(10);
            let lake = in_store(memory.clone());
            let seen = asked(&lake, hold).await;
            let faulty = FaultyStore::over(memory.clone());
            faulty.fail(change, fault);
            // One that could not do all says so, or is stopped.
            let _ = catch_up(&in_store(faulty), LATER).await;
            assert_eq!(asked(&lake, hold).await, seen, "{fault:?} {change}");
            let again = catch_up(&lake, LATER).await.unwrap();
            assert_eq!(again.failures, Vec::<String>::new(), "{fault:?} {change}");
            assert!(files(&lake).await == expected, "{fault:?} {change}");
            assert!(lake.backlog("maple", time(LATER)).await.unwrap().is_empty());
            assert_eq!(rows::<GpuSpan>(&lake).await.len(), 3);
        }
    }
}
