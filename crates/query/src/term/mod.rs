//! The words that reports use, each defined once, as a view.

mod collection_run;
mod job_ended;
mod job_outcome;
mod job_run;
mod job_wait;
mod reject_seen;

use jiff::Timestamp;
use report::Period;

/// A word that reports use.
pub struct Term {
    pub name: &'static str,
    pub meaning: &'static str,
    /// In it, `$start` and `$end` stand for the period.
    pub sql: &'static str,
}

/// Every term; one may use those before it.
pub static TERMS: [&Term; 6] = [
    &job_run::TERM,
    &job_outcome::TERM,
    &job_ended::TERM,
    &job_wait::TERM,
    &collection_run::TERM,
    &reject_seen::TERM,
];

/// The statement that defines a term for a period.
pub(crate) fn create_view(term: &Term, period: &Period) -> String {
    let sql =
        term.sql.replace("$start", &moment(period.start)).replace("$end", &moment(period.end));
    format!("CREATE VIEW {} AS {sql}", term.name)
}

/// A moment as SQL writes it, of the type that the lake's moments have.
fn moment(time: Timestamp) -> String {
    format!("arrow_cast({}, 'Timestamp(Microsecond, Some(\"UTC\"))')", time.as_microsecond())
}
