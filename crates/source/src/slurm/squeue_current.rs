//! `squeue`: the jobs that hold something now, and those that wait to.

use std::time::Duration;

use super::rows::{Column, Layout, Reader, Row, Rows};
use super::{DELIMITER, cluster_option, count, name, value, word};
use crate::current_job::{CurrentJob, Phase};
use crate::machine::Command;
use crate::notation::tres;
use crate::parsed::{Parsed, Parser};
use record::node_list;

/// What is asked for, none of it written by a user; see [`squeue`](super::squeue()) for the form.
const FIELDS: [&str; 9] = [
    "JobArrayID",
    "UserName",
    "Partition",
    "State",
    "NumNodes",
    "NumCPUs",
    "tres-alloc",
    "OverSubscribe",
    "NodeList",
];

/// Asks for all jobs that are not over, of all users in all partitions, each task of an array by
/// itself: of many that wait together squeue does not print how many they are.
pub fn squeue_current(cluster_in_slurmdbd: Option<&str>) -> Command {
    let format = FIELDS.map(|field| format!("{field}:{DELIMITER}")).join(",");
    let mut arguments: Vec<String> = cluster_option(cluster_in_slurmdbd).into_iter().collect();
    arguments.extend(["--all".to_owned(), "--array".to_owned(), format!("--Format={format}")]);
    Command { program: "squeue", arguments, time_limit: Duration::from_secs(60) }
}

/// Reads what [`squeue_current`] prints.
pub struct SqueueCurrent {
    rows: Rows,
    queue: Queue,
}

impl SqueueCurrent {
    pub fn new() -> SqueueCurrent {
        let queue = Queue { columns: Columns::of(&[]), parsed: Parsed::default() };
        SqueueCurrent { rows: Rows::new(), queue }
    }
}

impl Default for SqueueCurrent {
    fn default() -> Self {
        SqueueCurrent::new()
    }
}

impl Parser<CurrentJob> for SqueueCurrent {
    fn push(&mut self, piece: &[u8]) {
        self.rows.push(piece, &mut self.queue);
    }

    fn finish(mut self) -> Parsed<CurrentJob> {
        self.rows.finish(&mut self.queue);
        self.queue.parsed
    }
}

struct Queue {
    columns: Columns,
    parsed: Parsed<CurrentJob>,
}

impl Reader for Queue {
    /// `CLUSTER: birch`, where a cluster was asked for by its name: no other is printed.
    fn heading(&mut self, line: &[u8]) -> bool {
        line.starts_with(b"CLUSTER: ")
    }

    fn header(&mut self, names: &[&str]) -> Option<Layout> {
        self.columns = Columns::of(names);
        Some(Layout { id: self.columns.job_id.index?, last_takes_rest: false })
    }

    fn row(&mut self, line: u64, row: Row<'_>) {
        match job(&self.columns, row) {
            Ok(job) => self.parsed.records.push(job),
            Err(reason) => self.parsed.reject(line, reason, row.text),
        }
    }

    fn reject(&mut self, line: u64, reason: &str, text: &[u8]) {
        self.parsed.reject(line, reason, text);
    }
}

fn job(columns: &Columns, row: Row<'_>) -> Result<CurrentJob, String> {
    let state = name(row, columns.state).ok_or("the job has no state")?;
    let resources = value(row, columns.tres, tres::resources)?.unwrap_or_default();
    let node_names = match word(row, columns.node_list) {
        Some(list) => node_list::expand(&list),
        None => Some(Vec::new()),
    };
    Ok(CurrentJob {
        job_id: name(row, columns.job_id).ok_or("the job has no id")?,
        user: name(row, columns.user),
        partition: name(row, columns.partition),
        phase: phase(&state),
        nodes: value(row, columns.nodes, scaled_count)?,
        cpus: value(row, columns.cpus, scaled_count)?,
        gpus: resources.gpus,
        // The manual page of squeue: `NO` for a job that wants its nodes whole, `USER` for one
        // that shares them with others of its user only.
        is_exclusive: matches!(row.cell(columns.over_subscribe), b"NO" | b"USER"),
        node_names,
        state,
    })
}

/// What a state means for what the job holds, by the states that the manual page of squeue lists.
/// One that is not known is one of a job with nodes: those that wait are few and old.
fn phase(state: &str) -> Phase {
    match state {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "RESV_DEL_HOLD"
        | "SPECIAL_EXIT" => Phase::Waits,
        "SUSPENDED" => Phase::Suspended,
        _ => Phase::Holds,
    }
}

/// A count, of which squeue writes multiples of 1024 as `2K`.
fn scaled_count(text: &[u8]) -> Option<i64> {
    match text.split_last()? {
        (b'K', number) => count(number)?.checked_mul(1024),
        (b'M', number) => count(number)?.checked_mul(1024 * 1024),
        _ => count(text),
    }
}

/// Where in a row each thing stands, by squeue's own headings.
#[derive(Debug)]
struct Columns {
    job_id: Column,
    user: Column,
    partition: Column,
    state: Column,
    nodes: Column,
    cpus: Column,
    tres: Column,
    over_subscribe: Column,
    node_list: Column,
}

impl Columns {
    fn of(header: &[&str]) -> Columns {
        let find = |name| Column::find(name, header);
        Columns {
            job_id: find("JOBID"),
            user: find("USER"),
            partition: find("PARTITION"),
            state: find("STATE"),
            nodes: find("NODES"),
            cpus: find("CPUS"),
            tres: find("TRES_ALLOC"),
            over_subscribe: find("OVER_SUBSCRIBE"),
            node_list: find("NODELIST"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parsed::parse;

    #[test]
    fn the_command_asks_for_each_task_and_no_free_text() {
        let command = squeue_current(None);
        assert_eq!(command.program, "squeue");
        assert_eq!(
            command.arguments,
            [
                "--all",
                "--array",
                "--Format=JobArrayID:\u{1f},UserName:\u{1f},Partition:\u{1f},State:\u{1f},\
                 NumNodes:\u{1f},NumCPUs:\u{1f},tres-alloc:\u{1f},OverSubscribe:\u{1f},\
                 NodeList:\u{1f}",
            ]
        );
    }

    /// Recorded with `|`, which none of these columns holds.
    #[test]
    fn a_recording_is_read() {
        let file =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/squeue-current.psv");
        let parsed = parse(SqueueCurrent::new(), &std::fs::read(file).unwrap());
        assert_eq!(parsed.rejects, []);
        // `cut -d"|" -f4 | sort | uniq -c`: 110 PENDING, 1 SPECIAL_EXIT, 5 RUNNING.
        let of = |phase| parsed.records.iter().filter(|job| job.phase == phase).count();
        assert_eq!((of(Phase::Waits), of(Phase::Holds), of(Phase::Suspended)), (111, 5, 0));
        let exclusive: Vec<_> = parsed.records.iter().filter(|job| job.is_exclusive).collect();
        assert_eq!(exclusive.len(), 1);
        assert_eq!(exclusive[0].node_names.as_deref(), Some(&["gpu03".to_owned()][..]));
    }

    fn one(row: &str) -> CurrentJob {
        let header = "JOBID|USER|PARTITION|STATE|NODES|CPUS|TRES_ALLOC|OVER_SUBSCRIBE|NODELIST|";
        let mut parsed = parse(SqueueCurrent::new(), format!("{header}\n{row}\n").as_bytes());
        assert_eq!(parsed.rejects, [], "{row}");
        parsed.records.remove(0)
    }

    #[test]
    fn a_job_holds_nodes_or_waits_for_them() {
        let job =
            one("7|ann|gpu|RUNNING|2|2K|cpu=2048,node=2,gres/gpu=8,gres/gpu:a100=8|NO|g[1-2]|");
        assert_eq!(
            job,
            CurrentJob {
                job_id: "7".to_owned().into(),
                user: Some("ann".to_owned().into()),
                partition: Some("gpu".to_owned().into()),
                phase: Phase::Holds,
                state: "RUNNING".to_owned().into(),
                nodes: Some(2),
                cpus: Some(2048),
                gpus: Some(8),
                is_exclusive: true,
                node_names: Some(vec!["g1".to_owned(), "g2".to_owned()]),
            }
        );
        let waiting = one("8_3|ann|cpu,gpu|PENDING|1|4|N/A|OK||");
        assert_eq!((waiting.phase, waiting.gpus), (Phase::Waits, None));
        assert_eq!(waiting.node_names, Some(Vec::new()));
        assert!(!waiting.is_exclusive);
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let parsed = parse(
            SqueueCurrent::new(),
            b"JOBID|STATE|CPUS|\n1|RUNNING|many|\n2||1|\n3|RUNNING|1|\n",
        );
        assert_eq!(parsed.records.len(), 1);
        let reasons: Vec<_> = parsed.rejects.iter().map(|reject| reject.reason.as_str()).collect();
        assert_eq!(reasons, ["CPUS cannot be `many`", "the job has no state"]);
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anywhere_are_read_as_if_whole(
            lines in prop::collection::vec(prop_oneof![
                any::<Vec<u8>>(),
                Just(b"JOBID|STATE|CPUS|OVER_SUBSCRIBE|NODELIST|\n".to_vec()),
                "[0-9_]{0,3}\\|[A-Z]{0,7}\\|[0-9K]{0,3}\\|NO\\|[a-c0-9,\\[\\]-]{0,9}\\|\n"
                    .prop_map(String::into_bytes),
            ], 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let text = lines.concat();
            let cut = cut.index(text.len() + 1);
            let mut pieces = SqueueCurrent::new();
            pieces.push(&text[..cut]);
            pieces.push(&text[cut..]);
            prop_assert_eq!(pieces.finish(), parse(SqueueCurrent::new(), &text));
        }
    }
}
