//! What is said of backfill is what happened: in a pool whose users' own logs were kept, and in a
//! simulated one whose law of evictions is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use query::Question;
use record::Job;
use report::{Period, Value};
use source::htcondor::{CondorHistory, CondorStatus, condor_history, condor_status};
use source::simulated::{ReturnLaw, Scale, Simulated, Site};
use source::{Machine, Parser, parse};
use tempfile::TempDir;

use crate::real_pool::{fixture, looks, table};

/// The pool's GPUs at each look, and what its access points' histories said at the last.
struct Pool {
    lake: Lake,
    question: Question,
    _folder: TempDir,
}

impl Pool {
    async fn new(has_history: bool) -> Pool {
        let (times, samples) = looks();
        let (start, end) = (times[0], *times.last().unwrap());
        let mut executions: Vec<Job> = Vec::new();
        for access_point in ["ap2001", "ap2002"].iter().filter(|_| has_history) {
            let name = format!("2026-11-15T034635Z/epochs_{access_point}.json");
            let text = std::fs::read(fixture(&name)).unwrap();
            executions.extend(parse(CondorHistory::new("chtc", end), &text).records);
        }
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::create(&folder.path().join("data")).unwrap();
        let mut writer = lake.writer("chtc").await.unwrap();
        // The looks are up to three minutes apart.
        writer.set_hold(SignedDuration::from_mins(4));
        writer.upsert(&samples).await.unwrap();
        writer.upsert(&executions).await.unwrap();
        writer.finish().await.unwrap();
        let period = Period { start, end, zone: TimeZone::UTC };
        Pool { lake, question: Question::about(period), _folder: folder }
    }

    async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let report = query::sql(&self.lake, sql, usize::MAX, &self.question).await.unwrap();
        let shown = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Unknown => "-".to_owned(),
            other => panic!("{other:?}"),
        };
        report.table.rows.iter().map(|row| row.iter().map(shown).collect()).collect()
    }
}

/// A job as the logs name it: `ap2001:4.0`.
fn name_in_logs(job_id: &str) -> String {
    let Some((access_point, job)) = job_id.split_once('#') else { return job_id.to_owned() };
    format!("{}:{job}", access_point.split('.').next().unwrap())
}

/// Of each execution on backfill that ended before the last look, whether it was evicted, and by whom where the logs tell. One that
/// its user held, removed or vacated was not: its code is 1009.
fn truth() -> BTreeMap<(String, String), (bool, String)> {
    let attempts = table("truth/attempts.csv");
    let (times, _) = looks();
    let last = times.last().unwrap().as_second();
    attempts
        .iter()
        .filter(|attempt| attempt["slot_kind"] == "backfill")
        .filter(|attempt| attempt["end_unix"].parse().is_ok_and(|end: i64| end < last))
        .map(|attempt| {
            let job = format!("{}:{}", attempt["ap"], attempt["job"]);
            let evicted = attempt["end_event"] == "evicted" && attempt["code"] != "1009";
            ((job, attempt["attempt"].clone()), (evicted, attempt["evicted_by"].clone()))
        })
        .collect()
}

#[tokio::test]
async fn every_eviction_of_a_real_pool_is_told_and_no_other() {
    let pool = Pool::new(true).await;
    let rows = pool
        .rows(
            "SELECT job_id, attempt, outcome, linked, cause, evictor_job_id, evictor_confidence
             FROM backfill_attempt
             WHERE end_time IS NOT NULL AND linked <> 'spans'",
        )
        .await;
    let truth = truth();
    let ours: BTreeMap<(String, String), &Vec<String>> =
        rows.iter().map(|row| ((name_in_logs(&row[0]), row[1].clone()), row)).collect();
    assert_eq!(
        ours.keys().collect::<BTreeSet<_>>(),
        truth.keys().collect::<BTreeSet<_>>(),
        "the executions on backfill that ended"
    );
    let (mut told, mut right) = (0, 0);
    for (execution, (evicted, by)) in &truth {
        let row = ours[execution];
        assert_eq!(row[2] == "evicted", *evicted, "{execution:?}: {row:?}");
        if *evicted && !by.is_empty() && row[6] == "gpu" {
            assert_eq!(row[4], "owner", "{execution:?}: {row:?}");
            told += 1;
            right += i32::from(name_in_logs(&row[5]) == *by);
        }
    }
    // The logs name the evictor of 16; those of 4 began after the last look.
    assert_eq!((told, right), (12, 12), "{rows:#?}");
}

#[tokio::test]
async fn without_a_history_evictions_are_told_from_what_was_seen() {
    let pool = Pool::new(false).await;
    let rows = pool
        .rows(
            "SELECT job_id, outcome, cause, linked FROM backfill_attempt WHERE outcome = 'evicted'",
        )
        .await;
    let evicted: BTreeSet<String> =
        truth().into_iter().filter(|(_, (evicted, _))| *evicted).map(|((job, _), _)| job).collect();
    assert!(rows.iter().all(|row| row[3] == "spans"), "{rows:?}");
    for row in &rows {
        assert!(evicted.contains(&name_in_logs(&row[0])), "{row:?} was not evicted");
    }
    assert!(rows.len() >= 10, "{rows:?}");
}

/// Two days of a simulated pool, sampled every ten minutes, and the job history of a day more, so
/// that it has the jobs that were still running.
async fn sampled_pool() -> (Pool, Arc<Site>) {
    let start: Timestamp = "2026-03-07T00:00:00Z".parse().unwrap();
    let (end, later) =
        (start + SignedDuration::from_hours(48), start + SignedDuration::from_hours(72));
    let site = Arc::new(Site::new(&Scale {
        seed: 7,
        start,
        end: later,
        slurm_jobs_per_day: 20,
        slurm_nodes: 2,
        condor_machines: 40,
    }));
    let cluster = Site::condor_pool().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(&folder.path().join("data")).unwrap();
    let mut writer = lake.writer(&cluster).await.unwrap();
    let step = SignedDuration::from_mins(10);
    writer.set_hold(step * 2);
    let (mut samples, mut now) = (Vec::new(), start);
    while now <= end {
        let machine = Simulated { site: site.clone(), cluster: cluster.clone(), now };
        let mut parser = CondorStatus::new(&cluster, now);
        machine.run(&condor_status(), &mut |piece| parser.push(piece)).unwrap();
        samples.extend(parser.finish().records);
        now += step;
    }
    writer.upsert(&samples).await.unwrap();
    let machine = Simulated { site: site.clone(), cluster: cluster.clone(), now: later };
    let mut parser = CondorHistory::new(&cluster, later);
    machine.run(&condor_history(start, later), &mut |piece| parser.push(piece)).unwrap();
    writer.upsert(&parser.finish().records).await.unwrap();
    writer.finish().await.unwrap();
    let period = Period { start, end, zone: TimeZone::UTC };
    (Pool { lake, question: Question::about(period), _folder: folder }, site)
}

#[tokio::test]
async fn open_periods_are_as_long_as_in_truth() {
    let (pool, site) = sampled_pool().await;
    let rows = pool
        .rows(
            "SELECT machine, gpu_id,
                    CAST(date_part('epoch', start_time) AS BIGINT),
                    CAST(date_part('epoch', end_time) AS BIGINT),
                    before, after
             FROM backfill_phase
             WHERE situation = 'open' AND before IN ('taken', 'owner') AND after IN ('taken', 'owner')",
        )
        .await;
    // In truth a GPU is open from one job to the next.
    let mut open: BTreeMap<(&str, &str, i64), i64> = BTreeMap::new();
    for interval in &site.truth().gpu_intervals {
        if interval.primary.is_none() && interval.backfill.is_none() && !interval.drained {
            let (start, end) = (interval.start.as_second(), interval.end.as_second());
            open.insert((interval.machine.as_str(), interval.gpu_id.as_str(), end), start);
        }
    }
    for next in ["taken", "owner"] {
        let (mut periods, mut errors) = (0, Vec::new());
        for row in rows.iter().filter(|row| row[5] == next) {
            let [start, end]: [i64; 2] = [row[2].parse().unwrap(), row[3].parse().unwrap()];
            periods += 1;
            if let Some(true_start) = open.get(&(row[0].as_str(), row[1].as_str(), end)) {
                errors.push(start - true_start);
            }
        }
        assert!(periods > 50, "{periods} periods before {next}");
        assert_eq!(errors.len(), periods, "every period before {next} ends with a job");
        let wrong: Vec<&i64> = errors.iter().filter(|error| **error != 0).collect();
        assert!(wrong.is_empty(), "{} of {periods} begin otherwise: {wrong:?}", wrong.len());
    }
}

/// Ten days of a simulated pool whose owners come back by a law: what its access points and looks
/// every hour say.
async fn pool_with_returns(law: &ReturnLaw) -> Pool {
    let start: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
    let end = start + SignedDuration::from_hours(240);
    let scale =
        Scale { seed: 11, start, end, slurm_jobs_per_day: 20, slurm_nodes: 2, condor_machines: 40 };
    let site = Arc::new(Site::with_returns(&scale, law));
    let cluster = Site::condor_pool().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(&folder.path().join("data")).unwrap();
    let mut writer = lake.writer(&cluster).await.unwrap();
    let step = SignedDuration::from_hours(1);
    writer.set_hold(step * 2);
    let mut samples = Vec::new();
    let mut now = start;
    while now <= end {
        let machine = Simulated { site: site.clone(), cluster: cluster.clone(), now };
        let mut parser = CondorStatus::new(&cluster, now);
        machine.run(&condor_status(), &mut |piece| parser.push(piece)).unwrap();
        samples.extend(parser.finish().records);
        now += step;
    }
    writer.upsert(&samples).await.unwrap();
    let machine = Simulated { site, cluster: cluster.clone(), now: end };
    let mut parser = CondorHistory::new(&cluster, end);
    machine.run(&condor_history(start, end), &mut |piece| parser.push(piece)).unwrap();
    writer.upsert(&parser.finish().records).await.unwrap();
    writer.finish().await.unwrap();
    let period = Period { start, end, zone: TimeZone::UTC };
    Pool { lake, question: Question::about(period), _folder: folder }
}

/// The law is recovered: at each hour its truth lies in the band of what is estimated, and a law
/// that is a sixth slower does not.
#[tokio::test]
async fn a_law_of_eviction_is_recovered_from_what_a_pool_says() {
    for (scale_hours, shape) in [(5.0, 1.0), (6.0, 1.6)] {
        let law = ReturnLaw { scale_seconds: scale_hours * 3600.0, shape };
        let mut pool = pool_with_returns(&law).await;
        pool.question.options = [("by".to_owned(), "cluster".to_owned())].into();
        let analysis = query::analysis("backfill-survival").unwrap();
        let report = query::run(&pool.lake, analysis, &pool.question).await.unwrap();
        let number = |value: &Value| match value {
            Value::Number(number) => *number,
            Value::Integer(number) => *number as f64,
            other => panic!("{other:?}"),
        };
        let share =
            |scale_hours: f64, hours: f64| 100.0 * (-(hours / scale_hours).powf(shape)).exp();
        let (mut hours_seen, mut wrong_fits) = (Vec::new(), true);
        let of_all = |row: &&Vec<Value>| row[0] == Value::Text("all".into());
        for row in report.table.rows.iter().filter(of_all) {
            let hours = number(&row[1]) / 3600.0;
            let (lower, upper) = (number(&row[3]), number(&row[4]));
            if ![0.5, 1.0, 2.0, 4.0, 6.0, 8.0].contains(&hours) {
                continue;
            }
            let truth = share(scale_hours, hours);
            assert!(lower <= truth && truth <= upper, "{law:?} after {hours} h: {truth}, {row:?}");
            let wrong = share(scale_hours * 7.0 / 6.0, hours);
            wrong_fits &= lower <= wrong && wrong <= upper;
            hours_seen.push(hours);
        }
        assert_eq!(hours_seen, [0.5, 1.0, 2.0, 4.0, 6.0, 8.0], "{:#?}", report.table.rows);
        assert!(!wrong_fits, "a law that is a sixth slower would do as well");
    }
}
