//! The cells of one line of the simulated `sacct`, blank where those of the real one are.

use super::slurm_attempt::{Part, State, job_id};
use super::slurm_cluster::SlurmCluster;
use super::slurm_sacct::Rows;
use super::slurm_sacct_columns::Column;
use super::slurm_usage::Measured;
use super::slurm_workload::Ending;
use super::text::{Unit, duration, number, push};
use super::{Moment, SLURM_CLUSTER};

/// One line.
pub(super) struct Row<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) cluster: &'a SlurmCluster,
    pub(super) kind: RowKind,
    /// What the row says was measured; None where it says nothing.
    pub(super) measured: Option<Measured>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum RowKind {
    Job,
    Batch,
    External,
    Step,
}

impl Row<'_> {
    pub(super) fn cell(&self, column: Column, out: &mut Vec<u8>) {
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
            Column::JobName => self.name(out),
            Column::Cluster => push(out, SLURM_CLUSTER),
            Column::Account => push(out, attempt.user().account),
            Column::User if is_job => push(out, attempt.user().name),
            Column::Uid if is_job => number(out, attempt.uid()),
            Column::Group if is_job => push(out, attempt.user().account),
            Column::Gid if is_job => number(out, attempt.gid()),
            Column::Partition if is_job => push(out, attempt.partition.name()),
            Column::Qos if is_job => push(out, attempt.partition.qos()),
            Column::Priority if is_job => number(out, 1000 + attempt.id % 9000),
            Column::TimelimitRaw if is_job => number(out, attempt.limit_minutes),
            Column::Timelimit if is_job => duration(out, 60 * u64::from(attempt.limit_minutes)),
            Column::Flags if is_job => push(out, self.flags()),
            Column::Reason if is_job => push(out, self.last_wait_reason()),
            Column::WorkDir if is_job => self.work_dir(out),
            Column::SubmitLine => self.submit_line(out),
            Column::ReqMem if is_job => self.memory(out, attempt.memory_mb(), Unit::Mebibyte),
            Column::ReqTres if is_job => {
                let gpu_type = match attempt.pools {
                    [pool] => pool.gpu_type(),
                    _ => None,
                };
                self.tres(out, attempt.need.nodes, gpu_type, true);
            }
            Column::State => self.state(out),
            Column::ExitCode => self.exit_code(out),
            Column::DerivedExitCode if is_job => self.derived_exit_code(out),
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
            Column::ReqNodes | Column::NNodes => number(out, nodes),
            Column::AllocCpus | Column::ReqCpus | Column::NCpus => number(out, cpus),
            Column::AllocTres => {
                if !is_waiting {
                    let with_billing = matches!(self.kind, RowKind::Job | RowKind::External);
                    self.tres(out, nodes, self.cluster.gpu_type(attempt), with_billing);
                }
            }
            Column::NodeList if is_waiting => push(out, "None assigned"),
            Column::NodeList => {
                let placements = self.cluster.placements(attempt);
                self.cluster.node_list(&placements[..usize::from(nodes)], out);
            }
            Column::NTasks if is_job => {}
            Column::NTasks => number(out, self.tasks()),
            Column::Layout => self.layout(out),
            Column::CpuTimeRaw => number(out, u64::from(cpus) * u64::from(self.elapsed())),
            Column::CpuTime => duration(out, u64::from(cpus) * u64::from(self.elapsed())),
            Column::TotalCpu => self.total_cpu(out),
            Column::UserCpu => self.user_cpu(out),
            Column::SystemCpu => self.system_cpu(out),
            Column::AveCpu | Column::MinCpu => self.cpu_of_task(out),
            Column::MaxRss | Column::AveRss => self.resident(out),
            Column::MaxVmSize | Column::AveVmSize => self.virtual_memory(out),
            Column::MaxRssNode | Column::MaxVmSizeNode => self.node_of_largest(out),
            Column::MaxDiskRead => self.disk_read(out),
            Column::MaxDiskWrite => self.disk_write(out),
            Column::TresUsageInMax => self.tres_usage(1, out),
            Column::TresUsageInTot => self.tres_usage(self.tasks(), out),
            Column::ConsumedEnergy | Column::ConsumedEnergyRaw => {
                let is_open = matches!(self.rows.state, State::Running | State::Preempted);
                if !(is_job && is_open) {
                    out.push(b'0');
                }
            }
            // Blank on the rows of steps, and the last six everywhere.
            Column::User
            | Column::Uid
            | Column::Group
            | Column::Gid
            | Column::Partition
            | Column::Qos
            | Column::Priority
            | Column::TimelimitRaw
            | Column::Timelimit
            | Column::Flags
            | Column::Reason
            | Column::WorkDir
            | Column::ReqMem
            | Column::ReqTres
            | Column::DerivedExitCode
            | Column::Reservation
            | Column::ReservationId
            | Column::AdminComment
            | Column::Comment
            | Column::Constraints
            | Column::Container => {}
        }
    }

    fn name(&self, out: &mut Vec<u8>) {
        push(
            out,
            match self.kind {
                RowKind::Job => self.rows.attempt.name,
                RowKind::Batch => "batch",
                RowKind::External => "extern",
                RowKind::Step => "app",
            },
        );
    }

    /// One task a node is laid out in turn; nobody lays out a script.
    fn layout(&self, out: &mut Vec<u8>) {
        push(
            out,
            match self.kind {
                RowKind::Job => "",
                RowKind::Batch | RowKind::External => "Unknown",
                RowKind::Step => "Cyclic",
            },
        );
    }

    /// Which part of the scheduler started it, in SLURM's spelling; who waited was passed over by
    /// the main one.
    fn flags(&self) -> &'static str {
        let attempt = self.rows.attempt;
        match self.rows.state {
            State::Pending | State::CancelledWaiting => "StartRecieved",
            _ if attempt.start - attempt.eligible < 30 => "SchedMain,StartRecieved",
            _ => "SchedBackfill,StartRecieved",
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

    /// The worst that a step of `srun` returned.
    fn derived_exit_code(&self, out: &mut Vec<u8>) {
        match self.rows.state {
            State::Ended(Ending::Failed { .. }) if self.rows.attempt.has_step => {
                self.exit_code(out);
            }
            _ => push(out, "0:0"),
        }
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
}
