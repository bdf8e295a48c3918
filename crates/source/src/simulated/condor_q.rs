//! Prints the simulated pool's queues as `condor_q -json` does.

use super::arguments::Arguments;
use super::condor_json::{Ads, OPTIONS, access_point, attributes, plain, real, string};
use super::condor_pool::{CondorPool, Execution, Wait};
use super::condor_status::gpu_list;
use super::{CONDOR_POOL, Moment};
use crate::htcondor;
use crate::machine::{Command, Failure};

pub(super) fn condor_q(
    pool: &CondorPool,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    let is_known = arguments.has("-json") != arguments.has("-totals");
    if !is_known || !arguments.has("-allusers") || !arguments.words.is_empty() {
        let words = "Error: this simulated pool prints only -allusers with -json or -totals";
        return Err(arguments.failure(words));
    }
    // Every job here asks for GPUs, and waits or runs: each meets these constraints.
    let known = [htcondor::condor_q(None), htcondor::condor_q_current(None)];
    if let Some(constraint) = arguments.get("-constraint")
        && !known.iter().flat_map(|command| &command.arguments).any(|known| known == constraint)
    {
        return Err(arguments.failure(format!("Error: cannot evaluate here: {constraint}")));
    }
    let access_point = access_point(&arguments)?;
    let attributes = attributes(&arguments, &ATTRIBUTES);

    let mut queued: Vec<Queued> = Vec::new();
    for index in pool.alive.between(now, now) {
        let execution = &pool.executions[index as usize];
        if execution.start <= now && now < execution.end {
            queued.push(Queued { job: execution.job, place: Place::Running(execution) });
        }
    }
    for index in pool.alive_waits.between(now, now) {
        let wait = &pool.waits[index as usize];
        if wait.since <= now && now < wait.until {
            queued.push(Queued { job: wait.job, place: Place::Waiting(wait) });
        }
    }
    queued.retain(|queued| {
        let of = u32::from(pool.jobs[queued.job as usize].access_point);
        access_point.is_none_or(|number| number == of)
    });
    queued.sort_by_key(|queued| queued.job);
    if arguments.has("-totals") {
        sink(totals(&queued).as_bytes());
        return Ok(());
    }
    let mut ads = Ads::new(sink);
    for queued in queued {
        ads.ad(&attributes, |attribute, out| queued.value(pool, now, attribute, out));
    }
    ads.finish();
    Ok(())
}

fn totals(queued: &[Queued]) -> String {
    let running = queued.iter().filter(|job| matches!(job.place, Place::Running(_))).count();
    format!(
        "Total for query: {} jobs; 0 completed, 0 removed, {} idle, {running} running, 0 held, \
         0 suspended\n",
        queued.len(),
        queued.len() - running
    )
}

struct Queued<'a> {
    job: u32,
    place: Place<'a>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Waiting(&'a Wait),
    Running(&'a Execution),
}

impl Queued<'_> {
    fn value(
        &self,
        pool: &CondorPool,
        now: Moment,
        attribute: Attribute,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let job = &pool.jobs[self.job as usize];
        let (running, waiting) = match self.place {
            Place::Running(execution) => (Some(execution), None),
            Place::Waiting(wait) => (None, Some(wait)),
        };
        let machine = running.map(|execution| &pool.machines[usize::from(execution.machine)]);
        match attribute {
            Attribute::GlobalJobId => string(out, format_args!("{}#{}", job.id(), job.submit)),
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
            Attribute::JobUniverse => plain(out, format_args!("5")),
            Attribute::QDate => plain(out, format_args!("{}", job.submit)),
            Attribute::JobStatus => {
                plain(out, format_args!("{}", if running.is_some() { 2 } else { 1 }))
            }
            Attribute::EnteredCurrentStatus => {
                let since = match self.place {
                    Place::Running(execution) => execution.start,
                    Place::Waiting(wait) => wait.since,
                };
                plain(out, format_args!("{since}"))
            }
            Attribute::JobCurrentStartDate | Attribute::ShadowBday => {
                plain(out, format_args!("{}", running?.start))
            }
            Attribute::JobLastStartDate => plain(out, format_args!("{}", running?.last_run?.0)),
            Attribute::LastRemoteWallClockTime => {
                let (start, end) = running?.last_run?;
                real(out, f64::from(end - start))
            }
            Attribute::NumShadowStarts => match self.place {
                Place::Running(execution) => plain(out, format_args!("{}", execution.number)),
                Place::Waiting(Wait { starts: 0, .. }) => None,
                Place::Waiting(wait) => plain(out, format_args!("{}", wait.starts)),
            },
            Attribute::RemoteHost => running?.slot_name(machine?, out),
            Attribute::AssignedGpus => gpu_list(machine?, running?.gpus, out),
            Attribute::RequestCpus => plain(out, format_args!("{}", job.cpus)),
            Attribute::RequestMemory => plain(out, format_args!("{}", job.memory_mb)),
            Attribute::RequestGpus => plain(out, format_args!("{}", job.gpus)),
            Attribute::CpusProvisioned => {
                running.and_then(|_| plain(out, format_args!("{}", job.cpus)))
            }
            Attribute::MemoryProvisioned => {
                running.and_then(|_| plain(out, format_args!("{}", job.memory_mb)))
            }
            Attribute::GpusProvisioned => {
                running.and_then(|_| plain(out, format_args!("{}", job.gpus)))
            }
            Attribute::LastRejMatchReason => {
                last_cycle(waiting?, now)?;
                string(out, format_args!("no match found"))
            }
            Attribute::LastRejMatchTime => {
                plain(out, format_args!("{}", last_cycle(waiting?, now)?))
            }
        }
    }
}

/// When matches were last made since a job waits, if they were.
fn last_cycle(wait: &Wait, now: Moment) -> Option<Moment> {
    let last = now / 60 * 60;
    (last > wait.since).then_some(last)
}

#[derive(Clone, Copy)]
enum Attribute {
    GlobalJobId,
    Owner,
    AccountingGroup,
    AcctGroup,
    ChtcProjects,
    JobBatchName,
    JobUniverse,
    QDate,
    JobStatus,
    EnteredCurrentStatus,
    JobCurrentStartDate,
    ShadowBday,
    JobLastStartDate,
    LastRemoteWallClockTime,
    NumShadowStarts,
    RemoteHost,
    AssignedGpus,
    RequestCpus,
    RequestMemory,
    RequestGpus,
    CpusProvisioned,
    MemoryProvisioned,
    GpusProvisioned,
    LastRejMatchReason,
    LastRejMatchTime,
}

const ATTRIBUTES: [(&str, Attribute); 25] = [
    ("GlobalJobId", Attribute::GlobalJobId),
    ("Owner", Attribute::Owner),
    ("AccountingGroup", Attribute::AccountingGroup),
    ("AcctGroup", Attribute::AcctGroup),
    ("ChtcProjects", Attribute::ChtcProjects),
    ("JobBatchName", Attribute::JobBatchName),
    ("JobUniverse", Attribute::JobUniverse),
    ("QDate", Attribute::QDate),
    ("JobStatus", Attribute::JobStatus),
    ("EnteredCurrentStatus", Attribute::EnteredCurrentStatus),
    ("JobCurrentStartDate", Attribute::JobCurrentStartDate),
    ("ShadowBday", Attribute::ShadowBday),
    ("JobLastStartDate", Attribute::JobLastStartDate),
    ("LastRemoteWallClockTime", Attribute::LastRemoteWallClockTime),
    ("NumShadowStarts", Attribute::NumShadowStarts),
    ("RemoteHost", Attribute::RemoteHost),
    ("AssignedGPUs", Attribute::AssignedGpus),
    ("RequestCpus", Attribute::RequestCpus),
    ("RequestMemory", Attribute::RequestMemory),
    ("RequestGPUs", Attribute::RequestGpus),
    ("CpusProvisioned", Attribute::CpusProvisioned),
    ("MemoryProvisioned", Attribute::MemoryProvisioned),
    ("GPUsProvisioned", Attribute::GpusProvisioned),
    ("LastRejMatchReason", Attribute::LastRejMatchReason),
    ("LastRejMatchTime", Attribute::LastRejMatchTime),
];
