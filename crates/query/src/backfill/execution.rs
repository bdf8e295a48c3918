//! The executions of jobs that held GPUs, as the job history tells them.

use std::ops::Range;

use anyhow::Result;
use datafusion::arrow::array::{Array, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use datafusion::arrow::error::ArrowError;
use datafusion::prelude::SessionContext;

use super::Asked;
use super::attempt::Outcome;
use crate::gpu_history::Who;
use crate::names::{Name, Names, TextColumn};

/// A row of `job` that held GPUs in the period.
pub(super) struct Execution {
    pub(super) cluster: Name,
    pub(super) machine: Name,
    pub(super) who: Who,
    pub(super) number: i64,
    pub(super) gpus: Option<i64>,
    gpu_ids: Range<u32>,
    pub(super) start: i64,
    pub(super) end: Option<i64>,
    /// When it ended or was last seen.
    pub(super) until: i64,
    pub(super) outcome: Outcome,
    pub(super) reason: Name,
    pub(super) is_backfill: bool,
}

/// The executions, always in the same order: among several that fit the first is chosen.
pub(super) struct Executions {
    pub(super) list: Vec<Execution>,
    gpu_ids: Vec<Name>,
}

/// Reads the rows of `job` that held GPUs in the period.
pub(super) async fn read(context: &SessionContext) -> Result<Vec<RecordBatch>> {
    let rows = context
        .sql(
            "SELECT cluster, user, job_id, node_list, gpu_ids, slot, partition, qos, state,
                    end_reason, attempt, alloc_gpus, start_time, end_time, observed_time
             FROM job_run
             WHERE alloc_gpus > 0 OR gpu_ids IS NOT NULL",
        )
        .await?;
    Ok(rows.collect().await?)
}

impl Executions {
    pub(super) fn of(
        rows: &[RecordBatch],
        names: &mut Names,
        question: &Asked,
    ) -> Result<Executions, ArrowError> {
        let count = rows.iter().map(RecordBatch::num_rows).sum();
        let mut executions =
            Executions { list: Vec::with_capacity(count), gpu_ids: Vec::with_capacity(count) };
        for batch in rows {
            executions.add(batch, names, question)?;
        }
        let text = |execution: &Execution| {
            [execution.cluster, execution.who.job].map(|name| names.text(name))
        };
        executions.list.sort_unstable_by(|one, other| {
            let moments = |execution: &Execution| (execution.start, execution.until);
            let told_apart = moments(one).cmp(&moments(other)).then(one.number.cmp(&other.number));
            told_apart.then_with(|| text(one).cmp(&text(other)))
        });
        Ok(executions)
    }

    /// The GPUs that one held, as far as the history says which.
    pub(super) fn gpu_ids(&self, execution: &Execution) -> &[Name] {
        &self.gpu_ids[execution.gpu_ids.start as usize..execution.gpu_ids.end as usize]
    }

    fn add(
        &mut self,
        batch: &RecordBatch,
        names: &mut Names,
        question: &Asked,
    ) -> Result<(), ArrowError> {
        let text = |place: usize| batch.column(place).as_string_view();
        let number = |place: usize| batch.column(place).as_primitive::<Int64Type>();
        let time = |place: usize| batch.column(place).as_primitive::<TimestampMicrosecondType>();
        let name = |place: usize| TextColumn::new(batch.column(place));
        let (mut cluster, mut user, mut job) = (name(0)?, name(1)?, name(2)?);
        let (mut machine, mut reason) = (name(3)?, name(9)?);
        let (clusters, machines, gpu_ids) = (text(0), text(3), text(4));
        let (slots, partitions, qos) = (text(5), text(6), text(7));
        let (states, reasons) = (text(8), text(9));
        let (attempts, gpus) = (number(10), number(11));
        let (starts, ends, observed) = (time(12), time(13), time(14));
        for row in 0..batch.num_rows() {
            if said(machines, row).is_some_and(|machine| question.judgement.mask(machine).is_some())
            {
                continue;
            }
            let end = ends.is_valid(row).then(|| ends.value(row));
            let first_id = self.gpu_ids.len() as u32;
            let ids = said(gpu_ids, row).unwrap_or_default().split(',').filter(|id| !id.is_empty());
            self.gpu_ids.extend(ids.map(|id| names.of(Some(id))));
            self.list.push(Execution {
                cluster: cluster.name(row, names),
                machine: machine.name(row, names),
                who: Who { user: user.name(row, names), job: job.name(row, names) },
                number: attempts.value(row),
                gpus: gpus.is_valid(row).then(|| gpus.value(row)),
                gpu_ids: first_id..self.gpu_ids.len() as u32,
                start: starts.value(row),
                end,
                until: end.unwrap_or(observed.value(row)),
                outcome: Outcome::of_state(
                    said(states, row).unwrap_or_default(),
                    said(reasons, row),
                ),
                reason: reason.name(row, names),
                is_backfill: question.judgement.is_backfill(
                    clusters.value(row),
                    said(slots, row),
                    said(partitions, row),
                    said(qos, row),
                ),
            });
        }
        Ok(())
    }
}

fn said(texts: &StringViewArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}
