//! sacct's table: any rows behind a header, or any text at all. Whatever stands before it, a good
//! row is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::slurm::Sacct;

const HEADER: &str = "JobID|JobIDRaw|Cluster|User|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|\
                      Suspended|TimelimitRaw|AllocNodes|AllocCPUS|AllocTRES|ReqMem|ReqTRES|NodeList|\
                      NTasks|MaxRSS|TotalCPU|TRESUsageInTot|ConsumedEnergyRaw|AdminComment|JobName\n";
const GOOD: &str =
    "\n4294967295|4294967295||ann|COMPLETED|0:0|10|10|20|30|10||||4|||||||||||good\n";

fuzz_target!(|data: &[u8]| {
    let (piece, text) = fuzz::piece_and_text(data);
    let parser = || Sacct::new("maple", fuzz::time());
    fuzz::check_lines(&fuzz::parse_in_pieces(parser, text, piece), text);

    let table = [HEADER.as_bytes(), text, GOOD.as_bytes()].concat();
    let parsed = fuzz::parse_in_pieces(parser, &table, piece);
    fuzz::check_lines(&parsed, &table);
    let last = parsed.records.last().expect("the good row is the last");
    assert_eq!((last.job_id.as_str(), last.job_name.as_deref()), ("4294967295", Some("good")));
    assert_eq!(last.cpu_hours_reserved, Some(40.0 / 3600.0));

    for job in &parsed.records {
        assert!(job.start_time.is_none_or(|start| job.submit_time <= start));
        assert!(!(job.start_time.is_none() && job.elapsed_seconds.is_some()));
        for percent in [job.cpu_efficiency, job.memory_efficiency, job.gpu_utilization] {
            assert!(percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
        }
        assert_eq!(
            job.gpu_usage_source.is_some(),
            job.gpu_utilization.is_some() || job.gpu_memory_max_mb.is_some()
        );
    }
});
