//! Runs the simulated HTCondor pool: jobs are matched to slots, owners come back, backfill gives way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::alive::Alive;
use super::condor_machines::{Machine, Outage, OutageKind, Owner, machines, outages};
use super::condor_workload::{Exit, Job, KINDS, Kind, Stream, Wish};
use super::random::Random;
use super::{CONDOR_POOL, DAY, Moment, NEVER, Span};

/// What happened in the pool.
pub(super) struct CondorPool {
    pub(super) machines: Vec<Machine>,
    pub(super) jobs: Vec<Job>,
    /// In the order of their start.
    pub(super) executions: Vec<Execution>,
    /// Their indices in the order of their end, without those that still run.
    pub(super) by_end: Vec<u32>,
    pub(super) alive: Alive,
    pub(super) waits: Vec<Wait>,
    pub(super) alive_waits: Alive,
    pub(super) outages: Vec<Outage>,
    pub(super) gpu_intervals: Vec<GpuInterval>,
}

/// One run of a job in one slot.
pub(super) struct Execution {
    pub(super) job: u32,
    /// From 1, as in NumShadowStarts.
    pub(super) number: u16,
    /// When the job's execution before this one began and ended.
    pub(super) last_run: Option<(Moment, Moment)>,
    pub(super) machine: u16,
    pub(super) side: Side,
    /// The number of its dynamic slot.
    pub(super) slot: u8,
    /// A bit for each GPU of the machine.
    pub(super) gpus: u8,
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) ending: Ending,
}

/// A job in the queue, from its submission or an eviction until it runs.
pub(super) struct Wait {
    pub(super) job: u32,
    /// How often it has run before.
    pub(super) starts: u16,
    pub(super) since: Moment,
    pub(super) until: Moment,
}

/// Through which of its two slots a GPU is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Primary,
    Backfill,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    Running,
    Exited { code: u8, signal: u8 },
    Vacated(Vacate),
}

/// Why an execution ended that did not end by itself: code and reason as HTCondor has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vacate {
    pub(super) code: u32,
    pub(super) reason: &'static str,
}

/// The owner came back.
const PREEMPTED: Vacate = Vacate { code: 1011, reason: "PREEMPT expression evaluated to True" };
const DRAINED: Vacate = Vacate { code: 1014, reason: "Startd was draining" };
const SHUT_DOWN: Vacate = Vacate { code: 1013, reason: "Startd was shutdown" };
const REMOVED: Vacate = Vacate { code: 1009, reason: "Claim deactivated" };

/// One GPU while nothing about it changed.
pub(super) struct GpuInterval {
    pub(super) machine: u16,
    pub(super) gpu: u8,
    pub(super) start: Moment,
    pub(super) end: Moment,
    /// Jobs, by their index.
    pub(super) primary: Option<u32>,
    pub(super) backfill: Option<u32>,
    pub(super) drained: bool,
}

impl GpuInterval {
    fn is_followed_by(&self, later: &GpuInterval) -> bool {
        (self.machine, self.gpu, self.end) == (later.machine, later.gpu, later.start)
            && (self.primary, self.backfill, self.drained)
                == (later.primary, later.backfill, later.drained)
    }
}

impl Job {
    /// The job's id without the time of its submission.
    pub(super) fn id(&self) -> String {
        let Job { access_point, cluster, process, .. } = self;
        format!("{}#{cluster}.{process}", access_point_name(u32::from(*access_point)))
    }
}

/// The name of an access point, by its number from 0.
pub(super) fn access_point_name(number: u32) -> String {
    format!("ap{}.{CONDOR_POOL}.example.org", 2001 + number)
}

/// The waits of all jobs, from all executions in the order of their start.
fn waits(jobs: &[Job], executions: &[Execution]) -> Vec<Wait> {
    let mut waits = Vec::with_capacity(executions.len());
    let mut waiting: Vec<Option<(u16, Moment)>> =
        jobs.iter().map(|job| Some((0, job.submit))).collect();
    for execution in executions {
        let place = &mut waiting[execution.job as usize];
        if let Some((starts, since)) = place.take() {
            waits.push(Wait { job: execution.job, starts, since, until: execution.start });
        }
        let returns = matches!(execution.ending, Ending::Vacated(why) if why != REMOVED);
        *place = returns.then_some((execution.number, execution.end));
    }
    let still = (0_u32..).zip(waiting).filter_map(|(job, place)| {
        let (starts, since) = place?;
        Some(Wait { job, starts, since, until: NEVER })
    });
    waits.extend(still);
    waits
}

/// Matches are made once a minute.
const CYCLE_SECONDS: Moment = 60;
/// What a draining machine leaves its primary jobs.
const RETIREMENT_SECONDS: Moment = 3600;
/// The simulation runs for two days before its history begins, so that it does not begin empty.
const WARM_UP: Moment = 2 * DAY;
pub(super) const ACCESS_POINTS: u32 = 2;

/// When owners come back for a GPU after a backfill job took it: in seconds, by W. Weibull's law,
/// which is the exponential one with a shape of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnLaw {
    pub scale_seconds: f64,
    pub shape: f64,
}

struct Returns {
    law: ReturnLaw,
    random: Random,
}

impl Returns {
    fn next(&mut self) -> Moment {
        let ReturnLaw { scale_seconds, shape } = self.law;
        (scale_seconds * self.random.exponential(1.0).powf(1.0 / shape)) as Moment
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End { execution: u32 },
    OwnersReturn { execution: u32 },
    OutageEnd { outage: u32 },
    OutageStart { outage: u32 },
    Retirement { outage: u32 },
    Submission { kind: Kind },
    Cycle,
}

/// A machine as it is now.
#[derive(Clone, Default)]
struct Slots {
    /// GPUs held through each side, a bit each.
    primary: u8,
    backfill: u8,
    /// Dynamic slots in use, a bit each from 1.
    primary_numbers: u16,
    backfill_numbers: u16,
    running: Vec<u32>,
    takes_jobs: bool,
    is_present: bool,
    is_draining: bool,
}

/// A GPU as it is now, and since when.
#[derive(Clone, Copy, Default)]
struct Gpu {
    since: Moment,
    primary: Option<u32>,
    backfill: Option<u32>,
    drained: bool,
    is_present: bool,
}

struct Simulation {
    pool: CondorPool,
    span: Span,
    slots: Vec<Slots>,
    gpus: Vec<[Gpu; 8]>,
    streams: [Stream; KINDS.len()],
    returns: Option<Returns>,
    /// Jobs that wait, by kind.
    queues: [Vec<u32>; KINDS.len()],
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    cycle_is_due: bool,
    submissions: u32,
}

impl CondorPool {
    /// With the law by which owners come back, where they do nothing else.
    pub(super) fn simulate(
        seed: u64,
        span: Span,
        machine_count: u32,
        law: Option<&ReturnLaw>,
    ) -> CondorPool {
        let machines = machines(seed, machine_count);
        let begin = span.start.saturating_sub(WARM_UP);
        let streams = KINDS.map(|kind| Stream::new(seed, kind, &machines, begin));
        let free = Slots { takes_jobs: true, is_present: true, ..Slots::default() };
        let gpu = Gpu { since: begin, is_present: true, ..Gpu::default() };
        let mut simulation = Simulation {
            span,
            slots: vec![free; machines.len()],
            gpus: vec![[gpu; 8]; machines.len()],
            streams,
            returns: law.map(|law| Returns { law: law.clone(), random: Random::new(seed, 40) }),
            queues: Default::default(),
            events: BinaryHeap::new(),
            cycle_is_due: false,
            submissions: 0,
            pool: CondorPool {
                outages: outages(seed, machines.len(), begin, span.end),
                machines,
                jobs: Vec::new(),
                executions: Vec::new(),
                by_end: Vec::new(),
                alive: Alive::new(0, 0, std::iter::empty()),
                waits: Vec::new(),
                alive_waits: Alive::new(0, 0, std::iter::empty()),
                gpu_intervals: Vec::new(),
            },
        };
        simulation.run(begin, span.end);

        let mut pool = simulation.pool;
        pool.waits = waits(&pool.jobs, &pool.executions);
        pool.waits.retain(|wait| wait.until >= span.start);
        let lives = pool.waits.iter().map(|wait| (wait.since, wait.until));
        pool.alive_waits = Alive::new(span.start, span.end, lives);
        pool.executions.retain(|execution| execution.end >= span.start);
        pool.outages.retain(|outage| outage.end >= span.start);
        pool.gpu_intervals.sort_by_key(|interval| (interval.machine, interval.gpu, interval.start));
        pool.gpu_intervals.dedup_by(|later, earlier| {
            let is_same = earlier.is_followed_by(later);
            if is_same {
                earlier.end = later.end;
            }
            is_same
        });
        let executions = &pool.executions;
        pool.by_end = (0..executions.len() as u32)
            .filter(|&index| executions[index as usize].end != NEVER)
            .collect();
        pool.by_end.sort_by_key(|&index| executions[index as usize].end);
        let lives = executions.iter().map(|execution| (execution.start, execution.end));
        pool.alive = Alive::new(span.start, span.end, lives);
        pool
    }

    /// The outage that a machine has at a moment.
    pub(super) fn outage_at(&self, machine: usize, now: Moment) -> Option<&Outage> {
        self.outages.iter().find(|outage| {
            usize::from(outage.machine) == machine && outage.start <= now && now < outage.end
        })
    }
}

impl Simulation {
    fn run(&mut self, begin: Moment, end: Moment) {
        if self.returns.is_some() {
            self.pool.outages.clear();
            self.at(begin, Event::Submission { kind: Kind::Backfill });
        } else {
            for (index, outage) in (0..).zip(&self.pool.outages) {
                self.events.push(Reverse((outage.start, Event::OutageStart { outage: index })));
            }
            KINDS.into_iter().for_each(|kind| self.at(begin, Event::Submission { kind }));
        }
        while let Some(Reverse((now, event))) = self.events.pop() {
            if now > end {
                break;
            }
            match event {
                Event::End { execution } => self.end_as_planned(execution, now),
                Event::OwnersReturn { execution } => self.owners_return(execution, now),
                Event::OutageStart { outage } => self.outage_start(outage, now),
                Event::OutageEnd { outage } => self.outage_end(outage, now),
                Event::Retirement { outage } => {
                    let machine = self.pool.outages[outage as usize].machine;
                    self.vacate(machine, now, DRAINED, |_| true);
                }
                Event::Submission { kind } => self.submission(kind, now),
                Event::Cycle => {
                    self.cycle_is_due = false;
                    self.cycle(now);
                }
            }
        }
        for machine in 0..self.pool.machines.len() {
            for gpu in 0..self.pool.machines[machine].gpus.len() {
                self.close_interval(machine, gpu, end);
            }
        }
    }

    fn at(&mut self, time: Moment, event: Event) {
        self.events.push(Reverse((time, event)));
    }

    fn wake(&mut self, now: Moment) {
        if !self.cycle_is_due {
            self.cycle_is_due = true;
            self.at((now / CYCLE_SECONDS + 1) * CYCLE_SECONDS, Event::Cycle);
        }
    }

    fn submission(&mut self, kind: Kind, now: Moment) {
        let next = self.streams[kind as usize].next(now);
        self.at(next, Event::Submission { kind });
        self.submissions += 1;
        let access_point = self.submissions % ACCESS_POINTS;
        let cluster = 10_000 + self.submissions / ACCESS_POINTS;
        let place = (access_point as u8, cluster);
        for job in self.streams[kind as usize].submission(now, place) {
            self.queues[kind as usize].push(self.pool.jobs.len() as u32);
            self.pool.jobs.push(job);
        }
        self.wake(now);
    }

    /// Matches what waits: the labs first, then the others, then backfill.
    fn cycle(&mut self, now: Moment) {
        for kind in KINDS {
            let waiting = std::mem::take(&mut self.queues[kind as usize]);
            // What could not be had, so that nothing that needs as much is tried again.
            let mut blocked: Vec<(Wish, u8)> = Vec::new();
            let mut rest = Vec::with_capacity(waiting.len());
            for index in waiting {
                let Job { wish, gpus, .. } = self.pool.jobs[index as usize];
                let is_blocked =
                    blocked.iter().any(|&(blocked, least)| blocked == wish && least <= gpus);
                if is_blocked || !self.match_job(index, now) {
                    if !is_blocked {
                        blocked.push((wish, gpus));
                    }
                    rest.push(index);
                }
            }
            // Who was evicted meanwhile waits behind.
            rest.append(&mut self.queues[kind as usize]);
            self.queues[kind as usize] = rest;
        }
    }

    fn match_job(&mut self, index: u32, now: Moment) -> bool {
        let Job { wish, gpus: wanted, .. } = self.pool.jobs[index as usize];
        let wanted = u32::from(wanted);
        // Of the machines that have enough, the one where the fewest have to give way.
        let mut best: Option<(u32, usize)> = None;
        for (number, (machine, slots)) in self.pool.machines.iter().zip(&self.slots).enumerate() {
            let suits = match wish {
                Wish::Lab(lab) => machine.owner == Owner::Lab(lab),
                Wish::Shared => !matches!(machine.owner, Owner::Lab(_)),
                Wish::Backfill => machine.has_backfill,
            };
            if !suits || !slots.takes_jobs {
                continue;
            }
            let idle = machine.all_gpus() & !slots.primary & !slots.backfill;
            let free =
                if wish == Wish::Backfill { idle } else { machine.all_gpus() & !slots.primary };
            if free.count_ones() < wanted {
                continue;
            }
            let evicted = wanted.saturating_sub(idle.count_ones());
            if best.is_none_or(|(least, _)| evicted < least) {
                best = Some((evicted, number));
            }
            if evicted == 0 {
                break;
            }
        }
        let Some((_, machine)) = best else { return false };
        self.start(index, machine, now);
        true
    }

    fn start(&mut self, index: u32, machine: usize, now: Moment) {
        let all = self.pool.machines[machine].all_gpus();
        let job = &mut self.pool.jobs[index as usize];
        job.starts += 1;
        let (wanted, number, seconds) = (job.gpus, job.starts, job.remaining_seconds);
        let last_run = job.last_run;
        let side = if job.wish == Wish::Backfill { Side::Backfill } else { Side::Primary };
        let slots = &self.slots[machine];
        let gpus = lowest(wanted, all & !slots.primary & !slots.backfill, all & !slots.primary);
        if side == Side::Primary {
            let in_the_way = |execution: &Execution| {
                execution.side == Side::Backfill && execution.gpus & gpus != 0
            };
            self.vacate(machine as u16, now, PREEMPTED, in_the_way);
        }

        let slots = &mut self.slots[machine];
        let (held, numbers) = match side {
            Side::Primary => (&mut slots.primary, &mut slots.primary_numbers),
            Side::Backfill => (&mut slots.backfill, &mut slots.backfill_numbers),
        };
        *held |= gpus;
        let slot = numbers.trailing_ones() as u8;
        *numbers |= 1 << slot;
        let execution = self.pool.executions.len() as u32;
        slots.running.push(execution);
        self.pool.executions.push(Execution {
            job: index,
            number,
            last_run,
            machine: machine as u16,
            side,
            slot: slot + 1,
            gpus,
            start: now,
            end: NEVER,
            ending: Ending::Running,
        });
        self.hold_gpus(machine, gpus, side, Some(index), now);
        self.at(now + seconds, Event::End { execution });
        if let Some(returns) = &mut self.returns {
            let after = returns.next();
            self.at(now.saturating_add(after), Event::OwnersReturn { execution });
        }
    }

    fn owners_return(&mut self, execution: u32, now: Moment) {
        let Execution { machine, start, job, .. } = self.pool.executions[execution as usize];
        let is_it = |running: &Execution| (running.start, running.job) == (start, job);
        self.vacate(machine, now, PREEMPTED, is_it);
    }

    fn end_as_planned(&mut self, execution: u32, now: Moment) {
        let Execution { job, ending, .. } = self.pool.executions[execution as usize];
        if ending != Ending::Running {
            return;
        }
        let ending = match self.pool.jobs[job as usize].exit {
            Exit::Code(code) => Ending::Exited { code, signal: 0 },
            Exit::Signal(signal) => Ending::Exited { code: 0, signal },
            Exit::Removed => Ending::Vacated(REMOVED),
        };
        self.end(execution, ending, now);
    }

    /// Evicts executions from a machine; their jobs wait for their next one.
    fn vacate(
        &mut self,
        machine: u16,
        now: Moment,
        why: Vacate,
        is_meant: impl Fn(&Execution) -> bool,
    ) {
        for index in self.slots[usize::from(machine)].running.clone() {
            let execution = &self.pool.executions[index as usize];
            if !is_meant(execution) {
                continue;
            }
            let (job, elapsed) = (execution.job, now - execution.start);
            self.end(index, Ending::Vacated(why), now);
            let waiting = &mut self.pool.jobs[job as usize];
            if waiting.wish == Wish::Backfill {
                // It goes on from its last checkpoint.
                let done = elapsed / 10 * 9;
                waiting.remaining_seconds = waiting.remaining_seconds.saturating_sub(done).max(5);
            }
            let kind = match waiting.wish {
                Wish::Lab(_) => Kind::Lab,
                Wish::Shared => Kind::Shared,
                Wish::Backfill => Kind::Backfill,
            };
            self.queues[kind as usize].push(job);
        }
    }

    fn end(&mut self, index: u32, ending: Ending, now: Moment) {
        let execution = &mut self.pool.executions[index as usize];
        execution.end = now;
        execution.ending = ending;
        let Execution { machine, side, slot, gpus, job, start, .. } = *execution;
        self.pool.jobs[job as usize].last_run = Some((start, now));
        let machine = usize::from(machine);
        let slots = &mut self.slots[machine];
        let (held, numbers) = match side {
            Side::Primary => (&mut slots.primary, &mut slots.primary_numbers),
            Side::Backfill => (&mut slots.backfill, &mut slots.backfill_numbers),
        };
        *held &= !gpus;
        *numbers &= !(1 << (slot - 1));
        slots.running.retain(|&running| running != index);
        self.hold_gpus(machine, gpus, side, None, now);
        self.wake(now);
    }

    fn outage_start(&mut self, outage: u32, now: Moment) {
        let Outage { machine, end, kind, .. } = self.pool.outages[outage as usize];
        self.slots[usize::from(machine)].takes_jobs = false;
        if end != NEVER {
            self.at(end, Event::OutageEnd { outage });
        }
        match kind {
            OutageKind::Drain => {
                self.vacate(machine, now, DRAINED, |execution| execution.side == Side::Backfill);
                if now + RETIREMENT_SECONDS < end {
                    self.at(now + RETIREMENT_SECONDS, Event::Retirement { outage });
                }
                self.slots[usize::from(machine)].is_draining = true;
            }
            OutageKind::Absent => {
                self.vacate(machine, now, SHUT_DOWN, |_| true);
                self.slots[usize::from(machine)].is_present = false;
            }
            OutageKind::Prevented => {}
        }
        self.tell_gpus(machine, now);
    }

    fn outage_end(&mut self, outage: u32, now: Moment) {
        let machine = self.pool.outages[outage as usize].machine;
        let slots = &mut self.slots[usize::from(machine)];
        slots.takes_jobs = true;
        slots.is_present = true;
        slots.is_draining = false;
        self.tell_gpus(machine, now);
        self.wake(now);
    }

    /// Ends the interval of every GPU of a machine whose own state has changed.
    fn tell_gpus(&mut self, machine: u16, now: Moment) {
        let machine = usize::from(machine);
        let Slots { is_present, is_draining, .. } = self.slots[machine];
        for gpu in 0..self.pool.machines[machine].gpus.len() {
            self.close_interval(machine, gpu, now);
            self.gpus[machine][gpu].drained = is_draining;
            self.gpus[machine][gpu].is_present = is_present;
        }
    }

    fn hold_gpus(&mut self, machine: usize, gpus: u8, side: Side, job: Option<u32>, now: Moment) {
        for gpu in (0..8).filter(|gpu| gpus & (1 << gpu) != 0) {
            self.close_interval(machine, gpu, now);
            match side {
                Side::Primary => self.gpus[machine][gpu].primary = job,
                Side::Backfill => self.gpus[machine][gpu].backfill = job,
            }
        }
    }

    fn close_interval(&mut self, machine: usize, gpu: usize, now: Moment) {
        let state = &mut self.gpus[machine][gpu];
        let start = state.since.max(self.span.start);
        if state.is_present && start < now {
            self.pool.gpu_intervals.push(GpuInterval {
                machine: machine as u16,
                gpu: gpu as u8,
                start,
                end: now,
                primary: state.primary,
                backfill: state.backfill,
                drained: state.drained,
            });
        }
        state.since = now;
    }
}

/// So many bits, the lowest ones, first of those that are preferred and then of all that are free.
fn lowest(wanted: u8, preferred: u8, free: u8) -> u8 {
    let mut chosen = 0_u8;
    for _ in 0..wanted {
        let rest = if preferred & !chosen != 0 { preferred & !chosen } else { free & !chosen };
        chosen |= rest & rest.wrapping_neg();
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_that_nobody_uses_are_taken_first() {
        assert_eq!(lowest(2, 0b1100, 0b1111), 0b1100);
        assert_eq!(lowest(3, 0b1100, 0b1111), 0b1101);
        assert_eq!(lowest(1, 0, 0b1010), 0b0010);
    }
}
