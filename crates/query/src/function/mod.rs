//! What SQL lacks; a file a function.

mod allocations_of;
mod away;
mod days_touched;
mod distribution;
mod exact;
pub(crate) mod gpus_of;
mod hour_of_week;
mod is_gpu;
mod judged;
mod later;
mod nodes_of;
mod pieces;
mod seconds_between;
mod selects_gpu;
mod sent;
mod survival;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::policy::Policies;
use crate::{Judgement, Question};
use allocations_of::Scope;

pub use sent::{is_ours, receive, receive_aggregate, received};

/// What functions know of a site: its calendar, policies and allocations.
pub(crate) struct Known {
    zone: TimeZone,
    policies: Arc<Policies>,
    scopes: Vec<Scope>,
}

/// The same, on its way to another machine.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    #[serde(with = "jiff::fmt::serde::tz::required")]
    zone: TimeZone,
    policies: Cow<'a, Policies>,
    scopes: Cow<'a, [Scope]>,
}

impl Known {
    pub(crate) fn of(question: &Question, policies: &Arc<Policies>) -> Known {
        Known {
            zone: question.period.zone.clone(),
            policies: policies.clone(),
            scopes: allocations_of::scopes(question),
        }
    }

    /// As it is sent to another machine.
    pub(crate) fn written(&self) -> Result<Vec<u8>> {
        let written = Written {
            zone: self.zone.clone(),
            policies: Cow::Borrowed(&self.policies),
            scopes: Cow::Borrowed(&self.scopes),
        };
        serde_json::to_vec(&written).context("what the site says cannot be sent to another machine")
    }

    fn read(written: &[u8]) -> Result<Known> {
        let Written { zone, policies, scopes } =
            serde_json::from_slice(written).context("what was sent of a site cannot be read")?;
        let policies = Arc::new(policies.into_owned());
        Ok(Known { zone, policies, scopes: scopes.into_owned() })
    }

    /// Every function of one row.
    pub(crate) fn functions(&self) -> Vec<ScalarUDF> {
        let zone = &self.zone;
        let mut functions = judged::functions(&self.policies);
        functions.extend(pieces::functions(zone));
        functions.extend(exact::functions());
        functions.extend([
            seconds_between::function(),
            days_touched::function(zone),
            nodes_of::function(),
            gpus_of::function(),
            hour_of_week::function(zone),
            away::function(),
            selects_gpu::function(),
            is_gpu::function(),
            allocations_of::function(self.scopes.clone()),
            later::function(zone),
        ]);
        functions
    }
}

/// The names of the functions whose values depend on the site policy.
pub(crate) fn judged_names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let functions = judged::functions(&Arc::new(Policies::own(&Judgement::default())));
        functions.iter().map(|function| function.name().to_owned()).collect()
    });
    &NAMES
}

/// Every function of many rows.
pub(crate) fn aggregates() -> Vec<AggregateUDF> {
    let mut aggregates = vec![distribution::function()];
    aggregates.extend(survival::functions());
    aggregates
}
