//! Who sees what. Rows and names are taken out of the tables that a session registers, and out of
//! what was last seen: no statement, report, format or picture can get around it.

mod live;
mod rule;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::array::{AsArray, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarUDF, Volatility, create_udf, ident, lit, when,
};
use datafusion::prelude::SessionContext;
use record::TABLES;
use report::{Coverage, SkippedFile};

use crate::pseudonym::Secret;
use crate::{ANALYSES, Allocation, Analysis, Holders, TERMS, mentions};

use rule::{Rows, Rule, Text};

/// What somebody sees of the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sight {
    /// Everything.
    #[default]
    Staff,
    /// What a user did and what was charged to some accounts; of others, what has no name.
    Own { user: String, accounts: Vec<String>, secret: Secret },
    /// Everything but names.
    Public { secret: Secret },
}

/// What is not for everybody's eyes.
#[derive(Debug)]
pub struct Hidden(&'static str);

impl fmt::Display for Hidden {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Only staff may see this: it rests on `{}`.", self.0)
    }
}

impl std::error::Error for Hidden {}

/// In the place of users that are somebody else.
const OTHERS: &str = "(others)";
/// In the place of words that only some may read.
const SAID: &str = "(not shown)";

impl Sight {
    /// The analyses that can be asked.
    pub fn analyses(&self) -> impl Iterator<Item = &'static Analysis> {
        ANALYSES.into_iter().filter(|analysis| self.covers(analysis).is_ok())
    }

    /// Refuses an analysis that cannot be asked at all.
    pub fn covers(&self, analysis: &Analysis) -> Result<(), Hidden> {
        self.check(analysis.sql)
    }

    /// Whether an allocation is seen: where all that counts in it is. What is left of one would
    /// otherwise be told too large.
    pub fn covers_use_of(&self, allocation: &Allocation) -> bool {
        let Holders { groups, accounts: held, users } = &allocation.holders;
        match self {
            Sight::Staff => true,
            Sight::Own { user, accounts, .. } => {
                groups.is_empty()
                    && held.iter().all(|account| accounts.contains(account))
                    && users.iter().all(|name| name == user)
                    && held.len() + users.len() > 0
            }
            Sight::Public { .. } => false,
        }
    }

    /// What is said of files that cannot be read: which those are, and what is wrong with them, is the
    /// machine's, and for staff.
    pub(crate) fn cut_coverage(&self, coverage: &mut Coverage) {
        if !matches!(self, Sight::Staff) && !coverage.skipped.is_empty() {
            coverage.skipped = vec![SkippedFile {
                path: "a part of the history".to_owned(),
                reason: "cannot be read".to_owned(),
            }];
        }
    }

    /// What a reader of a report must know of what is not in it.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Sight::Staff => None,
            Sight::Own { accounts, .. } if accounts.is_empty() => {
                Some("Of jobs, only your own are counted.".to_owned())
            }
            Sight::Own { accounts, .. } => Some(format!(
                "Of jobs, only your own and those of {} are counted.",
                accounts.join(", ")
            )),
            Sight::Public { .. } => Some("Names are pseudonyms.".to_owned()),
        }
    }

    /// Refuses a statement about tables that are not registered.
    pub(crate) fn check(&self, sql: &str) -> Result<(), Hidden> {
        match self.hidden().into_iter().find(|word| mentions(sql, word)) {
            Some(word) => Err(Hidden(word)),
            None => Ok(()),
        }
    }

    /// The tables that are not registered, and the terms that rest on them.
    pub(crate) fn hidden(&self) -> Vec<&'static str> {
        if matches!(self, Sight::Staff) {
            return Vec::new();
        }
        let tables = TABLES.iter().map(|table| table.name);
        let mut hidden: Vec<&str> = tables.filter(|name| rule::of(name).is_none()).collect();
        for term in TERMS {
            if hidden.iter().any(|word| mentions(term.sql, word)) {
                hidden.push(term.name);
            }
        }
        hidden
    }

    /// Whether a table is seen that a session makes itself: where it was decided what cuts it.
    pub(crate) fn sees_made(&self, table: &str) -> bool {
        matches!(self, Sight::Staff) || rule::of_made(table).is_some()
    }

    /// A table as it is seen; nothing if it is not.
    pub(crate) fn veil(
        &self,
        context: &SessionContext,
        name: &str,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if matches!(self, Sight::Staff) {
            return Ok(Some(table));
        }
        let Some(rule) = rule::of(name) else { return Ok(None) };
        let columns: Vec<Expr> = table
            .schema()
            .fields()
            .iter()
            // Named as of the table: DataFusion takes a column without a table for another one.
            .map(|field| Ok(self.column(rule, field)?.alias_qualified(Some(name), field.name())))
            .collect::<Result<_>>()?;
        let mut rows = context.read_table(table)?;
        if let (Sight::Own { user, accounts, .. }, Rows::Owned) = (self, &rule.rows) {
            let charged = accounts.iter().map(|account| text(account)).collect();
            let is_own = ident("user").eq(text(user));
            rows = rows.filter(is_own.or(ident("account").in_list(charged, false)))?;
        }
        Ok(Some(rows.select(columns)?.into_view()))
    }

    /// A column as it is seen.
    fn column(&self, rule: &Rule, field: &Field) -> Result<Expr> {
        let column = ident(field.name());
        // The path's column, and what is no text, names nobody.
        if field.data_type() != &DataType::Utf8View || field.name() == "cluster" {
            return Ok(column);
        }
        let is_blank = || column.clone().is_null().or(column.clone().eq(text("")));
        let Some(kind) = rule.text(field.name()) else { return Ok(unknown()) };
        Ok(match (self, kind) {
            (Sight::Staff, _) | (_, Text::Plain) => column,
            (Sight::Own { .. }, _) if rule.rows == Rows::Owned => column,
            (Sight::Own { user, .. }, Text::User) => {
                when(is_blank().or(column.clone().eq(text(user))), column)
                    .otherwise(text(OTHERS))?
            }
            (Sight::Own { user, secret, .. }, Text::JobOf(whose)) => {
                let is_own = ident(*whose).eq(text(user));
                when(is_own, column.clone())
                    .otherwise(pseudonyms("job", secret).call(vec![column]))?
            }
            (Sight::Own { .. }, _) => column,
            (Sight::Public { secret }, Text::User) => pseudonyms("user", secret).call(vec![column]),
            (Sight::Public { secret }, Text::Account) => {
                pseudonyms("account", secret).call(vec![column])
            }
            (Sight::Public { secret }, Text::Job | Text::JobOf(_)) => {
                pseudonyms("job", secret).call(vec![column])
            }
            (Sight::Public { .. }, Text::Said) => when(is_blank(), column).otherwise(text(SAID))?,
            (Sight::Public { .. }, Text::Private) => unknown(),
        })
    }

    /// The members of groups as they are seen.
    pub(crate) fn members<'a>(
        &self,
        members: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(String, String)> {
        let plain = |(user, group): (&str, &str)| (user.to_owned(), group.to_owned());
        match self {
            Sight::Staff => members.map(plain).collect(),
            Sight::Own { user, .. } => {
                members.filter(|(name, _)| name == user).map(plain).collect()
            }
            Sight::Public { secret } => members
                .map(|(user, group)| {
                    (secret.pseudonym("user", user), secret.pseudonym("group", group))
                })
                .collect(),
        }
    }
}

fn text(text: &str) -> Expr {
    lit(ScalarValue::Utf8View(Some(text.to_owned())))
}

fn unknown() -> Expr {
    lit(ScalarValue::Utf8View(None))
}

/// The function that gives a column's pseudonyms. It is a part of the plan and has no name in the
/// session, so that nobody can ask it whom a pseudonym stands for.
fn pseudonyms(kind: &'static str, secret: &Secret) -> ScalarUDF {
    let secret = secret.clone();
    let function = move |arguments: &[ColumnarValue]| {
        let arrays = ColumnarValue::values_to_arrays(arguments)?;
        let [names] = &arrays[..] else { unreachable!("the signature has one argument") };
        let mut known: HashMap<&str, String> = HashMap::new();
        let mut pseudonym =
            |name| known.entry(name).or_insert_with(|| secret.pseudonym(kind, name)).clone();
        let names = names.as_string_view().iter();
        let array: StringViewArray = names.map(|name| name.map(&mut pseudonym)).collect();
        Ok(ColumnarValue::Array(Arc::new(array)))
    };
    create_udf(
        &format!("{kind}_pseudonym"),
        vec![DataType::Utf8View],
        DataType::Utf8View,
        Volatility::Immutable,
        Arc::new(function),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AllocationUnit;

    /// Whether ann, who coordinates chem, sees an allocation of these.
    fn check(groups: &[&str], accounts: &[&str], users: &[&str], expected: bool) {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let allocation = Allocation {
            name: "one".to_owned(),
            holders: Holders {
                groups: names(groups),
                accounts: names(accounts),
                users: names(users),
            },
            clusters: Vec::new(),
            unit: AllocationUnit::by_name("gpu-hour").unwrap(),
            amount: 1.0,
            from: "2026-01-01".parse().unwrap(),
            to: "2026-01-02".parse().unwrap(),
        };
        let secret = Secret::new(b"salt");
        let ann =
            Sight::Own { user: "ann".into(), accounts: names(&["chem"]), secret: secret.clone() };
        assert_eq!(ann.covers_use_of(&allocation), expected, "{:?}", allocation.holders);
        assert!(Sight::Staff.covers_use_of(&allocation));
        assert!(!Sight::Public { secret }.covers_use_of(&allocation));
    }

    #[test]
    fn an_allocation_is_seen_where_all_that_counts_in_it_is() {
        check(&[], &["chem"], &[], true);
        check(&[], &["chem"], &["ann"], true);
        check(&[], &["chem", "bio"], &[], false);
        check(&[], &[], &["ann", "bob"], false);
        check(&["lab"], &[], &[], false);
        check(&[], &[], &[], false);
    }
}
