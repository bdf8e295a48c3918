//! `squeue`: the jobs that wait, and why, and those that hold something now.
//!
//! One question serves the history and the live state: who asked twice would ask the controller
//! for its whole queue twice.
//!
//! A job that cannot start yet (held, not before a time, after another) is nowhere in sacct: no
//! window shows it until it is eligible. So a row here is both a span of waiting and a [`Job`],
//! under the key that sacct will have for it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use record::{Job, QueueSpan, Text};

use super::rows::{Column, Layout, Reader, Row, Rows};
use super::{DELIMITER, JobId, cluster_option, count, moment, name, value, word};
use crate::machine::Command;
use crate::notation::{duration, hostlist, tres};
use crate::parsed::{Parsed, Parser};

/// What is asked for. In `--Format` what stands behind the colon is printed behind each value,
/// and without a width there the value is printed whole. Name stands last: it may hold anything.
const FIELDS: [&str; 14] = [
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
    "Name",
];

/// The states of jobs that wait.
const WAITING: [&str; 5] =
    ["PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"];

/// Asks for the jobs of all users in all partitions: those of the cluster with this name in slurmdbd,
/// or of the one that squeue is configured for. Those that ended lately and that the controller
/// still knows are among them.
pub fn squeue(cluster_in_slurmdbd: Option<&str>) -> Command {
    let format = FIELDS.map(|field| format!("{field}:{DELIMITER}")).join(",");
    Command {
        program: "squeue",
        arguments: vec![
            "--all".to_owned(),
            cluster_option(cluster_in_slurmdbd).unwrap_or_else(|| "--local".to_owned()),
            "--states=all".to_owned(),
            format!("--Format={format}"),
        ],
        time_limit: Duration::from_secs(60),
    }
}

/// A job in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// What it asks for, or holds if it does not wait.
    pub span: QueueSpan,
    /// The same as a job that has not started; a later row of sacct takes its place. There is none
    /// where the row is of a job that does not wait, or does not say when it was submitted.
    pub job: Option<Box<Job>>,
}

impl Waiting {
    /// Whether it waits, and does not run, or end.
    pub fn is_waiting(&self) -> bool {
        WAITING.contains(&self.span.state.as_str())
    }
}

/// The row that takes the place of a waiting job's last one when a later, whole answer of squeue no
/// longer has the job, and sacct, asked after that, has no later row of it either. `is_accounted`
/// says whether sacct has a row of a job with this id and the same submit time.
///
/// What starts or ends has such a row, so two things are left. A job that was cancelled before it
/// was eligible is in no window of sacct, nor are the tasks of an array that waited for others of
/// it (`%10`). And the tasks that wait together, `18_[]`, are no more when the last of them has
/// started: it takes over their record, under its own number. Then each task has a row of its own,
/// and this one becomes `SPLIT`, which is final, holds nothing, and is no job to be counted.
///
/// Should sacct have been late, its next row takes the place of this one: it was observed later.
pub fn left_the_queue(last: &Job, is_accounted: impl Fn(&str) -> bool, time: Timestamp) -> Job {
    let is_split = match (&last.array_job_id, &last.array_task_id) {
        (Some(array), Some(tasks)) if last.job_id.ends_with("_[]") => {
            // Of a list that is not whole, all that is there has to be accounted for.
            hostlist::all_numbers(tasks.as_bytes(), |task| is_accounted(&format!("{array}_{task}")))
                .unwrap_or(true)
        }
        _ => false,
    };
    let (state, end_reason) = if is_split {
        ("SPLIT", "each task has a row of its own")
    } else if is_part(&last.job_id, &is_accounted) {
        ("SPLIT", "it has a row as a part of a heterogeneous job")
    } else {
        ("CANCELLED", "left the queue without an account")
    };
    Job {
        observed_time: time,
        state: state.into(),
        is_complete: true,
        end_reason: Some(end_reason.into()),
        ..last.clone()
    }
}

/// Whether a job has a row as a part of a heterogeneous one. While such a job waits, sacct of SLURM
/// 24.11 prints its parts under numbers of their own, `20` and `21`, and later as `20+0` and `20+1`.
fn is_part(job_id: &str, is_accounted: impl Fn(&str) -> bool) -> bool {
    /// `MAX_HET_JOB_COMPS` of SLURM.
    const MOST_PARTS: u64 = 128;
    let Ok(number) = job_id.parse::<u64>() else { return false };
    (0..MOST_PARTS.min(number + 1))
        .any(|offset| is_accounted(&format!("{}+{offset}", number - offset)))
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
                cluster_in_slurmdbd: None,
                time,
                end_time: time.checked_add(hold).unwrap_or(Timestamp::MAX),
                columns: Columns::of(&[]),
                parsed: Parsed::default(),
            },
        }
    }

    /// Takes only the rows of the cluster with this name in slurmdbd, which stands above them.
    pub fn of_cluster_in_slurmdbd(mut self, name: &str) -> Squeue {
        self.queue.cluster_in_slurmdbd = Some(name.to_owned());
        self
    }
}

impl Parser<Waiting> for Squeue {
    fn push(&mut self, piece: &[u8]) {
        self.rows.push(piece, &mut self.queue);
    }

    fn finish(mut self) -> Parsed<Waiting> {
        self.rows.finish(&mut self.queue);
        self.queue.parsed
    }
}

struct Queue {
    cluster: String,
    cluster_in_slurmdbd: Option<String>,
    time: Timestamp,
    end_time: Timestamp,
    columns: Columns,
    parsed: Parsed<Waiting>,
}

impl Reader for Queue {
    /// `CLUSTER: birch`, where a cluster was asked for by its name.
    fn heading(&mut self, line: &[u8]) -> bool {
        match (line.strip_prefix(b"CLUSTER: "), &self.cluster_in_slurmdbd) {
            (Some(name), Some(asked)) => name.trim_ascii().eq_ignore_ascii_case(asked.as_bytes()),
            _ => false,
        }
    }

    fn header(&mut self, names: &[&str]) -> Option<Layout> {
        self.columns = Columns::of(names);
        // Behind the last value stands a delimiter too.
        let last = names.len() - 1 - usize::from(names.last() == Some(&""));
        let last_takes_rest = self.columns.name.index == Some(last);
        Some(Layout { id: self.columns.job_id.index?, last_takes_rest })
    }

    fn row(&mut self, line: u64, row: Row<'_>) {
        match self.waiting(row) {
            Ok(waiting) => self.parsed.records.push(waiting),
            Err(reason) => self.parsed.reject(line, reason, row.text),
        }
    }

    fn reject(&mut self, line: u64, reason: &str, text: &[u8]) {
        self.parsed.reject(line, reason, text);
    }
}

impl Queue {
    fn waiting(&self, row: Row<'_>) -> Result<Waiting, String> {
        let columns = &self.columns;
        let printed_id = row.cell(columns.job_id);
        let id = JobId::read(printed_id)?;
        // The column is called so for running jobs; a waiting one shows there what it asks for.
        let asked = value(row, columns.tres, tres::resources)?.unwrap_or_default();
        let span = QueueSpan {
            cluster: self.cluster.clone().into(),
            job_id: id.job_id.clone(),
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
            tasks: tasks(printed_id),
            req_nodes: value(row, columns.nodes, scaled_count)?,
            req_cpus: value(row, columns.cpus, scaled_count)?,
            req_mem_mb: asked.memory_mb,
            req_gpus: asked.gpus,
            gpu_types: asked.gpu_types,
            time_limit_seconds: value(row, columns.time_limit, duration::seconds)?
                .map(|seconds| seconds as i64),
        };
        let job = span
            .submit_time
            .filter(|_| WAITING.contains(&span.state.as_str()))
            .map(|submit_time| Box::new(self.job(&span, id, submit_time, name(row, columns.name))));
        Ok(Waiting { span, job })
    }

    fn job(
        &self,
        span: &QueueSpan,
        id: JobId,
        submit_time: Timestamp,
        job_name: Option<Text>,
    ) -> Job {
        Job {
            cluster: self.cluster.clone().into(),
            job_id: id.job_id,
            submit_time,
            attempt: 0,
            observed_time: self.time,
            source: "squeue".into(),
            array_job_id: id.array_job_id,
            array_task_id: id.array_task_id,
            het_job_id: id.het_job_id,
            het_offset: id.het_offset,
            user: span.user.clone(),
            unix_group: None,
            account: span.account.clone(),
            job_name,
            partition: span.partition.clone(),
            qos: span.qos.clone(),
            reservation: None,
            state: span.state.clone(),
            is_complete: false,
            exit_code: None,
            exit_signal: None,
            reason: span.reason.clone(),
            end_reason: None,
            eligible_time: span.eligible_time,
            start_time: None,
            end_time: None,
            time_limit_seconds: span.time_limit_seconds,
            elapsed_seconds: None,
            suspended_seconds: None,
            node_list: None,
            slot: None,
            gpu_ids: None,
            alloc_nodes: None,
            alloc_cpus: None,
            alloc_mem_mb: None,
            alloc_gpus: None,
            gpu_types: None,
            req_nodes: span.req_nodes,
            req_cpus: span.req_cpus,
            req_mem_mb: span.req_mem_mb,
            req_gpus: span.req_gpus,
            max_rss_mb: None,
            total_cpu_seconds: None,
            usage_source: None,
            cpu_efficiency: None,
            memory_efficiency: None,
            cpu_hours_wasted: None,
            memory_gb_hours_wasted: None,
            cpu_hours_reserved: None,
            memory_gb_hours_reserved: None,
            gpu_hours_reserved: None,
            gpu_utilization: None,
            gpu_memory_max_mb: None,
            gpu_usage_source: None,
            energy_joules: None,
            earlier_values: None,
        }
    }
}

/// The waiting tasks of `18_[0-99%10]`; anything else is one. Of many that are not a range squeue
/// prints the first few, and how many they are is not known.
fn tasks(printed_id: &[u8]) -> Option<i64> {
    match memchr::memmem::find(printed_id, b"_[") {
        Some(mark) => hostlist::count_numbers(printed_id[mark + 2..].strip_suffix(b"]")?),
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
    name: Column,
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
            name: find("NAME"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed::parse;

    const TIME: i64 = 1_794_709_300;

    fn parsed(text: &str) -> Parsed<Waiting> {
        let time = Timestamp::from_second(TIME).unwrap();
        parse(Squeue::new("maple", time, SignedDuration::from_secs(1800)), text.as_bytes())
    }

    #[test]
    fn the_command_asks_for_the_whole_queue_once() {
        let command = squeue(None);
        assert_eq!(command.program, "squeue");
        assert_eq!(command.time_limit, Duration::from_secs(60));
        assert_eq!(
            command.arguments,
            [
                "--all",
                "--local",
                "--states=all",
                "--Format=JobArrayID:\u{1f},UserName:\u{1f},Account:\u{1f},Partition:\u{1f},\
                 QOS:\u{1f},State:\u{1f},SubmitTime:\u{1f},EligibleTime:\u{1f},NumNodes:\u{1f},\
                 NumCPUs:\u{1f},tres-alloc:\u{1f},TimeLimit:\u{1f},Reason:\u{1f},Name:\u{1f}",
            ]
        );
        assert_eq!(squeue(Some("birch")).arguments[1], "--clusters=birch");
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
        let text = |text: &str| Some(Text::from(text));
        let first = QueueSpan {
            cluster: "maple".to_owned().into(),
            job_id: "101".to_owned().into(),
            start_time: second(TIME),
            end_time: second(TIME + 1800),
            last_seen_time: second(TIME),
            samples: 1,
            user: text("carol"),
            account: text("ml"),
            partition: text("gpu"),
            qos: text("high"),
            state: "PENDING".to_owned().into(),
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
            job_id: "77".to_owned().into(),
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
        let spans: Vec<_> = parsed.records.iter().map(|waiting| waiting.span.clone()).collect();
        assert_eq!(spans, [first, second_job]);
    }

    const HEADER: &str = "JOBID\x1fUSER\x1fACCOUNT\x1fPARTITION\x1fQOS\x1fSTATE\x1fSUBMIT_TIME\x1f\
         ELIGIBLE_TIME\x1fNODES\x1fCPUS\x1fTRES_ALLOC\x1fTIME_LIMIT\x1fREASON\x1fNAME\x1f\n";

    /// A row in the form of [`HEADER`].
    fn row(job_id: &str, state: &str, eligible: &str, name: &str) -> String {
        format!(
            "{job_id}\x1fann\x1fml\x1fgpu\x1fhigh\x1f{state}\x1f10\x1f{eligible}\x1f2\x1f8\x1f\
             cpu=8,mem=4000M,node=2,billing=8,gres/gpu=2\x1f5:00\x1fJobHeldUser\x1f{name}\x1f\n"
        )
    }

    /// sacct prints the same job, held, when it is asked for it by its number.
    #[test]
    fn a_waiting_job_is_a_job_under_the_key_that_sacct_will_have_for_it() {
        let waiting = parsed(&format!("{HEADER}{}", row("18_[0-99%10]", "PENDING", "N/A", "x")));
        assert_eq!(waiting.rejects, []);
        let job = waiting.records[0].job.clone().unwrap();
        let accounted = parse(
            super::super::Sacct::new("maple", Timestamp::from_second(TIME).unwrap()),
            b"JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|\
              End|ElapsedRaw|TimelimitRaw|AllocNodes|AllocCPUS|AllocTRES|ReqNodes|ReqCPUS|ReqMem|\
              ReqTRES|NodeList|Reason|JobName\n\
              18_[0-99%10]|18|maple|ann|ml|gpu|high|PENDING|0:0|10|Unknown|Unknown|Unknown|0|5|2|8||2|\
              8|4000M|billing=8,cpu=8,gres/gpu=2,mem=4000M,node=2|None assigned|JobHeldUser|x\n",
        );
        assert_eq!(accounted.rejects, []);
        assert_eq!((job.job_id.as_str(), job.source.as_str()), ("18_[]", "squeue"));
        assert_eq!(Job { source: "sacct".to_owned().into(), ..*job }, accounted.records[0]);
    }

    #[test]
    fn only_what_waits_is_a_job() {
        let table = ["PENDING", "SPECIAL_EXIT", "RUNNING"].map(|state| row("1", state, "20", "x"));
        let parsed = parsed(&format!("{HEADER}{}", table.concat()));
        let found: Vec<bool> = parsed.records.iter().map(|waiting| waiting.job.is_some()).collect();
        assert_eq!(found, [true, true, false]);
        assert!(parsed.records.iter().map(Waiting::is_waiting).eq(found));
    }

    #[test]
    fn a_name_may_hold_delimiters_and_newlines() {
        let table = ["x", "", "new\nline", "unit\x1fseparator", "\x1f\n\n", "5 \x1f"]
            .map(|name| row("1", "PENDING", "20", name));
        let parsed = parsed(&format!("{HEADER}{}", table.concat()));
        assert_eq!(parsed.rejects, []);
        let names: Vec<_> = parsed
            .records
            .iter()
            .map(|waiting| waiting.job.as_ref().unwrap().job_name.as_deref())
            .collect();
        assert_eq!(
            names,
            [
                Some("x"),
                None,
                Some("new\nline"),
                Some("unit\x1fseparator"),
                Some("\x1f\n\n"),
                Some("5 \x1f"),
            ]
        );
    }

    #[test]
    fn a_row_that_lacks_its_last_delimiter_was_cut() {
        let whole = format!("{HEADER}{}", row("1", "PENDING", "20", "x"));
        assert_eq!(parsed(&whole[..whole.len() - 1]).records.len(), 1);
        for cut in [2, 3, 4, 17, 20] {
            let parsed = parsed(&whole[..whole.len() - cut]);
            assert_eq!((parsed.records.len(), parsed.rejects.len()), (0, 1), "without {cut}");
            assert_eq!(parsed.rejects[0].reason, "the row has too few cells");
        }
    }

    #[test]
    fn a_cluster_asked_for_by_name_stands_above_its_rows() {
        let table = format!("CLUSTER: birch\n{HEADER}{}", row("1", "PENDING", "20", "x"));
        let time = Timestamp::from_second(TIME).unwrap();
        let parser = || Squeue::new("b", time, SignedDuration::from_secs(1800));
        let birch = parse(parser().of_cluster_in_slurmdbd("Birch"), table.as_bytes());
        assert_eq!((birch.records.len(), birch.rejects.len()), (1, 0));
        let maple = parse(parser().of_cluster_in_slurmdbd("maple"), table.as_bytes());
        assert_eq!(maple.rejects[0].text, "CLUSTER: birch");
    }

    /// Seen on 22.05: the tasks of `0-5%1` left one by one, and the last took over the record of
    /// those that waited. Another array was cancelled after two, and sacct's windows show no more.
    #[test]
    fn what_leaves_the_queue_unaccounted_is_settled() {
        let later = Timestamp::from_second(TIME + 60).unwrap();
        for (job_id, accounted, state) in [
            ("7", &[][..], "CANCELLED"),
            ("21", &["20+0", "20+1"], "SPLIT"),
            ("20", &["20+0", "20+1"], "SPLIT"),
            ("22", &["20+0", "20+1"], "CANCELLED"),
            ("18_5", &[], "CANCELLED"),
            ("1_[5%1]", &["1_4", "1_5"], "SPLIT"),
            ("1_[4-5%1]", &["1_4", "1_5"], "SPLIT"),
            ("9_[2-5%1]", &["9_0", "9_1"], "CANCELLED"),
            ("9_[2-5%1]", &["9_2", "9_3", "9_5"], "CANCELLED"),
            // Held until it was cancelled: no task ever left it.
            ("2_[0-3]", &[], "CANCELLED"),
            ("3_[1,3,...]", &["3_1", "3_3"], "SPLIT"),
            ("3_[1,3,...]", &["3_1"], "CANCELLED"),
        ] {
            let table = format!("{HEADER}{}", row(job_id, "PENDING", "N/A", "x"));
            let last = parsed(&table).records.remove(0).job.unwrap();
            let settled = left_the_queue(&last, |id| accounted.contains(&id), later);
            assert_eq!(settled.state, state, "{job_id} {accounted:?}");
            assert!(settled.is_complete);
            assert_eq!((settled.observed_time, settled.start_time), (later, None));
            let key = |job: &Job| (job.job_id.clone(), job.submit_time, job.attempt);
            assert_eq!(key(&settled), key(&last));
        }
    }

    #[test]
    fn every_column_that_is_read_has_its_heading() {
        let headings = "JOBID USER ACCOUNT PARTITION QOS STATE SUBMIT_TIME ELIGIBLE_TIME NODES CPUS \
                        TRES_ALLOC TIME_LIMIT REASON NAME";
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
        let pending = |waiting: &&Waiting| waiting.span.state == "PENDING";
        assert_eq!(parsed.records.iter().filter(pending).count(), 11);
        // And job 88, which was requeued into a hold.
        assert_eq!(parsed.records.iter().filter(|waiting| waiting.job.is_some()).count(), 12);
        let Waiting { span, job } = &parsed.records[1];
        assert_eq!((span.job_id.as_str(), span.tasks), ("18_[]", Some(100)));
        let job = job.as_ref().unwrap();
        assert_eq!(job.array_task_id.as_deref(), Some("0-99%10"));
        assert_eq!(job.job_name.as_deref(), Some("pending-array"));
        let reasons = parsed.records[2].span.reason.as_deref();
        assert_eq!(reasons, Some("ReqNodeNotAvail, UnavailableNodes:cpu04"));
    }

    #[test]
    fn tasks_that_are_not_all_printed_are_not_counted() {
        assert_eq!(tasks(b"18_[1,3,5-7]"), Some(5));
        assert_eq!(tasks(b"18_7"), Some(1));
        assert_eq!(tasks(b"18_[1,3,5,7,9,11,13,...]"), None);
        assert_eq!(tasks(b"18_[1,3,5,7,9"), None);
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
