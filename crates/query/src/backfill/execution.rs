//! The executions of jobs that held GPUs, as the job history tells them.

use std::borrow::Cow;
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
use hashbrown::HashMap;
use jiff::SignedDuration;
use record::node_list;
use report::Period;

use super::attempt::Outcome;
use super::history::{Gpu, History, Place};
use crate::function::gpus_of;
use crate::gpu_history::{MachineJob, Who};
use crate::judgement::{Judgement, Tier};
use crate::memory::held_in;
use crate::names::{Name, Names, TextColumn};
use crate::policy::Policies;
use crate::term::moment;

/// A row of `job` that held GPUs in the period, until shortly before it, or since shortly after it.
#[derive(Clone)]
pub(super) struct Execution {
    pub(super) cluster: Name,
    /// As the history writes it: a list of nodes if there are several.
    pub(super) machine: Name,
    pub(super) who: Who,
    pub(super) number: i64,
    pub(super) gpus: Option<i64>,
    gpu_ids: Range<u32>,
    machines: Range<u32>,
    /// Its GPU model by the job's own record, without those that the site leaves out.
    model: Name,
    /// How many of its GPUs are of models that the site leaves out, by the same record.
    hidden_gpus: i64,
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
    /// The GPU of each id, as far as samples show it.
    gpus: Vec<Option<u32>>,
    machines: Vec<Name>,
    /// The models that jobs name, as the site calls them.
    models: HashMap<Name, Place>,
}

/// What one has read of the executions, with names of its own.
#[derive(Default)]
pub(super) struct Reader {
    names: Names,
    executions: Executions,
}

/// Selects the rows of `job` that held GPUs in the period, or until a sample before it that is still valid when
/// it begins: samples show those as running. Those that began until the sample after the period are among them.
pub(super) fn statement(period: &Period, longest_hold: i64) -> String {
    let longest_hold = SignedDuration::from_micros(longest_hold);
    let start = moment(period.start.saturating_sub(longest_hold).unwrap_or(period.start));
    let end = moment(period.end.saturating_add(longest_hold).unwrap_or(period.end));
    format!(
        "SELECT cluster, user, job_id, node_list, gpu_ids, slot, partition, qos, state,
                end_reason, attempt, alloc_gpus, start_time, end_time, observed_time, gpu_types
         FROM job
         WHERE (alloc_gpus > 0 OR gpu_ids IS NOT NULL)
           AND start_time < {end}
           AND (start_time >= {start}
                OR end_time > {start}
                OR (end_time IS NULL AND observed_time > {start}))"
    )
}

/// Reads the rows of a statement, several at once.
pub(super) async fn read(
    context: SessionContext,
    statement: String,
    policies: Arc<Policies>,
) -> Result<Vec<(Reader, MemoryReservation)>> {
    let held = held_in(&context, "the executions of jobs");
    let readers = context
        .sql(&statement)
        .await?
        .execute_stream_partitioned()
        .await?
        .into_iter()
        .map(|rows| Reader::read_all(rows, policies.clone(), held.new_empty()))
        .map(|reading| SpawnedTask::spawn(reading).join_unwind());
    try_join_all(readers).await?.into_iter().collect()
}

impl Executions {
    /// Of what several have read, with names that all share. Executions on GPUs that the site leaves
    /// out are left out too.
    pub(super) fn of(
        readers: Vec<Reader>,
        history: &History,
        judgement: &Judgement,
        names: &mut Names,
    ) -> Executions {
        let mut executions = Executions::default();
        for Reader { names: other_names, executions: others } in readers {
            let renamed = names.add(&other_names);
            let first_id = executions.gpu_ids.len() as u32;
            let first_machine = executions.machines.len() as u32;
            executions.gpu_ids.extend(others.gpu_ids.iter().map(|id| renamed[*id]));
            executions.machines.extend(others.machines.iter().map(|machine| renamed[*machine]));
            executions.list.extend(others.list.into_iter().map(|execution| Execution {
                cluster: renamed[execution.cluster],
                machine: renamed[execution.machine],
                who: Who { user: renamed[execution.who.user], job: renamed[execution.who.job] },
                reason: renamed[execution.reason],
                model: renamed[execution.model],
                gpu_ids: first_id + execution.gpu_ids.start..first_id + execution.gpu_ids.end,
                machines: first_machine + execution.machines.start
                    ..first_machine + execution.machines.end,
                ..execution
            }));
        }
        executions.locate(history);
        executions.leave_out(history);
        executions.name_models(judgement, names);
        executions.put_in_order(names);
        executions
    }

    /// Finds the GPUs of all ids.
    fn locate(&mut self, history: &History) {
        let places: HashMap<[Name; 3], u32> = (0..)
            .zip(&history.gpus)
            .map(|(number, gpu)| ([gpu.place.cluster, gpu.place.machine, gpu.gpu_id], number))
            .collect();
        let mut gpus = vec![None; self.gpu_ids.len()];
        for execution in &self.list {
            let ids = execution.gpu_ids.start as usize..execution.gpu_ids.end as usize;
            for (gpu, id) in gpus[ids.clone()].iter_mut().zip(&self.gpu_ids[ids]) {
                let on = |machine: &Name| places.get(&[execution.cluster, *machine, *id]).copied();
                *gpu = self.machines(execution).iter().find_map(on);
            }
        }
        self.gpus = gpus;
    }

    /// Leaves out executions on GPUs that the site leaves out, and counts only the other GPUs of those
    /// that have both.
    fn leave_out(&mut self, history: &History) {
        // Whether the site leaves out all known GPUs of each machine.
        let mut left_out_machines: HashMap<(Name, Name), bool> = HashMap::new();
        for Gpu { place, is_left_out, .. } in &history.gpus {
            let machine = left_out_machines.entry((place.cluster, place.machine));
            *machine.or_insert(true) &= *is_left_out;
        }
        let mut list = std::mem::take(&mut self.list);
        list.retain_mut(|execution| {
            let (mut shown, mut left_out) = (0_i64, 0_i64);
            for gpu in self.gpus(execution) {
                let count = if history.gpus[gpu].is_left_out { &mut left_out } else { &mut shown };
                *count += 1;
            }
            let gpus = execution.gpus;
            let count_without = |count: i64| gpus.map(|gpus| (gpus - count).max(shown));
            if left_out > 0 {
                execution.gpus = count_without(left_out);
                return shown > 0;
            }
            if execution.hidden_gpus > 0 {
                execution.gpus = count_without(execution.hidden_gpus);
            }
            if shown > 0 {
                return true;
            }
            let Execution { cluster, who, model, .. } = *execution;
            let is_left_out = |machine: &Name| {
                let job = MachineJob { cluster, machine: *machine, job: who.job };
                let of_machine = left_out_machines.get(&(cluster, *machine));
                history.left_out_jobs.contains(&job)
                    || (model == Name::UNKNOWN
                        && of_machine.is_some_and(|is_left_out| *is_left_out))
            };
            let machines = self.machines(execution);
            machines.is_empty() || !machines.iter().all(is_left_out)
        });
        self.list = list;
    }

    fn name_models(&mut self, judgement: &Judgement, names: &mut Names) {
        for execution in self.list.iter().filter(|one| one.model != Name::UNKNOWN) {
            self.models.entry(execution.model).or_insert_with(|| {
                let device_name = names.text(execution.model).unwrap_or_default().to_owned();
                let listed = judgement.device(&device_name);
                let name = listed.and_then(|device| device.name.as_deref());
                let family = listed.map(|device| device.family.as_str());
                let tier = listed.and_then(|device| device.tier).map(Tier::name);
                Place {
                    device_name: execution.model,
                    device: names.of(Some(name.unwrap_or(&device_name))),
                    family: names.of(Some(family.unwrap_or(&device_name))),
                    tier: names.of(tier),
                    ..Place::default()
                }
            });
        }
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

    /// The GPUs that one held, as far as the history says which and samples show them.
    pub(super) fn gpus(&self, execution: &Execution) -> impl Iterator<Item = usize> + Clone {
        let Range { start, end } = execution.gpu_ids;
        self.gpus[start as usize..end as usize].iter().flatten().map(|gpu| *gpu as usize)
    }

    /// The machines that one ran on, as far as the history says.
    pub(super) fn machines(&self, execution: &Execution) -> &[Name] {
        &self.machines[execution.machines.start as usize..execution.machines.end as usize]
    }

    /// What the history alone says of where one ran.
    pub(super) fn place(&self, execution: &Execution) -> Place {
        let model = self.models.get(&execution.model).copied().unwrap_or_default();
        Place { cluster: execution.cluster, machine: execution.machine, ..model }
    }

    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Execution>()
            + (self.gpu_ids.capacity() + self.machines.capacity()) * size_of::<Name>()
            + self.gpus.capacity() * size_of::<Option<u32>>()
    }
}

impl Reader {
    async fn read_all(
        mut rows: SendableRecordBatchStream,
        policies: Arc<Policies>,
        held: MemoryReservation,
    ) -> Result<(Reader, MemoryReservation)> {
        let mut reader = Reader::default();
        while let Some(batch) = rows.try_next().await? {
            reader.read(&batch, &policies).context("cannot read the executions of jobs")?;
            held.try_resize(reader.bytes())?;
        }
        reader.executions.put_in_order(&reader.names);
        Ok((reader, held))
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.names.bytes() + self.executions.bytes()
    }

    fn read(&mut self, batch: &RecordBatch, policies: &Policies) -> Result<()> {
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
        let models = text(15);
        for row in 0..batch.num_rows() {
            let policy = policies.at(clusters.value(row), starts.value(row));
            let nodes = said(machines, row).map(nodes).unwrap_or_default();
            let is_masked = |node: &Cow<'_, str>| policy.mask(node).is_some();
            if !nodes.is_empty() && nodes.iter().all(is_masked) {
                continue;
            }
            let listed = said(models, row).unwrap_or_default();
            let is_hidden = |model: &str| policies.newest().is_hidden(model);
            let hidden_gpus: i64 = gpus_of::models(listed)
                .filter(|(model, _)| is_hidden(model))
                .map(|(_, count)| count)
                .sum();
            let model = gpus_of::models(listed).find(|(model, _)| !is_hidden(model));
            if hidden_gpus > 0 && model.is_none() {
                continue;
            }
            let first_machine = executions.machines.len() as u32;
            executions.machines.extend(nodes.iter().map(|node| names.of(Some(node))));
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
                machines: first_machine..executions.machines.len() as u32,
                model: names.of(model.map(|(model, _)| model)),
                hidden_gpus,
                start: starts.value(row),
                end,
                until: end.unwrap_or(observed.value(row)),
                outcome: Outcome::of_state(
                    said(states, row).unwrap_or_default(),
                    said(reasons, row),
                ),
                reason: reason.name(row, names),
                is_backfill: policy.is_backfill(
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

/// The machines of a list of nodes. A list that cannot be read is taken for the name of one.
fn nodes(list: &str) -> Vec<Cow<'_, str>> {
    match list.contains(['[', ',']).then(|| node_list::expand(list)).flatten() {
        Some(nodes) => nodes.into_iter().map(Cow::Owned).collect(),
        None => vec![Cow::Borrowed(list)],
    }
}

fn said(texts: &StringViewArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}
