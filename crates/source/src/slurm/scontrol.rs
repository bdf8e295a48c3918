//! `scontrol show node`: the nodes, what they have, what of it is held, and why one is away.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use record::{NodeSpan, SeenNode, Text};

use super::{NO_VALUE, cluster_option, count, moment};
use crate::machine::Command;
use crate::notation::tres;
use crate::parsed::{Parsed, Parser};

/// Asks for all nodes, a line each; the details say which GPUs are in use. They are those of the
/// cluster with this name in slurmdbd, or of the one that scontrol is configured for.
pub fn scontrol_show_node(cluster_in_slurmdbd: Option<&str>) -> Command {
    let mut arguments: Vec<String> = cluster_option(cluster_in_slurmdbd).into_iter().collect();
    arguments.extend(["--details", "--oneliner", "show", "node"].map(str::to_owned));
    Command { program: "scontrol", arguments, time_limit: Duration::from_secs(60) }
}

/// Reads what [`scontrol_show_node`] prints.
pub struct ScontrolNode {
    cluster: String,
    time: Timestamp,
    end_time: Timestamp,
    /// The line that has not ended yet.
    text: Vec<u8>,
    line: u64,
    parsed: Parsed<NodeSpan>,
}

impl ScontrolNode {
    /// Reads the nodes of a cluster as they were at a time; what is seen holds for a while.
    pub fn new(cluster: &str, time: Timestamp, hold: SignedDuration) -> ScontrolNode {
        ScontrolNode {
            cluster: cluster.to_owned(),
            time,
            end_time: time.checked_add(hold).unwrap_or(Timestamp::MAX),
            text: Vec::new(),
            line: 0,
            parsed: Parsed::default(),
        }
    }

    fn end_line(&mut self) {
        self.line += 1;
        let text = std::mem::take(&mut self.text);
        if text.trim_ascii().is_empty() {
            return;
        }
        match self.span(&String::from_utf8_lossy(&text)) {
            Ok(span) => self.parsed.records.push(span),
            Err(reason) => self.parsed.reject(self.line, reason, &text),
        }
    }
}

impl Parser<NodeSpan> for ScontrolNode {
    fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            self.text.extend_from_slice(&rest[..newline]);
            self.end_line();
            rest = &rest[newline + 1..];
        }
        self.text.extend_from_slice(rest);
    }

    fn finish(mut self) -> Parsed<NodeSpan> {
        self.end_line();
        self.parsed
    }
}

impl ScontrolNode {
    fn span(&self, line: &str) -> Result<NodeSpan, String> {
        // The reason is the one value that people write, and the last: it goes on to the end.
        let (line, reason) = match line.split_once(" Reason=") {
            Some((line, reason)) => (line, Some(reason)),
            None => (line, None),
        };
        let node = line
            .strip_prefix("NodeName=")
            .and_then(|rest| rest.split(' ').next())
            .filter(|node| !node.is_empty())
            .ok_or("a node's name was expected")?;
        let Signed { reason, user: reason_user, time: reason_time } =
            reason.map(signed).unwrap_or_default();

        let configured = resources(line, "CfgTRES")?;
        let allocated = resources(line, "AllocTRES")?;
        let installed = optional(line, "Gres", gres)?;
        let in_use = optional(line, "GresUsed", gres)?;
        // Only what AccountingStorageTRES lists is in a node's TRES; its Gres is always there.
        let accounted = configured.gpus.filter(|gpus| *gpus > 0);
        let gpus = match (accounted, &installed) {
            (Some(gpus), _) => Some(gpus),
            (None, Some(gres)) => Some(gres.gpus),
            (None, None) => value(line, "Gres").map(|_| 0),
        };
        let alloc_gpus = match (accounted, &in_use) {
            (Some(_), _) => Some(allocated.gpus.unwrap_or(0)),
            (None, Some(gres)) => Some(gres.gpus),
            (None, None) => gpus.filter(|gpus| *gpus == 0),
        };

        Ok(NodeSpan {
            cluster: self.cluster.clone().into(),
            node: node.into(),
            start_time: self.time,
            end_time: self.end_time,
            last_seen_time: self.time,
            samples: 1,
            state: state(value(line, "State").ok_or("the node has no state")?).into(),
            reason,
            reason_user,
            reason_time,
            partitions: known(line, "Partitions").map(Into::into),
            reservation: known(line, "ReservationName").map(Into::into),
            cpus: optional(line, "CPUTot", number)?,
            effective_cpus: optional(line, "CPUEfctv", number)?,
            alloc_cpus: optional(line, "CPUAlloc", number)?,
            memory_mb: optional(line, "RealMemory", number)?.map(|megabytes| megabytes as f64),
            alloc_memory_mb: optional(line, "AllocMem", number)?.map(|megabytes| megabytes as f64),
            gpus,
            alloc_gpus,
            gpu_types: configured.gpu_types.or_else(|| installed.and_then(|gres| gres.gpu_types)),
            alloc_gpu_types: allocated
                .gpu_types
                .or_else(|| in_use.and_then(|gres| gres.gpu_types))
                .filter(|_| alloc_gpus.is_some_and(|gpus| gpus > 0)),
        })
    }
}

/// Nodes with what of them changes from look to look, from the same text. What is missing there, or
/// cannot be read, is unknown.
pub fn seen_nodes(text: &[u8], nodes: &[NodeSpan]) -> Vec<SeenNode> {
    let text = String::from_utf8_lossy(text);
    let lines: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| {
            let name = line.strip_prefix("NodeName=")?.split(' ').next()?;
            // A reason may look like anything, and stands last.
            Some((name, line.split(" Reason=").next().unwrap_or(line)))
        })
        .collect();
    nodes
        .iter()
        .map(|node| {
            let said = |key| known(lines.get(node.node.as_str())?, key);
            let decimal = |key| said(key)?.parse::<f64>().ok().filter(|number| number.is_finite());
            SeenNode {
                node: node.clone(),
                cpu_load: decimal("CPULoad"),
                free_memory_mb: decimal("FreeMem"),
                weight: said("Weight").and_then(number),
            }
        })
        .collect()
}

/// The value of a key; none of those asked for holds a blank. The first counts: text that somebody
/// wrote, and that might look like a key, stands behind all of them.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn known<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    value(line, key).filter(|value| !NO_VALUE.contains(&value.as_bytes()))
}

fn optional<T>(
    line: &str,
    key: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    match known(line, key) {
        Some(value) => read(value).map(Some).ok_or_else(|| format!("{key} cannot be `{value}`")),
        None => Ok(None),
    }
}

fn number(digits: &str) -> Option<i64> {
    count(digits.as_bytes())
}

fn resources(line: &str, key: &str) -> Result<tres::Resources, String> {
    Ok(optional(line, key, |list| tres::resources(list.as_bytes()))?.unwrap_or_default())
}

struct Gres {
    gpus: i64,
    gpu_types: Option<Text>,
}

/// The GPUs in `gpu:a100:4(S:0-1),gpu:v100:2,tpu:1`, or in `gpu:a100:2(IDX:0,3)`.
fn gres(list: &str) -> Option<Gres> {
    let mut gpus = 0_i64;
    let mut types = Vec::new();
    let mut depth = 0;
    // A comma inside brackets lists sockets or indexes.
    let items = list.split(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    });
    for item in items {
        let Some(item) = item.strip_prefix("gpu:") else {
            continue;
        };
        let item = item.split('(').next().unwrap_or(item);
        let (model, digits) = match item.rsplit_once(':') {
            Some((model, digits)) => (Some(model), digits),
            None => (None, item),
        };
        let here = number(digits)?;
        gpus = gpus.checked_add(here)?;
        if let Some(model) = model {
            types.push((model, here));
        }
    }
    Some(Gres { gpus, gpu_types: tres::by_model(&mut types) })
}

/// `DOWN*+DRAIN` is `DOWN+DRAIN+NOT_RESPONDING`: a mark behind the state is a flag like others.
fn state(text: &str) -> String {
    let mut flags: Vec<&str> = Vec::new();
    let mut marked: Vec<&str> = Vec::new();
    for word in text.split('+') {
        let flag = word.trim_end_matches(|mark| flag_of(mark).is_some());
        marked.extend(word[flag.len()..].chars().filter_map(flag_of));
        flags.push(flag);
    }
    for flag in marked {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    flags.join("+")
}

/// The marks of the manual page of sinfo, in the words of `scontrol show node`.
fn flag_of(mark: char) -> Option<&'static str> {
    Some(match mark {
        '*' => "NOT_RESPONDING",
        '~' => "POWERED_DOWN",
        '#' => "POWERING_UP",
        '!' => "POWER_DOWN",
        '%' => "POWERING_DOWN",
        '$' => "MAINTENANCE",
        '@' => "REBOOT_REQUESTED",
        '^' => "REBOOT_ISSUED",
        '-' => "PLANNED",
        _ => return None,
    })
}

/// A reason, who gave it and when.
#[derive(Default)]
struct Signed {
    reason: Option<Text>,
    user: Option<Text>,
    time: Option<Timestamp>,
}

/// Reads `firmware upgrade [root@2026-11-15T02:20:47]`.
fn signed(text: &str) -> Signed {
    let parts = text.rsplit_once(" [").and_then(|(reason, signature)| {
        let (user, time) = signature.split_once(']')?.0.rsplit_once('@')?;
        Some((reason, user, time))
    });
    let (reason, user, time) = match parts {
        Some((reason, user, time)) => (reason, Some(user.into()), moment(time.as_bytes())),
        None => (text.trim_end(), None, None),
    };
    Signed { reason: (!reason.is_empty()).then(|| reason.into()), user, time }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parsed::parse;

    fn parser() -> ScontrolNode {
        let time = Timestamp::from_second(1_794_709_300).unwrap();
        ScontrolNode::new("maple", time, SignedDuration::from_secs(1800))
    }

    fn recorded(name: &str) -> Parsed<NodeSpan> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        parse(parser(), &std::fs::read(format!("{folder}{name}")).unwrap())
    }

    fn one(line: &str) -> NodeSpan {
        let mut parsed = parse(parser(), line.as_bytes());
        assert_eq!(parsed.rejects, []);
        parsed.records.remove(0)
    }

    #[test]
    fn the_command_asks_for_a_line_a_node() {
        let command = scontrol_show_node(None);
        assert_eq!(command.program, "scontrol");
        assert_eq!(command.arguments, ["--details", "--oneliner", "show", "node"]);
        assert_eq!(scontrol_show_node(Some("birch")).arguments[0], "--clusters=birch");
        assert_eq!(command.time_limit, Duration::from_secs(60));
    }

    #[test]
    fn a_recording_is_read() {
        let parsed = recorded("scontrol-show-node-detail.txt");
        assert_eq!(parsed.rejects, []);
        let seen: Vec<_> = parsed
            .records
            .iter()
            .map(|span| {
                let gpu_types = span.gpu_types.as_deref().unwrap_or("-");
                (span.node.as_str(), span.state.as_str(), span.gpus, span.alloc_gpus, gpu_types)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("cpu01", "MIXED", Some(0), Some(0), "-"),
                ("cpu02", "IDLE+DRAIN", Some(0), Some(0), "-"),
                ("cpu03", "IDLE+RESERVED", Some(0), Some(0), "-"),
                ("cpu04", "DOWN", Some(0), Some(0), "-"),
                ("ghost01", "UNKNOWN+NOT_RESPONDING", Some(0), Some(0), "-"),
                ("gpu01", "MIXED", Some(4), Some(2), "a100=4"),
                ("gpu02", "MIXED+DRAIN", Some(4), Some(1), "a100=4"),
                ("gpu03", "ALLOCATED", Some(2), Some(2), "h100=2"),
                ("mix01", "IDLE", Some(2), Some(0), "a100=1,h100=1"),
            ]
        );
        let gpu01 = &parsed.records[5];
        assert_eq!(gpu01.partitions.as_deref(), Some("gpu,preempt"));
        assert_eq!((gpu01.cpus, gpu01.alloc_cpus), (Some(16), Some(6)));
        assert_eq!((gpu01.memory_mb, gpu01.alloc_memory_mb), (Some(64_000.0), Some(4200.0)));
        assert_eq!(gpu01.end_time.as_second() - gpu01.start_time.as_second(), 1800);

        let reason = |index: usize| {
            let span: &NodeSpan = &parsed.records[index];
            (span.reason.as_deref(), span.reason_user.as_deref())
        };
        assert_eq!(reason(0), (None, None));
        assert_eq!(reason(1), (Some("firmware upgrade"), Some("root")));
        assert_eq!(reason(3), (Some("PSU failure, ticket #4711 | rack \"B"), Some("root")));
        let given = parsed.records[1].reason_time.map(|time| time.to_string());
        assert_eq!(given.as_deref(), Some("2026-11-15T02:20:47Z"));
        assert_eq!(parsed.records[6].alloc_gpu_types.as_deref(), Some("a100=1"));
        assert_eq!(parsed.records[8].alloc_gpu_types, None);
        assert_eq!((gpu01.effective_cpus, gpu01.reservation.as_deref()), (Some(16), None));
    }

    #[test]
    fn what_changes_from_look_to_look_is_read_beside_the_node() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        let text = std::fs::read(format!("{folder}scontrol-show-node-detail.txt")).unwrap();
        let seen = seen_nodes(&text, &parse(parser(), &text).records);
        let numbers: Vec<_> = seen
            .iter()
            .map(|seen| (seen.node.node.as_str(), seen.cpu_load, seen.free_memory_mb, seen.weight))
            .collect();
        assert_eq!(numbers.len(), 9);
        assert_eq!(numbers[1], ("cpu02", Some(20.67), Some(9516.0), Some(12)));
        assert_eq!(numbers[4], ("ghost01", None, None, Some(1)));
        let nobody = one("NodeName=a State=IDLE Reason=CPULoad=9");
        assert_eq!(
            seen_nodes(b"NodeName=a State=IDLE Reason=CPULoad=9", &[nobody])[0].cpu_load,
            None
        );
    }

    /// As 23.02 and later print it.
    #[test]
    fn a_reservation_is_named_where_scontrol_names_it() {
        let node = one(
            "NodeName=a State=IDLE+RESERVED CPUTot=8 CPUEfctv=6 ReservationName=course Reason=x",
        );
        assert_eq!(node.reservation.as_deref(), Some("course"));
        assert_eq!((node.cpus, node.effective_cpus), (Some(8), Some(6)));
    }

    #[test]
    fn a_reason_may_look_like_anything() {
        let node = one(
            "NodeName=a State=IDLE+DRAIN Reason=set State=DOWN [see x@y] Gres=gpu:9 [slurm@1794709000]",
        );
        assert_eq!(node.state, "IDLE+DRAIN");
        assert_eq!(node.reason.as_deref(), Some("set State=DOWN [see x@y] Gres=gpu:9"));
        assert_eq!(node.reason_user.as_deref(), Some("slurm"));
        assert_eq!(node.gpus, None);
        assert_eq!(
            one("NodeName=a State=DOWN Reason=unsigned").reason.as_deref(),
            Some("unsigned")
        );
    }

    #[test]
    fn marks_behind_a_state_are_flags() {
        for (text, expected) in [
            ("MIXED", "MIXED"),
            ("DOWN*", "DOWN+NOT_RESPONDING"),
            ("DOWN*+DRAIN+NOT_RESPONDING", "DOWN+DRAIN+NOT_RESPONDING"),
            ("IDLE~", "IDLE+POWERED_DOWN"),
            ("IDLE#", "IDLE+POWERING_UP"),
            ("ALLOCATED+COMPLETING", "ALLOCATED+COMPLETING"),
            ("MAINT+RESERVED", "MAINT+RESERVED"),
        ] {
            assert_eq!(state(text), expected, "{text}");
        }
    }

    #[test]
    fn gpus_come_from_gres_where_they_are_not_accounted_for() {
        for (gres, used, gpus, alloc_gpus, gpu_types) in [
            ("(null)", "gpu:0", Some(0), Some(0), None),
            ("gpu:8", "gpu:3(IDX:0,2,5)", Some(8), Some(3), None),
            ("gpu:a100:8(S:0-1)", "gpu:a100:2(IDX:0,3)", Some(8), Some(2), Some("a100=8")),
            (
                "gpu:v100:2,gpu:a100:4(S:0,1),tpu:1",
                "gpu:v100:0(IDX:N/A)",
                Some(6),
                Some(0),
                Some("a100=4,v100=2"),
            ),
            (
                "gpu:a100_3g.20gb:2",
                "gpu:a100_3g.20gb:1(IDX:0)",
                Some(2),
                Some(1),
                Some("a100_3g.20gb=2"),
            ),
        ] {
            let node = one(&format!(
                "NodeName=a Gres={gres} GresUsed={used} State=IDLE CfgTRES=cpu=8,mem=1G AllocTRES="
            ));
            let found = (node.gpus, node.alloc_gpus, node.gpu_types.as_deref());
            assert_eq!(found, (gpus, alloc_gpus, gpu_types), "{gres}");
        }
        // Without details it is not known which of them are in use.
        assert_eq!(one("NodeName=a Gres=gpu:2 State=IDLE AllocTRES=cpu=1").alloc_gpus, None);
    }

    #[test]
    fn a_model_is_in_gres_where_the_accounts_have_only_a_total() {
        let node =
            one("NodeName=a Gres=gpu:a100:2 State=IDLE CfgTRES=cpu=1,gres/gpu=2 AllocTRES=cpu=1");
        assert_eq!((node.gpus, node.alloc_gpus), (Some(2), Some(0)));
        assert_eq!(node.gpu_types.as_deref(), Some("a100=2"));
    }

    #[test]
    fn what_is_no_node_is_set_aside() {
        let parsed = recorded("scontrol-no-such-node.txt");
        assert_eq!(parsed.records, []);
        assert_eq!(parsed.rejects[0].reason, "a node's name was expected");
        assert_eq!(parsed.rejects[0].text, "Node nosuchnode not found");
        let parsed = parse(parser(), b"NodeName=a State=IDLE CPUTot=x\n\nNodeName=b CPUTot=1");
        let reasons: Vec<_> =
            parsed.rejects.iter().map(|reject| (reject.position, reject.reason.as_str())).collect();
        assert_eq!(reasons, [(1, "CPUTot cannot be `x`"), (3, "the node has no state")]);
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anywhere_are_read_as_if_whole(
            lines in prop::collection::vec(prop_oneof![
                any::<Vec<u8>>(),
                "NodeName=[a-z]{0,3} State=[A-Z+*#-]{0,8} Gres=[gpu:,0-9()]{0,12} Reason=[ -~é]{0,9}\n"
                    .prop_map(String::into_bytes),
            ], 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let text = lines.concat();
            let cut = cut.index(text.len() + 1);
            let mut pieces = parser();
            pieces.push(&text[..cut]);
            pieces.push(&text[cut..]);
            prop_assert_eq!(pieces.finish(), parse(parser(), &text));
        }
    }
}
