//! What SQL lacks; a file a function.

mod days_touched;
mod distribution;
mod exact;
mod seconds_between;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use jiff::tz::TimeZone;

/// Every function of one row, for a site's calendar.
pub(crate) fn all(zone: &TimeZone) -> [ScalarUDF; 3] {
    [seconds_between::function(), days_touched::function(zone), exact::function()]
}

/// Every function of many rows.
pub(crate) fn aggregates() -> [AggregateUDF; 1] {
    [distribution::function()]
}
