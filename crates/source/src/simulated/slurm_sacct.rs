//! Prints the simulated cluster's accounting as `sacct` does.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::arguments::{Arguments, Known, flag, value};
use super::slurm_attempt::{Attempt, Part, State, job_id};
use super::slurm_cluster::SlurmCluster;
use super::slurm_usage::{Measured, Usage};
use super::slurm_workload::Ending;
use super::text::{Output, cpu_time, duration, number, push};
use super::{Moment, NEVER, SLURM_CLUSTER, moment};
use crate::machine::{Command, Failure};

const OPTIONS: [Known; 12] = [
    flag(&["--helpformat", "-e"]),
    flag(&["--local"]),
    value(&["--clusters", "-M"]),
    flag(&["--allusers", "-a"]),
    flag(&["--duplicates", "-D"]),
    flag(&["--noconvert"]),
    flag(&["--parsable2", "-P"]),
    flag(&["--noheader", "-n"]),
    value(&["--delimiter"]),
    value(&["--starttime", "-S"]),
    value(&["--endtime", "-E"]),
    value(&["--format", "-o"]),
];

pub(super) fn sacct(
    cluster: &SlurmCluster,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    if arguments.has("--helpformat") {
        sink(fields().as_bytes());
        return Ok(());
    }
    if !arguments.has("--parsable2") || !arguments.has("--noconvert") {
        return Err(arguments.failure(
            "sacct: error: this simulated site prints only with --parsable2 and --noconvert",
        ));
    }
    let columns = columns(&arguments)?;
    let delimiter = arguments.get("--delimiter").unwrap_or("|").as_bytes();
    let from = time(&arguments, "--starttime")?.unwrap_or(now / super::DAY * super::DAY);
    let until = time(&arguments, "--endtime")?.unwrap_or(now);

    let mut output = Output::new(sink);
    if !arguments.has("--noheader") {
        let names: Vec<&[u8]> = columns.iter().map(|column| column.name().as_bytes()).collect();
        output.text.extend_from_slice(&names.join(delimiter));
        output.text.push(b'\n');
    }
    // One that slurmdbd does not know has no jobs, which is no mistake.
    if arguments.get("--clusters").is_some_and(|name| name != SLURM_CLUSTER) {
        output.finish();
        return Ok(());
    }
    let asked = Asked { now, from, until, with_duplicates: arguments.has("--duplicates") };
    for rows in asked.rows(cluster) {
        rows.print(cluster, &columns, delimiter, &mut output.text);
        output.flow();
    }
    output.finish();
    Ok(())
}

/// Which rows are wanted.
struct Asked {
    now: Moment,
    from: Moment,
    until: Moment,
    with_duplicates: bool,
}

impl Asked {
    /// The attempts that overlap the window, as they stand now; tasks that wait together are one.
    fn rows<'a>(&self, cluster: &'a SlurmCluster) -> impl Iterator<Item = Rows<'a>> {
        let candidates = cluster.alive.between(self.from.min(self.now), self.until.min(self.now));
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(&index) = candidates.get(at) {
                at += 1;
                let attempt = &cluster.attempts[index as usize];
                let Some(state) = attempt.state_at(self.now) else { continue };
                if !self.shows(attempt) {
                    continue;
                }
                let mut last = attempt;
                if matches!(state, State::Pending | State::CancelledWaiting) {
                    while let Some(&next) = candidates.get(at) {
                        let next = &cluster.attempts[next as usize];
                        if !last.waits_with(next)
                            || next.state_at(self.now) != Some(state)
                            || next.end != last.end && state == State::CancelledWaiting
                        {
                            break;
                        }
                        last = next;
                        at += 1;
                    }
                }
                return Some(Rows { attempt, last, state, now: self.now });
            }
            None
        })
    }

    fn shows(&self, attempt: &Attempt) -> bool {
        let has_ended = attempt.end <= self.now;
        // The condition of as_mysql_jobacct_process.c: eligible before the end of the window, and
        // not ended before its start. Who never was eligible is not found.
        attempt.is_eligible_known(self.now)
            && attempt.eligible < self.until
            && (!has_ended || attempt.end >= self.from && attempt.eligible <= attempt.end)
            && (self.with_duplicates || !(has_ended && attempt.requeued))
    }
}

/// A job's row and its steps behind it.
struct Rows<'a> {
    attempt: &'a Attempt,
    /// Of tasks that wait together.
    last: &'a Attempt,
    state: State,
    now: Moment,
}

/// One line.
struct Row<'a> {
    rows: &'a Rows<'a>,
    cluster: &'a SlurmCluster,
    kind: RowKind,
    /// What the row says was measured; None where it says nothing.
    measured: Option<Measured>,
}

#[derive(Clone, Copy, PartialEq)]
enum RowKind {
    Job,
    Batch,
    External,
    Step,
}

impl Rows<'_> {
    fn print(
        &self,
        cluster: &SlurmCluster,
        columns: &[Column],
        delimiter: &[u8],
        out: &mut Vec<u8>,
    ) {
        let has_started = self.attempt.start < NEVER && self.state != State::Pending;
        let has_ended = !matches!(self.state, State::Pending | State::Running);
        let usage = if has_ended { Usage::of(self.attempt) } else { None };
        let mut print = |kind, measured| {
            let row = Row { rows: self, cluster, kind, measured };
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(delimiter);
                }
                row.cell(*column, out);
            }
            out.push(b'\n');
        };
        // The job's row has the sum of the CPU time, and no memory.
        let job = usage.map(|usage| Measured {
            cpu_milliseconds: usage.cpu_milliseconds(),
            resident_pages: None,
        });
        print(RowKind::Job, job);
        if has_started {
            if !matches!(self.attempt.part, Part::Component { offset: 1, .. }) {
                print(RowKind::Batch, usage.and_then(|usage| usage.batch));
            }
            print(RowKind::External, usage.map(|usage| usage.external));
            if self.attempt.has_step {
                print(RowKind::Step, usage.and_then(|usage| usage.step));
            }
        }
    }
}

impl Row<'_> {
    fn cell(&self, column: Column, out: &mut Vec<u8>) {
        let attempt = self.rows.attempt;
        let is_job = self.kind == RowKind::Job;
        let is_waiting = matches!(self.rows.state, State::Pending | State::CancelledWaiting);
        // A batch script has the first node to itself, the other rows have them all.
        let nodes = if self.kind == RowKind::Batch { 1 } else { attempt.need.nodes };
        let cpus = u32::from(nodes) * u32::from(attempt.need.cpus);
        match column {
            Column::JobId => self.job_id(out),
            Column::JobIdRaw => {
                number(out, if is_waiting { self.waiting_id() } else { attempt.id });
                self.suffix(out);
            }
            Column::Cluster => push(out, SLURM_CLUSTER),
            Column::Account => push(out, attempt.user().account),
            Column::User if is_job => push(out, attempt.user().name),
            Column::Uid if is_job => number(out, attempt.uid()),
            Column::Group if is_job => push(out, attempt.user().account),
            Column::Partition if is_job => push(out, attempt.partition.name()),
            Column::Qos if is_job => push(out, attempt.partition.qos()),
            Column::TimelimitRaw if is_job => number(out, attempt.limit_minutes),
            Column::Reason if is_job => push(out, self.last_wait_reason()),
            Column::ReqMem if is_job => {
                number(out, attempt.memory_mb());
                out.push(b'M');
            }
            Column::ReqTres if is_job => {
                let gpu_type = match attempt.pools {
                    [pool] => pool.gpu_type(),
                    _ => None,
                };
                tres(out, attempt, attempt.need.nodes, gpu_type, true);
            }
            Column::State => self.state(out),
            Column::ExitCode => self.exit_code(out),
            Column::Submit if is_job => number(out, attempt.submit),
            Column::Eligible if is_job => number(out, attempt.eligible),
            Column::Submit | Column::Eligible => number(out, attempt.start),
            Column::Start => match self.rows.state {
                State::Pending => push(out, "Unknown"),
                State::CancelledWaiting => push(out, "None"),
                _ => number(out, attempt.start),
            },
            Column::End => match self.rows.state {
                State::Pending | State::Running => push(out, "Unknown"),
                _ => number(out, attempt.end),
            },
            Column::ElapsedRaw => number(out, self.elapsed()),
            Column::Elapsed => duration(out, u64::from(self.elapsed())),
            Column::Suspended => push(out, "00:00:00"),
            Column::AllocNodes => number(out, if is_waiting { 0 } else { u32::from(nodes) }),
            Column::ReqNodes => number(out, nodes),
            Column::AllocCpus | Column::ReqCpus => number(out, cpus),
            Column::AllocTres => {
                if !is_waiting {
                    let with_billing = matches!(self.kind, RowKind::Job | RowKind::External);
                    tres(out, attempt, nodes, self.cluster.gpu_type(attempt), with_billing);
                }
            }
            Column::NodeList if is_waiting => push(out, "None assigned"),
            Column::NodeList => {
                let placements = self.cluster.placements(attempt);
                self.cluster.node_list(&placements[..usize::from(nodes)], out);
            }
            Column::NTasks if is_job => {}
            Column::NTasks => number(out, self.tasks()),
            Column::MaxRss => {
                if let Some(pages) = self.resident_pages() {
                    number(out, u64::from(pages) * 4096);
                }
            }
            Column::TotalCpu => {
                cpu_time(out, self.measured.map_or(0, |measured| measured.cpu_milliseconds));
            }
            Column::TresUsageInMax => self.tres_usage(1, out),
            Column::TresUsageInTot => self.tres_usage(self.tasks(), out),
            Column::ConsumedEnergyRaw => {
                let is_open = matches!(self.rows.state, State::Running | State::Preempted);
                if !(is_job && is_open) {
                    out.push(b'0');
                }
            }
            Column::JobName => push(
                out,
                match self.kind {
                    RowKind::Job => attempt.name,
                    RowKind::Batch => "batch",
                    RowKind::External => "extern",
                    RowKind::Step => "app",
                },
            ),
            // Blank on the rows of steps, and the last two everywhere.
            Column::User
            | Column::Uid
            | Column::Group
            | Column::Partition
            | Column::Qos
            | Column::TimelimitRaw
            | Column::Reason
            | Column::ReqMem
            | Column::ReqTres
            | Column::Reservation
            | Column::AdminComment => {}
        }
    }

    fn job_id(&self, out: &mut Vec<u8>) {
        let is_waiting = matches!(self.rows.state, State::Pending | State::CancelledWaiting);
        job_id(out, self.rows.attempt, self.rows.last, is_waiting);
        self.suffix(out);
    }

    fn suffix(&self, out: &mut Vec<u8>) {
        push(
            out,
            match self.kind {
                RowKind::Job => "",
                RowKind::Batch => ".batch",
                RowKind::External => ".extern",
                RowKind::Step => ".0",
            },
        );
    }

    /// Tasks that have not stood alone yet go by their array's number.
    fn waiting_id(&self) -> u32 {
        match self.rows.attempt.part {
            Part::Task { array, .. } if self.rows.attempt.restarts == 0 => array,
            _ => self.rows.attempt.id,
        }
    }

    fn elapsed(&self) -> Moment {
        let attempt = self.rows.attempt;
        match self.rows.state {
            State::Pending | State::CancelledWaiting => 0,
            State::Running => self.rows.now - attempt.start,
            _ => attempt.end - attempt.start,
        }
    }

    fn state(&self, out: &mut Vec<u8>) {
        let uid = match self.rows.state {
            State::CancelledWaiting | State::Ended(Ending::CancelledByOwner) => {
                Some(self.rows.attempt.uid())
            }
            State::Ended(Ending::CancelledByRoot) => Some(0),
            _ => None,
        };
        match (self.kind, self.rows.state) {
            (RowKind::Job, state) => {
                push(out, state.name());
                if let Some(uid) = uid {
                    push(out, " by ");
                    number(out, uid);
                }
            }
            (RowKind::External, State::NodeFail) => push(out, "CANCELLED"),
            (_, State::Running) => push(out, "RUNNING"),
            (RowKind::External, _) => push(out, "COMPLETED"),
            (_, State::Ended(Ending::Failed { signal: 0, .. })) => push(out, "FAILED"),
            (_, State::Ended(ending @ (Ending::Completed | Ending::OutOfMemory))) => {
                push(out, State::Ended(ending).name());
            }
            _ => push(out, "CANCELLED"),
        }
    }

    fn exit_code(&self, out: &mut Vec<u8>) {
        let is_job = self.kind == RowKind::Job;
        let (code, signal) = match self.rows.state {
            State::NodeFail if !is_job => return,
            _ if self.kind == RowKind::External => (0, 0),
            State::Ended(Ending::Failed { code, signal }) => (code, signal),
            State::Ended(Ending::OutOfMemory) => (0, 125),
            State::Ended(Ending::Completed) | State::Running => (0, 0),
            _ if is_job => (0, 0),
            _ => (0, 15),
        };
        number(out, code);
        out.push(b':');
        number(out, signal);
    }

    fn resident_pages(&self) -> Option<u32> {
        self.measured.and_then(|measured| measured.resident_pages)
    }

    /// The last reason why it waited, which stays when it has started.
    fn last_wait_reason(&self) -> &'static str {
        let attempt = self.rows.attempt;
        let waited =
            attempt.start.min(attempt.end).min(self.rows.now).saturating_sub(attempt.eligible);
        match waited {
            _ if attempt.restarts > 0 => "BeginTime",
            0..30 => "None",
            30..600 => "Resources",
            _ => "Priority",
        }
    }

    /// A script is one task; of the others there is one a node.
    fn tasks(&self) -> u64 {
        if self.kind == RowKind::Batch { 1 } else { u64::from(self.rows.attempt.need.nodes) }
    }

    /// What so many of the step's tasks used, which are all alike.
    fn tres_usage(&self, tasks: u64, out: &mut Vec<u8>) {
        let (Some(pages), Some(measured)) = (self.resident_pages(), self.measured) else { return };
        let attempt = self.rows.attempt;
        let pages = u64::from(pages);
        push(out, "cpu=");
        duration(out, measured.cpu_milliseconds * tasks / self.tasks() / 1000);
        push(out, ",energy=0,fs/disk=");
        number(out, (pages * 3 + 6976) * tasks);
        let is_work = match self.kind {
            RowKind::Batch => !attempt.has_step,
            RowKind::Step => true,
            RowKind::Job | RowKind::External => false,
        };
        if attempt.need.gpus > 0 && is_work {
            // Both are sums over the GPUs of the task.
            push(out, ",gres/gpumem=");
            number(out, (attempt.gpu_memory_mb() << 20) * tasks);
            push(out, ",gres/gpuutil=");
            number(out, attempt.gpu_percent() * tasks);
        }
        push(out, ",mem=");
        number(out, pages * 4096 * tasks);
        push(out, ",pages=0,vmem=");
        number(out, (pages * 4096 + (200 << 20)) * tasks);
    }
}

impl SlurmCluster {
    /// `c003`, or `c[003-004,007]`.
    fn node_list(&self, placements: &[super::slurm_nodes::Placement], out: &mut Vec<u8>) {
        let node = |at: usize| &self.nodes[usize::from(placements[at].node)];
        if placements.len() == 1 {
            return push(out, &node(0).name);
        }
        out.push(node(0).name.as_bytes()[0]);
        let mut at = 0;
        while at < placements.len() {
            out.push(if at == 0 { b'[' } else { b',' });
            let first = at;
            while at + 1 < placements.len() && node(at + 1).number == node(at).number + 1 {
                at += 1;
            }
            push(out, &node(first).name[1..]);
            if at > first {
                out.push(b'-');
                push(out, &node(at).name[1..]);
            }
            at += 1;
        }
        out.push(b']');
    }
}

/// Sorted by name, as in sacct alone: the model's count before the total that includes it.
fn tres(
    out: &mut Vec<u8>,
    attempt: &Attempt,
    nodes: u16,
    gpu_type: Option<&str>,
    with_billing: bool,
) {
    let cpus = u32::from(nodes) * u32::from(attempt.need.cpus);
    if with_billing {
        push(out, "billing=");
        number(out, cpus);
        out.push(b',');
    }
    push(out, "cpu=");
    number(out, cpus);
    if attempt.need.gpus > 0 {
        let gpus = u32::from(nodes) * u32::from(attempt.need.gpus);
        if let Some(gpu_type) = gpu_type {
            push(out, ",gres/gpu:");
            push(out, gpu_type);
            out.push(b'=');
            number(out, gpus);
        }
        push(out, ",gres/gpu=");
        number(out, gpus);
    }
    push(out, ",mem=");
    number(out, u64::from(nodes) * u64::from(attempt.need.memory_mb));
    push(out, "M,node=");
    number(out, nodes);
}

fn time(arguments: &Arguments, option: &str) -> Result<Option<Moment>, Failure> {
    let Some(text) = arguments.get(option) else { return Ok(None) };
    let parsed = text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::UTC));
    match parsed {
        Ok(time) => Ok(Some(moment(time.timestamp()))),
        Err(_) => {
            Err(arguments
                .failure(format!("sacct: error: Invalid time specification (pos=0): {text}")))
        }
    }
}

/// The names of the columns, four a line.
fn fields() -> String {
    let mut text = String::new();
    for columns in Column::ALL.chunks(4) {
        let names: Vec<String> =
            columns.iter().map(|column| format!("{:19}", column.name())).collect();
        text.push_str(&names.join(" "));
        text.push('\n');
    }
    text
}

fn columns(arguments: &Arguments) -> Result<Vec<Column>, Failure> {
    let asked =
        arguments.get("--format").unwrap_or("JobID,JobName,Partition,Account,State,ExitCode");
    asked
        .split(',')
        .map(|name| {
            Column::ALL
                .into_iter()
                .find(|column| column.name().eq_ignore_ascii_case(name))
                .ok_or_else(|| {
                    arguments.failure(format!("sacct: error: Invalid field requested: \"{name}\""))
                })
        })
        .collect()
}

/// Declares the columns once: the variant and the name that sacct's header has for it.
macro_rules! columns {
    ($($variant:ident $name:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Column {
            $($variant,)*
        }

        impl Column {
            const ALL: [Column; [$($name),*].len()] = [$(Column::$variant),*];

            fn name(self) -> &'static str {
                match self {
                    $(Column::$variant => $name,)*
                }
            }
        }
    };
}

columns! {
    JobId "JobID"
    JobIdRaw "JobIDRaw"
    Cluster "Cluster"
    User "User"
    Uid "UID"
    Group "Group"
    Account "Account"
    Partition "Partition"
    Qos "QOS"
    State "State"
    ExitCode "ExitCode"
    Submit "Submit"
    Eligible "Eligible"
    Start "Start"
    End "End"
    ElapsedRaw "ElapsedRaw"
    Elapsed "Elapsed"
    Suspended "Suspended"
    TimelimitRaw "TimelimitRaw"
    AllocNodes "AllocNodes"
    AllocCpus "AllocCPUS"
    AllocTres "AllocTRES"
    ReqNodes "ReqNodes"
    ReqCpus "ReqCPUS"
    ReqMem "ReqMem"
    ReqTres "ReqTRES"
    NodeList "NodeList"
    NTasks "NTasks"
    MaxRss "MaxRSS"
    TotalCpu "TotalCPU"
    TresUsageInMax "TRESUsageInMax"
    TresUsageInTot "TRESUsageInTot"
    ConsumedEnergyRaw "ConsumedEnergyRaw"
    Reason "Reason"
    Reservation "Reservation"
    AdminComment "AdminComment"
    JobName "JobName"
}
