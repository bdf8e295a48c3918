//! Runs the simulated SLURM cluster: jobs come, wait, are placed on nodes, end, and come again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::alive::Alive;
use super::slurm_attempt::{Attempt, Hold, Part, State};
use super::slurm_nodes::{Need, Node, Outage, OutageKind, Placement, Room, Who, nodes, outages};
use super::slurm_workload::{Kind, POOLS, Partition, Pool, Submission, USERS, Workload};
use super::{DAY, Moment, NEVER, Span};

/// What happened on the cluster.
pub(super) struct SlurmCluster {
    pub(super) nodes: Vec<Node>,
    /// In the order of their submission.
    pub(super) attempts: Vec<Attempt>,
    placements: Vec<Placement>,
    pub(super) outages: Vec<Outage>,
    pub(super) alive: Alive,
    pub(super) gpus_per_user: u32,
}

/// Requeued jobs wait for the credentials of their last run to expire (`cred_expire`).
const REQUEUE_SECONDS: Moment = 120;
const TICK_SECONDS: Moment = 30;
/// Whoever has waited so long is no longer passed by.
const PATIENCE_SECONDS: Moment = 6 * 3600;
/// The simulation runs for a day before its history begins, so that it does not begin empty.
const WARM_UP: Moment = DAY;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End { attempt: u32 },
    OutageEnd { outage: u32 },
    OutageStart { outage: u32 },
    Eligible { first: u32, last: u32 },
    CancelWaiting { first: u32, last: u32 },
    Submission,
    Tick,
}

/// Attempts that wait in one place of a queue: a job, the tasks of an array, or the components of
/// a heterogeneous job.
#[derive(Clone, Copy)]
struct Entry {
    first: u32,
    last: u32,
}

struct Simulation {
    cluster: SlurmCluster,
    workload: Workload,
    room: Room,
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    tick_is_due: bool,
    /// In the order in which partitions are served; the preemptible one last.
    queues: [Vec<Entry>; 4],
    next_submission: f64,
    next_id: u32,
    gpus_of_user: Vec<u32>,
    last_of_user: Vec<Option<u32>>,
    dependents: HashMap<u32, Vec<u32>>,
    /// By pool, the job that has waited too long and for which nodes are kept free.
    reserver: [Option<u32>; POOLS.len()],
    found: Vec<u16>,
}

/// What could not be placed in this pass, so that nothing that needs as much is tried again.
#[derive(Default)]
struct Blocked(Vec<(Pool, Need)>);

impl SlurmCluster {
    pub(super) fn simulate(seed: u64, span: Span, jobs_per_day: u32, nodes_wanted: u32) -> Self {
        let nodes = nodes(nodes_wanted);
        let begin = span.start.saturating_sub(WARM_UP);
        let outages = outages(seed, nodes.len(), begin, span.end);
        let gpus = nodes.iter().map(|node| u32::from(node.gpus)).sum::<u32>();
        let plain_nodes: Vec<&Node> = nodes.iter().filter(|node| node.pool == Pool::Cpu).collect();
        let workload = Workload::new(
            seed,
            jobs_per_day.max(1),
            plain_nodes.iter().map(|node| u32::from(node.cpus)).sum(),
            gpus,
            plain_nodes.len() as u32,
        );
        let mut simulation = Simulation {
            room: Room::new(&nodes),
            workload,
            events: BinaryHeap::new(),
            tick_is_due: false,
            queues: Default::default(),
            next_submission: f64::from(begin),
            next_id: 1_000_001,
            gpus_of_user: vec![0; USERS.len()],
            last_of_user: vec![None; USERS.len()],
            dependents: HashMap::new(),
            reserver: [None; POOLS.len()],
            found: Vec::new(),
            cluster: SlurmCluster {
                nodes,
                attempts: Vec::new(),
                placements: Vec::new(),
                outages,
                alive: Alive::new(0, 0, std::iter::empty()),
                gpus_per_user: (gpus / 5).max(4),
            },
        };
        simulation.run(begin, span.end);

        let mut cluster = simulation.cluster;
        cluster.attempts.retain(|attempt| attempt.end >= span.start);
        cluster.attempts.shrink_to_fit();
        cluster.placements.shrink_to_fit();
        cluster.outages.retain(|outage| outage.end >= span.start);
        let lives = cluster.attempts.iter().map(|attempt| (attempt.submit, attempt.end));
        cluster.alive = Alive::new(span.start, span.end, lives);
        cluster
    }

    /// Where an attempt ran; nothing where it never started.
    pub(super) fn placements(&self, attempt: &Attempt) -> &[Placement] {
        if attempt.start == NEVER {
            return &[];
        }
        let first = attempt.first_placement as usize;
        &self.placements[first..first + usize::from(attempt.need.nodes)]
    }

    /// The model of the GPUs that an attempt held.
    pub(super) fn gpu_type(&self, attempt: &Attempt) -> Option<&'static str> {
        let placement = self.placements(attempt).first()?;
        self.nodes[usize::from(placement.node)].pool.gpu_type()
    }
}

impl Simulation {
    fn run(&mut self, begin: Moment, end: Moment) {
        for (index, outage) in (0..).zip(&self.cluster.outages) {
            self.events.push(Reverse((outage.start, Event::OutageStart { outage: index })));
        }
        self.events.push(Reverse((begin, Event::Submission)));
        while let Some(Reverse((now, event))) = self.events.pop() {
            if now > end {
                break;
            }
            match event {
                Event::End { attempt } => {
                    let ending = self.cluster.attempts[attempt as usize].plan.ending;
                    self.end(attempt, now, State::Ended(ending));
                }
                Event::OutageStart { outage } => self.outage_start(outage, now),
                Event::OutageEnd { outage } => {
                    self.room.set_in_service(self.cluster.outages[outage as usize].node, true);
                    self.wake(now);
                }
                Event::Eligible { first, last } => self.eligible(Entry { first, last }, now),
                Event::CancelWaiting { first, last } => self.cancel_waiting(first, last, now),
                Event::Submission => self.submission(now),
                Event::Tick => {
                    self.tick_is_due = false;
                    self.pass(now);
                }
            }
        }
    }

    fn at(&mut self, time: Moment, event: Event) {
        self.events.push(Reverse((time, event)));
    }

    fn wake(&mut self, now: Moment) {
        if !self.tick_is_due {
            self.tick_is_due = true;
            self.at((now / TICK_SECONDS + 1) * TICK_SECONDS, Event::Tick);
        }
    }

    fn submission(&mut self, now: Moment) {
        let weekday = (now / DAY + 3) % 7;
        self.next_submission += self.workload.gap_seconds(weekday, now / 3600 % 24);
        self.at((self.next_submission as Moment).max(now), Event::Submission);

        let submission = self.workload.submission();
        let entry = self.record(&submission, now);
        let random = self.workload.random();
        if random.chance(0.04) {
            let patience = random.lognormal(4.0 * 3600.0, 1.0) as Moment;
            self.at(now + patience, Event::CancelWaiting { first: entry.first, last: entry.last });
        }
        let Entry { first, last } = entry;
        let hold = self.hold(&submission, first);
        let eligible = match hold {
            Hold::None => now,
            Hold::User | Hold::BeginTime => now + self.workload.random().between(1800, 36 * 3600),
            Hold::Dependency => NEVER,
        };
        for attempt in &mut self.cluster.attempts[first as usize..=last as usize] {
            attempt.hold = hold;
            // Of a held job it becomes known only when it is released.
            attempt.eligible = if hold == Hold::User { NEVER } else { eligible };
        }
        match hold {
            Hold::None => self.eligible(entry, now),
            Hold::Dependency => {}
            _ => self.at(eligible, Event::Eligible { first, last }),
        }
    }

    /// Whether a new job is to wait for its user, a time, or the user's job before it.
    fn hold(&mut self, submission: &Submission, first: u32) -> Hold {
        if submission.kind != Kind::Single {
            return Hold::None;
        }
        let before = self.last_of_user[usize::from(submission.user)].replace(first);
        match self.workload.random().below(1000) {
            0..5 => Hold::User,
            5..10 => Hold::BeginTime,
            10..30 => match before {
                Some(before) if self.cluster.attempts[before as usize].end == NEVER => {
                    self.dependents.entry(before).or_default().push(first);
                    Hold::Dependency
                }
                _ => Hold::None,
            },
            _ => Hold::None,
        }
    }

    fn record(&mut self, submission: &Submission, now: Moment) -> Entry {
        let first = self.cluster.attempts.len() as u32;
        let id = self.next_id;
        self.next_id += if submission.kind == Kind::Heterogeneous { 2 } else { 1 };
        let shared_plan = self.workload.plan(submission);
        for index in 0..submission.count() {
            let (id, part, plan, need) = match submission.kind {
                Kind::Single => (id, Part::Whole, shared_plan, submission.need()),
                Kind::Array { .. } => (
                    id,
                    Part::Task { array: id, task: index + 1 },
                    self.workload.plan(submission),
                    submission.need(),
                ),
                Kind::Heterogeneous => {
                    let mut need = submission.need();
                    // The second component is the smaller one.
                    if index == 1 {
                        need.cpus = need.cpus.div_ceil(2);
                        need.memory_mb = need.memory_mb.div_ceil(2);
                    }
                    let part = Part::Component { job: id, offset: index as u8 };
                    (id + index, part, shared_plan, need)
                }
            };
            self.cluster.attempts.push(Attempt {
                id,
                part,
                user: submission.user,
                name: submission.name,
                partition: submission.partition,
                pools: submission.pools,
                hold: Hold::None,
                need,
                limit_minutes: submission.limit_minutes,
                // What a second component does it can only do in a step.
                has_step: submission.has_step || submission.kind == Kind::Heterogeneous,
                submit: now,
                eligible: NEVER,
                start: NEVER,
                end: NEVER,
                state: State::Pending,
                restarts: 0,
                requeued: false,
                plan,
                first_placement: 0,
            });
        }
        Entry { first, last: self.cluster.attempts.len() as u32 - 1 }
    }

    fn eligible(&mut self, entry: Entry, now: Moment) {
        let head = &mut self.cluster.attempts[entry.first as usize];
        if head.state != State::Pending {
            return;
        }
        head.eligible = head.eligible.min(now);
        let partition = head.partition;
        let queue = queue_of(partition);
        // Who comes to an empty queue is looked at at once.
        let rest = if self.queues[queue].is_empty() {
            self.start(entry, now, &mut Blocked::default())
        } else {
            Some(entry)
        };
        if let Some(rest) = rest {
            self.queues[queue].push(rest);
            self.wake(now);
        }
    }

    /// Goes through all queues, in order of submission, and starts whatever fits.
    fn pass(&mut self, now: Moment) {
        let mut blocked = Blocked::default();
        self.reserve();
        for queue in 0..self.queues.len() {
            let waiting = std::mem::take(&mut self.queues[queue]);
            let mut rest = Vec::with_capacity(waiting.len());
            if queue == queue_of(Partition::Preempt) {
                blocked.block_wanted_pools();
            }
            for entry in waiting {
                if self.cluster.attempts[entry.first as usize].state == State::Pending {
                    rest.extend(self.start(entry, now, &mut blocked));
                }
            }
            // Who was preempted meanwhile waits behind.
            rest.append(&mut self.queues[queue]);
            self.queues[queue] = rest;
        }
    }

    /// Keeps nodes free for those that have waited too long, as long as they do.
    fn reserve(&mut self) {
        for pool in POOLS {
            let Some(index) = self.reserver[pool as usize] else { continue };
            let attempt = &self.cluster.attempts[index as usize];
            if attempt.state == State::Pending {
                self.room.reserve(pool, &attempt.need);
            } else {
                self.room.release(pool);
                self.reserver[pool as usize] = None;
            }
        }
    }

    /// Starts as much of an entry as fits, and gives the rest of it.
    fn start(&mut self, entry: Entry, now: Moment, blocked: &mut Blocked) -> Option<Entry> {
        let Entry { mut first, last } = entry;
        let head = &self.cluster.attempts[first as usize];
        if let Part::Component { .. } = head.part {
            if self.place(first, now, blocked) {
                if self.place(last, now, blocked) {
                    return None;
                }
                self.take_back(first);
            }
            return Some(entry);
        }
        while first <= last {
            if !self.place(first, now, blocked) {
                return Some(Entry { first, last });
            }
            let attempt = &mut self.cluster.attempts[first as usize];
            // The last task of an array to stand alone keeps the array's own number.
            if attempt.restarts == 0 && first != last {
                attempt.id = self.next_id;
                self.next_id += 1;
            }
            first += 1;
        }
        None
    }

    fn place(&mut self, index: u32, now: Moment, blocked: &mut Blocked) -> bool {
        let attempt = &self.cluster.attempts[index as usize];
        let (need, pools, user) = (attempt.need, attempt.pools, usize::from(attempt.user));
        let is_preemptible = attempt.partition == Partition::Preempt;
        let attempt_eligible = attempt.eligible;
        if attempt.partition == Partition::Gpu
            && self.gpus_of_user[user] + u32::from(need.gpus) > self.cluster.gpus_per_user
        {
            return false;
        }
        for &pool in pools {
            if blocked.covers(pool, &need) && self.reserver[pool as usize] != Some(index) {
                continue;
            }
            let mut found = std::mem::take(&mut self.found);
            let who = if is_preemptible {
                Who::Preemptible
            } else if self.reserver[pool as usize] == Some(index) {
                Who::Reserver
            } else {
                Who::Anyone
            };
            self.room.find(pool, &need, who, &mut found);
            let mut is_found = found.len() == usize::from(need.nodes);
            if !is_found
                && !is_preemptible
                && need.nodes == 1
                && let Some(node) = self.room.find_by_preemption(pool, &need)
            {
                self.preempt(node, &need, now);
                found.clear();
                found.push(node);
                is_found = true;
            }
            if is_found {
                self.run_on(index, now, &found);
            } else {
                blocked.0.push((pool, need));
                let has_waited_long = attempt_eligible + PATIENCE_SECONDS <= now;
                if has_waited_long && !is_preemptible && self.reserver[pool as usize].is_none() {
                    self.reserver[pool as usize] = Some(index);
                }
            }
            self.found = found;
            if is_found {
                return true;
            }
        }
        false
    }

    fn run_on(&mut self, index: u32, now: Moment, nodes: &[u16]) {
        let attempt = &mut self.cluster.attempts[index as usize];
        let is_preemptible = attempt.partition == Partition::Preempt;
        attempt.start = now;
        attempt.state = State::Running;
        attempt.first_placement = self.cluster.placements.len() as u32;
        let (need, end) = (attempt.need, now + attempt.plan.seconds);
        if attempt.partition == Partition::Gpu {
            self.gpus_of_user[usize::from(attempt.user)] += u32::from(need.gpus);
        }
        for &node in nodes {
            self.cluster.placements.push(self.room.take(node, &need, index, is_preemptible));
        }
        self.at(end, Event::End { attempt: index });
    }

    /// Undoes a start: the other component of a heterogeneous job did not fit.
    fn take_back(&mut self, index: u32) {
        self.give_back(index);
        let attempt = &mut self.cluster.attempts[index as usize];
        self.cluster.placements.truncate(attempt.first_placement as usize);
        attempt.start = NEVER;
        attempt.state = State::Pending;
    }

    fn give_back(&mut self, index: u32) {
        let attempt = &self.cluster.attempts[index as usize];
        for placement in self.cluster.placements(attempt) {
            self.room.give_back(placement, index, attempt.partition == Partition::Preempt);
        }
        if attempt.partition == Partition::Gpu {
            self.gpus_of_user[usize::from(attempt.user)] -= u32::from(attempt.need.gpus);
        }
    }

    /// Ends preemptible jobs on a node, the youngest first, until there is room.
    fn preempt(&mut self, node: u16, need: &Need, now: Moment) {
        let attempts = &self.cluster.attempts;
        let mut victims: Vec<u32> = self.room.running[usize::from(node)]
            .iter()
            .copied()
            .filter(|&index| attempts[index as usize].partition == Partition::Preempt)
            .collect();
        victims.sort_by_key(|&index| Reverse((attempts[index as usize].start, index)));
        for victim in victims {
            if self.room.fits(node, need) {
                break;
            }
            self.end(victim, now, State::Preempted);
        }
    }

    fn end(&mut self, index: u32, now: Moment, state: State) {
        let attempt = &self.cluster.attempts[index as usize];
        // Its end may have been planned before something else ended it, or its start undone.
        let is_on_time = state != State::Ended(attempt.plan.ending)
            || attempt.start.saturating_add(attempt.plan.seconds) == now;
        if attempt.state != State::Running || !is_on_time {
            return;
        }
        self.give_back(index);
        let attempt = &mut self.cluster.attempts[index as usize];
        attempt.end = now;
        attempt.state = state;
        let is_component = matches!(attempt.part, Part::Component { .. });
        let comes_again = match state {
            State::Preempted => true,
            State::NodeFail => !is_component && self.workload.random().chance(0.7),
            _ => false,
        };
        if comes_again {
            self.requeue(index, now);
        } else {
            self.release_dependents(index, now);
        }
        self.wake(now);
    }

    fn release_dependents(&mut self, index: u32, now: Moment) {
        for dependent in self.dependents.remove(&index).unwrap_or_default() {
            self.at(now, Event::Eligible { first: dependent, last: dependent });
        }
    }

    fn requeue(&mut self, index: u32, now: Moment) {
        let attempt = &mut self.cluster.attempts[index as usize];
        attempt.requeued = true;
        let next = Attempt {
            submit: now,
            eligible: now + REQUEUE_SECONDS,
            start: NEVER,
            end: NEVER,
            state: State::Pending,
            hold: Hold::BeginTime,
            restarts: attempt.restarts.saturating_add(1),
            requeued: false,
            ..attempt.clone()
        };
        let first = self.cluster.attempts.len() as u32;
        self.cluster.attempts.push(next);
        if let Some(dependents) = self.dependents.remove(&index) {
            self.dependents.insert(first, dependents);
        }
        self.at(now + REQUEUE_SECONDS, Event::Eligible { first, last: first });
    }

    fn outage_start(&mut self, outage: u32, now: Moment) {
        let Outage { node, end, kind, .. } = self.cluster.outages[outage as usize];
        self.room.set_in_service(node, false);
        if end != NEVER {
            self.at(end, Event::OutageEnd { outage });
        }
        if kind == OutageKind::Drain {
            return;
        }
        for index in self.room.running[usize::from(node)].clone() {
            self.end(index, now, State::NodeFail);
            // A heterogeneous job fails as a whole.
            if let Part::Component { offset, .. } = self.cluster.attempts[index as usize].part {
                self.end(if offset == 0 { index + 1 } else { index - 1 }, now, State::NodeFail);
            }
        }
    }

    fn cancel_waiting(&mut self, first: u32, last: u32, now: Moment) {
        for index in first..=last {
            let attempt = &mut self.cluster.attempts[index as usize];
            if attempt.state == State::Pending {
                attempt.state = State::CancelledWaiting;
                attempt.end = now;
                self.release_dependents(index, now);
            }
        }
    }
}

impl Submission {
    fn need(&self) -> Need {
        Need {
            nodes: self.nodes,
            cpus: self.cpus_per_node,
            memory_mb: self.memory_mb_per_node,
            gpus: self.gpus_per_node,
        }
    }
}

impl Blocked {
    /// Where somebody waits, preemptible jobs do not start.
    fn block_wanted_pools(&mut self) {
        let anything = Need { nodes: 1, cpus: 1, memory_mb: 0, gpus: 0 };
        for pool in POOLS {
            if self.0.iter().any(|(blocked, _)| *blocked == pool) {
                self.0.push((pool, anything));
            }
        }
    }

    fn covers(&self, pool: Pool, need: &Need) -> bool {
        self.0.iter().any(|(blocked, least)| *blocked == pool && least.is_within(need))
    }
}

fn queue_of(partition: Partition) -> usize {
    match partition {
        Partition::Debug => 0,
        Partition::Cpu => 1,
        Partition::Gpu => 2,
        Partition::Preempt => 3,
    }
}
