//! Cutting time into periods loses nothing and counts nothing twice.

use jiff::SignedDuration;
use proptest::prelude::*;
use query::Session;
use sqllogictest::AsyncDB;

use crate::site::{Site, period};

const DAY: i64 = 86_400;

/// The run seconds and the CPU seconds used that `job_run` finds between two seconds of 2026.
async fn sums(site: &Site, from: i64, to: i64) -> (f64, f64) {
    let start = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
    let at = |second: i64| (start + SignedDuration::from_secs(second)).to_string();
    let mut question = site.question.clone();
    question.period = period(&at(from), &at(to), "UTC").unwrap();
    let session = Session::open(&site.lake, &question, |_| true).await.unwrap();
    let batches = session
        .collect(
            "SELECT coalesce(sum(run_seconds), 0) AS run_seconds,
                    coalesce(sum(total_cpu_seconds * run_ratio), 0) AS cpu_seconds
             FROM job_run",
        )
        .await
        .unwrap();
    let column = |index: usize| {
        use datafusion::arrow::array::AsArray;
        use datafusion::arrow::datatypes::Float64Type;
        batches[0].column(index).as_primitive::<Float64Type>().value(0)
    };
    (column(0), column(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_parts_sum_to_the_whole(
        jobs in prop::collection::vec((0..3 * DAY, 0..2 * DAY, 0..100i64), 1..20),
        mut cuts in prop::collection::vec(0..6 * DAY, 0..5),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let mut site = Site::new();
            let start = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
            let rows: Vec<String> = jobs
                .iter()
                .enumerate()
                .map(|(id, (begin, length, suspended))| {
                    let at = |second: i64| (start + SignedDuration::from_secs(second)).to_string();
                    let elapsed = (length - suspended).max(0);
                    format!("('{id}', '{}', '{}', {elapsed}, {length}.0)", at(*begin), at(begin + length))
                })
                .collect();
            site.run(&format!(
                "INSERT INTO job (job_id, start_time, end_time, elapsed_seconds, total_cpu_seconds) VALUES {}",
                rows.join(", ")
            ))
            .await
            .unwrap();

            cuts.extend([0, 6 * DAY]);
            cuts.sort_unstable();
            let (mut run_seconds, mut cpu_seconds) = (0.0, 0.0);
            for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
                let (run, cpu) = sums(&site, pair[0], pair[1]).await;
                run_seconds += run;
                cpu_seconds += cpu;
            }
            // Every job lies within the six days: its elapsed time, its CPU time, each once.
            let elapsed: i64 = jobs.iter().map(|(_, length, suspended)| (length - suspended).max(0)).sum();
            let used: i64 = jobs.iter().map(|(_, length, _)| length).sum();
            assert!((run_seconds - elapsed as f64).abs() < 1e-3, "{run_seconds} of {elapsed}");
            assert!((cpu_seconds - used as f64).abs() < 1e-3, "{cpu_seconds} of {used}");
        });
    }
}
