//! What a search is asked for: which documents, in which order, and what of them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::{Fields, TimeField};
use crate::htcondor::ATTRIBUTES;

/// What is read of a document beside what is read of an ad.
const OF_DOCUMENTS: [&str; 12] = [
    "CompletionDate",
    "EnteredCurrentStatus",
    "EpochAdType",
    "GPUsMemoryUsage_EXPR",
    "JobRunCount",
    "JobStartDate",
    "JobUniverse",
    "LastJobStatus",
    "LastRemoteHost",
    "RecordTime",
    "StartdName",
    "StartdSlot",
];

/// A part of a window, for one search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    time: TimeField,
    /// In the unit of the field.
    pub(super) start: i64,
    end: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Ads of executions, each written when it ended.
    Execution,
    /// Ads of jobs, each written when it left the queue: they tell of its last execution.
    Job,
}

impl Part {
    /// The parts of a window: as many as that, of those kinds that the index has. A part is a part
    /// of the time, which every version of every server can be asked about.
    pub(super) fn all(
        fields: &Fields,
        (start, end): (Timestamp, Timestamp),
        slices: usize,
    ) -> Vec<Part> {
        const SHORTEST_SECONDS: i64 = 3600;
        let (start, end) = (start.as_second(), end.as_second());
        let slices =
            i64::try_from(slices).unwrap_or(1).min((end - start) / SHORTEST_SECONDS).max(1);
        let kinds = [(Kind::Execution, &fields.epoch_time), (Kind::Job, &fields.record_time)];
        let mut parts = Vec::new();
        for (kind, time) in kinds {
            let Some(time) = time else { continue };
            let unit = if time.is_date { 1000 } else { 1 };
            let cut = |number: i64| (start + (end - start) * number / slices) * unit;
            for number in 0..slices {
                let (start, end) = (cut(number), cut(number + 1));
                parts.push(Part { kind, time: time.clone(), start, end });
            }
        }
        parts
    }

    /// What is asked for, from a moment on.
    pub(super) fn search(&self, fields: &Fields, from: i64, page: usize) -> Value {
        let mut range = json!({"gte": from, "lt": self.end});
        if self.time.is_date {
            range["format"] = json!("epoch_millis");
        }
        let mut filter = vec![json!({"range": {&self.time.name: range}})];
        let mut must_not = Vec::new();
        match (self.kind, &fields.epoch_kind, &fields.epoch_time) {
            (Kind::Execution, Some(kind), _) => {
                // Transfers of files have ads of their own. Before they had, there was no kind.
                filter.push(json!({"bool": {"minimum_should_match": 1, "should": [
                    {"term": {kind: "EPOCH"}},
                    {"bool": {"must_not": {"exists": {"field": kind}}}},
                ]}}));
            }
            (Kind::Execution, None, _) => {}
            (Kind::Job, _, epoch_time) => {
                filter.push(json!({"exists": {"field": "JobCurrentStartDate"}}));
                if let Some(time) = epoch_time {
                    must_not.push(json!({"exists": {"field": time.name}}));
                }
            }
        }
        json!({
            "size": page,
            "track_total_hits": true,
            "_source": attributes(),
            "query": {"bool": {"filter": filter, "must_not": must_not}},
        })
    }

    /// By time, and then so that no two documents are in one place.
    pub(super) fn order(&self, fields: &Fields) -> Value {
        let mut order = vec![json!({&self.time.name: "asc"})];
        order.extend(fields.tie_breakers.iter().map(|name| {
            let kind = if name == "NumShadowStarts" { "long" } else { "keyword" };
            json!({name: {"order": "asc", "unmapped_type": kind}})
        }));
        order.push(json!({"_index": "asc"}));
        Value::Array(order)
    }
}

/// The attributes, in every spelling that `condor_adstash` gives them: as they are known to it, in
/// small letters, or with each part begun by a capital.
fn attributes() -> Vec<String> {
    let mut names = Vec::new();
    for name in ATTRIBUTES.split(',').chain(OF_DOCUMENTS) {
        names.push(name.to_owned());
        names.push(name.to_ascii_lowercase());
        for end in ["Date", "Provisioned"] {
            if let Some(begin) = name.strip_suffix(end) {
                names.push(format!("{}{end}", capitalised(begin)));
            }
        }
        if let Some(end) = name.strip_prefix("Request") {
            names.push(format!("Request{}", capitalised(end)));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    format!("{}{}", first.to_ascii_uppercase(), rest.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields {
            epoch_time: Some(TimeField { name: "EpochWriteDate".into(), is_date: true }),
            record_time: Some(TimeField { name: "RecordTime".into(), is_date: false }),
            epoch_kind: Some("EpochAdType".into()),
            tie_breakers: vec!["GlobalJobId".into(), "NumShadowStarts".into()],
        }
    }

    fn window(seconds: i64) -> (Timestamp, Timestamp) {
        let start = Timestamp::from_second(7200).unwrap();
        (start, Timestamp::from_second(7200 + seconds).unwrap())
    }

    #[test]
    fn a_window_is_cut_into_parts_that_leave_nothing_out() {
        let parts = Part::all(&fields(), window(86_400), 3);
        let times: Vec<_> = parts.iter().map(|part| (part.kind, part.start, part.end)).collect();
        // 86,400 s in 3 parts of 28,800 s; dates in milliseconds, numbers in seconds.
        assert_eq!(
            times,
            [
                (Kind::Execution, 7_200_000, 36_000_000),
                (Kind::Execution, 36_000_000, 64_800_000),
                (Kind::Execution, 64_800_000, 93_600_000),
                (Kind::Job, 7200, 36_000),
                (Kind::Job, 36_000, 64_800),
                (Kind::Job, 64_800, 93_600),
            ]
        );
        // Less than an hour is not cut; more is not cut shorter than that.
        assert_eq!(Part::all(&fields(), window(1800), 4).len(), 2);
        assert_eq!(Part::all(&fields(), window(7200), 4).len(), 4);
    }

    #[test]
    fn executions_are_told_from_transfers_and_from_jobs() {
        let parts = Part::all(&fields(), window(1800), 1);
        let search = parts[0].search(&fields(), 8_000_000, 1000);
        assert_eq!(
            search["query"]["bool"]["filter"],
            json!([
                {"range": {"EpochWriteDate": {"gte": 8_000_000, "lt": 9_000_000, "format": "epoch_millis"}}},
                {"bool": {"minimum_should_match": 1, "should": [
                    {"term": {"EpochAdType": "EPOCH"}},
                    {"bool": {"must_not": {"exists": {"field": "EpochAdType"}}}},
                ]}},
            ])
        );
        let search = parts[1].search(&fields(), 7200, 1000);
        assert_eq!(
            search["query"]["bool"],
            json!({
                "filter": [
                    {"range": {"RecordTime": {"gte": 7200, "lt": 9000}}},
                    {"exists": {"field": "JobCurrentStartDate"}},
                ],
                "must_not": [{"exists": {"field": "EpochWriteDate"}}],
            })
        );
    }

    #[test]
    fn attributes_are_asked_for_as_adstash_spells_them() {
        let names = attributes();
        for name in [
            "GlobalJobId",
            "EpochWriteDate",
            "EpochwriteDate",
            "RequestGpus",
            "GpusProvisioned",
            "chtcprojects",
            "runinstanceid",
            "JobCurrentStartDate",
            "vacatereasoncode",
        ] {
            assert!(names.iter().any(|given| given == name), "{name} in {names:?}");
        }
    }
}
