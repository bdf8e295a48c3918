//! Questions on several machines, by Ballista: one process plans who does what, others read the lake.
//!
//! A question is planned where it is asked, with all that is known there of the site, and its plan is
//! sent. So whoever works on it needs the lake and this program, and no configuration but where the
//! lake is.

mod codec;
mod executor;
mod only_lake;
mod remote;
mod scheduler;

pub use executor::execute;
pub use remote::Remote;
pub use scheduler::Scheduler;

/// How large a message may be: a plan has what is not in files with it, such as the phases of GPUs.
/// A plan that is larger is worked out where it was asked.
const LARGEST_MESSAGE: u32 = 256 << 20;

/// Has what Ballista logs shown among what we do, as `RUST_LOG` says.
fn show_logs() {
    // It is shown already if this is not the first.
    let _ = tracing_log::LogTracer::init();
}
