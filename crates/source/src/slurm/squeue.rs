//! `squeue`: the jobs that wait, and why.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use record::QueueSpan;

use super::rows::{Column, Layout, Reader, Row, Rows};
use super::{DELIMITER, count, moment, name, value, word};
use crate::machine::Command;
use crate::notation::{duration, hostlist, tres};
use crate::parsed::{Parsed, Parser};

/// What is asked for. In `--Format` what stands behind the colon is printed behind each value,
/// and without a width there the value is printed whole.
const FIELDS: [&str; 13] = [
    "JobArrayID",
    "UserName",
    "Account",
    "Partition",
    "QOS",
    "State",
    "SubmitTime",
    "EligibleTime",
    "NumNodes",
    "NumCPUs",
    "tres-alloc",
    "TimeLimit",
    "Reason",
];

/// Asks for the waiting jobs of all users in all partitions.
pub fn squeue() -> Command {
    let format = FIELDS.map(|field| format!("{field}:{DELIMITER}")).join(",");
    Command {
        program: "squeue",
        arguments: vec![
            "--all".to_owned(),
            "--states=PENDING".to_owned(),
            format!("--Format={format}"),
        ],
        time_limit: Duration::from_secs(60),
    }
}

/// Reads what [`squeue`] prints.
pub struct Squeue {
    rows: Rows,
    queue: Queue,
}

impl Squeue {
    /// Reads the queue of a cluster as it stood at a time; what is seen holds for a while.
    pub fn new(cluster: &str, time: Timestamp, hold: SignedDuration) -> Squeue {
        Squeue {
            rows: Rows::new(),
            queue: Queue {
                cluster: cluster.to_owned(),
                time,
                end_time: time.checked_add(hold).unwrap_or(Timestamp::MAX),
                columns: Columns::of(&[]),
                parsed: Parsed::default(),
            },
        }
    }
}

impl Parser<QueueSpan> for Squeue {
    fn push(&mut self, piece: &[u8]) {
        self.rows.push(piece, &mut self.queue);
    }

    fn finish(mut self) -> Parsed<QueueSpan> {
        self.rows.finish(&mut self.queue);
        self.queue.parsed
    }
}

struct Queue {
    cluster: String,
    time: Timestamp,
    end_time: Timestamp,
    columns: Columns,
    parsed: Parsed<QueueSpan>,
}

impl Reader for Queue {
    fn header(&mut self, names: &[&str]) -> Option<Layout> {
        self.columns = Columns::of(names);
        Some(Layout { id: self.columns.job_id.index?, last_takes_rest: false })
    }

    fn row(&mut self, line: u64, row: Row<'_>) {
        match self.span(row) {
            Ok(span) => self.parsed.records.push(span),
            Err(reason) => self.parsed.reject(line, reason, row.text),
        }
    }

    fn reject(&mut self, line: u64, reason: &str, text: &[u8]) {
        self.parsed.reject(line, reason, text);
    }
}

impl Queue {
    fn span(&self, row: Row<'_>) -> Result<QueueSpan, String> {
        let columns = &self.columns;
        let job_id = name(row, columns.job_id).ok_or("the job has no id")?;
        // The column is called so for running jobs; a waiting one shows there what it asks for.
        let asked = value(row, columns.tres, tres::resources)?.unwrap_or_default();
        Ok(QueueSpan {
            cluster: self.cluster.clone(),
            start_time: self.time,
            end_time: self.end_time,
            last_seen_time: self.time,
            samples: 1,
            user: name(row, columns.user),
            account: name(row, columns.account),
            partition: name(row, columns.partition),
            qos: name(row, columns.qos),
            state: name(row, columns.state).ok_or("the job has no state")?,
            reason: word(row, columns.reason),
            submit_time: value(row, columns.submit_time, moment)?,
            eligible_time: value(row, columns.eligible_time, moment)?,
            tasks: tasks(&job_id),
            req_nodes: value(row, columns.nodes, scaled_count)?,
            req_cpus: value(row, columns.cpus, scaled_count)?,
            req_mem_mb: asked.memory_mb,
            req_gpus: asked.gpus,
            gpu_types: asked.gpu_types,
            time_limit_seconds: value(row, columns.time_limit, duration::seconds)?
                .map(|seconds| seconds as i64),
            job_id,
        })
    }
}

/// The waiting tasks of `18_[0-99%10]`; anything else is one. Of many that are not a range squeue
/// prints the first few, and how many they are is not known.
fn tasks(job_id: &str) -> Option<i64> {
    match job_id.split_once("_[") {
        Some((_, ranges)) => hostlist::count_numbers(ranges.strip_suffix(']')?.as_bytes()),
        None => Some(1),
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
    account: Column,
    partition: Column,
    qos: Column,
    state: Column,
    submit_time: Column,
    eligible_time: Column,
    nodes: Column,
    cpus: Column,
    tres: Column,
    time_limit: Column,
    reason: Column,
}

impl Columns {
    fn of(header: &[&str]) -> Columns {
        let find = |name| Column::find(name, header);
        Columns {
            job_id: find("JOBID"),
            user: find("USER"),
            account: find("ACCOUNT"),
            partition: find("PARTITION"),
            qos: find("QOS"),
            state: find("STATE"),
            submit_time: find("SUBMIT_TIME"),
            eligible_time: find("ELIGIBLE_TIME"),
            nodes: find("NODES"),
            cpus: find("CPUS"),
            tres: find("TRES_ALLOC"),
            time_limit: find("TIME_LIMIT"),
            reason: find("REASON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed::parse;

    const TIME: i64 = 1_794_709_300;

    fn parsed(text: &str) -> Parsed<QueueSpan> {
        let time = Timestamp::from_second(TIME).unwrap();
        parse(Squeue::new("maple", time, SignedDuration::from_secs(1800)), text.as_bytes())
    }

    #[test]
    fn the_command_asks_for_what_waits() {
        let command = squeue();
        assert_eq!(command.program, "squeue");
        assert_eq!(command.time_limit, Duration::from_secs(60));
        assert_eq!(
            command.arguments,
            [
                "--all",
                "--states=PENDING",
                "--Format=JobArrayID:\u{1f},UserName:\u{1f},Account:\u{1f},Partition:\u{1f},\
                 QOS:\u{1f},State:\u{1f},SubmitTime:\u{1f},EligibleTime:\u{1f},NumNodes:\u{1f},\
                 NumCPUs:\u{1f},tres-alloc:\u{1f},TimeLimit:\u{1f},Reason:\u{1f}",
            ]
        );
    }

    #[test]
    fn a_waiting_job_is_a_span_from_now_on() {
        let parsed = parsed(
            "JOBID\x1fUSER\x1fACCOUNT\x1fPARTITION\x1fQOS\x1fSTATE\x1fSUBMIT_TIME\x1fELIGIBLE_TIME\x1f\
             NODES\x1fCPUS\x1fTRES_ALLOC\x1fTIME_LIMIT\x1fREASON\x1f\n\
             101\x1fcarol\x1fml\x1fgpu\x1fhigh\x1fPENDING\x1f1794709283\x1f1794709284\x1f1\x1f2K\x1f\
             cpu=1,mem=1000M,node=1,billing=1,gres/gpu=2,gres/gpu:h100=2\x1f1-00:00:00\x1fResources\x1f\n\
             77\x1fbob\x1fml\x1fpreempt\x1fnormal\x1fPENDING\x1f1794709190\x1fN/A\x1f1\x1f65\x1f\
             N/A\x1fUNLIMITED\x1fNone\x1f\n",
        );
        assert_eq!(parsed.rejects, []);
        let second = |second| Timestamp::from_second(second).unwrap();
        let text = |text: &str| Some(text.to_owned());
        let first = QueueSpan {
            cluster: "maple".to_owned(),
            job_id: "101".to_owned(),
            start_time: second(TIME),
            end_time: second(TIME + 1800),
            last_seen_time: second(TIME),
            samples: 1,
            user: text("carol"),
            account: text("ml"),
            partition: text("gpu"),
            qos: text("high"),
            state: "PENDING".to_owned(),
            reason: text("Resources"),
            submit_time: Some(second(1_794_709_283)),
            eligible_time: Some(second(1_794_709_284)),
            tasks: Some(1),
            req_nodes: Some(1),
            req_cpus: Some(2048),
            req_mem_mb: Some(1000.0),
            req_gpus: Some(2),
            gpu_types: text("h100=2"),
            time_limit_seconds: Some(86_400),
        };
        let second_job = QueueSpan {
            job_id: "77".to_owned(),
            user: text("bob"),
            partition: text("preempt"),
            qos: text("normal"),
            reason: None,
            submit_time: Some(second(1_794_709_190)),
            eligible_time: None,
            req_cpus: Some(65),
            req_mem_mb: None,
            req_gpus: None,
            gpu_types: None,
            time_limit_seconds: None,
            ..first.clone()
        };
        assert_eq!(parsed.records, [first, second_job]);
    }

    #[test]
    fn every_column_that_is_read_has_its_heading() {
        let headings = "JOBID USER ACCOUNT PARTITION QOS STATE SUBMIT_TIME ELIGIBLE_TIME NODES CPUS \
                        TRES_ALLOC TIME_LIMIT REASON";
        let columns = Columns::of(&headings.split(' ').collect::<Vec<_>>());
        assert!(!format!("{columns:?}").contains("None"), "{columns:?}");
    }

    /// Recorded without headings and with other columns, all states.
    #[test]
    fn a_recording_is_read() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/squeue-O.psv");
        let rows = std::fs::read_to_string(file).unwrap();
        let parsed = parsed(&format!(
            "ID|JOBID|HET_JOB_OFFSET|USER|ACCOUNT|PARTITION|QOS|NAME|STATE|REASON|CPUS|TRES_ALLOC|\
             TRES_PER_NODE|TRES_PER_JOB|SUBMIT_TIME|START_TIME|TIME_LEFT|NODELIST\n{rows}"
        ));
        assert_eq!(parsed.rejects, []);
        // awk -F'|' '$9 == "PENDING"' finds 11 of 17.
        assert_eq!(parsed.records.len(), 17);
        let waiting = parsed.records.iter().filter(|span| span.state == "PENDING");
        assert_eq!(waiting.count(), 11);
        let array = &parsed.records[1];
        assert_eq!((array.job_id.as_str(), array.tasks), ("18_[0-99%10]", Some(100)));
        let reasons = parsed.records[2].reason.as_deref();
        assert_eq!(reasons, Some("ReqNodeNotAvail, UnavailableNodes:cpu04"));
    }

    #[test]
    fn tasks_that_are_not_all_printed_are_not_counted() {
        assert_eq!(tasks("18_[1,3,5-7]"), Some(5));
        assert_eq!(tasks("18_7"), Some(1));
        assert_eq!(tasks("18_[1,3,5,7,9,11,13,...]"), None);
        assert_eq!(tasks("18_[1,3,5,7,9"), None);
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let parsed = parsed("JOBID|STATE|CPUS|\n1|PENDING|\n2|PENDING|many|\n3|PENDING|4|\n");
        assert_eq!(parsed.records.len(), 1);
        let reasons: Vec<_> =
            parsed.rejects.iter().map(|reject| (reject.position, reject.reason.as_str())).collect();
        assert_eq!(reasons, [(2, "the row has too few cells"), (3, "CPUS cannot be `many`")]);
    }
}
