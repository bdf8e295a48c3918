//! Prints the simulated pool's executions as `condor_history -epochs -json` does.

use super::arguments::Arguments;
use super::condor_json::{Ads, OPTIONS, access_point, attributes, plain, real, string, truth};
use super::condor_machines::Machine;
use super::condor_pool::{CondorPool, Ending, Execution, Side};
use super::condor_status::{MEASURED_SECONDS, gpu_list};
use super::condor_workload::Job;
use super::{CONDOR_POOL, Moment};
use crate::machine::{Command, Failure};

pub(super) fn condor_history(
    pool: &CondorPool,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    if !arguments.has("-json") || !arguments.has("-epochs") || !arguments.words.is_empty() {
        return Err(arguments.failure("Error: this simulated pool prints only -epochs -json"));
    }
    let (from, until) = match arguments.get("-constraint") {
        None => (0, Moment::MAX),
        Some(constraint) => bounds(constraint).ok_or_else(|| {
            arguments.failure(format!("Error: cannot evaluate here: {constraint}"))
        })?,
    };
    let access_point = access_point(&arguments)?;
    let attributes = attributes(&arguments, &ATTRIBUTES);

    let end = |&index: &u32| pool.executions[index as usize].end;
    let first = pool.by_end.partition_point(|index| end(index) < from);
    let last = pool.by_end.partition_point(|index| end(index) < until && end(index) <= now);
    let limit = match arguments.get("-limit") {
        None => usize::MAX,
        Some(limit) => limit
            .parse()
            .map_err(|_| arguments.failure(format!("Error: -limit is no number: {limit}")))?,
    };
    let mut ads = Ads::new(sink);
    // The latest is printed first.
    let latest_first = pool.by_end.get(first..last).unwrap_or_default().iter().rev();
    let executions = latest_first.map(|&index| {
        let execution = &pool.executions[index as usize];
        (execution, &pool.jobs[execution.job as usize])
    });
    let is_of_access_point = |(_, job): &(&Execution, &Job)| {
        access_point.is_none_or(|number| number == u32::from(job.access_point))
    };
    for (execution, job) in executions.filter(is_of_access_point).take(limit) {
        ads.ad(&attributes, |attribute, out| value(pool, job, execution, attribute, out));
    }
    ads.finish();
    Ok(())
}

/// The two moments of `EpochWriteDate >= 1794700800 && EpochWriteDate < 1794787200`.
fn bounds(constraint: &str) -> Option<(Moment, Moment)> {
    let (from, until) = constraint.split_once("&&")?;
    let from = from.trim().strip_prefix("EpochWriteDate >=")?.trim().parse().ok()?;
    let until = until.trim().strip_prefix("EpochWriteDate <")?.trim().parse().ok()?;
    Some((from, until))
}

fn value(
    pool: &CondorPool,
    job: &Job,
    execution: &Execution,
    attribute: Attribute,
    out: &mut Vec<u8>,
) -> Option<()> {
    let machine = &pool.machines[usize::from(execution.machine)];
    let elapsed = execution.end - execution.start;
    // Setting up takes a second or two.
    let executing = execution.start + (1 + execution.job % 2).min(elapsed);
    let (exited, vacated) = match execution.ending {
        Ending::Exited { code, signal } => (Some((code, signal)), None),
        Ending::Vacated(vacate) => (None, Some(vacate)),
        Ending::Running => (None, None),
    };
    let measured = execution.measured(job);
    match attribute {
        Attribute::GlobalJobId => string(out, format_args!("{}#{}", job.id(), job.submit)),
        Attribute::ClusterId => plain(out, format_args!("{}", job.cluster)),
        Attribute::ProcId => plain(out, format_args!("{}", job.process)),
        Attribute::Owner => string(out, format_args!("{}", job.user.name)),
        Attribute::AccountingGroup => string(
            out,
            format_args!("{}.{}@{CONDOR_POOL}.example.org", job.user.group, job.user.name),
        ),
        Attribute::AcctGroup => string(out, format_args!("{}", job.user.group)),
        Attribute::ChtcProjects if job.user.projects.is_empty() => None,
        Attribute::ChtcProjects => string(out, format_args!("{}", job.user.projects)),
        Attribute::JobBatchName => {
            string(out, format_args!("{}-{}", job.user.name, job.cluster % 17))
        }
        Attribute::QDate => plain(out, format_args!("{}", job.submit)),
        // The ad is written before the queue hears of the end: the job still runs.
        Attribute::JobStatus => plain(out, format_args!("2")),
        Attribute::JobCurrentStartDate => plain(out, format_args!("{}", execution.start)),
        Attribute::JobCurrentStartExecutingDate => plain(out, format_args!("{executing}")),
        Attribute::JobLastStartDate => plain(out, format_args!("{}", execution.last_run?.0)),
        Attribute::LastRemoteWallClockTime => {
            let (start, end) = execution.last_run?;
            real(out, f64::from(end - start))
        }
        Attribute::EpochWriteDate => plain(out, format_args!("{}", execution.end)),
        Attribute::NumShadowStarts => plain(out, format_args!("{}", execution.number)),
        Attribute::RunInstanceId => plain(out, format_args!("{}", execution.number - 1)),
        Attribute::RemoteHost => execution.slot_name(machine, out),
        Attribute::AssignedGpus => gpu_list(machine, execution.gpus, out),
        Attribute::RequestCpus | Attribute::CpusProvisioned => {
            plain(out, format_args!("{}", job.cpus))
        }
        Attribute::RequestMemory | Attribute::MemoryProvisioned => {
            plain(out, format_args!("{}", job.memory_mb))
        }
        Attribute::RequestGpus => plain(out, format_args!("{}", job.gpus)),
        // The spelling changes once a job has run before.
        Attribute::GpusProvisionedAtFirst if execution.number > 1 => None,
        Attribute::GpusProvisionedLater if execution.number == 1 => None,
        Attribute::GpusProvisionedAtFirst | Attribute::GpusProvisionedLater => {
            plain(out, format_args!("{}", job.gpus))
        }
        Attribute::RemoteUserCpu => real(out, measured.map_or(0.0, |measured| measured.user_cpu)),
        Attribute::RemoteSysCpu => real(out, measured.map_or(0.0, |measured| measured.system_cpu)),
        Attribute::ResidentSetSize => plain(out, format_args!("{}", measured?.resident_kb)),
        Attribute::MemoryUsage => measured.and_then(|_| {
            string(out, format_args!("\\/Expr(((ResidentSetSize + 1023) / 1024))\\/"))
        }),
        Attribute::GpusAverageUsage => real(out, job.average_usage(elapsed)?),
        Attribute::GpusMemoryUsage => match measured {
            Some(_) => real(out, (job.gpu_ratio() * f64::from(machine.model.memory_mb)).round()),
            None => plain(out, format_args!("null")),
        },
        Attribute::ExitBySignal => truth(out, exited.is_some_and(|(_, signal)| signal > 0)),
        Attribute::ExitCode => match exited {
            Some((code, 0)) => plain(out, format_args!("{code}")),
            Some(_) => None,
            // What a job that is told to stop returns.
            None => plain(out, format_args!("143")),
        },
        Attribute::ExitSignal => match exited? {
            (_, 0) => None,
            (_, signal) => plain(out, format_args!("{signal}")),
        },
        Attribute::VacateReason => string(out, format_args!("{}", vacated?.reason)),
        Attribute::VacateReasonCode => plain(out, format_args!("{}", vacated?.code)),
        Attribute::VacateReasonSubCode => vacated.and_then(|_| plain(out, format_args!("0"))),
        Attribute::LastVacateTime => {
            vacated.and_then(|_| plain(out, format_args!("{}", execution.end)))
        }
        Attribute::ActivationDuration => plain(out, format_args!("{elapsed}")),
        Attribute::ActivationExecutionDuration => {
            plain(out, format_args!("{}", execution.end - executing))
        }
    }
}

/// What a machine reports of an execution.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub(super) user_cpu: f64,
    pub(super) system_cpu: f64,
    pub(super) resident_kb: u64,
}

impl Execution {
    /// `"slot1_1@gpu2001.tamarack.example.org"`.
    pub(super) fn slot_name(&self, machine: &Machine, out: &mut Vec<u8>) -> Option<()> {
        let (side, id) = match self.side {
            Side::Primary => ("slot", 1),
            Side::Backfill => ("backfill", 2),
        };
        string(out, format_args!("{side}{id}_{}@{}", self.slot, machine.name))
    }

    /// What was measured; None where it was over too soon, or has not ended.
    pub(super) fn measured(&self, job: &Job) -> Option<Measured> {
        let elapsed = self.end - self.start;
        let has_ended = self.ending != Ending::Running;
        (has_ended && elapsed >= MEASURED_SECONDS).then(|| {
            let held = f64::from(elapsed) * f64::from(job.cpus);
            let kilobytes = f64::from(job.memory_mb) * 1024.0 * f64::from(job.memory_use);
            Measured {
                user_cpu: (held * f64::from(job.cpu_use)).floor(),
                system_cpu: (held * 0.01).floor(),
                // Odd, so that it is not taken for a number that the queue has rounded up.
                resident_kb: kilobytes as u64 | 1,
            }
        })
    }
}

#[derive(Clone, Copy)]
enum Attribute {
    GlobalJobId,
    ClusterId,
    ProcId,
    Owner,
    AccountingGroup,
    AcctGroup,
    ChtcProjects,
    JobBatchName,
    QDate,
    JobStatus,
    JobCurrentStartDate,
    JobCurrentStartExecutingDate,
    JobLastStartDate,
    LastRemoteWallClockTime,
    EpochWriteDate,
    NumShadowStarts,
    RunInstanceId,
    RemoteHost,
    AssignedGpus,
    RequestCpus,
    RequestMemory,
    RequestGpus,
    CpusProvisioned,
    MemoryProvisioned,
    GpusProvisionedAtFirst,
    GpusProvisionedLater,
    RemoteUserCpu,
    RemoteSysCpu,
    ResidentSetSize,
    MemoryUsage,
    GpusAverageUsage,
    GpusMemoryUsage,
    ExitCode,
    ExitBySignal,
    ExitSignal,
    VacateReason,
    VacateReasonCode,
    VacateReasonSubCode,
    LastVacateTime,
    ActivationDuration,
    ActivationExecutionDuration,
}

const ATTRIBUTES: [(&str, Attribute); 41] = [
    ("GlobalJobId", Attribute::GlobalJobId),
    ("ClusterId", Attribute::ClusterId),
    ("ProcId", Attribute::ProcId),
    ("Owner", Attribute::Owner),
    ("AccountingGroup", Attribute::AccountingGroup),
    ("AcctGroup", Attribute::AcctGroup),
    ("ChtcProjects", Attribute::ChtcProjects),
    ("JobBatchName", Attribute::JobBatchName),
    ("QDate", Attribute::QDate),
    ("JobStatus", Attribute::JobStatus),
    ("JobCurrentStartDate", Attribute::JobCurrentStartDate),
    ("JobCurrentStartExecutingDate", Attribute::JobCurrentStartExecutingDate),
    ("JobLastStartDate", Attribute::JobLastStartDate),
    ("LastRemoteWallClockTime", Attribute::LastRemoteWallClockTime),
    ("EpochWriteDate", Attribute::EpochWriteDate),
    ("NumShadowStarts", Attribute::NumShadowStarts),
    ("RunInstanceID", Attribute::RunInstanceId),
    ("RemoteHost", Attribute::RemoteHost),
    ("AssignedGPUs", Attribute::AssignedGpus),
    ("RequestCpus", Attribute::RequestCpus),
    ("RequestMemory", Attribute::RequestMemory),
    ("RequestGPUs", Attribute::RequestGpus),
    ("CpusProvisioned", Attribute::CpusProvisioned),
    ("MemoryProvisioned", Attribute::MemoryProvisioned),
    ("GpusProvisioned", Attribute::GpusProvisionedAtFirst),
    ("GPUsProvisioned", Attribute::GpusProvisionedLater),
    ("RemoteUserCpu", Attribute::RemoteUserCpu),
    ("RemoteSysCpu", Attribute::RemoteSysCpu),
    ("ResidentSetSize", Attribute::ResidentSetSize),
    ("MemoryUsage", Attribute::MemoryUsage),
    ("GPUsAverageUsage", Attribute::GpusAverageUsage),
    ("GPUsMemoryUsage", Attribute::GpusMemoryUsage),
    ("ExitCode", Attribute::ExitCode),
    ("ExitBySignal", Attribute::ExitBySignal),
    ("ExitSignal", Attribute::ExitSignal),
    ("VacateReason", Attribute::VacateReason),
    ("VacateReasonCode", Attribute::VacateReasonCode),
    ("VacateReasonSubCode", Attribute::VacateReasonSubCode),
    ("LastVacateTime", Attribute::LastVacateTime),
    ("ActivationDuration", Attribute::ActivationDuration),
    ("ActivationExecutionDuration", Attribute::ActivationExecutionDuration),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_constraint_are_read() {
        for (constraint, expected) in [
            ("EpochWriteDate >= 5 && EpochWriteDate < 9", Some((5, 9))),
            ("EpochWriteDate >= 5", None),
            ("EpochWriteDate >= five && EpochWriteDate < 9", None),
            ("Owner == \"x\"", None),
        ] {
            assert_eq!(bounds(constraint), expected, "{constraint}");
        }
    }
}
