//! Who holds which GPU: `scontrol show node` has the GPUs, `scontrol show job` their holders.
//!
//! A node says which of its GPUs are in use, by index, and not by whom; a job says which it holds.
//! Together they are the same table that HTCondor's slots give, in the same words.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use record::{Availability, GpuSample, NodeSpan, Text, node_list};

use super::scontrol::ScontrolNode;
use super::{cluster_option, count};
use crate::machine::Command;
use crate::parsed::{Parsed, parse};

/// Asks for all jobs, a line each; the details say which GPUs of which node each holds. They are
/// those of the cluster with this name in slurmdbd, or of the one that scontrol is configured for.
pub fn scontrol_show_job(cluster_in_slurmdbd: Option<&str>) -> Command {
    let mut arguments: Vec<String> = cluster_option(cluster_in_slurmdbd).into_iter().collect();
    arguments.extend(["--details", "--oneliner", "show", "job"].map(str::to_owned));
    Command { program: "scontrol", arguments, time_limit: Duration::from_secs(60) }
}

/// Whether there are GPUs among the nodes that [`scontrol_show_node`](super::scontrol_show_node)
/// printed: where there are none, nobody need be asked who holds them.
pub fn has_gpus(nodes: &[u8]) -> bool {
    nodes.split(|&byte| byte == b'\n').any(|line| {
        let line = String::from_utf8_lossy(line);
        let list = value(&line, "Gres").and_then(gpus);
        list.is_some_and(|gpus| gpus.iter().any(|gpus| gpus.count > 0))
    })
}

/// What a site runs only where nothing else wants to: jobs of these partitions or of these QOS
/// give way to others, and are on the backfill side of a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backfill {
    pub partitions: Vec<String>,
    pub qos: Vec<String>,
}

/// The GPUs of a cluster at a time, from what [`scontrol_show_node`](super::scontrol_show_node) and
/// [`scontrol_show_job`] printed then.
///
/// A GPU that no job holds is `Unclaimed`, or what its node is that takes no jobs, such as `Drained`
/// or `Down`; the backfill side of one that a primary job holds is unknown, as it is in HTCondor. A line that is no node
/// is passed over: [`ScontrolNode`] sets it aside. The rejects are those of the jobs.
pub fn gpu_samples(
    cluster: &str,
    time: Timestamp,
    nodes: &[u8],
    jobs: &[u8],
    backfill: &Backfill,
) -> Parsed<GpuSample> {
    let Parsed { records: jobs, rejects } = holders(jobs);
    let mut held: HashMap<&str, Vec<(&Holder, &Gpus)>> = HashMap::new();
    for job in &jobs {
        for (node, gpus) in &job.gpus {
            held.entry(node).or_default().push((job, gpus));
        }
    }
    let mut records = Vec::new();
    for line in nodes.split(|&byte| byte == b'\n') {
        let Some(node) = Node::read(cluster, time, line) else { continue };
        let held = held.get(node.span.node.as_str()).map_or(&[][..], Vec::as_slice);
        records.extend(node.samples(held, backfill));
    }
    Parsed { records, rejects }
}

/// GPUs of one model on one node: `gpu:a100:2(IDX:0-1)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gpus {
    pub(super) model: Option<Text>,
    pub(super) count: usize,
    /// None where the site's gres.conf names no files, and nobody knows which is which.
    indexes: Option<Vec<usize>>,
}

/// More than any node has: what claims to be more was misread.
const MOST_GPUS: usize = 1024;

/// The GPUs in `gpu:a100:4(S:0-1),gpu:v100:2,tpu:1`, or in `gpu:a100:2(IDX:0,3)`.
pub(super) fn gpus(list: &str) -> Option<Vec<Gpus>> {
    let mut found = Vec::new();
    for item in items(list) {
        let Some(item) = item.strip_prefix("gpu:") else { continue };
        let (item, bracket) = item.split_once('(').unwrap_or((item, ""));
        let (model, digits) = match item.rsplit_once(':') {
            Some((model, digits)) => (Some(model.into()), digits),
            None => (None, item),
        };
        let count = usize::try_from(count(digits.as_bytes())?).ok()?;
        let indexes = match bracket.strip_prefix("IDX:") {
            Some(list) => Some(indexes(list.strip_suffix(')')?)?),
            None => None,
        };
        if count > MOST_GPUS {
            return None;
        }
        found.push(Gpus { model, count, indexes });
    }
    Some(found)
}

/// The parts of a list of GRES. A comma inside brackets lists sockets or indexes.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    })
}

/// The numbers of `0-1,3`; `N/A` is none.
fn indexes(list: &str) -> Option<Vec<usize>> {
    if list == "N/A" {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| {
            let number = usize::try_from(count(digits.as_bytes())?).ok()?;
            (number < MOST_GPUS).then_some(number)
        };
        found.extend(number(first)?..=number(last)?);
    }
    Some(found)
}

/// A job that holds GPUs.
#[derive(Debug, PartialEq)]
struct Holder {
    job_id: Text,
    user: Option<Text>,
    partition: Option<Text>,
    qos: Option<Text>,
    /// It gave way to another job, and still has its GPUs.
    is_suspended: bool,
    /// By node.
    gpus: Vec<(String, Gpus)>,
}

/// The jobs that hold GPUs. A job's name may hold newlines: what does not begin as a job does
/// belongs to the line before.
fn holders(text: &[u8]) -> Parsed<Holder> {
    let mut parsed = Parsed::default();
    let text = String::from_utf8_lossy(text);
    let mut job = String::new();
    let mut first_line = 1;
    for (number, line) in (1_u64..).zip(text.lines()).chain([(0, "JobId=")]) {
        let begins = line.starts_with("JobId=");
        if begins || (job.is_empty() && !line.trim().is_empty()) {
            read_job(first_line, &job, &mut parsed);
            job.clear();
            first_line = number;
        }
        if !job.is_empty() {
            job.push('\n');
        }
        job.push_str(line);
    }
    parsed
}

fn read_job(line: u64, job: &str, parsed: &mut Parsed<Holder>) {
    if job.trim().is_empty() || job.trim() == "No jobs in the system" {
        return;
    }
    match holder(job) {
        Ok(holder) => parsed.records.extend(holder),
        Err(reason) => parsed.reject(line, reason, job.as_bytes()),
    }
}

/// The states in which a job has what it was given.
const HOLDING: [&str; 8] = [
    "RUNNING",
    "COMPLETING",
    "CONFIGURING",
    "SUSPENDED",
    "STOPPED",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
];

fn holder(job: &str) -> Result<Option<Holder>, String> {
    let (ids, rest) = job.split_once(" JobName=").ok_or("a job was expected")?;
    // People write the name, and at the end commands, folders and comments. Between them stand
    // SLURM's own words.
    let end = rest.find(" AllocNode:Sid=").ok_or("the job has no AllocNode")?;
    let start = rest[..end].rfind(" UserId=").ok_or("the job has no UserId")?;
    let words = &rest[start..end];
    let state = value(words, "JobState").ok_or("the job has no state")?;
    if !HOLDING.contains(&state) {
        return Ok(None);
    }
    let mut gpus = Vec::new();
    let mut nodes = Vec::new();
    // Each group of nodes on which it has the same.
    for word in rest[end..].split([' ', '\n']).take_while(|word| !word.starts_with("MinCPUsNode="))
    {
        if let Some(list) = word.strip_prefix("Nodes=") {
            nodes = node_list::expand(list).ok_or_else(|| format!("Nodes cannot be `{list}`"))?;
        } else if let Some(list) = word.strip_prefix("GRES=") {
            let here = self::gpus(list).ok_or_else(|| format!("GRES cannot be `{list}`"))?;
            for node in &nodes {
                gpus.extend(here.iter().map(|gpus| (node.clone(), gpus.clone())));
            }
        }
    }
    if gpus.is_empty() {
        return Ok(None);
    }
    let id = |key: &str| value(ids, key);
    let job_id = match (id("ArrayJobId"), id("ArrayTaskId"), id("HetJobId"), id("HetJobOffset")) {
        (Some(array), Some(task), ..) => format!("{array}_{task}").into(),
        (.., Some(job), Some(offset)) => format!("{job}+{offset}").into(),
        _ => id("JobId").filter(|id| !id.is_empty()).ok_or("the job has no id")?.into(),
    };
    let known = |key: &str| value(words, key).filter(|value| *value != "(null)");
    Ok(Some(Holder {
        job_id,
        user: known("UserId").map(|user| user.split('(').next().unwrap_or(user).into()),
        partition: known("Partition").map(Text::from),
        qos: known("QOS").map(Text::from),
        is_suspended: state == "SUSPENDED",
        gpus,
    }))
}

/// The value of a key, in words that hold no blank.
fn value<'a>(words: &'a str, key: &str) -> Option<&'a str> {
    words.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

impl Holder {
    fn is_of(&self, backfill: &Backfill) -> bool {
        let is_one = |name: &Option<Text>, names: &[String]| {
            name.as_ref().is_some_and(|name| names.iter().any(|one| one == name))
        };
        is_one(&self.partition, &backfill.partitions) || is_one(&self.qos, &backfill.qos)
    }
}

/// A node with GPUs.
struct Node {
    span: NodeSpan,
    installed: Vec<Gpus>,
    used: Vec<Gpus>,
    /// Parts of GPUs are in use: it is not known of which.
    is_shared: bool,
}

impl Node {
    fn read(cluster: &str, time: Timestamp, line: &[u8]) -> Option<Node> {
        let span =
            parse(ScontrolNode::new(cluster, time, SignedDuration::ZERO), line).records.pop()?;
        let line = String::from_utf8_lossy(line);
        // A reason may look like anything, and stands last.
        let words = line.split(" Reason=").next()?;
        let used = value(words, "GresUsed").unwrap_or_default();
        let is_part = |item: &str| {
            let kind = item.split(':').next().unwrap_or_default();
            let amount = item.split('(').next().and_then(|item| item.rsplit(':').next());
            ["shard", "mps"].contains(&kind) && amount != Some("0")
        };
        Some(Node {
            span,
            installed: gpus(value(words, "Gres")?)?,
            is_shared: items(used).any(is_part),
            used: gpus(used)?,
        })
    }

    fn samples(&self, held: &[(&Holder, &Gpus)], backfill: &Backfill) -> Vec<GpuSample> {
        let models = self.models(held);
        let mut sides: Vec<Sides> = vec![Sides::default(); models.len()];
        for &(job, gpus) in held {
            for &index in gpus.indexes.iter().flatten() {
                sides[index].take(job, backfill);
            }
        }
        // Where nobody knows which GPU is which, a job has the first that are left.
        for &(job, gpus) in held.iter().filter(|(_, gpus)| gpus.indexes.is_none()) {
            let left = sides.iter_mut().zip(&models).filter(|(sides, model)| {
                sides.is_free() && (gpus.model.is_none() || **model == gpus.model)
            });
            left.take(gpus.count).for_each(|(sides, _)| sides.take(job, backfill));
        }
        for gpus in &self.used {
            for &index in gpus.indexes.iter().flatten() {
                sides[index].is_in_use = true;
            }
            // SLURM 22.05 prints how many are in use, not which, where models have no names.
            if gpus.indexes.is_none() {
                let is_held = |sides: &&Sides<'_>| !sides.is_free();
                let by_others = gpus.count.saturating_sub(sides.iter().filter(is_held).count());
                let left = sides.iter_mut().filter(|sides| sides.is_free());
                left.take(by_others).for_each(|sides| sides.is_in_use = true);
            }
        }
        (0..)
            .zip(models.into_iter().zip(sides))
            .map(|(index, (model, sides))| self.sample(index, model, sides, backfill))
            .collect()
    }

    /// The model of each GPU, by index. Where a node has several models, a GPU in use says which
    /// it is; the others are taken to be in the order in which the node lists its models.
    fn models(&self, held: &[(&Holder, &Gpus)]) -> Vec<Option<Text>> {
        let installed: usize = self.installed.iter().map(|gpus| gpus.count).sum();
        let in_use = || self.used.iter().chain(held.iter().map(|(_, gpus)| *gpus));
        let indexes = in_use().flat_map(|gpus| gpus.indexes.iter().flatten());
        let most = indexes.map(|index| index + 1).max().unwrap_or(0);
        let mut models: Vec<Option<Text>> = vec![None; installed.max(most).min(MOST_GPUS)];
        for gpus in in_use() {
            for &index in gpus.indexes.iter().flatten() {
                if gpus.model.is_some() {
                    models[index].clone_from(&gpus.model);
                }
            }
        }
        let mut rest: Vec<&Option<Text>> = Vec::new();
        for gpus in &self.installed {
            let known = models.iter().filter(|model| **model == gpus.model).count();
            let known = if gpus.model.is_some() { known } else { 0 };
            rest.extend(std::iter::repeat_n(&gpus.model, gpus.count.saturating_sub(known)));
        }
        let unknown = models.iter_mut().filter(|model| model.is_none());
        unknown.zip(rest).for_each(|(model, next)| model.clone_from(next));
        models
    }

    fn sample(
        &self,
        index: usize,
        device_name: Option<Text>,
        sides: Sides<'_>,
        backfill: &Backfill,
    ) -> GpuSample {
        let NodeSpan { cluster, node, start_time, .. } = &self.span;
        let partitions = || self.span.partitions.iter().flat_map(|list| list.split(','));
        let is_backfill = |name: &&str| backfill.partitions.iter().any(|other| other == name);
        let primary_partition = partitions().find(|name| !is_backfill(name));
        let backfill_partition =
            partitions().find(is_backfill).or(backfill.qos.first().map(String::as_str));

        let availability = Availability::of_node(&self.span.state);
        let free_state = self.free_state(availability);
        // Its job ended while the two questions were asked, or is not shown to us.
        let is_by_unknown = sides.is_in_use && sides.is_free();
        let primary_state = match sides.primary {
            Some(_) => Some("Claimed"),
            None if is_by_unknown && backfill_partition.is_none() => Some("Claimed"),
            None if is_by_unknown => None,
            None if primary_partition.is_none() && backfill_partition.is_some() => None,
            None => free_state,
        };
        let backfill_state = match (sides.backfill, backfill_partition) {
            (Some(_), _) => Some("Claimed"),
            (None, Some(_)) if sides.primary.is_none() && !is_by_unknown => free_state,
            (None, _) => None,
        };
        let slot_of = |job: Option<&Holder>, state: Option<&str>, partition: Option<&str>| {
            let of_job = job.and_then(|job| job.partition.as_deref());
            of_job.or(partition.filter(|_| state.is_some())).map(Text::from)
        };
        let primary_slot = slot_of(sides.primary, primary_state, primary_partition);
        let word = |state: Option<&str>| state.map(Text::from);
        GpuSample {
            cluster: cluster.clone(),
            machine: node.clone(),
            gpu_id: format!("gpu:{index}").into(),
            time: *start_time,
            device_name,
            device_memory_mb: None,
            capability: None,
            primary_state: word(primary_state),
            primary_user: sides.primary.and_then(|job| job.user.clone()),
            primary_job_id: sides.primary.map(|job| job.job_id.clone()),
            prevent_reason: self.span.reason.clone().filter(|_| availability != Availability::Up),
            availability: Some(availability.name().into()),
            prioritized_projects: None,
            interactive: primary_slot
                .as_ref()
                .map(|slot| slot.to_ascii_lowercase().contains("interactive")),
            primary_slot,
            backfill_slot: slot_of(sides.backfill, backfill_state, backfill_partition),
            backfill_state: word(backfill_state),
            backfill_user: sides.backfill.and_then(|job| job.user.clone()),
            backfill_job_id: sides.backfill.map(|job| job.job_id.clone()),
            use_ratio: None,
        }
    }

    /// Returns the state of a free GPU. None if that is unknown.
    fn free_state(&self, availability: Availability) -> Option<&'static str> {
        match availability {
            Availability::Up if self.is_shared => None,
            _ => availability.free_slot_state(),
        }
    }
}

/// Who holds a GPU.
#[derive(Clone, Copy, Default)]
struct Sides<'a> {
    primary: Option<&'a Holder>,
    backfill: Option<&'a Holder>,
    /// The node says so.
    is_in_use: bool,
}

impl<'a> Sides<'a> {
    /// Gives the GPU to a job. One that runs comes before one that is suspended.
    fn take(&mut self, job: &'a Holder, backfill: &Backfill) {
        let side = if job.is_of(backfill) { &mut self.backfill } else { &mut self.primary };
        if side.is_none_or(|other| other.is_suspended && !job.is_suspended) {
            *side = Some(job);
        }
    }

    fn is_free(&self) -> bool {
        self.primary.is_none() && self.backfill.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn samples(nodes: &str, jobs: &str, backfill: &Backfill) -> Parsed<GpuSample> {
        let time = Timestamp::from_second(1_794_709_300).unwrap();
        gpu_samples("maple", time, nodes.as_bytes(), jobs.as_bytes(), backfill)
    }

    fn backfill(partitions: &[&str], qos: &[&str]) -> Backfill {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Backfill { partitions: names(partitions), qos: names(qos) }
    }

    #[test]
    fn nodes_without_gpus_are_told_from_those_with() {
        for (gres, expected) in [
            ("(null)", false),
            ("craynetwork:4", false),
            ("gpu:0", false),
            ("gpu:2", true),
            ("craynetwork:4,gpu:a100:4(S:0-1)", true),
        ] {
            let nodes =
                format!("NodeName=c1 Gres=(null) State=IDLE\nNodeName=g1 Gres={gres} State=IDLE\n");
            assert_eq!(has_gpus(nodes.as_bytes()), expected, "{gres}");
        }
        assert!(!has_gpus(b""));
    }

    fn show(gpu: &GpuSample) -> String {
        let side =
            |slot: &Option<Text>, state: &Option<Text>, user: &Option<Text>, job: &Option<Text>| {
                [slot, state, user, job]
                    .map(|word| word.clone().unwrap_or_else(|| "-".into()))
                    .join(" ")
            };
        format!(
            "{} {} {}: {} | {}",
            gpu.machine,
            gpu.gpu_id,
            gpu.device_name.as_deref().unwrap_or("-"),
            side(&gpu.primary_slot, &gpu.primary_state, &gpu.primary_user, &gpu.primary_job_id),
            side(&gpu.backfill_slot, &gpu.backfill_state, &gpu.backfill_user, &gpu.backfill_job_id),
        )
    }

    fn check(nodes: &str, jobs: &[String], backfill: &Backfill, expected: &[&str]) {
        let parsed = samples(nodes, &jobs.join("\n"), backfill);
        assert_eq!(parsed.rejects, []);
        assert_eq!(parsed.records.iter().map(show).collect::<Vec<_>>(), expected, "{nodes}");
    }

    fn job(ids: &str, partition: &str, qos: &str, state: &str, details: &str) -> String {
        format!(
            "{ids} JobName=x UserId=ann(1001) GroupId=g(1) QOS={qos} WCKey=* JobState={state} \
             Reason=None Partition={partition} AllocNode:Sid=a:1 NodeList=n JOB_GRES=gpu:1   {details} \
             MinCPUsNode=1 Command=GRES=gpu:9(IDX:0-8) Comment=x UserId=eve(0) JobState=PENDING"
        )
    }

    #[test]
    fn jobs_are_asked_for_with_their_details() {
        let command = scontrol_show_job(Some("birch"));
        assert_eq!(command.program, "scontrol");
        assert_eq!(
            command.arguments,
            ["--clusters=birch", "--details", "--oneliner", "show", "job"]
        );
        assert_eq!(scontrol_show_job(None).arguments, command.arguments[1..]);
    }

    fn recorded(nodes: &str, jobs: &str, backfill: &Backfill) -> Vec<GpuSample> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        let read = |name: &str| std::fs::read(format!("{folder}{name}")).unwrap();
        let time = Timestamp::from_second(1_794_709_300).unwrap();
        let parsed = gpu_samples("maple", time, &read(nodes), &read(jobs), backfill);
        assert_eq!(parsed.rejects, []);
        parsed.records
    }

    /// Both were printed in one second. 102 jobs, of which three hold GPUs; names with newlines
    /// and bytes that are no text are among the others.
    #[test]
    fn a_recording_is_read() {
        let records = recorded(
            "scontrol-show-node-detail.txt",
            "scontrol-show-job-detail.txt",
            &backfill(&["preempt"], &[]),
        );
        assert_eq!(
            records.iter().map(show).collect::<Vec<_>>(),
            [
                "gpu01 gpu:0 a100: gpu Claimed carol 98 | - - - -",
                "gpu01 gpu:1 a100: gpu Claimed carol 98 | - - - -",
                "gpu01 gpu:2 a100: gpu Unclaimed - - | preempt Unclaimed - -",
                "gpu01 gpu:3 a100: gpu Unclaimed - - | preempt Unclaimed - -",
                "gpu02 gpu:0 a100: gpu Draining - - | preempt Draining - -",
                "gpu02 gpu:1 a100: gpu Claimed carol 93 | - - - -",
                "gpu02 gpu:2 a100: gpu Draining - - | preempt Draining - -",
                "gpu02 gpu:3 a100: gpu Draining - - | preempt Draining - -",
                "gpu03 gpu:0 h100: gpu Claimed bob 100 | - - - -",
                "gpu03 gpu:1 h100: gpu Claimed bob 100 | - - - -",
                "mix01 gpu:0 a100: gpu Unclaimed - - | preempt Unclaimed - -",
                "mix01 gpu:1 h100: gpu Unclaimed - - | preempt Unclaimed - -",
            ]
        );
        assert_eq!(records[4].prevent_reason.as_deref(), Some("ECC errors on GPU 2"));
        assert_eq!((&records[0].prevent_reason, records[0].interactive), (&None, Some(false)));
        assert_eq!((records[0].time.as_second(), records[0].use_ratio), (1_794_709_300, None));
    }

    /// Printed for the very commands of this module while a job of two nodes, the tasks of an array,
    /// a part of a heterogeneous job, one of a model on a node with two and one of the partition
    /// `preempt` held GPUs; then gpu02 was drained. On birch models have no names.
    #[test]
    fn every_kind_of_job_is_found_on_its_gpus() {
        let records = recorded(
            "scontrol-show-node-held.txt",
            "scontrol-show-job-held.txt",
            &backfill(&["preempt"], &[]),
        );
        assert_eq!(
            records.iter().map(show).collect::<Vec<_>>(),
            [
                "gpu01 gpu:0 a100: gpu Claimed bob 2 | - - - -",
                "gpu01 gpu:1 a100: gpu Unclaimed - - | preempt Claimed dave 4",
                "gpu01 gpu:2 a100: gpu Unclaimed - - | preempt Unclaimed - -",
                "gpu01 gpu:3 a100: gpu Unclaimed - - | preempt Unclaimed - -",
                "gpu02 gpu:0 a100: gpu Claimed bob 2 | - - - -",
                "gpu02 gpu:1 a100: gpu Claimed bob 5+1 | - - - -",
                "gpu02 gpu:2 a100: gpu Draining - - | preempt Draining - -",
                "gpu02 gpu:3 a100: gpu Draining - - | preempt Draining - -",
                "gpu03 gpu:0 h100: gpu Claimed carol 3_0 | - - - -",
                "gpu03 gpu:1 h100: gpu Claimed carol 3_1 | - - - -",
                "mix01 gpu:0 a100: gpu Unclaimed - - | preempt Unclaimed - -",
                "mix01 gpu:1 h100: gpu Claimed bob 1 | - - - -",
            ]
        );
        assert_eq!(records[7].prevent_reason.as_deref(), Some("fan, ticket 12"));
        let of_birch = recorded(
            "scontrol-show-node-held-birch.txt",
            "scontrol-show-job-held-birch.txt",
            &Backfill::default(),
        );
        assert_eq!(
            of_birch.iter().map(show).collect::<Vec<_>>(),
            [
                "b01 gpu:0 -: batch Claimed alice 1 | - - - -",
                "b01 gpu:1 -: batch Unclaimed - - | - - - -",
                "b02 gpu:0 -: batch Claimed alice 1 | - - - -",
                "b02 gpu:1 -: batch Unclaimed - - | - - - -",
            ]
        );
    }

    const NODE: &str = "NodeName=n Gres=gpu:a100:2(S:0-1) GresUsed=gpu:a100:2(IDX:0-1) State=MIXED Partitions=gpu,spare";

    #[test]
    fn a_job_of_a_backfill_partition_or_qos_is_on_that_side() {
        let jobs = [
            job(
                "JobId=1",
                "spare",
                "normal",
                "RUNNING",
                "Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:a100:1(IDX:0)",
            ),
            job(
                "JobId=2",
                "gpu",
                "low",
                "RUNNING",
                "Nodes=n CPU_IDs=1 Mem=0 GRES=gpu:a100:1(IDX:1)",
            ),
        ];
        check(
            NODE,
            &jobs,
            &backfill(&["spare"], &["low"]),
            &[
                "n gpu:0 a100: gpu Unclaimed - - | spare Claimed ann 1",
                "n gpu:1 a100: gpu Unclaimed - - | gpu Claimed ann 2",
            ],
        );
        check(
            NODE,
            &jobs,
            &Backfill::default(),
            &[
                "n gpu:0 a100: spare Claimed ann 1 | - - - -",
                "n gpu:1 a100: gpu Claimed ann 2 | - - - -",
            ],
        );
        // A drained node lets its backfill job go on.
        check(
            &NODE.replace("MIXED", "MIXED+DRAIN"),
            &jobs,
            &backfill(&["spare"], &[]),
            &[
                "n gpu:0 a100: gpu Draining - - | spare Claimed ann 1",
                "n gpu:1 a100: gpu Claimed ann 2 | - - - -",
            ],
        );
    }

    #[test]
    fn a_running_job_comes_before_one_that_is_suspended() {
        let held = "Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:a100:2(IDX:0-1)";
        let suspended = job("JobId=1", "gpu", "q", "SUSPENDED", held);
        let running = job("JobId=2", "gpu", "q", "RUNNING", held);
        let expected = [
            "n gpu:0 a100: gpu Claimed ann 2 | - - - -",
            "n gpu:1 a100: gpu Claimed ann 2 | - - - -",
        ];
        let both = [suspended, running];
        check(NODE, &both, &Backfill::default(), &expected);
        let [suspended, running] = both;
        check(NODE, &[running, suspended], &Backfill::default(), &expected);
    }

    #[test]
    fn a_job_is_named_as_in_the_accounts_and_may_have_several_nodes() {
        let nodes = "NodeName=n1 Gres=gpu:1 State=ALLOCATED Partitions=gpu\n\
                     NodeName=n2 Gres=gpu:1 State=ALLOCATED Partitions=gpu\n\
                     NodeName=n3 Gres=gpu:2 State=ALLOCATED Partitions=gpu";
        check(
            nodes,
            &[
                job(
                    "JobId=13 ArrayJobId=6 ArrayTaskId=0",
                    "gpu",
                    "q",
                    "RUNNING",
                    "Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)   Nodes=n3 CPU_IDs=1 Mem=0 GRES=gpu:1(IDX:1)",
                ),
                job(
                    "JobId=25 HetJobId=24 HetJobOffset=1",
                    "gpu",
                    "q",
                    "COMPLETING",
                    "Nodes=n3 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)",
                ),
                job(
                    "JobId=7",
                    "gpu",
                    "q",
                    "COMPLETED",
                    "Nodes=n3 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)",
                ),
                job("JobId=8", "gpu", "q", "RUNNING", "Nodes=n3 CPU_IDs=0 Mem=0 GRES="),
            ],
            &Backfill::default(),
            &[
                "n1 gpu:0 -: gpu Claimed ann 6_0 | - - - -",
                "n2 gpu:0 -: gpu Claimed ann 6_0 | - - - -",
                "n3 gpu:0 -: gpu Claimed ann 24+1 | - - - -",
                "n3 gpu:1 -: gpu Claimed ann 6_0 | - - - -",
            ],
        );
    }

    #[test]
    fn a_gpu_in_use_says_which_model_it_is() {
        let node = |used: &str| {
            format!(
                "NodeName=n Gres=gpu:a100:1,gpu:h100:2 GresUsed={used} State=MIXED Partitions=gpu"
            )
        };
        let models = |used: &str| -> Vec<String> {
            let parsed = samples(&node(used), "", &Backfill::default());
            parsed.records.into_iter().map(|gpu| gpu.device_name.unwrap().into()).collect()
        };
        assert_eq!(models("gpu:a100:0(IDX:N/A),gpu:h100:0(IDX:N/A)"), ["a100", "h100", "h100"]);
        assert_eq!(models("gpu:a100:1(IDX:2),gpu:h100:1(IDX:0)"), ["h100", "h100", "a100"]);
    }

    #[test]
    fn where_nobody_knows_which_gpu_is_which_the_first_are_held() {
        check(
            "NodeName=n Gres=gpu:a100:3 GresUsed=gpu:a100:2 State=MIXED Partitions=gpu",
            &[job(
                "JobId=1",
                "gpu",
                "q",
                "RUNNING",
                "Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:a100:2(CNT:2)",
            )],
            &Backfill::default(),
            &[
                "n gpu:0 a100: gpu Claimed ann 1 | - - - -",
                "n gpu:1 a100: gpu Claimed ann 1 | - - - -",
                "n gpu:2 a100: gpu Unclaimed - - | - - - -",
            ],
        );
    }

    #[test]
    fn a_gpu_in_use_by_nobody_that_is_shown_is_not_free() {
        let claimed =
            ["n gpu:0 a100: gpu Claimed - - | - - - -", "n gpu:1 a100: gpu Claimed - - | - - - -"];
        check(NODE, &["No jobs in the system".to_owned()], &Backfill::default(), &claimed);
        check(
            "NodeName=n Gres=gpu:2 GresUsed=gpu:1 State=MIXED Partitions=gpu",
            &[],
            &Backfill::default(),
            &["n gpu:0 -: gpu Claimed - - | - - - -", "n gpu:1 -: gpu Unclaimed - - | - - - -"],
        );
        // Nor is it known on which side.
        check(
            NODE,
            &[],
            &backfill(&["spare"], &[]),
            &["n gpu:0 a100: - - - - | - - - -", "n gpu:1 a100: - - - - | - - - -"],
        );
    }

    #[test]
    fn a_free_gpu_has_the_real_state_of_its_node() {
        for (state, expected, availability) in [
            ("IDLE", "gpu Unclaimed", "up"),
            ("IDLE+RESERVED", "gpu Unclaimed", "up"),
            ("IDLE+POWERED_DOWN", "gpu Unclaimed", "up"),
            ("IDLE~", "gpu Unclaimed", "up"),
            ("MIXED+DRAIN", "gpu Draining", "draining"),
            ("IDLE+DRAIN", "gpu Drained", "drained"),
            ("DOWN*", "gpu Down", "down"),
            ("DOWN+DRAIN", "gpu Down", "down"),
            ("IDLE*", "gpu Down", "down"),
            ("MAINT+RESERVED", "gpu Maintenance", "maintenance"),
            ("DOWN^", "gpu Rebooting", "rebooting"),
            ("IDLE%", "gpu Prevented", "prevented"),
            ("UNKNOWN+NOT_RESPONDING", "- -", "unknown"),
        ] {
            let node = format!("NodeName=n Gres=gpu:1 GresUsed=gpu:0 State={state} Partitions=gpu");
            check(
                &node,
                &[],
                &Backfill::default(),
                &[&format!("n gpu:0 -: {expected} - - | - - - -")],
            );
            let [gpu] = &samples(&node, "", &Backfill::default()).records[..] else {
                panic!("{state}: one GPU")
            };
            assert_eq!(gpu.availability.as_deref(), Some(availability), "{state}");
        }
        // Somebody uses a part of one of them.
        let node = "NodeName=n Gres=gpu:1,shard:4 GresUsed=gpu:0(IDX:N/A),shard:2(2/4) State=MIXED Partitions=gpu";
        check(node, &[], &Backfill::default(), &["n gpu:0 -: - - - - | - - - -"]);
        let unused = node.replace("shard:2(2/4)", "shard:0(0/4)");
        check(&unused, &[], &Backfill::default(), &["n gpu:0 -: gpu Unclaimed - - | - - - -"]);
    }

    #[test]
    fn a_node_of_backfill_partitions_alone_has_no_primary_side() {
        check(
            "NodeName=n Gres=gpu:1 GresUsed=gpu:0 State=IDLE Partitions=spare",
            &[],
            &backfill(&["spare"], &[]),
            &["n gpu:0 -: - - - - | spare Unclaimed - -"],
        );
    }

    #[test]
    fn a_name_may_look_like_anything() {
        let held = job(
            "JobId=1",
            "gpu",
            "q",
            "RUNNING",
            "Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:a100:2(IDX:0-1)",
        );
        let named =
            held.replace("JobName=x", "JobName=x UserId=eve(0) JobState=PENDING\n\nline Nodes=m");
        check(
            NODE,
            &[named],
            &Backfill::default(),
            &[
                "n gpu:0 a100: gpu Claimed ann 1 | - - - -",
                "n gpu:1 a100: gpu Claimed ann 1 | - - - -",
            ],
        );
    }

    #[test]
    fn what_is_no_job_is_set_aside() {
        let good =
            job("JobId=1", "gpu", "q", "RUNNING", "Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:a100:1(IDX:0)");
        let bad = good.replace("IDX:0)", "IDX:x)");
        let parsed =
            samples(NODE, &format!("\nnoise\n{good}\n{bad}\nJobId=3 JobNa"), &Backfill::default());
        let reasons: Vec<_> =
            parsed.rejects.iter().map(|reject| (reject.position, reject.reason.as_str())).collect();
        assert_eq!(
            reasons,
            [
                (2, "a job was expected"),
                (4, "GRES cannot be `gpu:a100:1(IDX:x)`"),
                (5, "a job was expected")
            ]
        );
        assert_eq!(parsed.records[0].primary_job_id.as_deref(), Some("1"));
        assert_eq!(samples("no node\n", "", &Backfill::default()), Parsed::default());
    }

    /// The lines of some nodes, `n0` and on, whose GPUs may be written in any way. None is a line that
    /// is no node.
    fn any_nodes() -> impl Strategy<Value = Vec<Option<String>>> {
        let gres = "(gpu:(a:)?[0-9](\\(S:0-1\\))?,?){0,2}|[gpu:,0-9a]{0,20}";
        let used = "(gpu:(a:)?[0-9](\\(IDX:[0-9](-[0-9])?\\))?,?){0,2}|[gpu:,0-9()IDX-]{0,20}";
        prop::collection::vec(prop::option::of((gres, used)), 0..4).prop_map(|nodes| {
            let line = |(number, node): (usize, Option<(String, String)>)| {
                let (gres, used) = node?;
                Some(format!("NodeName=n{number} Gres={gres} GresUsed={used} State=IDLE"))
            };
            nodes.into_iter().enumerate().map(line).collect()
        })
    }

    proptest! {
        /// A node's GPUs are numbered from 0 without a gap, and there are as many as the node has. Only
        /// a job that was read holds any, and it holds no more of a node than its details list.
        #[test]
        fn a_node_has_each_of_its_gpus_once_and_a_job_is_read_or_rejected(
            nodes in any_nodes(),
            noise in "[^=\n\r]{0,20}",
            details in "(Nodes=n[0-3] |Nodes=n\\[0-[0-3]\\] |Nodes=[n0-9,\\[-]{0,9} |GRES=gpu:[0-9](\\(IDX:[0-9]-?[0-9]\\))? |GRES=gpu:[gpu:,0-9()IDX-]{0,20} ){0,4}",
        ) {
            let text: String =
                nodes.iter().map(|line| format!("{}\n", line.as_ref().unwrap_or(&noise))).collect();
            let job = job("JobId=1", "gpu", "q", "RUNNING", &details);
            let parsed = samples(&text, &job, &backfill(&["gpu"], &[]));
            let of_job = |gpu: &&GpuSample| gpu.backfill_job_id.is_some();

            let mut rest = &parsed.records[..];
            for (number, line) in nodes.iter().enumerate() {
                let machine = format!("n{number}");
                let count = rest.iter().take_while(|gpu| gpu.machine == *machine).count();
                let (gpus, behind) = rest.split_at(count);
                rest = behind;
                for (index, gpu) in gpus.iter().enumerate() {
                    prop_assert_eq!(gpu.gpu_id.to_string(), format!("gpu:{index}"));
                    prop_assert_eq!(&gpu.primary_job_id, &None);
                }
                let listed = |key| self::gpus(value(line.as_ref()?, key)?);
                let (Some(installed), Some(_)) = (listed("Gres"), listed("GresUsed")) else {
                    prop_assert_eq!(count, 0);
                    continue;
                };
                let installed: usize = installed.iter().map(|gpus| gpus.count).sum();
                prop_assert!(count >= installed.min(MOST_GPUS), "{count} of {installed}");
            }
            prop_assert!(rest.is_empty(), "{rest:?}");

            match &parsed.rejects[..] {
                [] => {
                    for gpu in parsed.records.iter().filter(of_job) {
                        prop_assert_eq!(gpu.backfill_job_id.as_deref(), Some("1"));
                        prop_assert_eq!(gpu.backfill_state.as_deref(), Some("Claimed"));
                    }
                }
                [reject] => {
                    prop_assert_eq!(&reject.text, &job);
                    prop_assert_eq!(parsed.records.iter().filter(of_job).count(), 0);
                }
                rejects => prop_assert!(false, "{rejects:?}"),
            }
        }

        /// Each GPU that the details list by index is held by the job, and no other GPU is.
        #[test]
        fn a_job_holds_the_gpus_that_its_details_list(
            indexes in prop::collection::btree_set(0..8_usize, 1..8),
            installed in 1..8_usize,
        ) {
            let list: Vec<String> = indexes.iter().map(usize::to_string).collect();
            let list = format!("gpu:{}(IDX:{})", indexes.len(), list.join(","));
            let node = format!("NodeName=n Gres=gpu:{installed} GresUsed={list} State=MIXED");
            let job = job("JobId=1", "gpu", "q", "RUNNING", &format!("Nodes=n GRES={list}"));
            let parsed = samples(&node, &job, &Backfill::default());
            prop_assert_eq!(&parsed.rejects, &[]);
            let held: BTreeSet<usize> = parsed
                .records
                .iter()
                .enumerate()
                .filter(|(_, gpu)| gpu.primary_job_id.as_deref() == Some("1"))
                .map(|(index, _)| index)
                .collect();
            prop_assert_eq!(held, indexes);
        }
    }
}
