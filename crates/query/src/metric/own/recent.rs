//! What the lake says of the last hours.

use record::Live;
use report::Family;

use super::MIB;

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

pub(super) fn recent_use(lives: &[Live]) -> Vec<Family> {
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
