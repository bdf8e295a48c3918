//! Nodes as `sinfo` shows them, by which other exporters go.

use record::NodeSpan;

/// CPUs of one or more nodes, as `sinfo --format=%C` counts them.
#[derive(Clone, Copy, Default)]
pub(super) struct Cpus {
    pub(super) allocated: f64,
    pub(super) idle: f64,
    /// What is free on nodes that are drained or down; on others that take no jobs it is idle, as
    /// in `_update_sinfo` of src/sinfo/sinfo.c.
    pub(super) other: f64,
}

impl Cpus {
    pub(super) fn of(node: &NodeSpan) -> Cpus {
        let allocated = node.alloc_cpus.unwrap_or(0) as f64;
        let free = (node.cpus.unwrap_or(0) as f64 - allocated).max(0.0);
        if node.state.split('+').any(|word| ["DOWN", "DRAIN"].contains(&word)) {
            Cpus { allocated, other: free, idle: 0.0 }
        } else {
            Cpus { allocated, idle: free, other: 0.0 }
        }
    }

    pub(super) fn total(self) -> f64 {
        self.allocated + self.idle + self.other
    }
}

impl std::ops::AddAssign for Cpus {
    fn add_assign(&mut self, more: Cpus) {
        self.allocated += more.allocated;
        self.idle += more.idle;
        self.other += more.other;
    }
}

/// A node's state as `sinfo --format=%T` writes it: one word, and a mark for what else holds.
pub(super) fn sinfo_state(state: &str) -> String {
    let has = |words: &[&str]| state.split('+').any(|word| words.contains(&word));
    let is_allocated = has(&["ALLOCATED", "MIXED"]);
    let is_busy = is_allocated || has(&["COMPLETING"]);
    let is_maintained = has(&["MAINT", "MAINTENANCE"]);
    let word = if is_maintained && !is_busy && !has(&["DOWN", "DRAIN", "FAIL"]) {
        "maint".to_owned()
    } else if has(&["DRAIN", "DRAINED", "DRAINING"]) {
        if is_busy { "draining" } else { "drained" }.to_owned()
    } else if has(&["FAIL", "FAILING"]) {
        if is_busy { "failing" } else { "fail" }.to_owned()
    } else if has(&["DOWN"]) {
        "down".to_owned()
    } else if has(&["COMPLETING"]) {
        if has(&["ALLOCATED"]) { "allocated+" } else { "completing" }.to_owned()
    } else if has(&["IDLE"]) && has(&["PLANNED"]) {
        "planned".to_owned()
    } else if has(&["IDLE"]) && has(&["RESERVED"]) {
        "reserved".to_owned()
    } else {
        state.split('+').next().unwrap_or(state).to_ascii_lowercase()
    };
    let mark = [
        ("NOT_RESPONDING", "*"),
        ("POWERED_DOWN", "~"),
        ("POWERING_UP", "#"),
        ("POWERING_DOWN", "%"),
        ("POWER_DOWN", "!"),
        ("REBOOT_ISSUED", "^"),
        ("REBOOT_REQUESTED", "@"),
    ]
    .into_iter()
    .find(|(flag, _)| has(&[flag]));
    word + mark.map_or("", |(_, mark)| mark)
}
