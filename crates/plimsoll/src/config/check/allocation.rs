//! `[[allocation]]`: what was granted to whom, and the CSV file that may say it instead.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::Date;
use query::{Allocation, AllocationUnit, Holders, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Problems, above_zero, advice, string, type_name, unknown_keys, words, wrong_type};

/// What an entry may say, in the order of the example that `plimsoll init` writes.
pub(crate) const KEYS: [&str; 9] =
    ["name", "group", "account", "user", "cluster", "unit", "amount", "from", "to"];

/// What the rest of the configuration says that allocations name.
pub(crate) struct Known<'a> {
    pub(crate) groups: &'a BTreeMap<String, Vec<String>>,
    pub(crate) clusters: Vec<&'a str>,
}

/// An entry as it is written, in TOML or in CSV; what is missing is blank.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) holders: Holders,
    pub(crate) clusters: Vec<String>,
    pub(crate) unit: String,
    pub(crate) amount: Option<f64>,
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Entry {
    /// The allocation, or what is wrong: each with the key that it concerns.
    pub(crate) fn read(self, known: &Known<'_>) -> Result<Allocation, Vec<(&'static str, String)>> {
        let mut wrong: Vec<(&'static str, String)> = Vec::new();
        if self.name.is_empty() {
            wrong.push(("name", "missing: reports call it by its name".to_owned()));
        }
        if self.holders == Holders::default() {
            let words = "nobody holds it: write group, account or user";
            wrong.push(("name", words.to_owned()));
        }
        for group in self.holders.groups.iter().filter(|group| !known.groups.contains_key(*group)) {
            let names: Vec<&str> = known.groups.keys().map(String::as_str).collect();
            let words = match &names[..] {
                [] => format!("there is no group {group:?}: write it under [groups]"),
                names => {
                    format!("there is no group {group:?} in [groups]: {}", advice(group, names))
                }
            };
            wrong.push(("group", words));
        }
        for cluster in &self.clusters {
            // One that is not configured may have been imported; one that is nearly is a mistake.
            if !known.clusters.contains(&cluster.as_str())
                && let Some(near) = nearest(cluster, known.clusters.iter().copied())
            {
                wrong.push(("cluster", format!("{cluster:?}: did you mean {near:?}?")));
            }
        }
        let unit = AllocationUnit::by_name(&self.unit);
        if unit.is_none() {
            let names = AllocationUnit::ALL.map(|(name, _)| name);
            let words = match self.unit.as_str() {
                "" => format!("missing: write one of {}", names.join(", ")),
                unit => format!("unknown unit {unit:?}: {}", advice(unit, &names)),
            };
            wrong.push(("unit", words));
        }
        if self.amount.is_none() {
            wrong.push(("amount", "missing: write a number above zero".to_owned()));
        }
        let from = day("from", &self.from, &mut wrong);
        let to = day("to", &self.to, &mut wrong);
        if let (Some(from), Some(to)) = (from, to)
            && to <= from
        {
            let words =
                format!("it ends before it begins, on {from}: {to} is the day after its last");
            wrong.push(("to", words));
        }
        match (unit, self.amount, from, to) {
            (Some(unit), Some(amount), Some(from), Some(to)) if wrong.is_empty() => {
                Ok(Allocation {
                    name: self.name,
                    holders: self.holders,
                    clusters: self.clusters,
                    unit,
                    amount,
                    from,
                    to,
                })
            }
            _ => Err(wrong),
        }
    }
}

fn day(key: &'static str, text: &str, wrong: &mut Vec<(&'static str, String)>) -> Option<Date> {
    let day = text.parse().ok();
    if day.is_none() {
        wrong.push((
            key,
            match text {
                "" => "missing: write a day such as 2026-04-01".to_owned(),
                text => format!("{text:?} is no day: write one such as 2026-04-01"),
            },
        ));
    }
    day
}

/// The allocations of the file itself.
pub(super) fn allocations(
    value: &Spanned<DeValue>,
    known: &Known<'_>,
    problems: &mut Problems,
) -> Vec<Allocation> {
    let DeValue::Array(elements) = value.get_ref() else {
        let words = format!("allocation: write [[allocation]], not {}", type_name(value.get_ref()));
        problems.add(value.span(), words);
        return Vec::new();
    };
    let mut allocations: Vec<Allocation> = Vec::new();
    for element in elements {
        let DeValue::Table(table) = element.get_ref() else {
            wrong_type("allocation", "a table", element, problems);
            continue;
        };
        unknown_keys(table, &KEYS, problems);
        let found = problems.found.len();
        let entry = entry(table, problems);
        if problems.found.len() > found {
            continue; // what could not be read would be complained of again as missing
        }
        let named = entry.name.clone();
        let place = |key: &str| table.get(key).map_or(element.span(), Spanned::span);
        match entry.read(known) {
            Ok(allocation) if allocations.iter().any(|other| other.name == allocation.name) => {
                let words = format!("allocation.name: {named:?} is already the name of another");
                problems.add(place("name"), words);
            }
            Ok(allocation) => allocations.push(allocation),
            Err(wrong) => {
                for (key, words) in wrong {
                    problems.add(place(key), complaint(&named, key, &words));
                }
            }
        }
    }
    allocations
}

/// What is wrong with an entry, which it names.
pub(crate) fn complaint(name: &str, key: &str, words: &str) -> String {
    match name {
        "" => format!("allocation.{key}: {words}"),
        name => format!("allocation {name:?}: {key}: {words}"),
    }
}

fn entry(table: &DeTable, problems: &mut Problems) -> Entry {
    let text = |key: &str, problems: &mut Problems| {
        let path = format!("allocation.{key}");
        match table.get(key).map(|value| (value, value.get_ref())) {
            None => String::new(),
            Some((_, DeValue::Datetime(date))) => date.to_string(),
            Some((value, _)) => {
                string(&path, "a string", value, problems).unwrap_or_default().to_owned()
            }
        }
    };
    let names = |key: &str, problems: &mut Problems| match table.get(key) {
        None => Vec::new(),
        Some(value) if matches!(value.get_ref(), DeValue::String(_)) => vec![text(key, problems)],
        Some(value) => words(&format!("allocation.{key}"), value, problems),
    };
    Entry {
        name: text("name", problems),
        holders: Holders {
            groups: names("group", problems),
            accounts: names("account", problems),
            users: names("user", problems),
        },
        clusters: names("cluster", problems),
        unit: text("unit", problems),
        amount: above_zero("allocation.amount", "amount", table, problems),
        from: text("from", problems),
        to: text("to", problems),
    }
}

/// `allocation_file`: a CSV file beside the configuration, and where it is named.
pub(super) fn file(
    value: &Spanned<DeValue>,
    problems: &mut Problems,
) -> Option<(String, Range<usize>)> {
    let file = string("allocation_file", "a string", value, problems)?;
    if file.is_empty() {
        problems.add(value.span(), "allocation_file: it is empty");
        return None;
    }
    Some((file.to_owned(), value.span()))
}
