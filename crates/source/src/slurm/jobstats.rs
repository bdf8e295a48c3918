//! The summary of a job that jobstats leaves in its AdminComment.
//!
//! It is `JS1:`, and then JSON, zipped and in base64; or a word where there is nothing to say,
//! `JS1:Short` or `JS1:None`. What it looks like inside is described by jobstats' own manual
//! (docs/setup/summaries.md of PrincetonUniversity/jobstats):
//!
//! ```json
//! {"gpus": 1, "total_time": 50944, "nodes": {"k1g1": {"cpus": 12, "total_time": 57620.8,
//!   "used_memory": 84683702272, "total_memory": 137438953472, "gpu_utilization": {"1": 98.6},
//!   "gpu_used_memory": {"1": 83314868224}, "gpu_total_memory": {"1": 85899345920}}}}
//! ```

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Map, Value};

/// The longest summary, unzipped. One of a thousand nodes with eight GPUs each takes half of it.
const LONGEST: u64 = 1024 * 1024;

/// What a summary says of a job's GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GpuSummary {
    /// The mean over its GPUs of each one's mean over time, in percent.
    pub(super) utilization: Option<f64>,
    /// The largest memory of each of its GPUs, added up.
    pub(super) memory_mb: Option<f64>,
}

/// Reads a comment. One that is no summary, or a broken one, says nothing.
pub(super) fn gpu_summary(comment: &[u8]) -> GpuSummary {
    comment.strip_prefix(b"JS1:").and_then(unzip).and_then(|text| read(&text)).unwrap_or_default()
}

fn unzip(base64: &[u8]) -> Option<Vec<u8>> {
    let zipped = STANDARD.decode(base64.trim_ascii()).ok()?;
    let mut text = Vec::new();
    GzDecoder::new(&zipped[..]).take(LONGEST + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= LONGEST).then_some(text)
}

fn read(text: &[u8]) -> Option<GpuSummary> {
    let summary: Value = serde_json::from_slice(text).ok()?;
    let nodes = summary.get("nodes")?.as_object()?;
    let percentages = of_each_gpu(nodes, "gpu_utilization", |percent| percent <= 100.0)?;
    let bytes = of_each_gpu(nodes, "gpu_used_memory", |_| true)?;
    let sum = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>());
    Some(GpuSummary {
        utilization: sum(&percentages).map(|sum| sum / percentages.len() as f64),
        memory_mb: sum(&bytes).map(|bytes| bytes / (1024.0 * 1024.0)),
    })
}

/// A value of each GPU of each node; of a node without GPUs, or not asked about them, none. A value
/// that cannot be makes the whole of it doubtful.
fn of_each_gpu(
    nodes: &Map<String, Value>,
    name: &str,
    is_possible: impl Fn(f64) -> bool,
) -> Option<Vec<f64>> {
    let mut values = Vec::new();
    for gpus in nodes.values().filter_map(|node| node.get(name)) {
        for value in gpus.as_object()?.values() {
            let value = value.as_f64().filter(|value| *value >= 0.0 && is_possible(*value))?;
            values.push(value);
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn comment(json: &str) -> String {
        let mut zip = GzEncoder::new(Vec::new(), Compression::default());
        zip.write_all(json.as_bytes()).unwrap();
        format!("JS1:{}", STANDARD.encode(zip.finish().unwrap()))
    }

    #[track_caller]
    fn check(comment: &str, utilization: Option<f64>, memory_mb: Option<f64>) {
        let expected = GpuSummary { utilization, memory_mb };
        assert_eq!(gpu_summary(comment.as_bytes()), expected, "{comment}");
    }

    /// Written by Python: `base64.b64encode(gzip.compress(json.dumps({"nodes": {"n1":
    /// {"total_memory": 68719476736, "used_memory": 1875886080, "total_time": 221.7, "cpus": 16,
    /// "gpu_total_memory": {"0": 17071734784, "1": 17071734784}, "gpu_used_memory": {"0":
    /// 3145728, "1": 1048576}, "gpu_utilization": {"0": 87.5, "1": 0}}}, "total_time": 300,
    /// "gpus": 2}).encode(), mtime=0))`.
    #[test]
    fn a_summary_written_elsewhere_is_read() {
        let comment = concat!(
            "JS1:H4sIAAAAAAACA12OwQqDMBBEf0VyLrKbxOy2PyNSQwmokRoPreTfm1Rr0dPCzLzZWcTgWzuJW7GI",
            "Ab8n+NB0dW97/3wlwTDhVZMhZS6FmCfb/j1kqpgNMCRr5YLrbXKkxJKSeB/nXI6ZfYxzfSpfBGSXgJCU",
            "JtYphkclbuTx8woq1BVJ/kGguSKzA8F17t0E54cdYCqrLQ0xxvNqBbDCebOMH/bDoREdAQAA",
        );
        // (87.5 + 0) ÷ 2, and 3 MiB + 1 MiB.
        check(comment, Some(43.75), Some(4.0));
        check(&format!("{comment}\n"), Some(43.75), Some(4.0));
    }

    #[test]
    fn the_gpus_of_all_nodes_count_alike() {
        let summary = r#"{"nodes": {
            "a": {"gpu_utilization": {"0": 90, "1": 60}, "gpu_used_memory": {"0": 1048576}},
            "b": {"gpu_utilization": {"3": 30}, "cpus": 8},
            "c": {"cpus": 8}
        }, "gpus": 3}"#;
        // (90 + 60 + 30) ÷ 3
        check(&comment(summary), Some(60.0), Some(1.0));
    }

    #[test]
    fn a_job_without_gpus_has_none_measured() {
        check(
            &comment(r#"{"nodes": {"a": {"cpus": 8, "total_time": 1}}, "gpus": false}"#),
            None,
            None,
        );
        check(&comment(r#"{"nodes": {}}"#), None, None);
    }

    #[test]
    fn what_is_no_summary_says_nothing() {
        for comment in
            ["", "JS1:Short", "JS1:None", "JS1:", "JS1:AAAA", "resubmitted by root", "JS2:"]
        {
            check(comment, None, None);
        }
        let whole = comment(r#"{"nodes": {"a": {"gpu_utilization": {"0": 90}}}}"#);
        check(&whole[..whole.len() - 12], None, None);
        for json in [
            "",
            "[]",
            r#"{"gpus": 1}"#,
            r#"{"nodes": []}"#,
            r#"{"nodes": {"a": {"gpu_utilization": [90]}}}"#,
            r#"{"nodes": {"a": {"gpu_utilization": {"0": "NaN"}}}}"#,
            r#"{"nodes": {"a": {"gpu_utilization": {"0": 90, "1": 101}}}}"#,
            r#"{"nodes": {"a": {"gpu_utilization": {"0": -1}}}}"#,
        ] {
            check(&comment(json), None, None);
        }
    }

    #[test]
    fn a_summary_that_unzips_without_end_is_not_read() {
        let nodes = r#"{"nodes": {"a": {"gpu_utilization": {"0": 90}}}}"#;
        let padding = " ".repeat(LONGEST as usize - nodes.len());
        check(&comment(&format!("{nodes}{padding}")), Some(90.0), None);
        check(&comment(&format!("{nodes}{padding} ")), None, None);
    }
}
