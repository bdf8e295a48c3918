//! A question about a day opens that day's files, however long the history is; a file that is
//! broken is named and left out.

use datafusion::arrow::array::AsArray;
use query::Session;
use record::Record as _;
use sqllogictest::AsyncDB;

use crate::site::{Site, period};

/// A year of days with ten jobs each, every one submitted, run and ended on its day, but for
/// one that was submitted on 1 March and still ran when it was last seen, on 2 June.
async fn year() -> Site {
    let mut site = Site::new();
    let mut rows = Vec::new();
    let mut day = jiff::civil::date(2025, 1, 1);
    while day.year() == 2025 {
        for hour in 0..10 {
            rows.push(format!(
                "('{day}-{hour}', 'user{hour}', '{day}T{hour:02}:00:00Z', '{day}T{hour:02}:30:00Z', '2026-02-01T00:00:00Z', 4)"
            ));
        }
        day = day.tomorrow().unwrap();
    }
    rows.push("('long', 'zoe', '2025-03-01T00:00:00Z', NULL, '2025-06-02T00:00:00Z', 1)".into());
    site.run(&format!(
        "INSERT INTO job (job_id, user, start_time, end_time, observed_time, alloc_cpus) VALUES {}",
        rows.join(", ")
    ))
    .await
    .unwrap();
    site.question.period = period("2025-06-01T00:00:00Z", "2025-06-02T00:00:00Z", "UTC").unwrap();
    site
}

/// All that analyses of usage could be told, and are not.
const UNSAID: [(&str, Option<String>); 5] =
    [("user", None), ("group", None), ("account", None), ("partition", None), ("job", None)];

/// The files that a statement opens, by what DataFusion says of its work.
async fn opened(site: &Site, sql: &str) -> Vec<String> {
    let session = Session::open(&site.lake, &site.question, |_| true).await.unwrap();
    let plan = session.collect_with(&format!("EXPLAIN ANALYZE {sql}"), &UNSAID).await.unwrap();
    let plan = plan[0].column(1).as_string::<i32>().value(0).to_owned();
    let mut files: Vec<String> = plan
        .split(['[', ']', ',', ' '])
        .filter(|word| word.contains(".parquet"))
        .map(|word| word.split(':').next().unwrap().to_owned())
        .collect();
    files.sort_unstable();
    files.dedup();
    assert_eq!(session.files_opened(), files.len(), "{plan}");
    files
}

#[tokio::test]
async fn a_question_about_a_day_of_a_year_opens_two_files() {
    let site = year().await;
    assert_eq!(
        site.lake.files(record::TABLES[0], &lake::Trackers::new()).await.unwrap().len(),
        365
    );
    // The one of the day, and the one with the job that ran into it.
    let usage = query::analysis("usage-by-user").unwrap();
    assert_eq!(
        opened(&site, usage.sql).await,
        [
            "processed/job_day/cluster=maple/date=2025-03-01/job_day.parquet",
            "processed/job_day/cluster=maple/date=2025-06-01/job_day.parquet",
        ]
    );
    assert_eq!(
        opened(&site, "SELECT count(*), sum(run_seconds) FROM job_run").await,
        [
            "processed/job/cluster=maple/date=2025-03-01/job.parquet",
            "processed/job/cluster=maple/date=2025-06-01/job.parquet",
        ]
    );
}

/// Every job of the year has its start and, but for one, its end; none waits.
#[tokio::test]
async fn what_ended_and_what_waited_is_found_without_the_history() {
    let site = year().await;
    for name in ["efficiency", "time-limit", "rightsizing", "wait"] {
        let session = Session::open(&site.lake, &site.question, |_| true).await.unwrap();
        session.ask(query::analysis(name).unwrap()).await.unwrap();
        assert_eq!(session.files_opened(), 1, "{name}");
    }
}

/// Ten users with half an hour of four CPUs, and zoe with a day of one.
#[tokio::test]
async fn skipping_files_does_not_change_the_answer() {
    let site = year().await;
    let analysis = query::analysis("usage-by-user").unwrap();
    let pruned = query::run(&site.lake, analysis, &site.question).await.unwrap();
    std::fs::remove_dir_all(site.lake.folder().unwrap().join("tracker")).unwrap();
    let session = Session::open(&site.lake, &site.question, |_| true).await.unwrap();
    session.ask(analysis).await.unwrap();
    assert_eq!(session.files_opened(), 365, "without a tracker every file is asked");
    let unpruned = query::run(&site.lake, analysis, &site.question).await.unwrap();

    assert_eq!(pruned.table, unpruned.table);
    let hours: Vec<String> =
        pruned.table.rows.iter().map(|row| format!("{:?} {:?}", row[0], row[2])).collect();
    assert_eq!(hours.len(), 11);
    assert_eq!(hours[0], "Text(\"zoe\") Number(24.0)");
    assert_eq!(hours[1], "Text(\"user0\") Number(2.0)");
}

#[tokio::test]
async fn a_file_that_rotted_unnoticed_is_named_and_the_rest_is_answered() {
    let site = year().await;
    let broken =
        site.lake.folder().unwrap().join("processed/job/cluster=maple/date=2025-06-01/job.parquet");
    let modified = std::fs::metadata(&broken).unwrap().modified().unwrap();
    let mut bytes = std::fs::read(&broken).unwrap();
    // Its footer; as long and as old as it was, so that its tracker still knows it.
    let length = bytes.len();
    bytes[length - 60..length - 8].fill(0xff);
    std::fs::write(&broken, &bytes).unwrap();
    std::fs::File::options().write(true).open(&broken).unwrap().set_modified(modified).unwrap();

    let report = query::sql(&site.lake, "SELECT job_id FROM job", 10_000, &site.question);
    let report = report.await.unwrap();

    assert_eq!(report.table.rows.len(), 3641, "of 3651 jobs all but the ten of its day");
    assert_eq!(report.coverage.skipped.len(), 1);
    assert_eq!(report.coverage.skipped[0].path, broken.display().to_string());
}

#[tokio::test]
async fn a_truncated_file_is_named_and_the_rest_is_answered() {
    let site = year().await;
    let broken =
        site.lake.folder().unwrap().join("processed/job/cluster=maple/date=2025-06-01/job.parquet");
    let whole = std::fs::read(&broken).unwrap();
    std::fs::write(&broken, &whole[..whole.len() - 10]).unwrap();

    let analysis = query::analysis("usage-by-user").unwrap();
    let report = query::run(&site.lake, analysis, &site.question).await.unwrap();

    assert_eq!(report.table.rows.len(), 1, "only zoe's job is in a file that can be read");
    assert_eq!(report.coverage.skipped.len(), 1);
    assert_eq!(report.coverage.skipped[0].path, broken.display().to_string());
}

/// Writes the files of a table again without a column, as a version that did not have it wrote them.
async fn leave_out<R: record::Record>(site: &Site, column: &str) {
    for file in site.lake.files(&R::TABLE, &lake::Trackers::new()).await.unwrap() {
        let rows: Vec<R> = site.lake.read("maple", &file.meta.location).await.unwrap();
        let batch = R::to_batch(&rows.iter().collect::<Vec<_>>());
        let kept: Vec<usize> = (0..batch.num_columns())
            .filter(|index| batch.schema().field(*index).name() != column)
            .collect();
        assert_eq!(kept.len() + 1, batch.num_columns());
        let old = batch.project(&kept).unwrap();
        let path = site.lake.folder().unwrap().join(file.meta.location.as_ref());
        let file = std::fs::File::create(path).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, old.schema(), None).unwrap();
        writer.write(&old).unwrap();
        writer.close().unwrap();
    }
}

/// Each GPU's state and its hours, by what its slots were.
async fn gpu_states(site: &Site) -> Vec<String> {
    let sql = "SELECT gpu_id, state, sum(seconds) / 3600 AS hours FROM gpu_time
               GROUP BY gpu_id, state ORDER BY gpu_id, state";
    let report = query::sql(&site.lake, sql, 100, &site.question).await.unwrap();
    let text = |value: &report::Value| match value {
        report::Value::Text(text) => text.clone(),
        report::Value::Number(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    report.table.rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn gpu_spans_from_before_availability_read_as_before() {
    let mut site = Site::new();
    site.run(
        "INSERT INTO gpu_span (machine, gpu_id, start_time, end_time, primary_state, availability)
         VALUES ('m', 'a', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', 'Drained', 'down'),
                ('m', 'b', '2026-01-01T00:00:00Z', '2026-01-01T02:00:00Z', 'Unclaimed', 'up')",
    )
    .await
    .unwrap();
    assert_eq!(gpu_states(&site).await, ["a down 1", "b idle 2"]);
    leave_out::<record::GpuSpan>(&site, "availability").await;
    // The slot's own word is all that is known.
    assert_eq!(gpu_states(&site).await, ["a drained 1", "b idle 2"]);
}

#[tokio::test]
async fn gpu_samples_from_before_availability_read_as_before_and_after_compaction() {
    let mut site = Site::new();
    site.run(
        "INSERT INTO gpu_sample (machine, gpu_id, time, primary_state, availability)
         VALUES ('m', 'a', '2026-01-01T00:00:00Z', 'Drained', 'down'),
                ('m', 'a', '2026-01-01T00:05:00Z', 'Drained', 'down'),
                ('m', 'a', '2026-01-01T00:10:00Z', 'Unclaimed', 'up'),
                ('m', 'a', '2026-01-01T00:15:00Z', 'Unclaimed', 'up')",
    )
    .await
    .unwrap();
    let shares = |states: Vec<String>| -> Vec<String> {
        states.iter().map(|state| state.split(' ').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(shares(gpu_states(&site).await), ["down", "idle"]);
    leave_out::<record::GpuSample>(&site, "availability").await;
    let before = gpu_states(&site).await;
    assert_eq!(shares(before.clone()), ["drained", "idle"]);
    let mut writer = site.lake.writer("maple").await.unwrap();
    let hold = jiff::SignedDuration::from_mins(10);
    let next_day = "2026-01-02T00:00:00Z".parse().unwrap();
    writer.compact_gpu_days(next_day, hold).await.unwrap();
    writer.finish().await.unwrap();
    assert!(
        site.lake
            .files(&record::GpuSample::TABLE, &lake::Trackers::new())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(gpu_states(&site).await, before);
}

#[tokio::test]
async fn a_file_from_before_a_column_reads_as_unknown() {
    let mut site = Site::new();
    site.run(
        "INSERT INTO job (job_id, user, start_time, end_time, alloc_cpus, alloc_gpus)
         VALUES ('1', 'ann', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', 2, 1)",
    )
    .await
    .unwrap();
    leave_out::<record::Job>(&site, "alloc_gpus").await;

    let analysis = query::analysis("usage-by-user").unwrap();
    let report = query::run(&site.lake, analysis, &site.question).await.unwrap();
    let row = format!("{:?}", &report.table.rows[0][..4]);
    assert_eq!(row, r#"[Text("ann"), Integer(1), Number(2.0), Unknown]"#);
}

#[tokio::test]
async fn statements_that_write_are_refused() {
    let site = Site::new();
    for statement in [
        "CREATE TABLE mine AS SELECT 1",
        "INSERT INTO job (job_id) VALUES ('1')",
        "COPY (SELECT 1) TO 'out.csv'",
        "DROP TABLE job",
        "SET datafusion.execution.batch_size = 1",
    ] {
        let error = query::sql(&site.lake, statement, 10, &site.question).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "plimsoll sql only reads: a statement that writes, creates or sets something is refused",
            "{statement}"
        );
    }
}

#[tokio::test]
async fn rows_beyond_the_limit_are_announced() {
    let site = Site::new();
    let sql = "SELECT value FROM generate_series(1, 5) AS series (value) ORDER BY value";
    let report = query::sql(&site.lake, sql, 3, &site.question).await.unwrap();
    assert_eq!(report.table.rows.len(), 3);
    assert_eq!(report.notes, ["There are more rows than the 3 shown; --limit shows more."]);
    let report = query::sql(&site.lake, sql, 5, &site.question).await.unwrap();
    assert_eq!((report.table.rows.len(), report.notes.len()), (5, 0));
}

/// Asked at noon about a day and a half: the first day is covered; the second is only if the
/// question ends by noon.
#[tokio::test]
async fn a_day_is_covered_if_it_was_asked_about_after_it_was_over() {
    let mut site = Site::new();
    site.run("COLLECTED 'maple' '2026-01-01T00:00:00Z' '2026-01-02T12:00:00Z'").await.unwrap();
    for (end, collected) in [("2026-01-02T12:00:00Z", 2), ("2026-01-02T12:00:01Z", 1)] {
        site.question.period = period("2026-01-01T00:00:00Z", end, "UTC").unwrap();
        let analysis = query::analysis("states").unwrap();
        let report = query::run(&site.lake, analysis, &site.question).await.unwrap();
        let coverage = &report.coverage.clusters[0];
        assert_eq!((coverage.days_collected, coverage.days), (collected, 2));
        assert_eq!(coverage.fresh_time, Some("2026-01-02T12:00:00Z".parse().unwrap()));
    }
}
