//! The machine ads of condor_status: the same whole and in pieces, and a good one before all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::htcondor::CondorStatus;

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let parser = || CondorStatus::new("pool", fuzz::time());
    let alone = fuzz::parse_in_pieces(parser, text, piece);
    assert!(alone.rejects.iter().all(|reject| !reject.reason.is_empty()));

    // An ad that cannot be read is set aside, and does not take the one before it along.
    let table = [b"[\n{\"Name\": 1}\n,\n".as_slice(), text].concat();
    let behind = fuzz::parse_in_pieces(parser, &table, piece);
    assert_eq!(behind.rejects.first().map(|reject| reject.position), Some(1));
});
