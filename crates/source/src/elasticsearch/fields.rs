//! Which fields of an index say what, and whether they can be asked for it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The fields by which executions are found and put in order, as the index spells them:
/// `condor_adstash` has written `EpochWriteDate` in three ways.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fields {
    /// When the ad of an execution was written; none where the index has no executions.
    pub(super) epoch_time: Option<TimeField>,
    /// When a job left the queue.
    pub(super) record_time: Option<TimeField>,
    /// What tells executions from transfers.
    pub(super) epoch_kind: Option<String>,
    /// Begin with the job; those that can be sorted by.
    pub(super) tie_breakers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimeField {
    pub(super) name: String,
    /// A date is asked for and sorted in milliseconds; a number is taken for seconds.
    pub(super) is_date: bool,
}

const EPOCH_TIME: [&str; 3] = ["EpochWriteDate", "EpochwriteDate", "epochwritedate"];
const RECORD_TIME: [&str; 2] = ["RecordTime", "CompletionDate"];
const EPOCH_KIND: [&str; 4] =
    ["EpochAdType", "EpochAdType.keyword", "epochadtype", "epochadtype.keyword"];
const JOB: [&str; 2] = ["GlobalJobId", "GlobalJobId.keyword"];
const ATTEMPT: [&str; 1] = ["NumShadowStarts"];

impl Fields {
    /// The question that [`Fields::read`] reads the answer of.
    pub(super) fn question(index: &str) -> String {
        let names = [&EPOCH_TIME[..], &RECORD_TIME, &EPOCH_KIND, &JOB, &ATTEMPT].concat();
        format!("{index}/_field_caps?fields={}", names.join(","))
    }

    /// Reads what `_field_caps` says; where the index cannot be asked, what is wrong with it.
    pub(super) fn read(index: &str, text: &[u8]) -> Result<Fields, Flaw> {
        let known: Capabilities = serde_json::from_slice(text).map_err(|error| {
            Flaw::Fields(format!("the fields of {index:?} cannot be read: {error}"))
        })?;
        if known.indices.is_empty() && known.fields.is_empty() {
            return Err(Flaw::NoIndex);
        }
        let fields = Fields {
            epoch_time: known.time(&EPOCH_TIME)?,
            record_time: known.time(&RECORD_TIME)?,
            epoch_kind: known.first_of(&EPOCH_KIND, &["keyword"]).map(str::to_owned),
            tie_breakers: known.tie_breakers(index)?,
        };
        if fields.epoch_time.is_none() && fields.record_time.is_none() {
            return Err(Flaw::Fields(format!(
                "{index:?} has no field EpochWriteDate or RecordTime, so it has no job ads of \
                 condor_adstash: check the index"
            )));
        }
        Ok(fields)
    }
}

/// Why an index cannot be asked.
#[derive(Debug, PartialEq)]
pub(super) enum Flaw {
    /// The pattern fits none.
    NoIndex,
    Fields(String),
}

/// What `_field_caps` says: for each field, for each type that some index gives it.
#[derive(Deserialize)]
struct Capabilities {
    #[serde(default)]
    indices: Vec<String>,
    fields: BTreeMap<String, BTreeMap<String, Capability>>,
}

#[derive(Deserialize)]
struct Capability {
    searchable: bool,
    /// Whether values can be sorted by.
    aggregatable: bool,
    /// Those of this type, where others have another.
    #[serde(default)]
    indices: Option<Vec<String>>,
}

const NUMBERS: [&str; 6] = ["long", "integer", "double", "float", "unsigned_long", "short"];

impl Capabilities {
    /// The first of some spellings that is there and of one of these types everywhere.
    fn first_of<'a>(&self, names: &[&'a str], types: &[&str]) -> Option<&'a str> {
        names.iter().copied().find(|name| {
            self.fields.get(*name).is_some_and(|given| {
                given.iter().all(|(kind, can)| types.contains(&kind.as_str()) && can.aggregatable)
            })
        })
    }

    fn time(&self, names: &[&str]) -> Result<Option<TimeField>, Flaw> {
        let found = names.iter().find_map(|name| Some((*name, self.fields.get(*name)?)));
        let Some((name, types)) = found else { return Ok(None) };
        let mut kinds = types.iter();
        let (Some((kind, can)), None) = (kinds.next(), kinds.next()) else {
            let kinds: Vec<String> = types
                .iter()
                .map(|(kind, can)| {
                    let indices = can.indices.as_deref().unwrap_or_default();
                    format!("{kind} in {}", indices.join(", "))
                })
                .collect();
            return Err(Flaw::Fields(format!(
                "{name} is {}: name only indexes in which it is one thing, or reindex the others",
                kinds.join(" and ")
            )));
        };
        let is_date = kind == "date";
        if !is_date && !NUMBERS.contains(&kind.as_str()) {
            return Err(Flaw::Fields(format!(
                "{name} is mapped as {kind}, which has no order in time: condor_adstash maps it as \
                 a date (format epoch_second); reindex with its mapping"
            )));
        }
        if !can.searchable || !can.aggregatable {
            return Err(Flaw::Fields(format!(
                "{name} is mapped without index or doc_values and cannot be asked for: reindex \
                 with the mapping of condor_adstash"
            )));
        }
        Ok(Some(TimeField { name: name.to_owned(), is_date }))
    }

    fn tie_breakers(&self, index: &str) -> Result<Vec<String>, Flaw> {
        let Some(job) = self.first_of(&JOB, &["keyword"]) else {
            let known = JOB.iter().find_map(|name| self.fields.get(*name));
            let kinds: Vec<&str> =
                known.into_iter().flatten().map(|(kind, _)| kind.as_str()).collect();
            return Err(Flaw::Fields(match kinds[..] {
                [] => format!(
                    "{index:?} has no field GlobalJobId, so it has no job ads of condor_adstash: \
                     check the index"
                ),
                _ => format!(
                    "GlobalJobId is mapped as {}, by which ads cannot be put in order: condor_adstash \
                     maps it as a keyword; reindex with its mapping, or add a field \
                     GlobalJobId.keyword",
                    kinds.join(" and ")
                ),
            }));
        };
        let attempt = self.first_of(&ATTEMPT, &NUMBERS);
        Ok([Some(job), attempt].into_iter().flatten().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<Fields, Flaw> {
        Fields::read(
            "htcondor",
            format!(r#"{{"indices":["htcondor"],"fields":{{{fields}}}}}"#).as_bytes(),
        )
    }

    fn field(name: &str, kind: &str) -> String {
        format!(
            r#""{name}":{{"{kind}":{{"type":"{kind}","searchable":true,"aggregatable":{}}}}}"#,
            kind != "text"
        )
    }

    fn fields(given: &[(&str, &str)]) -> Result<Fields, Flaw> {
        read(&given.iter().map(|(name, kind)| field(name, kind)).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn an_index_of_adstash_has_what_is_needed() {
        let found = fields(&[
            ("EpochwriteDate", "date"),
            ("RecordTime", "date"),
            ("epochadtype", "keyword"),
            ("GlobalJobId", "keyword"),
            ("NumShadowStarts", "long"),
        ]);
        assert_eq!(
            found.unwrap(),
            Fields {
                epoch_time: Some(TimeField { name: "EpochwriteDate".into(), is_date: true }),
                record_time: Some(TimeField { name: "RecordTime".into(), is_date: true }),
                epoch_kind: Some("epochadtype".into()),
                tie_breakers: vec!["GlobalJobId".into(), "NumShadowStarts".into()],
            }
        );
    }

    #[test]
    fn numbers_are_seconds_and_text_is_sorted_by_its_keyword() {
        let found = fields(&[
            ("RecordTime", "long"),
            ("GlobalJobId", "text"),
            ("GlobalJobId.keyword", "keyword"),
            ("NumShadowStarts", "text"),
        ])
        .unwrap();
        assert_eq!(
            found.record_time,
            Some(TimeField { name: "RecordTime".into(), is_date: false })
        );
        assert_eq!((found.epoch_time, found.epoch_kind), (None, None));
        assert_eq!(found.tie_breakers, ["GlobalJobId.keyword"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_remedy() {
        for (given, expected) in [
            (
                vec![("RecordTime", "text"), ("GlobalJobId", "keyword")],
                "RecordTime is mapped as text, which has no order in time: condor_adstash maps it as a date (format epoch_second); reindex with its mapping",
            ),
            (
                vec![("RecordTime", "date"), ("GlobalJobId", "text")],
                "GlobalJobId is mapped as text, by which ads cannot be put in order: condor_adstash maps it as a keyword; reindex with its mapping, or add a field GlobalJobId.keyword",
            ),
            (
                vec![("RecordTime", "date")],
                "\"htcondor\" has no field GlobalJobId, so it has no job ads of condor_adstash: check the index",
            ),
            (
                vec![("GlobalJobId", "keyword")],
                "\"htcondor\" has no field EpochWriteDate or RecordTime, so it has no job ads of condor_adstash: check the index",
            ),
        ] {
            assert_eq!(fields(&given), Err(Flaw::Fields(expected.into())));
        }
        let two = r#""RecordTime":{"date":{"searchable":true,"aggregatable":true,"indices":["a"]},"long":{"searchable":true,"aggregatable":true,"indices":["b","c"]}}"#;
        assert_eq!(
            read(two),
            Err(Flaw::Fields("RecordTime is date in a and long in b, c: name only indexes in which it is one thing, or reindex the others".into()))
        );
        assert_eq!(Fields::read("no-*", br#"{"indices":[],"fields":{}}"#), Err(Flaw::NoIndex));
    }
}
