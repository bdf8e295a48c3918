use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::physical_plan::{ExecutionPlan, collect};
use lake::Lake;
use record::{Job, Record};
use report::Period;
use tempfile::TempDir;

use super::*;
use crate::{Question, Session};

#[test]
fn all_together_get_no_more_than_there_is_and_each_its_share_of_half_of_it() {
    let pool: Arc<dyn MemoryPool> = Arc::new(SharedPool::new(100));
    let spilling = || MemoryConsumer::new("sorts").with_can_spill(true).register(&pool);
    let first = spilling();
    first.try_grow(50).unwrap();
    assert!(first.try_grow(1).is_err(), "half is its share while it is alone");
    let second = spilling();
    second.try_grow(25).unwrap();
    assert!(second.try_grow(1).is_err(), "there are two of them now");
    // 50 and 25 are held.
    let ours = held(&pool, "ours");
    assert!(ours.try_grow(26).is_err());
    ours.try_grow(20).unwrap();
    // Of the 80 that are left to share each has 20, and it has as much again for putting together.
    let again = second.new_empty();
    assert!(again.try_grow(6).is_err(), "no more than 5 are left");
    again.try_grow(5).unwrap();
    assert_eq!(pool.reserved(), 100);
    drop((first, second, again, ours));
    assert_eq!(pool.reserved(), 0);
}

#[test]
fn however_many_there_are_each_can_begin_while_there_is_something_left() {
    let pool: Arc<dyn MemoryPool> = Arc::new(SharedPool::new(6400));
    let spilling = || MemoryConsumer::new("sorts").with_can_spill(true).register(&pool);
    let (first, many) = (spilling(), (0..49).map(|_| spilling()).collect::<Vec<_>>());
    first.try_grow(1600).unwrap();
    assert!(first.try_grow(1).is_err(), "a quarter is for all, and its share is less");
    for each in &many[..48] {
        each.try_grow(100).unwrap();
        assert!(each.try_grow(1).is_err(), "a sixty-fourth is the least share");
    }
    assert!(many[48].try_grow(1).is_err(), "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_sorts_at_once_are_no_reason_to_refuse() {
    let (_folder, lake) = lake().await;
    let memory = Memory::limited(64 * 1024 * 1024).unwrap();
    let few = "SELECT row_number() OVER (ORDER BY job_id) AS number FROM job WHERE user = 'user7'";
    let sql = format!("SELECT count(*) AS rows FROM ({})", [few; 24].join(" UNION ALL "));
    let answer = crate::sql(&lake, &sql, 10, &question(&memory)).await.unwrap();
    // Each of a hundred users has 400 jobs.
    assert_eq!(answer.table.rows, [[Value::Integer(24 * 400)]]);
}

const JOBS: usize = 40_000;

/// A lake of so many jobs of one day, of a hundred users.
async fn lake() -> (TempDir, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(folder.path()).unwrap();
    let sql = format!(
        "SELECT CAST(value AS VARCHAR) AS job_id, concat('user', value % 100) AS user,
                concat('a job whose name is long, number ', value * 7919 % {JOBS}) AS job_name,
                '2026-01-01T10:00:00Z' AS submit_time, '2026-01-01T11:00:00Z' AS start_time,
                '2026-01-01T12:00:00Z' AS end_time, '2026-01-01T13:00:00Z' AS observed_time,
                'sacct' AS source, 'COMPLETED' AS state, true AS is_complete, 0 AS attempt
         FROM generate_series(1, {JOBS})"
    );
    let mut jobs: Vec<Job> = Vec::new();
    for batch in SessionContext::new().sql(&sql).await.unwrap().collect().await.unwrap() {
        jobs.extend(Job::from_batch("maple", &batch).unwrap());
    }
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&jobs).await.unwrap();
    writer.finish().await.unwrap();
    (folder, lake)
}

fn question(memory: &Memory) -> Question {
    let time = |text: &str| text.parse().unwrap();
    let (start, end) = (time("2026-01-01T00:00:00Z"), time("2026-01-02T00:00:00Z"));
    let period = Period { start, end, zone: TimeZone::UTC };
    Question { memory: memory.clone(), ..Question::about(period) }
}

/// What a statement gives, and how often anything was put on the disk for it.
async fn asked(lake: &Lake, memory: &Memory, sql: &str) -> (RecordBatch, usize) {
    let session = Session::open(lake, &question(memory), |_| false).await.unwrap();
    let plan = session.context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    let batches = collect(plan.clone(), session.context.task_ctx()).await.unwrap();
    let schema = plan.schema();
    (concat_batches(&schema, &batches).unwrap(), spills(&plan))
}

fn spills(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.spill_count()).unwrap_or_default();
    own + plan.children().into_iter().map(spills).sum::<usize>()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_put_on_the_disk_and_the_answer_is_the_same() {
    let (_folder, lake) = lake().await;
    let memory = Memory::limited(16 * 1024 * 1024).unwrap();
    let limited = memory.0.clone().unwrap();
    for sql in [
        "SELECT job_name, user, job_id, start_time, end_time FROM job ORDER BY job_name, job_id",
        "SELECT job_name, min(user) AS user, max(job_id) AS job_id, count(*) AS jobs
         FROM job GROUP BY job_name ORDER BY job_name",
    ] {
        let (expected, none) = asked(&lake, &Memory::default(), sql).await;
        let (answer, spilled) = asked(&lake, &memory, sql).await;
        assert_eq!((expected.num_rows(), none), (JOBS, 0), "{sql}");
        assert!(spilled > 0, "{sql}");
        assert!(answer == expected, "{sql}");
        assert_eq!(limited.pool.reserved(), 0, "all is given back");
        assert_eq!(limited.disk.used_disk_space(), 0);
    }
    let folders = limited.disk.temp_dir_paths();
    assert!(!folders.is_empty() && folders.iter().all(|folder| folder.exists()));
    drop((memory, limited));
    assert!(!folders.iter().any(|folder| folder.exists()), "nothing is left on the disk");
}

#[tokio::test]
async fn what_cannot_be_put_on_the_disk_is_refused_with_what_to_do() {
    let (_folder, lake) = lake().await;
    let memory = Memory::limited(1024 * 1024).unwrap();
    let sql = "
        SELECT count(*) AS pairs
        FROM job AS one
        INNER JOIN job AS other ON one.job_name = other.job_name
    ";
    crate::sql(&lake, sql, 10, &question(&Memory::default())).await.unwrap();
    let error = crate::sql(&lake, sql, 10, &question(&memory)).await.unwrap_err();
    let refused = error.downcast_ref::<Refused>().expect("it is no failure of ours").to_string();
    assert_eq!(
        refused,
        "the answer needs more memory than is left of the 1.0 MiB that questions may hold together; ask \
         about a shorter period, or raise memory_limit (--memory-limit)"
    );
    // Others are answered as before.
    let few = "SELECT count(*) AS jobs FROM job";
    let answer = crate::sql(&lake, few, 10, &question(&memory)).await.unwrap();
    assert_eq!(answer.table.rows, [[Value::Integer(JOBS as i64)]]);
}
