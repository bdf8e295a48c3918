//! What jobs did on one day: attempts added up, so that a long question need not read each.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{Attempt, Text, node_list};

record! {
    "What attempts submitted on one day did on one day of the site's calendar, added up by user and kind; made from `job`, so that long questions need not read every attempt."
    pub struct JobDay in "job_day" key [submit_day, start_time, user, account, partition, qos, gpu_types, state] sort [start_time, user] moment submit_day observed observed_time {
        submit_day: Timestamp, "UTC", "The UTC day of their submission: the file of `job` that they are in.";
        start_time: Timestamp, "UTC", "The first moment of the day on which they ran, in the site's zone.";
        end_time: Timestamp, "UTC", "The first moment of the day after.";
        observed_time: Timestamp, "UTC", "When the scheduler was last asked about one of them.";
        user: Option<Text>, "", "Who submitted them.";
        account: Option<Text>, "", "The account or project that they are charged to.";
        partition: Option<Text>, "", "The partition or partitions that they were submitted to.";
        qos: Option<Text>, "", "The quality of service that they asked for.";
        gpu_types: Option<Text>, "", "GPUs that each holds, by model.";
        state: Text, "", "The scheduler's word for where they stand.";
        started: i64, "", "Attempts that started on the day.";
        carried: i64, "", "Attempts that ran when the day began.";
        run_seconds: f64, "s", "The time that they ran on the day, suspension left out.";
        cpu_seconds: Option<f64>, "s", "CPUs held, times the time.";
        gpu_seconds: Option<f64>, "s", "GPUs held, times the time.";
        memory_mib_seconds: Option<f64>, "MiB s", "Memory asked for, times the time.";
        cpu_seconds_used: Option<f64>, "s", "CPU time used, in proportion to the part of the run that lies on the day.";
        cpu_seconds_measured: Option<f64>, "s", "CPUs held, times the time, where use was measured.";
        cpu_seconds_wasted: Option<f64>, "s", "CPU time held and not used, where use was measured.";
        memory_mib_seconds_used: Option<f64>, "MiB s", "Largest memory used, times the time, where both it and what was asked for are known.";
        memory_mib_seconds_measured: Option<f64>, "MiB s", "Memory asked for, times the time, where use was measured.";
        memory_mib_seconds_wasted: Option<f64>, "MiB s", "Memory asked for and never used, times the time, where use was measured.";
        waited: i64, "", "Attempts that started on the day and whose wait is known.";
        wait_seconds: Option<f64>, "s", "Their time from eligible to start.";
    }
}

record! {
    "What attempts submitted on one day did on one node on one day of the site's calendar; one over several nodes counts an equal part on each. Made from `job`."
    pub struct NodeDay in "node_day" key [submit_day, start_time, node] sort [start_time, node] moment submit_day observed observed_time {
        submit_day: Timestamp, "UTC", "The UTC day of their submission: the file of `job` that they are in.";
        start_time: Timestamp, "UTC", "The first moment of the day on which they ran, in the site's zone.";
        end_time: Timestamp, "UTC", "The first moment of the day after.";
        observed_time: Timestamp, "UTC", "When the scheduler was last asked about one of them.";
        node: Text, "", "The node.";
        started: i64, "", "Attempts that started on the day.";
        carried: i64, "", "Attempts that ran when the day began.";
        cpu_seconds: Option<f64>, "s", "CPUs held, times the time, in equal parts over the nodes of each attempt.";
        gpu_seconds: Option<f64>, "s", "GPUs held, times the time, in equal parts over the nodes of each attempt.";
    }
}

/// Adds up what the attempts of one submission day did on each day of a zone's calendar.
///
/// The same rules as the term `job_run` has in SQL: an attempt that still runs is known until it
/// was observed, and what it used is spread evenly over its run.
pub struct DaySums<'a> {
    calendar: Calendar<'a>,
    kinds: Kinds,
    nodes: HashMap<(Timestamp, Timestamp, usize), NodeSums>,
    names: Names,
}

impl DaySums<'_> {
    pub fn new(zone: &TimeZone) -> DaySums<'_> {
        DaySums {
            calendar: Calendar { zone, midnights: Vec::new() },
            kinds: Kinds::default(),
            nodes: HashMap::new(),
            names: Names::default(),
        }
    }

    pub fn add(&mut self, attempt: &Attempt<'_>) {
        let Some(run) = Run::of(attempt) else { return };
        let on = attempt.node_list.map_or(&[][..], |list| self.names.of(list));
        for (start, end) in self.calendar.days(run.start, run.end) {
            let kind = KindOf {
                start,
                end,
                user: attempt.user,
                account: attempt.account,
                partition: attempt.partition,
                qos: attempt.qos,
                gpu_types: attempt.gpu_types,
                state: attempt.state,
            };
            self.kinds.sums(&kind).add(attempt, &run, start, end);
            for node in on {
                let sums = self.nodes.entry((start, end, *node)).or_default();
                sums.add(attempt, &run, start, end, on.len());
            }
        }
    }

    /// The sums as rows, as they lie in their files.
    pub fn into_rows(self, cluster: &str, submit_day: Timestamp) -> (Vec<JobDay>, Vec<NodeDay>) {
        let kinds = self.kinds.list.into_iter();
        let mut kinds: Vec<JobDay> =
            kinds.map(|(_, kind, sums)| sums.into_row(cluster, submit_day, kind)).collect();
        let mut nodes: Vec<NodeDay> = self
            .nodes
            .into_iter()
            .map(|((start, end, node), sums)| {
                let node = self.names.names[node].clone();
                sums.into_row(cluster, submit_day, start, end, node)
            })
            .collect();
        kinds.sort_unstable_by(crate::Record::compare_place);
        nodes.sort_unstable_by(crate::Record::compare_place);
        (kinds, nodes)
    }
}

/// The time in which an attempt ran, as far as it is known.
struct Run {
    start: Timestamp,
    end: Timestamp,
    /// Of the time, the part that was not suspended.
    rate: f64,
}

impl Run {
    fn of(job: &Attempt<'_>) -> Option<Run> {
        let start = job.start_time?;
        let known_until = job.end_time.or(job.observed_time)?;
        let end = known_until.max(start);
        let whole = seconds(start, known_until);
        let rate = match job.elapsed_seconds {
            Some(elapsed) if elapsed >= 0 && (elapsed as f64) < whole => elapsed as f64 / whole,
            _ => 1.0,
        };
        Some(Run { start, end, rate })
    }

    /// How much of the run lies in an interval.
    fn ratio(&self, start: Timestamp, end: Timestamp) -> f64 {
        let whole = seconds(self.start, self.end);
        if whole > 0.0 { self.within(start, end) / whole } else { 1.0 }
    }

    fn within(&self, start: Timestamp, end: Timestamp) -> f64 {
        seconds(self.start.max(start), self.end.min(end)).max(0.0)
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    (to.as_microsecond() - from.as_microsecond()) as f64 / 1e6
}

/// The sums of each kind.
#[derive(Default)]
struct Kinds {
    /// Each with its hash.
    list: Vec<(u64, Kind, Sums)>,
    places: HashTable<usize>,
    hasher: DefaultHashBuilder,
    /// Of the kind that was added to last: the next attempt is often of the same user and kind.
    last: usize,
}

impl Kinds {
    fn sums(&mut self, kind: &KindOf<&str>) -> &mut Sums {
        let Kinds { list, places, hasher, last } = self;
        if !list.get(*last).is_some_and(|(_, known, _)| kind.is(known)) {
            let hash = hasher.hash_one(kind);
            let is_known = |place: &usize| list[*place].0 == hash && kind.is(&list[*place].1);
            *last = match places.find(hash, is_known) {
                Some(place) => *place,
                None => {
                    places.insert_unique(hash, list.len(), |place| list[*place].0);
                    list.push((hash, Kind::from(kind), Sums::default()));
                    list.len() - 1
                }
            };
        }
        &mut list[*last].2
    }
}

/// What attempts are added up by.
#[derive(Hash)]
struct KindOf<T> {
    start: Timestamp,
    end: Timestamp,
    user: Option<T>,
    account: Option<T>,
    partition: Option<T>,
    qos: Option<T>,
    gpu_types: Option<T>,
    state: Option<T>,
}

type Kind = KindOf<Text>;

impl KindOf<&str> {
    fn is(&self, kind: &Kind) -> bool {
        self.start == kind.start
            && self.end == kind.end
            && self.user == kind.user.as_deref()
            && self.account == kind.account.as_deref()
            && self.partition == kind.partition.as_deref()
            && self.qos == kind.qos.as_deref()
            && self.gpu_types == kind.gpu_types.as_deref()
            && self.state == kind.state.as_deref()
    }
}

impl From<&KindOf<&str>> for Kind {
    fn from(kind: &KindOf<&str>) -> Kind {
        KindOf {
            start: kind.start,
            end: kind.end,
            user: kind.user.map(Into::into),
            account: kind.account.map(Into::into),
            partition: kind.partition.map(Into::into),
            qos: kind.qos.map(Into::into),
            gpu_types: kind.gpu_types.map(Into::into),
            state: kind.state.map(Into::into),
        }
    }
}

/// A number in millionths, rounded. Whole numbers add up to the same sum in any order.
pub fn millionths(number: f64) -> i128 {
    whole(number * f64::from(MILLION))
}

/// Mebibytes, or those times seconds, in whole kibibytes, as schedulers tell them: of a sum in millionths a float
/// soon loses digits.
pub fn in_kib(mebibytes: f64) -> i128 {
    whole(mebibytes * f64::from(KIBI))
}

fn whole(scaled: f64) -> i128 {
    let away_from_zero = scaled + 0.5_f64.copysign(scaled);
    // The narrow conversion is one instruction, the wide one a function.
    if away_from_zero.abs() < i64::MAX as f64 {
        i128::from(away_from_zero as i64)
    } else {
        away_from_zero as i128
    }
}

/// A sum to so many parts of one, the same in whatever order it is made; unknown until something
/// known is added.
#[derive(Default)]
struct Sum<const PARTS: u32 = MILLION>(Option<i128>);

const MILLION: u32 = 1_000_000;
const KIBI: u32 = 1024;

impl<const PARTS: u32> Sum<PARTS> {
    fn add(&mut self, number: Option<f64>) {
        if let Some(number) = number {
            *self.0.get_or_insert(0) += whole(number * f64::from(PARTS));
        }
    }

    fn value(&self) -> Option<f64> {
        self.0.map(|parts| parts as f64 / f64::from(PARTS))
    }
}

#[derive(Default)]
struct Sums {
    observed: Option<Timestamp>,
    started: i64,
    carried: i64,
    run: Sum,
    cpu: Sum,
    gpu: Sum,
    memory: Sum<KIBI>,
    cpu_used: Sum,
    cpu_measured: Sum,
    cpu_wasted: Sum,
    memory_used: Sum<KIBI>,
    memory_measured: Sum<KIBI>,
    memory_wasted: Sum<KIBI>,
    waited: i64,
    wait: Sum,
}

impl Sums {
    fn add(&mut self, job: &Attempt<'_>, run: &Run, start: Timestamp, end: Timestamp) {
        self.observed = self.observed.max(job.observed_time);
        let run_seconds = run.rate * run.within(start, end);
        let held = job.alloc_cpus.map(|cpus| cpus as f64 * run_seconds);
        let used = job.total_cpu_seconds.map(|used| used * run.ratio(start, end));
        let measured = held.filter(|_| used.is_some());
        self.run.add(Some(run_seconds));
        self.cpu.add(held);
        self.gpu.add(job.alloc_gpus.map(|gpus| gpus as f64 * run_seconds));
        self.memory.add(job.req_mem_mb.map(|memory| memory * run_seconds));
        self.cpu_used.add(used);
        self.cpu_measured.add(measured);
        self.cpu_wasted.add(measured.zip(used).map(|(held, used)| (held - used).max(0.0)));
        if let Some((asked, largest)) = job.req_mem_mb.zip(job.max_rss_mb) {
            self.memory_used.add(Some(largest * run_seconds));
            self.memory_measured.add(Some(asked * run_seconds));
            self.memory_wasted.add(Some((asked - largest).max(0.0) * run_seconds));
        }
        if run.start < start {
            self.carried += 1;
            return;
        }
        self.started += 1;
        if let Some(eligible) = job.eligible_time.filter(|eligible| *eligible <= run.start) {
            self.waited += 1;
            self.wait.add(Some(seconds(eligible, run.start)));
        }
    }

    fn into_row(self, cluster: &str, submit_day: Timestamp, kind: Kind) -> JobDay {
        JobDay {
            cluster: cluster.into(),
            submit_day,
            start_time: kind.start,
            end_time: kind.end,
            observed_time: self.observed.unwrap_or(submit_day),
            user: kind.user,
            account: kind.account,
            partition: kind.partition,
            qos: kind.qos,
            gpu_types: kind.gpu_types,
            state: kind.state.unwrap_or_default(),
            started: self.started,
            carried: self.carried,
            run_seconds: self.run.value().unwrap_or(0.0),
            cpu_seconds: self.cpu.value(),
            gpu_seconds: self.gpu.value(),
            memory_mib_seconds: self.memory.value(),
            cpu_seconds_used: self.cpu_used.value(),
            cpu_seconds_measured: self.cpu_measured.value(),
            cpu_seconds_wasted: self.cpu_wasted.value(),
            memory_mib_seconds_used: self.memory_used.value(),
            memory_mib_seconds_measured: self.memory_measured.value(),
            memory_mib_seconds_wasted: self.memory_wasted.value(),
            waited: self.waited,
            wait_seconds: self.wait.value(),
        }
    }
}

#[derive(Default)]
struct NodeSums {
    observed: Option<Timestamp>,
    started: i64,
    carried: i64,
    cpu: Sum,
    gpu: Sum,
}

impl NodeSums {
    fn add(
        &mut self,
        job: &Attempt<'_>,
        run: &Run,
        start: Timestamp,
        end: Timestamp,
        nodes: usize,
    ) {
        self.observed = self.observed.max(job.observed_time);
        if run.start < start {
            self.carried += 1;
        } else {
            self.started += 1;
        }
        let share_seconds = run.rate * run.within(start, end) / nodes as f64;
        self.cpu.add(job.alloc_cpus.map(|cpus| cpus as f64 * share_seconds));
        self.gpu.add(job.alloc_gpus.map(|gpus| gpus as f64 * share_seconds));
    }

    fn into_row(
        self,
        cluster: &str,
        submit_day: Timestamp,
        start_time: Timestamp,
        end_time: Timestamp,
        node: Text,
    ) -> NodeDay {
        NodeDay {
            cluster: cluster.into(),
            submit_day,
            start_time,
            end_time,
            observed_time: self.observed.unwrap_or(submit_day),
            node,
            started: self.started,
            carried: self.carried,
            cpu_seconds: self.cpu.value(),
            gpu_seconds: self.gpu.value(),
        }
    }
}

/// Node names, each known by a number: a day's jobs share few lists and fewer nodes.
#[derive(Default)]
struct Names {
    lists: HashMap<String, Vec<usize>>,
    numbers: HashMap<Text, usize>,
    names: Vec<Text>,
}

impl Names {
    /// The nodes of a list.
    fn of(&mut self, list: &str) -> &[usize] {
        self.lists.entry_ref(list).or_insert_with(|| {
            let nodes = node_list::expand(list).unwrap_or_default();
            nodes
                .into_iter()
                .map(|node| {
                    *self.numbers.entry(node.into()).or_insert_with_key(|node| {
                        self.names.push(node.clone());
                        self.names.len() - 1
                    })
                })
                .collect()
        })
    }
}

/// The midnights of a zone, as far as they were needed: in order, without a gap.
struct Calendar<'a> {
    zone: &'a TimeZone,
    midnights: Vec<Timestamp>,
}

impl Calendar<'_> {
    /// The days, from midnight to midnight, that an interval touches; an empty one lies on the
    /// day that it begins on.
    fn days(
        &mut self,
        start: Timestamp,
        end: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        self.reach(start, end);
        let first = self.midnights.partition_point(|midnight| *midnight <= start);
        self.midnights[first.saturating_sub(1)..]
            .windows(2)
            .take_while(move |day| day[0] < end || day[0] <= start)
            .map(|day| (day[0], day[1]))
    }

    fn reach(&mut self, start: Timestamp, end: Timestamp) {
        if self.midnights.is_empty() {
            self.midnights.extend(self.midnight(start, 0));
        }
        while self.midnights.first().is_some_and(|first| *first > start) {
            let Some(before) = self.midnight(self.midnights[0], -1) else { break };
            self.midnights.insert(0, before);
        }
        while self.midnights.last().is_some_and(|last| *last <= end.max(start)) {
            let last = self.midnights[self.midnights.len() - 1];
            let Some(after) = self.midnight(last, 1) else { break };
            self.midnights.push(after);
        }
    }

    /// The midnight that begins a moment's day, or that of a day before or after; none beyond
    /// the calendar.
    fn midnight(&self, moment: Timestamp, days: i64) -> Option<Timestamp> {
        let day = moment.to_zoned(self.zone.clone()).date();
        let day = day.checked_add(jiff::Span::new().days(days)).ok()?;
        Some(day.to_zoned(self.zone.clone()).ok()?.start_of_day().ok()?.timestamp())
    }
}
