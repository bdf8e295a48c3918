//! Whether a node takes jobs, and if not, why: the one rule for nodes, for their GPUs and for metrics.

use std::fmt;

/// Whether a machine offers its free GPUs, CPUs and memory to jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Availability {
    /// A job can start if there is room.
    Up,
    /// It takes no new jobs, and some still run.
    Draining,
    /// It takes no new jobs, and none run.
    Drained,
    /// It failed, is expected to fail, or does not respond.
    Down,
    /// It is reserved for maintenance.
    Maintenance,
    Rebooting,
    /// Something else keeps jobs away: policy, power saving, or another job.
    Prevented,
    /// The scheduler does not report its state.
    Unknown,
}

impl Availability {
    pub const ALL: [Availability; 8] = [
        Availability::Up,
        Availability::Draining,
        Availability::Drained,
        Availability::Down,
        Availability::Maintenance,
        Availability::Rebooting,
        Availability::Prevented,
        Availability::Unknown,
    ];

    /// Returns the availability of a node by the words of `scontrol show node`, joined by `+`.
    pub fn of_node(state: &str) -> Availability {
        away(state).map_or(Availability::Up, Away::availability)
    }

    /// Returns the availability of a machine that takes no new jobs because it is drained.
    pub fn of_drain(is_busy: bool) -> Availability {
        if is_busy { Availability::Draining } else { Availability::Drained }
    }

    /// Returns the word that the lake stores and reports show.
    pub fn name(self) -> &'static str {
        match self {
            Availability::Up => "up",
            Availability::Draining => "draining",
            Availability::Drained => "drained",
            Availability::Down => "down",
            Availability::Maintenance => "maintenance",
            Availability::Rebooting => "rebooting",
            Availability::Prevented => "prevented",
            Availability::Unknown => "unknown",
        }
    }

    /// Returns the state of a SLURM GPU that no job holds, in the manner of an HTCondor slot's. None
    /// if it is unknown.
    pub fn free_slot_state(self) -> Option<&'static str> {
        Some(match self {
            Availability::Up => "Unclaimed",
            Availability::Draining => "Draining",
            Availability::Drained => "Drained",
            Availability::Down => "Down",
            Availability::Maintenance => "Maintenance",
            Availability::Rebooting => "Rebooting",
            Availability::Prevented => "Prevented",
            Availability::Unknown => return None,
        })
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why no job can start on a node, as SLURM and HTCondor distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Away {
    Future,
    Rebooting,
    Down,
    Failing,
    Draining,
    Drained,
    Unknown,
    Invalid,
    Maintenance,
    PoweringDown,
    Blocked,
    NotResponding,
    /// Policy of an HTCondor machine: its START expression, or a reason that it gives.
    Prevented,
}

impl Away {
    /// Returns the word that metrics and node reports show.
    pub fn name(self) -> &'static str {
        match self {
            Away::Future => "future",
            Away::Rebooting => "reboot",
            Away::Down => "down",
            Away::Failing => "fail",
            Away::Draining => "draining",
            Away::Drained => "drained",
            Away::Unknown => "unknown",
            Away::Invalid => "invalid",
            Away::Maintenance => "maint",
            Away::PoweringDown => "powering_down",
            Away::Blocked => "blocked",
            Away::NotResponding => "not_responding",
            Away::Prevented => "prevented",
        }
    }

    pub fn availability(self) -> Availability {
        match self {
            Away::Future | Away::Unknown => Availability::Unknown,
            Away::Rebooting => Availability::Rebooting,
            Away::Down | Away::Failing | Away::Invalid | Away::NotResponding => Availability::Down,
            Away::Draining => Availability::Draining,
            Away::Drained => Availability::Drained,
            Away::Maintenance => Availability::Maintenance,
            Away::PoweringDown | Away::Blocked | Away::Prevented => Availability::Prevented,
        }
    }
}

/// Returns why no job can start on a node in such a state, the gravest reason. None if one can. The
/// words of a state are those of `scontrol show node`, or of the slots of an HTCondor machine, joined
/// by `+`.
///
/// - A node that does not respond counts as not responding even if it is drained: jobs could not start
///   there after a resume. It does not if SLURM expects the silence, because the node reboots, powers
///   down or is in maintenance.
/// - A node that is drained during a maintenance counts as drained: an operator has to resume it, and
///   the end of the maintenance does not bring it back.
///
/// A node that is powered down to save energy starts when a job needs it, and one that is reserved
/// or planned is there for somebody: these three take jobs. SLURM prints a node that it reboots as
/// `DOWN+REBOOT_ISSUED`, and removes that flag when the node does not come back in time.
pub fn away(state: &str) -> Option<Away> {
    let has = |words: &[&str]| state.split('+').any(|word| words.contains(&word));
    let is_silent = has(&["NOT_RESPONDING", "NO_RESPOND"])
        && !has(&["UNKNOWN", "MAINT", "MAINTENANCE", "POWERING_DOWN", "POWER_DOWN"]);
    let is_busy = has(&["ALLOCATED", "MIXED", "COMPLETING", "ALLOC", "Claimed"]);
    Some(if has(&["FUTURE"]) {
        Away::Future
    } else if has(&["REBOOT_ISSUED", "REBOOT^"]) {
        Away::Rebooting
    } else if has(&["DOWN", "ERROR", "Absent"]) {
        Away::Down
    } else if has(&["FAIL", "FAILING"]) {
        Away::Failing
    } else if is_silent {
        Away::NotResponding
    } else if has(&["DRAIN", "DRAINED", "DRAINING", "Draining"]) {
        if is_busy { Away::Draining } else { Away::Drained }
    } else if has(&["UNKNOWN"]) {
        Away::Unknown
    } else if has(&["INVAL", "INVALID_REG", "INVALID"]) {
        Away::Invalid
    } else if has(&["MAINT", "MAINTENANCE"]) {
        Away::Maintenance
    } else if has(&["POWERING_DOWN", "POWER_DOWN"]) {
        Away::PoweringDown
    } else if has(&["BLOCKED"]) {
        Away::Blocked
    } else if has(&["Owner", "Prevented"]) {
        Away::Prevented
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states as `scontrol show node` prints them, with marks written as flags.
    #[test]
    fn a_node_keeps_its_real_availability() {
        for (state, expected) in [
            ("IDLE", Availability::Up),
            ("MIXED", Availability::Up),
            ("ALLOCATED+COMPLETING", Availability::Up),
            ("IDLE+RESERVED", Availability::Up),
            ("IDLE+PLANNED", Availability::Up),
            ("IDLE+POWERED_DOWN", Availability::Up),
            ("IDLE+POWERING_UP", Availability::Up),
            ("IDLE+REBOOT_REQUESTED", Availability::Up),
            ("MIXED+DRAIN", Availability::Draining),
            ("ALLOCATED+DRAIN", Availability::Draining),
            ("IDLE+COMPLETING+DRAIN", Availability::Draining),
            ("IDLE+DRAIN", Availability::Drained),
            ("IDLE+DRAIN+MAINTENANCE", Availability::Drained),
            ("DOWN", Availability::Down),
            ("DOWN+DRAIN+NOT_RESPONDING", Availability::Down),
            ("IDLE+NOT_RESPONDING", Availability::Down),
            ("IDLE+DRAIN+NOT_RESPONDING", Availability::Down),
            ("MIXED+DRAIN+NOT_RESPONDING", Availability::Down),
            ("IDLE+INVALID_REG+NOT_RESPONDING", Availability::Down),
            ("MAINT+NOT_RESPONDING", Availability::Maintenance),
            ("IDLE+POWERING_DOWN+NOT_RESPONDING", Availability::Prevented),
            ("IDLE+BLOCKED+NOT_RESPONDING", Availability::Down),
            ("IDLE+FAIL", Availability::Down),
            ("IDLE+INVALID_REG", Availability::Down),
            ("MAINT+RESERVED", Availability::Maintenance),
            ("IDLE+MAINTENANCE", Availability::Maintenance),
            ("DOWN+REBOOT_ISSUED", Availability::Rebooting),
            ("DOWN+DRAIN+REBOOT_ISSUED", Availability::Rebooting),
            ("IDLE+POWERING_DOWN", Availability::Prevented),
            ("IDLE+BLOCKED", Availability::Prevented),
            ("UNKNOWN+NOT_RESPONDING", Availability::Unknown),
            ("FUTURE", Availability::Unknown),
        ] {
            assert_eq!(Availability::of_node(state), expected, "{state}");
        }
    }
}
