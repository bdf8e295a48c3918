//! What is added up of an attempt, without the rest of it: of a whole day only these columns are
//! read, and no row is made of them.

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use jiff::Timestamp;

use crate::{Cell, Job, Text};

/// What is added up of one attempt.
#[derive(Debug, PartialEq)]
pub struct Attempt<'a> {
    pub user: Option<&'a str>,
    pub account: Option<&'a str>,
    pub partition: Option<&'a str>,
    pub qos: Option<&'a str>,
    pub gpu_types: Option<&'a str>,
    pub state: Option<&'a str>,
    pub node_list: Option<&'a str>,
    pub observed_time: Option<Timestamp>,
    pub eligible_time: Option<Timestamp>,
    pub start_time: Option<Timestamp>,
    pub end_time: Option<Timestamp>,
    pub elapsed_seconds: Option<i64>,
    pub alloc_cpus: Option<i64>,
    pub alloc_gpus: Option<i64>,
    pub req_mem_mb: Option<f64>,
    pub max_rss_mb: Option<f64>,
    pub total_cpu_seconds: Option<f64>,
}

impl<'a> From<&'a Job> for Attempt<'a> {
    fn from(job: &'a Job) -> Attempt<'a> {
        Attempt {
            user: job.user.as_deref(),
            account: job.account.as_deref(),
            partition: job.partition.as_deref(),
            qos: job.qos.as_deref(),
            gpu_types: job.gpu_types.as_deref(),
            state: Some(&job.state),
            node_list: job.node_list.as_deref(),
            observed_time: Some(job.observed_time),
            eligible_time: job.eligible_time,
            start_time: job.start_time,
            end_time: job.end_time,
            elapsed_seconds: job.elapsed_seconds,
            alloc_cpus: job.alloc_cpus,
            alloc_gpus: job.alloc_gpus,
            req_mem_mb: job.req_mem_mb,
            max_rss_mb: job.max_rss_mb,
            total_cpu_seconds: job.total_cpu_seconds,
        }
    }
}

/// The attempts of a batch of `job` that has at least [`COLUMNS`](Attempts::COLUMNS); one that it
/// lacks is unknown.
pub struct Attempts {
    rows: usize,
    texts: [Option<StringArray>; 7],
    times: [Option<TimestampMicrosecondArray>; 4],
    counts: [Option<Int64Array>; 3],
    numbers: [Option<Float64Array>; 3],
}

impl Attempts {
    const TEXTS: [&str; 7] =
        ["user", "account", "partition", "qos", "gpu_types", "state", "node_list"];
    const TIMES: [&str; 4] = ["observed_time", "eligible_time", "start_time", "end_time"];
    const COUNTS: [&str; 3] = ["elapsed_seconds", "alloc_cpus", "alloc_gpus"];
    const NUMBERS: [&str; 3] = ["req_mem_mb", "max_rss_mb", "total_cpu_seconds"];

    /// The columns that are read.
    pub fn columns() -> impl Iterator<Item = &'static str> {
        let numbers = Attempts::COUNTS.into_iter().chain(Attempts::NUMBERS);
        Attempts::TEXTS.into_iter().chain(Attempts::TIMES).chain(numbers)
    }

    pub fn of(batch: &RecordBatch) -> Result<Attempts, String> {
        Ok(Attempts {
            rows: batch.num_rows(),
            texts: columns::<Text, 7>(batch, Attempts::TEXTS)?
                .map(|column| Some(column?.as_string::<i32>().clone())),
            times: columns::<Timestamp, 4>(batch, Attempts::TIMES)?
                .map(|column| Some(column?.as_primitive::<TimestampMicrosecondType>().clone())),
            counts: columns::<i64, 3>(batch, Attempts::COUNTS)?
                .map(|column| Some(column?.as_primitive::<Int64Type>().clone())),
            numbers: columns::<f64, 3>(batch, Attempts::NUMBERS)?
                .map(|column| Some(column?.as_primitive::<Float64Type>().clone())),
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Attempt<'_>> {
        (0..self.rows).map(|row| {
            let [user, account, partition, qos, gpu_types, state, node_list] =
                self.texts.each_ref().map(|column| {
                    let column = column.as_ref().filter(|column| column.is_valid(row))?;
                    Some(column.value(row))
                });
            let [observed_time, eligible_time, start_time, end_time] =
                self.times.each_ref().map(|column| {
                    let column = column.as_ref().filter(|column| column.is_valid(row))?;
                    Timestamp::from_microsecond(column.value(row)).ok()
                });
            let [elapsed_seconds, alloc_cpus, alloc_gpus] = self.counts.each_ref().map(|column| {
                let column = column.as_ref().filter(|column| column.is_valid(row))?;
                Some(column.value(row))
            });
            let [req_mem_mb, max_rss_mb, total_cpu_seconds] =
                self.numbers.each_ref().map(|column| {
                    let column = column.as_ref().filter(|column| column.is_valid(row))?;
                    Some(column.value(row))
                });
            Attempt {
                user,
                account,
                partition,
                qos,
                gpu_types,
                state,
                node_list,
                observed_time,
                eligible_time,
                start_time,
                end_time,
                elapsed_seconds,
                alloc_cpus,
                alloc_gpus,
                req_mem_mb,
                max_rss_mb,
                total_cpu_seconds,
            }
        })
    }
}

/// Some columns of a batch, as cells of a type are stored.
fn columns<C: Cell, const COUNT: usize>(
    batch: &RecordBatch,
    names: [&str; COUNT],
) -> Result<[Option<ArrayRef>; COUNT], String> {
    let mut found = [const { None }; COUNT];
    for (place, name) in found.iter_mut().zip(names) {
        let Some(column) = batch.column_by_name(name) else { continue };
        let read = cast(column, &C::data_type());
        *place = Some(read.map_err(|error| format!("column {name}: {error}"))?);
    }
    Ok(found)
}
