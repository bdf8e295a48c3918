//! Cycles on a clock that is ours.

use std::sync::Mutex;

use lake::Trackers;
use record::{Collection, Record};
use source::simulated::{Scale, Simulated, Site};
use source::slurm::Backfill;
use source::{Command, Failure};

use super::*;
use crate::config::Kind;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn cycles_keep_to_the_clock() {
    let cadence = Duration::from_secs(300);
    for (now, next) in [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"),
        ("2026-01-01T00:00:07Z", "2026-01-01T00:05:00Z"),
        ("2026-01-01T00:04:59.5Z", "2026-01-01T00:05:00Z"),
    ] {
        assert_eq!(next_cycle(time(now), cadence), time(next), "{now}");
    }
}

/// A simulated cluster whose commands take time: one second each, and one of them more.
struct Slow {
    site: Arc<Site>,
    cluster: String,
    now: Mutex<Timestamp>,
    /// What is slow from one moment until another, and by how many seconds.
    slow: (&'static str, Timestamp, Timestamp, i64),
}

impl Machine for Slow {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let now = self.now();
        let (question, from, until, seconds) = self.slow;
        let words = format!("{} {}", command.program, command.arguments.join(" "));
        let is_slow = words.starts_with(question) && (from..until).contains(&now);
        let seconds = if is_slow { seconds } else { 1 };
        *self.now.lock().unwrap() += SignedDuration::from_secs(seconds);
        Simulated { site: self.site.clone(), cluster: self.cluster.clone(), now }.run(command, sink)
    }
}

/// Lets the clock go on at once, a number of times.
struct Turns {
    clock: Arc<Slow>,
    left: usize,
}

impl Pace for Turns {
    fn wait(&mut self, moment: Timestamp) -> BoxFuture<'_, bool> {
        *self.clock.now.lock().unwrap() = moment;
        self.left -= 1;
        std::future::ready(self.left > 0).boxed()
    }
}

/// The moments at which cycles of a cluster began to look, and what was said but for the summaries.
async fn check(
    cluster: (&str, Kind, u64),
    look: &str,
    slow: (&'static str, &str, &str, i64),
    turns: usize,
    expected: &[&str],
    said: &[&str],
) {
    let (name, kind, cadence) = cluster;
    let site = Arc::new(Site::new(&Scale {
        seed: 3,
        start: time("2026-03-01T00:00:00Z"),
        end: time("2026-03-02T00:00:00Z"),
        slurm_jobs_per_day: 100,
        slurm_nodes: 4,
        condor_machines: 2,
    }));
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(folder.path()).unwrap();
    let machine = Arc::new(Slow {
        site,
        cluster: name.to_owned(),
        now: Mutex::new(time("2026-03-01T12:03:20Z")),
        slow: (slow.0, time(slow.1), time(slow.2), slow.3),
    });
    let cluster = Cluster {
        name: name.to_owned(),
        kind,
        command_prefix: Vec::new(),
        time_limit: None,
        own_cadence: Some(Duration::from_secs(cadence)),
        slurm_cluster: None,
        backfill: Backfill::default(),
        job_history: None,
        simulation: None,
    };
    let wanted = Wanted { days: 0, refresh: false, parallel: 1 };
    let pace = Turns { clock: machine.clone(), left: turns };
    let mut heard = Vec::new();
    let say = |words: &str| {
        if !words.contains("collected ") {
            heard.push(words.to_owned());
        }
    };
    let order = Order { lake: lake.clone(), wanted, sinks: Arc::new([]), policy: Arc::default() };
    let round = Round { every: cluster.cadence(), cluster, machine };
    cycles(order, round, pace, say).await;
    let mut looks = Vec::new();
    for file in lake.files(&Collection::TABLE, &Trackers::new()).await.unwrap() {
        let rows = lake.read::<Collection>(name, &file.meta.location).await.unwrap();
        looks.extend(rows.into_iter().filter(|row| row.source == look));
    }
    let moments = looks.iter().map(|row| row.start_time.strftime("%H:%M:%S").to_string());
    assert_eq!(moments.collect::<Vec<_>>(), expected);
    assert_eq!(heard, said);
    // How long a look holds is twice the cadence of this very cluster.
    assert_eq!(lake.tracker(name).await.unwrap().hold_seconds, Some(2 * cadence as u32));
}

const NEVER: (&str, &str, &str, i64) = ("sleep", "2026-03-01T00:00:00Z", "2026-03-01T00:00:01Z", 0);

#[tokio::test]
async fn each_cluster_keeps_its_own_cadence_on_the_clock() {
    let pool = (Site::condor_pool(), Kind::Htcondor, 300);
    check(pool, "condor_status", NEVER, 3, &["12:03:20", "12:05:00", "12:10:00"], &[]).await;
    let slurm = (Site::slurm_cluster(), Kind::Slurm, 600);
    check(slurm, "scontrol", NEVER, 3, &["12:03:20", "12:10:00", "12:20:00"], &[]).await;
}

#[tokio::test]
async fn what_outlasts_its_cadence_leaves_moments_out_and_says_so_once() {
    let pool = (Site::condor_pool(), Kind::Htcondor, 300);
    // At 12:10 and 12:20 the slots take 400 s, the access points 1, and two queues and two
    // histories 4 more: until 12:16:45 and 12:26:45. At 12:30 all is well again.
    let slow = ("condor_status -json", "2026-03-01T12:10:00Z", "2026-03-01T12:20:01Z", 400);
    check(
        pool,
        "condor_status",
        slow,
        6,
        &["12:03:20", "12:05:00", "12:10:00", "12:20:00", "12:30:00", "12:35:00"],
        &["tamarack: collecting took 405 s, longer than its cadence of 300 s; what should have \
           begun meanwhile is left out"],
    )
    .await;
}
