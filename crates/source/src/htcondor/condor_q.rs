//! The queue of an access point: the jobs that wait for GPUs, and the executions under way.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use record::{Job, QueueSpan};

use super::execution::{account, eligible_time, execution};
use super::{job_id, name_option};
use crate::notation::classad::{Ad, Ads};
use crate::{Command, Parsed, Parser};

/// Asks an access point, one of [`Schedds`](super::Schedds) or the one at hand, for the jobs of all
/// users that wait for GPUs, and for all that run. Those that wait for CPUs alone can be a million.
///
/// `-global` would ask all access points at once; asked alone, one that does not answer is known
/// by its name, and the others' answers are whole.
pub fn condor_q(schedd: Option<&str>) -> Command {
    const ATTRIBUTES: &str = "GlobalJobId,Owner,AccountingGroup,AcctGroup,ChtcProjects,ProjectName,\
        JobBatchName,JobUniverse,QDate,JobStatus,EnteredCurrentStatus,JobCurrentStartDate,\
        ShadowBday,JobLastStartDate,LastRemoteWallClockTime,NumHolds,LastHoldReasonCode,\
        ReleaseReason,NumShadowStarts,RemoteHost,AssignedGPUs,RequestCpus,RequestMemory,RequestGPUs,\
        RequireGPUs,CpusProvisioned,MemoryProvisioned,GPUsProvisioned,HoldReason,HoldReasonCode,\
        LastRejMatchReason,LastRejMatchTime";
    let wanted = format!(
        "JobUniverse != {SCHEDULER_UNIVERSE} && JobUniverse != {LOCAL_UNIVERSE} && \
         ((RequestGPUs >= 1 && (JobStatus == {IDLE} || JobStatus == {HELD})) || \
         JobStatus == {RUNNING} || JobStatus == {TRANSFERRING_OUTPUT} || JobStatus == {SUSPENDED})"
    );
    let mut arguments = name_option(schedd);
    arguments.extend(
        ["-allusers", "-json", "-constraint", &wanted, "-attributes", ATTRIBUTES]
            .map(str::to_owned),
    );
    Command { program: "condor_q", arguments, time_limit: Duration::from_secs(60) }
}

/// The values of JobStatus that concern us, by the manual's list of job ClassAd attributes.
pub(super) const IDLE: i64 = 1;
pub(super) const RUNNING: i64 = 2;
pub(super) const HELD: i64 = 5;
/// Its slot is still taken.
pub(super) const TRANSFERRING_OUTPUT: i64 = 6;
pub(super) const SUSPENDED: i64 = 7;

/// Jobs of these universes run beside the access point, in no slot, and leave no epoch.
pub(super) const SCHEDULER_UNIVERSE: i64 = 7;
pub(super) const LOCAL_UNIVERSE: i64 = 12;

/// A job in the queue.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "both are many, and are taken apart at once")]
pub enum Queued {
    /// It waits for GPUs: `IDLE` until one is free, `HELD` until somebody lets it go.
    Waiting(QueueSpan),
    /// An execution under way; what condor_history has of it later takes its place.
    Running(Job),
}

/// Reads what [`condor_q`] prints.
pub struct CondorQ {
    queue: Queue,
    jobs: Ads<Option<Queued>>,
}

impl CondorQ {
    /// Reads the queue of an access point as it stood at a time; what is seen holds for a while.
    pub fn new(cluster: impl Into<String>, time: Timestamp, hold: SignedDuration) -> CondorQ {
        let end_time = time.checked_add(hold).unwrap_or(Timestamp::MAX);
        CondorQ { queue: Queue { cluster: cluster.into(), time, end_time }, jobs: Ads::default() }
    }
}

impl Parser<Queued> for CondorQ {
    fn push(&mut self, piece: &[u8]) {
        let CondorQ { queue, jobs } = self;
        jobs.push(piece, |text| queue.job(text));
    }

    fn finish(self) -> Parsed<Queued> {
        let Parsed { records, rejects } = self.jobs.finish();
        Parsed { records: records.into_iter().flatten().collect(), rejects }
    }
}

struct Queue {
    cluster: String,
    time: Timestamp,
    end_time: Timestamp,
}

impl Queue {
    /// A job that waits for GPUs or runs; others are none of ours.
    fn job(&self, text: &[u8]) -> Result<Option<Queued>, String> {
        let ad = Ad::read(text)?;
        let status = ad.integer("JobStatus").ok_or("the job has no JobStatus")?;
        if [SCHEDULER_UNIVERSE, LOCAL_UNIVERSE].map(Some).contains(&ad.integer("JobUniverse")) {
            return Ok(None);
        }
        match status {
            IDLE | HELD if asks_for_gpus(&ad) => Ok(Some(Queued::Waiting(self.waiting(&ad)?))),
            RUNNING | TRANSFERRING_OUTPUT | SUSPENDED => self.running(&ad, status),
            _ => Ok(None),
        }
    }

    fn waiting(&self, ad: &Ad<'_>) -> Result<QueueSpan, String> {
        let global_job_id = ad.words("GlobalJobId").ok_or("the job has no GlobalJobId")?;
        let is_held = ad.integer("JobStatus") == Some(HELD);
        // It waits since it was submitted, evicted or let go.
        let since = ad.time("EnteredCurrentStatus");
        let reason = if is_held {
            let code = ad.integer("HoldReasonCode");
            ad.words("HoldReason").map(|reason| match code {
                Some(code) => format!("{code}: {reason}").into(),
                None => reason,
            })
        } else {
            // What the negotiator last said may be of a wait before this one.
            let is_of_this_wait = ad.time("LastRejMatchTime") >= since;
            ad.words("LastRejMatchReason").filter(|_| is_of_this_wait)
        };
        let req_gpus = ad.integer("RequestGPUs");
        Ok(QueueSpan {
            cluster: self.cluster.clone().into(),
            job_id: job_id(&global_job_id).into(),
            start_time: self.time,
            end_time: self.end_time,
            last_seen_time: self.time,
            samples: 1,
            user: ad.words("Owner"),
            account: account(ad),
            partition: None,
            qos: None,
            state: if is_held { "HELD" } else { "IDLE" }.into(),
            reason,
            submit_time: ad.time("QDate"),
            eligible_time: since.filter(|_| !is_held),
            tasks: Some(1),
            req_nodes: None,
            req_cpus: ad.integer("RequestCpus"),
            req_mem_mb: ad.number("RequestMemory"),
            req_gpus,
            gpu_types: req_gpus
                .zip(ad.expression("RequireGPUs").as_deref().and_then(device_name))
                .map(|(gpus, device)| format!("{device}={gpus}").into()),
            time_limit_seconds: None,
        })
    }

    fn running(&self, ad: &Ad<'_>, status: i64) -> Result<Option<Queued>, String> {
        // The status changes a moment before the shadow is born. Until then the count of shadows
        // and the slot are those of the execution before.
        if ad.time("ShadowBday").is_none() {
            return Ok(None);
        }
        let mut job = execution(&self.cluster, self.time, "condor_q", ad)?;
        job.eligible_time = eligible_time(ad, &job);
        if status == SUSPENDED {
            job.state = "SUSPENDED".into();
        }
        Ok(Some(Queued::Running(job)))
    }
}

/// Whether a job asks for GPUs; an expression that is not evaluated here may.
fn asks_for_gpus(ad: &Ad<'_>) -> bool {
    match ad.number("RequestGPUs") {
        Some(gpus) => gpus >= 1.0,
        None => ad.expression("RequestGPUs").is_some(),
    }
}

/// The model in `Capability >= 8.0 && DeviceName == "NVIDIA A100-SXM4-40GB"`: the only one for which the
/// expression can be true. None if there may be a choice of models, or a model is only ruled out.
fn device_name(expression: &str) -> Option<&str> {
    let outside_quotes = || expression.split('"').step_by(2);
    if outside_quotes().any(|text| text.contains("||") || text.contains('?')) {
        // `=?=` is a comparison and no choice; it is rare enough not to be told apart here.
        return None;
    }
    let (before, rest) = expression.split_once('"')?;
    let (device, behind) = rest.split_once('"')?;
    let term = before.rsplit("&&").next()?;
    let term: String =
        term.chars().filter(|letter| !letter.is_whitespace() && *letter != '(').collect();
    let is_device = term.eq_ignore_ascii_case("DeviceName==")
        || term.eq_ignore_ascii_case("TARGET.DeviceName==");
    let is_required = is_device && opens_plainly(before) && continues_with_and(behind);
    (is_required && !behind.contains('"')).then_some(device)
}

/// Whether each parenthesis that is still open stands at the begin of a conjunct: behind `!` or a
/// function's name it does not.
fn opens_plainly(before: &str) -> bool {
    let mut open = Vec::new();
    let mut last = None;
    for letter in before.chars().filter(|letter| !letter.is_whitespace()) {
        match letter {
            '(' => open.push(matches!(last, None | Some('(' | '&'))),
            ')' => drop(open.pop()),
            _ => {}
        }
        last = Some(letter);
    }
    open.into_iter().all(|is_plain| is_plain)
}

/// Whether a term, and then each parenthesis around it, is followed by `&&` or by nothing: any other
/// operator may turn its meaning around.
fn continues_with_and(behind: &str) -> bool {
    let is_next = |text: &str| {
        let text = text.trim_start();
        text.is_empty() || text.starts_with(')') || text.starts_with("&&")
    };
    let mut depth = 0_usize;
    let is_closed_well = |(place, letter): (usize, char)| match letter {
        '(' => {
            depth += 1;
            true
        }
        ')' if depth == 0 => is_next(&behind[place + 1..]),
        ')' => {
            depth -= 1;
            true
        }
        // Arguments of a function.
        ',' => depth > 0,
        _ => true,
    };
    is_next(behind) && behind.char_indices().all(is_closed_well)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::{CondorHistory, fixture};
    use super::*;
    use crate::parse;

    const SNAPSHOTS: [(&str, i64); 5] = [
        ("2026-11-15T031805Z", 1794712685),
        ("2026-11-15T032337Z", 1794713017),
        ("2026-11-15T033505Z", 1794713705),
        ("2026-11-15T034105Z", 1794714065),
        ("2026-11-15T034635Z", 1794714395),
    ];

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn parser(second: i64) -> CondorQ {
        CondorQ::new("chtc", time(second), SignedDuration::from_secs(600))
    }

    /// What both access points had at a snapshot, by the logs' names of the jobs.
    fn recorded(
        snapshot: &str,
        second: i64,
    ) -> (BTreeMap<String, QueueSpan>, BTreeMap<String, Job>) {
        let (mut waiting, mut running) = (BTreeMap::new(), BTreeMap::new());
        for access_point in ["ap2001", "ap2002"] {
            let text = fixture::read(&format!("{snapshot}/q_{access_point}.json"));
            let Parsed { records, rejects } = parse(parser(second), &text);
            assert_eq!(rejects, []);
            for queued in records {
                match queued {
                    Queued::Waiting(span) => {
                        waiting.insert(fixture::name_in_logs(Some(&span.job_id)), span);
                    }
                    Queued::Running(job) => {
                        running.insert(fixture::name_in_logs(Some(&job.job_id)), job);
                    }
                }
            }
        }
        (waiting, running)
    }

    /// One job: what every ad has, and more.
    fn queued(attributes: &str) -> Option<Queued> {
        let ad = format!(
            r#"[{{{attributes},"GlobalJobId":"ap1.example.org#12.3#1000","QDate":1000,"Owner":"ann"}}]"#
        );
        let Parsed { mut records, rejects } = parse(parser(5000), ad.as_bytes());
        assert_eq!(rejects, []);
        records.pop()
    }

    fn waiting(attributes: &str) -> QueueSpan {
        match queued(attributes) {
            Some(Queued::Waiting(span)) => span,
            other => panic!("{other:?} does not wait"),
        }
    }

    #[test]
    fn what_runs_is_what_the_users_logs_say_runs() {
        let mut compared = 0;
        for (snapshot, second) in SNAPSHOTS {
            let (_, mut running) = recorded(snapshot, second);
            for row in fixture::table("truth/attempts.csv") {
                let seconds = |column: &str| row[column].parse::<i64>().ok();
                let start = seconds("start_unix").unwrap();
                let runs = start <= second && seconds("end_unix").is_none_or(|end| second < end);
                if !runs {
                    continue;
                }
                let name = format!("{}:{}", row["ap"], row["job"]);
                let job = running.remove(&name).unwrap_or_else(|| panic!("{snapshot} {name}"));
                assert_eq!(job.attempt.to_string(), row["attempt"], "{snapshot} {name}");
                let start_late = start - job.start_time.unwrap().as_second();
                assert!((1..=2).contains(&start_late), "{snapshot} {name} {start_late}");
                assert_eq!(job.user.as_deref(), Some(row["owner"].as_str()), "{snapshot} {name}");
                assert_eq!(job.slot.as_deref(), Some(row["slot"].as_str()), "{snapshot} {name}");
                let ids = |list: &str| list.split(',').map(str::to_owned).collect::<BTreeSet<_>>();
                assert_eq!(ids(&job.gpu_ids.unwrap_or_default()), ids(&row["gpus"]), "{name}");
                assert_eq!((job.state.as_str(), job.is_complete), ("RUNNING", false));
                assert_eq!(
                    (job.end_time, job.total_cpu_seconds, job.max_rss_mb),
                    (None, None, None)
                );
                compared += 1;
            }
            assert_eq!(running.keys().collect::<Vec<_>>(), [""; 0], "{snapshot}");
        }
        assert_eq!(compared, 76);
    }

    #[test]
    fn what_waits_is_what_the_users_logs_leave_waiting() {
        let mut compared = 0;
        for (snapshot, second) in SNAPSHOTS {
            let (waiting, _) = recorded(snapshot, second);
            let attempts = fixture::table("truth/attempts.csv");
            for (name, span) in &waiting {
                let seconds = |row: &std::collections::HashMap<String, String>, column: &str| {
                    row[column].parse::<i64>().ok()
                };
                let mut last_end = None;
                for row in &attempts {
                    if format!("{}:{}", row["ap"], row["job"]) != *name {
                        continue;
                    }
                    let end = seconds(row, "end_unix").filter(|&end| end <= second);
                    assert!(end.is_some() || seconds(row, "start_unix") > Some(second), "{name}");
                    last_end = last_end.max(end);
                }
                if let (Some(end), Some(since)) = (last_end, span.eligible_time) {
                    let late = since.as_second() - end;
                    assert!((-2..=2).contains(&late), "{snapshot} {name} {late}");
                    compared += 1;
                }
            }
            // What the origin asks for, asked of the same queue in the same second.
            let mut idle = BTreeSet::new();
            for access_point in ["ap2001", "ap2002"] {
                let text = fixture::read(&format!("{snapshot}/pressure_{access_point}.json"));
                let mut jobs: Ads<String> = Ads::default();
                jobs.push(&text, |text| Ok(Ad::read(text)?.words("GlobalJobId").unwrap().into()));
                for id in jobs.finish().records {
                    idle.insert(fixture::name_in_logs(Some(job_id(&id))));
                }
            }
            let ours = waiting.iter().filter(|(_, span)| span.state == "IDLE");
            assert_eq!(ours.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(), idle);
        }
        assert_eq!(compared, 16);
    }

    #[test]
    fn the_queue_at_one_moment_is_read() {
        let (waiting, _) = recorded("2026-11-15T032337Z", 1794713017);
        let shown: Vec<String> = waiting
            .iter()
            .map(|(name, span)| {
                let reason: String =
                    span.reason.as_deref().unwrap_or("-").chars().take(40).collect();
                let gpus = span.req_gpus.unwrap();
                format!("{name} {} {gpus} {}: {reason}", span.state, span.user.as_ref().unwrap())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "ap2001:11.0 HELD 1 tnguyen: 3: ran too long",
                "ap2001:12.0 HELD 1 tnguyen: 47: The job exceeded allowed execute dur",
                "ap2001:13.0 HELD 1 tnguyen: 13: Transfer input files failure at acce",
                "ap2001:4.0 HELD 1 tnguyen: 1: paused by its owner (by user tnguyen)",
                "ap2001:5.0 IDLE 2 tnguyen: no match found",
                "ap2001:8.0 HELD 1 mgarcia: 3: exit code was not zero",
                "ap2002:1.0 IDLE 1 kpatel: no match found",
                "ap2002:2.0 IDLE 1 kpatel: -",
                "ap2002:8.0 IDLE 2 qlee: PREEMPTION_REQUIREMENTS == False",
                "ap2002:9.0 IDLE 16 kpatel: no match found",
            ]
        );
        // It never ran: it waits since it was submitted.
        let never_ran = &waiting["ap2002:9.0"];
        assert_eq!(never_ran.submit_time, Some(time(1794712869)));
        assert_eq!(never_ran.eligible_time, never_ran.submit_time);
        assert_eq!((never_ran.tasks, never_ran.samples), (Some(1), 1));
        assert_eq!(never_ran.end_time, time(1794713617));
        assert_eq!(waiting["ap2001:4.0"].eligible_time, None);
    }

    /// Each execution seen to run that had ended by the last snapshot is in the history, under its
    /// key, with the same start, slot and GPUs.
    #[test]
    fn the_history_takes_the_place_of_what_ran() {
        let mut ended = BTreeMap::new();
        for access_point in ["ap2001", "ap2002"] {
            let text = fixture::read(&format!("2026-11-15T034635Z/epochs_{access_point}.json"));
            for job in parse(CondorHistory::new("chtc", time(1794714396)), &text).records {
                ended.insert((job.job_id.clone(), job.submit_time, job.attempt), job);
            }
        }
        let still_running = recorded("2026-11-15T034635Z", 1794714395).1;
        let mut compared = 0;
        for (snapshot, second) in SNAPSHOTS {
            for (name, ran) in recorded(snapshot, second).1 {
                let later = ended.get(&(ran.job_id.clone(), ran.submit_time, ran.attempt));
                let Some(later) = later else {
                    assert_eq!(still_running[&name].attempt, ran.attempt, "{snapshot} {name}");
                    continue;
                };
                assert!(later.observed_time > ran.observed_time);
                let same = |job: &Job| {
                    let Job { start_time, slot, gpu_ids, alloc_gpus, user, account, .. } =
                        job.clone();
                    (start_time, slot, gpu_ids, alloc_gpus, user, account)
                };
                assert_eq!(same(&ran), same(later), "{snapshot} {name}");
                compared += 1;
            }
        }
        assert_eq!(compared, 42);
    }

    #[test]
    fn an_access_point_is_asked_by_name_for_gpu_jobs_and_all_that_run() {
        let Command { program, arguments, time_limit } = condor_q(Some("ap1.example.org"));
        assert_eq!((program, time_limit.as_secs()), ("condor_q", 60));
        assert_eq!(
            arguments[..5],
            ["-name", "ap1.example.org", "-allusers", "-json", "-constraint"]
        );
        assert_eq!(
            arguments[5],
            "JobUniverse != 7 && JobUniverse != 12 && ((RequestGPUs >= 1 && (JobStatus == 1 || \
             JobStatus == 5)) || JobStatus == 2 || JobStatus == 6 || JobStatus == 7)"
        );
        assert!(!arguments[7].contains(' '));
        assert_eq!(condor_q(None).arguments, arguments[2..]);
    }

    #[test]
    fn an_execution_under_way_has_held_its_share_until_now() {
        let running = r#""JobStatus":2,"NumShadowStarts":2,"ShadowBday":1400,"JobCurrentStartDate":1400,
            "RemoteHost":"slot1_1@gpu1.example.org","AssignedGPUs":"GPU-1,GPU-2","GPUsProvisioned":2,
            "CpusProvisioned":4,"RequestMemory":2048,"GPUsAverageUsage":1.5,"ResidentSetSize":7500"#;
        let Some(Queued::Running(job)) = queued(running) else { panic!("it runs") };
        assert_eq!((job.job_id.as_str(), job.attempt), ("ap1.example.org#12.3", 2));
        // 3600 s from 1400 until 5000, times 2 GPUs and 4 CPUs.
        assert_eq!((job.elapsed_seconds, job.gpu_hours_reserved), (Some(3600), Some(2.0)));
        assert_eq!((job.cpu_hours_reserved, job.cpu_efficiency), (Some(4.0), None));
        assert_eq!((job.gpu_utilization, job.max_rss_mb), (None, None));
        assert_eq!((job.source.as_str(), job.state.as_str()), ("condor_q", "RUNNING"));
        for (status, state) in [("6", "RUNNING"), ("7", "SUSPENDED")] {
            let other = running.replace(r#""JobStatus":2"#, &format!(r#""JobStatus":{status}"#));
            let Some(Queued::Running(job)) = queued(&other) else { panic!("it holds its slot") };
            assert_eq!(job.state, state);
        }
        // Its shadow is not there yet; the rest is left from the execution before.
        assert_eq!(queued(&running.replace("ShadowBday", "Other")), None);
        // A workflow's manager runs beside the access point.
        assert_eq!(queued(&format!(r#"{running},"JobUniverse":7"#)), None);
    }

    #[test]
    fn only_jobs_that_ask_for_gpus_are_waited_for() {
        let state = |gpus: &str| {
            queued(&format!(r#""JobStatus":1{gpus}"#)).map(|queued| match queued {
                Queued::Waiting(span) => (span.state, span.req_gpus),
                Queued::Running(_) => panic!("it waits"),
            })
        };
        let idle = |gpus| Some((record::Text::from("IDLE"), gpus));
        assert_eq!(state(r#","RequestGPUs":2"#), idle(Some(2)));
        assert_eq!(state(r#","RequestGPUs":0"#), None);
        assert_eq!(state(r#","RequestGPUs":null"#), None);
        assert_eq!(state(""), None);
        // It asks for some, by a rule of its own.
        assert_eq!(state(r#","RequestGPUs":"\/Expr(NumJobStarts > 2 ? 2 : 1)\/""#), idle(None));
        for status in ["3", "4"] {
            assert_eq!(queued(&format!(r#""JobStatus":{status},"RequestGPUs":1"#)), None);
        }
    }

    #[test]
    fn a_reason_counts_for_the_wait_that_it_was_given_in() {
        let reason = |rejected: &str| {
            waiting(&format!(
                r#""JobStatus":1,"RequestGPUs":1,"EnteredCurrentStatus":3000,
                   "LastRejMatchReason":"no match found"{rejected}"#
            ))
            .reason
        };
        assert_eq!(reason(r#","LastRejMatchTime":3001"#).as_deref(), Some("no match found"));
        assert_eq!(reason(r#","LastRejMatchTime":2999"#), None);
        assert_eq!(reason(""), None);
    }

    #[test]
    fn a_model_is_asked_for_where_there_is_no_choice() {
        for (expression, gpu_types) in [
            (r#"DeviceName == \"NVIDIA H200\""#, Some("NVIDIA H200=2")),
            (r#"(Capability >= 8.0) && (DeviceName == \"NVIDIA L40\")"#, Some("NVIDIA L40=2")),
            (r#"devicename==\"A, B = C\" && GlobalMemoryMb > 1"#, Some("A, B = C=2")),
            (r#"DeviceName == \"NVIDIA H200\" || DeviceName == \"NVIDIA H100\""#, None),
            (r#"DeviceName != \"NVIDIA H200\""#, None),
            (r#"!(DeviceName == \"NVIDIA H200\")"#, None),
            (r#"!(Capability >= 8.0 && DeviceName == \"NVIDIA H200\")"#, None),
            (r#"(Capability >= 8.0 && DeviceName == \"NVIDIA H200\") == false"#, None),
            (r#"isUndefined(Capability >= 8.0 && DeviceName == \"NVIDIA H200\")"#, None),
            (
                r#"ifThenElse(Capability >= 8.0 && DeviceName == \"NVIDIA H200\" && true, false, true)"#,
                None,
            ),
            (
                r#"(Capability >= 8.0 && (DeviceName == \"NVIDIA H200\")) && max(1, 2) > 1"#,
                Some("NVIDIA H200=2"),
            ),
            ("Capability < 8.000000000000000E+00", None),
        ] {
            let span = waiting(&format!(
                r#""JobStatus":1,"RequestGPUs":2,"RequireGPUs":"\/Expr({expression})\/""#
            ));
            assert_eq!(span.gpu_types.as_deref(), gpu_types, "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let text =
            br#"[{"Owner":"x"},{"JobStatus":1,"RequestGPUs":1},{"JobStatus":2,"ShadowBday":5},{"#;
        let Parsed { records, rejects } = parse(parser(5000), text);
        assert_eq!(records, []);
        let reasons: Vec<_> = rejects.iter().map(|reject| reject.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "the job has no JobStatus",
                "the job has no GlobalJobId",
                "the execution has no GlobalJobId",
                "the output ends inside an ad"
            ]
        );
        assert_eq!(parse(parser(5000), b""), Parsed::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn output_cut_anywhere_is_read_alike(
            cut in 0_usize..36_000,
            end in 0_usize..36_000,
            flaw in any::<u8>(),
            at in 0_usize..36_000,
        ) {
            let mut text = fixture::read("2026-11-15T034635Z/q_ap2001.json");
            text.truncate(end);
            if let Some(byte) = text.get_mut(at) {
                *byte = flaw;
            }
            let (one, other) = text.split_at(cut.min(text.len()));
            let mut pieces = parser(5000);
            pieces.push(one);
            pieces.push(other);
            prop_assert_eq!(pieces.finish(), parse(parser(5000), &text));
        }
    }

    /// An expression, and whether it is true: of the models `X` and `Y`, each with a capability that is
    /// large enough, and with one that is not.
    #[derive(Clone, Debug)]
    struct Required {
        text: String,
        fits: [[bool; 2]; 2],
    }

    impl Required {
        fn joined(
            &self,
            operator: &str,
            other: &Required,
            join: fn(bool, bool) -> bool,
        ) -> Required {
            let mut fits = self.fits;
            for (model, capable) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                fits[model][capable] = join(self.fits[model][capable], other.fits[model][capable]);
            }
            Required { text: format!("{} {operator} {}", self.text, other.text), fits }
        }
    }

    fn any_required() -> impl Strategy<Value = Required> {
        let term = |text: &str, fits| Required { text: text.to_owned(), fits };
        let leaf = prop::sample::select(vec![
            term("DeviceName == \"X\"", [[true; 2], [false; 2]]),
            term("TARGET.DeviceName==\"Y\"", [[false; 2], [true; 2]]),
            term("DeviceName != \"X\"", [[false; 2], [true; 2]]),
            term("Capability >= 8.0", [[true, false], [true, false]]),
        ]);
        leaf.prop_recursive(3, 12, 2, |inner| {
            // In parentheses, so that no operator binds closer than it is meant to.
            let inner = inner.prop_map(|Required { text, fits }| {
                let is_term =
                    !text.contains(['&', '|', '!', '(']) || text.starts_with("DeviceName !=");
                Required { text: if is_term { text } else { format!("({text})") }, fits }
            });
            let not = inner.clone().prop_map(|Required { text, fits }| Required {
                text: format!("!({text})"),
                fits: fits.map(|model| model.map(|fits| !fits)),
            });
            let is_false = inner.clone().prop_map(|Required { text, fits }| Required {
                text: format!("({text}) == false"),
                fits: fits.map(|model| model.map(|fits| !fits)),
            });
            let called = inner.clone().prop_map(|Required { text, .. }| Required {
                text: format!("isUndefined({text})"),
                fits: [[true; 2]; 2],
            });
            let and = (inner.clone(), inner.clone())
                .prop_map(|(one, other)| one.joined("&&", &other, |one, other| one && other));
            let or = (inner.clone(), inner)
                .prop_map(|(one, other)| one.joined("||", &other, |one, other| one || other));
            prop_oneof![3 => and, 1 => or, 1 => not, 1 => is_false, 1 => called]
        })
    }

    proptest! {
        /// A model is named only if no other model could make the expression true.
        #[test]
        fn a_model_that_is_named_is_the_only_one_that_fits(required in any_required()) {
            if let Some(device) = device_name(&required.text) {
                let other = if device == "X" { 1 } else { 0 };
                prop_assert!(!required.fits[other].contains(&true), "{} is not only {device}", required.text);
            }
        }

        /// Of any text, what is named stands in it between the first quotes.
        #[test]
        fn a_model_that_is_named_is_quoted(expression in r#"[ -~é]{0,40}|DeviceName == "[^"]{0,9}"[&|()! a-z"]{0,9}"#) {
            if let Some(device) = device_name(&expression) {
                prop_assert_eq!(expression.split('"').nth(1), Some(device));
                prop_assert_eq!(expression.matches('"').count(), 2);
            }
        }
    }
}
