//! What backfill went through, worked out from the states of GPUs and the history of jobs by
//! passes that SQL has no words for. Each of these tables is made when a statement reads it:
//!
//! - `backfill_phase`: how the backfill side of a GPU went on,
//! - `primary_phase`: how its owner's side did,
//! - `backfill_attempt`: the executions of jobs on backfill, and how each ended.

mod attempt;
mod history;
mod phase;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use futures::lock::Mutex;

use attempt::Attempt;
use history::{History, Name, Names};

use crate::judgement::Judgement;
use crate::{Term, mentions};

/// Every table of backfill: its name, and what a row of it is.
pub static TABLES: [(&str, &str); 3] = [
    (
        "backfill_phase",
        "a time in the period during which the backfill side of a GPU stayed in one situation: \
         open, taken (by the job of a user), owner (claimed by its owner), drained (or prevented), \
         gone (not there or not offered). before and after are the situations next to it; unknown \
         where the period or what was observed begins or ends",
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
         not) or unknown; until_time is its end, or when it was last seen; cause is what followed an eviction on its GPUs: owner, drained, gone, or \
         unknown. linked says how its spans and the job history met: by `job`, by `gpu` and time, \
         `history` if no look saw it, `spans` if no history has it; times are exact but in the last",
    ),
];

/// Whether a statement needs a term because one of the tables is made of it.
pub(crate) fn rests_on(sql: &str, term: &Term) -> bool {
    ["gpu_time", "job_run"].contains(&term.name)
        && TABLES.iter().any(|(name, _)| mentions(sql, name))
}

/// One of the tables, for one question.
pub(crate) struct BackfillTable {
    kind: Kind,
    schema: SchemaRef,
    question: Arc<Asked>,
}

/// What the tables of one question share.
pub(crate) struct Asked {
    pub(crate) judgement: Arc<Judgement>,
    /// How long a look at a cluster holds, in microseconds.
    pub(crate) holds: BTreeMap<String, i64>,
    /// Read once, by the first table that needs it.
    history: Mutex<Option<Arc<History>>>,
}

impl Asked {
    pub(crate) fn new(judgement: Arc<Judgement>, holds: BTreeMap<String, i64>) -> Arc<Asked> {
        Arc::new(Asked { judgement, holds, history: Mutex::new(None) })
    }

    async fn history(&self, context: &SessionContext) -> anyhow::Result<Arc<History>> {
        let mut history = self.history.lock().await;
        match &*history {
            Some(known) => Ok(known.clone()),
            None => Ok(history.insert(Arc::new(History::read(context).await?)).clone()),
        }
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
            Kind::BackfillPhase | Kind::PrimaryPhase => phase_schema(),
            Kind::BackfillAttempt => attempt_schema(),
        });
        (TABLES[place].0, BackfillTable { kind, schema, question })
    })
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8View, true)
}

fn moment(name: &str) -> Field {
    Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true)
}

/// What is known of a GPU, or of those of an attempt.
const GPU_FIELDS: [&str; 8] = [
    "cluster",
    "machine",
    "device_name",
    "device",
    "family",
    "tier",
    "owner_class",
    "backfill_class",
];

fn phase_schema() -> Schema {
    let mut fields: Vec<Field> = GPU_FIELDS.map(text).into();
    fields.extend([
        text("gpu_id"),
        text("situation"),
        text("user"),
        text("job_id"),
        moment("start_time"),
        moment("end_time"),
        text("before"),
        text("after"),
    ]);
    Schema::new(fields)
}

fn attempt_schema() -> Schema {
    let mut fields: Vec<Field> = GPU_FIELDS.map(text).into();
    fields.extend([
        text("user"),
        text("job_id"),
        Field::new("attempt", DataType::Int64, true),
        Field::new("gpus", DataType::Int64, true),
        moment("start_time"),
        moment("end_time"),
        moment("until_time"),
        Field::new("is_start_known", DataType::Boolean, false),
        text("outcome"),
        text("reason"),
        text("cause"),
        text("linked"),
        text("evictor_user"),
        text("evictor_job_id"),
        text("evictor_confidence"),
    ]);
    Schema::new(fields)
}

impl BackfillTable {
    async fn rows(&self, context: &SessionContext) -> anyhow::Result<RecordBatch> {
        let history = self.question.history(context).await?;
        let columns = match self.kind {
            Kind::BackfillPhase => phase_columns(&history, &history.backfill_phases()),
            Kind::PrimaryPhase => phase_columns(&history, &history.primary_phases()),
            Kind::BackfillAttempt => {
                let mut names = history.names.clone();
                let attempts =
                    attempt::attempts(context, &history, &mut names, &self.question).await?;
                attempt_columns(&names, &attempts)
            }
        };
        RecordBatch::try_new(self.schema.clone(), columns).context("the columns of a table")
    }
}

fn texts(names: &Names, each: impl Iterator<Item = Name>) -> ArrayRef {
    Arc::new(each.map(|name| names.text(name)).collect::<StringViewArray>())
}

fn moments(each: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(each.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
}

fn phase_columns(history: &History, phases: &[history::GpuPhase]) -> Vec<ArrayRef> {
    let names = &history.names;
    let gpu = |place: usize| {
        texts(names, phases.iter().map(|phase| history.gpus[phase.gpu].known()[place]))
    };
    let words = |word: fn(&history::GpuPhase) -> &'static str| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(phases.iter().map(word)))
    };
    let mut columns: Vec<ArrayRef> = (0..GPU_FIELDS.len()).map(gpu).collect();
    columns.extend([
        texts(names, phases.iter().map(|phase| history.gpus[phase.gpu].gpu_id)),
        words(|phase| phase.phase.situation.name()),
        texts(names, phases.iter().map(|phase| phase.phase.who.user)),
        texts(names, phases.iter().map(|phase| phase.phase.who.job)),
        moments(phases.iter().map(|phase| Some(phase.phase.start))),
        moments(phases.iter().map(|phase| Some(phase.phase.end))),
        words(|phase| phase.phase.before.name()),
        words(|phase| phase.phase.after.name()),
    ]);
    columns
}

fn attempt_columns(names: &Names, attempts: &[Attempt]) -> Vec<ArrayRef> {
    let name = |of: fn(&Attempt) -> Name| texts(names, attempts.iter().map(of));
    let words = |word: fn(&Attempt) -> Option<&'static str>| -> ArrayRef {
        Arc::new(attempts.iter().map(word).collect::<StringViewArray>())
    };
    let known = |place: usize| texts(names, attempts.iter().map(|attempt| attempt.known[place]));
    let mut columns: Vec<ArrayRef> = (0..GPU_FIELDS.len()).map(known).collect();
    columns.extend([
        name(|attempt| attempt.who.user),
        name(|attempt| attempt.who.job),
        Arc::new(attempts.iter().map(|attempt| attempt.number).collect::<Int64Array>()),
        Arc::new(attempts.iter().map(|attempt| attempt.gpus).collect::<Int64Array>()),
        moments(attempts.iter().map(|attempt| Some(attempt.start))),
        moments(attempts.iter().map(|attempt| attempt.end)),
        moments(attempts.iter().map(|attempt| Some(attempt.until))),
        Arc::new(
            attempts.iter().map(|attempt| Some(attempt.is_start_known)).collect::<BooleanArray>(),
        ),
        words(|attempt| Some(attempt.outcome.name())),
        name(|attempt| attempt.reason),
        words(|attempt| attempt.cause),
        words(|attempt| Some(attempt.linked.name())),
        name(|attempt| attempt.evictor.map_or(Name::UNKNOWN, |evictor| evictor.who.user)),
        name(|attempt| attempt.evictor.map_or(Name::UNKNOWN, |evictor| evictor.who.job)),
        words(|attempt| attempt.evictor.map(|evictor| evictor.confidence)),
    ]);
    columns
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
        let rows =
            self.rows(&context).await.map_err(|error| DataFusionError::External(error.into()))?;
        let source =
            MemorySourceConfig::try_new_exec(&[vec![rows]], self.schema(), projection.cloned())?;
        Ok(source)
    }
}

impl fmt::Debug for BackfillTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BackfillTable({:?})", self.kind)
    }
}
