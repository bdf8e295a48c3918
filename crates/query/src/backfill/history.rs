//! The states of every GPU over the period, small enough to be held at once.

use std::collections::HashMap;

use anyhow::{Context, Result};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimestampMicrosecondType};
use datafusion::arrow::error::ArrowError;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;

use super::phase::{Phase, Situation, Track, Watch};

/// What was seen of GPUs, by GPU and time.
pub(super) struct History {
    pub(super) names: Names,
    pub(super) gpus: Vec<Gpu>,
    spans: Vec<Span>,
}

/// A GPU, as it was last seen.
pub(super) struct Gpu {
    pub(super) cluster: Name,
    pub(super) machine: Name,
    pub(super) gpu_id: Name,
    device_name: Name,
    device: Name,
    family: Name,
    tier: Name,
    owner_class: Name,
    /// Unknown where it was never offered for backfill.
    backfill_class: Name,
}

impl Gpu {
    /// In the order of [`super::GPU_FIELDS`].
    pub(super) fn known(&self) -> [Name; 8] {
        [
            self.cluster,
            self.machine,
            self.device_name,
            self.device,
            self.family,
            self.tier,
            self.owner_class,
            self.backfill_class,
        ]
    }
}

/// Who held a GPU, and with which job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Who {
    pub(super) user: Name,
    pub(super) job: Name,
}

struct Span {
    gpu: u32,
    start: i64,
    end: i64,
    backfill: Situation,
    primary: Situation,
    backfill_who: Who,
    primary_who: Who,
}

/// A phase of one of the GPUs.
#[derive(Clone, Debug)]
pub(super) struct GpuPhase {
    pub(super) gpu: usize,
    pub(super) phase: Phase<Who>,
}

impl History {
    pub(super) async fn read(context: &SessionContext) -> Result<History> {
        let mut stream = context
            .sql(
                "SELECT cluster, machine, gpu_id, device_name, device, family, tier, owner_class,
                        backfill_class, primary_use, backfill_use, primary_user, primary_job_id,
                        backfill_user, backfill_job_id, from_time, to_time
                 FROM gpu_time",
            )
            .await?
            .execute_stream()
            .await?;
        let mut history = History { names: Names::default(), gpus: Vec::new(), spans: Vec::new() };
        let mut places = HashMap::new();
        while let Some(batch) = stream.try_next().await? {
            history.add(&batch, &mut places)?;
        }
        history.spans.sort_unstable_by_key(|span| (span.gpu, span.start));
        Ok(history)
    }

    fn add(&mut self, batch: &RecordBatch, places: &mut HashMap<[Name; 3], u32>) -> Result<()> {
        // Words that a term writes itself have another type than those of a table.
        let text = |place: usize| cast(batch.column(place), &DataType::Utf8View);
        let texts = (0..15).map(text).collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        let time = |place: usize| batch.column(place).as_primitive::<TimestampMicrosecondType>();
        let words: Vec<&StringViewArray> = texts.iter().map(|text| text.as_string_view()).collect();
        let (starts, ends) = (time(15), time(16));
        for row in 0..batch.num_rows() {
            let word = |place: usize| words[place].is_valid(row).then(|| words[place].value(row));
            let mut name = |place: usize| self.names.of(word(place));
            let place = [name(0), name(1), name(2)];
            let known = [name(3), name(4), name(5), name(6), name(7), name(8)];
            let primary_who = Who { user: name(11), job: name(12) };
            let backfill_who = Who { user: name(13), job: name(14) };
            let next = self.gpus.len() as u32;
            let gpu = *places.entry(place).or_insert(next);
            if gpu == next {
                let [cluster, machine, gpu_id] = place;
                self.gpus.push(Gpu {
                    cluster,
                    machine,
                    gpu_id,
                    device_name: Name::UNKNOWN,
                    device: Name::UNKNOWN,
                    family: Name::UNKNOWN,
                    tier: Name::UNKNOWN,
                    owner_class: Name::UNKNOWN,
                    backfill_class: Name::UNKNOWN,
                });
            }
            // What is known of a GPU changes rarely if ever; what is known counts.
            let gpu_known = &mut self.gpus[gpu as usize];
            let [device_name, device, family, tier, owner_class, backfill_class] = known;
            for (kept, new) in [
                (&mut gpu_known.device_name, device_name),
                (&mut gpu_known.device, device),
                (&mut gpu_known.family, family),
                (&mut gpu_known.tier, tier),
                (&mut gpu_known.owner_class, owner_class),
                (&mut gpu_known.backfill_class, backfill_class),
            ] {
                if new != Name::UNKNOWN {
                    *kept = new;
                }
            }
            let (primary_use, backfill_use) = (word(9).unwrap_or(""), word(10).unwrap_or(""));
            self.spans.push(Span {
                gpu,
                start: starts.value(row),
                end: ends.value(row),
                backfill: backfill_situation(primary_use, backfill_use),
                primary: primary_situation(primary_use),
                backfill_who,
                primary_who,
            });
        }
        u32::try_from(self.gpus.len()).context("more GPUs than can be counted")?;
        Ok(())
    }

    /// How the backfill side of each GPU went on that is offered for backfill at any time.
    pub(super) fn backfill_phases(&self) -> Vec<GpuPhase> {
        self.phases(|span| {
            let who = match span.backfill {
                Situation::Taken => span.backfill_who,
                Situation::Owner => span.primary_who,
                _ => Who::default(),
            };
            let is_offered = self.gpus[span.gpu as usize].backfill_class != Name::UNKNOWN;
            is_offered.then_some((span.backfill, who))
        })
    }

    /// How the owner's side of each GPU went on.
    pub(super) fn primary_phases(&self) -> Vec<GpuPhase> {
        self.phases(|span| {
            let is_owners = span.primary == Situation::Owner;
            Some((span.primary, if is_owners { span.primary_who } else { Who::default() }))
        })
    }

    fn phases(&self, side: impl Fn(&Span) -> Option<(Situation, Who)>) -> Vec<GpuPhase> {
        let mut watches: HashMap<Name, Watch> = HashMap::new();
        let mut phases = Vec::new();
        for spans in self.spans.chunk_by(|one, other| one.gpu == other.gpu) {
            let gpu = spans[0].gpu as usize;
            let watch = watches.entry(self.gpus[gpu].cluster).or_default();
            let mut track = Track::default();
            for span in spans {
                watch.add(span.start, span.end);
                let Some((situation, who)) = side(span) else { continue };
                let over = track.add(span.start, span.end, situation, who);
                phases.extend(over.map(|phase| GpuPhase { gpu, phase }));
            }
            phases.extend(track.finish().map(|phase| GpuPhase { gpu, phase }));
        }
        let watches: HashMap<Name, Watch> =
            watches.into_iter().map(|(cluster, watch)| (cluster, watch.joined())).collect();
        for phase in &mut phases {
            watches[&self.gpus[phase.gpu].cluster].tell(&mut phase.phase);
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

/// A text, held once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(u32);

impl Name {
    pub(super) const UNKNOWN: Name = Name(0);
}

/// The texts by their names.
#[derive(Clone, Default)]
pub(super) struct Names {
    texts: Vec<Box<str>>,
    by_text: HashMap<Box<str>, Name>,
}

impl Names {
    pub(super) fn of(&mut self, text: Option<&str>) -> Name {
        let Some(text) = text else { return Name::UNKNOWN };
        if let Some(name) = self.by_text.get(text) {
            return *name;
        }
        self.texts.push(text.into());
        let name = Name(self.texts.len() as u32);
        self.by_text.insert(text.into(), name);
        name
    }

    pub(super) fn text(&self, name: Name) -> Option<&str> {
        Some(&self.texts[name.0.checked_sub(1)? as usize])
    }
}
