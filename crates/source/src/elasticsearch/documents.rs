//! The executions in pages of documents that `condor_adstash` made of ads.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use record::{Job, Record};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::PROGRAM;
use crate::htcondor::ended_execution;
use crate::{Parsed, Parser};

/// Reads what [`jobs`](super::jobs) hands on: pages of documents, a page a line.
///
/// A document is the ad of an execution, written when it ended, or that of a job, written when it
/// left the queue. An execution has the key that [`CondorHistory`](crate::htcondor::CondorHistory)
/// gives it: the job, when it was submitted, and how many shadows were started for it, by
/// `NumShadowStarts`, else `RunInstanceID`, else `JobRunCount`. A document that has none of them is
/// set aside: `NumJobStarts` counts something else, and under a guessed number an execution would
/// count twice, or not at all.
///
/// The ad of a job tells of its last execution; of earlier ones, such as those that were evicted,
/// it tells nothing. Where an execution has an ad of its own, that one counts.
pub struct JobDocuments {
    cluster: String,
    observed: Timestamp,
    executions: Parsed<(Job, Kind)>,
    /// What has come so far of a page.
    unfinished: Vec<u8>,
    pages: u64,
    documents: u64,
}

/// What a document was made of; of two about one execution the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Execution,
    Job,
}

impl JobDocuments {
    pub fn new(cluster: impl Into<String>, observed: Timestamp) -> JobDocuments {
        JobDocuments {
            cluster: cluster.into(),
            observed,
            executions: Parsed::default(),
            unfinished: Vec::new(),
            pages: 0,
            documents: 0,
        }
    }

    fn page(&mut self, text: &[u8]) {
        if text.trim_ascii().is_empty() {
            return;
        }
        self.pages += 1;
        let page: Page = match serde_json::from_slice(text) {
            Ok(page) => page,
            Err(error) => {
                let reason = format!("page {} cannot be read: {error}", self.pages);
                self.executions.reject(self.documents + 1, reason, text);
                return;
            }
        };
        for Hit { source } in page.hits.hits {
            self.documents += 1;
            let Some((kind, ad)) = ad(source.clone()) else { continue };
            let text = Value::Object(ad).to_string();
            match ended_execution(&self.cluster, self.observed, PROGRAM, text.as_bytes()) {
                Ok(job) => self.executions.records.push((job, kind)),
                Err(reason) => {
                    let text = Value::Object(source).to_string();
                    self.executions.reject(self.documents, reason, text.as_bytes());
                }
            }
        }
    }
}

impl Parser<Job> for JobDocuments {
    fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(length) = memchr::memchr(b'\n', rest) {
            let mut page = std::mem::take(&mut self.unfinished);
            page.extend_from_slice(&rest[..length]);
            rest = &rest[length + 1..];
            self.page(&page);
        }
        self.unfinished.extend_from_slice(rest);
    }

    fn finish(mut self) -> Parsed<Job> {
        let last = std::mem::take(&mut self.unfinished);
        self.page(&last);
        let Parsed { mut records, rejects } = self.executions;
        // An execution that is put on hold as it ends is written twice, once without the reason,
        // and a search that was resumed brings again what it had brought.
        records.sort_by(|(one, one_kind), (other, other_kind)| {
            one.compare_key(other)
                .then(one_kind.cmp(other_kind))
                .then(other.end_time.cmp(&one.end_time))
                .then(one.end_reason.is_none().cmp(&other.end_reason.is_none()))
        });
        records.dedup_by(|(later, _), (kept, _)| kept.compare_key(later).is_eq());
        Parsed { records: records.into_iter().map(|(job, _)| job).collect(), rejects }
    }
}

#[derive(Deserialize)]
struct Page {
    hits: Hits,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    #[serde(rename = "_source")]
    source: Map<String, Value>,
}

/// The moments in an ad.
const TIMES: [&str; 8] = [
    "QDate",
    "JobLastStartDate",
    "JobCurrentStartDate",
    "EpochWriteDate",
    "CompletionDate",
    "EnteredCurrentStatus",
    "LastVacateTime",
    "RecordTime",
];

/// The ad of an execution, as HTCondor would print it when it ended; none if the document tells of
/// something else.
fn ad(document: Map<String, Value>) -> Option<(Kind, Map<String, Value>)> {
    let mut ad = Document(document);
    // Transfers of files, for one, have ads of their own.
    if ad.get("EpochAdType").is_some_and(|kind| kind != "EPOCH") {
        return None;
    }
    for name in TIMES {
        if let Some(value) = ad.remove(name)
            && let Some(seconds) = seconds(&value)
        {
            ad.set(name, json!(seconds));
        }
    }
    let kind = match ad.get("EpochWriteDate") {
        Some(_) => Kind::Execution,
        None => Kind::Job,
    };
    if kind == Kind::Job {
        last_execution(&mut ad)?;
    }
    if ad.get("NumShadowStarts").is_none() && ad.get("RunInstanceID").is_none() {
        // The manual has it equal but for jobs that no shadow runs.
        let runs = ad.get("JobRunCount").cloned();
        if let Some(runs) = runs.filter(|_| ad.integer("JobUniverse") != Some(7)) {
            ad.set("NumShadowStarts", runs);
        }
    }
    if ad.get("RemoteHost").is_none()
        && let (Some(slot), Some(machine)) = (ad.known("StartdSlot"), ad.known("StartdName"))
    {
        ad.set("RemoteHost", json!(format!("{slot}@{machine}")));
    }
    // A list comes as the text of one.
    if let Some(ids) = ad.get("AssignedGPUs").and_then(Value::as_str) {
        let ids = ids.replace(['[', ']', '"', '\''], "");
        ad.set("AssignedGPUs", json!(ids));
    }
    // An attribute that the ad says is undefined is left out of the document, and this one tells
    // whether the use beside it was measured in this execution.
    if ad.get("GPUsMemoryUsage").is_none() {
        ad.set("GPUsMemoryUsage", Value::Null);
    }
    Some((kind, ad.0))
}

/// Makes the ad of a job that has left the queue the ad of its last execution; none if it had none.
fn last_execution(ad: &mut Document) -> Option<()> {
    const COMPLETED: i64 = 4;
    const RUNNING: [i64; 3] = [2, 6, 7]; // and what is a part of it: output on its way, suspended
    let start = ad.integer("JobCurrentStartDate")?;
    let last_status = ad.integer("LastJobStatus");
    let end = if ad.integer("JobStatus") == Some(COMPLETED) {
        // What it was once vacated or held for is not how it ended.
        for name in ["VacateReason", "VacateReasonCode", "HoldReason", "HoldReasonCode"] {
            ad.remove(name);
        }
        ad.integer("CompletionDate").filter(|&end| end > 0)
    } else if last_status.is_some_and(|status| RUNNING.contains(&status)) {
        ad.integer("EnteredCurrentStatus")
    } else {
        // It waited or was on hold when it was removed. How its last execution had ended is told
        // by the reason alone, where there is one.
        for name in ["JobStatus", "ExitCode", "ExitBySignal", "ExitSignal"] {
            ad.remove(name);
        }
        ad.integer("LastVacateTime")
    };
    ad.remove("LastVacateTime");
    // In the ad of a job it is the length of the last execution itself, so the end of the one before is unknown.
    ad.remove("LastRemoteWallClockTime");
    if let Some(end) = end.filter(|&end| end >= start) {
        ad.set("EpochWriteDate", json!(end));
    }
    if ad.get("RemoteHost").is_none()
        && let Some(host) = ad.get("LastRemoteHost").cloned()
    {
        ad.set("RemoteHost", host);
    }
    Some(())
}

/// A moment in seconds since the epoch: as `condor_adstash` writes it, in milliseconds, or as a
/// date, which is in UTC where it does not say.
fn seconds(value: &Value) -> Option<i64> {
    const SURELY_MILLISECONDS: i64 = 100_000_000_000; // as seconds, in the year 5138
    let number = match value {
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) => number as i64,
            Err(_) => {
                let time = text.parse::<Timestamp>().ok().or_else(|| {
                    let time = text.parse::<DateTime>().ok()?;
                    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
                });
                return time.map(Timestamp::as_second);
            }
        },
        value => value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))?,
    };
    Some(if number >= SURELY_MILLISECONDS { number / 1000 } else { number })
}

/// A document by the names of attributes, which know no case.
struct Document(Map<String, Value>);

impl Document {
    fn spelling(&self, name: &str) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|given| given.eq_ignore_ascii_case(name))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(self.spelling(name)?).filter(|value| !value.is_null())
    }

    fn integer(&self, name: &str) -> Option<i64> {
        let value = self.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// A text that says something.
    fn known(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|&text| !text.is_empty() && text != "UNKNOWN")
    }

    fn remove(&mut self, name: &str) -> Option<Value> {
        let mut removed = None;
        while let Some(spelling) = self.spelling(name).map(str::to_owned) {
            let value = self.0.shift_remove(&spelling);
            removed = removed.or(value);
        }
        removed
    }

    fn set(&mut self, name: &str, value: Value) {
        self.remove(name);
        self.0.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Pages of documents, each given by its attributes.
    fn parsed(pages: &[&[&str]]) -> Parsed<Job> {
        let mut text = String::new();
        for page in pages {
            let hits: Vec<String> = page
                .iter()
                .map(|source| format!(r#"{{"_id":"x","_source":{{{source}}}}}"#))
                .collect();
            text += &format!(
                "{{\"took\":1,\"hits\":{{\"hits\":[{}]}}}}\n",
                hits.join(",").replace('\n', "")
            );
        }
        parse(JobDocuments::new("chtc", time(9000)), text.as_bytes())
    }

    fn one(attributes: &str) -> Job {
        let document = format!(
            r#""GlobalJobId":"ap1#12.3#1000","QDate":1000,"NumShadowStarts":2,"JobCurrentStartDate":2000,{attributes}"#
        );
        let Parsed { mut records, rejects } = parsed(&[&[&document]]);
        assert_eq!((records.len(), rejects), (1, vec![]));
        records.remove(0)
    }

    #[test]
    fn times_are_read_in_every_form() {
        for written in [
            "5600",
            "5600.0",
            "\"5600\"",
            "\"1970-01-01T01:33:20Z\"",
            "\"1970-01-01T01:33:20.000Z\"",
            "\"1970-01-01T02:33:20+01:00\"",
            "\"1970-01-01T01:33:20\"",
        ] {
            let job = one(&format!(r#""EpochWriteDate":{written}"#));
            assert_eq!(job.end_time, Some(time(5600)), "{written}");
        }
        // Milliseconds are told by their size: this is 2026-11-15T03:46:36Z.
        let job = one(r#""EpochWriteDate":1794714396000"#);
        assert_eq!(job.end_time, Some(time(1_794_714_396)));
    }

    #[test]
    fn names_are_read_as_adstash_spells_them() {
        let job = one(
            r#""EpochwriteDate":5600,"RequestGpus":2,"GpusProvisioned":2,"chtcprojects":"smith_lab",
               "vacatereasoncode":1011,"vacatereason":"PREEMPT","StartdSlot":"slot1_1","StartdName":"gpu1""#,
        );
        assert_eq!((job.req_gpus, job.alloc_gpus), (Some(2), Some(2)));
        assert_eq!(job.account.as_deref(), Some("smith_lab"));
        assert_eq!(
            (job.state.as_str(), job.end_reason.as_deref()),
            ("EVICTED", Some("1011: PREEMPT"))
        );
        assert_eq!(job.slot.as_deref(), Some("slot1_1@gpu1"));
        assert_eq!(job.source, "elasticsearch");
    }

    #[test]
    fn gpus_come_as_a_text_or_as_the_text_of_a_list() {
        for ids in ["GPU-1, GPU-2", r#"[\"GPU-1\", \"GPU-2\"]"#, "['GPU-1', 'GPU-2']"] {
            let job = one(&format!(r#""EpochWriteDate":5600,"AssignedGPUs":"{ids}""#));
            assert_eq!(job.gpu_ids.as_deref(), Some("GPU-1,GPU-2"), "{ids}");
        }
    }

    #[test]
    fn gpu_use_beside_which_nothing_was_measured_is_unknown() {
        let of = |more: &str| {
            one(&format!(
                r#""EpochWriteDate":5600,"AssignedGPUs":"GPU-1","GPUsAverageUsage":0.5{more}"#
            ))
        };
        assert_eq!(of(r#","GPUsMemoryUsage":800"#).gpu_utilization, Some(50.0));
        assert_eq!(of("").gpu_utilization, None);
        assert_eq!(of(r#","GPUsMemoryUsage_EXPR":"undefined""#).gpu_utilization, None);
    }

    /// The second execution of a job that was submitted at 1000, and whose first one ran from 1200 to 1500.
    #[test]
    fn an_execution_waited_since_the_one_before_it_ended_and_the_ad_of_a_job_lacks_that_time() {
        let before = r#""JobLastStartDate":"1970-01-01T00:20:00Z","lastremotewallclocktime":300.0"#;
        assert_eq!(
            one(&format!(r#""EpochWriteDate":5600,{before}"#)).eligible_time,
            Some(time(1500))
        );
        let of_job = format!(r#""JobStatus":4,"CompletionDate":5600,{before}"#);
        assert_eq!(one(&of_job).eligible_time, None);
    }

    #[test]
    fn a_job_that_left_the_queue_tells_of_its_last_execution() {
        for (attributes, state, end, reason) in [
            (
                r#""JobStatus":4,"ExitCode":0,"ExitBySignal":false,"CompletionDate":5600,"VacateReasonCode":1011,"VacateReason":"earlier""#,
                "COMPLETED",
                Some(5600),
                None,
            ),
            (
                r#""JobStatus":3,"LastJobStatus":2,"EnteredCurrentStatus":5600,"CompletionDate":0"#,
                "REMOVED",
                Some(5600),
                None,
            ),
            // It was evicted, waited, and was removed.
            (
                r#""JobStatus":3,"LastJobStatus":1,"EnteredCurrentStatus":5600,"LastVacateTime":3000,"VacateReasonCode":1011,"VacateReason":"PREEMPT","ExitCode":0"#,
                "EVICTED",
                Some(3000),
                Some("1011: PREEMPT"),
            ),
            // The same, and nobody says how.
            (
                r#""JobStatus":3,"LastJobStatus":5,"EnteredCurrentStatus":5600"#,
                "UNKNOWN",
                None,
                None,
            ),
        ] {
            let job = one(&format!(r#""LastRemoteHost":"slot1@gpu1",{attributes}"#));
            assert_eq!(job.state, state, "{attributes}");
            assert_eq!(job.end_time, end.map(time), "{attributes}");
            assert_eq!(job.end_reason.as_deref(), reason, "{attributes}");
            assert_eq!(job.node_list.as_deref(), Some("gpu1"), "{attributes}");
        }
    }

    #[test]
    fn what_comes_twice_counts_once_and_the_ad_of_the_execution_counts() {
        let of = |more: &str| {
            format!(
                r#""GlobalJobId":"ap1#1.0#1000","QDate":1000,"NumShadowStarts":1,"JobCurrentStartDate":2000,{more}"#
            )
        };
        let (job, execution) = (
            of(r#""JobStatus":4,"ExitCode":0,"CompletionDate":5601"#),
            of(r#""EpochWriteDate":5600,"ExitCode":0"#),
        );
        let (held, not_yet) = (
            of(r#""EpochWriteDate":5600,"HoldReasonCode":3,"HoldReason":"too long""#),
            of(r#""EpochWriteDate":5600,"VacateReasonCode":1009"#),
        );
        for (first, second, end_reason) in [
            (&job, &execution, None),
            (&execution, &job, None),
            (&execution, &execution, None),
            (&held, &not_yet, Some("3: too long")),
            (&not_yet, &held, Some("3: too long")),
        ] {
            for pages in [&[&[first.as_str(), second][..]][..], &[&[first], &[second]]] {
                let Parsed { records, rejects } = parsed(pages);
                assert_eq!((records.len(), rejects), (1, vec![]));
                assert_eq!(records[0].end_time, Some(time(5600)));
                assert_eq!(records[0].end_reason.as_deref(), end_reason);
            }
        }
    }

    #[test]
    fn a_document_without_the_number_of_its_execution_is_set_aside() {
        let of = |more: &str| {
            format!(r#""GlobalJobId":"ap1#1.0#1000","QDate":1000,"EpochWriteDate":5600{more}"#)
        };
        let documents =
            [of(r#","JobRunCount":3"#), of(r#","runinstanceid":1"#), of(r#","NumJobStarts":1"#)];
        let Parsed { records, rejects } = parsed(&[&documents.each_ref().map(String::as_str)]);
        let attempts: Vec<i64> = records.iter().map(|job| job.attempt).collect();
        assert_eq!(attempts, [2, 3]);
        assert_eq!((rejects.len(), rejects[0].position), (1, 3));
        assert_eq!(rejects[0].reason, "the execution has no NumShadowStarts");
        assert!(rejects[0].text.contains("NumJobStarts"), "{}", rejects[0].text);
    }

    #[test]
    fn transfers_and_jobs_that_never_ran_are_no_executions() {
        let documents = [
            r#""GlobalJobId":"a#1.0#1","QDate":1,"NumShadowStarts":1,"EpochWriteDate":5,"EpochAdType":"INPUT""#,
            r#""GlobalJobId":"a#2.0#1","QDate":1,"JobStatus":3,"LastJobStatus":1"#,
        ];
        assert_eq!(parsed(&[&documents]), Parsed::default());
    }

    #[test]
    fn a_page_that_cannot_be_read_is_set_aside() {
        let text = b"{\"hits\":{\"hits\":[]}}\nhalf a page\n";
        let Parsed { records, rejects } = parse(JobDocuments::new("chtc", time(0)), text);
        assert_eq!((records, rejects.len()), (vec![], 1));
        assert!(rejects[0].reason.starts_with("page 2 cannot be read: "), "{}", rejects[0].reason);
        assert_eq!(parse(JobDocuments::new("chtc", time(0)), b""), Parsed::default());
    }
}
