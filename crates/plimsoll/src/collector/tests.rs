//! A simulated cluster, collected from at many moments: nothing is lost, nothing asked for in vain.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use lake::Trackers;
use record::{QueueSpan, Record};
use source::Failure;
use source::simulated::{Scale, Simulated, Site};

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
        condor_machines: 1,
    }))
}

fn cluster() -> Cluster {
    Cluster {
        name: Site::slurm_cluster().to_owned(),
        kind: Kind::Slurm,
        command_prefix: Vec::new(),
        cadence: Duration::from_secs(300),
        slurm_cluster: None,
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
    collect_from(lake, site, at, days, refuses, usize::MAX).await.0
}

/// The same from a cluster that refuses some times; gives also what failed for good.
async fn collect_from(
    lake: &Lake,
    site: &Arc<Site>,
    at: &str,
    days: Option<u16>,
    refuses: Option<&'static str>,
    times: usize,
) -> (Vec<String>, Vec<String>) {
    let watched = Arc::new(Watched {
        machine: Simulated {
            site: site.clone(),
            cluster: Site::slurm_cluster().to_owned(),
            now: time(at),
        },
        asked: Mutex::default(),
        refuses,
        times,
    });
    let machine: Arc<dyn Machine> = watched.clone();
    let mut collector = Collector::open(lake, &cluster(), time(at)).await.unwrap();
    let windows = collector.plan(time(at), days.unwrap_or(1), days.is_some()).unwrap();
    let progress = ProgressBar::hidden();
    collector.moments(std::slice::from_ref(&machine), &progress).await.unwrap();
    collector.jobs(&machine, &windows, 3, &progress).await.unwrap();
    let summary = collector.finish().unwrap();
    let asked = watched.asked.lock().unwrap();
    let about_jobs = asked.iter().filter(|words| words.contains("--starttime")).cloned().collect();
    (about_jobs, summary.failures)
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
    let (asked, failures) = collect_from(&lake, &site, at, None, Some("--starttime"), 2).await;
    assert_eq!((asked.len(), failures), (4, Vec::new()));
    let before = jobs(&lake).await;
    assert!(!before.is_empty());

    let (asked, failures) =
        collect_from(&lake, &site, "2026-03-02T12:30:00Z", None, Some("--starttime"), 99).await;
    assert_eq!(asked.len(), 3, "the one window of today, three times: {asked:?}");
    assert_eq!(failures, ["alder: sacct failed with exit status: 1: the database is away"]);
    // Half an answer counts for nothing.
    assert_eq!(rows::<Reject>(&lake).await, []);
}

#[tokio::test]
async fn the_tables_follow_from_the_archive_to_the_byte() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(&folder.path().join("lake"));
    for (number, moment) in MOMENTS.iter().enumerate() {
        let refuses = (number % 4 == 2).then_some("--starttime");
        collect(&lake, &site, moment, None, refuses).await;
    }
    assert!(!rows::<QueueSpan>(&lake).await.is_empty());
    let derived = Lake::create(&folder.path().join("derived")).unwrap();
    let archived = lake.archived(Site::slurm_cluster()).await.unwrap();
    reprocess::replay(&lake, &derived, &cluster(), archived).await.unwrap();
    let was = processed(lake.root(), &["collection"]);
    let is = processed(derived.root(), &["collection"]);
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&is), names(&was));
    for ((name, is), (_, was)) in is.iter().zip(&was) {
        assert!(is == was, "{name} differs");
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
