//! The names of a pool's access points: the same whole and in pieces, each once and in order, and a
//! good one among them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::htcondor::Schedds;

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let alone = fuzz::parse_in_pieces(Schedds::default, text, piece);
    assert!(alone.records.is_sorted_by(|one, other| one < other));
    assert!(alone.rejects.iter().all(|reject| !reject.reason.is_empty()));

    let table = [br#"[{"Name":"ap1.example.org"},"#.as_slice(), text].concat();
    let behind = fuzz::parse_in_pieces(Schedds::default, &table, piece);
    assert!(behind.records.iter().any(|name| name == "ap1.example.org"));
});
