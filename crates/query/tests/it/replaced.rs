//! A question is answered though files are replaced under it, over and over.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_plan::{self, ExecutionPlan};
use datafusion::prelude::{SessionConfig, SessionContext};
use lake::Lake;
use query::{Engine, STORE_URL};
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

/// Others that read a lake whose file is replaced while they work out the first plan.
struct Elsewhere {
    lake: Lake,
    is_replaced_first: bool,
    plans: AtomicUsize,
}

impl Elsewhere {
    /// A second job comes to the day of the first.
    async fn replace(&self) {
        let mut other = Site::new();
        other.lake = self.lake.clone();
        other.run(&insert("2", "2026-01-01T01:00:00Z")).await.unwrap();
    }
}

#[async_trait]
impl Engine for Elsewhere {
    async fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn settings(&self, settings: SessionConfig) -> SessionConfig {
        settings
    }

    async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        settings: &SessionConfig,
        _: Vec<u8>,
    ) -> Result<Vec<RecordBatch>> {
        let is_first = self.plans.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first && self.is_replaced_first {
            self.replace().await;
        }
        let context = SessionContext::new_with_config(settings.clone());
        context.register_object_store(&STORE_URL, self.lake.store());
        let rows = physical_plan::collect(plan, context.task_ctx()).await;
        if is_first && !self.is_replaced_first {
            self.replace().await;
        }
        rows
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Elsewhere")
    }
}

fn insert(job: &str, start: &str) -> String {
    format!(
        "INSERT INTO job (job_id, user, submit_time, start_time, end_time) VALUES
         ('{job}', 'ann', '2026-01-01T00:00:00Z', '{start}', '2026-01-01T02:00:00Z')"
    )
}

#[tokio::test]
async fn what_others_worked_out_of_a_file_that_was_replaced_is_asked_of_them_again() {
    for is_replaced_first in [true, false] {
        let mut site = Site::new();
        site.run(&insert("1", "2026-01-01T00:00:00Z")).await.unwrap();
        let others =
            Arc::new(Elsewhere { lake: site.lake.clone(), is_replaced_first, plans: 0.into() });
        site.question.engine = Some(others.clone());
        let analysis = query::analysis("states").unwrap();
        let report = query::run(&site.lake, analysis, &site.question).await.unwrap();
        assert_eq!(report.coverage.skipped, []);
        assert_eq!(report.table.rows[0][1], Value::Integer(2), "{is_replaced_first}");
        assert_eq!(others.plans.load(Ordering::SeqCst), 2, "{is_replaced_first}");
        // Nothing was replaced under the next one.
        query::run(&site.lake, analysis, &site.question).await.unwrap();
        assert_eq!(others.plans.load(Ordering::SeqCst), 3);
    }
}
