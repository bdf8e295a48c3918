//! What several questions about the same user, account or group read: rows that all of them need, read
//! once. A page of a user asks ten questions of the same attempts, and reading them is most
//! of what each of these costs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::BatchCoalescer;
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{Expr, ident, lit};
use datafusion::prelude::{DataFrame, SessionContext};
use futures::StreamExt;
use jiff::Timestamp;
use lake::{LakeFile, TimeRange};
use report::Period;

use crate::memory::held_in;
use crate::option::Asked;
use crate::session::seeking_few;
use crate::term::{self, job_piece_statements};
use crate::{Question, Sight, TERMS, Term, words};

/// More rows than these are not held, but read by each question anew: two pages at once need no more
/// memory than a server has.
const MOST_ROWS: usize = 200_000;
const ROWS_A_BATCH: usize = 8192;

/// What some questions have in common.
pub(crate) struct Shared {
    /// Whose rows they are about.
    whose: Expr,
    /// The words of the statements, and of the terms that they mention.
    words: HashSet<String>,
    /// What the rows take that are held.
    held: Mutex<Vec<MemoryReservation>>,
}

impl Shared {
    /// What these questions have in common; nothing if that is nothing, or if there is only one. Who sees
    /// pseudonyms asks by them, and files have names.
    pub(crate) fn of(
        asked: &[Asked<'_>],
        question: &Question,
        mentioned: impl Fn(&Term) -> bool,
    ) -> Option<Shared> {
        let (first, others) = asked.split_first().filter(|(_, others)| !others.is_empty())?;
        if matches!(question.sight, Sight::Public { .. }) {
            return None;
        }
        let is_said_by_all = |said: &&(&str, Option<String>)| {
            said.1.is_some() && others.iter().all(|other| other.parameters.contains(said))
        };
        let filters = first.parameters.iter().filter(is_said_by_all);
        let whose = filters.filter_map(|(name, said)| whose(name, said.as_deref()?, question));
        let terms = || TERMS.into_iter().filter(|term| mentioned(term));
        let rests_on_sums =
            terms().any(|term| lake::SUMS.into_iter().any(|sums| term::rests_on(term, sums)));
        let pieces = job_piece_statements().into_iter().filter(|_| rests_on_sums);
        let texts = asked.iter().map(|asked| asked.sql.as_str());
        let texts = texts.chain(terms().map(|term| term.sql)).chain(pieces);
        Some(Shared {
            whose: whose.reduce(Expr::and)?,
            words: texts.flat_map(words).map(str::to_owned).collect(),
            held: Mutex::default(),
        })
    }

    pub(crate) fn reads(&self, table: &str) -> bool {
        self.words.contains(table)
    }

    /// The rows of a table that the questions need of it, held in memory; the table itself if there are
    /// too many, or if there is not enough memory.
    pub(crate) async fn read(
        &self,
        context: &SessionContext,
        table: Arc<dyn TableProvider>,
    ) -> Result<Arc<dyn TableProvider>> {
        let is_needed = |name: &&str| {
            ["cluster", "user", "account"].contains(name) || self.words.contains(*name)
        };
        let schema = table.schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let columns: Vec<Expr> = names.filter(is_needed).map(ident).collect();
        let rows = seeking_few(context)
            .read_table(table.clone())?
            .filter(self.whose.clone())?
            .select(columns)?;
        let schema = Arc::new(rows.schema().as_arrow().clone());
        let held = held_in(context, "rows that several questions need");
        Ok(match collect(rows, &held).await? {
            Some(batches) => {
                self.held.lock().expect("no holder of this lock panics").push(held);
                Arc::new(MemTable::try_new(schema, vec![batches])?)
            }
            None => table,
        })
    }
}

/// Whether a file may have attempts that count in a period by any of the terms, each of which says
/// exactly which do. Of rows nothing is asked but whose they are: it would have more columns decide.
pub(crate) fn touches(file: &LakeFile, period: &Period) -> bool {
    let begins = |name| may(file, name, |range| range.min < Some(period.end.as_microsecond()));
    let lasts = |name| may(file, name, |range| range.max >= Some(period.start.as_microsecond()));
    ["submit_time", "eligible_time", "start_time", "end_time"].into_iter().any(begins)
        && (["start_time", "end_time"].into_iter().any(lasts)
            || may(file, "end_time", |range| range.nulls > 0))
}

/// Whether a file may have sums of days that begin in a time.
pub(crate) fn has_days_in(file: &LakeFile, (first, last): (Timestamp, Timestamp)) -> bool {
    let (first, last) = (Some(first.as_microsecond()), Some(last.as_microsecond()));
    may(file, "start_time", |range| range.max >= first && range.min < last)
}

/// What is not known of a file may be.
fn may(file: &LakeFile, name: &str, is: impl Fn(&TimeRange) -> bool) -> bool {
    file.facts.as_ref().and_then(|facts| facts.times.get(name)).is_none_or(is)
}

/// What an option that all say lets through.
fn whose(name: &str, said: &str, question: &Question) -> Option<Expr> {
    let text = |text: &str| lit(ScalarValue::Utf8View(Some(text.to_owned())));
    match name {
        "user" | "account" => Some(ident(name).eq(text(said))),
        "group" => {
            let members = question.groups.get(said)?;
            let members = members.iter().map(|member| text(member)).collect();
            Some(ident("user").in_list(members, false))
        }
        _ => None,
    }
}

/// The rows, unless there are too many. A day's file gives some rows in room for many; they are moved
/// together, or most of what is held would be room.
async fn collect(rows: DataFrame, held: &MemoryReservation) -> Result<Option<Vec<RecordBatch>>> {
    let mut stream = rows.execute_stream().await?;
    let mut together = BatchCoalescer::new(stream.schema(), ROWS_A_BATCH);
    let (mut batches, mut count) = (Vec::new(), 0);
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        count += batch.num_rows();
        let bytes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
        let bytes = bytes.sum::<Result<usize, _>>()?;
        if count > MOST_ROWS || held.try_grow(bytes).is_err() {
            return Ok(None);
        }
        together.push_batch(batch)?;
        batches.extend(together.next_completed_batch());
    }
    together.finish_buffered_batch()?;
    batches.extend(std::iter::from_fn(|| together.next_completed_batch()));
    Ok(Some(batches))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int64Array;

    use super::*;

    #[tokio::test]
    async fn what_is_held_takes_no_more_room_than_its_rows() {
        let column = Arc::new(Int64Array::from_iter_values(0..8192));
        let wide = RecordBatch::try_from_iter([("count", column as _)]).unwrap();
        // A day with a few rows of somebody, in room for many.
        let days: Vec<RecordBatch> = (0..50).map(|day| wide.slice(day * 10, 10)).collect();
        let table = MemTable::try_new(wide.schema(), vec![days]).unwrap();
        let context = SessionContext::new();
        let rows = context.read_table(Arc::new(table)).unwrap();
        let held = collect(rows, &held_in(&context, "a test")).await.unwrap().unwrap();
        assert_eq!(held.iter().map(RecordBatch::num_rows).sum::<usize>(), 500);
        let bytes: usize = held.iter().map(RecordBatch::get_array_memory_size).sum();
        assert!(bytes < 2 * 8192 * size_of::<i64>(), "{bytes} bytes are held");
    }
}
