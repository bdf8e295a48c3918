use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::MergeRule;

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// An attempt that waits, as the queue shows it.
fn waiting() -> Job {
    Job {
        cluster: "maple".into(),
        job_id: "7".into(),
        submit_time: time(1000),
        attempt: 0,
        observed_time: time(1000),
        source: "squeue".into(),
        array_job_id: None,
        array_task_id: None,
        het_job_id: None,
        het_offset: None,
        user: None,
        unix_group: None,
        account: None,
        job_name: None,
        partition: None,
        qos: None,
        reservation: None,
        state: "PENDING".into(),
        is_complete: false,
        exit_code: None,
        exit_signal: None,
        reason: None,
        end_reason: None,
        eligible_time: None,
        start_time: None,
        end_time: None,
        time_limit_seconds: None,
        elapsed_seconds: None,
        suspended_seconds: None,
        node_list: None,
        slot: None,
        gpu_ids: None,
        alloc_nodes: None,
        alloc_cpus: None,
        alloc_mem_mb: None,
        alloc_gpus: None,
        gpu_types: None,
        req_nodes: None,
        req_cpus: None,
        req_mem_mb: None,
        req_gpus: None,
        max_rss_mb: None,
        total_cpu_seconds: None,
        usage_source: None,
        cpu_efficiency: None,
        memory_efficiency: None,
        cpu_hours_wasted: None,
        memory_gb_hours_wasted: None,
        cpu_hours_reserved: None,
        memory_gb_hours_reserved: None,
        gpu_hours_reserved: None,
        gpu_utilization: None,
        gpu_memory_max_mb: None,
        gpu_usage_source: None,
        energy_joules: None,
        earlier_values: None,
    }
}

/// The same attempt after it ran for an hour on two CPUs, observed at a second, without measurements.
fn ended(source: &str, second: i64) -> Job {
    let mut job = Job {
        observed_time: time(second),
        source: source.into(),
        user: Some("ann".into()),
        state: "COMPLETED".into(),
        is_complete: true,
        start_time: Some(time(1000)),
        end_time: Some(time(4600)),
        elapsed_seconds: Some(3600),
        node_list: Some("n1".into()),
        alloc_cpus: Some(2),
        req_mem_mb: Some(4096.0),
        ..waiting()
    };
    job.set_usage();
    job
}

/// The same with CPU time and memory.
fn measured(
    source: &str,
    second: i64,
    total_cpu_seconds: Option<f64>,
    max_rss_mb: Option<f64>,
) -> Job {
    let mut job = Job { total_cpu_seconds, max_rss_mb, ..ended(source, second) };
    job.set_usage_source(source);
    job.set_usage();
    job
}

fn merged(one: &Job, other: &Job) -> Job {
    match merge(one, other) {
        MergeOutcome::First => one.clone(),
        MergeOutcome::Second => other.clone(),
        MergeOutcome::New(new) => *new,
    }
}

/// Merges all of some observations.
fn all(observations: &[&Job]) -> Job {
    let (first, others) = observations.split_first().unwrap();
    others.iter().fold((*first).clone(), |known, other| merged(&known, other))
}

/// CPU time, memory and their source, CPU and memory efficiency of two observations in either order.
fn usage(one: &Job, other: &Job) -> (Option<f64>, Option<f64>, String, Option<f64>, Option<f64>) {
    let job = merged(one, other);
    assert_eq!(job, merged(other, one));
    (
        job.total_cpu_seconds,
        job.max_rss_mb,
        job.usage_source.unwrap_or_default().into(),
        job.cpu_efficiency,
        job.memory_efficiency,
    )
}

/// 1,800 of 2 × 3,600 CPU seconds are 25 %, and 1,024 of 4,096 MiB too.
#[test]
fn measurements_survive_an_observation_after_the_steps_were_purged() {
    let first = measured("sacct", 5000, Some(1800.0), Some(1024.0));
    let expected = (Some(1800.0), Some(1024.0), "sacct".to_owned(), Some(25.0), Some(25.0));
    assert_eq!(usage(&first, &ended("sacct", 9000)), expected);
    // The steps of the first hours were purged, those of the last one were not.
    let partly_purged = measured("sacct", 8000, Some(600.0), Some(512.0));
    assert_eq!(usage(&first, &partly_purged), expected);
    // A step that was purged down to its zeros.
    assert_eq!(usage(&first, &measured("sacct", 8000, Some(0.0), None)), expected);
    // The state is that of the latest observation.
    let failed = Job { state: "FAILED".into(), ..ended("sacct", 9000) };
    let job = merged(&first, &failed);
    assert_eq!((job.state.as_str(), job.observed_time), ("FAILED", time(9000)));
}

#[test]
fn measurements_of_two_sources_complete_each_other() {
    let cpu = measured("sacct", 9000, Some(1800.0), None);
    let memory = measured("slurm-usage", 5000, None, Some(1024.0));
    let both = (Some(1800.0), Some(1024.0), "sacct+slurm-usage".to_owned(), Some(25.0), Some(25.0));
    assert_eq!(usage(&cpu, &memory), both);
    // Both have a larger value at one of the two: neither is from the same steps as the other's.
    let imported = measured("slurm-usage", 5000, Some(900.0), Some(1024.0));
    assert_eq!(usage(&cpu, &imported), both);
    // Equal values are those of the scheduler.
    let collected = measured("sacct", 9000, Some(900.0), Some(1024.0));
    assert_eq!(usage(&collected, &imported).2, "sacct");
    // A copy may be rounded up: the access point's own value counts.
    let exact = measured("condor_history", 5000, Some(60.0), Some(4.71875));
    let rounded = measured("elasticsearch", 9000, Some(60.0), Some(4.8828125));
    assert_eq!(usage(&exact, &rounded).1, Some(4.71875));
    assert_eq!(merged(&exact, &rounded).source, "condor_history");
}

#[test]
fn a_mean_of_gpu_use_counts_before_a_largest_sample() {
    let sampled = Job {
        gpu_utilization: Some(90.0),
        gpu_memory_max_mb: Some(2000.0),
        gpu_usage_source: Some("gres/gpuutil".into()),
        ..ended("sacct", 5000)
    };
    let mean = Job {
        gpu_utilization: Some(40.0),
        gpu_usage_source: Some("JS1".into()),
        ..ended("sacct", 9000)
    };
    let job = merged(&sampled, &mean);
    assert_eq!(job, merged(&mean, &sampled));
    assert_eq!((job.gpu_utilization, job.gpu_memory_max_mb), (Some(40.0), Some(2000.0)));
    assert_eq!(job.gpu_usage_source.as_deref(), Some("JS1+gres/gpuutil"));
}

#[test]
fn a_known_value_is_kept_where_a_later_observation_lacks_it() {
    let queued = Job {
        observed_time: time(1500),
        qos: Some("high".into()),
        partition: Some("cpu".into()),
        reason: Some("Priority".into()),
        time_limit_seconds: Some(60),
        ..waiting()
    };
    let moved = Job { observed_time: time(2000), qos: Some("low".into()), ..queued.clone() };
    let end = Job { partition: Some("gpu".into()), ..ended("sacct", 9000) };
    let job = all(&[&queued, &end, &moved]);
    for order in [[&moved, &queued, &end], [&end, &moved, &queued], [&end, &queued, &moved]] {
        assert_eq!(all(&order), job);
    }
    // Of two earlier values the later one counts; the latest observation knows the partition.
    assert_eq!((job.qos.as_deref(), job.partition.as_deref()), (Some("low"), Some("gpu")));
    assert_eq!(job.earlier_values.as_deref(), Some("qos=squeue/waiting/1970-01-01T00:33:20Z"));
    // Why it waited and how long it may take are what the latest observation says.
    assert_eq!((job.reason, job.time_limit_seconds), (None, None));
}

/// SLURM purges reservations (`PurgeResvAfter`), and then prints a blank for each job that ran in one.
#[test]
fn a_reservation_survives_its_purge() {
    let first = Job { reservation: Some("course".into()), ..ended("sacct", 5000) };
    let job = merged(&first, &ended("sacct", 9000));
    assert_eq!(job, merged(&ended("sacct", 9000), &first));
    assert_eq!((job.reservation.as_deref(), job.observed_time), (Some("course"), time(9000)));
}

#[test]
fn an_ended_attempt_keeps_its_times_and_one_that_runs_has_the_latest() {
    let running = Job {
        is_complete: false,
        end_time: None,
        time_limit_seconds: Some(60),
        elapsed_seconds: Some(600),
        ..ended("sacct", 2000)
    };
    let lifted = Job { observed_time: time(3000), time_limit_seconds: None, ..running.clone() };
    assert_eq!(merged(&running, &lifted).time_limit_seconds, None);
    // The time that it had run so far is not the time that it ran.
    let bare = Job { elapsed_seconds: None, ..ended("sacct", 9000) };
    assert_eq!(all(&[&running, &bare, &lifted]).elapsed_seconds, None);
    let whole = Job { suspended_seconds: Some(7), ..ended("sacct", 8000) };
    for order in [[&running, &bare, &whole], [&whole, &running, &bare], [&bare, &whole, &running]] {
        let job = all(&order);
        assert_eq!((job.elapsed_seconds, job.suspended_seconds), (Some(3600), Some(7)));
        assert_eq!(job.cpu_hours_reserved, Some(2.0));
        assert_eq!(
            job.earlier_values.as_deref(),
            Some(
                "elapsed_seconds=sacct/ended/1970-01-01T02:13:20Z, \
                 suspended_seconds=sacct/ended/1970-01-01T02:13:20Z"
            )
        );
    }
}

/// Energy is that of the steps: without some of them it is less.
#[test]
fn energy_survives_a_purge_of_some_steps() {
    let energy = |second, joules| Job { energy_joules: joules, ..ended("sacct", second) };
    let whole = energy(5000, Some(4000.0));
    for later in [energy(8000, Some(900.0)), energy(8000, None)] {
        let job = merged(&whole, &later);
        assert_eq!(job, merged(&later, &whole));
        assert_eq!((job.energy_joules, job.observed_time), (Some(4000.0), time(8000)));
    }
    // More steps were accounted for.
    assert_eq!(merged(&whole, &energy(8000, Some(5000.0))).energy_joules, Some(5000.0));
    // The archive read anew corrects it.
    assert_eq!(rederived(&energy(5000, Some(3000.0)), &whole).energy_joules, Some(3000.0));
    assert_eq!(rederived(&energy(5000, None), &whole).energy_joules, Some(4000.0));
}

#[test]
fn an_attempt_that_ended_does_not_run_again() {
    let running = Job {
        state: "RUNNING".into(),
        is_complete: false,
        end_time: None,
        ..measured("sacct", 9000, None, None)
    };
    let imported = measured("slurm-usage", 5000, Some(1800.0), None);
    for job in [merged(&running, &imported), merged(&imported, &running)] {
        assert_eq!((job.state.as_str(), job.source.as_str()), ("COMPLETED", "slurm-usage"));
    }
    // One that was closed without a known end may run on.
    let closed = Job { is_complete: true, observed_time: time(8000), ..running.clone() };
    assert_eq!(merged(&closed, &running), running);
}

#[test]
fn an_execution_keeps_the_gpus_and_the_start_that_only_its_queue_showed() {
    let queued = Job {
        observed_time: time(2000),
        source: "condor_q".into(),
        state: "RUNNING".into(),
        start_time: Some(time(1200)),
        gpu_ids: Some("GPU-1".into()),
        ..waiting()
    };
    let ad = Job { start_time: None, ..measured("condor_history", 9000, Some(60.0), None) };
    let document = measured("elasticsearch", 9500, None, Some(8.0));
    let job = all(&[&queued, &ad, &document]);
    assert_eq!(job, all(&[&document, &ad, &queued]));
    assert_eq!((job.source.as_str(), job.gpu_ids.as_deref()), ("condor_history", Some("GPU-1")));
    // The document is of the ended execution, the queue of the running one.
    assert_eq!(job.start_time, Some(time(1000)));
    assert_eq!(merged(&queued, &ad).start_time, Some(time(1200)));
    assert_eq!(job.usage_source.as_deref(), Some("condor_history+elasticsearch"));
}

/// The columns were added in a later version.
#[test]
fn a_row_of_an_older_version_has_the_source_of_its_row() {
    let old = Job { usage_source: None, ..measured("sacct", 5000, Some(1800.0), Some(1024.0)) };
    assert_eq!(usage(&old, &ended("sacct", 9000)).2, "sacct");
    assert_eq!(
        usage(&old, &measured("slurm-usage", 4000, Some(1900.0), None)).2,
        "slurm-usage+sacct"
    );
}

fn rederived(derived: &Job, stored: &Job) -> Job {
    match rederive(derived, stored) {
        MergeOutcome::First => derived.clone(),
        MergeOutcome::Second => stored.clone(),
        MergeOutcome::New(new) => *new,
    }
}

#[test]
fn the_archive_read_anew_corrects_values_and_keeps_those_that_it_lacks() {
    let stored = measured("sacct", 5000, Some(1800.0), Some(1024.0));
    let corrected = measured("sacct", 5000, Some(1700.0), None);
    let job = rederived(&corrected, &stored);
    assert_eq!((job.total_cpu_seconds, job.max_rss_mb), (Some(1700.0), Some(1024.0)));
    // The archive does not have what was imported.
    let imported = merged(&stored, &measured("slurm-usage", 4000, Some(1900.0), None));
    let job = rederived(&corrected, &imported);
    assert_eq!((job.total_cpu_seconds, job.max_rss_mb), (Some(1900.0), Some(1024.0)));
    // It does where the derived value is imported, too.
    let reread = measured("slurm-usage", 4000, Some(1800.0), None);
    let job = rederived(&reread, &measured("slurm-usage", 4000, Some(1900.0), Some(512.0)));
    assert_eq!((job.total_cpu_seconds, job.max_rss_mb), (Some(1800.0), Some(512.0)));
    let user = |name: &str| Job { user: Some(name.into()), ..ended("slurm-usage", 4000) };
    assert_eq!(rederived(&user("ann"), &user("an\u{fffd}")).user.as_deref(), Some("ann"));
    // A stored mean of GPU use whose answer is no longer archived counts before a derived largest sample.
    let gpu_use = |percent, source: &str| Job {
        gpu_utilization: Some(percent),
        gpu_usage_source: Some(source.into()),
        ..ended("sacct", 5000)
    };
    let (mean, sampled) = (gpu_use(40.0, "JS1"), gpu_use(90.0, "gres/gpuutil"));
    assert_eq!(rederived(&sampled, &mean).gpu_utilization, Some(40.0));
    assert_eq!(rederived(&gpu_use(30.0, "JS1"), &mean).gpu_utilization, Some(30.0));
    // An import may know the end of an attempt that the scheduler last showed running.
    let running = Job { is_complete: false, end_time: None, ..ended("sacct", 9000) };
    assert_eq!(rederived(&running, &ended("slurm-usage", 5000)).source, "slurm-usage");
}

/// Any observation of one attempt, at one of few times, with few values: they often meet.
fn observation() -> impl Strategy<Value = Job> {
    let texts = || option::of(select(vec!["a", "b", "c"]).prop_map(Text::from));
    let counts = || option::of(0..3i64);
    let numbers = || option::of(select(vec![0.0, 1.0, 2.0, 2.5]));
    (
        (0..3u8, 0..4i64, select(vec!["squeue", "sacct", "slurm-usage", "elasticsearch"])),
        proptest::collection::vec(texts(), 17),
        proptest::collection::vec(counts(), 14),
        proptest::collection::vec(numbers(), 7),
        option::of(select(vec!["JS1", "gres/gpuutil"])),
        any::<bool>(),
    )
        .prop_map(
            |((phase, second, source), texts, counts, numbers, gpu_source, is_failed)| {
                let has_ended = phase == 2;
                let mut texts = texts.into_iter();
                let mut text = || texts.next().unwrap();
                let mut counts = counts.into_iter();
                let mut count = || counts.next().unwrap();
                let mut numbers = numbers.into_iter();
                let mut number = || numbers.next().unwrap();
                // An ad of an ended execution may lack its start.
                let elapsed_seconds = count().map(|count| 60 * count);
                let has_started = phase == 1 || has_ended && elapsed_seconds.is_some();
                let mut job = Job {
                    observed_time: time(10_000 + second),
                    source: source.into(),
                    array_job_id: text(),
                    array_task_id: text(),
                    het_job_id: text(),
                    het_offset: count(),
                    user: text(),
                    unix_group: text(),
                    account: text(),
                    job_name: text(),
                    partition: text(),
                    qos: text(),
                    reservation: text(),
                    state: if is_failed { "FAILED".into() } else { "COMPLETED".into() },
                    is_complete: has_ended,
                    exit_code: count(),
                    exit_signal: count(),
                    reason: text(),
                    end_reason: text(),
                    eligible_time: count().map(time),
                    start_time: has_started.then(|| time(1000)),
                    end_time: has_ended.then(|| time(4600)),
                    time_limit_seconds: count(),
                    elapsed_seconds,
                    suspended_seconds: count(),
                    node_list: text(),
                    slot: text(),
                    gpu_ids: text(),
                    alloc_nodes: count(),
                    alloc_cpus: count(),
                    alloc_mem_mb: number(),
                    alloc_gpus: count(),
                    gpu_types: text(),
                    req_nodes: count(),
                    req_cpus: count(),
                    req_mem_mb: number(),
                    req_gpus: count(),
                    energy_joules: number(),
                    ..waiting()
                };
                if has_ended {
                    job.total_cpu_seconds = number();
                    job.max_rss_mb = number();
                    job.gpu_utilization = number();
                    job.gpu_memory_max_mb = number();
                    job.gpu_usage_source = job.gpu_utilization.and(gpu_source).map(Text::from);
                }
                job.set_usage_source(source);
                job.set_usage();
                job
            },
        )
}

/// The columns that may become unknown, and why.
const MAY_BECOME_UNKNOWN: [(&str, &str); 6] = [
    ("exit_code", "it belongs to the state: an eviction returns nothing"),
    ("exit_signal", "it belongs to the state"),
    ("reason", "an attempt that started no longer waits"),
    ("end_reason", "it belongs to the state: a closed attempt may be reported again"),
    ("end_time", "an attempt has none until its state is final"),
    ("gpu_usage_source", "a measurement of an older version has no source"),
];

/// The columns that may become unknown until the attempt has ended, and why.
const MAY_BECOME_UNKNOWN_BEFORE_THE_END: [(&str, &str); 3] = [
    ("time_limit_seconds", "a limit may be lifted"),
    ("elapsed_seconds", "it grows, and the last one before the end is not the whole"),
    ("suspended_seconds", "it grows, and the last one before the end is not the whole"),
];

/// The columns that must not become unknown, and whether each is known.
fn known(job: &Job, has_ended: bool) -> Vec<(&'static str, bool)> {
    let is_listed =
        |list: &[(&str, &str)], column: &str| list.iter().any(|(name, _)| *name == column);
    let may_become_unknown = |column: &str| {
        is_listed(&MAY_BECOME_UNKNOWN, column)
            || !has_ended && is_listed(&MAY_BECOME_UNKNOWN_BEFORE_THE_END, column)
    };
    let batch = Job::to_batch(&[job]);
    let columns = Job::TABLE.columns.iter().zip(batch.columns());
    columns
        .filter(|(column, _)| column.nullable && column.merge_rule != MergeRule::Derived)
        .filter(|(column, _)| !may_become_unknown(column.name))
        .map(|(column, cells)| (column.name, cells.null_count() == 0))
        .collect()
}

#[test]
fn every_column_that_may_become_unknown_is_listed_with_its_reason() {
    let with_rule = |rule| {
        let columns = Job::TABLE.columns.iter();
        columns.filter(move |column| column.merge_rule == rule && column.nullable)
    };
    let listed: Vec<&str> = MAY_BECOME_UNKNOWN[..5].iter().map(|(column, _)| *column).collect();
    let latest: Vec<&str> = with_rule(MergeRule::Latest).map(|column| column.name).collect();
    assert_eq!(latest, listed);
    let listed = MAY_BECOME_UNKNOWN_BEFORE_THE_END.map(|(column, _)| column);
    let ended: Vec<&str> = with_rule(MergeRule::Ended).map(|column| column.name).collect();
    assert_eq!(ended, listed);
}

#[test]
fn an_extent_of_other_columns_must_be_read() {
    let running = |second| Job { is_complete: false, end_time: None, ..ended("sacct", second) };
    let (stored, latest) = (running(2000), running(3000));
    let extent = AttemptExtent::of(&stored);
    assert!(extent.is_superseded_by(time(2000), &latest));
    // It is read from a manifest as it was written.
    let text = serde_json::to_string(&extent).unwrap();
    let read: AttemptExtent = serde_json::from_str(&text).unwrap();
    assert!(read.is_superseded_by(time(2000), &latest));
    // The version before this one wrote no layout, and another one writes another.
    let AttemptExtent(bits) = extent;
    let without = AttemptExtent(bits & ((1 << LAYOUT_BIT) - 1));
    let other = AttemptExtent(bits ^ (2 << LAYOUT_BIT));
    for extent in [without, other] {
        assert!(!extent.is_superseded_by(time(2000), &latest), "{extent:?}");
    }
    // Every column has a bit below those of the layout.
    let columns = Job::COLUMN_MARKS.iter().filter(|(_, rule)| rule.is_some()).count();
    assert!(COLUMNS_BIT as usize + columns <= LAYOUT_BIT as usize, "{columns}");
}

proptest! {
    #[test]
    fn the_order_of_observations_does_not_matter(
        one in observation(), two in observation(), three in observation(), four in observation(),
    ) {
        prop_assert_eq!(merged(&one, &two), merged(&two, &one));
        prop_assert_eq!(merged(&merged(&one, &two), &three), merged(&one, &merged(&two, &three)));
        prop_assert_eq!(
            merged(&merged(&one, &two), &merged(&three, &four)),
            all(&[&four, &two, &one, &three])
        );
    }

    #[test]
    fn an_observation_that_is_merged_twice_counts_once(one in observation(), two in observation()) {
        let both = merged(&one, &two);
        prop_assert_eq!(&merged(&one, &one), &one);
        prop_assert_eq!(&merged(&both, &one), &both);
        prop_assert_eq!(&merged(&two, &both), &both);
        prop_assert_eq!(&rederived(&both, &both), &both);
    }

    #[test]
    fn no_known_value_becomes_unknown(one in observation(), two in observation()) {
        let merged = merged(&one, &two);
        let have_ended =
            [&one, &two].map(AttemptPhase::of).iter().all(|phase| *phase == AttemptPhase::Ended);
        let [both, one, two] = [&merged, &one, &two].map(|job| known(job, have_ended));
        for ((column, is_known), ((_, of_one), (_, of_two))) in
            both.into_iter().zip(one.into_iter().zip(two))
        {
            prop_assert_eq!(is_known, of_one || of_two, "{}", column);
        }
    }

    #[test]
    fn what_a_tracker_keeps_of_an_observation_tells_whether_it_is_superseded(
        one in observation(), two in observation(),
    ) {
        let extent = AttemptExtent::of(&one);
        if extent.is_superseded_by(one.observed_time, &two) {
            prop_assert_eq!(merged(&one, &two), two);
        }
    }
}
