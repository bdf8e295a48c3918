//! Our own names: base units, a cluster label on each number, and as many users as the site wants.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use record::{GpuCount, JobCount, Live, Seen, SeenNode, SourceHealth};
use report::Family;

use super::sums::Sums;
use super::{
    FRESH_CYCLES, MetricOptions, is_running, is_waiting, partitions, seconds_of, seconds_since,
};

const MIB: f64 = 1024.0 * 1024.0;

/// Whom the numbers of those who are not among the first are added to.
const OTHERS: &str = "(others)";

/// What was last seen of the clusters. Only ages depend on the time.
pub fn own(lives: &[Live], options: &MetricOptions, now: Timestamp) -> Vec<Family> {
    let mut families = health(lives, now);
    families.extend(state(lives, options));
    families
}

/// What was seen. It is the same until somebody looks again.
pub(super) fn state(lives: &[Live], options: &MetricOptions) -> Vec<Family> {
    let mut families = nodes(lives, options);
    families.extend(jobs(lives, options));
    families.extend(gpu_slots(lives));
    families.extend(access_points(lives));
    families.extend(recent_use(lives));
    families
}

/// How the sources fare: how old is what is shown, and what did it cost?
pub(super) fn health(lives: &[Live], now: Timestamp) -> Vec<Family> {
    let of_cluster: &[&str] = &["cluster"];
    let of_source: &[&str] = &["cluster", "source"];
    let mut up = Family::gauge(
        "plimsoll_up",
        "",
        of_cluster,
        "Whether all that was last asked of the cluster's scheduler was answered, and lately.",
    );
    let mut collected = Family::gauge(
        "plimsoll_collected_ratio",
        "ratio",
        of_cluster,
        "Share of the last seven days that was collected, each day when it was over.",
    );
    let mut cadence = Family::gauge(
        "plimsoll_cadence_seconds",
        "seconds",
        of_cluster,
        "Time from one look at the cluster to the next.",
    );
    let mut source_up = Family::gauge(
        "plimsoll_source_up",
        "",
        of_source,
        "Whether the command answered when it was last asked, and that was lately.",
    );
    let mut age = Family::gauge(
        "plimsoll_source_age_seconds",
        "seconds",
        of_source,
        "Time since the command was last asked with success: the age of what is shown.",
    );
    let mut success = Family::gauge(
        "plimsoll_source_success_timestamp_seconds",
        "seconds",
        of_source,
        "When the command was last asked with success.",
    );
    let mut duration = Family::gauge(
        "plimsoll_source_duration_seconds",
        "seconds",
        of_source,
        "How long the command took when it was last asked.",
    );
    let mut bytes = Family::gauge(
        "plimsoll_source_answer_bytes",
        "bytes",
        of_source,
        "Size of the command's last answer.",
    );
    let mut records = Family::gauge(
        "plimsoll_source_records",
        "",
        of_source,
        "Records in the command's last answer.",
    );
    let mut rejects = Family::gauge(
        "plimsoll_source_rejects",
        "",
        of_source,
        "Pieces of the command's last answer that could not be read and were set aside.",
    );
    let mut commands = Family::counter(
        "plimsoll_source_commands",
        "",
        of_source,
        "Commands that the scheduler was asked to answer: the load that collecting puts on it.",
    );
    let mut failures = Family::counter(
        "plimsoll_source_failures",
        "",
        of_source,
        "Commands that were not answered.",
    );
    let mut busy = Family::counter(
        "plimsoll_source_busy_seconds",
        "seconds",
        of_source,
        "Time that the commands took in all.",
    );
    let mut set_aside = Family::counter(
        "plimsoll_source_set_aside",
        "",
        of_source,
        "Pieces of answers that could not be read, in all.",
    );
    for live in lives {
        let cluster = live.cluster.as_str();
        let is_up = |source: &SourceHealth| {
            let fresh = live.cadence_seconds * FRESH_CYCLES;
            source.error.is_none()
                && source.success_time.is_some_and(|time| seconds_since(time, now) <= fresh)
        };
        let all_up = !live.sources.is_empty() && live.sources.iter().all(is_up);
        up.push(&[cluster], flag(all_up));
        collected.push(&[cluster], live.collected_ratio);
        cadence.push(&[cluster], live.cadence_seconds);
        for source in &live.sources {
            let labels = &[cluster, source.source.as_str()];
            source_up.push(labels, flag(is_up(source)));
            age.push(labels, source.success_time.map(|time| seconds_since(time, now)));
            success.push(labels, source.success_time.map(seconds_of));
            duration.push(labels, source.duration_seconds);
            bytes.push(labels, source.bytes.map(|bytes| bytes as f64));
            records.push(labels, source.records.map(|records| records as f64));
            rejects.push(labels, source.rejects.map(|rejects| rejects as f64));
            commands.push(labels, source.commands as f64);
            failures.push(labels, source.failures as f64);
            busy.push(labels, source.seconds);
            set_aside.push(labels, source.rejects_in_all as f64);
        }
    }
    vec![
        up, collected, cadence, source_up, age, success, duration, bytes, records, rejects,
        commands, failures, busy, set_aside,
    ]
}

fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// How many nodes that are away are named.
const MOST_AWAY: usize = 200;

fn nodes(lives: &[Live], options: &MetricOptions) -> Vec<Family> {
    let mut seen_time = Family::gauge(
        "plimsoll_nodes_timestamp_seconds",
        "seconds",
        &["cluster"],
        "When the nodes were seen as they are shown.",
    );
    let mut states = Family::gauge(
        "plimsoll_nodes",
        "",
        &["cluster", "state"],
        "Nodes by state, with all of its flags, such as mixed+drain.",
    );
    let mut flags = Family::gauge(
        "plimsoll_nodes_flagged",
        "",
        &["cluster", "flag"],
        "Nodes that have a word in their state; one with several words is counted for each.",
    );
    let mut usable = Family::gauge(
        "plimsoll_nodes_usable",
        "",
        &["cluster"],
        "Nodes on which a job could start if there were room.",
    );
    let mut cpus = Family::gauge(
        "plimsoll_cpus",
        "",
        &["cluster", "state"],
        "CPUs that jobs hold (allocated), that are free where a job could start (idle), or that \
         are free on a node that takes no jobs, by its state; they add up to all.",
    );
    let mut memory = Family::gauge(
        "plimsoll_memory_bytes",
        "bytes",
        &["cluster", "state"],
        "Memory of the nodes by what holds it, as plimsoll_cpus.",
    );
    let mut gpus = Family::gauge(
        "plimsoll_gpus",
        "",
        &["cluster", "model", "state"],
        "GPUs by model and by what holds them, as plimsoll_cpus; one that is free beside no free \
         CPU is stranded, and not idle.",
    );
    let partition_labels: &[&str] = &["cluster", "partition", "state"];
    let mut partition_cpus = Family::gauge(
        "plimsoll_partition_cpus",
        "",
        partition_labels,
        "CPUs as plimsoll_cpus, by partition; a node of two partitions is in both.",
    );
    let mut partition_gpus = Family::gauge(
        "plimsoll_partition_gpus",
        "",
        &["cluster", "partition", "model", "state"],
        "GPUs as plimsoll_gpus, by partition; a node of two partitions is in both.",
    );
    let mut reserved = Family::gauge(
        "plimsoll_reservation_nodes",
        "",
        &["cluster", "reservation"],
        "Nodes by reservation; unknown where the scheduler does not name it.",
    );
    let mut away_since = Family::gauge(
        "plimsoll_node_away_timestamp_seconds",
        "seconds",
        &["cluster", "node", "state", "reason", "user"],
        "Since when a node that takes no jobs has its reason, who gave it; the last 200 nodes.",
    );
    for live in lives {
        let cluster = live.cluster.as_str();
        let Some(Seen { time, rows }) = &live.nodes else { continue };
        seen_time.push(&[cluster], seconds_of(*time));
        let can_start = |seen: &&SeenNode| record::away(&seen.node.state).is_none();
        usable.push(&[cluster], rows.iter().filter(can_start).count() as f64);
        let mut sums: [Sums; 8] = Default::default();
        let [by_state, by_flag, by_cpu, by_memory, by_gpu, by_partition, by_partition_gpu, by_name] =
            &mut sums;
        // These two are always there: no other word says that there are none.
        for state in ["allocated", "idle"] {
            by_cpu.add(&[cluster, state], 0.0);
            by_memory.add(&[cluster, state], 0.0);
        }
        let mut away = Vec::new();
        for SeenNode { node, .. } in rows {
            by_state.add(&[cluster, &node.state.to_ascii_lowercase()], 1.0);
            for word in node.state.split('+') {
                by_flag.add(&[cluster, &word.to_ascii_lowercase()], 1.0);
            }
            for share in record::cpu_shares(node).iter().filter(|share| share.amount > 0.0) {
                by_cpu.add(&[cluster, share.state], share.amount);
                for partition in partitions(node) {
                    by_partition.add(&[cluster, partition, share.state], share.amount);
                }
            }
            for share in record::memory_shares(node).iter().filter(|share| share.amount > 0.0) {
                by_memory.add(&[cluster, share.state], share.amount * MIB);
            }
            for (model, share) in record::gpu_shares(node, options.idle_gpu) {
                let model = model.as_deref().unwrap_or("untyped");
                for state in ["allocated", "idle"] {
                    by_gpu.add(&[cluster, model, state], 0.0);
                }
                if share.amount > 0.0 {
                    by_gpu.add(&[cluster, model, share.state], share.amount);
                    for partition in partitions(node) {
                        let labels = [cluster, partition, model, share.state];
                        by_partition_gpu.add(&labels, share.amount);
                    }
                }
            }
            let is_reserved = node.state.split('+').any(|word| word == "RESERVED");
            match &node.reservation {
                Some(name) => by_name.add(&[cluster, name], 1.0),
                None if is_reserved => by_name.add(&[cluster, "unknown"], 1.0),
                None => {}
            }
            if let (Some(state), Some(since)) = (record::away(&node.state), node.reason_time) {
                away.push((since, node, state));
            }
        }
        away.sort_by(|(one, node, _), (other, beside, _)| {
            other.cmp(one).then_with(|| node.node.cmp(&beside.node))
        });
        for (since, node, state) in away.into_iter().take(MOST_AWAY) {
            let reason = node.reason.as_deref().unwrap_or_default();
            let user = node.reason_user.as_deref().unwrap_or_default();
            away_since.push(&[cluster, &node.node, state, reason, user], seconds_of(since));
        }
        let targets = [
            &mut states,
            &mut flags,
            &mut cpus,
            &mut memory,
            &mut gpus,
            &mut partition_cpus,
            &mut partition_gpus,
            &mut reserved,
        ];
        for (sums, family) in sums.into_iter().zip(targets) {
            sums.fill(family);
        }
    }
    vec![
        seen_time,
        states,
        flags,
        usable,
        cpus,
        memory,
        gpus,
        partition_cpus,
        partition_gpus,
        reserved,
        away_since,
    ]
}

/// What is counted of jobs, and of which jobs.
type Amount = fn(&JobCount) -> Option<f64>;

fn jobs(lives: &[Live], options: &MetricOptions) -> Vec<Family> {
    let count: Amount = |jobs| Some(jobs.jobs as f64);
    let cpus: Amount = |jobs| jobs.cpus.map(|cpus| cpus as f64);
    let gpus: Amount = |jobs| jobs.gpus.map(|gpus| gpus as f64);
    let memory: Amount = |jobs| jobs.memory_mb.map(|memory| memory * MIB);
    let mut families = Vec::new();

    let mut seen_time = Family::gauge(
        "plimsoll_jobs_timestamp_seconds",
        "seconds",
        &["cluster"],
        "When the queue was seen as it is shown.",
    );
    for live in lives {
        seen_time.push(&[&live.cluster], live.jobs.as_ref().map(|seen| seconds_of(seen.time)));
    }
    families.push(seen_time);

    let by_partition: &[&str] = &["cluster", "partition", "state"];
    for (name, unit, amount, help) in [
        (
            "plimsoll_jobs",
            "",
            count,
            "Jobs, each task of an array by itself, by partition and state; one that waits for \
             several partitions is counted once, under all of them.",
        ),
        (
            "plimsoll_job_cpus",
            "",
            cpus,
            "CPUs that jobs hold, or ask for while they wait, where that is known.",
        ),
        (
            "plimsoll_job_gpus",
            "",
            gpus,
            "GPUs that jobs hold, or ask for while they wait, where that is known.",
        ),
        (
            "plimsoll_job_memory_bytes",
            "bytes",
            memory,
            "Memory that jobs hold, or ask for while they wait, where that is known.",
        ),
    ] {
        let mut family = Family::gauge(name, unit, by_partition, help);
        for live in lives {
            let mut sums = Sums::default();
            for jobs in seen_jobs(live) {
                let partition = jobs.partition.as_deref().unwrap_or("unknown");
                let labels = [live.cluster.as_str(), partition, &jobs.state.to_ascii_lowercase()];
                sums.add_known(&labels, amount(jobs));
            }
            sums.fill(&mut family);
        }
        families.push(family);
    }

    let of_user: &[&str] = &["cluster", "user", "state"];
    let of_account: &[&str] = &["cluster", "account", "state"];
    let user: fn(&JobCount) -> Option<&str> = |jobs| jobs.user.as_deref();
    let account: fn(&JobCount) -> Option<&str> = |jobs| jobs.account.as_deref();
    for (name, labels, who, amount, help) in [
        (
            "plimsoll_user_jobs",
            of_user,
            user,
            count,
            "Jobs of those users who hold most GPUs and CPUs, by state; the others' are added up.",
        ),
        ("plimsoll_user_cpus", of_user, user, cpus, "CPUs that these users' jobs hold or ask for."),
        ("plimsoll_user_gpus", of_user, user, gpus, "GPUs that these users' jobs hold or ask for."),
        (
            "plimsoll_account_jobs",
            of_account,
            account,
            count,
            "Jobs of those accounts that hold most GPUs and CPUs, by state; the others' are added \
             up.",
        ),
        (
            "plimsoll_account_cpus",
            of_account,
            account,
            cpus,
            "CPUs that these accounts' jobs hold or ask for.",
        ),
        (
            "plimsoll_account_gpus",
            of_account,
            account,
            gpus,
            "GPUs that these accounts' jobs hold or ask for.",
        ),
    ] {
        let mut family = Family::gauge(name, "", labels, help);
        for live in lives {
            let first = first(seen_jobs(live), who, options.top);
            let mut sums = Sums::default();
            for jobs in seen_jobs(live) {
                let name = who(jobs).unwrap_or("unknown");
                let name = if first.contains(name) { name } else { OTHERS };
                let labels = [live.cluster.as_str(), name, &jobs.state.to_ascii_lowercase()];
                sums.add_known(&labels, amount(jobs));
            }
            sums.fill(&mut family);
        }
        families.push(family);
    }

    let by_reason: &[&str] = &["cluster", "reason"];
    for (name, amount, help) in [
        ("plimsoll_waiting_jobs", count, "Jobs that wait, by the scheduler's reason."),
        ("plimsoll_waiting_cpus", cpus, "CPUs that waiting jobs ask for, by reason."),
        ("plimsoll_waiting_gpus", gpus, "GPUs that waiting jobs ask for, by reason."),
    ] {
        let mut family = Family::gauge(name, "", by_reason, help);
        for live in lives {
            let mut sums = Sums::default();
            for jobs in seen_jobs(live).filter(|jobs| is_waiting(jobs)) {
                let reason = jobs.reason.as_deref().unwrap_or("none");
                sums.add_known(&[&live.cluster, reason], amount(jobs));
            }
            sums.fill(&mut family);
        }
        families.push(family);
    }

    let mut oldest = Family::gauge(
        "plimsoll_waiting_since_timestamp_seconds",
        "seconds",
        &["cluster", "partition"],
        "When the job that waits longest could first start.",
    );
    for live in lives {
        let mut first: BTreeMap<&str, Timestamp> = BTreeMap::new();
        for jobs in seen_jobs(live).filter(|jobs| is_waiting(jobs)) {
            let Some(time) = jobs.eligible_time else { continue };
            let partition = jobs.partition.as_deref().unwrap_or("unknown");
            first.entry(partition).and_modify(|first| *first = time.min(*first)).or_insert(time);
        }
        for (partition, time) in first {
            oldest.push(&[&live.cluster, partition], seconds_of(time));
        }
    }
    families.push(oldest);
    families
}

fn seen_jobs(live: &Live) -> impl Iterator<Item = &JobCount> {
    live.jobs.iter().flat_map(|seen| &seen.rows)
}

/// Those who hold most: GPUs first, then CPUs, then jobs of any kind, then by name.
fn first<'a>(
    jobs: impl Iterator<Item = &'a JobCount>,
    who: fn(&JobCount) -> Option<&str>,
    top: usize,
) -> HashSet<&'a str> {
    let mut held: HashMap<&str, (i64, i64, i64)> = HashMap::new();
    for jobs in jobs {
        let sum = held.entry(who(jobs).unwrap_or("unknown")).or_default();
        if is_running(jobs) {
            sum.0 += jobs.gpus.unwrap_or(0);
            sum.1 += jobs.cpus.unwrap_or(0);
        }
        sum.2 += jobs.jobs;
    }
    let mut order: Vec<(&str, (i64, i64, i64))> = held.into_iter().collect();
    order.sort_by(|(one, sum), (other, more)| more.cmp(sum).then_with(|| one.cmp(other)));
    order.into_iter().take(top).map(|(name, _)| name).collect()
}

/// The GPUs of a pool whose slots offer one GPU twice.
fn gpu_slots(lives: &[Live]) -> Vec<Family> {
    let mut seen_time = Family::gauge(
        "plimsoll_slot_gpus_timestamp_seconds",
        "seconds",
        &["cluster"],
        "When the GPUs' slots were seen as they are shown.",
    );
    let mut slots = Family::gauge(
        "plimsoll_slot_gpus",
        "",
        &["cluster", "model", "class", "side", "state"],
        "GPUs by the state of the slot that offers them, by side: primary for those who come \
         first, backfill for others meanwhile; a GPU that both offer is in both.",
    );
    let mut open = Family::gauge(
        "plimsoll_backfill_open_gpus",
        "",
        &["cluster", "model", "class"],
        "GPUs that a backfill job could have now: not claimed on the primary side, unclaimed on \
         the backfill side.",
    );
    for live in lives {
        let cluster = live.cluster.as_str();
        let Some(Seen { time, rows }) = &live.gpus else { continue };
        seen_time.push(&[cluster], seconds_of(*time));
        let (mut by_state, mut by_class) = (Sums::default(), Sums::default());
        for count in rows {
            let (model, class) = (count.model.as_deref().unwrap_or("unknown"), class(count));
            let gpus = count.gpus as f64;
            for (side, state) in
                [("primary", &count.primary_state), ("backfill", &count.backfill_state)]
            {
                if let Some(state) = state {
                    let labels = [cluster, model, class, side, &state.to_ascii_lowercase()];
                    by_state.add(&labels, gpus);
                }
            }
            let is_open = count.backfill_state.as_deref() == Some("Unclaimed")
                && count.primary_state.as_deref() != Some("Claimed");
            by_class.add(&[cluster, model, class], if is_open { gpus } else { 0.0 });
        }
        by_state.fill(&mut slots);
        by_class.fill(&mut open);
    }
    vec![seen_time, slots, open]
}

/// Who comes first on the machine.
fn class(count: &GpuCount) -> &'static str {
    match (count.is_prioritized, count.is_interactive) {
        (true, _) => "prioritized",
        (false, true) => "interactive",
        (false, false) => "open",
    }
}

fn access_points(lives: &[Live]) -> Vec<Family> {
    let mut heard = Family::gauge(
        "plimsoll_access_point_heard_timestamp_seconds",
        "seconds",
        &["cluster", "access_point"],
        "Until when the history of an access point is known.",
    );
    for live in lives {
        for point in live.access_points.iter().flat_map(|seen| &seen.rows) {
            heard.push(&[&live.cluster, &point.name], point.heard_time.map(seconds_of));
        }
    }
    vec![heard]
}

/// Gauges of the term `usage` over the last hours, in base units: the name, its unit, its column,
/// what turns that into the unit, and its meaning.
const RECENT: [(&str, &str, &str, f64, &str); 8] = [
    (
        "plimsoll_recent_cpu_reserved_seconds",
        "seconds",
        "cpu_seconds",
        1.0,
        "CPU time that jobs held in the window.",
    ),
    (
        "plimsoll_recent_cpu_wasted_seconds",
        "seconds",
        "cpu_seconds_wasted",
        1.0,
        "CPU time that jobs held in the window and did not use, of jobs whose use is known.",
    ),
    (
        "plimsoll_recent_cpu_efficiency_ratio",
        "ratio",
        "cpu_efficiency",
        1.0,
        "Share of the CPU time held in the window that was used, of jobs whose use is known.",
    ),
    (
        "plimsoll_recent_gpu_reserved_seconds",
        "seconds",
        "gpu_seconds",
        1.0,
        "GPU time that jobs held in the window.",
    ),
    (
        "plimsoll_recent_memory_efficiency_ratio",
        "ratio",
        "memory_efficiency",
        1.0,
        "Share of the memory asked for in the window that was used, of jobs whose use is known.",
    ),
    (
        "plimsoll_recent_memory_wasted_byte_seconds",
        "seconds",
        "memory_mib_seconds_wasted",
        MIB,
        "Bytes asked for and not used in the window, times the seconds that they were held.",
    ),
    (
        "plimsoll_recent_wait_seconds",
        "seconds",
        "wait_seconds",
        1.0,
        "Mean time from eligible to start, of jobs that started in the window.",
    ),
    ("plimsoll_recent_jobs", "", "jobs", 1.0, "Jobs that ran in the window."),
];

fn recent_use(lives: &[Live]) -> Vec<Family> {
    let mut families = Vec::new();
    for (name, unit, column, factor, help) in RECENT {
        let mut family = Family::gauge(name, unit, &["cluster", "window"], help);
        for live in lives {
            for row in live.recent_use.iter().flat_map(|seen| &seen.rows) {
                let value = row.values.get(column).copied().flatten();
                family.push(&[&live.cluster, &row.window], value.map(|value| value * factor));
            }
        }
        families.push(family);
    }
    families
}
