//! The slots and the daemons of an HTCondor pool; the GPUs of SLURM by who may have them.

use std::collections::HashSet;

use record::{GpuCount, Live, Seen};
use report::Family;

use super::super::seconds_of;
use super::super::sums::Sums;
use crate::{CurrentPolicy, Judgement};

/// The GPUs of a pool whose slots offer one GPU twice.
pub(super) fn gpu_slots(lives: &[Live], policy: &CurrentPolicy) -> Vec<Family> {
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
         first, backfill for others meanwhile; a GPU that both offer is in both. Classes are those \
         of the reports, by the site's own lists, and what the site masks is left out.",
    );
    let mut open = Family::gauge(
        "plimsoll_backfill_open_gpus",
        "",
        &["cluster", "model", "class"],
        "GPUs that a backfill job could have now: not claimed on the primary side, unclaimed on \
         the backfill side, and not kept from jobs by a reason.",
    );
    for live in lives {
        let cluster = live.cluster.as_str();
        let Some(Seen { time, rows }) = &live.gpus else { continue };
        let judgement = policy.of(cluster);
        seen_time.push(&[cluster], seconds_of(*time));
        let (mut by_state, mut by_class) = (Sums::default(), Sums::default());
        let prioritized: HashSet<&str> =
            rows.iter().filter(|row| row.is_prioritized).map(|row| row.machine.as_str()).collect();
        for count in rows.iter().filter(|count| is_shown(count, judgement)) {
            let is_priority_machine = prioritized.contains(count.machine.as_str());
            let class =
                |side| judgement.class_name(class(count, side, is_priority_machine, judgement));
            let model = count.model.as_deref().unwrap_or("unknown");
            let gpus = count.gpus as f64;
            for (side, state) in
                [(Side::Primary, &count.primary_state), (Side::Backfill, &count.backfill_state)]
            {
                if let Some(state) = state {
                    let state = state.to_ascii_lowercase();
                    by_state.add(&[cluster, model, class(side), side.name(), &state], gpus);
                }
            }
            if let Some(state) = &count.backfill_state {
                let is_open = state == "Unclaimed"
                    && count.primary_state.as_deref() != Some("Claimed")
                    && !count.is_prevented;
                let open = if is_open { gpus } else { 0.0 };
                by_class.add(&[cluster, model, class(Side::Backfill)], open);
            }
        }
        by_state.fill(&mut slots);
        by_class.fill(&mut open);
    }
    vec![seen_time, slots, open]
}

/// Who a slot is for.
#[derive(Clone, Copy)]
enum Side {
    Primary,
    Backfill,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Primary => "primary",
            Side::Backfill => "backfill",
        }
    }
}

fn is_shown(count: &GpuCount, judgement: &Judgement) -> bool {
    let is_hidden = count.model.as_deref().is_some_and(|model| judgement.is_hidden(model));
    judgement.mask(&count.machine).is_none() && !is_hidden
}

/// The class of a slot by our name, as the term `gpu_time` has it: that of a backfill slot follows its
/// machine.
fn class(
    count: &GpuCount,
    side: Side,
    is_priority_machine: bool,
    judgement: &Judgement,
) -> &'static str {
    let machine = &count.machine;
    let is_institution = judgement.is_institution_owned(machine);
    let is_researcher = judgement.is_researcher_owned(machine);
    let is_prioritized = count.is_prioritized || is_researcher;
    match side {
        Side::Primary if is_prioritized && is_institution => "Priority-CHTCOwned",
        Side::Primary if is_prioritized => "Priority-ResearcherOwned",
        Side::Primary if count.is_interactive => "Interactive",
        Side::Primary => "Shared",
        Side::Backfill if is_institution => "Backfill-CHTCOwned",
        Side::Backfill if is_priority_machine || is_researcher => "Backfill-ResearcherOwned",
        Side::Backfill => "Backfill-OpenCapacity",
    }
}

/// The daemons of a pool: how fresh is what they say, and how the last cycle of matching went.
pub(super) fn daemons(lives: &[Live]) -> Vec<Family> {
    let of_point: &[&str] = &["cluster", "access_point"];
    let of_negotiator: &[&str] = &["cluster", "negotiator"];
    let mut heard = Family::gauge(
        "plimsoll_access_point_heard_timestamp_seconds",
        "seconds",
        of_point,
        "Until when the history of an access point is known.",
    );
    let mut updated = Family::gauge(
        "plimsoll_access_point_update_timestamp_seconds",
        "seconds",
        of_point,
        "When the pool's collector last heard of an access point.",
    );
    let mut negotiator = Family::gauge(
        "plimsoll_negotiator_update_timestamp_seconds",
        "seconds",
        of_negotiator,
        "When the pool's collector last heard of a negotiator.",
    );
    let mut cycle = Family::gauge(
        "plimsoll_negotiator_cycle_timestamp_seconds",
        "seconds",
        of_negotiator,
        "When a negotiator's last cycle ended.",
    );
    let mut duration = Family::gauge(
        "plimsoll_negotiator_cycle_duration_seconds",
        "seconds",
        of_negotiator,
        "How long a negotiator's last cycle took.",
    );
    let mut matches = Family::gauge(
        "plimsoll_negotiator_cycle_matches",
        "",
        of_negotiator,
        "Jobs that were matched with slots in a negotiator's last cycle.",
    );
    for live in lives {
        for point in live.access_points.iter().flat_map(|seen| &seen.rows) {
            let labels = &[live.cluster.as_str(), &point.name];
            heard.push(labels, point.heard_time.map(seconds_of));
            updated.push(labels, point.update_time.map(seconds_of));
        }
        for row in live.negotiators.iter().flat_map(|seen| &seen.rows) {
            let labels = &[live.cluster.as_str(), &row.name];
            negotiator.push(labels, row.update_time.map(seconds_of));
            cycle.push(labels, row.cycle_end_time.map(seconds_of));
            duration.push(labels, row.cycle_seconds);
            matches.push(labels, row.cycle_matches.map(|matches| matches as f64));
        }
    }
    vec![heard, updated, negotiator, cycle, duration, matches]
}
