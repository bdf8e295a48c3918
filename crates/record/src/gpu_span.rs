//! One GPU in one unchanging state, and how a day's observations become such spans.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::{GpuSample, Record, Text};

record! {
    "One GPU in one unchanging state. Its primary and its backfill side are kept apart, since one GPU is offered by both at once."
    pub struct GpuSpan in "gpu_span" key [machine, gpu_id, start_time] sort [machine, gpu_id, start_time] moment start_time observed start_time {
        machine: Text, "", "The machine that holds the GPU.";
        gpu_id: Text, "", "The GPU, in one spelling.";
        start_time: Timestamp, "UTC", "When the state was first seen, or midnight.";
        end_time: Timestamp, "UTC", "Until when it is known to hold, or midnight; not included.";
        device_name: Option<Text>, "", "The model.";
        device_memory_mb: Option<i64>, "MiB", "The GPU's memory.";
        capability: Option<f64>, "", "CUDA compute capability.";
        primary_slot: Option<Text>, "", "The slot that offers it first, without its machine's name; of SLURM a partition.";
        primary_state: Option<Text>, "", "That slot's state; unknown where no such slot was seen. Of SLURM Claimed, Unclaimed, or why the node takes no jobs, such as Down.";
        primary_user: Option<Text>, "", "Who holds it there.";
        primary_job_id: Option<Text>, "", "The job that holds it there.";
        prevent_reason: Option<Text>, "", "Why the machine takes no jobs.";
        availability: Option<Text>, "", "Whether the machine takes jobs: up, draining, drained, down, maintenance, rebooting, prevented or unknown; null in rows of older versions.";
        prioritized_projects: Option<Text>, "", "The projects that come first on the machine.";
        interactive: Option<bool>, "", "Whether the slot is for interactive work.";
        backfill_slot: Option<Text>, "", "The slot that offers it for backfill, likewise.";
        backfill_state: Option<Text>, "", "That slot's state.";
        backfill_user: Option<Text>, "", "Who holds it there.";
        backfill_job_id: Option<Text>, "", "The job that holds it there.";
        mean_use_ratio: Option<f64>, "0 to 1", "Measured use, on average over the time for which it was measured; unknown where it was not.";
        carry_until: Option<Timestamp>, "UTC", "Where its last observation holds beyond midnight: until when at the most. The time after midnight is in the next day's spans.";
        carry_use_ratio: Option<f64>, "0 to 1", "Measured use at that observation.";
    }
}

/// When a cluster's GPUs were looked at on one day, and how long one look holds at the most.
#[derive(Clone, Debug)]
pub struct Looks {
    start: Timestamp,
    end: Timestamp,
    times: Vec<Timestamp>,
    hold: SignedDuration,
}

impl Looks {
    /// The looks at these times, in whatever order; those of other days do not count.
    pub fn new(
        day: Date,
        times: impl IntoIterator<Item = Timestamp>,
        hold: SignedDuration,
    ) -> Looks {
        let midnight =
            |day: Date| day.to_zoned(TimeZone::UTC).expect("UTC has every midnight").timestamp();
        let start = midnight(day);
        let end = day.tomorrow().map_or(Timestamp::MAX, midnight);
        let mut times: Vec<Timestamp> =
            times.into_iter().filter(|time| (start..end).contains(time)).collect();
        times.sort_unstable();
        times.dedup();
        Looks { start, end, times, hold }
    }

    /// The spans of one GPU, from its samples of the day in the order of their times, and from
    /// its last span of the day before.
    ///
    /// What is observed holds until the next look at the cluster, whether that one sees the GPU
    /// or not, and for no longer than a look may hold; then nothing is known. Looks are a little
    /// early or late, so one that comes hardly later than that still comes in time.
    pub fn spans(&self, before: Option<&GpuSpan>, samples: &[GpuSample]) -> Vec<GpuSpan> {
        let mut spans: Vec<GpuSpan> = Vec::new();
        let mut mean = Mean::default();
        if let Some((before, until)) = before.and_then(|span| Some((span, span.carry_until?))) {
            let end = self.held(until, None);
            if self.start < end {
                spans.push(GpuSpan {
                    start_time: self.start,
                    end_time: self.start,
                    ..before.clone()
                });
                self.extend(&mut spans, &mut mean, end, until, before.carry_use_ratio);
            }
        }
        for (place, sample) in samples.iter().enumerate() {
            let until = sample.time.checked_add(self.hold).unwrap_or(Timestamp::MAX);
            if samples.get(place + 1).is_some_and(|next| next.time == sample.time) {
                continue; // the same look twice, of which the last counts
            }
            let end = self.held(until, Some(sample.time));
            if !spans
                .last()
                .is_some_and(|span| span.end_time >= sample.time && span.has_state_of(sample))
            {
                spans.push(GpuSpan::beginning_with(sample));
                mean = Mean::default();
            }
            self.extend(&mut spans, &mut mean, end, until, sample.use_ratio);
        }
        spans
    }

    /// Lets the last span go on until `end`, by an observation that holds `until` at the most.
    fn extend(
        &self,
        spans: &mut [GpuSpan],
        mean: &mut Mean,
        end: Timestamp,
        until: Timestamp,
        use_ratio: Option<f64>,
    ) {
        let Some(span) = spans.last_mut() else { return };
        mean.add(use_ratio, end.as_microsecond() - span.end_time.as_microsecond());
        span.end_time = end;
        span.mean_use_ratio = mean.value();
        let goes_on = end == self.end && until > self.end;
        span.carry_until = goes_on.then_some(until);
        span.carry_use_ratio = use_ratio.filter(|_| goes_on).map(rounded);
    }

    /// Until when on this day a look holds that may hold `until` then: until the first look after
    /// it, if that comes in time.
    fn held(&self, until: Timestamp, look: Option<Timestamp>) -> Timestamp {
        let place = look.map_or(0, |look| self.times.partition_point(|time| *time <= look));
        let in_time = until.checked_add(self.hold / 50).unwrap_or(Timestamp::MAX);
        let next = self.times.get(place).filter(|next| **next <= in_time);
        next.copied().unwrap_or(until).min(self.end)
    }
}

/// The spans of one day of a cluster, from its samples of that day and from the spans of the day
/// before, both in whatever order.
pub fn spans_of(looks: &Looks, before: &[GpuSpan], samples: &[GpuSample]) -> Vec<GpuSpan> {
    type Known<'a> = (Option<&'a GpuSpan>, Vec<GpuSample>);
    let mut gpus: BTreeMap<(&str, &str), Known<'_>> = BTreeMap::new();
    for span in before.iter().filter(|span| span.carry_until.is_some()) {
        gpus.entry((&span.machine, &span.gpu_id)).or_default().0 = Some(span);
    }
    for sample in samples {
        gpus.entry((&sample.machine, &sample.gpu_id)).or_default().1.push(sample.clone());
    }
    gpus.into_values()
        .flat_map(|(before, mut samples)| {
            samples.sort_by(Record::compare_key);
            looks.spans(before, &samples)
        })
        .collect()
}

/// A mean that is weighted by time; unknown until something known is added.
#[derive(Default)]
struct Mean {
    sum: f64,
    microseconds: i64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>, microseconds: i64) {
        if let Some(value) = value {
            self.sum += value * microseconds as f64;
            self.microseconds += microseconds;
        }
    }

    fn value(&self) -> Option<f64> {
        (self.microseconds > 0).then(|| rounded(self.sum / self.microseconds as f64))
    }
}

/// To the nearest of 256 parts, for meters tell whole percents: a number of few digits, in binary,
/// takes a sixth of the bytes, and sums of such numbers are exact in any order.
fn rounded(ratio: f64) -> f64 {
    (ratio * 256.0).round() / 256.0
}

/// What must be the same for two observations to lie in one span: every column of a sample but
/// when it was made and what was measured.
macro_rules! state {
    ($($field:ident),*) => {
        impl GpuSpan {
            /// A span of no length yet, in the state of a sample.
            fn beginning_with(sample: &GpuSample) -> GpuSpan {
                GpuSpan {
                    cluster: sample.cluster.clone(),
                    machine: sample.machine.clone(),
                    gpu_id: sample.gpu_id.clone(),
                    start_time: sample.time,
                    end_time: sample.time,
                    mean_use_ratio: None,
                    carry_until: None,
                    carry_use_ratio: None,
                    $($field: sample.$field.clone(),)*
                }
            }

            /// Whether a sample says of the GPU what the span says.
            pub fn has_state_of(&self, sample: &GpuSample) -> bool {
                true $(&& self.$field == sample.$field)*
            }
        }
    };
}

state!(
    device_name,
    device_memory_mb,
    capability,
    primary_slot,
    primary_state,
    primary_user,
    primary_job_id,
    prevent_reason,
    availability,
    prioritized_projects,
    interactive,
    backfill_slot,
    backfill_state,
    backfill_user,
    backfill_job_id
);
