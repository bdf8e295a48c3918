//! Rows that are there and rows that came: one of each key stays.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use jiff::Timestamp;
use record::Record;

/// What a merge gives.
pub(crate) struct Merged<'a, R> {
    /// One row a key, in the order of the file.
    pub(crate) rows: Vec<&'a R>,
    pub(crate) added: usize,
    /// Stored rows that now say something else.
    pub(crate) changed: usize,
}

/// Merges rows that came into those that are stored, which have one row a key. Rows are large
/// and stay where they are.
///
/// Of two rows with one key that differ the one observed later counts, so the order in which they
/// come does not matter. Of two that say the same the first stays, so that a file's bytes follow
/// from what was said and not from how often.
pub(crate) fn merge<'a, R: Record>(stored: &'a [R], came: &[&'a R]) -> Merged<'a, R> {
    let state = DefaultHashBuilder::default();
    let hash = |row: &R| {
        let mut hasher = state.build_hasher();
        row.hash_key(&mut hasher);
        hasher.finish()
    };
    let mut rows: Vec<&R> = stored.iter().collect();
    // When each was last said.
    let mut said: Vec<Timestamp> = stored.iter().map(Record::observed_time).collect();
    let mut places: HashTable<usize> = HashTable::with_capacity(stored.len() + came.len());
    for (place, row) in rows.iter().enumerate() {
        places.insert_unique(hash(row), place, |place| hash(rows[*place]));
    }
    for &row in came {
        let found = places.entry(
            hash(row),
            |place| rows[*place].compare_key(row) == Ordering::Equal,
            |place| hash(rows[*place]),
        );
        match found {
            Entry::Vacant(vacant) => {
                vacant.insert(rows.len());
                rows.push(row);
                said.push(row.observed_time());
            }
            Entry::Occupied(occupied) => {
                let place = *occupied.get();
                let known = rows[place];
                if row.says_the_same(known) {
                    said[place] = said[place].max(row.observed_time());
                    // Since when it is known to be so: what is stored stays as it is.
                    if place >= stored.len() && row.observed_time() < known.observed_time() {
                        rows[place] = row;
                    }
                } else if supersedes(row, known, said[place]) {
                    rows[place] = row;
                    said[place] = row.observed_time();
                }
            }
        }
    }
    let mut changed = 0;
    for (row, stored) in rows.iter_mut().zip(stored) {
        if row.says_the_same(stored) {
            *row = stored;
        } else {
            changed += 1;
        }
    }
    let added = rows.len() - stored.len();
    sort(&mut rows);
    Merged { rows, added, changed }
}

/// Puts rows as they lie in a file.
pub(crate) fn sort<R: Record>(rows: &mut [&R]) {
    rows.sort_unstable_by(|one, other| one.compare_place(other));
}

/// Whether `came` takes the place of `known`, which was last said at a time. What was said at the
/// same instant is decided by what it says, so that the order of arrival still does not matter.
fn supersedes<R: Record>(came: &R, known: &R, said: Timestamp) -> bool {
    came.observed_time().cmp(&said).then_with(|| format!("{came:?}").cmp(&format!("{known:?}")))
        == Ordering::Greater
}
