use std::collections::BTreeMap;

use record::{
    AccessPoint, Collection, GpuCount, JobCount, Live, Negotiator, NodeSpan, RecentUse, Seen,
    SeenNode,
};
use report::Family;

use super::*;
use crate::{Judgement, Pattern};

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// `name state partitions cpus/allocated gpu-types/held-types`, `-` for none.
fn node(line: &str) -> SeenNode {
    let cells: Vec<&str> = line.split(' ').collect();
    let [name, state, partitions, cpus, gpus] = cells[..] else { panic!("{line}") };
    let (cpus, allocated) = cpus.split_once('/').unwrap();
    let (types, held) = gpus.split_once('/').unwrap();
    let named = |list: &str| (list != "-").then(|| list.into());
    let count = |list: &str| {
        list.split(',').filter_map(|item| item.split_once('=')?.1.parse::<i64>().ok()).sum()
    };
    let is_away = away_in(state);
    SeenNode {
        node: NodeSpan {
            cluster: "maple".into(),
            node: name.into(),
            start_time: time(1000),
            end_time: time(1600),
            last_seen_time: time(1000),
            samples: 1,
            state: state.into(),
            reason: is_away.then(|| "a \"bad\" disk".into()),
            reason_user: is_away.then(|| "root".into()),
            reason_time: is_away.then(|| time(500)),
            partitions: Some(partitions.into()),
            reservation: None,
            cpus: cpus.parse().ok(),
            effective_cpus: None,
            alloc_cpus: allocated.parse().ok(),
            memory_mb: Some(1000.0),
            alloc_memory_mb: Some(250.0),
            gpus: Some(count(types)),
            alloc_gpus: Some(count(held)),
            gpu_types: named(types),
            alloc_gpu_types: named(held),
        },
        cpu_load: Some(1.5),
        free_memory_mb: Some(600.0),
        weight: Some(2),
    }
}

fn away_in(state: &str) -> bool {
    record::away(state).is_some()
}

/// `state partition account user reason jobs cpus gpus`.
fn jobs(line: &str) -> JobCount {
    let cells: Vec<&str> = line.split(' ').collect();
    let text = |index: usize| (cells[index] != "-").then(|| cells[index].into());
    JobCount {
        state: cells[0].into(),
        partition: text(1),
        account: text(2),
        user: text(3),
        reason: text(4),
        jobs: cells[5].parse().unwrap(),
        cpus: cells[6].parse().ok(),
        gpus: cells[7].parse().ok(),
        memory_mb: Some(100.0),
        eligible_time: (cells[4] != "-").then(|| time(700)),
        ..JobCount::default()
    }
}

fn run(source: &str, second: i64, error: Option<&str>) -> Collection {
    Collection {
        cluster: "maple".into(),
        source: source.into(),
        start_time: time(second),
        window_start: None,
        window_end: None,
        duration_seconds: 0.25,
        bytes: 2048,
        records: 4,
        rejects: 1,
        changed: 0,
        error: error.map(Into::into),
    }
}

fn live() -> Live {
    let mut live = Live {
        cluster: "maple".into(),
        scheduler: "slurm".into(),
        cadence_seconds: 300.0,
        nodes: Some(Seen {
            time: time(1000),
            rows: [
                "c1 MIXED cpu 8/4 -/-",
                "g1 MIXED+DRAIN gpu,preempt 16/6 a100=4/a100=1",
                "g2 ALLOCATED gpu 16/16 a100=1,h100=1/h100=1",
                "g3 IDLE gpu 16/0 h100=2/-",
                "d1 DOWN+NOT_RESPONDING cpu 8/0 -/-",
                "r1 IDLE+RESERVED cpu 8/0 -/-",
            ]
            .map(node)
            .into(),
        }),
        jobs: Some(Seen {
            time: time(1010),
            rows: [
                "RUNNING gpu ml ann - 2 14 2",
                "RUNNING cpu physics bob - 1 12 0",
                "PENDING gpu,preempt ml ann Resources 3 24 6",
                "PENDING cpu physics cat Dependency 1 1 0",
                "PENDING cpu physics cat Priority 1 1 -",
                "CANCELLED cpu physics bob - 1 1 0",
            ]
            .map(jobs)
            .into(),
        }),
        collected_ratio: Some(0.5),
        ..Live::default()
    };
    for (source, second, error) in
        [("scontrol", 1000, None), ("squeue", 1010, None), ("squeue", 1300, Some("timed out"))]
    {
        live.source(source).note(&run(source, second, error));
    }
    live
}

/// The samples of a family, one a line, in the order of their labels.
fn shown(families: &[Family], name: &str) -> Vec<String> {
    let family = families.iter().find(|family| family.sample_name() == name);
    let family = family.unwrap_or_else(|| panic!("there is no {name}"));
    let mut lines: Vec<String> = family
        .samples
        .iter()
        .filter_map(|sample| Some(format!("{} {}", sample.labels.join(" "), sample.value?)))
        .collect();
    lines.sort();
    lines
}

fn check(families: &[Family], name: &str, expected: &[&str]) {
    assert_eq!(shown(families, name), expected, "{name}");
}

fn ours(now: i64) -> Vec<Family> {
    own(&[live()], &MetricOptions::default(), &Judgement::default(), time(now))
}

#[test]
fn a_source_that_failed_is_not_up_and_its_age_goes_on() {
    let families = ours(1400);
    check(&families, "plimsoll_up", &["maple 0"]);
    check(&families, "plimsoll_source_up", &["maple scontrol 1", "maple squeue 0"]);
    // 1400 - 1000 and 1400 - 1010: the failure at 1300 is no success.
    check(&families, "plimsoll_source_age_seconds", &["maple scontrol 400", "maple squeue 390"]);
    check(&families, "plimsoll_source_commands_total", &["maple scontrol 1", "maple squeue 2"]);
    check(&families, "plimsoll_source_failures_total", &["maple scontrol 0", "maple squeue 1"]);
    check(
        &families,
        "plimsoll_source_busy_seconds_total",
        &["maple scontrol 0.25", "maple squeue 0.5"],
    );
    check(&families, "plimsoll_source_rejects", &["maple scontrol 1", "maple squeue 1"]);
    check(&families, "plimsoll_collected_ratio", &["maple 0.5"]);
    // What was last seen is still shown, and not as zero.
    assert_eq!(shown(&families, "plimsoll_jobs").len(), 5);
    // Three cycles of 300 s after 1000 the nodes are no longer fresh either.
    check(&ours(1901), "plimsoll_source_up", &["maple scontrol 0", "maple squeue 0"]);
}

#[test]
fn what_was_never_seen_has_no_numbers() {
    let families = own(
        &[Live { cluster: "birch".into(), ..Live::default() }],
        &MetricOptions::default(),
        &Judgement::default(),
        time(0),
    );
    let known: Vec<&str> = families
        .iter()
        .filter(|family| family.samples.iter().any(|sample| sample.value.is_some()))
        .map(|family| family.name)
        .collect();
    assert_eq!(known, ["plimsoll_up", "plimsoll_cadence_seconds"]);
    check(&families, "plimsoll_up", &["birch 0"]);
}

#[test]
fn cpus_and_gpus_of_reserved_nodes_are_told_apart_from_the_others() {
    let mut live = live();
    let nodes = &mut live.nodes.as_mut().unwrap().rows;
    // c1: 4 of 8 CPUs are held. g3: 16 free CPUs and two idle h100.
    for name in ["c1", "g3"] {
        let node = nodes.iter_mut().find(|seen| seen.node.node == name).unwrap();
        node.node.reservation = Some("course".into());
    }
    let families = own(&[live], &MetricOptions::default(), &Judgement::default(), time(1400));
    let of_course = |name: &str| -> Vec<String> {
        shown(&families, name).into_iter().filter(|line| line.contains("course")).collect()
    };
    assert_eq!(of_course("plimsoll_cpus"), ["maple course allocated 4", "maple course idle 20"]);
    assert_eq!(
        of_course("plimsoll_gpus"),
        ["maple course h100 allocated 0", "maple course h100 idle 2"]
    );
    // The others: 6 + 16 held.
    assert!(shown(&families, "plimsoll_cpus").contains(&"maple  allocated 22".to_owned()));
}

#[test]
fn nodes_keep_their_states_and_shares_add_up() {
    let families = ours(1400);
    check(
        &families,
        "plimsoll_nodes",
        &[
            "maple allocated 1",
            "maple down+not_responding 1",
            "maple idle 1",
            "maple idle+reserved 1",
            "maple mixed 1",
            "maple mixed+drain 1",
        ],
    );
    check(&families, "plimsoll_nodes_usable", &["maple 4"]);
    // 4 + 6 + 16 held; 4 + 16 free, and 8 on the reserved node; 10 of the draining node; 8 of the one
    // that is down: 72. The empty word is for no reservation.
    check(
        &families,
        "plimsoll_cpus",
        &[
            "maple  allocated 26",
            "maple  down 8",
            "maple  draining 10",
            "maple  idle 20",
            "maple unknown idle 8",
        ],
    );
    // Of g1 1 of 4 is held; of g2 the a100 is free and no CPU is; of g3 both are idle.
    check(
        &families,
        "plimsoll_gpus",
        &[
            "maple  a100 allocated 1",
            "maple  a100 draining 3",
            "maple  a100 idle 0",
            "maple  a100 stranded 1",
            "maple  h100 allocated 1",
            "maple  h100 idle 2",
        ],
    );
    check(
        &families,
        "plimsoll_partition_gpus",
        &[
            "maple gpu a100 allocated 1",
            "maple gpu a100 draining 3",
            "maple gpu a100 stranded 1",
            "maple gpu h100 allocated 1",
            "maple gpu h100 idle 2",
            "maple preempt a100 allocated 1",
            "maple preempt a100 draining 3",
        ],
    );
    check(&families, "plimsoll_reservation_nodes", &["maple unknown 1"]);
    check(
        &families,
        "plimsoll_node_away_timestamp_seconds",
        &["maple d1 down a \"bad\" disk root 500", "maple g1 draining a \"bad\" disk root 500"],
    );
    let always = MetricOptions { idle_gpu: IdleGpu::Always, ..MetricOptions::default() };
    let families = own(&[live()], &always, &Judgement::default(), time(1400));
    assert!(shown(&families, "plimsoll_gpus").contains(&"maple  a100 idle 1".to_owned()));
}

#[test]
fn jobs_are_counted_once_and_what_is_unknown_is_not_added() {
    let families = ours(1400);
    check(
        &families,
        "plimsoll_jobs",
        &[
            "maple cpu cancelled 1",
            "maple cpu pending 2",
            "maple cpu running 1",
            "maple gpu running 2",
            "maple gpu,preempt pending 3",
        ],
    );
    check(&families, "plimsoll_waiting_gpus", &["maple Dependency 0", "maple Resources 6"]);
    check(
        &families,
        "plimsoll_waiting_since_timestamp_seconds",
        &["maple cpu 700", "maple gpu,preempt 700"],
    );
    check(
        &families,
        "plimsoll_account_cpus",
        &[
            "maple ml pending 24",
            "maple ml running 14",
            "maple physics cancelled 1",
            "maple physics pending 2",
            "maple physics running 12",
        ],
    );
}

#[test]
fn only_so_many_users_have_numbers_of_their_own() {
    let two = MetricOptions { top: 1, ..MetricOptions::default() };
    let families = own(&[live()], &two, &Judgement::default(), time(1400));
    // ann holds the GPUs, so bob and cat are the others: 1 job runs, 2 wait, 1 was cancelled.
    check(
        &families,
        "plimsoll_user_jobs",
        &[
            "maple (others) cancelled 1",
            "maple (others) pending 2",
            "maple (others) running 1",
            "maple ann pending 3",
            "maple ann running 2",
        ],
    );
}

#[test]
fn a_pool_shows_both_sides_of_its_gpus() {
    let count = |machine: &str, primary: &str, backfill: &str, is_prioritized, gpus| GpuCount {
        machine: machine.into(),
        model: Some("H200".into()),
        primary_state: Some(primary.into()),
        backfill_state: (backfill != "-").then(|| backfill.into()),
        is_prioritized,
        gpus,
        ..GpuCount::default()
    };
    let live = Live {
        cluster: "pool".into(),
        gpus: Some(Seen {
            time: time(1000),
            rows: vec![
                count("smithgpu1", "Claimed", "Unclaimed", true, 3),
                count("smithgpu1", "Unclaimed", "Unclaimed", false, 2),
                count("gpu1", "Unclaimed", "Claimed", false, 1),
                count("campus1", "Unclaimed", "Unclaimed", false, 4),
                GpuCount {
                    is_prevented: true,
                    ..count("campus1", "Unclaimed", "Unclaimed", false, 8)
                },
                count("gpu2", "Claimed", "-", false, 5),
                count("gpulab1", "Claimed", "Unclaimed", false, 100),
            ],
        }),
        access_points: Some(Seen {
            time: time(1000),
            rows: vec![AccessPoint {
                name: "ap1".into(),
                heard_time: Some(time(990)),
                update_time: Some(time(995)),
            }],
        }),
        negotiators: Some(Seen {
            time: time(1000),
            rows: vec![Negotiator {
                name: "cm".into(),
                update_time: Some(time(996)),
                cycle_end_time: Some(time(980)),
                cycle_seconds: Some(2.0),
                cycle_matches: None,
            }],
        }),
        recent_use: vec![RecentUse {
            window: "24h".into(),
            time: Some(time(1000)),
            values: BTreeMap::from([
                ("cpu_seconds".into(), Some(7200.0)),
                ("cpu_seconds_wasted".into(), None),
                ("memory_mib_seconds_wasted".into(), Some(2.0)),
                ("open_hours".into(), Some(1.5)),
                ("evicted".into(), Some(3.0)),
            ]),
        }],
        ..Live::default()
    };
    let judgement = Judgement {
        institution_owned: vec![Pattern::new("campus*").unwrap()],
        masks: vec![(Pattern::new("gpulab*").unwrap(), "for interactive work".into())],
        ..Judgement::default()
    };
    let families = own(&[live], &MetricOptions::default(), &judgement, time(1400));
    check(
        &families,
        "plimsoll_slot_gpus",
        &[
            "pool H200 Backfill-CHTCOwned backfill unclaimed 12",
            "pool H200 Backfill-OpenCapacity backfill claimed 1",
            // Where projects come first on one slot of a machine, its backfill is the researcher's.
            "pool H200 Backfill-ResearcherOwned backfill unclaimed 5",
            "pool H200 Priority-ResearcherOwned primary claimed 3",
            "pool H200 Shared primary claimed 5",
            // 2 + 1 + 4 + 8: the institution's machine has no projects that come first.
            "pool H200 Shared primary unclaimed 15",
        ],
    );
    check(
        &families,
        "plimsoll_backfill_open_gpus",
        &[
            "pool H200 Backfill-CHTCOwned 4",
            "pool H200 Backfill-OpenCapacity 0",
            "pool H200 Backfill-ResearcherOwned 2",
        ],
    );
    check(&families, "plimsoll_access_point_heard_timestamp_seconds", &["pool ap1 990"]);
    check(&families, "plimsoll_access_point_update_timestamp_seconds", &["pool ap1 995"]);
    check(&families, "plimsoll_negotiator_update_timestamp_seconds", &["pool cm 996"]);
    check(&families, "plimsoll_negotiator_cycle_timestamp_seconds", &["pool cm 980"]);
    check(&families, "plimsoll_negotiator_cycle_matches", &[]);
    check(&families, "plimsoll_recent_timestamp_seconds", &["pool 24h 1000"]);
    check(&families, "plimsoll_recent_backfill_open_seconds", &["pool 24h 5400"]);
    check(&families, "plimsoll_recent_backfill_evictions", &["pool 24h 3"]);
    check(&families, "plimsoll_recent_cpu_reserved_seconds", &["pool 24h 7200"]);
    check(&families, "plimsoll_recent_cpu_wasted_seconds", &[]);
    check(&families, "plimsoll_recent_memory_wasted_byte_seconds", &["pool 24h 2097152"]);
}

/// Each name and its labels as the source of vpenso's exporter has them, but for those of `sdiag`
/// and `sshare`.
#[test]
fn the_names_of_vpenso() {
    let mut live = live();
    live.jobs.as_mut().unwrap().rows.push(jobs("SUSPENDED cpu physics bob - 1 1 0"));
    let families = vpenso::vpenso(&live);
    let names: Vec<String> = families
        .iter()
        .filter(|family| !family.samples.is_empty())
        .map(|family| format!("{}{{{}}}", family.name, family.labels.join(",")))
        .collect();
    let expected = "
        slurm_cpus_alloc{} slurm_cpus_idle{} slurm_cpus_other{} slurm_cpus_total{}
        slurm_gpus_alloc{} slurm_gpus_idle{} slurm_gpus_total{} slurm_gpus_utilization{}
        slurm_nodes_alloc{} slurm_nodes_comp{} slurm_nodes_down{} slurm_nodes_drain{}
        slurm_nodes_err{} slurm_nodes_fail{} slurm_nodes_idle{} slurm_nodes_maint{}
        slurm_nodes_mix{} slurm_nodes_resv{}
        slurm_node_cpu_alloc{node,status} slurm_node_cpu_idle{node,status}
        slurm_node_cpu_other{node,status} slurm_node_cpu_total{node,status}
        slurm_node_mem_alloc{node,status} slurm_node_mem_total{node,status}
        slurm_partition_cpus_allocated{partition} slurm_partition_cpus_idle{partition}
        slurm_partition_cpus_other{partition} slurm_partition_cpus_total{partition}
        slurm_queue_pending{} slurm_queue_pending_dependency{} slurm_queue_running{}
        slurm_queue_suspended{} slurm_queue_cancelled{} slurm_queue_completing{}
        slurm_queue_completed{} slurm_queue_configuring{} slurm_queue_failed{}
        slurm_queue_timeout{} slurm_queue_preempted{} slurm_queue_node_fail{}
        slurm_partition_jobs_pending{partition}
        slurm_account_jobs_pending{account} slurm_account_jobs_running{account}
        slurm_account_cpus_running{account} slurm_account_jobs_suspended{account}
        slurm_user_jobs_pending{user} slurm_user_jobs_running{user}
        slurm_user_cpus_running{user} slurm_user_jobs_suspended{user}";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());

    check(&families, "slurm_cpus_other", &[" 18"]);
    check(&families, "slurm_cpus_total", &[" 72"]);
    check(&families, "slurm_gpus_utilization", &[" 0.25"]);
    check(&families, "slurm_nodes_drain", &[" 1"]);
    check(&families, "slurm_nodes_resv", &[" 1"]);
    check(&families, "slurm_queue_pending", &[" 5"]);
    check(&families, "slurm_queue_pending_dependency", &[" 1"]);
    check(&families, "slurm_queue_timeout", &[" 0"]);
    // A job that waits for two partitions is in both; nobody waits for a partition of no name.
    check(&families, "slurm_partition_jobs_pending", &["cpu 2", "gpu 3", "preempt 3"]);
    check(&families, "slurm_user_cpus_running", &["ann 14", "bob 12"]);
    let status = shown(&families, "slurm_node_cpu_other");
    assert!(status.contains(&"d1 down* 8".to_owned()), "{status:?}");
    assert!(status.contains(&"g1 draining 10".to_owned()), "{status:?}");
}

#[test]
fn the_names_of_rivosinc() {
    let families = rivosinc::rivosinc(&live());
    let names: Vec<String> = families
        .iter()
        .filter(|family| !family.samples.is_empty())
        .map(|family| format!("{}{{{}}}", family.sample_name(), family.labels.join(",")))
        .collect();
    let expected = "
        slurm_cpus_total{} slurm_cpus_idle{} slurm_cpu_load{} slurm_mem_real{} slurm_mem_free{}
        slurm_mem_alloc{} slurm_cpus_per_state{state} slurm_node_count_per_state{state}
        slurm_partition_total_cpus{partition} slurm_partition_idle_cpus{partition}
        slurm_partition_cpu_load{partition} slurm_partition_real_mem{partition}
        slurm_partition_free_mem{partition} slurm_partition_weight{partition}
        slurm_partition_alloc_cpus{partition,state} slurm_partition_alloc_mem{partition,state}
        slurm_partition_node_count{partition,state}
        slurm_user_state_total{username,state} slurm_user_cpu_alloc{username,state}
        slurm_user_mem_alloc{username,state} slurm_account_job_state_total{account,state}
        slurm_account_job_state_cpu_alloc{account,state}
        slurm_account_job_state_mem_alloc{account,state}
        slurm_partition_job_state_total{partition,state} slurm_pending_reason_total{reason}
        slurm_job_scrape_duration{} slurm_job_scrape_error{}
        slurm_node_scrape_duration{} slurm_node_scrape_error{}";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    // Six nodes of 1000 MB of which 600 are free.
    check(&families, "slurm_mem_alloc", &[" 2400000000"]);
    check(&families, "slurm_cpus_idle", &[" 28"]);
    check(&families, "slurm_pending_reason_total", &["Dependency 1", "Priority 1", "Resources 3"]);
    check(&families, "slurm_job_scrape_error", &[" 1"]);
    check(
        &families,
        "slurm_user_state_total",
        &["ann PENDING 3", "ann RUNNING 2", "bob CANCELLED 1", "bob RUNNING 1", "cat PENDING 2"],
    );
}

#[test]
fn the_names_of_the_origin() {
    let families = origin::origin(&live());
    check(&families, "slurm_cpus_total", &["None 64", "unknown 8"]);
    check(&families, "slurm_cpus_idle", &["None 20", "unknown 8"]);
    check(&families, "slurm_cpus_drain", &["None 18", "unknown 0"]);
    check(&families, "slurm_gpus_idle", &["a100 None 0", "h100 None 2"]);
    check(&families, "slurm_gpus_drain", &["a100 None 4", "h100 None 0"]);
    let states = shown(&families, "slurm_node_states");
    assert_eq!(states[..3], ["c1 mixed 1", "d1 down 1", "g1 drained 1"]);
    check(&families, "slurm_job_states", &["CANCELLED 1", "PENDING 5", "RUNNING 3"]);
    check(&families, "slurm_partitions", &["cpu 4", "gpu 5", "preempt 3"]);
}

#[test]
fn a_state_is_one_word_and_a_mark_for_sinfo() {
    for (state, shown) in [
        ("MIXED", "mixed"),
        ("MIXED+DRAIN", "draining"),
        ("IDLE+DRAIN", "drained"),
        ("DOWN+NOT_RESPONDING", "down*"),
        ("DOWN+DRAIN+NOT_RESPONDING", "drained*"),
        ("ALLOCATED+COMPLETING", "allocated+"),
        ("IDLE+COMPLETING", "completing"),
        ("IDLE+POWERED_DOWN", "idle~"),
        ("IDLE+POWERING_UP", "idle#"),
        ("IDLE+RESERVED", "reserved"),
        ("IDLE+PLANNED", "planned"),
        ("IDLE+MAINT+RESERVED", "maint"),
        ("MAINT+RESERVED", "maint"),
        ("FUTURE", "future"),
        ("INVAL", "inval"),
        ("UNKNOWN+NOT_RESPONDING", "unknown*"),
    ] {
        assert_eq!(sinfo::sinfo_state(state), shown, "{state}");
    }
}

#[test]
fn what_is_left_of_allocations_is_told_in_their_units() {
    use report::{Column, Coverage, Period, Report, Table, Unit, Value};
    let names = ["allocation", "unit", "granted", "used_percent", "remaining"];
    let column =
        |name: &str| Column { name: name.to_owned(), heading: String::new(), unit: Unit::Label };
    let text = |text: &str| Value::Text(text.to_owned());
    let known = vec![
        text("lab"),
        text("gpu-hour"),
        Value::Number(8.0),
        Value::Number(25.0),
        Value::Number(6.0),
    ];
    let unknown =
        vec![text("guess"), text("rgu-year"), Value::Number(1.0), Value::Unknown, Value::Unknown];
    let zone = jiff::tz::TimeZone::UTC;
    let report = Report {
        name: String::new(),
        title: String::new(),
        period: Period { start: time(0), end: time(1), zone },
        coverage: Coverage::default(),
        table: Table { columns: names.map(column).into(), rows: vec![known, unknown] },
        charts: Vec::new(),
        notes: Vec::new(),
    };
    let families = granted_families(Some(&report));
    let values = |name: &str| {
        let family = families.iter().find(|family| family.name == name).unwrap();
        family.samples.iter().map(|sample| sample.value).collect::<Vec<_>>()
    };
    assert_eq!(values("plimsoll_allocation_granted"), [Some(8.0), Some(1.0)]);
    assert_eq!(values("plimsoll_allocation_used_ratio"), [Some(0.25), None]);
    assert_eq!(values("plimsoll_allocation_remaining"), [Some(6.0), None]);
    assert_eq!(families[0].samples[0].labels, ["lab", "gpu-hour"]);
}
