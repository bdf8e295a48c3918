//! `allocations_of(cluster, user, account)`: the names of the allocations that an attempt counts in,
//! each once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, ListBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use serde::{Deserialize, Serialize};

use crate::Question;
use crate::allocation::Allocation;

/// The scopes of the allocations that are seen.
pub(super) fn scopes(question: &Question) -> Vec<Scope> {
    let seen = question.allocations_seen();
    seen.map(|allocation| Scope::of(allocation, &question.groups)).collect()
}

pub(super) fn function(scopes: Vec<Scope>) -> ScalarUDF {
    let text = DataType::Utf8View;
    create_udf(
        "allocations_of",
        vec![text.clone(), text.clone(), text.clone()],
        DataType::List(Arc::new(Field::new_list_field(text, true))),
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [clusters, users, accounts] = &arrays[..] else {
                unreachable!("the signature has three arguments")
            };
            let mut lists = ListBuilder::new(StringViewBuilder::new());
            // A batch has thousands of rows and few whose names differ.
            let mut known: HashMap<[Option<&str>; 3], Vec<&str>> = HashMap::new();
            let names = users.as_string_view().iter().zip(accounts.as_string_view());
            for (cluster, (user, account)) in clusters.as_string_view().iter().zip(names) {
                let names = known.entry([cluster, user, account]).or_insert_with(|| {
                    let fits = scopes.iter().filter(|scope| scope.has(cluster, user, account));
                    fits.map(|scope| scope.allocation.as_str()).collect()
                });
                for name in names {
                    lists.values().append_value(name);
                }
                lists.append(true);
            }
            Ok(ColumnarValue::Array(Arc::new(lists.finish())))
        }),
    )
}

/// Whose attempts count where.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Scope {
    allocation: String,
    /// None named means all.
    clusters: Vec<String>,
    /// Those that are named, and those of groups that are.
    users: BTreeSet<String>,
    accounts: Vec<String>,
}

impl Scope {
    fn of(allocation: &Allocation, groups: &BTreeMap<String, Vec<String>>) -> Scope {
        let holders = &allocation.holders;
        let of_groups = holders.groups.iter().filter_map(|group| groups.get(group)).flatten();
        Scope {
            allocation: allocation.name.clone(),
            clusters: allocation.clusters.clone(),
            users: holders.users.iter().chain(of_groups).cloned().collect(),
            accounts: holders.accounts.clone(),
        }
    }

    fn has(&self, cluster: Option<&str>, user: Option<&str>, account: Option<&str>) -> bool {
        let is_one_of = |names: &[String], name: Option<&str>| {
            names.iter().any(|one| Some(one.as_str()) == name)
        };
        (self.clusters.is_empty() || is_one_of(&self.clusters, cluster))
            && (user.is_some_and(|user| self.users.contains(user))
                || is_one_of(&self.accounts, account))
    }
}
