//! The list of sacct's fields: what is asked for is offered, and the name comes last.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use source::slurm::{Offered, sacct};

fuzz_target!(|data: &[u8]| {
    let essential = b"JobID JobIDRaw Submit State JobName ";
    assert!(Offered::read(&[essential, data].concat()).is_ok());
    let Ok(offered) = Offered::read(data) else { return };
    let command = sacct(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &offered, None);
    let format = command.arguments.iter().find_map(|word| word.strip_prefix("--format="));
    let fields: Vec<&str> = format.expect("fields are always asked for").split(',').collect();
    assert!(fields.iter().all(|field| offered.has(field)));
    assert!(!offered.has("JobName") || fields.last() == Some(&"JobName"));
});
