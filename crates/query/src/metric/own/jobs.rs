//! Jobs that run and wait, by partition, user, account and reason.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use record::{JobCount, Live};
use report::Family;

use super::super::sums::Sums;
use super::super::{MetricOptions, is_running, is_waiting, seconds_of};
use super::MIB;

/// Whom the numbers of those who are not among the first are added to.
const OTHERS: &str = "(others)";

/// What is counted of jobs, and of which jobs.
type Amount = fn(&JobCount) -> Option<f64>;

pub(super) fn jobs(lives: &[Live], options: &MetricOptions) -> Vec<Family> {
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
