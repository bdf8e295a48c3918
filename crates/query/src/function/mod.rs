//! What SQL lacks; a file a function.

mod days_touched;
mod exact;
mod seconds_between;

use datafusion::logical_expr::ScalarUDF;
use jiff::tz::TimeZone;

/// Every function, for a site's calendar.
pub(crate) fn all(zone: &TimeZone) -> [ScalarUDF; 3] {
    [seconds_between::function(), days_touched::function(zone), exact::function()]
}
