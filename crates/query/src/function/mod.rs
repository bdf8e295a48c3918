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
mod sent;
mod survival;

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::{Judgement, Question};
use allocations_of::Scope;

pub use sent::{is_ours, receive, receive_aggregate, received};

/// What functions know of a site: its calendar, judgements and allocations.
pub(crate) struct Known {
    zone: TimeZone,
    judgement: Arc<Judgement>,
    scopes: Vec<Scope>,
}

/// The same, on its way to another machine.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    #[serde(with = "jiff::fmt::serde::tz::required")]
    zone: TimeZone,
    judgement: Cow<'a, Judgement>,
    scopes: Cow<'a, [Scope]>,
}

impl Known {
    pub(crate) fn of(question: &Question) -> Known {
        Known {
            zone: question.period.zone.clone(),
            judgement: question.judgement.clone(),
            scopes: allocations_of::scopes(question),
        }
    }

    /// As it is sent to another machine.
    pub(crate) fn written(&self) -> Result<Vec<u8>> {
        let written = Written {
            zone: self.zone.clone(),
            judgement: Cow::Borrowed(&self.judgement),
            scopes: Cow::Borrowed(&self.scopes),
        };
        serde_json::to_vec(&written).context("what the site says cannot be sent to another machine")
    }

    fn read(written: &[u8]) -> Result<Known> {
        let Written { zone, judgement, scopes } =
            serde_json::from_slice(written).context("what was sent of a site cannot be read")?;
        let judgement = Arc::new(judgement.into_owned());
        Ok(Known { zone, judgement, scopes: scopes.into_owned() })
    }

    /// Every function of one row.
    pub(crate) fn functions(&self) -> Vec<ScalarUDF> {
        let zone = &self.zone;
        let mut functions = judged::functions(&self.judgement);
        functions.extend(pieces::functions(zone));
        functions.extend(exact::functions());
        functions.extend([
            seconds_between::function(),
            days_touched::function(zone),
            nodes_of::function(),
            gpus_of::function(),
            hour_of_week::function(zone),
            away::function(),
            allocations_of::function(self.scopes.clone()),
            later::function(zone),
        ]);
        functions
    }
}

/// Every function of many rows.
pub(crate) fn aggregates() -> Vec<AggregateUDF> {
    let mut aggregates = vec![distribution::function()];
    aggregates.extend(survival::functions());
    aggregates
}
