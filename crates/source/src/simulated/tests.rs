//! The site keeps its own laws, and prints what it knows to have happened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use record::{Job, Text};
use serde_json::Value;

use super::slurm_attempt::{Attempt, State};
use super::*;
use crate::current_job::{CurrentJob, Phase};
use crate::htcondor::{
    self, CondorHistory, CondorQ, CondorQCurrent, Daemon, Daemons, PoolObservation, PoolSlots,
    Queued,
};
use crate::parsed::{Parser, parse};
use crate::slurm::{self, Offered, Sacct, Squeue, SqueueCurrent, Sreport};

const START: &str = "2026-11-10T00:00:00Z";
const END: &str = "2026-11-13T09:30:00Z";

/// Three days and a bit of a small site; enough nodes for every kind of job to run.
fn site() -> Arc<Site> {
    static SITE: OnceLock<Arc<Site>> = OnceLock::new();
    SITE.get_or_init(|| Arc::new(Site::new(&small(7)))).clone()
}

fn small(seed: u64) -> Scale {
    Scale {
        seed,
        start: time(START),
        end: time(END),
        slurm_jobs_per_day: 1500,
        slurm_nodes: 20,
        condor_machines: 12,
    }
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn run(
    site: &Arc<Site>,
    now: Timestamp,
    program: &'static str,
    arguments: &[&str],
) -> Result<String, String> {
    let cluster = if program.starts_with("condor") { CONDOR_POOL } else { SLURM_CLUSTER };
    let machine = Simulated { site: site.clone(), cluster: cluster.to_owned(), now };
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let command = Command { program, arguments, time_limit: Duration::from_secs(1) };
    let mut text = Vec::new();
    machine
        .run(&command, &mut |piece| text.extend_from_slice(piece))
        .map_err(|failure| failure.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

/// The job rows that sacct prints for a window, as cells by column; steps are left out.
fn sacct(now: &str, from: &str, until: &str) -> Vec<HashMap<String, String>> {
    // JobName, which may hold newlines, is not asked for.
    const FORMAT: &str = "--format=JobID,JobIDRaw,State,Submit,Eligible,Start,End,ElapsedRaw,\
                          AllocCPUS,AllocTRES,NodeList,MaxRSS,TotalCPU";
    let window = [
        "--allusers",
        "--duplicates",
        "--noconvert",
        "--parsable2",
        &format!("--starttime={from}"),
        &format!("--endtime={until}"),
        FORMAT,
    ];
    let text = run(&site(), time(now), "sacct", &window).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('|').collect();
    lines
        .map(|line| {
            names.iter().map(|&name| name.to_owned()).zip(line.split('|').map(str::to_owned))
        })
        .map(|cells| cells.collect::<HashMap<_, _>>())
        .filter(|row| !row["JobID"].contains('.'))
        .collect()
}

fn json(program: &'static str, now: &str, arguments: &[&str]) -> Vec<Value> {
    let text = run(&site(), time(now), program, arguments).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_site_and_another_another() {
    let all = |site: Site| {
        let site = Arc::new(site);
        let text =
            run(&site, time(END), "sacct", &["--parsable2", "--noconvert", "-S", "2026-11-10"]);
        let ads = run(&site, time(END), "condor_status", &["-json"]);
        (text.unwrap(), ads.unwrap(), format!("{:?}", site.truth()))
    };
    let first = all(Site::new(&small(7)));
    assert!(first == all(Site::new(&small(7))));
    assert!(first.0 != all(Site::new(&small(8))).0);
}

#[test]
fn no_node_ever_holds_more_than_it_has() {
    let site = site();
    let mut events: Vec<(Moment, bool, &slurm_nodes::Placement)> = Vec::new();
    for attempt in &site.slurm.attempts {
        for placement in site.slurm.placements(attempt) {
            events.push((attempt.start, true, placement));
            events.push((attempt.end, false, placement));
        }
    }
    // What ends at a moment makes room for what starts at it.
    events.sort_by_key(|&(moment, is_start, _)| (moment, is_start));
    let mut held = vec![(0_u32, 0_u64, 0_u8); site.slurm.nodes.len()];
    for (moment, is_start, placement) in events {
        let node = &site.slurm.nodes[usize::from(placement.node)];
        let (cpus, memory_mb, gpus) = &mut held[usize::from(placement.node)];
        if is_start {
            *cpus += u32::from(placement.cpus);
            *memory_mb += u64::from(placement.memory_mb);
            assert_eq!(*gpus & placement.gpus, 0, "a GPU of {} twice at {moment}", node.name);
            *gpus |= placement.gpus;
        } else {
            *cpus -= u32::from(placement.cpus);
            *memory_mb -= u64::from(placement.memory_mb);
            *gpus &= !placement.gpus;
        }
        assert!(*cpus <= u32::from(node.cpus), "{} at {moment}", node.name);
        assert!(*memory_mb <= u64::from(node.memory_mb), "{} at {moment}", node.name);
        assert!(gpus.count_ones() <= u32::from(node.gpus), "{} at {moment}", node.name);
    }
}

#[test]
fn a_node_that_is_down_runs_nothing() {
    let site = site();
    let down = |outage: &&slurm_nodes::Outage| outage.kind != slurm_nodes::OutageKind::Drain;
    for outage in site.slurm.outages.iter().filter(down) {
        for attempt in &site.slurm.attempts {
            let is_there = site.slurm.placements(attempt).iter().any(|at| at.node == outage.node);
            let overlaps = attempt.start < outage.end && attempt.end > outage.start;
            assert!(!(is_there && overlaps), "{} ran on a node that was down", attempt.id);
        }
    }
}

#[test]
fn every_kind_of_ending_and_of_job_occurs() {
    let states: HashSet<&str> =
        site().truth().attempts.iter().map(|attempt| attempt.state).collect();
    for state in [
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RUNNING",
        "PENDING",
        "EVICTED",
    ] {
        assert!(states.contains(state), "{state}");
    }
    for part in ["_[", "_5", "+1"] {
        let has_it = |attempt: &TrueAttempt| attempt.job_id.contains(part);
        assert!(site().truth().attempts.iter().any(has_it), "{part}");
    }
}

#[test]
fn what_is_requeued_comes_again_with_its_own_submit_time() {
    let site = site();
    let truth = &site.truth().attempts;
    let preempted: Vec<_> = truth.iter().filter(|attempt| attempt.state == "PREEMPTED").collect();
    assert!(!preempted.is_empty());
    for attempt in preempted {
        let next = truth
            .iter()
            .find(|next| next.job_id == attempt.job_id && next.restarts == attempt.restarts + 1);
        assert_eq!(next.map(|next| next.submit), attempt.end, "{}", attempt.job_id);
    }
}

#[test]
fn sums_of_what_sacct_prints_are_the_truth() {
    let site = site();
    let mut expected: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    for attempt in site.truth().attempts.iter().filter(|attempt| attempt.cluster == SLURM_CLUSTER) {
        // sacct does not show who never was eligible.
        if attempt.eligible.is_none() {
            continue;
        }
        let end = attempt.end.unwrap_or(time(END));
        let elapsed = attempt.start.map_or(0, |start| end.as_second() - start.as_second());
        let (jobs, cpu_seconds) = expected.entry(attempt.state).or_default();
        *jobs += 1;
        *cpu_seconds += elapsed * attempt.cpus;
    }

    let mut printed: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    // Until the last job that is to begin at a given time may begin.
    for row in sacct(END, "2026-11-10T00:00:00", "2026-11-16T00:00:00") {
        let state = row["State"].split(' ').next().unwrap().to_owned();
        let (jobs, cpu_seconds) = printed.entry(state).or_default();
        *jobs += 1;
        *cpu_seconds +=
            row["ElapsedRaw"].parse::<i64>().unwrap() * row["AllocCPUS"].parse::<i64>().unwrap();
    }
    let printed: BTreeMap<&str, _> =
        printed.iter().map(|(state, &sums)| (state.as_str(), sums)).collect();
    assert_eq!(printed, expected);
}

#[test]
fn a_job_over_midnight_is_in_both_windows_whole() {
    let first = sacct(END, "2026-11-11T00:00:00", "2026-11-12T00:00:00");
    let second = sacct(END, "2026-11-12T00:00:00", "2026-11-13T00:00:00");
    let midnight = time("2026-11-12T00:00:00Z").as_second();
    let second_of = |row: &HashMap<String, String>, name: &str| row[name].parse::<i64>().ok();
    let mut over_midnight = 0;
    for row in &first {
        let key = |other: &&HashMap<String, String>| {
            (&other["JobID"], &other["Submit"]) == (&row["JobID"], &row["Submit"])
        };
        let (start, end) = (second_of(row, "Start"), second_of(row, "End"));
        if start < Some(midnight) && end > Some(midnight) {
            over_midnight += 1;
            assert_eq!(second.iter().find(key), Some(row));
        } else if end.is_some_and(|end| end < midnight) {
            assert_eq!(second.iter().find(key), None);
        }
    }
    assert!(over_midnight > 0);
}

#[test]
fn a_job_is_printed_as_it_stood_at_the_time() {
    let site = site();
    let truth = &site.truth().attempts;
    let job = truth
        .iter()
        .find(|attempt| {
            attempt.state == "COMPLETED"
                && !attempt.job_id.contains('_')
                && attempt.submit > time("2026-11-11T00:00:00Z")
                && attempt.start
                    > attempt.eligible.map(|eligible| eligible + SignedDuration::from_mins(1))
                && attempt.eligible == Some(attempt.submit)
        })
        .unwrap();
    let state_at = |now: Timestamp| {
        let rows = sacct(&now.to_string(), "2026-11-10T00:00:00", "2026-11-14T00:00:00");
        let row = rows.iter().find(|row| row["JobID"] == job.job_id)?;
        Some([&row["State"], &row["Start"], &row["End"], &row["TotalCPU"]].map(String::clone))
    };
    let (start, end) = (job.start.unwrap(), job.end.unwrap());
    let second = SignedDuration::from_secs(1);
    assert_eq!(state_at(job.submit - second), None);
    assert_eq!(
        state_at(job.submit),
        Some(["PENDING", "Unknown", "Unknown", "00:00:00"].map(str::to_owned))
    );
    let started = start.as_second().to_string();
    assert_eq!(
        state_at(end - second),
        Some(["RUNNING", &started, "Unknown", "00:00:00"].map(str::to_owned))
    );
    let [state, .., total_cpu] = state_at(end).unwrap();
    assert_eq!(state, "COMPLETED");
    assert_ne!(total_cpu, "00:00:00");
}

#[test]
fn squeue_and_scontrol_agree_with_the_truth_at_a_moment() {
    let now = time("2026-11-12T14:10:00Z");
    let site = site();
    let queue = run(
        &site,
        now,
        "squeue",
        &["--all", "--states=PENDING", "--Format=JobArrayID:|,State:|,Reason:|"],
    )
    .unwrap();
    let mut lines = queue.lines();
    assert_eq!(lines.next(), Some("JOBID|STATE|REASON|"));
    let waiting: usize = lines.map(|line| tasks(line.split('|').next().unwrap())).sum();
    let attempts = &site.slurm.attempts;
    let expected = attempts
        .iter()
        .filter(|one| one.submit <= moment(now) && one.start.min(one.end) > moment(now));
    assert_eq!(waiting, expected.count());

    let nodes = run(&site, now, "scontrol", &["--details", "--oneliner", "show", "node"]).unwrap();
    let sum = |key: &str| -> i64 {
        let cells = nodes.split(' ').filter_map(|cell| cell.strip_prefix(key)?.strip_prefix('='));
        cells.map(|value| value.parse::<i64>().unwrap()).sum()
    };
    let running = || {
        site.truth().attempts.iter().filter(|one| {
            one.cluster == SLURM_CLUSTER
                && one.start.is_some_and(|start| start <= now)
                && one.end.is_none_or(|end| end > now)
        })
    };
    assert!(running().count() > 0);
    assert_eq!(sum("CPUAlloc"), running().map(|one| one.cpus).sum::<i64>());
    assert_eq!(sum("AllocMem"), running().map(|one| one.memory_mb).sum::<i64>());
    assert_eq!(nodes.lines().count(), 20);
}

/// The nodes and the jobs as the collector asks for them, read together: every GPU of every node is
/// there once, and each attempt that runs holds as many as the truth says.
#[test]
fn the_gpus_of_a_cluster_are_held_by_those_who_hold_them() {
    let site = site();
    for now in [START, "2026-11-12T14:10:00Z", END] {
        let ask = |command: Command| {
            let arguments: Vec<&str> = command.arguments.iter().map(String::as_str).collect();
            run(&site, time(now), command.program, &arguments).unwrap()
        };
        let nodes = ask(slurm::scontrol_show_node(None));
        let jobs = ask(slurm::scontrol_show_job(None));
        let backfill = slurm::Backfill { partitions: vec!["preempt".to_owned()], qos: Vec::new() };
        let (nodes, jobs) = (nodes.as_bytes(), jobs.as_bytes());
        let parsed = slurm::gpu_samples(SLURM_CLUSTER, time(now), nodes, jobs, &backfill);
        assert_eq!(parsed.rejects, []);
        let installed: usize = site.slurm.nodes.iter().map(|node| usize::from(node.gpus)).sum();
        assert_eq!(parsed.records.len(), installed);

        let mut held: BTreeMap<(Text, bool), i64> = BTreeMap::new();
        for gpu in &parsed.records {
            let is_claimed = |state: &Option<Text>| state.as_deref() == Some("Claimed");
            assert_eq!(is_claimed(&gpu.primary_state), gpu.primary_job_id.is_some(), "{gpu:?}");
            assert_eq!(is_claimed(&gpu.backfill_state), gpu.backfill_job_id.is_some(), "{gpu:?}");
            assert!(gpu.primary_job_id.is_none() || gpu.backfill_job_id.is_none(), "{gpu:?}");
            for (job, is_backfill) in [(&gpu.primary_job_id, false), (&gpu.backfill_job_id, true)] {
                if let Some(job) = job {
                    *held.entry((job.clone(), is_backfill)).or_default() += 1;
                }
            }
        }
        let preempt = slurm_workload::Partition::Preempt;
        let mut expected = BTreeMap::new();
        for attempt in &site.slurm.attempts {
            if attempt.state_at(moment(time(now))) == Some(State::Running) && attempt.need.gpus > 0
            {
                let mut id = Vec::new();
                slurm_attempt::job_id(&mut id, attempt, attempt, false);
                let key =
                    (Text::from(String::from_utf8(id).unwrap()), attempt.partition == preempt);
                expected.insert(key, i64::from(attempt.gpus()));
            }
        }
        assert_eq!(held, expected, "{now}");
        assert!(!held.is_empty());
    }
}

/// How many tasks an id stands for: `16_[5-20]` are 16.
fn tasks(job_id: &str) -> usize {
    let Some((_, range)) = job_id.split_once('[') else { return 1 };
    match range.trim_end_matches(']').split_once('-') {
        Some((first, last)) => last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1,
        None => 1,
    }
}

#[test]
fn a_gpu_is_held_by_at_most_one_job_on_each_side() {
    let site = site();
    for side in [condor_pool::Side::Primary, condor_pool::Side::Backfill] {
        let mut last_end: HashMap<(u16, usize), Moment> = HashMap::new();
        for execution in site.condor.executions.iter().filter(|one| one.side == side) {
            for gpu in condor_status::gpus(execution.gpus) {
                let before = last_end.insert((execution.machine, gpu), execution.end);
                assert!(before.is_none_or(|end| end <= execution.start));
            }
        }
    }
    // Backfill gives way at once, so that no GPU is used through both sides.
    for interval in &site.condor.gpu_intervals {
        assert!(interval.primary.is_none() || interval.backfill.is_none());
    }
}

#[test]
fn the_intervals_of_a_gpu_cover_all_but_its_absence() {
    let site = site();
    let truth = site.truth();
    let span = time(END).as_second() - time(START).as_second();
    let mut covered: HashMap<(&str, &str), i64> = HashMap::new();
    for intervals in truth.gpu_intervals.windows(2) {
        if intervals[0].gpu_id == intervals[1].gpu_id {
            assert!(intervals[0].end <= intervals[1].start);
        }
    }
    for interval in &truth.gpu_intervals {
        *covered.entry((&interval.machine, &interval.gpu_id)).or_default() +=
            interval.end.as_second() - interval.start.as_second();
    }
    let gpus: usize = site.condor.machines.iter().map(|machine| machine.gpus.len()).sum();
    assert_eq!(covered.len(), gpus);
    for ((machine, _), seconds) in covered {
        let absent =
            truth.outages.iter().filter(|outage| outage.kind == "ABSENT" && outage.node == machine);
        let absent: i64 = absent
            .map(|outage| {
                let end = outage.end.unwrap_or(time(END));
                end.as_second() - outage.start.max(time(START)).as_second()
            })
            .sum();
        assert_eq!(seconds + absent, span, "{machine}");
    }
}

#[test]
fn condor_status_agrees_with_the_truth_at_a_moment() {
    let site = site();
    for now in ["2026-11-10T12:00:00Z", "2026-11-11T20:15:00Z", "2026-11-13T09:00:00Z"] {
        let ads = json("condor_status", now, &["-json"]);
        // By GPU and side, the job of the dynamic slot that has it.
        let mut printed: HashMap<(String, bool), String> = HashMap::new();
        let mut offered: HashSet<(String, bool)> = HashSet::new();
        for ad in &ads {
            let is_backfill = ad["BackfillSlot"] == Value::Bool(true);
            if let Some(job) = ad["GlobalJobId"].as_str() {
                for gpu in ad["AssignedGPUs"].as_str().unwrap().split(',') {
                    let job = job.rsplit_once('#').unwrap().0.to_owned();
                    assert_eq!(printed.insert((gpu.to_owned(), is_backfill), job), None);
                }
            } else {
                for gpu in ad["AvailableGPUs"].as_array().unwrap() {
                    let id = gpu.as_str().unwrap();
                    let id = id.strip_prefix("/Expr(GPUs_GPU_").unwrap().trim_end_matches(")/");
                    offered.insert((format!("GPU-{id}"), is_backfill));
                }
            }
        }
        let mut held = 0;
        for interval in &site.truth().gpu_intervals {
            if interval.start > time(now) || interval.end <= time(now) {
                continue;
            }
            let at = |is_backfill| (interval.gpu_id.clone(), is_backfill);
            assert_eq!(printed.get(&at(false)), interval.primary.as_ref());
            assert_eq!(printed.get(&at(true)), interval.backfill.as_ref());
            // The primary side offers the GPU on which a backfill job runs.
            assert_eq!(offered.contains(&at(false)), interval.primary.is_none());
            held +=
                usize::from(interval.primary.is_some()) + usize::from(interval.backfill.is_some());
        }
        assert_eq!(printed.len(), held);
    }
}

#[test]
fn the_epochs_of_all_days_are_the_executions_that_ended() {
    let site = site();
    let mut printed: BTreeMap<(String, i64), (i64, i64, i64)> = BTreeMap::new();
    for day in 0..4 {
        let from = time(START).as_second() + day * 86_400;
        let constraint = format!("EpochWriteDate >= {from} && EpochWriteDate < {}", from + 86_400);
        for ad in json("condor_history", END, &["-epochs", "-json", "-constraint", &constraint]) {
            let number = |name: &str| ad[name].as_i64().unwrap();
            let (start, end) = (number("JobCurrentStartDate"), number("EpochWriteDate"));
            assert!((from..from + 86_400).contains(&end));
            let job = ad["GlobalJobId"].as_str().unwrap().rsplit_once('#').unwrap().0.to_owned();
            let before =
                printed.insert((job, number("RunInstanceID")), (start, end, number("RequestGPUs")));
            assert_eq!(before, None);
        }
    }
    let ended = site.truth().attempts.iter().filter(|attempt| attempt.cluster == CONDOR_POOL);
    let expected: BTreeMap<_, _> = ended
        .filter_map(|attempt| {
            let times = (attempt.start?.as_second(), attempt.end?.as_second(), attempt.gpus);
            Some(((attempt.job_id.clone(), attempt.restarts), times))
        })
        .collect();
    assert_eq!(printed, expected);
}

/// What a command of the pool prints.
fn ask_pool(now: &str, command: &Command) -> Vec<u8> {
    let machine = Simulated { site: site(), cluster: CONDOR_POOL.to_owned(), now: time(now) };
    let mut text = Vec::new();
    machine.run(command, &mut |piece| text.extend_from_slice(piece)).unwrap();
    text
}

/// Each machine holds the CPUs, the memory and the GPUs of the attempts that run there, and takes no jobs
/// during its outages.
#[test]
fn machines_agree_with_the_truth_at_a_moment() {
    let site = site();
    let mut states: HashSet<&str> = HashSet::new();
    // A moment in the middle of nothing in particular, and one in each outage.
    let outages = site.truth().outages.iter().filter(|outage| {
        outage.cluster == CONDOR_POOL && (time(START)..time(END)).contains(&outage.start)
    });
    let moments = outages.map(|outage| (outage.start + SignedDuration::from_secs(30)).to_string());
    let moments: Vec<String> = moments.chain(["2026-11-10T12:00:00Z".to_owned()]).collect();
    for now in &moments {
        let parser = PoolSlots::new(CONDOR_POOL, time(now), SignedDuration::from_mins(10));
        let parsed = parse(parser, &ask_pool(now, &htcondor::condor_status()));
        assert_eq!(parsed.rejects, []);
        let mut nodes: BTreeMap<String, record::NodeSpan> = BTreeMap::new();
        for record in parsed.records {
            if let PoolObservation::Machine(seen) = record {
                nodes.insert(seen.node.node.to_string(), seen.node);
            }
        }
        let mut held: BTreeMap<&str, (i64, f64, i64)> = BTreeMap::new();
        for execution in &site.condor.executions {
            if execution.start <= moment(time(now)) && moment(time(now)) < execution.end {
                let job = &site.condor.jobs[execution.job as usize];
                let machine = &site.condor.machines[usize::from(execution.machine)];
                let sums = held.entry(&machine.name).or_default();
                sums.0 += i64::from(job.cpus);
                sums.1 += f64::from(job.memory_mb);
                sums.2 += i64::from(job.gpus);
            }
        }
        assert!(held.values().any(|(cpus, ..)| *cpus > 0));
        for machine in &site.condor.machines {
            let is_now = |outage: &&TrueOutage| {
                outage.cluster == CONDOR_POOL
                    && outage.node == machine.name
                    && outage.start <= time(now)
                    && outage.end.is_none_or(|end| time(now) < end)
            };
            let outage = site.truth().outages.iter().find(is_now);
            let Some(node) = nodes.remove(&machine.name) else {
                assert_eq!(outage.map(|outage| outage.kind), Some("ABSENT"), "{}", machine.name);
                continue;
            };
            let sums = held.remove(machine.name.as_str()).unwrap_or_default();
            let found = (node.alloc_cpus, node.alloc_memory_mb, node.alloc_gpus);
            assert_eq!(found, (Some(sums.0), Some(sums.1), Some(sums.2)), "{}", machine.name);
            let gpus = machine.gpus.len() as i64;
            assert_eq!((node.cpus, node.gpus), (Some(16 * gpus), Some(gpus)));
            let types = format!("{}={gpus}", machine.model.device_name);
            assert_eq!(node.gpu_types.as_deref(), Some(types.as_str()));
            let expected = match (outage.map(|outage| outage.kind), sums.0 > 0) {
                (Some("DRAIN"), true) => "Claimed+Draining",
                (Some("DRAIN"), false) => "Unclaimed+Draining",
                (Some("PREVENTED"), true) => "Claimed+Owner+Prevented",
                (Some("PREVENTED"), false) => "Owner+Prevented",
                (_, true) => "Claimed",
                (_, false) => "Unclaimed",
            };
            assert_eq!(node.state, expected, "{} {now}", machine.name);
            assert_eq!(node.reason.as_deref(), outage.map(|outage| outage.reason));
            assert_eq!(node.reason_time, outage.map(|outage| outage.start));
            states.insert(expected);
        }
        assert_eq!((nodes.len(), held.len()), (0, 0));
    }
    assert!(states.len() > 2, "{states:?} at {moments:?}");
}

#[test]
fn executions_waited_since_their_jobs_were_in_the_queue() {
    let text = ask_pool(END, &htcondor::condor_history(time(START), time(END)));
    let parsed = parse(CondorHistory::new(CONDOR_POOL, time(END)), &text);
    let found: BTreeMap<_, _> = parsed
        .records
        .iter()
        .map(|job| ((job.job_id.to_string(), job.attempt - 1), job.eligible_time))
        .collect();
    let site = site();
    let mut later = 0;
    for attempt in site.truth().attempts.iter().filter(|attempt| attempt.cluster == CONDOR_POOL) {
        if let Some(eligible) = found.get(&(attempt.job_id.clone(), attempt.restarts)) {
            assert_eq!(*eligible, attempt.eligible, "{}", attempt.job_id);
            later += usize::from(attempt.eligible != Some(attempt.submit));
        }
    }
    assert!(found.len() > 100 && later > 10, "{} {later}", found.len());
}

#[test]
fn the_jobs_of_the_moment_are_those_of_the_truth() {
    let site = site();
    let now = "2026-11-11T13:00:00Z";
    let text = ask_pool(now, &htcondor::condor_q_current(None));
    let jobs: Vec<CurrentJob> = parse(CondorQCurrent::default(), &text).records;
    let is_now = |attempt: &&TrueAttempt| {
        attempt.cluster == CONDOR_POOL
            && attempt.start.is_some_and(|start| start <= time(now))
            && attempt.end.is_none_or(|end| time(now) < end)
    };
    let runs = || site.truth().attempts.iter().filter(is_now);
    let holds = || jobs.iter().filter(|job| job.phase == Phase::Holds);
    assert_eq!(holds().count(), runs().count());
    let cpus: i64 = runs().map(|attempt| attempt.cpus).sum();
    assert_eq!(holds().map(|job| job.cpus).sum::<Option<i64>>(), Some(cpus));
    let gpus: i64 = runs().map(|attempt| attempt.gpus).sum();
    assert_eq!(holds().map(|job| job.gpus).sum::<Option<i64>>(), Some(gpus));
    assert!(jobs.iter().any(|job| job.phase == Phase::Waits));
}

/// The queue as the collector asks for it, and its parser reads it, against the truth: each
/// attempt that runs at a moment is there under the key that the history has for it later, and
/// each job that has run before or will run after is there as one that waits.
#[test]
fn condor_q_agrees_with_the_truth_at_a_moment() {
    let site = site();
    let attempts = &site.truth().attempts;
    for now in [START, "2026-11-11T13:00:00Z", END] {
        let machine =
            Simulated { site: site.clone(), cluster: CONDOR_POOL.to_owned(), now: time(now) };
        let ask = |command: &Command| {
            let mut text = Vec::new();
            machine.run(command, &mut |piece| text.extend_from_slice(piece)).unwrap();
            text
        };
        let daemons = parse(Daemons::default(), &ask(&htcondor::daemons())).records;
        let names: Vec<(u8, &str)> = daemons.iter().map(Daemon::key).collect();
        assert_eq!(
            names,
            [
                (0, "ap2001.tamarack.example.org"),
                (0, "ap2002.tamarack.example.org"),
                (1, "cm.tamarack.example.org")
            ]
        );
        let schedds = ["ap2001.tamarack.example.org", "ap2002.tamarack.example.org"];
        let mut running = BTreeMap::new();
        let mut waiting = BTreeMap::new();
        for schedd in schedds {
            let text = ask(&htcondor::condor_q(Some(schedd)));
            let parser = CondorQ::new(CONDOR_POOL, time(now), SignedDuration::from_mins(10));
            let parsed = parse(parser, &text);
            assert_eq!(parsed.rejects, []);
            for queued in parsed.records {
                match queued {
                    Queued::Running(job) => {
                        assert!(job.job_id.starts_with(schedd));
                        let key = (job.job_id, job.attempt - 1);
                        assert_eq!(running.insert(key, (job.start_time, job.alloc_gpus)), None);
                    }
                    Queued::Waiting(span) => {
                        assert_eq!(waiting.insert(span.job_id, span.eligible_time), None);
                    }
                }
            }
        }
        let of_pool = || attempts.iter().filter(|attempt| attempt.cluster == CONDOR_POOL);
        let runs = of_pool().filter(|attempt| {
            attempt.start.is_some_and(|start| start <= time(now))
                && attempt.end.is_none_or(|end| time(now) < end)
        });
        let expected: BTreeMap<_, _> = runs
            .map(|attempt| {
                (
                    (Text::from(&attempt.job_id), attempt.restarts),
                    (attempt.start, Some(attempt.gpus)),
                )
            })
            .collect();
        assert_eq!(running, expected, "{now}");
        assert!(!running.is_empty());
        // A job that is to run waits since it was submitted, or since it was evicted.
        let mut compared = 0;
        for next in of_pool().filter(|next| next.start.is_some_and(|start| time(now) < start)) {
            let since = match next.restarts {
                0 => Some(next.submit),
                restarts => of_pool()
                    .find(|one| one.job_id == next.job_id && one.restarts == restarts - 1)
                    .and_then(|before| before.end),
            };
            if since.is_some_and(|since| since <= time(now)) {
                assert_eq!(waiting.get(&*next.job_id), Some(&since), "{now} {}", next.job_id);
                compared += 1;
            }
        }
        assert!(now == END || compared > 0);
        assert!(waiting.keys().all(|job| !expected.keys().any(|(running, _)| running == job)));
    }
}

#[test]
fn an_access_point_has_its_own_history() {
    let constraint = "EpochWriteDate >= 0 && EpochWriteDate < 4000000000";
    let all = ["-epochs", "-json", "-constraint", constraint];
    let count = |name: &[&str]| json("condor_history", END, &[name, &all].concat()).len();
    let each = ["ap2001.tamarack.example.org", "ap2002.tamarack.example.org"]
        .map(|name| count(&["-name", name]));
    assert!(each.iter().all(|&executions| executions > 0));
    assert_eq!(each[0] + each[1], count(&[]));
    assert_eq!(
        run(&site(), time(END), "condor_q", &["-name", "ap9", "-allusers", "-json"]),
        Err("condor_q failed with exit status: 1: \
             Error: Collector has no record of schedd/submitter: ap9"
            .to_owned())
    );
}

#[test]
fn an_owner_that_comes_back_evicts_the_backfill_job_on_its_gpu() {
    let site = site();
    let executions = &site.condor.executions;
    let evicted: Vec<_> = executions
        .iter()
        .filter(|one| matches!(one.ending, condor_pool::Ending::Vacated(why) if why.code == 1011))
        .collect();
    assert!(!evicted.is_empty());
    for victim in evicted {
        assert_eq!(victim.side, condor_pool::Side::Backfill);
        let owner = executions.iter().find(|one| {
            one.side == condor_pool::Side::Primary
                && one.machine == victim.machine
                && one.start == victim.end
                && one.gpus & victim.gpus != 0
        });
        assert!(owner.is_some());
    }
}

#[test]
fn nothing_found_prints_nothing() {
    let constraint = "EpochWriteDate >= 1 && EpochWriteDate < 2";
    let printed =
        run(&site(), time(END), "condor_history", &["-epochs", "-json", "-constraint", constraint]);
    assert_eq!(printed, Ok(String::new()));
}

#[test]
fn an_ad_is_laid_out_as_the_real_ones_are() {
    let text = run(
        &site(),
        time(END),
        "condor_status",
        &["-json", "-attributes", "State,Machine,NoSuchAttribute,GPUs_Capability,SlotID"],
    )
    .unwrap();
    let first = text.split("\n,\n").next().unwrap();
    let [open, brace, capability, machine, slot, state, close] =
        first.lines().collect::<Vec<_>>()[..]
    else {
        panic!("{first}");
    };
    assert_eq!([open, brace, close], ["[", "{", "}"]);
    assert!(capability.starts_with("  \"GPUs_Capability\": "));
    assert!(machine.starts_with("  \"Machine\": \"") && machine.ends_with("\","));
    assert!(slot.starts_with("  \"SlotID\": ") && state.starts_with("  \"State\": \""));
    assert!(!state.ends_with(',') && text.ends_with("}\n]\n"));
}

#[test]
fn only_the_columns_asked_for_are_printed_in_that_order() {
    let arguments = ["-P", "--noconvert", "-S", "2026-11-12T00:00:00", "-o", "State,JobID"];
    let text = run(&site(), time(END), "sacct", &arguments).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("State|JobID"));
    assert_eq!(lines.next().unwrap().split('|').count(), 2);
}

#[test]
fn what_the_real_programs_refuse_is_refused() {
    let check = |program, arguments: &[&str], expected: &str| {
        assert_eq!(run(&site(), time(END), program, arguments), Err(expected.to_owned()));
    };
    check("sinfo", &[], "sinfo is not installed here; is its folder in PATH?");
    check(
        "sacct",
        &["-P", "--noconvert", "--format=JobID,Restarts"],
        "sacct failed with exit status: 1: sacct: error: Invalid field requested: \"Restarts\"",
    );
    check(
        "sacct",
        &["--nonsense"],
        "sacct failed with exit status: 1: sacct: unrecognized option '--nonsense'\n\
         Try \"sacct --help\" for more information",
    );
    check(
        "scontrol",
        &["-o", "show", "node", "nosuchnode"],
        "scontrol failed with exit status: 1: Node nosuchnode not found",
    );
    check(
        "squeue",
        &["--states=PENDING", "--Format=Nonsense:|"],
        "squeue failed with exit status: 1: \
         squeue: error: Invalid job format specification: Nonsense",
    );
}

#[test]
fn a_cluster_has_only_its_own_programs() {
    let machine =
        Simulated { site: site(), cluster: Site::condor_pool().to_owned(), now: time(END) };
    let command =
        Command { program: "sacct", arguments: Vec::new(), time_limit: Duration::from_secs(1) };
    let failure = machine.run(&command, &mut |_| {}).unwrap_err();
    assert!(matches!(failure, Failure::Missing { program } if program == "sacct"));
}

#[test]
fn a_third_of_the_machines_is_the_institutions() {
    let hosts = site().institution_hosts();
    assert_eq!(hosts.len(), 4);
    assert!(hosts.iter().all(|host| host.starts_with("gpu2")));
}

#[test]
fn the_smallest_site_answers_at_any_time() {
    let scale = Scale {
        seed: 0,
        start: time(START),
        end: time(START),
        slurm_jobs_per_day: 0,
        slurm_nodes: 0,
        condor_machines: 0,
    };
    let site = Arc::new(Site::new(&scale));
    for now in ["1969-01-01T00:00:00Z", START, "2200-01-01T00:00:00Z"] {
        let ask = |program, arguments: &[&str]| run(&site, time(now), program, arguments).unwrap();
        for window in [["1970-01-01", "2199-01-01"], ["2199-01-01", "1970-01-01"]] {
            let [from, until] = window;
            ask("sacct", &["-P", "--noconvert", "-S", from, "-E", until]);
        }
        ask("squeue", &["-t", "PD", "-O", "JobArrayID"]);
        ask("condor_history", &["-epochs", "-json"]);
        ask("condor_q", &["-allusers", "-json"]);
        ask("scontrol", &["-d", "-o", "show", "job"]);
        assert_eq!(ask("scontrol", &["-o", "show", "node"]).lines().count(), 5);
        assert!(ask("condor_status", &["-json"]).starts_with("[\n{\n"));
    }
    let text = run(&site, time(START), "sacct", &["-P", "--noconvert", "-S", "yesterday"]);
    assert_eq!(
        text,
        Err("sacct failed with exit status: 1: \
             sacct: error: Invalid time specification (pos=0): yesterday"
            .to_owned())
    );
}

#[test]
fn a_long_answer_comes_in_pieces() {
    let machine =
        Simulated { site: site(), cluster: Site::slurm_cluster().to_owned(), now: time(END) };
    let arguments = ["-P", "--noconvert", "-S", "2026-11-10", "-o", "JobID,ReqTRES,AllocTRES"];
    let command = Command {
        program: "sacct",
        arguments: arguments.map(str::to_owned).to_vec(),
        time_limit: Duration::from_secs(1),
    };
    let mut pieces = Vec::new();
    machine.run(&command, &mut |piece| pieces.push(piece.len())).unwrap();
    assert!(pieces.len() > 3);
    assert!(pieces.iter().all(|&length| length < 256 * 1024));
}

/// What a command of ours is answered, read by its parser.
fn asked<T>(now: &str, command: &Command, parser: impl Parser<T>) -> Vec<T> {
    let arguments: Vec<&str> = command.arguments.iter().map(String::as_str).collect();
    let text = run(&site(), time(now), command.program, &arguments).unwrap();
    let parsed = parse(parser, text.as_bytes());
    assert_eq!(parsed.rejects, []);
    parsed.records
}

fn jobs(now: &str) -> Vec<Job> {
    let text = run(&site(), time(now), "sacct", &["--helpformat"]).unwrap();
    let offered = Offered::read(text.as_bytes()).unwrap();
    let (from, until) = (time("2026-11-10T00:00:00Z"), time("2026-11-16T00:00:00Z"));
    let command = slurm::sacct(from, until, &offered, Some(SLURM_CLUSTER));
    let parser = Sacct::new("site", time(now)).of_cluster_in_slurmdbd(SLURM_CLUSTER);
    asked(now, &command, parser)
}

/// The id under which a job is kept: of tasks that wait together not which they are.
fn kept_id(job_id: &str) -> String {
    job_id.split_once("_[").map_or(job_id.to_owned(), |(array, _)| format!("{array}_[]"))
}

#[test]
fn what_sacct_is_asked_and_how_it_is_read_gives_the_truth() {
    let site = site();
    let mut truth: BTreeMap<(String, Timestamp), &TrueAttempt> = BTreeMap::new();
    for attempt in site.truth().attempts.iter().filter(|attempt| attempt.cluster == SLURM_CLUSTER) {
        truth.insert((kept_id(&attempt.job_id), attempt.submit), attempt);
    }
    let jobs = jobs(END);
    assert!(jobs.len() > 1000);
    let mut with_memory_of_several_nodes = 0;
    for job in &jobs {
        let attempt = truth[&(job.job_id.to_string(), job.submit_time)];
        assert_eq!((job.state.as_str(), job.attempt), (attempt.state, 0), "{}", job.job_id);
        assert_eq!((job.start_time, job.end_time), (attempt.start, attempt.end), "{}", job.job_id);
        assert_eq!(job.max_rss_mb, attempt.max_rss_mb, "{}", job.job_id);
        assert_eq!(job.req_mem_mb, Some(attempt.memory_mb as f64), "{}", job.job_id);
        if let (Some(percent), Some(ratio)) = (job.gpu_utilization, attempt.gpu_use_ratio) {
            // It is printed in whole percents of all the GPUs of a node.
            assert!((percent / 100.0 - ratio).abs() < 0.01, "{}", job.job_id);
        }
        let over_nodes = job.alloc_nodes > Some(1) && job.max_rss_mb.is_some();
        with_memory_of_several_nodes += usize::from(over_nodes);
    }
    assert!(with_memory_of_several_nodes > 0);
}

/// What squeue shows to wait is in sacct too, under the same key, once it is eligible.
#[test]
fn squeue_has_the_jobs_that_sacct_does_not_show_yet() {
    let mut without_account = 0;
    for now in ["2026-11-11T10:00:00Z", "2026-11-12T15:30:00Z", "2026-11-13T03:00:00Z", END] {
        let parser = Squeue::new("site", time(now), SignedDuration::from_mins(30));
        let waiting = asked(
            now,
            &slurm::squeue(Some(SLURM_CLUSTER)),
            parser.of_cluster_in_slurmdbd(SLURM_CLUSTER),
        );
        let jobs = jobs(now);
        let (waiting, running): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(slurm::Waiting::is_waiting);
        assert_eq!(
            running.len(),
            jobs.iter().filter(|job| job.state == "RUNNING").count(),
            "what runs is in the same answer"
        );
        let key = |job: &Job| (job.job_id.clone(), job.submit_time, job.attempt);
        let accounted: BTreeMap<_, &Job> = jobs.iter().map(|job| (key(job), job)).collect();
        assert_eq!(accounted.len(), jobs.len(), "a key is one job's");
        let queued: BTreeMap<_, Job> =
            waiting.into_iter().map(|row| *row.job.unwrap()).map(|job| (key(&job), job)).collect();
        for (key, job) in &queued {
            match accounted.get(key) {
                Some(same) => {
                    assert_eq!(same.state, "PENDING");
                    assert_eq!(same.array_task_id, job.array_task_id);
                    assert_eq!((&same.user, &same.job_name), (&job.user, &job.job_name));
                    assert_eq!((same.req_cpus, same.req_mem_mb), (job.req_cpus, job.req_mem_mb));
                }
                None => {
                    assert!(job.eligible_time.is_none_or(|eligible| eligible > time(now)));
                    without_account += 1;
                }
            }
        }
        let pending = jobs.iter().filter(|job| job.state == "PENDING");
        assert!(pending.map(key).all(|key| queued.contains_key(&key)));
    }
    assert!(without_account > 0);
}

/// Whole hours: sreport has no others.
#[test]
fn sreport_adds_up_the_truth() {
    let (from, until) = (time("2026-11-11T05:00:00Z"), time("2026-11-12T17:00:00Z"));
    let site = site();
    let mut expected: BTreeMap<(&str, &str), (i64, i64)> = BTreeMap::new();
    let attempts = site.truth().attempts.iter().filter(|it| it.cluster == SLURM_CLUSTER);
    for attempt in attempts {
        let Some(start) = attempt.start else { continue };
        let end = attempt.end.unwrap_or(time(END)).min(until);
        let seconds = end.as_second() - start.max(from).as_second();
        if seconds > 0 {
            let used = expected.entry((attempt.account, attempt.user)).or_default();
            *used = (used.0 + seconds * attempt.cpus, used.1 + seconds * attempt.gpus);
        }
    }
    let rows = asked(END, &slurm::sreport(from, until, Some(SLURM_CLUSTER)), Sreport::new());
    let mut printed: BTreeMap<(&str, &str), (i64, i64)> = BTreeMap::new();
    for row in &rows {
        let Some(user) = &row.user else { continue };
        let used = printed.entry((&row.account, user)).or_default();
        match row.resource.as_str() {
            "cpu" => used.0 = row.seconds,
            "gres/gpu" => used.1 = row.seconds,
            other => panic!("{other}"),
        }
    }
    assert!(expected.len() > 10);
    assert_eq!(printed, expected);
    let of_account = |account: &str| {
        let is_whole = |row: &&slurm::Utilization| {
            (row.account.as_str(), &row.user, row.resource.as_str()) == (account, &None, "cpu")
        };
        rows.iter().find(is_whole).map(|row| row.seconds)
    };
    let ml = expected.iter().filter(|((account, _), _)| *account == "ml");
    assert_eq!(of_account("ml"), Some(ml.map(|(_, (cpu, _))| cpu).sum()));
}

/// With `--array` each task is a row, also of those that wait together.
#[test]
fn the_queue_of_the_moment_has_each_task() {
    let now = "2026-11-12T12:34:00Z";
    let site = site();
    let attempts = site.slurm.attempts.iter();
    let of_state = |state: State| {
        let is_so = |it: &&Attempt| it.state_at(moment(time(now))) == Some(state);
        attempts.clone().filter(is_so).map(|it| i64::from(it.gpus())).collect::<Vec<_>>()
    };
    let jobs = asked(now, &slurm::squeue_current(None), SqueueCurrent::new());
    for (phase, state) in [(Phase::Holds, State::Running), (Phase::Waits, State::Pending)] {
        let expected = of_state(state);
        let printed: Vec<_> = jobs.iter().filter(|job| job.phase == phase).collect();
        assert!(expected.len() > 5, "{phase:?}");
        assert_eq!(printed.len(), expected.len(), "{phase:?}");
        let gpus: i64 = printed.iter().map(|job| job.gpus.unwrap_or(0)).sum();
        assert_eq!(gpus, expected.iter().sum::<i64>(), "{phase:?}");
    }
    let is_placed =
        |job: &&CurrentJob| job.node_names.as_ref().map(|names| names.len() as i64) == job.nodes;
    assert!(jobs.iter().filter(|job| job.phase == Phase::Holds).all(|job| is_placed(&job)));
    assert!(jobs.iter().all(|job| !job.job_id.contains('[')));
}

#[test]
fn versions_and_settings_are_printed() {
    let check = |command: &Command, part: &str| {
        let arguments: Vec<&str> = command.arguments.iter().map(String::as_str).collect();
        let text = run(&site(), time(END), command.program, &arguments).unwrap();
        assert!(text.contains(part), "{command:?}: {text}");
    };
    for program in ["sacct", "squeue", "scontrol", "sinfo", "sacctmgr", "sreport"] {
        check(&slurm::version_of(program), "slurm 22.05.8");
    }
    check(&slurm::scontrol_show_config(), "ClusterName             = alder\n");
    check(&slurm::sacctmgr_show_configuration(), "PurgeJobAfter          = NONE\n");
    check(&slurm::sacct_users(), "wli\n");
    let htcondor = |program: &'static str, arguments: &[&str]| Command {
        program,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        time_limit: Duration::from_secs(1),
    };
    check(&slurm::scontrol_show_config(), "JobAcctGatherType       = jobacct_gather/cgroup\n");
    check(&slurm::sacctmgr_show_configuration(), "PurgeStepAfter         = NONE\n");
    check(&htcondor("condor_q", &["-version"]), "$CondorVersion: ");
    let settings = htcondor::history_settings("ap2001.tamarack.example.org");
    check(&settings, "true\nNot defined\nNot defined\n1073741824\nNot defined\n");
    // Real releases refuse this, too.
    assert!(run(&site(), time(END), "condor_history", &["-version"]).is_err());
    check(&htcondor("condor_q", &["-allusers", "-totals"]), "Total for query: ");
    let last = json("condor_history", END, &["-epochs", "-json", "-limit", "1"]);
    assert_eq!(last.len(), 1);
}

/// A command simulates the site, once for all clusters; the clock alone does not.
#[test]
fn a_simulation_has_a_clock_and_one_site() {
    let simulation = Simulation::new(small(7), time("2026-11-12T00:00:00Z"));
    let clone = simulation.clone();
    // Both times are in the past or in the future of whoever runs this: the clock lies between.
    let now = simulation.machine(SLURM_CLUSTER).now();
    assert!((time("2026-11-12T00:00:00Z")..=time(END)).contains(&now), "{now}");
    assert!(!simulation.is_simulated());
    let machine = clone.machine(CONDOR_POOL);
    machine.run(&htcondor::daemons(), &mut |_| {}).unwrap();
    assert!(simulation.is_simulated());
}
