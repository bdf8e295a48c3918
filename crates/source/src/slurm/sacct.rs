//! `sacct`: every attempt of every job that the accounting database knows.

mod steps;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::time::Duration;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use jiff::Timestamp;
use record::{Job, Text, is_final_state};

use super::jobstats::{GpuSummary, gpu_summary};
use super::rows::{Column, Layout, Reader, Row, Rows};
use super::sacct_fields::Offered;
use super::{DELIMITER, JobId, cluster_option, count, moment, name, value, word};
use crate::machine::Command;
use crate::notation::size::Bare;
use crate::notation::{duration, hostlist, size, tres};
use crate::parsed::{Parsed, Parser};

pub use steps::{Step, Steps};

/// What is asked for, where sacct has it. JobName stands last: it may hold anything, and then takes
/// the rest.
const FIELDS: [&str; 34] = [
    "JobID",
    "JobIDRaw",
    "Cluster",
    "User",
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
    "TRESUsageInTot",
    "ConsumedEnergyRaw",
    "Reason",
    "Reservation",
    "AdminComment",
    "JobName",
];

/// Asks for all jobs of all users that overlap a period, whole, with every earlier run of a
/// requeued one: those of the cluster with this name in slurmdbd, or of the one that sacct is
/// configured for.
pub fn sacct(
    start: Timestamp,
    end: Timestamp,
    offered: &Offered,
    cluster_in_slurmdbd: Option<&str>,
) -> Command {
    let time = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let fields: Vec<&str> = FIELDS.into_iter().filter(|field| offered.has(field)).collect();
    Command {
        program: "sacct",
        arguments: vec![
            "--allusers".to_owned(),
            "--duplicates".to_owned(),
            "--noconvert".to_owned(),
            "--parsable2".to_owned(),
            format!("--delimiter={DELIMITER}"),
            // A site may be configured to show the jobs of a whole federation.
            cluster_option(cluster_in_slurmdbd).unwrap_or_else(|| "--local".to_owned()),
            format!("--starttime={}", time(start)),
            format!("--endtime={}", time(end)),
            format!("--format={}", fields.join(",")),
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
                cluster: cluster.into(),
                cluster_in_slurmdbd: None,
                observed,
                columns: Columns::of(&[]),
                parsed: Parsed::default(),
                open_id: Vec::new(),
                measured: Measured::default(),
            },
        }
    }

    /// Puts the jobs of a text of so many bytes into `room`, which is empty and has held others: they
    /// are large, and memory that was used before is not to be asked for again. Room that is not used
    /// takes no memory.
    pub fn with_room(mut self, mut room: Vec<Job>, bytes: u64) -> Sacct {
        /// A job with its steps takes some 850 bytes of text.
        const BYTES_A_JOB: u64 = 800;
        let jobs = usize::try_from(bytes / BYTES_A_JOB).unwrap_or(0);
        room.clear();
        if room.capacity() < jobs {
            // To grow it would copy what it held.
            room = Vec::with_capacity(jobs);
        }
        self.jobs.parsed.records = room;
        self
    }

    /// Takes only the rows of the cluster with this name in slurmdbd. Otherwise the first row says
    /// which it is: rows of two clusters never become jobs of one.
    pub fn of_cluster_in_slurmdbd(mut self, name: &str) -> Sacct {
        self.jobs.cluster_in_slurmdbd = Some(name.as_bytes().to_vec());
        self
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
    cluster: Text,
    /// The cluster whose rows these are, as its rows name it; not known before the first.
    cluster_in_slurmdbd: Option<Vec<u8>>,
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
        let read = match step_point(row.cell(self.columns.job_id)) {
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
        self.check_cluster(row.cell(self.columns.cluster))?;
        let job = read_job(&self.cluster, self.observed, &self.columns, row)?;
        self.measured = Measured::of_job(&self.columns, row)?;
        self.parsed.records.push(job);
        self.open_id.extend_from_slice(self.columns.raw_id(row));
        Ok(())
    }

    fn check_cluster(&mut self, cluster: &[u8]) -> Result<(), String> {
        match &self.cluster_in_slurmdbd {
            // The column is missing where sacct lacks it, or was not asked for it.
            _ if cluster.is_empty() => Ok(()),
            None => {
                self.cluster_in_slurmdbd = Some(cluster.to_vec());
                Ok(())
            }
            Some(asked) if asked.eq_ignore_ascii_case(cluster) => Ok(()),
            Some(asked) => Err(format!(
                "the row is of cluster `{}`, not of `{}`",
                String::from_utf8_lossy(cluster),
                String::from_utf8_lossy(asked)
            )),
        }
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

/// Where the name of a step begins in `12.batch`. The points of `18_[1,3,5,...]` are of a list of
/// tasks that is too long to be printed.
fn step_point(job_id: &[u8]) -> Option<usize> {
    let after_tasks = memchr::memrchr(b']', job_id).unwrap_or(0);
    memchr::memchr(b'.', &job_id[after_tasks..]).map(|point| after_tasks + point)
}

/// The row of a job, without what its steps measured.
fn read_job(
    cluster: &Text,
    observed: Timestamp,
    columns: &Columns,
    row: Row<'_>,
) -> Result<Job, String> {
    let JobId { job_id, array_job_id, array_task_id, het_job_id, het_offset } =
        JobId::read(row.cell(columns.job_id))?;
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
    let elapsed_seconds = value(row, columns.elapsed, count)?.filter(|_| started);
    let (start_time, elapsed_seconds) = own_time(submit_time, start_time, elapsed_seconds);

    let State { state, end_reason, is_complete } =
        State::read(row.cell(columns.state), end_time.is_some());
    let (exit_code, exit_signal) = value(row, columns.exit_code, exit)?
        .filter(|_| is_complete)
        .map_or((None, None), |(code, signal)| (Some(code), Some(signal)));

    let allocated =
        value(row, columns.alloc_tres, tres::resources)?.filter(|_| started).unwrap_or_default();
    // Most jobs hold what they asked for.
    let requested = if started && row.cell(columns.alloc_tres) == row.cell(columns.req_tres) {
        allocated.clone()
    } else {
        value(row, columns.req_tres, tres::resources)?.unwrap_or_default()
    };
    let alloc_nodes = value(row, columns.alloc_nodes, count)?
        .or_else(|| hostlist::count(row.cell(columns.node_list)))
        .filter(|_| started);
    let alloc_cpus = value(row, columns.alloc_cpus, count)?.filter(|_| started);
    let req_nodes = value(row, columns.req_nodes, count)?;
    let req_cpus = value(row, columns.req_cpus, count)?;
    let req_mem_mb = value(row, columns.req_mem, |text| {
        requested_mebibytes(text, alloc_cpus.or(req_cpus), alloc_nodes.or(req_nodes))
    })?;

    Ok(Job {
        cluster: cluster.clone(),
        job_id,
        submit_time,
        attempt: 0,
        observed_time: observed,
        source: Text::new_static("sacct"),
        array_job_id,
        array_task_id,
        het_job_id,
        het_offset,
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
        elapsed_seconds,
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
        usage_source: None,
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
        earlier_values: None,
    })
}

/// The time that a row has for itself.
///
/// What is left of a job after a change of size is a row of its own, which SLURM submits at the
/// moment of the change, but counts from the start of the whole job. The time before that moment
/// belongs to the part that was cut off, which has a row too. Nothing else starts before it is
/// submitted.
fn own_time(
    submit_time: Timestamp,
    start_time: Option<Timestamp>,
    elapsed_seconds: Option<i64>,
) -> (Option<Timestamp>, Option<i64>) {
    match start_time {
        Some(start_time) if start_time < submit_time => {
            let before = submit_time.as_second() - start_time.as_second();
            (Some(submit_time), elapsed_seconds.map(|elapsed| (elapsed - before).max(0)))
        }
        _ => (start_time, elapsed_seconds),
    }
}

struct State {
    state: Text,
    end_reason: Option<Text>,
    is_complete: bool,
}

impl State {
    /// Reads `CANCELLED by 1002`, which says who, or `CANCELLED+COMPLETING`, which is not over yet.
    fn read(cell: &[u8], ended: bool) -> State {
        let cell = String::from_utf8_lossy(cell);
        let (state, more) = cell.split_once(' ').unwrap_or((&cell, ""));
        let (state, flags) = state.split_once('+').unwrap_or((state, ""));
        let state = match state {
            "" => "UNKNOWN",
            // The part before a change of size is over; the job goes on in a row of its own.
            "RESIZING" if ended => "RESIZED",
            state => state,
        };
        State {
            state: state.into(),
            end_reason: more
                .strip_prefix("by ")
                .map(|uid| format!("cancelled by uid {uid}").into()),
            is_complete: is_final_state(state) && flags.is_empty(),
        }
    }
}

/// What a job used, gathered from its own row and from those of its steps.
///
/// **CPU time** is that of the job's row, which is the sum over its steps, or that sum where the
/// row has none.
///
/// **Memory** is what the job held over all its machines, as is the memory that it asked for. Of
/// a step it is `mem` in TRESUsageInTot, the sum over its tasks of the most that each had; where
/// that is missing MaxRSS, which is the largest task's, times the tasks. Of a job it is that of the
/// largest step: steps follow one another unless somebody takes care that they do not. `batch` is
/// a step of one task, on the first machine. `extern` is a `sleep`, and whoever came in by ssh: it
/// stands for a job only alone. [`StepUsage`] has the rule for 0.
///
/// **GPU use** is that of the jobstats summary, which is a mean over time, or else that of the
/// step that used most. There `gres/gpuutil` and `gres/gpumem` in TRESUsageInTot are, of each task,
/// the largest sample of what all its GPUs together did, added up over the tasks.
#[derive(Default)]
struct Measured {
    job_cpu_seconds: Option<f64>,
    step_cpu_seconds: f64,
    /// Whether any step was measured: a step that was lost, or still runs, prints a time of 0.
    any_step: bool,
    /// Whether a change of size cut a step off: what it used is lost, and the rest says little.
    any_step_cut_off: bool,
    /// Whether there was any step but `extern`.
    any_work: bool,
    work_memory_mb: Option<f64>,
    extern_memory_mb: Option<f64>,
    gpu_summary: GpuSummary,
    /// Two GPUs that are wholly busy are 200.
    gpu_percent: Option<f64>,
    gpu_memory_mb: Option<f64>,
    energy_joules: Option<f64>,
}

impl Measured {
    fn of_job(columns: &Columns, row: Row<'_>) -> Result<Measured, String> {
        Ok(Measured {
            job_cpu_seconds: value(row, columns.total_cpu, duration::seconds)?,
            energy_joules: value(row, columns.energy, joules)?.flatten(),
            gpu_summary: gpu_summary(row.cell(columns.admin_comment)),
            ..Measured::default()
        })
    }

    fn add_step(&mut self, columns: &Columns, row: Row<'_>, step: &[u8]) -> Result<(), String> {
        let usage = StepUsage::read(columns, row)?;
        let energy_joules = value(row, columns.energy, joules)?.flatten();
        self.any_step |= usage.cpu_seconds.is_some();
        self.any_step_cut_off |= row.cell(columns.state).starts_with(b"RESIZING");
        self.step_cpu_seconds += usage.cpu_seconds.unwrap_or(0.0);
        if step == b"extern" {
            self.extern_memory_mb = larger(self.extern_memory_mb, usage.memory_mb);
        } else {
            self.any_work = true;
            self.work_memory_mb = larger(self.work_memory_mb, usage.memory_mb);
        }
        // Steps overlap (`batch` lasts as long as those that it starts), so energy is not added.
        self.energy_joules = larger(self.energy_joules, energy_joules);
        self.gpu_percent = larger(self.gpu_percent, usage.gpu_percent);
        self.gpu_memory_mb = larger(self.gpu_memory_mb, usage.gpu_memory_mb);
        Ok(())
    }

    fn finish(self, job: &mut Job) {
        // Only steps that are over are accounted for: while the job runs, they say little of it.
        if job.end_time.is_some() && !self.any_step_cut_off {
            job.total_cpu_seconds = match self.job_cpu_seconds {
                Some(seconds) if seconds > 0.0 => Some(seconds),
                _ => self.any_step.then_some(self.step_cpu_seconds),
            };
            job.max_rss_mb =
                if self.any_work { self.work_memory_mb } else { self.extern_memory_mb };
            self.finish_gpu_use(job);
        }
        job.energy_joules = self.energy_joules;
        job.set_usage_source("sacct");
        job.set_usage();
    }

    fn finish_gpu_use(&self, job: &mut Job) {
        let GpuSummary { utilization, memory_mb } = self.gpu_summary;
        let source = if utilization.is_some() || memory_mb.is_some() {
            (job.gpu_utilization, job.gpu_memory_max_mb) = (utilization, memory_mb);
            "JS1"
        } else {
            // Processes are sampled one after another, and can so add up to more than a GPU has.
            job.gpu_utilization = self
                .gpu_percent
                .zip(job.alloc_gpus.filter(|gpus| *gpus > 0))
                .map(|(percent, gpus)| (percent / gpus as f64).min(100.0));
            // Where GPUs are measured, jobs without any have a use of 0.
            job.gpu_memory_max_mb = self.gpu_memory_mb.filter(|_| job.alloc_gpus != Some(0));
            if job.gpu_utilization.is_some() { "gres/gpuutil" } else { "gres/gpumem" }
        };
        let is_measured = job.gpu_utilization.is_some() || job.gpu_memory_max_mb.is_some();
        job.gpu_usage_source = is_measured.then(|| source.into());
    }
}

/// CPU time and memory of one step, where SLURM measured them.
///
/// **A memory of 0 is not a measurement.** SLURM samples resident memory every
/// `JobAcctGatherFrequency` seconds. A step that ends before a sample finds its processes has a blank
/// `MaxRSS`, or 0 where the sample found a process that was starting or ending. No running process
/// has a resident size of 0. The same holds for `mem` in `TRESUsageInTot`.
///
/// **A CPU time of 0 can be real.** The kernel reports it when a process ends, whether or not a
/// sample was taken. It is a measurement if the row has any other one: memory, or a
/// `TRESUsageInTot`, which SLURM fills in when a step ends. A step that was lost or still runs has
/// neither, and prints 0 as well.
///
/// `tests/slurm/accounting.py` applies the same rule to the output of a real SLURM.
struct StepUsage {
    cpu_seconds: Option<f64>,
    /// The largest sample of the largest task.
    max_rss_mb: Option<f64>,
    /// The largest sample of each task, added up.
    memory_mb: Option<f64>,
    /// The largest sample of each task's GPUs together, added up: two busy GPUs are 200.
    gpu_percent: Option<f64>,
    gpu_memory_mb: Option<f64>,
}

impl StepUsage {
    fn read(columns: &Columns, row: Row<'_>) -> Result<StepUsage, String> {
        let mebibytes = |text: &[u8]| size::mebibytes(text, Bare::Bytes);
        let is_sampled = |memory_mb: &f64| *memory_mb > 0.0;
        let max_rss_mb = value(row, columns.max_rss, mebibytes)?.filter(is_sampled);
        let tasks = value(row, columns.tasks, count)?.unwrap_or(1).max(1);
        // Old archives have the usage of the largest task alone.
        let of_all_tasks = row.cell(columns.usage_of_all_tasks);
        let usage = match of_all_tasks {
            [] => row.cell(columns.usage_of_largest_task),
            usage => usage,
        };
        let [memory, gpu_percent, gpu_memory] =
            tres::values(usage, [b"mem", b"gres/gpuutil", b"gres/gpumem"]);
        let memory_mb = memory
            .filter(|_| !of_all_tasks.is_empty())
            .and_then(mebibytes)
            .filter(is_sampled)
            .or_else(|| max_rss_mb.map(|max_rss_mb| max_rss_mb * tasks as f64));
        let has_other = memory_mb.is_some() || !usage.is_empty();
        let cpu_seconds = value(row, columns.total_cpu, duration::seconds)?
            .filter(|cpu_seconds| *cpu_seconds > 0.0 || has_other);
        Ok(StepUsage {
            cpu_seconds,
            max_rss_mb,
            memory_mb,
            gpu_percent: gpu_percent.and_then(count).map(|percent| percent as f64),
            gpu_memory_mb: gpu_memory.and_then(mebibytes),
        })
    }
}

/// Numbers the rows of one job with one submit time. There is hardly ever a second: SLURM submits
/// anew what is requeued, and what is left after a change of size, at that moment. A row keeps its
/// number when it ends, or a change of size ends it, and takes the place of what was known before.
fn number_attempts(jobs: &mut [Job]) {
    let state = DefaultHashBuilder::default();
    // The last row of each.
    let mut places: HashTable<usize> = HashTable::with_capacity(jobs.len());
    for place in 0..jobs.len() {
        let key = |place: usize| (&jobs[place].job_id, jobs[place].submit_time);
        let found = places.entry(
            state.hash_one(key(place)),
            |known| key(*known) == key(place),
            |known| state.hash_one(key(*known)),
        );
        match found {
            Entry::Vacant(vacant) => {
                vacant.insert(place);
            }
            Entry::Occupied(mut occupied) => {
                let before = std::mem::replace(occupied.get_mut(), place);
                jobs[place].attempt = jobs[before].attempt + 1;
            }
        }
    }
}

/// `1:0` is a return code and a signal.
fn exit(text: &[u8]) -> Option<(i64, i64)> {
    let colon = memchr::memchr(b':', text)?;
    Some((count(&text[..colon])?, count(&text[colon + 1..])?))
}

/// What a job asked for over all its machines: before 21.08 SLURM printed `4Gc`, for each CPU, or
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
    cluster: Column,
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
    tasks: Column,
    max_rss: Column,
    total_cpu: Column,
    usage_of_all_tasks: Column,
    usage_of_largest_task: Column,
    energy: Column,
    reason: Column,
    reservation: Column,
    admin_comment: Column,
    job_name: Column,
}

impl Columns {
    fn of(header: &[&str]) -> Columns {
        let find = |name| Column::find(name, header);
        Columns {
            job_id: find("JobID"),
            job_id_raw: find("JobIDRaw"),
            cluster: find("Cluster"),
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
            tasks: find("NTasks"),
            max_rss: find("MaxRSS"),
            total_cpu: find("TotalCPU"),
            usage_of_all_tasks: find("TRESUsageInTot"),
            usage_of_largest_task: find("TRESUsageInMax"),
            energy: find("ConsumedEnergyRaw"),
            reason: find("Reason"),
            reservation: find("Reservation"),
            admin_comment: find("AdminComment"),
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
