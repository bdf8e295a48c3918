//! The executions of jobs that held GPUs, as the job history tells them.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::arrow::array::{Array, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use futures::future::try_join_all;

use super::attempt::Outcome;
use crate::gpu_history::Who;
use crate::judgement::Judgement;
use crate::memory::held_in;
use crate::names::{Name, Names, TextColumn};

/// A row of `job` that held GPUs in the period.
#[derive(Clone)]
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
#[derive(Default)]
pub(super) struct Executions {
    pub(super) list: Vec<Execution>,
    gpu_ids: Vec<Name>,
}

/// What one has read of the executions, with names of its own.
#[derive(Default)]
pub(super) struct Reader {
    names: Names,
    executions: Executions,
}

/// Reads the rows of `job` that held GPUs in the period, several at once.
pub(super) async fn read(
    context: SessionContext,
    judgement: Arc<Judgement>,
) -> Result<Vec<(Reader, MemoryReservation)>> {
    let held = held_in(&context, "the executions of jobs");
    let readers = context
        .sql(
            "SELECT cluster, user, job_id, node_list, gpu_ids, slot, partition, qos, state,
                    end_reason, attempt, alloc_gpus, start_time, end_time, observed_time
             FROM job_run
             WHERE alloc_gpus > 0 OR gpu_ids IS NOT NULL",
        )
        .await?
        .execute_stream_partitioned()
        .await?
        .into_iter()
        .map(|rows| Reader::read_all(rows, judgement.clone(), held.new_empty()))
        .map(|reading| SpawnedTask::spawn(reading).join_unwind());
    try_join_all(readers).await?.into_iter().collect()
}

impl Executions {
    /// Of what several have read, with names that all share.
    pub(super) fn of(readers: Vec<Reader>, names: &mut Names) -> Executions {
        let mut executions = Executions::default();
        for Reader { names: other_names, executions: others } in readers {
            let renamed = names.add(&other_names);
            let first_id = executions.gpu_ids.len() as u32;
            executions.gpu_ids.extend(others.gpu_ids.iter().map(|id| renamed[*id]));
            executions.list.extend(others.list.into_iter().map(|execution| Execution {
                cluster: renamed[execution.cluster],
                machine: renamed[execution.machine],
                who: Who { user: renamed[execution.who.user], job: renamed[execution.who.job] },
                reason: renamed[execution.reason],
                gpu_ids: first_id + execution.gpu_ids.start..first_id + execution.gpu_ids.end,
                ..execution
            }));
        }
        executions.put_in_order(names);
        executions
    }

    fn put_in_order(&mut self, names: &Names) {
        let text = |place: usize| {
            let execution = &self.list[place];
            [execution.cluster, execution.who.job].map(|name| names.text(name))
        };
        let moments = |execution: &Execution| (execution.start, execution.until, execution.number);
        let mut order: Vec<_> = self.list.iter().map(moments).zip(0..).collect();
        // Stable, since it makes use of what is in order already.
        order.sort_by(|(one, place), (other, other_place)| {
            one.cmp(other).then_with(|| text(*place).cmp(&text(*other_place)))
        });
        self.list = order.into_iter().map(|(_, place)| self.list[place].clone()).collect();
    }

    /// The GPUs that one held, as far as the history says which.
    pub(super) fn gpu_ids(&self, execution: &Execution) -> &[Name] {
        &self.gpu_ids[execution.gpu_ids.start as usize..execution.gpu_ids.end as usize]
    }
}

impl Reader {
    async fn read_all(
        mut rows: SendableRecordBatchStream,
        judgement: Arc<Judgement>,
        held: MemoryReservation,
    ) -> Result<(Reader, MemoryReservation)> {
        let mut reader = Reader::default();
        while let Some(batch) = rows.try_next().await? {
            reader.read(&batch, &judgement).context("cannot read the executions of jobs")?;
            held.try_resize(reader.bytes())?;
        }
        reader.executions.put_in_order(&reader.names);
        Ok((reader, held))
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.names.bytes()
            + self.executions.list.capacity() * size_of::<Execution>()
            + self.executions.gpu_ids.capacity() * size_of::<Name>()
    }

    fn read(&mut self, batch: &RecordBatch, judgement: &Judgement) -> Result<()> {
        let Reader { names, executions } = self;
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
            if said(machines, row).is_some_and(|machine| judgement.mask(machine).is_some()) {
                continue;
            }
            let end = ends.is_valid(row).then(|| ends.value(row));
            let first_id = executions.gpu_ids.len() as u32;
            let ids = said(gpu_ids, row).unwrap_or_default().split(',').filter(|id| !id.is_empty());
            executions.gpu_ids.extend(ids.map(|id| names.of(Some(id))));
            executions.list.push(Execution {
                cluster: cluster.name(row, names),
                machine: machine.name(row, names),
                who: Who { user: user.name(row, names), job: job.name(row, names) },
                number: attempts.value(row),
                gpus: gpus.is_valid(row).then(|| gpus.value(row)),
                gpu_ids: first_id..executions.gpu_ids.len() as u32,
                start: starts.value(row),
                end,
                until: end.unwrap_or(observed.value(row)),
                outcome: Outcome::of_state(
                    said(states, row).unwrap_or_default(),
                    said(reasons, row),
                ),
                reason: reason.name(row, names),
                is_backfill: judgement.is_backfill(
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
