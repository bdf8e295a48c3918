//! The epoch ads of condor_history: the same whole and in pieces, and a good one before all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::htcondor::CondorHistory;

const GOOD: &str = r#"[{"GlobalJobId":"ap1.example.org#12.3#1000","QDate":1000,"NumShadowStarts":2,
                        "JobCurrentStartDate":2000,"EpochWriteDate":5600},"#;

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let parser = || CondorHistory::new("pool", fuzz::time());
    let alone = fuzz::parse_in_pieces(parser, text, piece);
    assert!(alone.rejects.iter().all(|reject| !reject.reason.is_empty()));

    let table = [GOOD.as_bytes(), text].concat();
    let behind = fuzz::parse_in_pieces(parser, &table, piece);
    assert_eq!(behind.records.first().and_then(|job| job.elapsed_seconds), Some(3600));
});
