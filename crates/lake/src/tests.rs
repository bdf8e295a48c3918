use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use record::{Collection, GpuSample, Job, JobDay, NodeSpan, Record, TABLES};

use crate::compact::tests::asked;
use crate::merge::merge;
use crate::observe::Snapshot;
use crate::test_lake::{files, lake, put, remove, rows, runtime, whole};
use crate::*;

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A job of `ann` on the first of January, ended and measured unless `state` is RUNNING.
pub(crate) fn job(job_id: &str, submit: &str, observed: &str, state: &str) -> Job {
    let is_over = state != "RUNNING";
    let mut job = Job {
        cluster: "maple".into(),
        job_id: job_id.into(),
        submit_time: time(submit),
        attempt: 0,
        observed_time: time(observed),
        source: "sacct".into(),
        array_job_id: None,
        array_task_id: None,
        het_job_id: None,
        het_offset: None,
        user: Some("ann".into()),
        unix_group: None,
        account: Some("physics".into()),
        job_name: Some("fit".into()),
        partition: Some("cpu".into()),
        qos: None,
        reservation: None,
        state: state.into(),
        is_complete: is_over,
        exit_code: Some(0),
        exit_signal: Some(0),
        reason: None,
        end_reason: None,
        eligible_time: Some(time(submit)),
        start_time: Some(time(submit)),
        end_time: is_over.then(|| time(submit) + SignedDuration::from_secs(3600)),
        time_limit_seconds: Some(7200),
        elapsed_seconds: Some(3600),
        suspended_seconds: Some(0),
        node_list: Some("cpu01".into()),
        slot: None,
        gpu_ids: None,
        alloc_nodes: Some(1),
        alloc_cpus: Some(2),
        alloc_mem_mb: Some(1024.0),
        alloc_gpus: Some(0),
        gpu_types: None,
        req_nodes: Some(1),
        req_cpus: Some(2),
        req_mem_mb: Some(1024.0),
        req_gpus: Some(0),
        max_rss_mb: is_over.then_some(10.0),
        total_cpu_seconds: is_over.then_some(60.0),
        usage_source: None,
        cpu_efficiency: None,
        memory_efficiency: None,
        cpu_hours_wasted: None,
        memory_gb_hours_wasted: None,
        cpu_hours_reserved: None,
        memory_gb_hours_reserved: None,
        gpu_hours_reserved: None,
        gpu_utilization: None,
        gpu_memory_max_mb: None,
        gpu_usage_source: None,
        energy_joules: None,
        earlier_values: None,
    };
    job.set_usage_source("sacct");
    job.set_usage();
    job
}

fn collection(start: &str, window_start: &str, window_end: &str) -> Collection {
    Collection {
        cluster: "maple".into(),
        source: "sacct".into(),
        start_time: time(start),
        window_start: Some(time(window_start)),
        window_end: Some(time(window_end)),
        duration_seconds: 1.0,
        bytes: 100,
        records: 1,
        rejects: 0,
        changed: 1,
        error: None,
    }
}

#[tokio::test]
async fn a_row_is_found_under_the_utc_date_of_its_submission() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    let rows_in = vec![
        job("2", "2026-01-01T23:59:59Z", "2026-01-03T00:00:00Z", "COMPLETED"),
        job("3", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "COMPLETED"),
    ];
    let change = writer.upsert(&rows_in).await.unwrap();
    assert_eq!(change, Change { added: 2, changed: 0 });
    writer.finish().await.unwrap();

    let files: Vec<String> = files(&lake).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        files,
        [
            "processed/job/cluster=maple/date=2026-01-01/job.parquet",
            "processed/job/cluster=maple/date=2026-01-02/job.parquet",
            "processed/job_day/cluster=maple/date=2026-01-01/job_day.parquet",
            "processed/job_day/cluster=maple/date=2026-01-02/job_day.parquet",
            "processed/node_day/cluster=maple/date=2026-01-01/node_day.parquet",
            "processed/node_day/cluster=maple/date=2026-01-02/node_day.parquet",
        ]
    );
    assert_eq!(rows::<Job>(&lake).await, rows_in);
}

#[tokio::test]
async fn what_says_the_same_writes_nothing_and_what_changed_is_replaced() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    let running = job("1", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "RUNNING");
    writer.upsert(std::slice::from_ref(&running)).await.unwrap();
    let before = files(&lake).await;

    let again = Job { observed_time: time("2026-01-01T12:00:00Z"), ..running.clone() };
    assert_eq!(writer.upsert(&[again]).await.unwrap(), Change::default());
    assert_eq!(files(&lake).await, before);

    let done = job("1", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "COMPLETED");
    let change = writer.upsert(std::slice::from_ref(&done)).await.unwrap();
    assert_eq!(change, Change { added: 0, changed: 1 });
    assert_eq!(rows::<Job>(&lake).await, std::slice::from_ref(&done));

    // What was printed earlier and comes late does not bring the past back.
    assert_eq!(writer.upsert(&[running]).await.unwrap(), Change::default());
    assert_eq!(rows::<Job>(&lake).await, [done]);
}

#[tokio::test]
async fn a_second_collector_of_the_cluster_is_refused_and_of_another_is_not() {
    let (_folder, lake) = lake();
    let writer = lake.writer("maple").await.unwrap();
    let error = lake.writer("maple").await.err().unwrap().to_string();
    let start = format!(
        "another collector of cluster \"maple\" is running (process {}",
        std::process::id()
    );
    assert!(error.starts_with(&start) && error.ends_with("); wait for it or stop it"), "{error}");
    lake.writer("birch").await.unwrap();
    drop(writer);
    lake.writer("maple").await.unwrap();
}

#[tokio::test]
async fn a_tracker_that_was_lost_is_read_from_the_files() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer
        .upsert(&[
            job("1", "2026-01-01T10:00:00Z", "2026-01-03T00:00:00Z", "COMPLETED"),
            job("2", "2026-01-02T10:00:00Z", "2026-01-03T00:00:00Z", "RUNNING"),
        ])
        .await
        .unwrap();
    writer
        .collected(&[collection(
            "2026-01-03T00:00:00Z",
            "2026-01-01T00:00:00Z",
            "2026-01-03T00:00:00Z",
        )])
        .await
        .unwrap();
    let tracker = writer.tracker().clone();
    writer.finish().await.unwrap();
    let known = whole(&lake, "tracker/maple.json").await;
    let open = whole(&lake, "tracker/maple.open.json").await;
    let written = Tracker::from_bytes(Some(known.into())).with_open_from_bytes(Some(open.into()));
    assert_eq!(written, tracker);
    let day_one = &tracker.files["processed/job/cluster=maple/date=2026-01-01/job.parquet"];
    assert_eq!(day_one.rows, 1);
    // One job, submitted at 10:00 and ended an hour later.
    assert_eq!(day_one.times["end_time"].max, Some(time("2026-01-01T11:00:00Z").as_microsecond()));
    // The second was just over, so its last hour is asked about again; of its jobs one is not over.
    let due_from = |day: &str| tracker.due_from(day.parse().unwrap());
    assert_eq!(due_from("2026-01-01"), None);
    assert_eq!(due_from("2026-01-02"), Some(time("2026-01-02T23:00:00Z")));
    assert_eq!(due_from("2025-12-31"), Some(time("2025-12-31T00:00:00Z")));
    let open: Vec<&str> = tracker.open_jobs().map(|job| job.job_id.as_str()).collect();
    assert_eq!(open, ["2"]);

    remove(&lake, "tracker").await;
    assert_eq!(lake.tracker("maple").await.unwrap(), Tracker::default());
    let mut found = lake.writer("maple").await.unwrap().tracker().clone();
    for (name, facts) in &mut found.files {
        // Sums of days were made again, and are another object then where a tag is not made of the bytes.
        let known = &tracker.files[name];
        (facts.modified, facts.e_tag) = (known.modified, known.e_tag.clone());
    }
    assert_eq!(found, tracker);
}

#[tokio::test]
async fn how_long_a_look_holds_is_kept_with_the_cluster() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    assert_eq!(writer.tracker().hold(), SignedDuration::from_mins(10));
    writer.set_hold(SignedDuration::from_mins(2));
    writer.finish().await.unwrap();
    assert_eq!(lake.tracker("maple").await.unwrap().hold(), SignedDuration::from_mins(2));
    // The next writer knows it too.
    assert_eq!(lake.writer("maple").await.unwrap().tracker().hold_seconds, Some(120));
    // An older version's tracker does not say.
    let written: Tracker = serde_json::from_str(r#"{"files":{},"days":{}}"#).unwrap();
    assert_eq!((written.hold_seconds, written.hold()), (None, SignedDuration::from_mins(10)));
}

#[tokio::test]
async fn sums_that_are_missing_or_of_another_calendar_are_made_again() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer
        .upsert(&[job("1", "2026-01-01T10:00:00Z", "2026-01-03T00:00:00Z", "COMPLETED")])
        .await
        .unwrap();
    writer.finish().await.unwrap();
    let count = async |lake: &Lake, zone: &TimeZone| {
        let trackers = lake.trackers().await.unwrap();
        let mut sums = Vec::new();
        for table in SUMS {
            sums.push(lake.files(table, &trackers).await.unwrap());
        }
        let jobs = lake.files(&Job::TABLE, &trackers).await.unwrap();
        summed(zone, &trackers, jobs, &sums).len()
    };
    assert_eq!(count(&lake, &TimeZone::UTC).await, 1);
    // Whoever reads meanwhile does without.
    remove(&lake, "processed/job_day").await;
    assert_eq!(count(&lake, &TimeZone::UTC).await, 0);
    lake.writer("maple").await.unwrap().finish().await.unwrap();
    assert_eq!(count(&lake, &TimeZone::UTC).await, 1);

    let zone = TimeZone::get("America/Chicago").unwrap();
    assert_eq!(count(&lake, &zone).await, 0);
    let lake = lake.with_zone(&zone);
    lake.writer("maple").await.unwrap().finish().await.unwrap();
    assert_eq!((count(&lake, &zone).await, count(&lake, &TimeZone::UTC).await), (1, 0));
    // Midnight in Chicago is six in the morning in UTC.
    let days = rows::<JobDay>(&lake).await;
    assert_eq!(days[0].start_time, time("2026-01-01T06:00:00Z"));
}

#[tokio::test]
async fn a_day_that_is_not_over_is_asked_about_again_however_final_its_jobs_are() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer
        .upsert(&[job("1", "2026-01-01T10:00:00Z", "2026-01-01T18:00:00Z", "COMPLETED")])
        .await
        .unwrap();
    let today = "2026-01-01".parse().unwrap();
    let until_now = ("2026-01-01T18:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    writer.collected(&[collection(until_now.0, until_now.1, until_now.2)]).await.unwrap();
    assert_eq!(writer.tracker().days[&today].collected_time, time("2026-01-01T18:00:00Z"));
    assert_eq!(writer.tracker().due_from(today), Some(time("2026-01-01T17:00:00Z")));
}

/// Leaves half of a file, and gives it.
pub(crate) async fn cut_off(lake: &Lake, path: &str) -> Vec<u8> {
    let mut bytes = whole(lake, path).await;
    bytes.truncate(bytes.len() / 2);
    put(lake, path, bytes.clone()).await;
    bytes
}

#[tokio::test]
async fn a_truncated_file_is_named_and_left_as_it_is() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    let rows = vec![job("1", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "COMPLETED")];
    writer.upsert(&rows).await.unwrap();
    let path = "processed/job/cluster=maple/date=2026-01-01/job.parquet";
    let half = cut_off(&lake, path).await;

    let rows = [job("1", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "FAILED")];
    let error = format!("{:#}", writer.upsert(&rows).await.unwrap_err());
    let start = format!("cannot merge into {}; move it away", lake.shown(&path.into()));
    assert!(error.starts_with(&start), "{error}");
    assert_eq!(whole(&lake, path).await, half);
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_read_but_not_rewritten() {
    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    let (_folder, lake) = lake();
    let old = job("1", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "COMPLETED");
    let batch = Job::to_batch(&[&old]);
    let schema = batch.schema();
    let mut columns: Vec<(&str, ArrayRef)> = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| (field.name().as_str(), column.clone()))
        .collect();
    columns.push(("carbon", Arc::new(StringArray::from(vec!["little"]))));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    put(&lake, "processed/job/cluster=maple/date=2026-01-01/job.parquet", bytes).await;

    assert_eq!(rows::<Job>(&lake).await, std::slice::from_ref(&old));
    let mut writer = lake.writer("maple").await.unwrap();
    let rows = [job("1", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "FAILED")];
    let error = format!("{:#}", writer.upsert(&rows).await.unwrap_err());
    assert!(error.contains("a column \"carbon\" that this version does not know"), "{error}");
}

/// What a look at a GPU of `gpu01` sees.
pub(crate) fn gpu_sample(gpu_id: &str, time: Timestamp, state: &str) -> GpuSample {
    GpuSample {
        cluster: "maple".into(),
        machine: "gpu01".into(),
        gpu_id: gpu_id.into(),
        time,
        device_name: None,
        device_memory_mb: None,
        capability: None,
        primary_slot: None,
        primary_state: Some(state.into()),
        primary_user: None,
        primary_job_id: None,
        prevent_reason: None,
        availability: None,
        prioritized_projects: None,
        interactive: None,
        backfill_slot: None,
        backfill_state: None,
        backfill_user: None,
        backfill_job_id: None,
        use_ratio: None,
    }
}

#[tokio::test]
async fn samples_of_a_day_lie_in_a_file_an_hour_however_many_cycles_there_were() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    for cycle in 0..36 {
        let moment = time("2026-01-01T00:00:00Z") + SignedDuration::from_mins(5 * cycle);
        let sample = gpu_sample("GPU-1", moment, "Unclaimed");
        let change = writer.upsert(&[sample]).await.unwrap();
        assert_eq!(change, Change { added: 1, changed: 0 });
    }
    assert_eq!(files(&lake).await.len(), 3);
    assert_eq!(rows::<GpuSample>(&lake).await.len(), 36);
}

/// What a look at `gpu01` sees, holding for ten minutes.
fn look(at: &str, state: Option<&str>) -> Snapshot<NodeSpan> {
    let time = time(at);
    let rows = state.map(|state| NodeSpan {
        cluster: "maple".into(),
        node: "gpu01".into(),
        start_time: time,
        end_time: time + SignedDuration::from_mins(10),
        last_seen_time: time,
        samples: 1,
        state: state.into(),
        reason: None,
        reason_user: None,
        reason_time: None,
        partitions: None,
        reservation: None,
        cpus: None,
        effective_cpus: None,
        alloc_cpus: None,
        memory_mb: None,
        alloc_memory_mb: None,
        gpus: None,
        alloc_gpus: None,
        gpu_types: None,
        alloc_gpu_types: None,
    });
    Snapshot::of_all(time, rows.into_iter().collect())
}

/// Lays looks (`day` and time, then the state or `gone`) over an empty lake, once all together
/// and once one by one, and compares the spans.
async fn check_spans(looks: &[(&str, &str)], expected: &[&str]) {
    let snapshots: Vec<Snapshot<NodeSpan>> =
        looks.iter().map(|(at, state)| look(at, (*state != "gone").then_some(*state))).collect();
    let (_folder, together) = lake();
    together.writer("maple").await.unwrap().observe(snapshots.clone()).await.unwrap();
    let (_folder, apart) = lake();
    for snapshot in snapshots.iter().cloned() {
        apart.writer("maple").await.unwrap().observe(vec![snapshot]).await.unwrap();
    }
    for lake in [together, apart] {
        let shown: Vec<String> = rows::<NodeSpan>(&lake)
            .await
            .iter()
            .map(|span| {
                format!(
                    "{}..{} {} {}",
                    span.start_time.strftime("%dT%H:%M"),
                    span.end_time.strftime("%dT%H:%M"),
                    span.state,
                    span.samples
                )
            })
            .collect();
        assert_eq!(shown, expected);
        // Seen a second time, nothing changes.
        let change = lake.writer("maple").await.unwrap().observe(snapshots.clone()).await.unwrap();
        assert_eq!(change, Change::default());
    }
}

#[tokio::test]
async fn looks_that_agree_are_one_span_and_a_change_ends_it() {
    check_spans(
        &[
            ("2026-01-01T10:00:00Z", "IDLE"),
            ("2026-01-01T10:05:00Z", "IDLE"),
            ("2026-01-01T10:10:00Z", "MIXED"),
        ],
        &["01T10:00..01T10:10 IDLE 2", "01T10:10..01T10:20 MIXED 1"],
    )
    .await;
}

#[tokio::test]
async fn a_look_holds_for_twice_the_cadence_and_then_nothing_is_known() {
    check_spans(
        &[("2026-01-01T10:00:00Z", "IDLE"), ("2026-01-01T13:00:00Z", "IDLE")],
        &["01T10:00..01T10:10 IDLE 1", "01T13:00..01T13:10 IDLE 1"],
    )
    .await;
}

#[tokio::test]
async fn what_is_gone_ended_at_the_look_that_missed_it() {
    check_spans(
        &[("2026-01-01T10:00:00Z", "IDLE"), ("2026-01-01T10:05:00Z", "gone")],
        &["01T10:00..01T10:05 IDLE 1"],
    )
    .await;
}

#[tokio::test]
async fn a_look_at_a_part_says_nothing_of_the_rest() {
    let (_folder, lake) = lake();
    // Nodes of two kinds, each looked at by itself.
    let look_at = |at: &str, only: &str, nodes: &[&str]| {
        let rows = nodes.iter().map(|node| NodeSpan {
            node: (*node).to_owned().into(),
            ..look(at, Some("IDLE")).rows.remove(0)
        });
        Snapshot { only: Some(only.into()), ..Snapshot::of_all(time(at), rows.collect()) }
    };
    let looks = vec![
        look_at("2026-01-01T10:00:00Z", "gpu#", &["gpu#1", "gpu#2"]),
        look_at("2026-01-01T10:00:01Z", "cpu#", &["cpu#1"]),
        look_at("2026-01-01T10:05:00Z", "gpu#", &["gpu#1"]),
        // Nobody looked at the others at 10:05; what they were holds for ten minutes.
        look_at("2026-01-01T10:15:00Z", "gpu#", &["gpu#1"]),
        look_at("2026-01-01T10:15:01Z", "cpu#", &["cpu#1"]),
    ];
    let mut writer = lake.writer("maple").await.unwrap();
    writer.observe(looks.clone()).await.unwrap();
    let spans: Vec<String> = rows::<NodeSpan>(&lake)
        .await
        .iter()
        .map(|span| {
            let shown = |time: Timestamp| time.strftime("%H:%M:%S").to_string();
            format!("{} {}..{}", span.node, shown(span.start_time), shown(span.end_time))
        })
        .collect();
    assert_eq!(
        spans,
        [
            "cpu#1 10:00:01..10:10:01",
            "cpu#1 10:15:01..10:25:01",
            "gpu#1 10:00:00..10:25:00",
            "gpu#2 10:00:00..10:05:00",
        ]
    );
    for look in looks {
        assert_eq!(writer.observe(vec![look]).await.unwrap(), Change::default());
    }
}

#[test]
fn what_an_access_point_said_counts_without_a_gap() {
    let mut tracker = Tracker::default();
    for (since, until, expected) in [
        ("2026-01-02T00:00:00Z", "2026-01-02T12:00:00Z", ("02T00", "02T12")),
        ("2026-01-02T11:00:00Z", "2026-01-02T13:00:00Z", ("02T00", "02T13")),
        ("2026-01-02T14:00:00Z", "2026-01-02T15:00:00Z", ("02T00", "02T13")), // an hour is missing
        ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", ("01T00", "02T13")),
    ] {
        tracker.note_heard("ap1", Heard { since: time(since), until: time(until) });
        let Heard { since, until } = tracker.access_points["ap1"];
        let hour = |time: Timestamp| time.strftime("%dT%H").to_string();
        assert_eq!((hour(since), hour(until)), (expected.0.into(), expected.1.into()));
    }
    assert_eq!(tracker.access_points.len(), 1);
}

#[tokio::test]
async fn spans_are_cut_at_midnight_and_go_on_in_the_next_day() {
    check_spans(
        &[
            ("2026-01-01T23:55:00Z", "IDLE"),
            ("2026-01-02T00:00:00Z", "IDLE"),
            ("2026-01-02T00:05:00Z", "DOWN"),
        ],
        &["01T23:55..02T00:00 IDLE 1", "02T00:00..02T00:05 IDLE 1", "02T00:05..02T00:15 DOWN 1"],
    )
    .await;
}

/// Rows of a few jobs over a few days, seen at a few moments: keys often meet. What is said of a
/// job changes, and does not change back, but every other observation lacks its QOS, and those after
/// the fourth lack what it used.
fn any_rows() -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec(
        (0..4u8, 0..3u8, 0..6u8).prop_map(|(id, day, hour)| {
            let state = ["RUNNING", "COMPLETED", "FAILED"][usize::from(hour / 2)];
            let mut job = job(
                &id.to_string(),
                &format!("2026-01-0{}T10:00:00Z", day + 1),
                &format!("2026-01-05T0{hour}:00:00Z"),
                state,
            );
            job.qos = (hour % 2 == 0).then(|| format!("qos {hour}").into());
            if hour > 3 {
                (job.total_cpu_seconds, job.max_rss_mb, job.usage_source) = (None, None, None);
                job.set_usage();
            }
            job
        }),
        0..24,
    )
}

/// Merges rows into those stored, as new rows.
fn merged(stored: &[Job], came: &[Job]) -> (Vec<Job>, usize, usize) {
    let merged = merge(stored, &came.iter().collect::<Vec<_>>());
    (merged.rows().into_iter().cloned().collect(), merged.added, merged.changed)
}

proptest! {
    #[test]
    fn merging_is_idempotent(rows in any_rows()) {
        let (once, _, _) = merged(&[], &rows);
        prop_assert_eq!(merged(&once, &rows), (once, 0, 0));
    }

    #[test]
    fn the_order_in_which_rows_come_does_not_matter(
        (rows, shuffled) in any_rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        cut in 0..24usize,
    ) {
        let (together, _, _) = merged(&[], &rows);
        let cut = cut.min(shuffled.len());
        let (first, second) = shuffled.split_at(cut);
        let (apart, _, _) = merged(&[], first);
        let (apart, _, _) = merged(&apart, second);
        prop_assert_eq!(apart.len(), together.len());
        for (one, other) in apart.iter().zip(&together) {
            // Since when it is known to be so depends on what was written first.
            prop_assert!(one.says_the_same(other), "{:?} {:?}", one, other);
        }
    }
}

/// The work that the crash test interrupts: three commits to each of two days, after the second of
/// which their files, of two rows, are large and in parts; spans, raw output, a collection, samples of
/// two days and their compaction, the tracker.
pub(crate) async fn work(lake: Lake) -> Result<()> {
    let mut writer = lake.writer("maple").await?;
    let mut archive = Archive::begin(&Asked {
        time: time("2026-01-02T12:00:00Z"),
        run: time("2026-01-02T12:00:00Z"),
        window: Some((time("2026-01-01T00:00:00Z"), time("2026-01-02T00:00:00Z"))),
        command: vec!["sacct".into(), "-a".into()],
        failure: None,
    })
    .unwrap();
    archive.push(b"what it printed");
    let (frame, _) = archive.finish().unwrap();
    writer
        .archive_window(
            "sacct",
            "2026-01-01".parse().unwrap(),
            time("2026-01-02T12:00:00Z"),
            &frame,
        )
        .await?;
    for (id, state) in [("1", "RUNNING"), ("2", "COMPLETED"), ("1", "COMPLETED")] {
        let observed =
            if state == "RUNNING" { "2026-01-01T11:00:00Z" } else { "2026-01-02T12:00:00Z" };
        writer
            .upsert(&[
                job(id, "2026-01-01T10:00:00Z", observed, state),
                job(id, "2026-01-02T10:00:00Z", observed, state),
            ])
            .await?;
    }
    writer
        .observe(vec![
            look("2026-01-01T23:55:00Z", Some("IDLE")),
            look("2026-01-02T00:00:00Z", Some("DOWN")),
        ])
        .await?;
    writer
        .collected(&[collection(
            "2026-01-02T12:00:00Z",
            "2026-01-01T00:00:00Z",
            "2026-01-02T00:00:00Z",
        )])
        .await?;
    for moment in ["2026-01-01T22:00:00Z", "2026-01-01T23:55:00Z", "2026-01-02T00:05:00Z"] {
        writer.upsert(&[gpu_sample("GPU-1", time(moment), "Unclaimed")]).await?;
    }
    let hold = SignedDuration::from_mins(10);
    writer.compact_gpu_days(time("2026-01-03T00:00:00Z"), hold).await?;
    writer.finish().await
}

/// Tells the crash test that it runs as its own child: the lake, and the step before which to abort.
const CRASH: &str = "PLIMSOLL_TEST_CRASH";

/// Does the work, and aborts before a step.
fn work_until_crash(root: &str, last: usize) {
    let steps = AtomicUsize::new(0);
    let lake = Lake::create(Path::new(root)).unwrap().with_large_file(1).with_step(move |_| {
        if steps.fetch_add(1, Ordering::SeqCst) == last {
            std::process::abort();
        }
    });
    runtime().block_on(work(lake)).unwrap();
}

/// The process that crashes is this test again, started with [`CRASH`] set: it needs the test build, and
/// a test of its own would count one that asserts nothing.
#[test]
fn killed_before_any_step_the_lake_is_whole_and_the_next_run_ends_the_same() {
    #[expect(clippy::disallowed_methods, reason = "how the crash test tells its child what to do")]
    if let Ok(told) = std::env::var(CRASH) {
        let (root, last) = told.split_once('|').unwrap();
        return work_until_crash(root, last.parse().unwrap());
    }
    let runtime = runtime();
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = Lake::create(folder.path()).unwrap().with_large_file(1);
    runtime.block_on(work(undisturbed.clone())).unwrap();
    let expected = runtime.block_on(files(&undisturbed));
    let expected_tracker = runtime.block_on(undisturbed.tracker("maple")).unwrap();

    let mut deaths = 0;
    let mut held_before = 0; // in minutes: each of three looks holds for ten
    loop {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        #[expect(clippy::disallowed_methods, reason = "a process that can be killed")]
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "tests::killed_before_any_step_the_lake_is_whole_and_the_next_run_ends_the_same",
                "--nocapture",
            ])
            .env(CRASH, format!("{}|{deaths}", root.display()))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        let lake = Lake::open(&root).unwrap().with_large_file(1);
        runtime.block_on(async {
            for table in TABLES {
                for file in lake.files(table, &Trackers::new()).await.unwrap() {
                    let bytes = lake.bytes(&file.meta.location).await.unwrap().unwrap();
                    let footer = parquet_file::read_footer(table, &bytes).unwrap();
                    assert!(footer.rows > 0, "{} after {deaths} steps", file.meta.location);
                }
            }
            // The later it died the more is seen: nothing is lost between samples and spans, and
            // nothing is seen twice.
            let spans = asked(&lake, SignedDuration::from_mins(10)).await;
            let length =
                |span: &record::GpuSpan| span.end_time.duration_since(span.start_time).as_mins();
            let held: i64 = spans.iter().map(length).sum();
            assert!((held_before..=30).contains(&held), "{held} min after {deaths} steps");
            held_before = held;
            work(lake.clone()).await.unwrap();
        });
        assert_eq!(runtime.block_on(files(&lake)), expected, "died before step {deaths}");
        let mut tracker = runtime.block_on(lake.tracker("maple")).unwrap();
        for (name, facts) in &mut tracker.files {
            facts.modified = expected_tracker.files[name].modified; // when, not what
        }
        assert_eq!(tracker, expected_tracker, "died before step {deaths}");
        if status.success() {
            break;
        }
        deaths += 1;
    }
    assert_eq!(held_before, 30);
    // Raw 1, jobs 6 and their sums 12, spans 2, collection 1, hours of samples 3, days of GPU spans
    // 2, open jobs 1 and tracker 1 are 29 files of seven steps each; 3 files are removed from 2
    // folders.
    assert_eq!(deaths, 29 * 7 + 5);
}
