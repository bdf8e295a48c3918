//! The states of every GPU over the period, small enough to be held at once: what pictures and the
//! tables of backfill are made of.
//!
//! There are millions of spans and thousands of states that machines are in: spans are read as they
//! are kept, each with the number of its kind, and only the kinds are judged.

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, UInt32Array,
};
use datafusion::arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType, UInt32Type};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use hashbrown::HashMap;

use crate::names::{Name, Names, TextColumn, column};
use crate::term;

/// What was seen of GPUs, but for those that the site wants left out.
pub(crate) struct GpuHistory {
    pub(crate) names: Names,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) kinds: Vec<Kind>,
    /// By GPU and time.
    pub(crate) spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gpu {
    pub(crate) cluster: Name,
    pub(crate) machine: Name,
    pub(crate) gpu_id: Name,
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
#[derive(Clone, Copy)]
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
        let mut stream = context.sql(spans).await?.execute_stream().await?;
        let mut reader = Reader::default();
        while let Some(batch) = stream.try_next().await? {
            reader.read(&batch).context("cannot read the spans of GPUs")?;
        }
        reader.finish(context).await
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
    projects_said: Option<bool>,
    interactive: Option<bool>,
    backfill_state: Name,
    has_backfill: Option<bool>,
}

#[derive(Default)]
struct Reader {
    names: Names,
    gpus: Places<Gpu>,
    kinds: Places<Said>,
    spans: Vec<Span>,
}

impl Reader {
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
        let (mut primary_user, mut primary_job) = (text("primary_user")?, text("primary_job_id")?);
        let (mut backfill_user, mut backfill_job) =
            (text("backfill_user")?, text("backfill_job_id")?);
        let device_memory_mb = column("device_memory_mb")?.as_primitive::<Int64Type>();
        let (is_prevented, has_backfill) = (truth("is_prevented")?, truth("has_backfill")?);
        let (projects_said, interactive) = (truth("projects_said")?, truth("interactive")?);
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
                projects_said: known(projects_said, row),
                interactive: known(interactive, row),
                backfill_state: backfill_state.name(row, names),
                has_backfill: known(has_backfill, row),
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

    async fn finish(mut self, context: &SessionContext) -> Result<GpuHistory> {
        let kinds = self.judged(context).await.context("cannot judge the states of GPUs")?;
        let mut spans = self.spans;
        spans.retain(|span| kinds[span.kind as usize].is_shown);
        let gpus = in_order(&self.names, &self.gpus.list, &mut spans);
        spans.sort_unstable_by_key(|span| (span.gpu, span.start));
        Ok(GpuHistory { names: self.names, gpus, kinds, spans })
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
        let names = self.names.array();
        let text = |of: fn(&Said) -> Name| column(&names, kinds.iter().map(of));
        let truth = |of: fn(&Said) -> Option<bool>| -> ArrayRef {
            Arc::new(kinds.iter().map(of).collect::<BooleanArray>())
        };
        let memory: Int64Array = kinds.iter().map(|kind| kind.device_memory_mb).collect();
        let columns: [(&str, ArrayRef); 11] = [
            ("kind", Arc::new(UInt32Array::from_iter_values(0..kinds.len() as u32))),
            ("cluster", text(|kind| kind.cluster)),
            ("machine", text(|kind| kind.machine)),
            ("device_name", text(|kind| kind.device_name)),
            ("device_memory_mb", Arc::new(memory)),
            ("primary_state", text(|kind| kind.primary_state)),
            ("is_prevented", truth(|kind| kind.is_prevented)),
            ("projects_said", truth(|kind| kind.projects_said)),
            ("interactive", truth(|kind| kind.interactive)),
            ("backfill_state", text(|kind| kind.backfill_state)),
            ("has_backfill", truth(|kind| kind.has_backfill)),
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
    fn of(&mut self, value: T) -> u32 {
        *self.places.entry(value).or_insert_with(|| {
            self.list.push(value);
            u32::try_from(self.list.len() - 1).expect("a period has fewer than 2³² GPUs")
        })
    }
}

/// The GPUs in the order of their names, in whichever they came, for the same lake must give the same
/// answers: what is chosen among several by their place is then always the same.
fn in_order(names: &Names, gpus: &[Gpu], spans: &mut [Span]) -> Vec<Gpu> {
    let name = |gpu: &Gpu| [gpu.cluster, gpu.machine, gpu.gpu_id].map(|name| names.text(name));
    let mut order: Vec<usize> = (0..gpus.len()).collect();
    order.sort_by(|one, other| name(&gpus[*one]).cmp(&name(&gpus[*other])));
    let mut places = vec![0; gpus.len()];
    for (place, before) in order.iter().enumerate() {
        places[*before] = place as u32;
    }
    for span in spans {
        span.gpu = places[span.gpu as usize];
    }
    order.into_iter().map(|before| gpus[before]).collect()
}
