//! The summaries of jobstats, well wrapped and badly: none costs its job.
#![no_main]

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use source::parse;
use source::slurm::Sacct;

fuzz_target!(|data: &[u8]| {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(data).expect("memory can be written to");
    let zipped = zip.finish().expect("memory can be written to");
    for wrapped in [STANDARD.encode(zipped), STANDARD.encode(data)] {
        let table = format!(
            "JobID|Submit|Start|End|ElapsedRaw|AllocTRES|AdminComment|JobName\n\
             1|10|20|30|10|gres/gpu=1|JS1:{wrapped}|x\n"
        );
        let parsed = parse(Sacct::new("maple", fuzz::time()), table.as_bytes());
        let rows = parsed.records.len() + parsed.rejects.len();
        assert_eq!(rows, 1);
        let Some(job) = parsed.records.first() else {
            assert!(wrapped.len() > 60 * 1024, "only what is too long is set aside");
            return;
        };
        assert!(job.gpu_utilization.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
        assert!(job.gpu_memory_max_mb.is_none_or(|memory| memory >= 0.0));
        assert!(job.gpu_usage_source.as_deref().is_none_or(|source| source == "JS1"));
    }
});
