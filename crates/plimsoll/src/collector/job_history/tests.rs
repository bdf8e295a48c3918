//! A pool with one access point, and a server that is told of its executions too.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use lake::{Lake, Trackers};
use record::{Job, Record};
use source::slurm::Backfill;
use source::{Command, Failure, Method, Request, Response};

use super::*;
use crate::collector::Summary;
use crate::command::reprocess;
use crate::config::{Cluster, Kind, Login};

/// When the executions ended: 2026-03-02T10:00:00Z and a minute each later.
const ENDED: i64 = 1_772_445_600;

/// An execution of job 1.N that ended N minutes after [`ENDED`].
fn ad(number: i64) -> String {
    format!(
        r#"{{"GlobalJobId":"ap1#1.{number}#1772440000","QDate":1772440000,"JobStatus":2,"Owner":"ann","ExitCode":0,
            "JobCurrentStartDate":1772445000,"NumShadowStarts":1,"EpochWriteDate":{}}}"#,
        ENDED + 60 * number
    )
    .replace('\n', "")
}

/// The access point tells of some executions, the server of others.
struct Pool {
    now: Timestamp,
    of_access_point: Vec<i64>,
    of_server: Vec<i64>,
    /// With what status the server answers.
    status: u16,
    /// From when on the server was asked about executions.
    asked: Mutex<Vec<Timestamp>>,
}

impl Machine for Pool {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let text = match command.program {
            "condor_status" if command.arguments[0] == "-any" => r#"[{"Name":"ap1"}]"#.to_owned(),
            "condor_history" => {
                let ads: Vec<String> =
                    self.of_access_point.iter().map(|&number| ad(number)).collect();
                format!("[{}]", ads.join(","))
            }
            _ => String::new(),
        };
        sink(text.as_bytes());
        Ok(())
    }

    fn request(&self, request: &Request) -> Result<Response, Failure> {
        let field = |name: &str, kind: &str| {
            format!(r#""{name}":{{"{kind}":{{"searchable":true,"aggregatable":true}}}}"#)
        };
        let path = request.url.strip_prefix("https://search.example.org").unwrap();
        let body = match (request.method, path) {
            (Method::Get, "/") => r#"{"version":{"number":"7.9.0"}}"#.to_owned(),
            (Method::Get, _) => format!(
                r#"{{"indices":["i"],"fields":{{{},{}}}}}"#,
                field("EpochWriteDate", "date"),
                field("GlobalJobId", "keyword")
            ),
            (Method::Post, "/i/_search?scroll=5m") => {
                let body: serde_json::Value =
                    serde_json::from_str(request.body.as_ref().unwrap().text()).unwrap();
                let range = &body["query"]["bool"]["filter"][0]["range"]["EpochWriteDate"];
                let (from, until) = (range["gte"].as_i64().unwrap(), range["lt"].as_i64().unwrap());
                self.asked.lock().unwrap().push(Timestamp::from_millisecond(from).unwrap());
                let hits: Vec<String> = self
                    .of_server
                    .iter()
                    .map(|number| (number, 1000 * (ENDED + 60 * number)))
                    .filter(|(_, time)| (from..until).contains(time))
                    .map(|(number, time)| {
                        format!(r#"{{"_source":{},"sort":[{time}]}}"#, ad(*number))
                    })
                    .collect();
                format!(
                    r#"{{"timed_out":false,"_shards":{{"failed":0}},"hits":{{"total":{{"value":{}}},"hits":[{}]}}}}"#,
                    hits.len(),
                    hits.join(",")
                )
            }
            _ => "{}".to_owned(),
        };
        Ok(Response { status: self.status, body: body.into_bytes() })
    }
}

fn cluster() -> Cluster {
    Cluster {
        name: "birch".to_owned(),
        kind: Kind::Htcondor,
        command_prefix: Vec::new(),
        time_limit: None,
        own_cadence: None,
        slurm_cluster: None,
        backfill: Backfill::default(),
        simulation: None,
        job_history: Some(SearchServer {
            url: "https://search.example.org".to_owned(),
            index: "i".to_owned(),
            login: Login::Nobody,
            ca_file: None,
        }),
    }
}

/// Collects at a time of 2026-03-02; gives what was done, and the times from which the server was
/// asked.
async fn collect(
    lake: &Lake,
    at: &str,
    of_access_point: &[i64],
    of_server: &[i64],
    status: u16,
) -> (Summary, Vec<String>) {
    let pool = Arc::new(Pool {
        now: format!("2026-03-02T{at}:00Z").parse().unwrap(),
        of_access_point: of_access_point.to_vec(),
        of_server: of_server.to_vec(),
        status,
        asked: Mutex::default(),
    });
    let machine: Arc<dyn Machine> = pool.clone();
    let mut collector = Collector::open(lake, &cluster(), machine.now()).await.unwrap();
    let progress = ProgressBar::hidden();
    collector.moments(std::slice::from_ref(&machine), &progress).await.unwrap();
    let wanted = Wanted { days: 1, refresh: false, parallel: 1 };
    collector.jobs(&machine, wanted, &progress).await.unwrap();
    let summary = collector.finish().await.unwrap();
    let asked = pool.asked.lock().unwrap().iter().map(Timestamp::to_string).collect();
    (summary, asked)
}

fn lake(folder: &Path) -> Lake {
    Lake::create(folder).unwrap()
}

async fn rows(lake: &Lake) -> Vec<Job> {
    let mut rows = Vec::new();
    for file in lake.files(&Job::TABLE, &Trackers::new()).await.unwrap() {
        rows.extend(lake.read::<Job>("birch", &file.meta.location).await.unwrap());
    }
    rows.sort_by(|one, other| one.compare_key(other));
    rows
}

/// Each execution, and who told of it.
async fn told(lake: &Lake) -> Vec<String> {
    rows(lake).await.iter().map(|job| format!("{} {}", job.job_id, job.source)).collect()
}

#[tokio::test]
async fn what_both_tell_of_counts_once_and_is_the_access_points() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let (summary, asked) = collect(&lake, "11:00", &[1, 2], &[2, 3], 200).await;
    assert_eq!(summary.failures, Vec::<String>::new());
    assert_eq!(
        told(&lake).await,
        ["ap1#1.1 condor_history", "ap1#1.2 condor_history", "ap1#1.3 elasticsearch"]
    );
    assert_eq!(asked, ["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"]);

    // The access point no longer has them; nothing changes, and only what may have come is asked.
    let (summary, asked) = collect(&lake, "11:05", &[], &[2, 3], 200).await;
    assert_eq!((summary.change.added, summary.change.changed), (0, 0));
    assert_eq!(asked, ["2026-03-02T09:00:00Z"]);

    // The access point, asked later, knows better.
    collect(&lake, "11:10", &[3], &[2, 3], 200).await;
    assert_eq!(
        told(&lake).await,
        ["ap1#1.1 condor_history", "ap1#1.2 condor_history", "ap1#1.3 condor_history"]
    );
}

#[tokio::test]
async fn a_server_that_refuses_is_told_and_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let (summary, asked) = collect(&lake, "11:00", &[1], &[1, 2], 401).await;
    assert_eq!(
        summary.failures,
        ["birch: https://search.example.org wants to know who asks: name a user and a \
          password_file, or an api_key_file, in the configuration"]
    );
    assert_eq!((told(&lake).await, asked), (vec!["ap1#1.1 condor_history".to_owned()], vec![]));
    let (summary, asked) = collect(&lake, "11:05", &[1], &[1, 2], 200).await;
    assert_eq!(summary.failures, Vec::<String>::new());
    assert_eq!(told(&lake).await, ["ap1#1.1 condor_history", "ap1#1.2 elasticsearch"]);
    assert_eq!(asked, ["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"]);
}

#[tokio::test]
async fn the_jobs_follow_from_the_archive() {
    let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let lake_of_site = lake(folder.path());
    collect(&lake_of_site, "11:00", &[1, 2], &[2, 3], 200).await;
    collect(&lake_of_site, "11:05", &[4], &[2, 3, 4, 5], 503).await;
    collect(&lake_of_site, "11:10", &[], &[2, 3, 4, 5], 200).await;
    let derived = lake(aside.path());
    reprocess::derive(&lake_of_site, &derived, &cluster(), None).await.unwrap();
    assert_eq!(rows(&lake_of_site).await.len(), 5);
    assert_eq!(rows(&derived).await, rows(&lake_of_site).await);
}
