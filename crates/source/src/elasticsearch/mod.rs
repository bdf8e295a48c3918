//! Job ads that `condor_adstash` pushed to Elasticsearch or OpenSearch, and documents that we push.
//!
//! A window of time is asked about with [`jobs`], which hands on the server's answers as they are,
//! a page a line; [`JobDocuments`] reads them, under the same keys as
//! [`CondorHistory`](crate::htcondor::CondorHistory) reads the same executions. [`push`] goes the other way.

mod bulk;
mod documents;
mod fields;
mod query;
mod search;
mod server;

pub use bulk::{Document, Pushed, push};
pub use documents::JobDocuments;
pub use search::{Sink, has_executions, jobs};
pub use server::{Credential, Purpose, Server};

/// What these answers are called in the archive and among the collections.
pub const PROGRAM: &str = "elasticsearch";
