//! What backfill went through, worked out from the states of GPUs and the history of jobs by
//! passes that SQL has no words for. Each of these tables is made when a statement reads it:
//!
//! - `backfill_phase`: how the backfill side of a GPU went on,
//! - `primary_phase`: how its owner's side did,
//! - `backfill_attempt`: the executions of jobs on backfill, and how each ended.

mod attempt;
mod column;
mod exact;
mod execution;
mod history;
mod index;
mod link;
mod owner;
mod phase;
mod sampling;
mod timeline;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, StringViewArray};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use futures::TryFutureExt;
use futures::future::try_join;
use futures::lock::Mutex;
use jiff::SignedDuration;
use report::Period;

use attempt::Attempts;
use column::Column;
use history::{Gpu, GpuSide, History};
use timeline::Timeline;

use crate::memory::{held_in, passed_on};
use crate::policy::Policies;
use crate::side_by_side::side_by_side;
use crate::{Question, term};

/// Every table of backfill: its name, and what a row of it is.
pub static TABLES: [(&str, &str); 3] = [
    (
        "backfill_phase",
        "a time in the period during which the backfill side of a GPU stayed in one situation: \
         open, taken (by the job of a user), owner (claimed by its owner), draining, drained (or \
         prevented), down, maintenance, rebooting, gone (not there or not offered). before and \
         after are the situations next to it; unknown where the period or what was observed begins \
         or ends. A phase begins and ends at the exact times of the jobs around it if the job \
         history has them, else at sampling times",
    ),
    (
        "primary_phase",
        "the same of a GPU's primary side: open where it is idle, whatever backfill does, owner \
         where it is claimed",
    ),
    (
        "backfill_attempt",
        "an execution of a job on backfill that ran in the period. outcome is evicted, finished, \
         failed, removed, lost (its machine failed), running, ended (of spans alone: by itself or \
         not) or unknown; until_time is its end, or when it was last seen; cause is what followed an eviction on its GPUs: owner, draining, drained, \
         down, maintenance, rebooting, gone, or unknown. linked says how its spans and the job history met: by `job`, by `gpu` and time, \
         `history` if no look saw it, `spans` if no history has it; times are exact but in the last",
    ),
];

/// One of the tables, for one question.
pub(crate) struct BackfillTable {
    kind: Kind,
    schema: SchemaRef,
    question: Arc<Asked>,
}

/// What the tables of one question share.
pub(crate) struct Asked {
    policies: Arc<Policies>,
    period: Period,
    /// How long a look at a cluster holds, in microseconds.
    holds: BTreeMap<String, i64>,
    /// The statement that reads the spans of the period, and those until the sample after it. That one
    /// shows changes that lie in the period.
    spans: String,
    /// Each made once, by the first table that needs it.
    timeline: Mutex<Option<Arc<Timeline>>>,
    attempts: Mutex<Option<Arc<Attempts>>>,
    /// What the rows take that statements were given.
    rows: OnceLock<MemoryReservation>,
}

impl Asked {
    pub(crate) fn new(
        question: &Question,
        policies: &Arc<Policies>,
        holds: BTreeMap<String, i64>,
    ) -> Arc<Asked> {
        let longest_hold = holds.values().copied().max().unwrap_or_default();
        let mut extended = question.clone();
        let end = question.period.end;
        extended.period.end =
            end.saturating_add(SignedDuration::from_micros(longest_hold)).unwrap_or(end);
        Arc::new(Asked {
            policies: policies.clone(),
            period: question.period.clone(),
            holds,
            spans: term::gpu_spans(&extended, policies),
            timeline: Mutex::default(),
            attempts: Mutex::default(),
            rows: OnceLock::new(),
        })
    }

    /// Takes note of rows that are about to be made.
    fn hold_rows<Row>(
        &self,
        context: &SessionContext,
        columns: &[Column<Row>],
        projection: &[usize],
        count: usize,
    ) -> Result<()> {
        let bytes: usize = projection.iter().map(|place| columns[*place].bytes()).sum();
        let rows = self.rows.get_or_init(|| held_in(context, "the rows of backfill"));
        rows.try_grow(bytes * count)
    }

    async fn timeline(&self, context: &SessionContext) -> anyhow::Result<Arc<Timeline>> {
        let mut timeline = self.timeline.lock().await;
        if let Some(known) = &*timeline {
            return Ok(known.clone());
        }
        // By itself: what is asked about GPUs takes long to plan.
        let longest_hold = self.holds.values().copied().max().unwrap_or_default();
        let executions = execution::statement(&self.period, longest_hold);
        let executions = execution::read(context.clone(), executions, self.policies.clone());
        let executions = SpawnedTask::spawn(executions).join_unwind().err_into();
        let Period { start, end, .. } = self.period;
        let (start, end) = (start.as_microsecond(), end.as_microsecond());
        let history = History::read(context, &self.spans, end);
        let (history, executions) = try_join(history, executions).await?;
        let (readers, of_readers): (Vec<_>, Vec<_>) = executions?.into_iter().unzip();
        let held = held_in(context, "the phases of GPUs");
        let (policies, holds) = (self.policies.clone(), self.holds.clone());
        let made = SpawnedTask::spawn_blocking(move || {
            Timeline::new(history, readers, policies.newest(), &holds, (start, end), held)
        });
        let new = made.join_unwind().await??;
        drop(of_readers);
        Ok(timeline.insert(Arc::new(new)).clone())
    }

    async fn attempts(&self, context: &SessionContext) -> anyhow::Result<Arc<Attempts>> {
        let mut attempts = self.attempts.lock().await;
        if let Some(known) = &*attempts {
            return Ok(known.clone());
        }
        let timeline = self.timeline(context).await?;
        let held = held_in(context, "the attempts on backfill");
        let made = SpawnedTask::spawn_blocking(move || Attempts::find(&timeline, held));
        let new = made.join_unwind().await??;
        Ok(attempts.insert(Arc::new(new)).clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    BackfillPhase,
    PrimaryPhase,
    BackfillAttempt,
}

/// The tables of a question, by their names.
pub(crate) fn tables(question: &Arc<Asked>) -> [(&'static str, BackfillTable); 3] {
    let kinds = [Kind::BackfillPhase, Kind::PrimaryPhase, Kind::BackfillAttempt];
    std::array::from_fn(|place| {
        let (kind, question) = (kinds[place], question.clone());
        let schema = Arc::new(match kind {
            Kind::BackfillPhase | Kind::PrimaryPhase => schema(&column::of_phases()),
            Kind::BackfillAttempt => schema(&column::of_attempts()),
        });
        (TABLES[place].0, BackfillTable { kind, schema, question })
    })
}

fn schema<Row>(columns: &[Column<Row>]) -> Schema {
    Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>())
}

/// The rows of a table as a statement needs them: some columns, in pieces that are worked on side
/// by side.
fn batches<Row: Sync>(
    columns: &[Column<Row>],
    schema: &SchemaRef,
    projection: &[usize],
    (texts, gpus, parts): (&StringViewArray, &[Gpu], &[&[Row]]),
    partitions: usize,
) -> Result<Vec<Vec<RecordBatch>>> {
    const ROWS_AT_ONCE: usize = 8192; // as many as DataFusion takes
    let schema = Arc::new(schema.project(projection)?);
    let batch = |rows: &[Row]| {
        let arrays = projection.iter().map(|place| columns[*place].array(texts, gpus, rows));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(schema.clone(), arrays.collect(), &options)
    };
    let parts = parts.iter().flat_map(|rows| side_by_side(rows, |_, part| batch(part)));
    let mut pieces: Vec<Vec<RecordBatch>> = vec![Vec::new(); partitions];
    let mut count = 0;
    for part in parts {
        let part = part?;
        for start in (0..part.num_rows()).step_by(ROWS_AT_ONCE) {
            let length = ROWS_AT_ONCE.min(part.num_rows() - start);
            pieces[count % partitions].push(part.slice(start, length));
            count += 1;
        }
    }
    Ok(pieces)
}

impl BackfillTable {
    async fn batches(
        &self,
        context: &SessionContext,
        projection: &[usize],
    ) -> anyhow::Result<Vec<Vec<RecordBatch>>> {
        let partitions = context.copied_config().target_partitions();
        let timeline = self.question.timeline(context).await?;
        let side = match self.kind {
            Kind::BackfillPhase => GpuSide::Backfill,
            Kind::PrimaryPhase => GpuSide::Primary,
            Kind::BackfillAttempt => {
                let attempts = self.question.attempts(context).await?;
                let parts: Vec<_> = attempts.parts.iter().map(Vec::as_slice).collect();
                let rows = (&timeline.texts, &timeline.history.gpus[..], &parts[..]);
                let columns = column::of_attempts();
                let count = parts.iter().map(|part| part.len()).sum();
                self.question.hold_rows(context, &columns, projection, count)?;
                return Ok(batches(&columns, &self.schema, projection, rows, partitions)?);
            }
        };
        let (schema, projection) = (self.schema.clone(), projection.to_vec());
        let (question, context) = (self.question.clone(), context.clone());
        // Beside the other tables of the statement.
        let made = SpawnedTask::spawn_blocking(move || {
            let phases = timeline.phases(side);
            let columns = column::of_phases();
            question.hold_rows(&context, &columns, &projection, phases.len())?;
            let rows = (&timeline.texts, &timeline.history.gpus[..], &[phases][..]);
            batches(&columns, &schema, &projection, rows, partitions)
        });
        Ok(made.join_unwind().await??)
    }
}

#[async_trait]
impl TableProvider for BackfillTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state
            .as_any()
            .downcast_ref::<SessionState>()
            .ok_or_else(|| DataFusionError::Internal("a session of another kind".to_owned()))?;
        let context = SessionContext::new_with_state(state.clone());
        let all = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let batches = self.batches(&context, projection).await.map_err(passed_on)?;
        let schema = Arc::new(self.schema.project(projection)?);
        Ok(MemorySourceConfig::try_new_exec(&batches, schema, None)?)
    }
}

impl fmt::Debug for BackfillTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BackfillTable({:?})", self.kind)
    }
}
