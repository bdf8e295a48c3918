//! squeue's table: any rows behind a header, or any text at all. Whatever stands before it, a good
//! row is read; and a job has the key of its span.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::slurm::Squeue;

const HEADER: &str = "JOBID|USER|ACCOUNT|STATE|SUBMIT_TIME|ELIGIBLE_TIME|NODES|CPUS|TRES_ALLOC|TIME_LIMIT|\
                      REASON|NAME|\n";
const GOOD: &str = "\n4294967295|ann|ml|PENDING|10|N/A|1|2K||5:00|None|good|\n";

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let parser = || Squeue::new("maple", fuzz::time(), fuzz::HOLD).of_cluster_in_slurmdbd("maple");
    fuzz::check_lines(&fuzz::parse_in_pieces(parser, text, piece), text);

    let table = [HEADER.as_bytes(), text, GOOD.as_bytes()].concat();
    let parsed = fuzz::parse_in_pieces(parser, &table, piece);
    fuzz::check_lines(&parsed, &table);
    let last = parsed.records.last().and_then(|waiting| waiting.job.as_ref());
    let last = last.expect("the good row is the last");
    assert_eq!((last.job_id.as_str(), last.job_name.as_deref()), ("4294967295", Some("good")));
    assert_eq!(last.req_cpus, Some(2048));

    for waiting in &parsed.records {
        let Some(job) = &waiting.job else { continue };
        assert_eq!(job.job_id, waiting.span.job_id);
        assert_eq!(Some(job.submit_time), waiting.span.submit_time);
        assert!(!job.is_complete && job.start_time.is_none());
    }
});
