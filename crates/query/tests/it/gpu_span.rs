//! The table `gpu_span` shows every day once, whatever state it is in.

use query::Session;
use record::{GpuSample, GpuSpan, Record};
use report::Value;
use sqllogictest::AsyncDB;

use crate::site::{Site, period};

/// A GPU that is looked at every five minutes around two midnights. A look holds for ten minutes.
async fn three_days() -> Site {
    let mut site = Site::new();
    let mut rows = Vec::new();
    for (day, state, user) in
        [("2026-01-01", "Claimed", "'ann'"), ("2026-01-02", "Unclaimed", "NULL")]
    {
        for time in ["23:45", "23:50", "23:55"] {
            rows.push(format!("('m', 'a', '{day}T{time}:00Z', '{state}', {user})"));
        }
    }
    rows.push("('m', 'a', '2026-01-02T00:00:00Z', 'Claimed', 'ann')".into());
    rows.push("('m', 'a', '2026-01-02T00:05:00Z', 'Unclaimed', NULL)".into());
    site.run(&format!(
        "INSERT INTO gpu_sample (machine, gpu_id, time, primary_state, primary_user) VALUES {}",
        rows.join(", ")
    ))
    .await
    .unwrap();
    site.question.period = period("2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z", "UTC").unwrap();
    site.question.now = site.question.period.end;
    site
}

/// 20 minutes of ann's until she is seen to be gone, 10 until nothing is known; 20 more before the
/// second midnight, of which 5 lie behind it.
const SPANS: [&str; 5] = [
    "2026-01-01T23:45:00Z 2026-01-02T00:00:00Z ann",
    "2026-01-02T00:00:00Z 2026-01-02T00:05:00Z ann",
    "2026-01-02T00:05:00Z 2026-01-02T00:15:00Z -",
    "2026-01-02T23:45:00Z 2026-01-03T00:00:00Z -",
    "2026-01-03T00:00:00Z 2026-01-03T00:05:00Z -",
];

async fn spans(site: &Site, table: &str) -> Vec<String> {
    let sql = format!(
        "SELECT start_time, end_time, coalesce(primary_user, '-') FROM {table} ORDER BY start_time"
    );
    let report = query::sql(&site.lake, &sql, 100, &site.question).await.unwrap();
    let text = |value: &Value| match value {
        Value::Time(time) => time.to_string(),
        Value::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    report.table.rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

async fn compact(site: &Site, now: &str) {
    let mut writer = site.lake.writer("maple").await.unwrap();
    let hold = site.lake.tracker("maple").await.unwrap().hold();
    writer.compact_gpu_days(now.parse().unwrap(), hold).await.unwrap();
    writer.finish().await.unwrap();
}

#[tokio::test]
async fn every_day_is_seen_once_whatever_of_it_is_compacted() {
    let site = three_days().await;
    assert_eq!(spans(&site, "gpu_span").await, SPANS);
    for now in ["2026-01-02T12:00:00Z", "2026-01-03T12:00:00Z", "2026-01-05T00:00:00Z"] {
        compact(&site, now).await;
        assert_eq!(spans(&site, "gpu_span").await, SPANS, "{now}");
        assert_eq!(spans(&site, "gpu_time").await, SPANS, "{now}");
    }
    let samples = site.lake.files(&GpuSample::TABLE, &lake::Trackers::new()).await.unwrap();
    assert_eq!(samples.len(), 0);
}

/// What lies beside a day's spans is not counted, and not opened.
#[tokio::test]
async fn samples_that_a_stopped_compaction_left_do_not_count() {
    let site = three_days().await;
    let aside = tempfile::tempdir().unwrap();
    let samples =
        site.lake.folder().unwrap().join("processed/gpu_sample/cluster=maple/date=2026-01-01");
    let kept = aside.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    for entry in std::fs::read_dir(&samples).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), kept.join(entry.file_name())).unwrap();
    }
    compact(&site, "2026-01-02T12:00:00Z").await;
    std::fs::create_dir_all(&samples).unwrap();
    for entry in std::fs::read_dir(&kept).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), samples.join(entry.file_name())).unwrap();
    }
    assert_eq!(spans(&site, "gpu_span").await, SPANS);
}

/// Of the first day nothing but what it may carry: its last hour.
#[tokio::test]
async fn only_the_days_of_the_period_are_opened() {
    let mut site = three_days().await;
    let mut rows = Vec::new();
    for day in 10..20 {
        for hour in [1, 5, 23] {
            rows.push(format!("('m', 'a', '2026-01-{day}T{hour:02}:00:00Z')"));
        }
    }
    site.run(&format!("INSERT INTO gpu_sample (machine, gpu_id, time) VALUES {}", rows.join(", ")))
        .await
        .unwrap();
    site.question.period = period("2026-01-15T02:00:00Z", "2026-01-15T12:00:00Z", "UTC").unwrap();
    site.question.now = site.question.period.end;
    let opened = async |site: &Site| {
        let session = Session::open(&site.lake, &site.question, |_| true).await.unwrap();
        session.collect("SELECT count(*), sum(seconds) FROM gpu_time").await.unwrap();
        session.files_opened()
    };
    assert_eq!(opened(&site).await, 3, "the day's three files, and none of the day before");
    compact(&site, "2026-01-14T12:00:00Z").await;
    assert_eq!(opened(&site).await, 3);
    compact(&site, "2026-02-01T00:00:00Z").await;
    // The term reads the table twice: once for what machines say of themselves.
    assert_eq!(opened(&site).await, 2);
    for term in ["gpu_use", "gpu_held", "gpu_use_by_hour", "gpu_use_by_day"] {
        let session = Session::open(&site.lake, &site.question, |_| true).await.unwrap();
        session.collect(&format!("SELECT sum(seconds) FROM {term}")).await.unwrap();
        assert_eq!(session.files_opened(), 1, "{term} reads a file once");
    }
    let session = Session::open(&site.lake, &site.question, |_| true).await.unwrap();
    session.collect("SELECT count(*) FROM job_run").await.unwrap();
    assert_eq!(session.files_opened(), 0, "who does not ask about GPUs opens none of their files");
}

#[tokio::test]
async fn a_file_of_samples_that_cannot_be_read_is_named() {
    let site = three_days().await;
    let files = site.lake.files(&GpuSample::TABLE, &lake::Trackers::new()).await.unwrap();
    let path = site.lake.folder().unwrap().join(files[0].meta.location.as_ref());
    std::fs::write(&path, b"no file").unwrap();
    let report = query::sql(
        &site.lake,
        "SELECT count(*) FROM gpu_span WHERE start_time >= '2026-01-02T00:05:00Z'",
        10,
        &site.question,
    )
    .await
    .unwrap();
    assert_eq!(report.table.rows, [[Value::Integer(3)]]);
    let skipped: Vec<&str> =
        report.coverage.skipped.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(skipped, [path.display().to_string()]);
    assert_eq!(site.lake.files(&GpuSpan::TABLE, &lake::Trackers::new()).await.unwrap().len(), 0);
}

#[tokio::test]
async fn what_is_left_out_is_said_with_its_reason() {
    let mut site = Site::new();
    for statement in [
        "INSERT INTO gpu_span (machine, gpu_id, start_time, end_time, device_name) VALUES
         ('lab1', 'a', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', 'NVIDIA A40'),
         ('lab2', 'a', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', 'NVIDIA A40'),
         ('m', 'a', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', 'NVIDIA A40'),
         ('m', 'b', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', 'NVIDIA L40')",
        "MASK 'lab*' 'under-repair'",
        "HIDE 'A40'",
    ] {
        site.run(statement).await.unwrap();
    }
    let notes =
        async |sql: &str| query::sql(&site.lake, sql, 10, &site.question).await.unwrap().notes;
    assert_eq!(
        notes("SELECT count(*) FROM gpu_use").await,
        [
            "Left out: 2 GPUs of lab1, lab2 (under-repair).",
            "Left out: 1 GPU of the hidden family A40.",
        ]
    );
    assert_eq!(notes("SELECT count(*) FROM gpu_span").await, [""; 0], "the table has them");
}
