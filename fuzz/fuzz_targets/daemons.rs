//! The daemons of a pool: the same whole and in pieces, each once and in order, and a good one among
//! them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::htcondor::Daemons;

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let alone = fuzz::parse_in_pieces(Daemons::default, text, piece);
    assert!(alone.records.is_sorted_by(|one, other| one.key() < other.key()));
    assert!(alone.rejects.iter().all(|reject| !reject.reason.is_empty()));

    let table = [br#"[{"Name":"ap1.example.org"},"#.as_slice(), text].concat();
    let behind = fuzz::parse_in_pieces(Daemons::default, &table, piece);
    assert!(behind.records.iter().any(|daemon| daemon.key() == (0, "ap1.example.org")));
});
