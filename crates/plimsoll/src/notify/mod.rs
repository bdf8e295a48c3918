//! Who gets a letter about waste, and what it says.
//!
//! Functions of what reports say and of what was sent before: nothing here asks or sends.

mod letter;

pub(crate) use letter::text;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::{Table, Unit, Value};

use crate::config::{Notify, Rule, ShareOf};

/// A user who wasted enough to be told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) user: String,
    /// One for each rule that fits, in the order of the rules.
    pub(crate) findings: Vec<Finding>,
    pub(crate) standing: Standing,
}

/// What a rule says of a user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) rule: String,
    pub(crate) amount: f64,
    /// What the amount is measured in.
    pub(crate) unit: Unit,
    pub(crate) percent: f64,
    pub(crate) words: String,
}

/// Whether a user gets a letter now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// At this address.
    Due(String),
    /// The site wants no letters to this one.
    Excluded,
    /// Got one too short a time ago.
    Told(Timestamp),
    /// There is no address for a user of this name.
    Nowhere,
}

impl Standing {
    /// As staff reads it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Standing::Due(_) => "due",
            Standing::Excluded => "excluded",
            Standing::Told(_) => "told before",
            Standing::Nowhere => "no address",
        }
    }
}

/// The users who waste enough by at least one rule, by name. `tables` are the answers of the rules'
/// analyses by their names, `last` says when a user last got a letter.
pub(crate) fn cases(
    notify: &Notify,
    tables: &BTreeMap<String, Table>,
    last: impl Fn(&str) -> Option<Timestamp>,
    zone: &TimeZone,
    now: Timestamp,
) -> Vec<Case> {
    let mut findings: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for rule in &notify.rules {
        let Some(table) = tables.get(&rule.report) else { continue };
        for (user, finding) in found(rule, table, zone) {
            findings.entry(user).or_default().push(finding);
        }
    }
    let cases = findings.into_iter().map(|(user, findings)| {
        let standing = standing(notify, &user, last(&user), zone, now);
        Case { user, findings, standing }
    });
    cases.collect()
}

/// The users of a table who pass both lines of a rule. What is not known passes neither.
fn found(rule: &Rule, table: &Table, zone: &TimeZone) -> Vec<(String, Finding)> {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let other = match &rule.share {
        ShareOf::Column(name) | ShareOf::Whole(name) => name,
    };
    let (Some(user), Some(amount_place), Some(other)) =
        (place("user"), place(&rule.amount), place(other))
    else {
        return Vec::new();
    };
    let unit = table.columns[amount_place].unit;
    let finding = |row: &Vec<Value>| {
        let Value::Text(user) = &row[user] else { return None };
        let (amount, other) = (row[amount_place].number()?, row[other].number()?);
        let percent = match rule.share {
            ShareOf::Column(_) => other,
            ShareOf::Whole(_) if other > 0.0 => 100.0 * amount / other,
            ShareOf::Whole(_) => return None,
        };
        if amount < rule.floor || percent < 100.0 * rule.ratio {
            return None;
        }
        let words = rule
            .words
            .replace("{amount}", &unit.show(&Value::Number(amount), zone))
            .replace("{share}", &Unit::Percent.show(&Value::Number(percent), zone));
        Some((user.clone(), Finding { rule: rule.name.clone(), amount, unit, percent, words }))
    };
    table.rows.iter().filter_map(finding).collect()
}

fn standing(
    notify: &Notify,
    user: &str,
    last: Option<Timestamp>,
    zone: &TimeZone,
    now: Timestamp,
) -> Standing {
    if notify.excluded_users.iter().any(|excluded| excluded == user) {
        return Standing::Excluded;
    }
    let day = |time: Timestamp| time.to_zoned(zone.clone()).date();
    // By days of the calendar: who runs this every morning does not do so at the same second.
    let days_since = |time: Timestamp| day(time).until(day(now)).map_or(0, |span| span.get_days());
    if let Some(time) = last.filter(|time| days_since(*time) < i32::from(notify.cadence_days)) {
        return Standing::Told(time);
    }
    match address(notify, user) {
        Some(address) => Standing::Due(address),
        None => Standing::Nowhere,
    }
}

/// Where a user's letters go. A name that is more than a name, such as one with a comma, has none.
fn address(notify: &Notify, user: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
    if user.is_empty() || !user.chars().all(is_plain) {
        return None;
    }
    let address = notify.address.as_ref()?.replace("{user}", user);
    source::is_mail_address(&address).then_some(address)
}

/// Why nobody is to be told at this moment, if that is so.
pub(crate) fn quiet(notify: &Notify, zone: &TimeZone, now: Timestamp) -> Option<String> {
    let now = now.to_zoned(zone.clone());
    let (date, hour) = (now.date(), now.hour());
    if let Some((first, last)) =
        notify.quiet_dates.iter().find(|(first, last)| (*first..=*last).contains(&date))
    {
        return Some(format!("quiet_dates has {first}..{last}"));
    }
    if notify.quiet_days.contains(&date.weekday()) {
        return Some(format!("quiet_days has {:?}", date.weekday()));
    }
    let (from, to) = notify.quiet_hours?;
    let is_quiet = if from <= to { (from..to).contains(&hour) } else { hour >= from || hour < to };
    is_quiet.then(|| format!("quiet_hours has {from}-{to}"))
}

#[cfg(test)]
mod tests;
