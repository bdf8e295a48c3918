//! sreport's table: any rows behind a header, or any text at all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::slurm::Sreport;

const HEADER: &str = "Cluster|Account|Login|TRES Name|Used\n";
const GOOD: &str = "maple|ml|ann|cpu|3600\n";

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    fuzz::check_lines(&fuzz::parse_in_pieces(Sreport::new, text, piece), text);

    let table = [HEADER.as_bytes(), GOOD.as_bytes(), text].concat();
    let parsed = fuzz::parse_in_pieces(Sreport::new, &table, piece);
    fuzz::check_lines(&parsed, &table);
    let first = parsed.records.first().expect("the good row is the first");
    assert_eq!((first.user.as_deref(), first.seconds), (Some("ann"), 3600));
});
