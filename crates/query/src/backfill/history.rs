//! How the GPUs of a period went on, on either side.

use std::collections::HashMap;

use anyhow::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::prelude::SessionContext;
use hashbrown::HashSet;

use super::phase::{Phase, Situation, Track, Watch};
use crate::gpu_history::{self, GpuHistory, Kind, MachineJob, Span, Who};
use crate::names::{Name, Names};

/// What was seen of GPUs, by GPU and time.
pub(super) struct History {
    pub(super) names: Names,
    pub(super) gpus: Vec<Gpu>,
    spans: Vec<Span>,
    /// Jobs on GPUs that the site leaves out, and on no others of the same machine.
    pub(super) left_out_jobs: HashSet<MachineJob>,
    /// Of each kind of span, on the backfill and on the primary side.
    situations: Vec<(Situation, Situation)>,
    /// What all of it takes, for as long as it is there.
    _held: MemoryReservation,
}

/// A GPU, as it was last seen.
pub(super) struct Gpu {
    pub(super) place: Place,
    pub(super) gpu_id: Name,
    /// Whether the site leaves it out.
    pub(super) is_left_out: bool,
    /// Whether samples of the period show it, rather than those right after it alone.
    pub(super) is_in_period: bool,
}

/// One of the two sides of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GpuSide {
    Backfill,
    Primary,
}

/// Where a GPU is, what it is, and whose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) cluster: Name,
    pub(super) machine: Name,
    pub(super) device_name: Name,
    pub(super) device: Name,
    pub(super) family: Name,
    pub(super) tier: Name,
    pub(super) owner_class: Name,
    /// Unknown where it was never offered for backfill.
    pub(super) backfill_class: Name,
}

impl Place {
    /// What is known of a GPU changes rarely if ever; what is known last counts.
    fn learn(&mut self, kind: &Kind) {
        for (kept, new) in [
            (&mut self.device_name, kind.device_name),
            (&mut self.device, kind.device),
            (&mut self.family, kind.family),
            (&mut self.tier, kind.tier),
            (&mut self.owner_class, kind.owner_class),
            (&mut self.backfill_class, kind.backfill_class),
        ] {
            if new != Name::UNKNOWN {
                *kept = new;
            }
        }
    }

    /// Fills unknown values from another place. A model is added as a whole.
    pub(super) fn add(&mut self, other: &Place) {
        if self.device_name == Name::UNKNOWN && self.device == Name::UNKNOWN {
            let Place { device_name, device, family, tier, .. } = *other;
            *self = Place { device_name, device, family, tier, ..*self };
        }
        for (kept, new) in [
            (&mut self.owner_class, other.owner_class),
            (&mut self.backfill_class, other.backfill_class),
        ] {
            if *kept == Name::UNKNOWN {
                *kept = new;
            }
        }
    }

    /// Keeps only what another says too. A model is kept or left as a whole.
    pub(super) fn keep_common(&mut self, other: &Place) {
        if self.device_name != other.device_name {
            let unknown = Name::UNKNOWN;
            let (device_name, device, family, tier) = (unknown, unknown, unknown, unknown);
            *self = Place { device_name, device, family, tier, ..*self };
        }
        for (kept, other) in [
            (&mut self.owner_class, other.owner_class),
            (&mut self.backfill_class, other.backfill_class),
        ] {
            if *kept != other {
                *kept = Name::UNKNOWN;
            }
        }
    }
}

/// A phase of one of the GPUs.
#[derive(Clone, Debug)]
pub(super) struct GpuPhase {
    pub(super) gpu: usize,
    pub(super) phase: Phase<Who>,
    /// Whether a sample shows it. Others are known from the job history alone.
    pub(super) is_sampled: bool,
}

impl History {
    /// Reads the spans of a period, and of the time right after it.
    pub(super) async fn read(
        context: &SessionContext,
        spans: &str,
        period_end: i64,
    ) -> Result<History> {
        let history = GpuHistory::read(context, spans).await?;
        let GpuHistory { names, gpus, kinds, spans, left_out_jobs, held: _held } = history;
        let mut gpus: Vec<Gpu> = gpus
            .into_iter()
            .map(|gpu_history::Gpu { cluster, machine, gpu_id }| Gpu {
                place: Place { cluster, machine, ..Place::default() },
                gpu_id,
                is_left_out: true,
                is_in_period: false,
            })
            .collect();
        for alike in spans.chunk_by(|one, other| (one.gpu, one.kind) == (other.gpu, other.kind)) {
            let gpu = &mut gpus[alike[0].gpu as usize];
            gpu.is_left_out = false;
            if alike[0].start < period_end {
                gpu.is_in_period = true;
                gpu.place.learn(&kinds[alike[0].kind as usize]);
            }
        }
        let situations = kinds.iter().map(|kind| {
            let text = |name: Name| names.text(name).unwrap_or_default();
            let (primary_use, backfill_use) = (text(kind.primary_use), text(kind.backfill_use));
            (backfill_situation(primary_use, backfill_use), primary_situation(primary_use))
        });
        let situations = situations.collect();
        Ok(History { situations, names, gpus, spans, left_out_jobs, _held })
    }

    /// How one side of each GPU went on, by GPU and time, as samples show it. The backfill side is that
    /// of GPUs that are offered for backfill at any time.
    pub(super) fn phases(&self, side: GpuSide) -> Vec<GpuPhase> {
        let mut watches: HashMap<Name, Watch> = HashMap::new();
        let mut phases = Vec::new();
        for spans in self.spans.chunk_by(|one, other| one.gpu == other.gpu) {
            let gpu = spans[0].gpu as usize;
            let Place { cluster, backfill_class, .. } = self.gpus[gpu].place;
            let watch = watches.entry(cluster).or_default();
            spans.iter().for_each(|span| watch.add(span.start, span.end));
            if side == GpuSide::Backfill && backfill_class == Name::UNKNOWN {
                continue;
            }
            let mut track = Track::default();
            let of_gpu = |phase| GpuPhase { gpu, phase, is_sampled: true };
            for span in spans {
                let (situation, who) = self.situation(side, span);
                phases.extend(track.add(span.start, span.end, situation, who).map(of_gpu));
            }
            phases.extend(track.finish().map(of_gpu));
        }
        let watches: HashMap<Name, Watch> =
            watches.into_iter().map(|(cluster, watch)| (cluster, watch.joined())).collect();
        for of_one in phases.chunk_by_mut(|one, other| one.gpu == other.gpu) {
            let watch = &watches[&self.gpus[of_one[0].gpu].place.cluster];
            of_one.iter_mut().for_each(|phase| watch.tell(&mut phase.phase));
        }
        phases
    }

    /// Calls a function with the cluster and the time of each change of a GPU. Spans that are cut at
    /// midnight are no change.
    pub(super) fn each_change(&self, mut call: impl FnMut(Name, i64)) {
        let state =
            |span: &Span| (self.situations[span.kind as usize], span.primary, span.backfill);
        for spans in self.spans.chunk_by(|one, other| one.gpu == other.gpu) {
            let cluster = self.gpus[spans[0].gpu as usize].place.cluster;
            call(cluster, spans[0].start);
            for pair in spans.windows(2) {
                if pair[0].end < pair[1].start || state(&pair[0]) != state(&pair[1]) {
                    call(cluster, pair[1].start);
                }
            }
        }
    }

    fn situation(&self, side: GpuSide, span: &Span) -> (Situation, Who) {
        let (on_backfill, on_primary) = self.situations[span.kind as usize];
        let situation = match side {
            GpuSide::Backfill => on_backfill,
            GpuSide::Primary => on_primary,
        };
        let who = match situation {
            Situation::Taken => span.backfill,
            Situation::Owner => span.primary,
            _ => Who::default(),
        };
        (situation, who)
    }
}

/// What the backfill side could be used for, by the term `gpu_time`.
fn backfill_situation(primary_use: &str, backfill_use: &str) -> Situation {
    match (primary_use, backfill_use) {
        // A job that its owner's return is about to end still holds it.
        (_, "claimed" | "conflict") => Situation::Taken,
        ("claimed", _) => Situation::Owner,
        _ => match (out_of_service(primary_use).or(out_of_service(backfill_use)), backfill_use) {
            (Some(situation), _) => situation,
            (None, "available") => Situation::Open,
            (None, _) => Situation::Gone,
        },
    }
}

/// What the owner's side could be used for.
fn primary_situation(primary_use: &str) -> Situation {
    match primary_use {
        "claimed" => Situation::Owner,
        "idle" => Situation::Open,
        _ => out_of_service(primary_use).unwrap_or(Situation::Gone),
    }
}

/// Returns the situation of a GPU whose machine takes no jobs. None for any other use.
fn out_of_service(side_use: &str) -> Option<Situation> {
    Some(match side_use {
        "draining" => Situation::Draining,
        "drained" | "prevented" => Situation::Drained,
        "down" => Situation::Down,
        "maintenance" => Situation::Maintenance,
        "rebooting" => Situation::Rebooting,
        _ => return None,
    })
}
