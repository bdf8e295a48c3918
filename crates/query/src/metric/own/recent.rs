//! What the lake says of the last hours.

use record::Live;
use report::Family;

use super::super::seconds_of;
use super::MIB;

const HOUR: f64 = 3600.0;

/// Gauges over the last hours, in base units: the name, its unit, the column of its report, what turns
/// that into the unit, and its meaning.
const RECENT: [(&str, &str, &str, f64, &str); 14] = [
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
    (
        "plimsoll_recent_backfill_opportunity_seconds",
        "seconds",
        "opportunity_hours",
        HOUR,
        "GPU time in the window during which the owner's side of GPUs that are offered for backfill \
         was idle; divided by the window, GPUs on average. As report backfill-summary says; absent, \
         as what follows, where backfill had nothing.",
    ),
    (
        "plimsoll_recent_backfill_open_seconds",
        "seconds",
        "open_hours",
        HOUR,
        "GPU time in the window during which such a GPU was open and nobody took it.",
    ),
    (
        "plimsoll_recent_backfill_used_seconds",
        "seconds",
        "used_hours",
        HOUR,
        "GPU time in the window during which a backfill job held one.",
    ),
    (
        "plimsoll_recent_backfill_starts",
        "",
        "starts",
        1.0,
        "Executions on backfill that began in the window.",
    ),
    (
        "plimsoll_recent_backfill_evictions",
        "",
        "evicted",
        1.0,
        "Executions on backfill that were evicted in the window.",
    ),
    (
        "plimsoll_recent_backfill_lost_seconds",
        "seconds",
        "badput_hours",
        HOUR,
        "GPU time in the window of executions on backfill that ended by eviction.",
    ),
];

pub(super) fn recent_use(lives: &[Live]) -> Vec<Family> {
    let of_window: &[&str] = &["cluster", "window"];
    let mut time = Family::gauge(
        "plimsoll_recent_timestamp_seconds",
        "seconds",
        of_window,
        "When the window ended that what follows is about.",
    );
    for live in lives {
        for row in &live.recent_use {
            time.push(&[&live.cluster, &row.window], row.time.map(seconds_of));
        }
    }
    let mut families = vec![time];
    for (name, unit, column, factor, help) in RECENT {
        let mut family = Family::gauge(name, unit, of_window, help);
        for live in lives {
            for row in &live.recent_use {
                let value = row.values.get(column).copied().flatten();
                family.push(&[&live.cluster, &row.window], value.map(|value| value * factor));
            }
        }
        families.push(family);
    }
    families
}
