//! Rows that are there and rows that came: one of each key stays.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use record::Record;

/// What a merge gives.
pub(crate) struct Merged<R> {
    /// One row a key, in the order of the file.
    pub(crate) rows: Vec<R>,
    pub(crate) added: usize,
    /// Stored rows that now say something else.
    pub(crate) changed: usize,
}

/// Merges rows that came into those that are stored, which have one row a key.
///
/// Of two rows with one key the one observed later counts, so the order in which they come
/// does not matter.
pub(crate) fn merge<R: Record>(stored: Vec<R>, came: Vec<R>) -> Merged<R> {
    let state = RandomState::new();
    let hash = |row: &R| {
        let mut hasher = state.build_hasher();
        row.hash_key(&mut hasher);
        hasher.finish()
    };
    let stored_count = stored.len();
    let mut rows = stored;
    let mut changed = vec![false; stored_count];
    let mut places: HashTable<usize> = HashTable::with_capacity(stored_count + came.len());
    for (place, row) in rows.iter().enumerate() {
        places.insert_unique(hash(row), place, |place| hash(&rows[*place]));
    }
    for row in came {
        let found = places.entry(
            hash(&row),
            |place| rows[*place].compare_key(&row) == Ordering::Equal,
            |place| hash(&rows[*place]),
        );
        match found {
            Entry::Vacant(vacant) => {
                vacant.insert(rows.len());
                rows.push(row);
            }
            Entry::Occupied(occupied) => {
                let place = *occupied.get();
                if supersedes(&row, &rows[place]) {
                    if place < stored_count && !row.says_the_same(&rows[place]) {
                        changed[place] = true;
                    }
                    rows[place] = row;
                }
            }
        }
    }
    Merged {
        added: rows.len() - stored_count,
        changed: changed.into_iter().filter(|changed| *changed).count(),
        rows: sorted(rows),
    }
}

/// Rows as they lie in a file. Rows are large, so their places are sorted first.
pub(crate) fn sorted<R: Record>(rows: Vec<R>) -> Vec<R> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_unstable_by(|one, other| rows[*one].compare_place(&rows[*other]));
    let mut taken: Vec<Option<R>> = rows.into_iter().map(Some).collect();
    order.into_iter().map(|place| taken[place].take().expect("each place comes once")).collect()
}

/// Whether `came` takes the place of `known`. What was seen at the same instant is decided by
/// what it says, so that the order of arrival still does not matter.
fn supersedes<R: Record>(came: &R, known: &R) -> bool {
    came.observed_time().cmp(&known.observed_time()).then_with(|| {
        if came.says_the_same(known) {
            Ordering::Equal
        } else {
            format!("{came:?}").cmp(&format!("{known:?}"))
        }
    }) == Ordering::Greater
}
