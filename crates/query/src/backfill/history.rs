//! How the GPUs of a period went on, on either side.

use std::collections::HashMap;
use std::sync::OnceLock;

use anyhow::Result;
use datafusion::arrow::array::StringViewArray;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::prelude::SessionContext;

use super::phase::{Phase, Situation, Track, Watch};
use crate::gpu_history::{self, GpuHistory, Kind, Span, Who};
use crate::names::{Name, Names};

/// What was seen of GPUs, by GPU and time.
pub(super) struct History {
    pub(super) names: Names,
    pub(super) gpus: Vec<Gpu>,
    spans: Vec<Span>,
    texts: OnceLock<StringViewArray>,
    /// Of each kind of span, on the backfill and on the primary side.
    situations: Vec<(Situation, Situation)>,
    /// What all of it takes, for as long as it is there.
    _held: MemoryReservation,
}

/// A GPU, as it was last seen.
pub(super) struct Gpu {
    pub(super) place: Place,
    pub(super) gpu_id: Name,
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
}

/// A phase of one of the GPUs.
#[derive(Clone, Debug)]
pub(super) struct GpuPhase {
    pub(super) gpu: usize,
    pub(super) phase: Phase<Who>,
}

impl History {
    pub(super) async fn read(context: &SessionContext, spans: &str) -> Result<History> {
        let history = GpuHistory::read(context, spans).await?;
        let GpuHistory { names, gpus, kinds, spans, held: _held } = history;
        let mut gpus: Vec<Gpu> = gpus
            .into_iter()
            .map(|gpu_history::Gpu { cluster, machine, gpu_id }| Gpu {
                place: Place { cluster, machine, ..Place::default() },
                gpu_id,
            })
            .collect();
        for alike in spans.chunk_by(|one, other| (one.gpu, one.kind) == (other.gpu, other.kind)) {
            gpus[alike[0].gpu as usize].place.learn(&kinds[alike[0].kind as usize]);
        }
        let situations = kinds.iter().map(|kind| {
            let text = |name: Name| names.text(name).unwrap_or_default();
            let (primary_use, backfill_use) = (text(kind.primary_use), text(kind.backfill_use));
            (backfill_situation(primary_use, backfill_use), primary_situation(primary_use))
        });
        let (situations, texts) = (situations.collect(), OnceLock::new());
        Ok(History { situations, names, gpus, spans, texts, _held })
    }

    /// All texts, by the numbers of their names.
    pub(super) fn texts(&self) -> &StringViewArray {
        self.texts.get_or_init(|| self.names.array())
    }

    /// How the backfill side of each GPU went on that is offered for backfill at any time: the phases
    /// of which the situation is wanted.
    pub(super) fn backfill_phases(&self, wanted: impl Fn(Situation) -> bool) -> Vec<GpuPhase> {
        self.phases(wanted, |span| {
            let (situation, _) = self.situations[span.kind as usize];
            let who = match situation {
                Situation::Taken => span.backfill,
                Situation::Owner => span.primary,
                _ => Who::default(),
            };
            let is_offered = self.gpus[span.gpu as usize].place.backfill_class != Name::UNKNOWN;
            is_offered.then_some((situation, who))
        })
    }

    /// How the owner's side of each GPU went on, likewise.
    pub(super) fn primary_phases(&self, wanted: impl Fn(Situation) -> bool) -> Vec<GpuPhase> {
        self.phases(wanted, |span| {
            let (_, situation) = self.situations[span.kind as usize];
            let is_owners = situation == Situation::Owner;
            Some((situation, if is_owners { span.primary } else { Who::default() }))
        })
    }

    fn phases(
        &self,
        wanted: impl Fn(Situation) -> bool,
        side: impl Fn(&Span) -> Option<(Situation, Who)>,
    ) -> Vec<GpuPhase> {
        let mut watches: HashMap<Name, Watch> = HashMap::new();
        let mut phases = Vec::new();
        for spans in self.spans.chunk_by(|one, other| one.gpu == other.gpu) {
            let gpu = spans[0].gpu as usize;
            let watch = watches.entry(self.gpus[gpu].place.cluster).or_default();
            let mut track = Track::default();
            for span in spans {
                watch.add(span.start, span.end);
                let Some((situation, who)) = side(span) else { continue };
                let over = track.add(span.start, span.end, situation, who);
                let over = over.filter(|phase| wanted(phase.situation));
                phases.extend(over.map(|phase| GpuPhase { gpu, phase }));
            }
            let last = track.finish().filter(|phase| wanted(phase.situation));
            phases.extend(last.map(|phase| GpuPhase { gpu, phase }));
        }
        let watches: HashMap<Name, Watch> =
            watches.into_iter().map(|(cluster, watch)| (cluster, watch.joined())).collect();
        for of_one in phases.chunk_by_mut(|one, other| one.gpu == other.gpu) {
            let watch = &watches[&self.gpus[of_one[0].gpu].place.cluster];
            of_one.iter_mut().for_each(|phase| watch.tell(&mut phase.phase));
        }
        phases
    }
}

/// What the backfill side could be used for, by the term `gpu_time`.
fn backfill_situation(primary_use: &str, backfill_use: &str) -> Situation {
    match (primary_use, backfill_use) {
        // A job that its owner's return is about to end still holds it.
        (_, "claimed" | "conflict") => Situation::Taken,
        ("claimed", _) => Situation::Owner,
        ("drained" | "prevented", _) | (_, "drained" | "prevented") => Situation::Drained,
        (_, "available") => Situation::Open,
        _ => Situation::Gone,
    }
}

/// What the owner's side could be used for.
fn primary_situation(primary_use: &str) -> Situation {
    match primary_use {
        "claimed" => Situation::Owner,
        "idle" => Situation::Open,
        "drained" | "prevented" => Situation::Drained,
        _ => Situation::Gone,
    }
}
