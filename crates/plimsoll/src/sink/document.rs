//! An attempt of a job as a document: a line of JSON, with the columns of the table `job` by their
//! names. docs/push.md tells of it.

use record::{Job, Kind, Record};
use serde_json::{Value, json};
use source::elasticsearch::Document;

/// The document of an attempt. Its id says which cluster, so that equal numbers of two never meet.
pub(super) fn of(job: &Job) -> Document {
    let submitted = job.submit_time.as_second();
    let id = format!("{}:{}:{submitted}:{}", job.cluster, job.job_id, job.attempt);
    let columns = serde_json::to_string(job).expect("a record is made of texts and numbers");
    let columns = columns.strip_prefix('{').expect("a record is an object");
    Document { text: format!("{{\"id\":{},{columns}", json!(id)), id }
}

/// What a server is told of the fields, so that it guesses none: words are found whole.
pub(super) fn mappings() -> Value {
    let columns = Job::TABLE.columns.iter().map(|column| {
        let kind = match column.kind() {
            Kind::Text => "keyword",
            Kind::Integer => "long",
            Kind::Number => "double",
            Kind::Flag => "boolean",
            Kind::Time => "date",
        };
        (column.name, kind)
    });
    let fields = [("id", "keyword"), ("cluster", "keyword")].into_iter().chain(columns);
    let properties: serde_json::Map<String, Value> =
        fields.map(|(name, kind)| (name.to_owned(), json!({ "type": kind }))).collect();
    json!({ "properties": properties })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(cluster: &str) -> Job {
        let mut columns: serde_json::Map<String, Value> =
            Job::TABLE.columns.iter().map(|column| (column.name.to_owned(), Value::Null)).collect();
        for (name, value) in [
            ("cluster", json!(cluster)),
            ("job_id", json!("16_5")),
            ("submit_time", json!("2026-03-01T00:00:01.5Z")),
            ("observed_time", json!("2026-03-01T01:00:00Z")),
            ("attempt", json!(0)),
            ("source", json!("sacct")),
            ("state", json!("COMPLETED")),
            ("is_complete", json!(true)),
            ("job_name", json!("two\nlines")),
            ("cpu_efficiency", json!(12.5)),
        ] {
            columns.insert(name.to_owned(), value);
        }
        serde_json::from_value(Value::Object(columns)).unwrap()
    }

    #[test]
    fn a_document_is_a_line_with_every_column_and_unknown_is_null() {
        let document = of(&job("maple"));
        // 2026-03-01 is 20513 days after 1970-01-01: 20513 * 86400 + 1.
        assert_eq!(document.id, "maple:16_5:1772323201:0");
        assert!(!document.text.contains('\n'));
        let read: Value = serde_json::from_str(&document.text).unwrap();
        assert_eq!(read["id"], json!(document.id));
        assert_eq!(read["submit_time"], json!("2026-03-01T00:00:01.5Z"));
        assert_eq!(read["job_name"], json!("two\nlines"));
        assert_eq!(read["max_rss_mb"], Value::Null);
        let fields = read.as_object().unwrap();
        let mapped = mappings();
        assert_eq!(fields.len(), mapped["properties"].as_object().unwrap().len());
        for name in fields.keys() {
            assert!(mapped["properties"][name].is_object(), "{name} has no type");
        }
    }

    #[test]
    fn equal_numbers_of_two_clusters_are_two_documents() {
        assert_ne!(of(&job("maple")).id, of(&job("birch")).id);
    }
}
