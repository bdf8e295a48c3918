//! What reports say of GPUs is what happened: in a pool whose machines' own logs were kept, in a
//! simulated one that knows its truth to the second, and by the formulas of another program.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use query::{Judgement, Pattern, Question};
use record::{GpuSample, Text};
use report::{Period, Report, Value};
use source::htcondor::{CondorStatus, condor_status};
use source::simulated::{Scale, Simulated, Site};
use source::slurm::{Backfill, gpu_samples, scontrol_show_job, scontrol_show_node};
use source::{Machine, Parser};
use tempfile::TempDir;

use crate::real_pool;

/// A lake of one cluster's GPU samples.
struct Pool {
    lake: Lake,
    question: Question,
    folder: TempDir,
}

impl Pool {
    /// The first day is compacted, the rest is not.
    async fn new(cluster: &str, samples: &[GpuSample], hold: SignedDuration) -> Pool {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::create(&folder.path().join("data")).unwrap();
        let mut writer = lake.writer(cluster).await.unwrap();
        writer.set_hold(hold);
        writer.upsert(samples).await.unwrap();
        let first = samples.iter().map(|sample| sample.time).min().unwrap();
        let next_day = first + SignedDuration::from_hours(24);
        writer.compact_gpu_days(next_day, hold).await.unwrap();
        writer.finish().await.unwrap();
        let last = samples.iter().map(|sample| sample.time).max().unwrap();
        let period = Period { start: first, end: last, zone: TimeZone::UTC };
        Pool { lake, question: Question::about(period), folder }
    }

    async fn report(&self, name: &str) -> Report {
        query::run(&self.lake, query::analysis(name).unwrap(), &self.question).await.unwrap()
    }

    async fn sql(&self, sql: &str) -> Vec<Vec<Value>> {
        query::sql(&self.lake, sql, usize::MAX, &self.question).await.unwrap().table.rows
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Unknown => "-".to_owned(),
        other => panic!("{other:?}"),
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Integer(number) => *number as f64,
        other => panic!("{other:?}"),
    }
}

// The real pool.

/// For each GPU, side and user the hours that the users' own logs tell of, and ours, differ by no
/// more than the time between two looks for each start and each end.
#[tokio::test]
async fn a_real_pool_is_told_as_its_own_logs_tell() {
    let (times, samples) = real_pool::looks();
    assert_eq!((times.len(), samples.len()), (18, 536));
    let pool = Pool::new("chtc", &samples, SignedDuration::from_mins(10)).await;
    let looks: Vec<i64> = times.iter().map(|time| time.as_second()).collect();
    let (start, end) = (looks[0], looks[17]);

    type Held = (String, String, String, String);
    let mut truth: BTreeMap<Held, (f64, f64)> = BTreeMap::new();
    for attempt in real_pool::table("truth/attempts.csv") {
        let side = if attempt["slot_kind"] == "backfill" { "backfill" } else { "primary" };
        let from: i64 = attempt["start_unix"].parse().unwrap();
        let to: i64 = attempt["end_unix"].parse().unwrap_or(end);
        // The looks around an edge; one at the ends of the period has no doubt.
        let doubt = |edge: i64| {
            let next = looks.iter().position(|look| *look >= edge);
            match next {
                Some(next) if next > 0 => looks[next] - looks[next - 1],
                _ => 0,
            }
        };
        for gpu in attempt["gpus"].split(',').filter(|gpu| !gpu.is_empty()) {
            let held = (
                attempt["machine"].clone(),
                gpu.to_owned(),
                side.to_owned(),
                attempt["owner"].clone(),
            );
            let (seconds, doubts) = truth.entry(held).or_default();
            *seconds += (to.min(end) - from.max(start)).max(0) as f64;
            *doubts += (doubt(from) + doubt(to)) as f64;
        }
    }

    let rows = pool
        .sql(
            "SELECT machine, gpu_id,
                    CASE WHEN state = 'claimed' THEN 'primary' ELSE 'backfill' END AS side,
                    CASE WHEN state = 'claimed' THEN primary_user ELSE backfill_user END AS user,
                    sum(seconds) AS seconds
             FROM gpu_time
             WHERE state IN ('claimed', 'backfill')
             GROUP BY 1, 2, 3, 4
             ORDER BY 1, 2, 3, 4",
        )
        .await;
    let mut ours: BTreeMap<Held, f64> = rows
        .iter()
        .map(|row| ((text(&row[0]), text(&row[1]), text(&row[2]), text(&row[3])), number(&row[4])))
        .collect();
    let (mut compared, mut sum, mut true_sum) = (0, 0.0, 0.0);
    for (held, (seconds, doubt)) in &truth {
        let found = ours.remove(held).unwrap_or(0.0);
        // gpu2000 crashed and its jobs were given up; the collector showed its last ads on. The
        // startd of gpusim1000 was switched off, so that it was not seen for a while.
        let is_told_late = held.0.starts_with("gpu2000.") || held.0.starts_with("gpusim1000.");
        let doubt = doubt + if is_told_late { 300.0 } else { 0.0 };
        assert!(
            (found - seconds).abs() <= doubt,
            "{held:?}: {found} s, in truth {seconds} ± {doubt}"
        );
        compared += 1;
        sum += found;
        true_sum += seconds;
    }
    assert_eq!(ours, BTreeMap::new(), "held by nobody, in truth");
    assert_eq!(compared, 39, "GPUs, sides and users");
    // The first look saw none of the jobs that began in the two minutes before the second.
    assert!((0.9..1.0).contains(&(sum / true_sum)), "{sum} s of {true_sum} in all");

    // Whose machines they are: jones' backfill slots name no project, and follow their machine.
    let rows = pool
        .sql(
            "SELECT DISTINCT split_part(machine, '.', 1) AS host, primary_class, backfill_class
             FROM gpu_time
             WHERE backfill_class IS NOT NULL AND interactive IS NOT TRUE
             ORDER BY host, primary_class",
        )
        .await;
    let classes: Vec<String> =
        rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        classes,
        [
            "gpu4000 Shared Backfill-OpenCapacity",
            "gpu5000 Shared Backfill-OpenCapacity",
            "gpulab2000 Shared Backfill-OpenCapacity",
            "jonesgpu4000 Priority-ResearcherOwned Backfill-ResearcherOwned",
            "smithgpu4000 Priority-ResearcherOwned Backfill-ResearcherOwned",
        ]
    );
    check_parts(&pool, 30.0).await;
}

/// In every row of the primary side, the parts add up to the GPUs.
async fn check_parts(pool: &Pool, gpus: f64) {
    let report = pool.report("gpu-usage").await;
    let column =
        |name: &str| report.table.columns.iter().position(|column| column.name == name).unwrap();
    let parts = [
        "allocated",
        "backfill",
        "idle",
        "draining",
        "drained",
        "down",
        "maintenance",
        "rebooting",
        "prevented",
        "other",
        "unknown",
    ];
    for row in report.table.rows.iter().filter(|row| row[column("gpus")] != Value::Unknown) {
        // Rows of both sides together have backfill among what is allocated, and a dash for it.
        let sum: f64 = parts.iter().filter_map(|part| row[column(part)].number()).sum();
        if row[0] == Value::Text("All GPUs".into()) {
            assert_eq!(number(&row[column("gpus")]), gpus);
            assert!((sum - gpus).abs() < 1e-6, "{sum} of {gpus}");
        }
    }
}

// The simulated pool.

/// Two days of the simulated pool, looked at in steps, but not from 12 to 15 o'clock if there is a
/// gap.
fn looks(step: SignedDuration, with_gap: bool) -> (Arc<Site>, Vec<Timestamp>, Vec<GpuSample>) {
    let start: Timestamp = "2026-03-07T00:00:00Z".parse().unwrap();
    let end = start + SignedDuration::from_hours(48);
    let site = Arc::new(Site::new(&Scale {
        seed: 7,
        start,
        end,
        slurm_jobs_per_day: 20,
        slurm_nodes: 2,
        condor_machines: 12,
    }));
    let gap = (start + SignedDuration::from_hours(12))..(start + SignedDuration::from_hours(15));
    let (mut times, mut samples) = (Vec::new(), Vec::new());
    let mut now = start;
    while now <= end {
        if !(with_gap && gap.contains(&now)) {
            let machine =
                Simulated { site: site.clone(), cluster: Site::condor_pool().to_owned(), now };
            let mut parser = CondorStatus::new(Site::condor_pool(), now);
            machine.run(&condor_status(), &mut |piece| parser.push(piece)).unwrap();
            samples.extend(parser.finish().records);
            times.push(now);
        }
        now += step;
    }
    (site, times, samples)
}

/// Everything that is said of the site to those who judge.
fn judgement(site: &Site) -> Arc<Judgement> {
    let hosts = site.institution_hosts();
    Arc::new(Judgement {
        institution_owned: hosts.iter().map(|host| Pattern::new(host).unwrap()).collect(),
        ..Judgement::default()
    })
}

/// What holds between two looks is what was so at the first: by that rule, the truth gives the
/// hours of every user on every class, to the second.
#[tokio::test]
async fn a_simulated_pool_is_told_to_the_second_of_the_sampling_rule() {
    for with_gap in [false, true] {
        let step = SignedDuration::from_mins(5);
        let (site, times, samples) = looks(step, with_gap);
        let mut pool = Pool::new(Site::condor_pool(), &samples, step * 2).await;
        pool.question.judgement = judgement(&site);

        let users: HashMap<&str, &str> =
            site.truth().attempts.iter().map(|one| (one.job_id.as_str(), one.user)).collect();
        let institution: BTreeSet<String> = site.institution_hosts().into_iter().collect();
        let prioritized: BTreeSet<&str> = samples
            .iter()
            .filter(|one| one.prioritized_projects.as_deref().is_some_and(|text| !text.is_empty()))
            .map(|one| one.machine.as_str())
            .collect();
        let interactive: BTreeSet<&str> = samples
            .iter()
            .filter(|one| one.interactive == Some(true))
            .map(|one| one.machine.as_str())
            .collect();
        let mut truth: BTreeMap<(String, String), i64> = BTreeMap::new();
        let mut seen = 0;
        for pair in times.windows(2) {
            let seconds = (pair[1].as_second() - pair[0].as_second()).min(600);
            let now = site.truth().gpu_intervals.iter();
            for interval in now.filter(|one| one.start <= pair[0] && pair[0] < one.end) {
                seen += seconds;
                let machine = interval.machine.as_str();
                let is_institution = institution.contains(machine);
                let is_prioritized = prioritized.contains(machine);
                let (job, class) = match (&interval.primary, &interval.backfill) {
                    (Some(job), _) => (
                        job,
                        match (is_prioritized, is_institution) {
                            (true, true) => "Priority-CHTCOwned",
                            (true, false) => "Priority-ResearcherOwned",
                            _ if interactive.contains(machine) => "Interactive",
                            _ => "Shared",
                        },
                    ),
                    (None, Some(job)) => (
                        job,
                        match (is_institution, is_prioritized) {
                            (true, _) => "Backfill-CHTCOwned",
                            (false, true) => "Backfill-ResearcherOwned",
                            (false, false) => "Backfill-OpenCapacity",
                        },
                    ),
                    (None, None) => continue,
                };
                *truth.entry((class.to_owned(), users[job.as_str()].to_owned())).or_default() +=
                    seconds;
            }
        }
        assert!(truth.len() > 10, "{truth:?}");

        let report = pool.report("gpu-users").await;
        let ours: BTreeMap<(String, String), i64> = report
            .table
            .rows
            .iter()
            .filter(|row| row[1] != Value::Text("all".into()))
            .map(|row| {
                let seconds = number(&row[2]) * 3600.0;
                ((text(&row[0]), text(&row[1])), seconds.round() as i64)
            })
            .collect();
        assert_eq!(ours, truth, "with a gap: {with_gap}");

        // At every instant each GPU that is there is in one state.
        let rows =
            pool.sql("SELECT sum(seconds), sum(gpus), sum(unseen_seconds) FROM gpu_use").await;
        assert_eq!(number(&rows[0][0]).round() as i64, seen);
        let gpus: BTreeSet<(&str, &str)> =
            samples.iter().map(|one| (one.machine.as_str(), one.gpu_id.as_str())).collect();
        assert_eq!(number(&rows[0][1]) as usize, gpus.len());
        let whole = (gpus.len() * 48 * 3600) as f64;
        assert!((number(&rows[0][0]) + number(&rows[0][2]) - whole).abs() < 1e-3);
        check_parts(&pool, gpus.len() as f64).await;
    }
}

/// The same of a SLURM cluster: each attempt holds its GPUs from look to look.
#[tokio::test]
async fn a_simulated_slurm_cluster_is_told_to_the_second_of_the_sampling_rule() {
    let start: Timestamp = "2026-03-07T00:00:00Z".parse().unwrap();
    let end = start + SignedDuration::from_hours(12);
    let site = Arc::new(Site::new(&Scale {
        seed: 7,
        start,
        end,
        slurm_jobs_per_day: 400,
        slurm_nodes: 20,
        condor_machines: 1,
    }));
    let step = SignedDuration::from_mins(10);
    let cluster = Site::slurm_cluster();
    let users: HashMap<&str, &str> = site
        .truth()
        .attempts
        .iter()
        .filter(|one| one.cluster == cluster)
        .map(|one| (one.job_id.as_str(), one.user))
        .collect();
    let (mut samples, mut now) = (Vec::new(), start);
    let mut truth: BTreeMap<String, i64> = BTreeMap::new();
    while now <= end {
        let machine = Simulated { site: site.clone(), cluster: cluster.to_owned(), now };
        let ask = |command: source::Command| {
            let mut text = Vec::new();
            machine.run(&command, &mut |piece| text.extend_from_slice(piece)).unwrap();
            text
        };
        let (nodes, jobs) = (ask(scontrol_show_node(None)), ask(scontrol_show_job(None)));
        samples.extend(gpu_samples(cluster, now, &nodes, &jobs, &Backfill::default()).records);
        if now < end {
            let running = site.truth().attempts.iter().filter(|one| {
                one.cluster == cluster
                    && one.start.is_some_and(|start| start <= now)
                    && one.end.is_none_or(|end| now < end)
            });
            for attempt in running.filter(|one| one.gpus > 0) {
                let user = users[attempt.job_id.as_str()].to_owned();
                *truth.entry(user).or_default() += attempt.gpus * step.as_secs();
            }
        }
        now += step;
    }
    assert!(truth.len() > 3, "{truth:?}");
    let pool = Pool::new(cluster, &samples, step * 2).await;
    let rows = pool.sql("SELECT user, sum(exact(seconds)) FROM gpu_held GROUP BY user").await;
    let ours: BTreeMap<String, i64> = rows
        .iter()
        .map(|row| (text(&row[0]), text(&row[1]).parse::<f64>().unwrap().round() as i64))
        .collect();
    assert_eq!(ours, truth);
}

/// Why a node took no jobs is what the simulator knows: a failure is not a drain, and a drain goes on
/// for as long as a job is left on the node.
#[tokio::test]
async fn gpus_of_a_simulated_slurm_cluster_are_in_the_states_that_their_nodes_were_in() {
    let start: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    let end = start + SignedDuration::from_hours(20 * 24);
    let site = Arc::new(Site::new(&Scale {
        seed: 7,
        start,
        end,
        slurm_jobs_per_day: 300,
        slurm_nodes: 100,
        condor_machines: 1,
    }));
    let step = SignedDuration::from_hours(2);
    let cluster = Site::slurm_cluster();
    let outages: Vec<_> =
        site.truth().outages.iter().filter(|outage| outage.cluster == cluster).collect();
    let (mut samples, mut now) = (Vec::new(), start);
    let mut truth: BTreeMap<&str, i64> = BTreeMap::new();
    while now <= end {
        let machine = Simulated { site: site.clone(), cluster: cluster.to_owned(), now };
        let ask = |command: source::Command| {
            let mut text = Vec::new();
            machine.run(&command, &mut |piece| text.extend_from_slice(piece)).unwrap();
            text
        };
        let (nodes, jobs) = (ask(scontrol_show_node(None)), ask(scontrol_show_job(None)));
        let look = gpu_samples(cluster, now, &nodes, &jobs, &Backfill::default()).records;
        // Jobs and GPUs by node.
        let mut running: HashMap<&str, (usize, i64)> = HashMap::new();
        for attempt in site.truth().attempts.iter().filter(|one| {
            one.cluster == cluster
                && one.start.is_some_and(|start| start <= now)
                && one.end.is_none_or(|end| now < end)
        }) {
            for node in &attempt.nodes {
                let (jobs, gpus) = running.entry(node).or_default();
                *jobs += 1;
                *gpus += attempt.gpus / attempt.nodes.len() as i64;
            }
        }
        for gpus in look.chunk_by(|one, other| one.machine == other.machine) {
            let node = gpus[0].machine.as_str();
            let (jobs, held) = running.get(node).copied().unwrap_or_default();
            let outage = outages.iter().find(|outage| {
                outage.node == node && outage.start <= now && outage.end.is_none_or(|end| now < end)
            });
            let (availability, free) = match outage.map(|outage| outage.kind) {
                None => ("up", "idle"),
                Some("DOWN") => ("down", "down"),
                Some("DRAIN") if jobs > 0 => ("draining", "draining"),
                Some("DRAIN") => ("drained", "drained"),
                Some(other) => panic!("{other}"),
            };
            for gpu in gpus {
                assert_eq!(gpu.availability.as_deref(), Some(availability), "{node} at {now}");
            }
            if now < end {
                *truth.entry("claimed").or_default() += held * step.as_secs();
                let free_gpus = gpus.len() as i64 - held;
                *truth.entry(free).or_default() += free_gpus * step.as_secs();
            }
        }
        samples.extend(look);
        now += step;
    }
    truth.retain(|_, seconds| *seconds > 0);
    assert_eq!(
        truth.keys().copied().collect::<Vec<_>>(),
        ["claimed", "down", "drained", "draining", "idle"]
    );
    let pool = Pool::new(cluster, &samples, step * 2).await;
    let rows = pool.sql("SELECT state, sum(exact(seconds)) FROM gpu_time GROUP BY state").await;
    let ours: BTreeMap<String, i64> = rows
        .iter()
        .map(|row| (text(&row[0]), text(&row[1]).parse::<f64>().unwrap().round() as i64))
        .collect();
    let truth: BTreeMap<String, i64> =
        truth.into_iter().map(|(state, seconds)| (state.to_owned(), seconds)).collect();
    assert_eq!(ours, truth);
}

/// With a look every 15 minutes, one for each of its buckets, the origin says what we say. With
/// three looks a bucket it credits a whole bucket for any of them, and in a gap it goes on as
/// before: it says more, never less.
#[tokio::test]
async fn the_origin_says_the_same_where_nothing_is_missing() {
    for (minutes, with_gap) in [(15, false), (5, false), (15, true)] {
        let step = SignedDuration::from_mins(minutes);
        let (site, times, mut samples) = looks(step, with_gap);
        // The last look ends the period; to the origin it is the beginning of another bucket.
        let last = *times.last().unwrap();
        let mut pool = Pool::new(Site::condor_pool(), &samples, step * 2).await;
        pool.question.judgement = judgement(&site);
        samples.retain(|sample| sample.time < last);

        let Some(theirs) = origin(&pool, &site, &samples) else { return };
        let ours = pool.report("gpu-usage").await;
        let mut compared = 0;
        for row in ours.table.rows.iter().filter(|row| !text(&row[0]).starts_with("All")) {
            let Some(class) = theirs["classes"].get(text(&row[0])) else { continue };
            let (claimed, available) = (number(&row[3]), number(&row[4]));
            let said = class["claimed"].as_f64().unwrap();
            if minutes == 15 && !with_gap {
                assert!((claimed - said).abs() < 1e-6, "{row:?}: {said}");
                assert!(
                    class["available"].as_f64().unwrap() <= available + 1e-6,
                    "{row:?}: {class}"
                );
            } else {
                assert!(claimed <= said + 1e-6, "{row:?}: {said}");
            }
            compared += 1;
        }
        assert!(compared >= 4, "{theirs}");
        let ours: BTreeMap<(String, String), f64> = pool
            .report("gpu-users")
            .await
            .table
            .rows
            .iter()
            .map(|row| ((text(&row[0]), text(&row[1])), number(&row[2])))
            .collect();
        let (mut sum, mut their_sum) = (0.0, 0.0);
        for user in theirs["users"].as_array().unwrap() {
            let name = |key: &str| user[key].as_str().unwrap().to_owned();
            let hours = ours.get(&(name("class"), name("user"))).copied().unwrap_or(0.0);
            let said = user["gpu_hours"].as_f64().unwrap();
            if minutes == 15 && !with_gap {
                assert!((hours - said).abs() < 1e-6, "{user}: we say {hours}");
            }
            sum += hours;
            their_sum += said;
        }
        if minutes == 15 && !with_gap {
            assert!((sum - ours[&("all".into(), "all".into())]).abs() < 1e-6);
        } else {
            assert!(sum < their_sum, "{sum} of {their_sum}");
        }
    }
}

/// What the origin's formulas make of the samples; nothing if there is no Python here.
fn origin(pool: &Pool, site: &Site, samples: &[GpuSample]) -> Option<serde_json::Value> {
    let institution: BTreeSet<String> = site.institution_hosts().into_iter().collect();
    let mut csv = "time,machine,gpu_id,projects,is_institution,prevented,interactive,primary_state,primary_user,backfill_state,backfill_user\n".to_owned();
    for sample in samples {
        let word = |text: &Option<Text>| {
            format!("\"{}\"", text.as_deref().unwrap_or_default().replace('"', "\"\""))
        };
        let cells = [
            sample.time.as_second().to_string(),
            sample.machine.to_string(),
            sample.gpu_id.to_string(),
            word(&sample.prioritized_projects),
            i32::from(institution.contains(&*sample.machine)).to_string(),
            word(&sample.prevent_reason),
            i32::from(sample.interactive == Some(true)).to_string(),
            word(&sample.primary_state),
            word(&sample.primary_user),
            word(&sample.backfill_state),
            word(&sample.backfill_user),
        ];
        csv += &cells.join(",");
        csv.push('\n');
    }
    let path = pool.folder.path().join("samples.csv");
    std::fs::write(&path, csv).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu_origin.py");
    #[expect(clippy::disallowed_methods, reason = "the program to compare with")]
    let said = Command::new("python3").arg(script).arg(path).arg("48").output().ok()?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Some(serde_json::from_slice(&said.stdout).unwrap())
}
