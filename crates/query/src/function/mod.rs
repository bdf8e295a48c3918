//! What SQL lacks; a file a function.

mod days_touched;
mod distribution;
mod exact;
mod gpus_of;
mod nodes_of;
mod seconds_between;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use jiff::tz::TimeZone;

/// Every function of one row, for a site's calendar.
pub(crate) fn all(zone: &TimeZone) -> [ScalarUDF; 5] {
    [
        seconds_between::function(),
        days_touched::function(zone),
        exact::function(),
        nodes_of::function(),
        gpus_of::function(),
    ]
}

/// Every function of many rows.
pub(crate) fn aggregates() -> [AggregateUDF; 1] {
    [distribution::function()]
}
