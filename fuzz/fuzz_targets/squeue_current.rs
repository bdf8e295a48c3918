//! squeue's table of the moment: any rows behind a header, or any text at all. Whatever stands before
//! it, a good row is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::slurm::SqueueCurrent;

const HEADER: &str = "JOBID|USER|PARTITION|STATE|NODES|CPUS|TRES_ALLOC|NODELIST|OVER_SUBSCRIBE|\n";
const GOOD: &str = "\n4294967295|ann|cpu|RUNNING|1|2||n[1-2]|OK|\n";

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    fuzz::check_lines(&fuzz::parse_in_pieces(SqueueCurrent::new, text, piece), text);

    let table = [HEADER.as_bytes(), GOOD.as_bytes(), text, b"\n", GOOD.as_bytes()].concat();
    let parsed = fuzz::parse_in_pieces(SqueueCurrent::new, &table, piece);
    fuzz::check_lines(&parsed, &table);
    let first = parsed.records.first().expect("the good row is the first");
    assert_eq!(first.job_id, "4294967295");
    assert_eq!(first.cpus, Some(2));
});
