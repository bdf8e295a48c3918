//! What SQL lacks; a file a function.

mod away;
mod days_touched;
mod distribution;
mod exact;
mod gpus_of;
mod hour_of_week;
mod judged;
mod nodes_of;
mod pieces;
mod seconds_between;
mod survival;

use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use jiff::tz::TimeZone;

use crate::judgement::Judgement;

/// Every function of one row, for a site's calendar and judgements.
pub(crate) fn all(zone: &TimeZone, judgement: &Arc<Judgement>) -> Vec<ScalarUDF> {
    let mut functions = judged::functions(judgement);
    functions.extend(pieces::functions(zone));
    functions.extend([
        seconds_between::function(),
        days_touched::function(zone),
        exact::function(),
        nodes_of::function(),
        gpus_of::function(),
        hour_of_week::function(zone),
        away::function(),
    ]);
    functions
}

/// Every function of many rows.
pub(crate) fn aggregates() -> Vec<AggregateUDF> {
    let mut aggregates = vec![distribution::function()];
    aggregates.extend(survival::functions());
    aggregates
}
