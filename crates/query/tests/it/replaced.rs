//! A question is answered though files are replaced under it, over and over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use report::Value;
use sqllogictest::AsyncDB;

use crate::site::Site;

/// Thousands of jobs, so that a file has many pages; one of them changes all the time, and with it the
/// places of everything in the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_files_while_somebody_asks_breaks_no_answer() {
    let mut site = Site::new();
    let rows: Vec<String> = (0..2000)
        .map(|job| {
            let (hour, minute) = (job % 20, job % 60);
            format!("('{job}', 'ann', 'name-{job}', '2026-01-01T{hour:02}:{minute:02}:00Z', '2026-01-01T23:00:00Z')")
        })
        .collect();
    let insert = "INSERT INTO job (job_id, user, job_name, start_time, end_time) VALUES";
    site.run(&format!("{insert} {}", rows.join(", "))).await.unwrap();

    const TIMES: usize = 20;
    let replaced = Arc::new(AtomicUsize::new(0));
    let replacing = {
        let (lake, replaced) = (site.lake.clone(), replaced.clone());
        tokio::spawn(async move {
            let mut other = Site::new();
            other.lake = lake;
            for time in 0..TIMES {
                let name = "long".repeat(1 + time);
                let insert = "INSERT INTO job (job_id, user, job_name, start_time, end_time, observed_time) VALUES";
                let row = format!(
                    "('0', 'ann', '{name}', '2026-01-01T00:00:00Z', '2026-01-01T23:00:00Z', \
                     '2026-02-01T00:00:{:02}Z')",
                    1 + time
                );
                other.run(&format!("{insert} {row}")).await.unwrap();
                replaced.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let analysis = query::analysis("states").unwrap();
    while replaced.load(Ordering::Relaxed) < TIMES {
        let report = query::run(&site.lake, analysis, &site.question).await.unwrap();
        assert!(report.coverage.skipped.is_empty(), "{:?}", report.coverage.skipped);
        assert_eq!(report.table.rows[0][1], Value::Integer(2000));
    }
    replacing.await.unwrap();
}
