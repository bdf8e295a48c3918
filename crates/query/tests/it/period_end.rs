//! A period that is named by its length ends now, or at the newest data if it is old.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::IMPORT;
use query::PeriodEnd;
use record::Collection;
use sqllogictest::AsyncDB;

use crate::site::Site;

/// Where a period ends for each question: the clusters that it is about, when it is asked, and the
/// expected end if that is not now.
async fn check(statements: &[&str], questions: &[(&[&str], &str, Option<&str>)]) {
    let mut site = Site::new();
    for statement in statements {
        site.run(statement).await.unwrap();
    }
    check_site(&site, questions).await;
}

async fn check_site(site: &Site, questions: &[(&[&str], &str, Option<&str>)]) {
    for (clusters, now, expected) in questions {
        let named: Vec<String> = clusters.iter().map(|&name| name.to_owned()).collect();
        let now: Timestamp = now.parse().unwrap();
        let end = PeriodEnd::find(&site.lake, &named, now).await.unwrap();
        let found = end.newest.map(|newest| newest.time.to_string());
        assert_eq!(found.as_deref(), *expected, "{clusters:?} at {now}");
        assert_eq!(end.time, end.newest.map_or(now, |newest| newest.time));
    }
}

const MARCH: &str = "2026-03-08T00:00:00Z";

#[tokio::test]
async fn data_of_more_than_one_day_ago_ends_the_period() {
    check(
        &["COLLECTED 'maple' '2026-03-01T00:00:00Z' '2026-03-08T00:00:00Z'"],
        &[
            (&[], "2026-03-08T12:00:00Z", None),
            (&[], "2026-03-09T00:00:00Z", None),
            (&[], "2026-03-09T00:00:01Z", Some(MARCH)),
            (&["maple"], "2027-03-08T00:00:00Z", Some(MARCH)),
            // The clock is behind that of the collector.
            (&[], "2026-03-07T00:00:00Z", None),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_fresh_cluster_keeps_the_period_of_all_and_not_that_of_another() {
    check(
        &[
            "COLLECTED 'birch' '2026-03-01T00:00:00Z' '2026-03-08T00:00:00Z'",
            "COLLECTED 'maple' '2026-11-17T00:00:00Z' '2026-11-18T00:00:00Z'",
        ],
        &[
            (&[], "2026-11-18T06:00:00Z", None),
            (&["maple"], "2026-11-18T06:00:00Z", None),
            (&["birch", "maple"], "2026-11-18T06:00:00Z", None),
            (&["birch"], "2026-11-18T06:00:00Z", Some(MARCH)),
            // A cluster that does not exist is for the question to refuse.
            (&["oak"], "2026-11-18T06:00:00Z", None),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_empty_lake_has_no_newest_data() {
    check(&[], &[(&[], "2026-11-18T06:00:00Z", None)]).await;
}

/// A time in which nothing ran is data, too; a collection that failed is none.
#[tokio::test]
async fn collected_days_count_and_failures_do_not() {
    check(
        &[
            "INSERT INTO job (cluster, job_id, start_time, end_time) VALUES ('maple', '1', '2026-03-01T00:00:00Z', '2026-03-01T12:00:00Z')",
            "COLLECTED 'maple' '2026-03-01T00:00:00Z' '2026-03-08T00:00:00Z'",
            "FAILED 'maple' '2026-11-18T05:00:00Z' 'refused'",
            "REJECTED 'maple' '2026-11-18T05:00:00Z' 'short'",
        ],
        &[(&[], "2026-11-18T06:00:00Z", Some(MARCH))],
    )
    .await;
}

/// Each table by itself, as in a history that was never collected.
#[tokio::test]
async fn rows_say_how_new_they_are() {
    let now = "2026-11-18T06:00:00Z";
    for (statement, newest) in [
        (
            "INSERT INTO job (job_id, start_time, end_time, observed_time) VALUES ('1', '2026-03-01T00:00:00Z', '2026-03-01T12:00:00Z', '2026-11-18T00:00:00Z')",
            "2026-03-01T12:00:00Z",
        ),
        (
            "INSERT INTO gpu_span (cluster, machine, gpu_id, start_time, end_time) VALUES ('maple', 'gpu01', 'GPU-1', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z')",
            "2026-03-02T00:00:00Z",
        ),
        (
            "INSERT INTO gpu_sample (cluster, machine, gpu_id, time) VALUES ('maple', 'gpu01', 'GPU-1', '2026-03-03T10:05:00Z')",
            "2026-03-03T10:05:00Z",
        ),
        (
            "NODE 'maple' 'n1' 4 0 '2026-03-04T00:00:00Z' '2026-03-04T00:10:00Z'",
            "2026-03-04T00:00:00Z",
        ),
    ] {
        check(&[statement], &[(&[], now, Some(newest))]).await;
    }
}

/// What slurm-usage kept of a week was written down, and taken over, long after it.
#[tokio::test]
async fn an_imported_week_is_as_new_as_its_days_and_not_as_its_import() {
    let site = Site::new();
    let written: Timestamp = "2026-11-17T00:00:00Z".parse().unwrap();
    let mut writer = site.lake.writer("maple").await.unwrap();
    let week = Collection {
        cluster: "maple".into(),
        source: IMPORT.into(),
        start_time: written,
        window_start: Some("2026-03-01T00:00:00Z".parse().unwrap()),
        window_end: Some(MARCH.parse().unwrap()),
        duration_seconds: 0.0,
        bytes: 0,
        records: 0,
        rejects: 0,
        changed: 0,
        error: None,
    };
    writer.collected(&[week]).await.unwrap();
    writer.finish().await.unwrap();
    check_site(&site, &[(&[], "2026-11-18T06:00:00Z", Some(MARCH))]).await;
}

/// The question that follows says where its period ends, in its coverage.
#[tokio::test]
async fn a_report_says_that_its_period_ends_at_the_newest_data() {
    let mut site = Site::new();
    site.run("COLLECTED 'maple' '2026-03-01T00:00:00Z' '2026-03-08T00:00:00Z'").await.unwrap();
    let daily = query::analysis("daily").unwrap();
    let mut question = site.question.clone();
    assert_eq!(
        query::run(&site.lake, daily, &question).await.unwrap().coverage.ends_at_newest,
        None
    );
    let now = MARCH.parse::<Timestamp>().unwrap() + SignedDuration::from_hours(100);
    let end = PeriodEnd::find(&site.lake, &[], now).await.unwrap();
    question.period = report::Period::last_days(7, &TimeZone::UTC, end.time).unwrap();
    question.now = now;
    question.period_end = Some(end.clone());
    let report = query::run(&site.lake, daily, &question).await.unwrap();
    assert_eq!(report.coverage.ends_at_newest, end.newest);
    assert_eq!(report.coverage.clusters[0].days_collected, 7);
    assert_eq!(report.table.rows.len(), 7);
}
