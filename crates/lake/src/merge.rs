//! Rows that are there and rows that came: one of each key stays.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use record::{MergeOutcome, Record};

/// The rows of a file after a merge.
pub(crate) struct Merged<'a, R> {
    /// One row a key.
    rows: Vec<MergedRow<'a, R>>,
    pub(crate) added: usize,
    /// Stored rows that now say something else.
    pub(crate) changed: usize,
}

impl<R: Record> Merged<'_, R> {
    /// The rows in the order of the file.
    pub(crate) fn rows(&self) -> Vec<&R> {
        let mut rows: Vec<&R> = self.rows.iter().map(MergedRow::get).collect();
        sort(&mut rows);
        rows
    }
}

/// A row as it was observed or stored, or one with values of several. Rows are large and stay where they are.
pub(crate) enum MergedRow<'a, R> {
    Unchanged(&'a R),
    New(Box<R>),
}

impl<'a, R: Record> MergedRow<'a, R> {
    pub(crate) fn get(&self) -> &R {
        match self {
            MergedRow::Unchanged(row) => row,
            MergedRow::New(row) => row,
        }
    }

    /// The row by the outcome of merging two.
    pub(crate) fn of(outcome: MergeOutcome<R>, first: &'a R, second: &'a R) -> MergedRow<'a, R> {
        match outcome {
            MergeOutcome::First => MergedRow::Unchanged(first),
            MergeOutcome::Second => MergedRow::Unchanged(second),
            MergeOutcome::New(row) => MergedRow::New(row),
        }
    }

    /// Merges another observation into it.
    fn merge(&mut self, other: &'a R) {
        match self.get().merge(other) {
            MergeOutcome::First => {}
            MergeOutcome::Second => *self = MergedRow::Unchanged(other),
            MergeOutcome::New(row) => *self = MergedRow::New(row),
        }
    }
}

/// Merges rows that came into those that are stored, which have one row a key, by the rule of their
/// table ([`Record::merge`]).
///
/// Of two rows that say the same the stored one stays with its time, so that a file is not rewritten
/// because something was observed again. So a lake does not know when a row was last confirmed, and the
/// result depends on the order of the calls in one case: a row changed and changed back, X, Y, X, without
/// a change of phase, and Y comes after the second X. Then Y stays until the next observation.
///
/// No source causes that. A cluster has one writer, which merges the answers of a collection before the
/// next one asks, and `reprocess` replays collections in their order. Answers of one collection about
/// different windows may come in any order, but a change and its reversal would both have to fall between
/// them. Copies and imports do not compete with the scheduler by time. Within one call the order never
/// matters.
pub(crate) fn merge<'a, R: Record>(stored: &'a [R], came: &[&'a R]) -> Merged<'a, R> {
    let state = DefaultHashBuilder::default();
    let hash = |row: &R| {
        let mut hasher = state.build_hasher();
        row.hash_key(&mut hasher);
        hasher.finish()
    };
    // A row that was observed again keeps the time since when it is known.
    let mut came = came.to_vec();
    came.sort_by_key(|row| row.observed_time());
    let mut rows: Vec<MergedRow<'a, R>> = stored.iter().map(MergedRow::Unchanged).collect();
    let mut places: HashTable<usize> = HashTable::with_capacity(stored.len() + came.len());
    for (place, row) in rows.iter().enumerate() {
        places.insert_unique(hash(row.get()), place, |place| hash(rows[*place].get()));
    }
    for row in came {
        let found = places.entry(
            hash(row),
            |place| rows[*place].get().compare_key(row) == Ordering::Equal,
            |place| hash(rows[*place].get()),
        );
        match found {
            Entry::Vacant(vacant) => {
                vacant.insert(rows.len());
                rows.push(MergedRow::Unchanged(row));
            }
            Entry::Occupied(occupied) => {
                let known = &mut rows[*occupied.get()];
                if !row.says_the_same(known.get()) {
                    known.merge(row);
                }
            }
        }
    }
    let mut changed = 0;
    for (row, stored) in rows.iter_mut().zip(stored) {
        if row.get().says_the_same(stored) {
            *row = MergedRow::Unchanged(stored);
        } else {
            changed += 1;
        }
    }
    let added = rows.len() - stored.len();
    Merged { rows, added, changed }
}

/// Puts rows as they lie in a file.
pub(crate) fn sort<R: Record>(rows: &mut [&R]) {
    rows.sort_unstable_by(|one, other| one.compare_place(other));
}
