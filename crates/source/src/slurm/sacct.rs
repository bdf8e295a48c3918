//! `sacct`: every attempt of every job that the accounting database knows.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use record::{Job, Usage, is_final_state};

use super::rows::{Column, Layout, Reader, Row, Rows};
use super::{DELIMITER, count, moment, name, value, word};
use crate::machine::Command;
use crate::notation::size::Bare;
use crate::notation::{duration, hostlist, size, tres};
use crate::parsed::{Parsed, Parser};

/// What is asked for. JobName stands last: it may hold anything, and then takes the rest.
const FIELDS: [&str; 34] = [
    "JobID",
    "JobIDRaw",
    "Cluster",
    "User",
    "UID",
    "Group",
    "Account",
    "Partition",
    "QOS",
    "State",
    "ExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "Suspended",
    "TimelimitRaw",
    "AllocNodes",
    "AllocCPUS",
    "AllocTRES",
    "ReqNodes",
    "ReqCPUS",
    "ReqMem",
    "ReqTRES",
    "NodeList",
    "NTasks",
    "MaxRSS",
    "TotalCPU",
    "TRESUsageInMax",
    "ConsumedEnergyRaw",
    "Reason",
    "Reservation",
    "JobName",
];

/// Asks for all jobs of all users that overlap a period, whole, with every earlier run of a
/// requeued one.
pub fn sacct(start: Timestamp, end: Timestamp) -> Command {
    let time = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    Command {
        program: "sacct",
        arguments: vec![
            "--allusers".to_owned(),
            "--duplicates".to_owned(),
            "--noconvert".to_owned(),
            "--parsable2".to_owned(),
            format!("--delimiter={DELIMITER}"),
            format!("--starttime={}", time(start)),
            format!("--endtime={}", time(end)),
            format!("--format={}", FIELDS.join(",")),
        ],
        time_limit: Duration::from_secs(600),
    }
}

/// Reads what [`sacct`] prints, a job at a time: a row for the job, then one for each step.
pub struct Sacct {
    rows: Rows,
    jobs: Jobs,
}

impl Sacct {
    /// Reads the jobs of a cluster, which was asked at the time `observed`.
    pub fn new(cluster: &str, observed: Timestamp) -> Sacct {
        Sacct {
            rows: Rows::new(),
            jobs: Jobs {
                cluster: cluster.to_owned(),
                observed,
                columns: Columns::of(&[]),
                parsed: Parsed::default(),
                open_id: Vec::new(),
                measured: Measured::default(),
            },
        }
    }
}

impl Parser<Job> for Sacct {
    fn push(&mut self, piece: &[u8]) {
        self.rows.push(piece, &mut self.jobs);
    }

    fn finish(mut self) -> Parsed<Job> {
        self.rows.finish(&mut self.jobs);
        self.jobs.close();
        number_attempts(&mut self.jobs.parsed.records);
        self.jobs.parsed
    }
}

struct Jobs {
    cluster: String,
    observed: Timestamp,
    columns: Columns,
    parsed: Parsed<Job>,
    /// The raw id of the last record, while its steps may follow; empty when they may not.
    open_id: Vec<u8>,
    /// What is known so far of what that job used.
    measured: Measured,
}

impl Reader for Jobs {
    fn header(&mut self, names: &[&str]) -> Option<Layout> {
        self.columns = Columns::of(names);
        let last_takes_rest = self.columns.job_name.index == Some(names.len() - 1);
        Some(Layout { id: self.columns.job_id.index?, last_takes_rest })
    }

    fn row(&mut self, line: u64, row: Row<'_>) {
        let read = match memchr::memchr(b'.', row.cell(self.columns.job_id)) {
            Some(point) => self.step(row, point),
            None => self.job(row),
        };
        if let Err(reason) = read {
            self.parsed.reject(line, reason, row.text);
        }
    }

    fn reject(&mut self, line: u64, reason: &str, text: &[u8]) {
        self.parsed.reject(line, reason, text);
    }
}

impl Jobs {
    fn job(&mut self, row: Row<'_>) -> Result<(), String> {
        self.close();
        let job = read_job(&self.cluster, self.observed, &self.columns, row)?;
        self.measured = Measured::of_job(&self.columns, row)?;
        self.parsed.records.push(job);
        self.open_id.extend_from_slice(self.columns.raw_id(row));
        Ok(())
    }

    fn step(&mut self, row: Row<'_>, point: usize) -> Result<(), String> {
        let raw_id = self.columns.raw_id(row);
        let raw_point = memchr::memchr(b'.', raw_id).unwrap_or(raw_id.len());
        if self.open_id.is_empty() || self.open_id != raw_id[..raw_point] {
            return Err("a step without its job".to_owned());
        }
        let step = &row.cell(self.columns.job_id)[point + 1..];
        self.measured.add_step(&self.columns, row, step)
    }

    /// Ends the job whose steps were read: only now is it known what it used.
    fn close(&mut self) {
        let measured = std::mem::take(&mut self.measured);
        if !self.open_id.is_empty()
            && let Some(job) = self.parsed.records.last_mut()
        {
            measured.finish(job);
        }
        self.open_id.clear();
    }
}

/// The row of a job, without what its steps measured.
fn read_job(
    cluster: &str,
    observed: Timestamp,
    columns: &Columns,
    row: Row<'_>,
) -> Result<Job, String> {
    let job_id = row.cell(columns.job_id);
    let job_id = std::str::from_utf8(job_id).map_err(|error| error.to_string())?;
    let submit_time = value(row, columns.submit, moment)?.ok_or("the job was never submitted")?;
    let end_time = value(row, columns.end, moment)?;
    let node_list = word(row, columns.node_list);

    // A job that was cancelled while it waited prints `None`, or the moment of its end, and no
    // nodes. One that did not start holds nothing, whatever its columns say: those of a waiting
    // job repeat what it asks for.
    let nowhere = columns.node_list.index.is_some() && node_list.is_none();
    let start_time = value(row, columns.start, moment)?
        .filter(|start_time| !(nowhere && end_time == Some(*start_time)));
    let started = start_time.is_some();

    let State { state, end_reason } = State::read(row.cell(columns.state), end_time.is_some());
    let is_complete = is_final_state(&state);
    let (exit_code, exit_signal) = value(row, columns.exit_code, exit)?
        .filter(|_| is_complete)
        .map_or((None, None), |(code, signal)| (Some(code), Some(signal)));

    let allocated =
        value(row, columns.alloc_tres, tres::resources)?.filter(|_| started).unwrap_or_default();
    let requested = value(row, columns.req_tres, tres::resources)?.unwrap_or_default();
    let alloc_nodes = value(row, columns.alloc_nodes, count)?
        .or_else(|| hostlist::count(row.cell(columns.node_list)))
        .filter(|_| started);
    let alloc_cpus = value(row, columns.alloc_cpus, count)?.filter(|_| started);
    let req_nodes = value(row, columns.req_nodes, count)?;
    let req_cpus = value(row, columns.req_cpus, count)?;
    let req_mem_mb = value(row, columns.req_mem, |text| {
        requested_mebibytes(text, alloc_cpus.or(req_cpus), alloc_nodes.or(req_nodes))
    })?;

    let (array_job_id, array_task_id) = split_id(job_id, '_');
    let (het_job_id, het_offset) = split_id(job_id, '+');
    Ok(Job {
        cluster: cluster.to_owned(),
        job_id: job_id.to_owned(),
        submit_time,
        attempt: 0,
        observed_time: observed,
        source: "sacct".to_owned(),
        array_job_id,
        array_task_id: array_task_id
            .map(|tasks| tasks.trim_start_matches('[').trim_end_matches(']').to_owned()),
        het_job_id,
        het_offset: het_offset.and_then(|offset| count(offset.as_bytes())),
        user: name(row, columns.user),
        unix_group: name(row, columns.group),
        account: name(row, columns.account),
        job_name: name(row, columns.job_name),
        partition: name(row, columns.partition),
        qos: name(row, columns.qos),
        reservation: name(row, columns.reservation),
        state,
        is_complete,
        exit_code,
        exit_signal,
        reason: word(row, columns.reason),
        end_reason,
        eligible_time: value(row, columns.eligible, moment)?,
        start_time,
        end_time,
        time_limit_seconds: value(row, columns.timelimit, |minutes| {
            count(minutes)?.checked_mul(60)
        })?,
        elapsed_seconds: value(row, columns.elapsed, count)?.filter(|_| started),
        suspended_seconds: value(row, columns.suspended, duration::seconds)?
            .filter(|_| started)
            .map(|seconds| seconds as i64),
        node_list,
        slot: None,
        gpu_ids: None,
        alloc_nodes,
        alloc_cpus,
        alloc_mem_mb: allocated.memory_mb,
        alloc_gpus: allocated.gpus,
        gpu_types: allocated.gpu_types,
        req_nodes,
        req_cpus,
        req_mem_mb: req_mem_mb.flatten(),
        req_gpus: requested.gpus,
        max_rss_mb: None,
        total_cpu_seconds: None,
        cpu_efficiency: None,
        memory_efficiency: None,
        cpu_hours_wasted: None,
        memory_gb_hours_wasted: None,
        cpu_hours_reserved: None,
        memory_gb_hours_reserved: None,
        gpu_hours_reserved: None,
        gpu_utilization: None,
        gpu_memory_max_mb: None,
        gpu_usage_source: None,
        energy_joules: None,
    })
}

struct State {
    state: String,
    end_reason: Option<String>,
}

impl State {
    fn read(cell: &[u8], ended: bool) -> State {
        let cell = String::from_utf8_lossy(cell);
        let (state, more) = cell.split_once(' ').unwrap_or((&cell, ""));
        let state = match state {
            "" => "UNKNOWN",
            // The part before a change of size is over; the job goes on in a row of its own.
            "RESIZING" if ended => "RESIZED",
            state => state,
        };
        State {
            state: state.to_owned(),
            end_reason: more.strip_prefix("by ").map(|uid| format!("cancelled by uid {uid}")),
        }
    }
}

/// What a job used, gathered from its own row and from those of its steps.
#[derive(Default)]
struct Measured {
    /// The sum over the steps, as the job's own row has it.
    job_cpu_seconds: Option<f64>,
    step_cpu_seconds: f64,
    /// Whether any step was measured: a step that was lost, or still runs, prints a time of 0.
    any_step: bool,
    /// Whether there was any step but `extern`.
    any_work: bool,
    work_rss_mb: Option<f64>,
    extern_rss_mb: Option<f64>,
    gpu_utilization: Option<f64>,
    gpu_memory_mb: Option<f64>,
    energy_joules: Option<f64>,
}

impl Measured {
    fn of_job(columns: &Columns, row: Row<'_>) -> Result<Measured, String> {
        Ok(Measured {
            job_cpu_seconds: value(row, columns.total_cpu, duration::seconds)?,
            energy_joules: value(row, columns.energy, joules)?.flatten(),
            ..Measured::default()
        })
    }

    fn add_step(&mut self, columns: &Columns, row: Row<'_>, step: &[u8]) -> Result<(), String> {
        let cpu_seconds = value(row, columns.total_cpu, duration::seconds)?.unwrap_or(0.0);
        let rss_mb = value(row, columns.max_rss, |text| size::mebibytes(text, Bare::Bytes))?;
        let energy_joules = value(row, columns.energy, joules)?.flatten();
        let usage = row.cell(columns.tres_usage);

        self.any_step |= cpu_seconds > 0.0 || rss_mb.is_some() || !usage.is_empty();
        self.step_cpu_seconds += cpu_seconds;
        if step == b"extern" {
            self.extern_rss_mb = larger(self.extern_rss_mb, rss_mb);
        } else {
            self.any_work = true;
            self.work_rss_mb = larger(self.work_rss_mb, rss_mb);
        }
        // Steps overlap (`batch` lasts as long as those that it starts), so energy is not added.
        self.energy_joules = larger(self.energy_joules, energy_joules);
        if memchr::memmem::find(usage, b"gres/gpu").is_some() {
            let utilization =
                tres::value(usage, b"gres/gpuutil").and_then(count).map(|percent| percent as f64);
            let memory_mb = tres::value(usage, b"gres/gpumem")
                .and_then(|text| size::mebibytes(text, Bare::Bytes));
            self.gpu_utilization = larger(self.gpu_utilization, utilization);
            self.gpu_memory_mb = larger(self.gpu_memory_mb, memory_mb);
        }
        Ok(())
    }

    fn finish(self, job: &mut Job) {
        // Only steps that are over are accounted for: while the job runs, their sum says little.
        job.total_cpu_seconds = match self.job_cpu_seconds {
            _ if job.end_time.is_none() => None,
            Some(seconds) if seconds > 0.0 => Some(seconds),
            _ => self.any_step.then_some(self.step_cpu_seconds),
        };
        // `extern` runs a `sleep`, and what came in by ssh: it stands for the job only alone.
        job.max_rss_mb = if self.any_work { self.work_rss_mb } else { self.extern_rss_mb };
        // The GPUs of a step are added up: two that are wholly busy are 200.
        job.gpu_utilization = self
            .gpu_utilization
            .zip(job.alloc_gpus.filter(|gpus| *gpus > 0))
            .map(|(utilization, gpus)| utilization / gpus as f64);
        job.gpu_memory_max_mb = self.gpu_memory_mb;
        job.gpu_usage_source = if job.gpu_utilization.is_some() {
            Some("gres/gpuutil".to_owned())
        } else {
            job.gpu_memory_max_mb.map(|_| "gres/gpumem".to_owned())
        };
        job.energy_joules = self.energy_joules;

        let usage = Usage::of(
            job.elapsed_seconds,
            job.alloc_cpus,
            job.req_mem_mb,
            job.alloc_gpus,
            job.total_cpu_seconds,
            job.max_rss_mb,
        );
        job.cpu_efficiency = usage.cpu_efficiency;
        job.memory_efficiency = usage.memory_efficiency;
        job.cpu_hours_wasted = usage.cpu_hours_wasted;
        job.memory_gb_hours_wasted = usage.memory_gb_hours_wasted;
        job.cpu_hours_reserved = usage.cpu_hours_reserved;
        job.memory_gb_hours_reserved = usage.memory_gb_hours_reserved;
        job.gpu_hours_reserved = usage.gpu_hours_reserved;
    }
}

/// Numbers the rows of one job with one submit time, so that a row has the same number whichever
/// of the others a window shows: what a resize cut off has the seconds that it ran, the rest 0.
fn number_attempts(jobs: &mut [Job]) {
    let mut seen = HashMap::with_capacity(jobs.len());
    let attempts: Vec<i64> = jobs
        .iter()
        .map(|job| {
            let number = match job.state.as_str() {
                "RESIZED" => job.elapsed_seconds.unwrap_or(0).max(1),
                _ => 0,
            };
            let rows = seen.entry((job.job_id.as_str(), job.submit_time, number)).or_insert(0);
            *rows += 1;
            number + *rows - 1
        })
        .collect();
    for (job, attempt) in jobs.iter_mut().zip(attempts) {
        job.attempt = attempt;
    }
}

/// The two sides of `16_5` or `24+1`.
fn split_id(job_id: &str, mark: char) -> (Option<String>, Option<&str>) {
    match job_id.split_once(mark) {
        Some((job, part)) => (Some(job.to_owned()), Some(part)),
        None => (None, None),
    }
}

/// `1:0` is a return code and a signal.
fn exit(text: &[u8]) -> Option<(i64, i64)> {
    let colon = memchr::memchr(b':', text)?;
    Some((count(&text[..colon])?, count(&text[colon + 1..])?))
}

/// What a job asked for over all its machines: until 21.08 SLURM printed `4Gc`, for each CPU, or
/// `16Gn`, for each node. A request for 0 is one for whatever a node has, and `?` was printed
/// where it was neither.
fn requested_mebibytes(text: &[u8], cpus: Option<i64>, nodes: Option<i64>) -> Option<Option<f64>> {
    let (amount, times) = match text.split_last()? {
        (b'c', amount) => (amount, cpus),
        (b'n', amount) => (amount, nodes),
        (b'?', amount) => (amount, None),
        _ => (text, Some(1)),
    };
    let amount = size::mebibytes(amount, Bare::Mebibytes)?;
    Some(times.map(|times| amount * times as f64).filter(|total| *total > 0.0))
}

/// Energy; both 0 and SLURM's mark for no value, two below the largest number, say that none was
/// measured.
fn joules(text: &[u8]) -> Option<Option<f64>> {
    const NO_VALUE: u64 = u64::MAX - 1;
    let joules: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some((1..NO_VALUE).contains(&joules).then_some(joules as f64))
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        _ => one.or(other),
    }
}

/// Where in a row each thing stands.
#[derive(Debug)]
struct Columns {
    job_id: Column,
    job_id_raw: Column,
    user: Column,
    group: Column,
    account: Column,
    partition: Column,
    qos: Column,
    state: Column,
    exit_code: Column,
    submit: Column,
    eligible: Column,
    start: Column,
    end: Column,
    elapsed: Column,
    suspended: Column,
    timelimit: Column,
    alloc_nodes: Column,
    alloc_cpus: Column,
    alloc_tres: Column,
    req_nodes: Column,
    req_cpus: Column,
    req_mem: Column,
    req_tres: Column,
    node_list: Column,
    max_rss: Column,
    total_cpu: Column,
    tres_usage: Column,
    energy: Column,
    reason: Column,
    reservation: Column,
    job_name: Column,
}

impl Columns {
    fn of(header: &[&str]) -> Columns {
        let find = |name| Column::find(name, header);
        Columns {
            job_id: find("JobID"),
            job_id_raw: find("JobIDRaw"),
            user: find("User"),
            group: find("Group"),
            account: find("Account"),
            partition: find("Partition"),
            qos: find("QOS"),
            state: find("State"),
            exit_code: find("ExitCode"),
            submit: find("Submit"),
            eligible: find("Eligible"),
            start: find("Start"),
            end: find("End"),
            elapsed: find("ElapsedRaw"),
            suspended: find("Suspended"),
            timelimit: find("TimelimitRaw"),
            alloc_nodes: find("AllocNodes"),
            alloc_cpus: find("AllocCPUS"),
            alloc_tres: find("AllocTRES"),
            req_nodes: find("ReqNodes"),
            req_cpus: find("ReqCPUS"),
            req_mem: find("ReqMem"),
            req_tres: find("ReqTRES"),
            node_list: find("NodeList"),
            max_rss: find("MaxRSS"),
            total_cpu: find("TotalCPU"),
            tres_usage: find("TRESUsageInMax"),
            energy: find("ConsumedEnergyRaw"),
            reason: find("Reason"),
            reservation: find("Reservation"),
            job_name: find("JobName"),
        }
    }

    /// The id by which steps are joined to their job: a task of an array has a number of its own.
    fn raw_id<'a>(&self, row: Row<'a>) -> &'a [u8] {
        match row.cell(self.job_id_raw) {
            [] => row.cell(self.job_id),
            raw_id => raw_id,
        }
    }
}
