//! Allocations of which somebody is told what all use of them, though he sees nobody else's jobs.

use std::collections::HashSet;

use anyhow::Result;
use datafusion::arrow::array::AsArray;
use lake::Lake;

use super::Allocation;
use crate::{Question, Session, Sight};

/// The question as its totals may be answered: of everybody's use, and of those allocations alone that
/// who asks uses with others, or sees anyway. It is for our own statements about allocations, which add
/// up and name nobody.
pub(crate) async fn question_of_totals(lake: &Lake, mut question: Question) -> Result<Question> {
    let Sight::Own { user, .. } = question.sight.clone() else { return Ok(question) };
    if question.allocations.is_empty() {
        return Ok(question);
    }
    let accounts = accounts_of(lake, &question, &user).await?;
    let (sight, groups) = (question.sight.clone(), question.groups.clone());
    let is_of_group = |group: &String| groups.get(group).is_some_and(|users| users.contains(&user));
    let is_member = |Allocation { holders, .. }: &Allocation| {
        holders.users.contains(&user)
            || holders.groups.iter().any(is_of_group)
            || holders.accounts.iter().any(|account| accounts.contains(account))
    };
    let is_told =
        |allocation: &Allocation| sight.covers_use_of(allocation) || is_member(allocation);
    question.allocations.retain(is_told);
    question.sight = Sight::Staff;
    Ok(question)
}

/// The accounts to which a user's own attempts were charged in the period: who may charge an account is
/// a member of it.
async fn accounts_of(lake: &Lake, question: &Question, user: &str) -> Result<HashSet<String>> {
    let session = Session::open(lake, question, |term| term.name == "usage").await;
    let session = session.map_err(|error| question.memory.refuse(error))?;
    let sql = "
        SELECT DISTINCT account
        FROM usage
        WHERE user = $user AND account IS NOT NULL
    ";
    let batches = session.collect_with(sql, &[("user", Some(user.to_owned()))]).await;
    let batches = batches.map_err(|error| question.memory.refuse(error))?;
    let accounts =
        batches.iter().flat_map(|batch| batch.column(0).as_string_view().iter().flatten());
    Ok(accounts.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use crate::{ANALYSES, allocation};

    /// They are answered of everybody's use.
    #[test]
    fn what_is_told_of_allocations_names_nobody() {
        let about = ANALYSES.iter().filter(|analysis| allocation::concerns(analysis.sql));
        let names: Vec<&str> = about
            .flat_map(|analysis| analysis.columns.iter().map(|column| column.name))
            .filter(|name| {
                ["user", "account", "group", "job_id", "job_name", "node"].contains(name)
            })
            .collect();
        assert_eq!(names, [""; 0]);
    }
}
