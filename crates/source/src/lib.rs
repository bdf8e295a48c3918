//! Reads what schedulers print: a machine runs a command or asks a server, a parser turns the text into
//! records.

mod current_job;
pub mod elasticsearch;
pub mod htcondor;
pub mod machine;
mod notation;
pub mod origin;
mod parsed;
pub mod simulated;
pub mod slurm;

pub use current_job::{CurrentJob, Phase};
pub use machine::{
    Command, Content, Failure, Hypertext, Letter, Live, Machine, MailServer, Method, Request,
    Response, Secret, Security, is_mail_address,
};
pub use parsed::{Parsed, Parser, Rejected, parse};

/// Reads a text in every notation, and panics where one of their laws is broken.
#[cfg(feature = "fuzzing")]
pub fn check_notations(text: &[u8]) {
    notation::laws::check(text);
}
