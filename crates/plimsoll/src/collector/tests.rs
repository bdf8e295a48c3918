//! Simulated clusters, collected from at many moments: nothing is lost, nothing asked for in vain.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use jiff::civil::Date;
use lake::Trackers;
use query::Preemptible;
use record::{GpuSpan, NodeSpan, QueueSpan, Record, SitePolicy, Text};
use source::simulated::{Scale, Simulated, Site, TrueAttempt};
use source::slurm::Backfill;
use source::{Command, Failure};

use super::*;
use crate::command::reprocess;

const START: &str = "2026-03-01T00:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn site() -> Arc<Site> {
    Arc::new(Site::new(&Scale {
        seed: 5,
        start: time(START),
        end: time("2026-03-05T00:00:00Z"),
        slurm_jobs_per_day: 300,
        slurm_nodes: 20,
        condor_machines: 8,
    }))
}

fn cluster() -> Cluster {
    cluster_of(Site::slurm_cluster(), Kind::Slurm)
}

fn pool() -> Cluster {
    cluster_of(Site::condor_pool(), Kind::Htcondor)
}

fn cluster_of(name: &str, kind: Kind) -> Cluster {
    Cluster {
        name: name.to_owned(),
        kind,
        command_prefix: Vec::new(),
        time_limit: None,
        own_cadence: None,
        slurm_cluster: None,
        backfill: Backfill::default(),
        job_history: None,
        simulation: None,
    }
}

/// The simulated cluster at a moment, which notes what it is asked and may refuse to answer.
struct Watched {
    machine: Simulated,
    asked: Mutex<Vec<String>>,
    refuses: Option<&'static str>,
    /// How often it refuses; then it answers.
    times: usize,
}

impl Machine for Watched {
    /// Commands take time: what is asked later says more.
    fn now(&self) -> Timestamp {
        let asked = self.asked.lock().unwrap().len();
        self.machine.now() + SignedDuration::from_millis(i64::try_from(asked).unwrap())
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let words = format!("{} {}", command.program, command.arguments.join(" "));
        let mut asked = self.asked.lock().unwrap();
        asked.push(words.clone());
        let refused = |words: &String| self.refuses.is_some_and(|refused| words.contains(refused));
        let times = asked.iter().filter(|words| refused(words)).count();
        drop(asked);
        if refused(&words) && times <= self.times {
            sink(b"half an ans");
            return Err(Failure::Status {
                program: command.program.to_owned(),
                status: "exit status: 1".to_owned(),
                complaint: "the database is away".to_owned(),
            });
        }
        self.machine.run(command, sink)
    }
}

/// Collects at a moment; gives what was asked of sacct about jobs.
async fn collect(
    lake: &Lake,
    site: &Arc<Site>,
    at: &str,
    days: Option<u16>,
    refuses: Option<&'static str>,
) -> Vec<String> {
    collect_from(lake, site, &cluster(), at, days, refuses, usize::MAX).await.0
}

/// The same from a cluster that refuses some times; gives also what failed for good.
async fn collect_from(
    lake: &Lake,
    site: &Arc<Site>,
    cluster: &Cluster,
    at: &str,
    days: Option<u16>,
    refuses: Option<&'static str>,
    times: usize,
) -> (Vec<String>, Vec<String>) {
    let watched = Arc::new(Watched {
        machine: Simulated { site: site.clone(), cluster: cluster.name.clone(), now: time(at) },
        asked: Mutex::default(),
        refuses,
        times,
    });
    let machine: Arc<dyn Machine> = watched.clone();
    let (days, refresh) = (days.unwrap_or(1), days.is_some());
    let summary = collect_once(lake, cluster, &machine, time(at), days, refresh).await;
    let asked = watched.asked.lock().unwrap();
    let is_about_jobs =
        |words: &&String| words.contains("--starttime") || words.contains("EpochWriteDate >=");
    (asked.iter().filter(is_about_jobs).cloned().collect(), summary.failures)
}

/// Collects at a moment from a machine.
async fn collect_once(
    lake: &Lake,
    cluster: &Cluster,
    machine: &Arc<dyn Machine>,
    at: Timestamp,
    days: u16,
    refresh: bool,
) -> Summary {
    let mut collector = Collector::open(lake, cluster, at).await.unwrap();
    let wanted = Wanted { days, refresh, parallel: 3 };
    let progress = ProgressBar::hidden();
    collector.moments(std::slice::from_ref(machine), &progress).await.unwrap();
    collector.jobs(machine, wanted, &progress).await.unwrap();
    collector.finish().await.unwrap()
}

async fn rows<R: Record>(lake: &Lake) -> Vec<R> {
    let mut rows = Vec::new();
    for file in lake.files(&R::TABLE, &Trackers::new()).await.unwrap() {
        rows.extend(lake.read::<R>(&file.cluster, &file.meta.location).await.unwrap());
    }
    rows
}

/// The jobs, whenever each was seen so.
async fn jobs(lake: &Lake) -> Vec<String> {
    let mut jobs: Vec<String> = rows::<Job>(lake)
        .await
        .into_iter()
        .filter(|job| job.state != "SPLIT")
        .map(|job| format!("{:?}", Job { observed_time: time(START), ..job }))
        .collect();
    jobs.sort();
    jobs
}

fn lake(folder: &Path) -> Lake {
    Lake::create(folder).unwrap()
}

/// Every hour or so, through midnights, with a pause of more than a day.
const MOMENTS: [&str; 12] = [
    "2026-03-01T00:10:00Z",
    "2026-03-01T09:00:00Z",
    "2026-03-01T23:59:00Z",
    "2026-03-02T00:01:00Z",
    "2026-03-02T00:05:00Z",
    "2026-03-02T02:00:00Z",
    "2026-03-02T03:00:00Z",
    "2026-03-03T12:00:00Z",
    "2026-03-03T12:05:00Z",
    "2026-03-04T12:00:00Z",
    "2026-03-05T00:30:00Z",
    "2026-03-05T06:00:00Z",
];

#[tokio::test]
async fn collected_in_small_steps_it_is_the_same_as_collected_at_once() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let steps = lake(&folder.path().join("steps"));
    for (number, moment) in MOMENTS.iter().enumerate() {
        // Now and then the database does not answer; what was missed then comes the next time.
        let refuses = (number % 4 == 2).then_some("--starttime");
        collect(&steps, &site, moment, None, refuses).await;
    }

    let once = lake(&folder.path().join("once"));
    collect(&once, &site, MOMENTS[MOMENTS.len() - 1], Some(5), None).await;

    let (steps, once) = (jobs(&steps).await, jobs(&once).await);
    assert!(once.len() > 900, "{} jobs are too few to tell", once.len());
    let lost: Vec<&String> = once.iter().filter(|job| !steps.contains(job)).collect();
    assert_eq!(lost, Vec::<&String>::new());
    assert_eq!(steps.len(), once.len());
}

#[tokio::test]
async fn a_pool_collected_in_small_steps_is_the_same_though_access_points_fail() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let steps = lake(&folder.path().join("steps"));
    for (number, moment) in MOMENTS.iter().enumerate() {
        let refuses = match number {
            1 | 6 => Some("-name ap2001"),
            2 | 7 => Some("condor_q -name ap2002"),
            3 | 8 => Some("condor_history -name ap2002"),
            _ => None,
        };
        let (_, failures) =
            collect_from(&steps, &site, &pool(), moment, None, refuses, usize::MAX).await;
        assert_eq!(failures.is_empty(), refuses.is_none(), "{failures:?}");
        let named = |failure: &String| failure.starts_with("tamarack: ap200");
        assert!(failures.iter().all(named), "{failures:?}");
    }
    let once = lake(&folder.path().join("once"));
    let last = MOMENTS[MOMENTS.len() - 1];
    collect_from(&once, &site, &pool(), last, Some(5), None, 0).await;

    let known = |truth: &&TrueAttempt| {
        truth.cluster == Site::condor_pool() && truth.start.is_some_and(|start| start <= time(last))
    };
    let expected = site.truth().attempts.iter().filter(known).count();
    let (steps, once) = (jobs(&steps).await, jobs(&once).await);
    assert_eq!(once.len(), expected);
    assert!(expected > 300, "{expected} executions are too few to tell");
    let differ: Vec<_> = once.iter().zip(&steps).filter(|(one, other)| one != other).collect();
    assert_eq!(differ, []);
    assert_eq!(steps.len(), once.len());
}

#[tokio::test]
async fn a_day_that_is_over_is_kept_as_spans() {
    let site = site();
    for cluster in [cluster(), pool()] {
        let folder = tempfile::tempdir().unwrap();
        let lake = lake(folder.path());
        for moment in &MOMENTS[..5] {
            collect_from(&lake, &site, &cluster, moment, None, None, 0).await;
        }
        // Three looks on the first, two on the second, which is not over.
        let looks = |times: Vec<Timestamp>| times.into_iter().collect::<HashSet<_>>().len();
        let samples = rows::<GpuSample>(&lake).await;
        assert_eq!(looks(samples.iter().map(|sample| sample.time).collect()), 2);
        let spans = rows::<GpuSpan>(&lake).await;
        let gpus: HashSet<_> = spans.iter().map(|span| (&span.machine, &span.gpu_id)).collect();
        assert!(gpus.len() > 8, "{} GPUs are too few to tell", gpus.len());
        for moment in &MOMENTS[..3] {
            let holds = |span: &&GpuSpan| (span.start_time..span.end_time).contains(&time(moment));
            assert_eq!(spans.iter().filter(holds).count(), gpus.len(), "{moment}");
        }
        // Some are held, by jobs that the accounts know.
        let jobs: HashSet<Text> =
            rows::<Job>(&lake).await.into_iter().map(|job| job.job_id).collect();
        let held: Vec<&Text> =
            spans.iter().filter_map(|span| span.primary_job_id.as_ref()).collect();
        assert!(!held.is_empty());
        assert!(held.iter().all(|id| jobs.contains(*id)), "{held:?}");
    }
}

#[tokio::test]
async fn what_is_over_is_not_asked_about_again_and_what_did_not_change_is_not_written() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let whole_day =
        |day: &str, words: &str| words.contains(&format!("--starttime=2026-03-{day}T00:00:00"));
    let first = collect(&lake, &site, "2026-03-05T06:00:00Z", None, None).await;
    assert_eq!(first.len(), 2, "yesterday and today: {first:?}");
    assert!(first.iter().any(|words| whole_day("04", words)), "{first:?}");

    let bytes = processed(folder.path(), &["collection", "node_span", "queue_span"]);
    // At the same moment again: jobs that run say each time how long they did.
    let second = collect(&lake, &site, "2026-03-05T06:00:00Z", None, None).await;
    assert_eq!(second.len(), 1, "{second:?}");
    assert!(second[0].contains("--starttime=2026-03-05T05:00:00"), "{second:?}");
    assert!(processed(folder.path(), &["collection", "node_span", "queue_span"]) == bytes);
}

#[tokio::test]
async fn a_scheduler_that_fails_is_asked_again_and_then_left_alone() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let at = "2026-03-02T12:00:00Z";
    // Twice is once for each of two days; then both answer.
    let refuses = Some("--starttime");
    let (asked, failures) = collect_from(&lake, &site, &cluster(), at, None, refuses, 2).await;
    assert_eq!((asked.len(), failures), (4, Vec::new()));
    let before = jobs(&lake).await;
    assert!(!before.is_empty());

    let at = "2026-03-02T12:30:00Z";
    let (asked, failures) = collect_from(&lake, &site, &cluster(), at, None, refuses, 99).await;
    assert_eq!(asked.len(), 3, "the one window of today, three times: {asked:?}");
    assert_eq!(failures, ["alder: sacct failed with exit status: 1: the database is away"]);
    // Half an answer counts for nothing.
    assert_eq!(rows::<Reject>(&lake).await, []);
}

#[tokio::test]
async fn the_tables_follow_from_the_archive_to_the_byte() {
    let site = site();
    for (cluster, refuses) in [(cluster(), "--starttime"), (pool(), "-name ap2001")] {
        let folder = tempfile::tempdir().unwrap();
        let lake = lake(&folder.path().join("lake"));
        for (number, moment) in MOMENTS.iter().enumerate() {
            let refuses = (number % 4 == 2).then_some(refuses);
            collect_from(&lake, &site, &cluster, moment, None, refuses, usize::MAX).await;
        }
        assert!(!rows::<QueueSpan>(&lake).await.is_empty());
        assert!(!rows::<GpuSpan>(&lake).await.is_empty());
        let was = processed(lake.folder().unwrap(), &["collection"]);
        for from in [None, Some("2026-03-02"), Some("2026-03-05")] {
            let from: Option<Date> = from.map(|day| day.parse().unwrap());
            let derived = Lake::create(&folder.path().join(format!("from {from:?}"))).unwrap();
            reprocess::derive(&lake, &derived, &cluster, from).await.unwrap();
            let is_asked_for = |name: &str| {
                let day = name.split("date=").nth(1).unwrap()[..10].parse::<Date>().unwrap();
                from.is_none_or(|from| day >= from)
            };
            let files = |files: &[(String, Vec<u8>)]| -> Vec<(String, Vec<u8>)> {
                files.iter().filter(|(name, _)| is_asked_for(name)).cloned().collect()
            };
            let (is, was) =
                (files(&processed(derived.folder().unwrap(), &["collection"])), files(&was));
            let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
                files.iter().map(|(name, _)| name.clone()).collect()
            };
            assert_eq!(names(&is), names(&was), "{from:?}");
            for ((name, is), (_, was)) in is.iter().zip(&was) {
                assert!(is == was, "{name} differs from {from:?} on");
            }
        }
    }
}

/// A pool that answers by a function of the words of the question; None is a failure.
struct Told<F> {
    now: Timestamp,
    tell: F,
}

impl<F: Fn(&str) -> Option<Vec<u8>> + Send + Sync> Machine for Told<F> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let words = format!("{} {}", command.program, command.arguments.join(" "));
        match (self.tell)(&words) {
            Some(text) => {
                sink(&text);
                Ok(())
            }
            None => Err(Failure::TimeLimit {
                program: command.program.to_owned(),
                limit: command.time_limit,
            }),
        }
    }
}

/// Collects from such a pool.
async fn collect_told(
    lake: &Lake,
    at: &str,
    tell: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Summary {
    let machine: Arc<dyn Machine> = Arc::new(Told { now: time(at), tell });
    collect_once(lake, &pool(), &machine, time(at), 0, false).await
}

/// A file that a real pool printed.
fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/htcondor");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

/// What that pool would have printed at one of its snapshots. Its queues and histories are there of
/// the last.
fn real_pool(snapshot: &str, words: &str) -> Vec<u8> {
    let access_point = ["ap2001", "ap2002"].into_iter().find(|name| words.contains(name));
    let last = "2026-11-15T034635Z";
    match (words.split(' ').next().unwrap(), access_point) {
        ("condor_status", _) if words.contains("-any") => {
            fixture(&format!("{last}/status_schedd.json"))
        }
        ("condor_status", _) => fixture(&format!("{snapshot}/status_wide.json")),
        ("condor_q", Some(name)) if snapshot == last => fixture(&format!("{last}/q_{name}.json")),
        ("condor_history", Some(name)) if snapshot == last => {
            fixture(&format!("{last}/epochs_{name}.json"))
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn a_real_pool_is_collected_whole() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let mut snapshots: Vec<String> =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/htcondor"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("2026-"))
            .collect();
    snapshots.sort();
    assert_eq!(snapshots.len(), 18);
    let mut samples = Vec::new();
    for snapshot in snapshots {
        // `2026-11-15T034635Z`
        let (hour, minute, second) = (&snapshot[11..13], &snapshot[13..15], &snapshot[15..17]);
        let at = format!("2026-11-15T{hour}:{minute}:{second}Z");
        let parser = source::htcondor::CondorStatus::new("tamarack", time(&at));
        let seen = source::parse(parser, &fixture(&format!("{snapshot}/status_wide.json"))).records;
        let summary =
            collect_told(&lake, &at, move |words| Some(real_pool(&snapshot, words))).await;
        assert_eq!((summary.failures, summary.rejects), (Vec::new(), 0));
        let stored = rows::<GpuSample>(&lake).await;
        assert!(stored.iter().filter(|sample| sample.time == time(&at)).eq(&seen), "{at}");
        samples.extend(seen);
    }
    // 57 executions have an epoch, 17 others run; of the 25 jobs in the queues, 4 are idle and 4 held.
    let jobs = rows::<Job>(&lake).await;
    let (ended, running): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.is_complete);
    assert_eq!((ended.len(), running.len()), (57, 17));
    assert!(running.iter().all(|job| job.state == "RUNNING" && job.end_time.is_none()));
    // By the own ads of the GPUs (2026-11-15T031205Z/status.json) and the ids in the epochs. Of the five others
    // two held no GPU, and three a slice of one, which HTCondor does not name.
    let models = |types| ended.iter().filter(|job| job.gpu_types.as_deref() == types).count();
    assert_eq!(models(Some("NVIDIA A100-SXM4-80GB=1")), 19);
    assert_eq!(models(Some("NVIDIA H100 80GB HBM3=2")), 4);
    assert_eq!((models(Some("NVIDIA H200=1")), models(Some("NVIDIA L40=1"))), (2, 1));
    assert_eq!(models(None), 5);
    // The startd of gpusim1000 was switched off at 03:36:05 and on again at 03:39:07.
    let nodes = rows::<NodeSpan>(&lake).await;
    let names: HashSet<&str> = nodes.iter().map(|span| span.node.as_str()).collect();
    assert_eq!(names.len(), 8);
    let absent: Vec<String> = nodes
        .iter()
        .filter(|span| span.state == "Absent")
        .map(|span| {
            let shown = |time: Timestamp| time.strftime("%H:%M:%S").to_string();
            let (from, to) = (shown(span.start_time), shown(span.end_time));
            format!("{} {from} {to} {:?}", span.node, span.reason_time.map(shown))
        })
        .collect();
    assert_eq!(absent, [r#"gpusim1000.chtc.example.org 03:37:05 03:41:05 Some("03:35:05")"#]);
    let waiting = rows::<QueueSpan>(&lake).await;
    let in_state = |state: &str| waiting.iter().filter(|span| span.state == state).count();
    assert_eq!((waiting.len(), in_state("IDLE"), in_state("HELD")), (8, 4, 4));
    // Both access points have a job 4.0: the one was started four times, the other twice.
    let starts = |id: &str| jobs.iter().filter(|job| job.job_id == id).count();
    assert_eq!(starts("ap2001.chtc.example.org#4.0"), 4);
    assert_eq!(starts("ap2002.chtc.example.org#4.0"), 2);

    // Once the day is over it is spans, one for every sample at its moment.
    collect_told(&lake, "2026-11-16T00:00:00Z", |words| {
        Some(if words.contains("-any") {
            fixture("2026-11-15T034635Z/status_schedd.json")
        } else {
            Vec::new()
        })
    })
    .await;
    assert_eq!(rows::<GpuSample>(&lake).await, []);
    let spans = rows::<GpuSpan>(&lake).await;
    for sample in &samples {
        let holds = |span: &&GpuSpan| {
            (&span.machine, &span.gpu_id) == (&sample.machine, &sample.gpu_id)
                && (span.start_time..span.end_time).contains(&sample.time)
        };
        let holding: Vec<&GpuSpan> = spans.iter().filter(holds).collect();
        assert!(holding.len() == 1 && holding[0].has_state_of(sample), "{sample:?} {holding:?}");
    }
}

/// Ads of a queue or a history: executions of jobs by access point, job and number.
fn ads(executions: &[(&str, &str, i64)], more: &str) -> Vec<u8> {
    let ads: Vec<String> = executions
        .iter()
        .map(|(name, job, number)| {
            format!(
                r#"{{"GlobalJobId":"{name}#{job}#1772445600","QDate":1772445600,"JobStatus":2,"Owner":"ann",
                    "JobCurrentStartDate":1772445660,"ShadowBday":1772445660,"NumShadowStarts":{number},"RequestGPUs":1{more}}}"#
            )
        })
        .collect();
    format!("[{}]", ads.join(",")).into_bytes()
}

/// Answers of a pool of two access points, from queues and histories.
fn two_access_points(
    words: &str,
    queues: &[(&str, &str, i64)],
    histories: &[(&str, &str, i64)],
) -> Vec<u8> {
    let mine = |executions: &[(&str, &str, i64)], more: &str| {
        let mine: Vec<_> = executions
            .iter()
            .filter(|(name, ..)| words.contains(&format!("-name {name} ")))
            .copied()
            .collect();
        ads(&mine, more)
    };
    match words.split(' ').next().unwrap() {
        "condor_q" => mine(queues, ""),
        "condor_history" => mine(histories, r#","EpochWriteDate":1772446200"#),
        _ if words.contains("-any") => br#"[{"Name":"ap1"},{"Name":"ap2"}]"#.to_vec(),
        _ => Vec::new(),
    }
}

/// The executions in the lake, each with its state and whether it is over.
async fn executions(lake: &Lake) -> Vec<String> {
    let mut executions: Vec<String> = rows::<Job>(lake)
        .await
        .iter()
        .map(|job| {
            let over = if job.is_complete { "over" } else { "open" };
            format!(
                "{} {} {over} {}",
                job.job_id,
                job.attempt,
                job.end_reason.as_deref().unwrap_or("-")
            )
        })
        .collect();
    executions.sort();
    executions
}

#[tokio::test]
async fn an_execution_of_which_nobody_tells_any_more_is_closed_once_both_have_answered() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    // The same number at both.
    let running = [("ap1", "1.0", 1), ("ap2", "1.0", 1)];
    collect_told(&lake, "2026-03-02T10:05:00Z", move |words| {
        Some(two_access_points(words, &running, &[]))
    })
    .await;
    assert_eq!(executions(&lake).await, ["ap1#1.0 1 open -", "ap2#1.0 1 open -"]);

    // The one's queue is empty and its history fails; the other's history has the end.
    let summary = collect_told(&lake, "2026-03-02T10:10:00Z", |words| {
        let is_away = words.contains("condor_history -name ap1 ");
        (!is_away).then(|| two_access_points(words, &[], &[("ap2", "1.0", 1)]))
    })
    .await;
    assert_eq!(
        summary.failures,
        ["tamarack: ap1: condor_history did not end within 300 s and was stopped"]
    );
    let known = executions(&lake).await;
    assert_eq!(known[0], "ap1#1.0 1 open -");
    assert!(known[1].starts_with("ap2#1.0 1 over "), "{known:?}");

    // Now its history answers and does not know it either.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    collect_told(&lake, "2026-03-02T10:15:00Z", move |words| {
        if words.starts_with("condor_history") {
            heard.lock().unwrap().push(words.to_owned());
        }
        Some(two_access_points(words, &[], &[]))
    })
    .await;
    assert_eq!(executions(&lake).await[0], "ap1#1.0 1 over no longer in the scheduler's accounts");
    // Each was asked from an hour before it was last heard of: 09:05 and 09:10.
    let mut asked = asked.lock().unwrap().clone();
    asked.sort();
    let since = |at: &str| format!("EpochWriteDate >= {}", time(at).as_second());
    assert!(
        asked[0].contains("ap1") && asked[0].contains(&since("2026-03-02T09:05:00Z")),
        "{asked:?}"
    );
    assert!(
        asked[1].contains("ap2") && asked[1].contains(&since("2026-03-02T09:10:00Z")),
        "{asked:?}"
    );
}

#[tokio::test]
async fn what_waits_at_an_access_point_that_fails_neither_ends_nor_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    // The same job waits at both; at 12:05 the one does not answer.
    for (at, away) in [("12:00", ""), ("12:05", "condor_q -name ap1 "), ("12:20", "")] {
        collect_told(&lake, &format!("2026-03-02T{at}:00Z"), move |words| {
            let is_away = !away.is_empty() && words.contains(away);
            let waiting = |name| {
                let ad = format!(
                    r#"[{{"GlobalJobId":"{name}#7.0#1772445600","QDate":1772445600,"JobStatus":1,"RequestGPUs":1}}]"#
                );
                Some(ad.into_bytes())
            };
            match words {
                _ if is_away => None,
                _ if words.contains("condor_q -name ap1 ") => waiting("ap1"),
                _ if words.contains("condor_q -name ap2 ") => waiting("ap2"),
                _ => Some(two_access_points(words, &[], &[])),
            }
        })
        .await;
    }
    let mut spans: Vec<String> = rows::<QueueSpan>(&lake)
        .await
        .iter()
        .map(|span| {
            let shown = |time: Timestamp| time.strftime("%H:%M").to_string();
            format!("{} {}..{}", span.job_id, shown(span.start_time), shown(span.end_time))
        })
        .collect();
    spans.sort();
    // A look holds for ten minutes.
    assert_eq!(
        spans,
        [
            "ap1#7.0 12:00..12:10",
            "ap1#7.0 12:20..12:30",
            "ap2#7.0 12:00..12:15",
            "ap2#7.0 12:20..12:30",
        ]
    );
}

#[tokio::test]
async fn an_access_point_that_is_not_listed_is_asked_for_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    collect_told(&lake, "2026-03-02T10:00:00Z", |words| Some(two_access_points(words, &[], &[])))
        .await;
    for (at, expected) in [("2026-03-02T10:05:00Z", 2), ("2026-03-03T10:00:01Z", 0)] {
        let summary = collect_told(&lake, at, |words| match words {
            _ if words.contains("-any") => Some(br#"[{"Name":"ap1"}]"#.to_vec()),
            _ if words.contains("-name ap2 ") => None,
            _ => Some(Vec::new()),
        })
        .await;
        assert_eq!(summary.failures.len(), expected, "{:?}", summary.failures);
        // A day of which one did not tell is not known.
        let tracker = lake.tracker("tamarack").await.unwrap();
        let collected = tracker.days.values().map(|facts| facts.collected_time).max();
        assert_eq!(collected == Some(time(at)), expected == 0, "{collected:?}");
    }
}

#[tokio::test]
async fn a_machine_that_left_the_pool_is_out_of_service_for_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let slot = |machine: &str| {
        format!(
            r#"{{"Name":"slot1@{machine}","SlotType":"Partitionable","State":"Unclaimed","TotalCpus":8.0,"TotalSlotCpus":8,"Cpus":8}}"#
        )
    };
    for (at, machines) in [
        ("2026-03-02T10:00:00Z", &["a", "b"][..]),
        ("2026-03-02T10:05:00Z", &["a"]),
        ("2026-03-02T10:10:00Z", &["a"]),
        // A collector that was just restarted knows no machine yet.
        ("2026-03-02T10:15:00Z", &[]),
        ("2026-03-03T10:00:00Z", &["a"]),
        ("2026-03-03T10:00:01Z", &["a"]),
    ] {
        let slots: Vec<String> = machines.iter().map(|machine| slot(machine)).collect();
        let slots = format!("[{}]", slots.join(",")).into_bytes();
        collect_told(&lake, at, move |words| {
            Some(if words.starts_with("condor_status -json") { slots.clone() } else { Vec::new() })
        })
        .await;
    }
    let mut spans: Vec<String> = rows::<NodeSpan>(&lake)
        .await
        .iter()
        .filter(|span| span.node == "b")
        .map(|span| {
            let shown = |time: Timestamp| time.strftime("%d %H:%M:%S").to_string();
            let (from, to) = (shown(span.start_time), shown(span.end_time));
            format!("{} {from}..{to} {:?}/{:?}", span.state, span.alloc_cpus, span.cpus)
        })
        .collect();
    spans.sort();
    // A snapshot is valid for ten minutes.
    assert_eq!(
        spans,
        [
            "Absent 02 10:05:00..02 10:20:00 None/Some(8)",
            "Absent 03 10:00:00..03 10:00:01 None/Some(8)",
            "Unclaimed 02 10:00:00..02 10:05:00 Some(0)/Some(8)",
        ]
    );
}

#[test]
fn an_execution_has_the_models_of_its_gpus() {
    let models: lake::GpuModels = [
        ("a", &[("GPU-1", "NVIDIA L40"), ("GPU-2", "NVIDIA H200"), ("GPU-3", "NVIDIA L40")][..]),
        ("b", &[("CUDA0", "NVIDIA L40"), ("CUDA1", "NVIDIA L40")]),
    ]
    .into_iter()
    .map(|(machine, gpus)| {
        let gpus = gpus.iter().map(|(id, model)| ((*id).to_owned(), (*model).to_owned()));
        (machine.to_owned(), gpus.collect())
    })
    .collect();
    let parser = source::htcondor::CondorHistory::new("pool", time("2026-03-02T10:00:00Z"));
    let ad = br#"[{"GlobalJobId":"ap1#1.0#1000","QDate":1000,"NumShadowStarts":1}]"#;
    let mut job = source::parse(parser, ad).records.remove(0);
    let mut of = |machine: &str, ids: Option<&str>, gpus: i64| {
        job.node_list = Some(machine.into());
        (job.gpu_ids, job.alloc_gpus, job.gpu_types) = (ids.map(Into::into), Some(gpus), None);
        htcondor::set_gpu_types(&mut job, &models);
        job.gpu_types.clone().map(String::from)
    };
    assert_eq!(of("a", Some("GPU-1,GPU-2"), 2).as_deref(), Some("NVIDIA H200=1,NVIDIA L40=1"));
    assert_eq!(of("a", Some("GPU-1,GPU-3"), 2).as_deref(), Some("NVIDIA L40=2"));
    // The second GPU is not known.
    assert_eq!(of("a", Some("GPU-1,GPU-9"), 2), None);
    // Without ids a machine with one model tells it.
    assert_eq!(of("b", None, 2).as_deref(), Some("NVIDIA L40=2"));
    assert_eq!((of("a", None, 2), of("b", None, 0), of("c", None, 1)), (None, None, None));
}

#[tokio::test]
async fn a_gpu_without_a_model_is_asked_for_by_name_for_as_long_as_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    // Two GPUs of a machine with two models: the slot names neither.
    let slots = |words: &str, gpus: &[&str]| -> Vec<u8> {
        if !words.starts_with("condor_status -json") {
            return Vec::new();
        }
        let models: String = gpus
            .iter()
            .filter(|gpu| words.contains(&format!(",GPUs_{}", gpu.replace('-', "_"))))
            .map(|gpu| {
                format!(
                    r#","GPUs_{}":{{"Id":"{gpu}","DeviceName":"NVIDIA L40"}}"#,
                    gpu.replace('-', "_")
                )
            })
            .collect();
        format!(
            r#"[{{"Name":"slot1@a","SlotType":"Partitionable","State":"Unclaimed","AssignedGPUs":"{}"{models}}}]"#,
            gpus.join(",")
        )
        .into_bytes()
    };
    let both: &[&str] = &["GPU-aaaaaaaa", "GPU-bbbbbbbb"];
    let looks =
        [("10:00", both, 0), ("10:05", both, 2), ("10:10", both, 2), ("10:15", &both[..1], 1)];
    for (at, gpus, named) in looks {
        let at = format!("2026-03-02T{at}:00Z");
        collect_told(&lake, &at, move |words| Some(slots(words, gpus))).await;
        let samples = rows::<GpuSample>(&lake).await;
        let now = samples.iter().filter(|sample| sample.time == time(&at));
        assert_eq!(now.filter(|sample| sample.device_name.is_some()).count(), named, "{at}");
    }
    let tracker = lake.tracker("tamarack").await.unwrap();
    assert_eq!(tracker.nameless_gpus.into_iter().collect::<Vec<_>>(), ["GPU-aaaaaaaa"]);
}

#[tokio::test]
async fn who_holds_gpus_is_not_asked_where_there_are_none() {
    for (gres, expected) in [("(null)", 0), ("gpu:a100:2(S:0)", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let lake = lake(folder.path());
        let asked = Arc::new(Mutex::new(0));
        let count = asked.clone();
        let machine: Arc<dyn Machine> = Arc::new(Told {
            now: time("2026-03-02T10:00:00Z"),
            tell: move |words: &str| {
                *count.lock().unwrap() += usize::from(words.ends_with("show job"));
                let nodes = format!("NodeName=g1 CPUTot=8 Gres={gres} State=IDLE Partitions=gpu\n");
                Some(match words {
                    _ if words.ends_with("show node") => nodes.into_bytes(),
                    _ if words.ends_with("show job") => b"No jobs in the system\n".to_vec(),
                    _ if words.contains("--helpformat") => b"JobID JobIDRaw Submit State".to_vec(),
                    _ => Vec::new(),
                })
            },
        });
        let at = time("2026-03-02T10:00:00Z");
        let summary = collect_once(&lake, &cluster(), &machine, at, 0, false).await;
        assert_eq!(summary.failures, Vec::<String>::new());
        assert_eq!(*asked.lock().unwrap(), expected, "{gres}");
        assert_eq!(rows::<GpuSample>(&lake).await.len(), 2 * expected);
    }
}

/// The files of the tables, but for some, with their bytes.
fn processed(root: &Path, but: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("processed")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !but.iter().any(|name| path.ends_with(name)) {
                    folders.push(path);
                }
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// A changed configuration applies from the next collection on; what applied before stays.
#[tokio::test]
async fn a_policy_is_stored_when_it_changes_and_the_earlier_one_stays() {
    let backfill = |partitions: &[&str]| Judgement {
        preemptible: vec![Preemptible {
            cluster: Site::slurm_cluster().to_owned(),
            partitions: partitions.iter().map(|name| (*name).to_owned()).collect(),
            qos: Vec::new(),
        }],
        ..Judgement::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(folder.path()).unwrap();
    for (at, policy) in [
        // Without any rule there is nothing to store.
        ("2026-03-01T00:00:00Z", Judgement::default()),
        ("2026-03-02T00:00:00Z", backfill(&["scavenge"])),
        ("2026-03-02T00:05:00Z", backfill(&["scavenge"])),
        ("2026-03-03T00:00:00Z", backfill(&["scavenge", "short"])),
        // A configuration that says nothing of it replaces nothing.
        ("2026-03-04T00:00:00Z", Judgement::default()),
    ] {
        let mut collector = Collector::open(&lake, &cluster(), time(at)).await.unwrap();
        collector.store_policy(&policy).await.unwrap();
        collector.finish().await.unwrap();
    }
    let stored: Vec<String> = rows::<SitePolicy>(&lake)
        .await
        .iter()
        .map(|row| format!("{} {}", row.valid_from, row.pattern.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        stored,
        [
            "2026-03-02T00:00:00Z -",
            "2026-03-02T00:00:00Z scavenge",
            "2026-03-03T00:00:00Z -",
            "2026-03-03T00:00:00Z scavenge",
            "2026-03-03T00:00:00Z short",
        ]
    );
}

/// The answers of a time are judged by the policy of that time, whatever the configuration says today.
#[tokio::test]
async fn reprocess_after_a_change_of_the_configuration_leaves_earlier_gpu_states() {
    let site = site();
    let backfill = |partitions: &[&str]| -> Vec<String> {
        partitions.iter().map(|name| (*name).to_owned()).collect()
    };
    let configured = |partitions: &[&str]| Cluster {
        backfill: Backfill { partitions: backfill(partitions), qos: Vec::new() },
        ..cluster()
    };
    let policy = |partitions: &[&str]| {
        let place = Preemptible {
            cluster: cluster().name,
            partitions: backfill(partitions),
            qos: Vec::new(),
        };
        Judgement { preemptible: vec![place], ..Judgement::default() }
    };
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(&folder.path().join("lake"));
    for (moment, partitions) in [
        ("2026-03-02T12:00:00Z", ["gpu"]),
        ("2026-03-02T12:10:00Z", ["gpu"]),
        ("2026-03-03T12:00:00Z", ["preempt"]),
        ("2026-03-03T12:10:00Z", ["preempt"]),
    ] {
        let cluster = configured(&partitions);
        let at = time(moment);
        let machine: Arc<dyn Machine> =
            Arc::new(Simulated { site: site.clone(), cluster: cluster.name.clone(), now: at });
        let mut collector = Collector::open(&lake, &cluster, at).await.unwrap();
        collector.store_policy(&policy(&partitions)).await.unwrap();
        collector.moments(&[machine], &ProgressBar::hidden()).await.unwrap();
        collector.finish().await.unwrap();
    }
    let states = async |lake: &Lake| (rows::<GpuSpan>(lake).await, rows::<GpuSample>(lake).await);
    let was = states(&lake).await;
    // Jobs of the partition gpu are backfill on the first day, and primary on the second.
    let (spans, samples) = &was;
    assert!(spans.iter().any(|span| span.backfill_user.is_some()), "{spans:?}");
    assert!(spans.iter().all(|span| span.primary_user.is_none()), "{spans:?}");
    assert!(samples.iter().any(|sample| sample.primary_user.is_some()), "{samples:?}");
    for (number, today) in
        [configured(&["gpu"]), configured(&["none"]), cluster()].iter().enumerate()
    {
        let derived = Lake::create(&folder.path().join(number.to_string())).unwrap();
        reprocess::derive(&lake, &derived, today, None).await.unwrap();
        assert_eq!(states(&derived).await, was);
    }
    // Without a stored policy the configuration applies.
    std::fs::remove_dir_all(lake.folder().unwrap().join("processed/site_policy")).unwrap();
    let derived = Lake::create(&folder.path().join("none")).unwrap();
    reprocess::derive(&lake, &derived, &cluster(), None).await.unwrap();
    let (spans, samples) = states(&derived).await;
    assert!(spans.iter().any(|span| span.primary_user.is_some()));
    assert!(samples.iter().all(|sample| sample.backfill_user.is_none()));
}
