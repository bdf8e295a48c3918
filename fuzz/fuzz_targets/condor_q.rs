//! The job ads of condor_q: the same whole and in pieces, and a good one before all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::htcondor::{CondorQ, Queued};

const GOOD: &str = r#"[{"GlobalJobId":"ap1.example.org#12.3#1000","QDate":1000,"JobStatus":1,
                        "JobUniverse":5,"EnteredCurrentStatus":2000,"RequestGPUs":2},"#;

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let parser = || CondorQ::new("pool", fuzz::time(), fuzz::HOLD);
    let alone = fuzz::parse_in_pieces(parser, text, piece);
    assert!(alone.rejects.iter().all(|reject| !reject.reason.is_empty()));

    let table = [GOOD.as_bytes(), text].concat();
    let behind = fuzz::parse_in_pieces(parser, &table, piece);
    let Some(Queued::Waiting(first)) = behind.records.first() else {
        panic!("the good job is the first");
    };
    assert_eq!((first.job_id.as_str(), first.req_gpus), ("ap1.example.org#12.3", Some(2)));
    for queued in &behind.records {
        match queued {
            Queued::Waiting(span) => assert!(span.start_time < span.end_time),
            Queued::Running(job) => assert!(!job.is_complete && job.end_time.is_none()),
        }
    }
});
