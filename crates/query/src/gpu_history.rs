//! The states of every GPU over the period, small enough to be held at once: what pictures and the
//! tables of backfill are made of.
//!
//! There are millions of spans and thousands of states that machines are in: spans are read as they
//! are kept, each with the number of its kind, and only the kinds are judged.

use std::ops::Range;
use std::sync::Arc;
use std::thread::{available_parallelism, scope};

use anyhow::{Context, Result};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringViewArray, UInt32Array,
};
use datafusion::arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType, UInt32Type};
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use futures::future::try_join_all;
use hashbrown::{HashMap, HashSet};

use crate::memory::held_in;
use crate::names::{Name, Names, Renamed, TextColumn};
use crate::term;

/// What was seen of GPUs, but for those that the site wants left out.
pub(crate) struct GpuHistory {
    pub(crate) names: Names,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) kinds: Vec<Kind>,
    /// By GPU and time.
    pub(crate) spans: Vec<Span>,
    /// Jobs on GPUs that the site leaves out, and on no others of the same machine.
    pub(crate) left_out_jobs: HashSet<MachineJob>,
    /// What all of it takes, for as long as it is there.
    pub(crate) held: MemoryReservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gpu {
    pub(crate) cluster: Name,
    pub(crate) machine: Name,
    pub(crate) gpu_id: Name,
}

/// A job on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MachineJob {
    pub(crate) cluster: Name,
    pub(crate) machine: Name,
    pub(crate) job: Name,
}

/// A state that GPUs of a machine are in, judged: see the term `gpu_time`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kind {
    pub(crate) device_name: Name,
    pub(crate) device: Name,
    pub(crate) family: Name,
    pub(crate) tier: Name,
    pub(crate) owner_class: Name,
    pub(crate) primary_class: Name,
    pub(crate) backfill_class: Name,
    pub(crate) primary_use: Name,
    pub(crate) backfill_use: Name,
    pub(crate) state: Name,
    is_shown: bool,
}

/// Who held a GPU, and with which job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Who {
    pub(crate) user: Name,
    pub(crate) job: Name,
}

/// A GPU that stays as it is, with times in microseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) gpu: u32,
    pub(crate) kind: u32,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) primary: Who,
    pub(crate) backfill: Who,
    /// Measured use, in hundredths.
    pub(crate) use_percent: Option<u8>,
}

impl GpuHistory {
    /// Reads by a statement that [`term::gpu_spans`] gives.
    pub(crate) async fn read(context: &SessionContext, spans: &str) -> Result<GpuHistory> {
        let held = held_in(context, "the states of GPUs");
        let readers = context
            .sql(spans)
            .await?
            .execute_stream_partitioned()
            .await?
            .into_iter()
            .map(|spans| Reader::read_all(spans, held.new_empty()))
            .map(|reading| SpawnedTask::spawn(reading).join_unwind());
        let read = try_join_all(readers).await?.into_iter().collect::<Result<Vec<_>>>()?;
        let (readers, of_readers): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let history = GpuHistory::of(context, readers, held).await?;
        drop(of_readers);
        Ok(history)
    }

    /// Of what several have read of different spans, each with numbers of its own.
    async fn of(
        context: &SessionContext,
        readers: Vec<Reader>,
        held: MemoryReservation,
    ) -> Result<GpuHistory> {
        let mut readers = readers.into_iter();
        let mut all = readers.next().unwrap_or_default();
        let mut read = vec![std::mem::take(&mut all.spans)];
        for mut reader in readers {
            let renumbered = all.add(&reader);
            reader.spans.iter_mut().for_each(|span| renumbered.apply(span));
            read.push(reader.spans);
        }
        let kinds = all.judged(context).await.context("cannot judge the states of GPUs")?;
        let (gpus, places) = in_order(&all.names, &all.gpus.list);
        let mut left_out_jobs = HashSet::new();
        for spans in &mut read {
            spans.retain_mut(|span| {
                span.gpu = places[span.gpu as usize];
                let is_shown = kinds[span.kind as usize].is_shown;
                if !is_shown {
                    left_out_jobs.extend(jobs(&gpus, span));
                }
                is_shown
            });
        }
        if !left_out_jobs.is_empty() {
            for span in read.iter().flatten() {
                jobs(&gpus, span).for_each(|job| {
                    left_out_jobs.remove(&job);
                });
            }
        }
        let spans: usize = read.iter().map(Vec::len).sum();
        held.try_resize(
            all.names.bytes()
                + gpus.len() * size_of::<Gpu>()
                + kinds.len() * size_of::<Kind>()
                + left_out_jobs.capacity() * size_of::<MachineJob>()
                + spans * size_of::<Span>(),
        )?;
        let spans = by_gpu(gpus.len(), &read);
        Ok(GpuHistory { names: all.names, gpus, kinds, spans, left_out_jobs, held })
    }
}

/// The jobs that a span shows, on either side.
fn jobs(gpus: &[Gpu], span: &Span) -> impl Iterator<Item = MachineJob> {
    let Gpu { cluster, machine, .. } = gpus[span.gpu as usize];
    let jobs = [span.primary.job, span.backfill.job].into_iter();
    jobs.filter(|job| *job != Name::UNKNOWN).map(move |job| MachineJob { cluster, machine, job })
}

/// The numbers that things got which another reader had numbers for.
struct Renumbered {
    names: Renamed,
    gpus: Vec<u32>,
    kinds: Vec<u32>,
}

impl Renumbered {
    fn apply(&self, span: &mut Span) {
        span.gpu = self.gpus[span.gpu as usize];
        span.kind = self.kinds[span.kind as usize];
        for who in [&mut span.primary, &mut span.backfill] {
            *who = Who { user: self.names[who.user], job: self.names[who.job] };
        }
    }
}

/// All spans by GPU and time. Most come in the order of their times.
fn by_gpu(gpus: usize, read: &[Vec<Span>]) -> Vec<Span> {
    let mut starts = vec![0; gpus + 1];
    read.iter().flatten().for_each(|span| starts[span.gpu as usize + 1] += 1);
    for gpu in 0..gpus {
        starts[gpu + 1] += starts[gpu];
    }
    let mut spans = vec![Span::default(); starts[gpus]];
    let threads = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        let (mut rest, mut first) = (&mut spans[..], 0);
        for thread in 1..=threads {
            let wanted = starts[gpus] * thread / threads;
            let end = starts.partition_point(|start| *start < wanted).clamp(first, gpus);
            let (part, others) =
                std::mem::take(&mut rest).split_at_mut(starts[end] - starts[first]);
            rest = others;
            let (from, starts) = (std::mem::replace(&mut first, end), &starts);
            scope.spawn(move || put(part, from..end, &starts[from..=end], read));
        }
    });
    spans
}

/// Puts the spans of some GPUs in their places, which begin at the starts of the GPUs.
fn put(places: &mut [Span], gpus: Range<usize>, starts: &[usize], read: &[Vec<Span>]) {
    let mut next: Vec<usize> = starts.iter().map(|start| start - starts[0]).collect();
    for span in read.iter().flatten().filter(|span| gpus.contains(&(span.gpu as usize))) {
        let next = &mut next[span.gpu as usize - gpus.start];
        places[*next] = *span;
        *next += 1;
    }
    for of_one in places.chunk_by_mut(|one, other| one.gpu == other.gpu) {
        if !of_one.is_sorted_by_key(|span| span.start) {
            // Stable, since it makes use of what several readers had in order.
            of_one.sort_by_key(|span| span.start);
        }
    }
}

/// What spans say that decides how they are judged.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Said {
    cluster: Name,
    machine: Name,
    device_name: Name,
    device_memory_mb: Option<i64>,
    primary_state: Name,
    is_prevented: Option<bool>,
    availability: Name,
    projects_said: Option<bool>,
    interactive: Option<bool>,
    backfill_state: Name,
    has_backfill: Option<bool>,
    policy: i64,
}

#[derive(Default)]
struct Reader {
    names: Names,
    gpus: Places<Gpu>,
    kinds: Places<Said>,
    spans: Vec<Span>,
}

impl Reader {
    async fn read_all(
        mut spans: SendableRecordBatchStream,
        held: MemoryReservation,
    ) -> Result<(Reader, MemoryReservation)> {
        let mut reader = Reader::default();
        while let Some(batch) = spans.try_next().await? {
            reader.read(&batch).context("cannot read the spans of GPUs")?;
            held.try_resize(reader.bytes())?;
        }
        Ok((reader, held))
    }

    /// How much memory it takes.
    fn bytes(&self) -> usize {
        self.names.bytes()
            + self.gpus.bytes()
            + self.kinds.bytes()
            + self.spans.capacity() * size_of::<Span>()
    }

    /// Adds what another has seen, but for its spans.
    fn add(&mut self, other: &Reader) -> Renumbered {
        let names = self.names.add(&other.names);
        let gpus = other.gpus.list.iter().map(|gpu| {
            self.gpus.of(Gpu {
                cluster: names[gpu.cluster],
                machine: names[gpu.machine],
                gpu_id: names[gpu.gpu_id],
            })
        });
        let gpus = gpus.collect();
        let kinds = other.kinds.list.iter().map(|said| {
            self.kinds.of(Said {
                cluster: names[said.cluster],
                machine: names[said.machine],
                device_name: names[said.device_name],
                primary_state: names[said.primary_state],
                availability: names[said.availability],
                backfill_state: names[said.backfill_state],
                ..*said
            })
        });
        Renumbered { kinds: kinds.collect(), gpus, names }
    }

    fn read(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = |name: &str| {
            batch.column_by_name(name).with_context(|| format!("there is no column {name}"))
        };
        let text = |name: &str| -> Result<TextColumn> { Ok(TextColumn::new(column(name)?)?) };
        let truth = |name: &str| -> Result<&BooleanArray> { Ok(column(name)?.as_boolean()) };
        let time = |name: &str| -> Result<_> {
            Ok(column(name)?.as_primitive::<TimestampMicrosecondType>())
        };
        let (mut cluster, mut machine) = (text("cluster")?, text("machine")?);
        let (mut gpu_id, mut device_name) = (text("gpu_id")?, text("device_name")?);
        let (mut primary_state, mut backfill_state) =
            (text("primary_state")?, text("backfill_state")?);
        let mut availability = text("availability")?;
        let (mut primary_user, mut primary_job) = (text("primary_user")?, text("primary_job_id")?);
        let (mut backfill_user, mut backfill_job) =
            (text("backfill_user")?, text("backfill_job_id")?);
        let device_memory_mb = column("device_memory_mb")?.as_primitive::<Int64Type>();
        let (is_prevented, has_backfill) = (truth("is_prevented")?, truth("has_backfill")?);
        let (projects_said, interactive) = (truth("projects_said")?, truth("interactive")?);
        let policy = column("policy")?.as_primitive::<Int64Type>();
        let (starts, ends) = (time("from_time")?, time("to_time")?);
        let use_ratio = column("mean_use_ratio")?.as_primitive::<Float64Type>();
        let known =
            |truths: &BooleanArray, row: usize| truths.is_valid(row).then(|| truths.value(row));
        let names = &mut self.names;
        for row in 0..batch.num_rows() {
            let (cluster, machine) = (cluster.name(row, names), machine.name(row, names));
            let gpu = Gpu { cluster, machine, gpu_id: gpu_id.name(row, names) };
            let said = Said {
                cluster,
                machine,
                device_name: device_name.name(row, names),
                device_memory_mb: device_memory_mb
                    .is_valid(row)
                    .then(|| device_memory_mb.value(row)),
                primary_state: primary_state.name(row, names),
                is_prevented: known(is_prevented, row),
                availability: availability.name(row, names),
                projects_said: known(projects_said, row),
                interactive: known(interactive, row),
                backfill_state: backfill_state.name(row, names),
                has_backfill: known(has_backfill, row),
                policy: policy.value(row),
            };
            self.spans.push(Span {
                gpu: self.gpus.of(gpu),
                kind: self.kinds.of(said),
                start: starts.value(row),
                end: ends.value(row),
                primary: Who {
                    user: primary_user.name(row, names),
                    job: primary_job.name(row, names),
                },
                backfill: Who {
                    user: backfill_user.name(row, names),
                    job: backfill_job.name(row, names),
                },
                use_percent: use_ratio
                    .is_valid(row)
                    .then(|| (use_ratio.value(row) * 100.0).clamp(0.0, 100.0) as u8),
            });
        }
        Ok(())
    }

    async fn judged(&mut self, context: &SessionContext) -> Result<Vec<Kind>> {
        let mut kinds = vec![Kind::default(); self.kinds.list.len()];
        let judged = context.read_batch(self.said()?)?;
        context.register_table("internal.gpu_kind", judged.into_view())?;
        for batch in context.sql(term::GPU_KINDS).await?.collect().await? {
            let places = batch.column(0).as_primitive::<UInt32Type>();
            let mut texts =
                batch.columns()[1..].iter().map(TextColumn::new).collect::<Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let mut name = |place: usize| texts[place].name(row, &mut self.names);
                kinds[places.value(row) as usize] = Kind {
                    device_name: name(0),
                    device: name(1),
                    family: name(2),
                    tier: name(3),
                    owner_class: name(4),
                    primary_class: name(5),
                    backfill_class: name(6),
                    primary_use: name(7),
                    backfill_use: name(8),
                    state: name(9),
                    is_shown: true,
                };
            }
        }
        Ok(kinds)
    }

    /// The kinds as rows.
    fn said(&self) -> Result<RecordBatch> {
        let kinds = &self.kinds.list;
        let text = |of: fn(&Said) -> Name| -> ArrayRef {
            let texts = kinds.iter().map(|kind| self.names.text(of(kind)));
            Arc::new(texts.collect::<StringViewArray>())
        };
        let truth = |of: fn(&Said) -> Option<bool>| -> ArrayRef {
            Arc::new(kinds.iter().map(of).collect::<BooleanArray>())
        };
        let memory: Int64Array = kinds.iter().map(|kind| kind.device_memory_mb).collect();
        let policies = Int64Array::from_iter_values(kinds.iter().map(|kind| kind.policy));
        let columns: [(&str, ArrayRef); 13] = [
            ("kind", Arc::new(UInt32Array::from_iter_values(0..kinds.len() as u32))),
            ("cluster", text(|kind| kind.cluster)),
            ("machine", text(|kind| kind.machine)),
            ("device_name", text(|kind| kind.device_name)),
            ("device_memory_mb", Arc::new(memory)),
            ("primary_state", text(|kind| kind.primary_state)),
            ("is_prevented", truth(|kind| kind.is_prevented)),
            ("availability", text(|kind| kind.availability)),
            ("projects_said", truth(|kind| kind.projects_said)),
            ("interactive", truth(|kind| kind.interactive)),
            ("backfill_state", text(|kind| kind.backfill_state)),
            ("has_backfill", truth(|kind| kind.has_backfill)),
            ("policy", Arc::new(policies)),
        ];
        Ok(RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )?)
    }
}

/// Values by their place in a list, each once.
struct Places<T> {
    list: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T> Default for Places<T> {
    fn default() -> Places<T> {
        Places { list: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Places<T> {
    fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<T>() + self.places.capacity() * size_of::<(T, u32)>()
    }

    fn of(&mut self, value: T) -> u32 {
        *self.places.entry(value).or_insert_with(|| {
            self.list.push(value);
            u32::try_from(self.list.len() - 1).expect("a period has fewer than 2³² GPUs")
        })
    }
}

/// The GPUs in the order of their names, and the place of each in it, for the same lake must give the
/// same answers: what is chosen among several by their place is then always the same.
fn in_order(names: &Names, gpus: &[Gpu]) -> (Vec<Gpu>, Vec<u32>) {
    let name = |gpu: &Gpu| [gpu.cluster, gpu.machine, gpu.gpu_id].map(|name| names.text(name));
    let mut order: Vec<usize> = (0..gpus.len()).collect();
    order.sort_by(|one, other| name(&gpus[*one]).cmp(&name(&gpus[*other])));
    let mut places = vec![0; gpus.len()];
    for (place, before) in order.iter().enumerate() {
        places[*before] = place as u32;
    }
    (order.into_iter().map(|before| gpus[before]).collect(), places)
}
