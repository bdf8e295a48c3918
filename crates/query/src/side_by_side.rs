//! Work that is shared out among the cores.

use std::thread::{available_parallelism, scope};

/// Fewer than this are done before another thread has begun.
const FEWEST: usize = 4096;

/// What comes of parts of a list, in their order: each is worked on by a thread of its own, with the
/// place of its first.
pub(crate) fn side_by_side<T: Sync, R: Send>(
    list: &[T],
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Vec<R> {
    let threads = available_parallelism().map_or(1, usize::from);
    let each = list.len().div_ceil(threads).max(FEWEST);
    if list.len() <= each {
        return vec![work(0, list)];
    }
    let work = &work;
    scope(|scope| {
        let parts = list.chunks(each).enumerate();
        let begun: Vec<_> =
            parts.map(|(part, rows)| scope.spawn(move || work(part * each, rows))).collect();
        let over = begun.into_iter().map(|thread| thread.join());
        over.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_a_list_in_its_order() {
        for count in [0, 1, FEWEST, FEWEST + 1, 10 * FEWEST + 7] {
            let list: Vec<usize> = (0..count).collect();
            let parts = side_by_side(&list, |first, part| {
                assert_eq!(part.first().copied().unwrap_or(first), first);
                part.to_vec()
            });
            assert_eq!(parts.concat(), list);
        }
    }
}
