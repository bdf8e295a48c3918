//! What the site says of itself, for other dashboards: what was granted to whom, and whatever else
//! its configuration has under `[constants]`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use jiff::tz::TimeZone;
use query::Allocation;
use serde_json::{Map, Value, json};

use super::send;
use crate::access::Visitor;
use crate::{App, Constant};

/// `/api/v1/constants`.
pub(super) async fn constants(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let site = &app.site;
    let is_seen = |allocation: &&Allocation| visitor.sight.covers_use_of(allocation);
    let allocations: Vec<Allocation> = site.allocations.iter().filter(is_seen).cloned().collect();
    send(&document(&site.constants, &allocations, &site.zone))
}

fn document(
    constants: &BTreeMap<String, Constant>,
    allocations: &[Allocation],
    zone: &TimeZone,
) -> Value {
    let constants: Map<String, Value> = constants
        .iter()
        .map(|(name, constant)| {
            let value = match constant {
                Constant::Number(number) => json!(number),
                Constant::Text(text) => json!(text),
            };
            (name.clone(), value)
        })
        .collect();
    let allocations: Vec<Value> =
        allocations.iter().map(|allocation| about(allocation, zone)).collect();
    json!({ "constants": constants, "allocations": allocations })
}

/// An allocation, with the line that it draws: how much may be held at once, all the time.
fn about(allocation: &Allocation, zone: &TimeZone) -> Value {
    json!({
        "name": allocation.name,
        "groups": allocation.holders.groups,
        "accounts": allocation.holders.accounts,
        "users": allocation.holders.users,
        "clusters": allocation.clusters,
        "unit": allocation.unit.name(),
        "amount": allocation.amount,
        "from": allocation.from.to_string(),
        "to": allocation.to.to_string(),
        "at_once": allocation.at_once(zone),
    })
}

#[cfg(test)]
mod tests {
    use query::{AllocationUnit, Holders};

    use super::*;

    #[test]
    fn a_grant_is_told_with_its_line() {
        let allocation = Allocation {
            name: "lab".to_owned(),
            holders: Holders { accounts: vec!["lab".to_owned()], ..Holders::default() },
            clusters: Vec::new(),
            unit: AllocationUnit::by_name("gpu-hour").unwrap(),
            amount: 96.0,
            from: "2026-01-01".parse().unwrap(),
            to: "2026-01-03".parse().unwrap(),
        };
        let constants = BTreeMap::from([
            ("price_per_kwh".to_owned(), Constant::Number(0.12)),
            ("currency".to_owned(), Constant::Text("CAD".to_owned())),
        ]);
        // 96 GPU hours in 48 hours are two GPUs.
        assert_eq!(
            document(&constants, &[allocation], &TimeZone::UTC),
            json!({
                "constants": { "currency": "CAD", "price_per_kwh": 0.12 },
                "allocations": [{
                    "name": "lab", "groups": [], "accounts": ["lab"], "users": [], "clusters": [],
                    "unit": "gpu-hour", "amount": 96.0, "from": "2026-01-01", "to": "2026-01-03",
                    "at_once": 2.0,
                }],
            })
        );
    }
}
