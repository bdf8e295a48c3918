//! The slots and the daemons of an HTCondor pool; the GPUs of SLURM by who may have them.

use record::{GpuCount, Live, Seen};
use report::Family;

use super::super::seconds_of;
use super::super::sums::Sums;

/// The GPUs of a pool whose slots offer one GPU twice.
pub(super) fn gpu_slots(lives: &[Live]) -> Vec<Family> {
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

pub(super) fn access_points(lives: &[Live]) -> Vec<Family> {
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
