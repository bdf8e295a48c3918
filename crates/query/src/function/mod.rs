//! What SQL lacks; a file a function.

mod allocations_of;
mod away;
mod days_touched;
mod distribution;
mod exact;
mod gpus_of;
mod hour_of_week;
mod judged;
mod later;
mod nodes_of;
mod pieces;
mod seconds_between;
mod survival;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use crate::Question;

/// Every function of one row, for a site's calendar, judgements and allocations.
pub(crate) fn all(question: &Question) -> Vec<ScalarUDF> {
    let zone = &question.period.zone;
    let mut functions = judged::functions(&question.judgement);
    functions.extend(pieces::functions(zone));
    functions.extend([
        seconds_between::function(),
        days_touched::function(zone),
        exact::function(),
        nodes_of::function(),
        gpus_of::function(),
        hour_of_week::function(zone),
        away::function(),
        allocations_of::function(question),
        later::function(zone),
    ]);
    functions
}

/// Every function of many rows.
pub(crate) fn aggregates() -> Vec<AggregateUDF> {
    let mut aggregates = vec![distribution::function()];
    aggregates.extend(survival::functions());
    aggregates
}
