//! The executions of jobs, from the epochs that `condor_history` keeps.

use std::time::Duration;

use jiff::Timestamp;
use record::{Job, Record, Text};

use super::execution::{eligible_time, execution};
use super::{name_option, use_ratio};
use crate::notation::classad::{Ad, Ads, Value};
use crate::{Command, Parsed, Parser};

/// Asks the access point at hand for the executions that ended from `start` until before `end`.
pub fn condor_history(start: Timestamp, end: Timestamp) -> Command {
    condor_history_of(None, start, end)
}

/// Asks an access point, one of [`Schedds`](super::Schedds), for the executions that ended from
/// `start` until before `end`. Each is asked alone: one that does not answer takes nothing from
/// the others, and where it was last heard of is its own.
///
/// One that is asked by name reads no more than its HISTORY_HELPER_MAX_HISTORY ads, the latest
/// first, and does not say so where it stops. By the manuals that is 10,000 in older versions and
/// 2,000,000,000 in newer ones: an older access point must be asked often, or allowed more.
pub fn condor_history_of(schedd: Option<&str>, start: Timestamp, end: Timestamp) -> Command {
    let ended_then =
        format!("EpochWriteDate >= {} && EpochWriteDate < {}", start.as_second(), end.as_second());
    let mut arguments = name_option(schedd);
    arguments.extend(
        ["-epochs", "-json", "-constraint", &ended_then, "-attributes", ATTRIBUTES]
            .map(str::to_owned),
    );
    Command { program: "condor_history", arguments, time_limit: Duration::from_secs(300) }
}

/// What is read of the ad of an execution.
pub(crate) const ATTRIBUTES: &str = "GlobalJobId,ClusterId,ProcId,Owner,AccountingGroup,AcctGroup,\
    ChtcProjects,ProjectName,JobBatchName,QDate,JobStatus,JobCurrentStartDate,\
    JobCurrentStartExecutingDate,EpochWriteDate,NumShadowStarts,RunInstanceID,RemoteHost,\
    AssignedGPUs,RequestCpus,RequestMemory,RequestGPUs,CpusProvisioned,MemoryProvisioned,\
    GpusProvisioned,GPUsProvisioned,RemoteUserCpu,RemoteSysCpu,CumulativeRemoteUserCpu,\
    CumulativeRemoteSysCpu,ResidentSetSize,MemoryUsage,GPUsAverageUsage,GPUsMemoryUsage,\
    ExitCode,ExitBySignal,ExitSignal,VacateReason,VacateReasonCode,VacateReasonSubCode,\
    LastVacateTime,ActivationDuration,ActivationExecutionDuration,HoldReason,HoldReasonCode,\
    JobLastStartDate,LastRemoteWallClockTime,NumHolds,LastHoldReasonCode,ReleaseReason";

/// Reads what `condor_history -epochs -json` prints: an ad for each execution, written when it
/// ends.
///
/// An execution is held to last from the start of its shadow, since its slot is taken from then
/// on, until its ad was written. The user's event log has the job begin 1 or 2 seconds after the
/// one, when its files are there, and end within 2 seconds of the other, or 10 where the machine
/// was lost.
pub struct CondorHistory {
    cluster: String,
    observed: Timestamp,
    executions: Ads<Job>,
}

impl CondorHistory {
    pub fn new(cluster: impl Into<String>, observed: Timestamp) -> CondorHistory {
        CondorHistory { cluster: cluster.into(), observed, executions: Ads::default() }
    }
}

impl Parser<Job> for CondorHistory {
    fn push(&mut self, piece: &[u8]) {
        let CondorHistory { cluster, observed, executions } = self;
        executions.push(piece, |text| ended_execution(cluster, *observed, "condor_history", text));
    }

    fn finish(self) -> Parsed<Job> {
        let mut parsed = self.executions.finish();
        // An execution that is put on hold as it ends is written twice, once without the reason.
        // The latest is printed first.
        let latest_first = |one: &Job, other: &Job| {
            one.compare_key(other).then_with(|| other.end_time.cmp(&one.end_time))
        };
        parsed.records.sort_by(latest_first);
        parsed.records.dedup_by(|later, kept| kept.compare_key(later).is_eq());
        parsed
    }
}

/// Reads the ad of an execution that has ended.
pub(crate) fn ended_execution(
    cluster: &str,
    observed: Timestamp,
    source: &str,
    text: &[u8],
) -> Result<Job, String> {
    let ad = &Ad::read(text)?;
    let job = execution(cluster, observed, source, ad)?;
    let end_time = ad.time("EpochWriteDate").or_else(|| ad.time("LastVacateTime"));
    let elapsed_seconds = job
        .start_time
        .zip(end_time)
        .map(|(start, end)| end.as_second() - start.as_second())
        .filter(|&seconds| seconds >= 0);
    let Ending { state, end_reason, exit_code, exit_signal } = ending(ad);
    let max_rss_mb = max_rss_mb(ad, job.attempt);
    let total_cpu_seconds = total_cpu_seconds(ad);
    let gpu_ids = ad.gpu_ids("AssignedGPUs").filter(|ids| !ids.is_empty());
    let gpu_utilization = gpu_utilization(ad, gpu_ids.as_deref(), job.alloc_gpus);
    let mut job = Job {
        state: state.into(),
        is_complete: true,
        exit_code,
        exit_signal,
        end_reason,
        eligible_time: eligible_time(ad, &job),
        end_time,
        elapsed_seconds,
        max_rss_mb,
        total_cpu_seconds,
        gpu_utilization,
        gpu_memory_max_mb: ad.number("GPUsMemoryUsage"),
        gpu_usage_source: gpu_utilization.map(|_| "GPUsAverageUsage".into()),
        ..job
    };
    job.set_usage_source(source);
    job.set_usage();
    Ok(job)
}

struct Ending {
    state: &'static str,
    end_reason: Option<Text>,
    exit_code: Option<i64>,
    exit_signal: Option<i64>,
}

/// How an execution ended. Its ad still says that the job runs: it is written before the queue
/// hears of the end.
fn ending(ad: &Ad<'_>) -> Ending {
    let vacate_code = ad.integer("VacateReasonCode");
    let hold_code = ad.integer("HoldReasonCode");
    let by_signal = ad.truth("ExitBySignal");
    // What a vacated execution returned is what killing it gave, or is left from the one before.
    let ended_by_itself = vacate_code.is_none();
    let exit_code = ad.integer("ExitCode").filter(|_| ended_by_itself && by_signal != Some(true));
    let exit_signal = match by_signal {
        Some(true) if ended_by_itself => ad.integer("ExitSignal"),
        Some(false) if exit_code.is_some() => Some(0),
        _ => None,
    };
    let state = match (hold_code, vacate_code) {
        // The access point put it on hold for what it did: it ran too long, used too much.
        (Some(_), _) => "FAILED",
        _ if ad.integer("JobStatus") == Some(3) => "REMOVED",
        // Below 1000 are the codes of HoldReasonCode: it never got its input, for one.
        (None, Some(code)) if code < 1000 => "FAILED",
        (None, Some(_)) => "EVICTED",
        (None, None) if by_signal == Some(true) => "FAILED",
        (None, None) => match exit_code {
            Some(0) => "COMPLETED",
            Some(_) => "FAILED",
            None => "UNKNOWN",
        },
    };
    let reason = |code: Option<i64>, name| Some(format!("{}: {}", code?, ad.words(name)?).into());
    let end_reason =
        reason(hold_code, "HoldReason").or_else(|| reason(vacate_code, "VacateReason"));
    Ending { state, end_reason, exit_code, exit_signal }
}

/// The largest memory that was seen in this execution, where it is told from earlier ones'.
fn max_rss_mb(ad: &Ad<'_>, attempt: i64) -> Option<f64> {
    let Some(kilobytes) = ad.integer("ResidentSetSize") else {
        return ad.number("MemoryUsage");
    };
    // A later execution begins with the largest of those before, which the queue rounded up to a
    // quarter of the next power of ten (SCHEDD_ROUND_ATTR_ResidentSetSize), and replaces it if it
    // grows larger. A round number is then not its own.
    let left_from_before = attempt > 1 && is_round(kilobytes);
    (!left_from_before).then_some(kilobytes as f64 / 1024.0)
}

fn is_round(number: i64) -> bool {
    let next_power_of_ten = 10_i64.checked_pow((number - 1).max(1).ilog10() + 1);
    next_power_of_ten.is_some_and(|power| number % (power / 4).max(1) == 0)
}

/// CPU time of this execution in whole seconds. 0 counts as measured where the machine reported
/// on the execution at all.
fn total_cpu_seconds(ad: &Ad<'_>) -> Option<f64> {
    let seconds = ad.number("RemoteUserCpu")? + ad.number("RemoteSysCpu")?;
    let reported = ad.get("ResidentSetSize").is_some();
    (seconds > 0.0 || reported).then_some(seconds)
}

/// Measured use of the GPUs in percent.
fn gpu_utilization(ad: &Ad<'_>, gpu_ids: Option<&[Text]>, alloc_gpus: Option<i64>) -> Option<f64> {
    let gpus = match gpu_ids {
        Some(ids) => ids.len(),
        None => usize::try_from(alloc_gpus?).ok().filter(|&gpus| gpus > 0)?,
    };
    let memory = ad.get("GPUsMemoryUsage");
    // The ad says that nothing was measured; a number beside it is left from an execution before.
    if memory.is_some_and(Value::is_undefined) {
        return None;
    }
    let ratio = use_ratio(ad.number("GPUsAverageUsage"), gpus)?;
    // HTCondor also prints 0 where it could not tell. It is believed of a GPU that was not touched.
    let untouched = memory.is_none() || ad.number("GPUsMemoryUsage") == Some(0.0);
    (ratio > 0.0 || untouched).then_some(100.0 * ratio)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::fixture;
    use super::*;
    use crate::parse;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn parser() -> CondorHistory {
        CondorHistory::new("chtc", time(1794714396))
    }

    /// One execution: what every ad has, and more.
    fn job(attributes: &str) -> Job {
        let ad = format!(
            r#"[{{{attributes},"GlobalJobId":"ap1.example.org#12.3#1000","QDate":1000,"NumShadowStarts":2,
                 "JobCurrentStartDate":2000,"EpochWriteDate":5600}}]"#
        );
        let Parsed { mut records, rejects } = parse(parser(), ad.as_bytes());
        assert_eq!((records.len(), rejects), (1, vec![]));
        records.remove(0)
    }

    #[test]
    fn executions_are_those_of_the_users_logs() {
        let mut jobs = BTreeMap::new();
        for access_point in ["ap2001", "ap2002"] {
            let text = fixture::read(&format!("2026-11-15T034635Z/epochs_{access_point}.json"));
            let Parsed { records, rejects } = parse(parser(), &text);
            assert_eq!(rejects, []);
            for job in records {
                let name = format!("{} {}", fixture::name_in_logs(Some(&job.job_id)), job.attempt);
                assert_eq!(jobs.insert(name, job), None);
            }
        }
        // 58 ads; ap2001:8.0 was written twice, with and without the reason for its hold.
        assert_eq!(jobs.len(), 57);
        for row in fixture::table("truth/attempts.csv") {
            let name = format!("{}:{} {}", row["ap"], row["job"], row["attempt"]);
            let seconds = |column: &str| row[column].parse::<i64>().ok();
            let ended = seconds("end_unix").filter(|&end| end < 1794714396);
            let job = jobs.remove(&name);
            assert_eq!(job.is_some(), ended.is_some(), "{name}");
            let (Some(job), Some(end), Some(start)) = (job, ended, seconds("start_unix")) else {
                continue;
            };
            let state = match (row["end_event"].as_str(), row["exit"].as_str()) {
                ("terminated", "normal 0") => "COMPLETED",
                ("terminated" | "held", _) => "FAILED",
                (_, _) => "EVICTED",
            };
            assert_eq!(job.state, state, "{name}");
            if !row["code"].is_empty() {
                let reason = format!("{}: {}", row["code"], row["reason"]);
                assert_eq!(job.end_reason.as_deref(), Some(reason.as_str()), "{name}");
            }
            let start_late = start - job.start_time.unwrap().as_second();
            assert!((1..=2).contains(&start_late), "{name} {start_late}");
            let end_late = end - job.end_time.unwrap().as_second();
            let lost = row["reason"].starts_with("Job disconnected too long");
            assert!(if lost { end_late == 10 } else { (0..=2).contains(&end_late) }, "{name}");

            assert_eq!(job.user.as_deref(), Some(row["owner"].as_str()), "{name}");
            assert_eq!(job.slot.as_deref(), Some(row["slot"].as_str()), "{name}");
            assert_eq!(job.node_list.as_deref(), Some(row["machine"].as_str()), "{name}");
            let ids = |list: &str| list.split(',').map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!(ids(&job.gpu_ids.unwrap_or_default()), ids(&row["gpus"]), "{name}");
            assert_eq!(job.alloc_gpus, seconds("request_gpus"), "{name}");
        }
        // It never ran: its input was not there. The log of the job has no execution of it.
        let (name, job) = jobs.pop_first().unwrap();
        assert_eq!((name.as_str(), job.state.as_str(), jobs.len()), ("ap2001:13.0 1", "FAILED", 0));
        assert!(job.end_reason.unwrap().starts_with("13: Transfer input files failure"));
    }

    /// By the users' event logs: an execution waited since the one before it ended, the first since the job
    /// was submitted. ap2001:4.0 was put on hold between its first and its second execution.
    #[test]
    fn an_execution_waited_since_its_job_was_back_in_the_queue() {
        let mut ends: BTreeMap<(String, i64), i64> = BTreeMap::new();
        let mut lost = BTreeSet::new();
        for row in fixture::table("truth/attempts.csv") {
            let key = (format!("{}:{}", row["ap"], row["job"]), row["attempt"].parse().unwrap());
            if row["reason"].starts_with("Job disconnected too long") {
                lost.insert(key.clone());
            }
            ends.extend(row["end_unix"].parse().ok().map(|end| (key, end)));
        }
        let (mut first, mut later, mut on_hold) = (0, 0, Vec::new());
        for access_point in ["ap2001", "ap2002"] {
            let text = fixture::read(&format!("2026-11-15T034635Z/epochs_{access_point}.json"));
            for job in parse(parser(), &text).records {
                let name = fixture::name_in_logs(Some(&job.job_id));
                let Some(eligible) = job.eligible_time else {
                    on_hold.push(format!("{name} {}", job.attempt));
                    continue;
                };
                assert!(Some(eligible) <= job.start_time, "{name}");
                if job.attempt == 1 {
                    assert_eq!(eligible, job.submit_time, "{name}");
                    first += 1;
                    continue;
                }
                let before = (name.clone(), job.attempt - 1);
                let late = ends[&before] - eligible.as_second();
                let most = if lost.contains(&before) { 10 } else { 2 };
                assert!((0..=most).contains(&late), "{name} {} {late}", job.attempt);
                later += 1;
            }
        }
        assert_eq!(on_hold, ["ap2001:4.0 2", "ap2001:4.0 3", "ap2001:4.0 4"]);
        // 57 executions.
        assert_eq!((first, later), (44, 10));
    }

    #[test]
    fn a_wait_is_unknown_where_the_ad_does_not_tell_it() {
        let since = |more: &str| job(&format!(r#""Owner":"ann"{more}"#)).eligible_time;
        // The second execution of a job that was submitted at 1000.
        assert_eq!(since(""), None);
        let before = r#","JobLastStartDate":1200,"LastRemoteWallClockTime":300.0"#;
        assert_eq!(since(before), Some(time(1500)));
        for hold in [r#""NumHolds":1"#, r#""LastHoldReasonCode":16"#, r#""ReleaseReason":"done""#] {
            assert_eq!(since(&format!("{before},{hold}")), None, "{hold}");
        }
        assert_eq!(since(&format!(r#"{before},"NumHolds":0"#)), Some(time(1500)));
    }

    #[test]
    fn a_window_is_half_open_and_in_seconds() {
        let Command { program, arguments, time_limit } =
            condor_history(time(1794700800), time(1794787200));
        assert_eq!((program, time_limit.as_secs()), ("condor_history", 300));
        assert_eq!(arguments[3], "EpochWriteDate >= 1794700800 && EpochWriteDate < 1794787200");
        assert!(arguments[5].starts_with("GlobalJobId,ClusterId,"));
        assert!(!arguments[5].contains(' '));
        let of_one = condor_history_of(Some("ap1.example.org"), time(0), time(60)).arguments;
        assert_eq!(of_one[..3], ["-name", "ap1.example.org", "-epochs"]);
        assert_eq!(of_one[2..], condor_history(time(0), time(60)).arguments);
    }

    #[test]
    fn an_execution_has_its_times_its_share_and_its_use() {
        let job = job(
            r#""RemoteHost":"slot1_1@gpu1.example.org","Owner":"ann","JobBatchName":"train","AcctGroup":"group_a",
               "AssignedGPUs":"GPU_1,GPU-2","RequestGPUs":2,"gpusprovisioned":2,"CpusProvisioned":4,"RequestCpus":4,
               "RequestMemory":2048,"MemoryProvisioned":4096,"RemoteUserCpu":7000.0,"RemoteSysCpu":200.0,
               "ResidentSetSize":524288,"GPUsAverageUsage":1.5,"GPUsMemoryUsage":8000.0,"ExitCode":0,"ExitBySignal":false"#,
        );
        assert_eq!((job.job_id.as_str(), job.attempt), ("ap1.example.org#12.3", 2));
        assert_eq!(
            (job.submit_time, job.start_time, job.end_time),
            (time(1000), Some(time(2000)), Some(time(5600)))
        );
        assert_eq!(
            (job.node_list.as_deref(), job.gpu_ids.as_deref()),
            (Some("gpu1.example.org"), Some("GPU-1,GPU-2"))
        );
        assert_eq!(
            (job.state.as_str(), job.exit_code, job.exit_signal),
            ("COMPLETED", Some(0), Some(0))
        );
        assert_eq!(
            (job.account.as_deref(), job.job_name.as_deref()),
            (Some("group_a"), Some("train"))
        );
        assert_eq!(
            (job.elapsed_seconds, job.alloc_mem_mb, job.max_rss_mb),
            (Some(3600), Some(4096.0), Some(512.0))
        );
        // 7200 s of 4 CPUs x 3600 s; 512 of 2048 MiB; 2 GPUs x 1 h; 1.5 of 2 GPUs.
        assert_eq!((job.cpu_efficiency, job.memory_efficiency), (Some(50.0), Some(25.0)));
        assert_eq!((job.gpu_hours_reserved, job.gpu_utilization), (Some(2.0), Some(75.0)));
        assert_eq!(job.gpu_usage_source.as_deref(), Some("GPUsAverageUsage"));
    }

    #[test]
    fn how_it_ended_is_told_from_what_the_ad_leaves_over() {
        for (attributes, state, reason, exit) in [
            (r#""ExitCode":3,"ExitBySignal":false"#, "FAILED", None, (Some(3), Some(0))),
            (
                r#""ExitCode":3,"ExitBySignal":true,"ExitSignal":11"#,
                "FAILED",
                None,
                (None, Some(11)),
            ),
            (
                r#""ExitCode":143,"VacateReasonCode":1011,"VacateReason":"PREEMPT""#,
                "EVICTED",
                Some("1011: PREEMPT"),
                (None, None),
            ),
            (
                r#""VacateReasonCode":1009,"VacateReason":"Claim deactivated","HoldReasonCode":3,"HoldReason":"too long""#,
                "FAILED",
                Some("3: too long"),
                (None, None),
            ),
            (r#""JobStatus":3,"VacateReasonCode":1009"#, "REMOVED", None, (None, None)),
            // LastVacateTime is left from the execution before; the reason is not.
            (r#""ExitCode":0,"LastVacateTime":1500"#, "COMPLETED", None, (Some(0), None)),
            (r#""JobStatus":2"#, "UNKNOWN", None, (None, None)),
        ] {
            let job = job(attributes);
            assert_eq!(job.state, state, "{attributes}");
            assert_eq!(job.end_reason.as_deref(), reason, "{attributes}");
            assert_eq!((job.exit_code, job.exit_signal), exit, "{attributes}");
        }
    }

    #[test]
    fn gpu_use_that_was_not_measured_is_unknown() {
        for (attributes, percent) in [
            (r#""GPUsAverageUsage":0.5,"GPUsMemoryUsage":8000"#, Some(50.0)),
            (r#""GPUsAverageUsage":0.5"#, Some(50.0)),
            (r#""GPUsAverageUsage":0.5,"GPUsMemoryUsage":null"#, None),
            (r#""GPUsAverageUsage":0.0,"GPUsMemoryUsage":8000"#, None),
            (r#""GPUsAverageUsage":0.0,"GPUsMemoryUsage":0.0"#, Some(0.0)),
            (r#""GPUsAverageUsage":19.6,"GPUsMemoryUsage":8000"#, None),
            (r#""GPUsMemoryUsage":8000"#, None),
        ] {
            let job = job(&format!(r#"{attributes},"AssignedGPUs":"GPU-1""#));
            assert_eq!(job.gpu_utilization, percent, "{attributes}");
            assert_eq!(job.gpu_usage_source.is_some(), percent.is_some(), "{attributes}");
        }
        assert_eq!(job(r#""GPUsAverageUsage":0.5,"GPUsProvisioned":0"#).gpu_utilization, None);
    }

    #[test]
    fn memory_left_from_an_execution_before_is_unknown() {
        // The queue rounds 4832 KiB to 5000 and 5740 to 7500.
        for (kilobytes, megabytes) in [
            ("5000", None),
            ("7500", None),
            ("1000000", None),
            ("5728", Some(5.59375)),
            ("4816", Some(4.703125)),
        ] {
            let job = job(&format!(
                r#""ResidentSetSize":{kilobytes},"MemoryUsage":"/Expr(((ResidentSetSize + 1023) / 1024))/""#
            ));
            assert_eq!(job.max_rss_mb, megabytes, "{kilobytes}");
        }
        assert_eq!(job(r#""MemoryUsage":12"#).max_rss_mb, Some(12.0));
    }

    #[test]
    fn cpu_time_of_an_execution_that_was_never_reported_on_is_unknown() {
        let idle = r#""RemoteUserCpu":0.0,"RemoteSysCpu":0.0"#;
        assert_eq!(job(idle).total_cpu_seconds, None);
        assert_eq!(job(&format!(r#"{idle},"ResidentSetSize":4816"#)).total_cpu_seconds, Some(0.0));
    }

    #[test]
    fn an_account_is_a_group_or_the_projects() {
        for (attributes, account) in [
            (r#""AcctGroup":"g","ChtcProjects":"p""#, Some("g")),
            (r#""AccountingGroup":"group_a.sub.ann""#, Some("group_a.sub")),
            (r#""ChtcProjects":"smith_lab,dsi_shared""#, Some("smith_lab,dsi_shared")),
            (r#""ProjectName":"p","ChtcProjects":"""#, Some("p")),
            (r#""Owner":"ann""#, None),
        ] {
            assert_eq!(job(attributes).account.as_deref(), account, "{attributes}");
        }
    }

    #[test]
    fn an_ad_that_names_no_execution_is_set_aside() {
        let text =
            br#"[{"Owner":"ann"},{"GlobalJobId":"a#1.0#5"},{"GlobalJobId":"a#1.0#5","QDate":5},
                        {"GlobalJobId":"a#1.0#5","QDate":5,"RunInstanceID":0}]"#;
        let Parsed { records, rejects } = parse(parser(), text);
        assert_eq!((records.len(), records[0].attempt), (1, 1));
        let reasons: Vec<_> = rejects.iter().map(|reject| reject.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "the execution has no GlobalJobId",
                "the execution has no QDate",
                "the execution has no NumShadowStarts"
            ]
        );
    }

    #[test]
    fn nothing_printed_is_nothing_found() {
        assert_eq!(parse(parser(), b""), Parsed::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn output_cut_anywhere_is_read_alike(
            cuts in prop::collection::vec(0_usize..20_000, 0..8),
            end in 0_usize..78_000,
            flaw in any::<u8>(),
            at in 0_usize..78_000,
        ) {
            let mut text = fixture::read("2026-11-15T034635Z/epochs_ap2002.json");
            text.truncate(end);
            if let Some(byte) = text.get_mut(at) {
                *byte = flaw;
            }
            let mut pieces = parser();
            let mut rest = &text[..];
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            pieces.push(rest);
            prop_assert_eq!(pieces.finish(), parse(parser(), &text));
        }
    }
}
