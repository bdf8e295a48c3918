//! Writers over a store that fails, and several at once.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use record::{Job, TABLES};

use crate::conditional_put::{NotPut, put_over};
use crate::faulty_store::{Fault, FaultyStore};
use crate::test_lake::{files, rows, store};
use crate::tests::{job, work};
use crate::*;

/// How long leases hold where the store may be a real one.
const LONGER: Duration = Duration::from_secs(1);

/// A lake in a store, whose leases hold for a moment.
fn lake(store: Arc<dyn ObjectStore>) -> Lake {
    let place = Path::new("s3://bucket/lake");
    let place = Place::read(place, Path::new("/"), &StoreSettings::default()).unwrap();
    Lake::of_store(place, store).with_large_file(1).with_lease_length(Duration::from_millis(60))
}

/// What a lake ends with; when its files were written does not matter.
async fn ending(lake: &Lake) -> (Vec<(String, Vec<u8>)>, Tracker) {
    let mut tracker = lake.tracker("maple").await.unwrap();
    for facts in tracker.files.values_mut() {
        (facts.modified, facts.e_tag) = (Timestamp::UNIX_EPOCH, None);
    }
    (files(lake).await, tracker)
}

#[tokio::test]
async fn whatever_request_fails_the_next_run_ends_the_same() {
    let memory = Arc::new(InMemory::new());
    let undisturbed = FaultyStore::over(memory.clone());
    work(lake(undisturbed.clone())).await.unwrap();
    let expected = ending(&lake(memory)).await;
    // The same files as in a folder, see the crash test, each put by one request; 3 are removed.
    assert_eq!(undisturbed.changes(), 29 + 3);

    for fault in [Fault::Lost, Fault::Unanswered, Fault::CutOff] {
        for change in 0..undisturbed.changes() {
            let memory = Arc::new(InMemory::new());
            let faulty = FaultyStore::over(memory.clone());
            faulty.fail(change, fault);
            let stopped = work(lake(faulty)).await;
            // What is put over the same, or was put unheard, need not stop anybody.
            assert!(fault != Fault::CutOff || stopped.is_err(), "{fault:?} {change}");
            let lake = lake(memory);
            for table in TABLES {
                for file in lake.files(table, &Trackers::new()).await.unwrap() {
                    assert!(lake.rows(table, &file.meta.location).await.unwrap() > 0);
                }
            }
            work(lake.clone()).await.unwrap();
            assert!(ending(&lake).await == expected, "{fault:?} {change}");
        }
    }
}

#[tokio::test]
async fn what_was_put_though_nobody_heard_of_it_is_not_put_again() {
    let (_folder, store) = store();
    let faulty = FaultyStore::over(store.clone());
    faulty.fail(0, Fault::Unanswered);
    let path = "processed/job".into();
    let first = put_over(faulty.as_ref(), &path, &"first".into(), None).await.unwrap();
    assert_eq!(put_over(&*store, &path, &"first".into(), None).await.unwrap(), first);
    // What somebody else put there is left.
    let second = put_over(&*store, &path, &"second".into(), Some(first.clone())).await.unwrap();
    for seen in [None, Some(first)] {
        let refused = put_over(&*store, &path, &"third".into(), seen).await;
        assert!(matches!(refused, Err(NotPut::Changed)), "{refused:?}");
    }
    put_over(&*store, &path, &"third".into(), Some(second)).await.unwrap();
}

/// Jobs with these numbers, of one cluster and day.
fn jobs(cluster: &str, numbers: impl Iterator<Item = usize>) -> Vec<Job> {
    let job = |number: usize| Job {
        cluster: cluster.into(),
        ..job(&number.to_string(), "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "COMPLETED")
    };
    numbers.map(job).collect()
}

async fn job_ids(lake: &Lake) -> Vec<String> {
    let mut ids: Vec<String> = rows::<Job>(lake)
        .await
        .iter()
        .map(|job| format!("{} {}", job.cluster, job.job_id))
        .collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn writers_of_different_clusters_write_at_once() {
    let (_folder, store) = store();
    let write = async |cluster: &str| {
        let lake = lake(FaultyStore::over(store.clone())).with_lease_length(LONGER);
        let mut writer = lake.writer(cluster).await.unwrap();
        for number in 0..5 {
            writer.upsert(&jobs(cluster, number..number + 1)).await.unwrap();
        }
        writer.finish().await.unwrap();
    };
    tokio::join!(write("maple"), write("birch"));
    let lake = lake(store);
    let expected: Vec<String> = ["birch", "maple"]
        .iter()
        .flat_map(|cluster| (0..5).map(move |number| format!("{cluster} {number}")))
        .collect();
    assert_eq!(job_ids(&lake).await, expected);
    assert_eq!(lake.clusters().await.unwrap(), ["birch", "maple"]);
}

#[tokio::test]
async fn of_two_writers_of_a_cluster_one_waits_and_the_one_that_is_gone_is_followed() {
    let memory = Arc::new(InMemory::new());
    let lake = lake(memory.clone());
    assert_eq!(lake.collector("maple").await.unwrap(), None);
    let first = lake.writer("maple").await.unwrap();
    let holder = lake.collector("maple").await.unwrap().unwrap();
    assert!(holder.starts_with(&format!("process {} on ", std::process::id())), "{holder}");
    let error = lake.writer("maple").await.err().unwrap().to_string();
    let expected = format!(
        "another collector of cluster \"maple\" is running ({holder}); wait for it or stop it"
    );
    assert_eq!(error, expected);
    // One that ends lets the next in at once, one that dies once its lease is over.
    first.finish().await.unwrap();
    assert_eq!(lake.collector("maple").await.unwrap(), None);
    drop(lake.writer("maple").await.unwrap());
    lake.writer("maple").await.unwrap().finish().await.unwrap();
}

#[tokio::test]
async fn a_writer_that_lost_its_lease_stops_before_it_writes() {
    let memory = Arc::new(InMemory::new());
    let cut_off = FaultyStore::over(memory.clone());
    let mut first = lake(cut_off.clone()).writer("maple").await.unwrap();
    first.upsert(&jobs("maple", 0..1)).await.unwrap();
    cut_off.keep_no_lease(true);

    let lake = lake(memory.clone());
    let mut second = lake.writer("maple").await.unwrap();
    let error = format!("{:#}", first.upsert(&jobs("maple", 1..2)).await.unwrap_err());
    assert!(
        error.starts_with("cannot renew the lease s3://bucket/lake/lock/maple.json"),
        "{error}"
    );
    cut_off.keep_no_lease(false);
    let error = first.upsert(&jobs("maple", 1..2)).await.unwrap_err().to_string();
    assert!(error.starts_with("another collector of cluster \"maple\" has taken over"), "{error}");
    assert!(first.finish().await.is_err());

    second.upsert(&jobs("maple", 2..3)).await.unwrap();
    second.finish().await.unwrap();
    assert_eq!(job_ids(&lake).await, ["maple 0", "maple 2"]);
    let mut again = lake.writer("maple").await.unwrap();
    again.upsert(&jobs("maple", 0..3)).await.unwrap();
    assert_eq!(job_ids(&lake).await, ["maple 0", "maple 1", "maple 2"]);
}

/// Two that both take themselves for the only one, as may happen to one that stood still: what one
/// reads and the other writes meanwhile is not overwritten.
#[tokio::test]
async fn two_writers_of_a_cluster_at_once_lose_nothing_and_write_nothing_twice() {
    let (_folder, store) = store();
    let stood_still =
        lake(FaultyStore::over(store.clone())).with_lease_length(Duration::from_secs(3600));
    let mut first = stood_still.writer("maple").await.unwrap();
    let other = lake(FaultyStore::over(store)).with_lease_length(LONGER);
    let mut second = other.writer("maple").await.unwrap();
    let mut refused = 0;
    for number in 0..5 {
        let (even, odd) = (jobs("maple", 2 * number..2 * number + 1), 2 * number + 1);
        let odd = jobs("maple", odd..odd + 1);
        let both = tokio::join!(first.upsert(&even), second.upsert(&odd));
        for (writer, jobs, mut outcome) in
            [(&mut first, &even, both.0), (&mut second, &odd, both.1)]
        {
            // First its jobs may be refused, and then their sums.
            while let Err(error) = outcome {
                let error = format!("{error:#}");
                assert!(error.contains("somebody else changed it since it was read"), "{error}");
                refused += 1;
                assert!(refused <= 2 * 10, "it is refused again and again: {error}");
                outcome = writer.upsert(jobs).await;
            }
        }
    }
    assert!(refused > 0, "they never met");
    let expected: BTreeSet<String> = (0..10).map(|number| format!("maple {number}")).collect();
    assert_eq!(job_ids(&other).await, Vec::from_iter(expected));
    // The sums that the last of them wrote may be of half the jobs: they do not count, and the next
    // writer makes them again.
    second.finish().await.unwrap();
    let mut again = other.writer("maple").await.unwrap();
    assert_eq!(again.upsert(&jobs("maple", 0..10)).await.unwrap(), Change::default());
    again.finish().await.unwrap();
    let sums: i64 = rows::<JobDay>(&other).await.iter().map(|day| day.started).sum();
    assert_eq!(sums, 10);
}

#[tokio::test]
async fn a_list_of_what_there_was_before_loses_nothing() {
    let memory = Arc::new(InMemory::new());
    work(lake(memory.clone())).await.unwrap();
    let expected = ending(&lake(memory.clone())).await;

    let memory = Arc::new(InMemory::new());
    let stale = FaultyStore::over(memory.clone());
    stale.list_this_from_now_on().await;
    // A compaction that does not find the samples again may stop; they are not lost.
    let _ = work(lake(stale.clone())).await;
    let _ = work(lake(stale)).await;
    let lake = lake(memory);
    work(lake.clone()).await.unwrap();
    assert!(ending(&lake).await == expected);
}

#[tokio::test]
async fn a_store_that_heeds_no_condition_is_told_from_one_that_does() {
    let memory = Arc::new(InMemory::new());
    lake(memory.clone()).probe_store().await.unwrap();
    let careless = FaultyStore::over(memory.clone());
    careless.heed_no_condition();
    let error = lake(careless).probe_store().await.unwrap_err().to_string();
    assert!(error.starts_with("s3://bucket/lake puts objects over others"), "{error}");
    let left: Vec<_> = memory.list(None).try_collect().await.unwrap();
    assert_eq!(left, []);
}
