//! Finds what exists at a moment without looking at everything that ever did.

use super::{Moment, NEVER};

const HOUR: Moment = 3600;

/// For every full hour those that existed then; between the hours, those that began since.
pub(super) struct Alive {
    first_hour: Moment,
    at_hour: Vec<Vec<u32>>,
    /// Every index, in the order of beginning.
    by_begin: Vec<(Moment, u32)>,
}

impl Alive {
    /// `lives` are the beginnings and ends, by index; an end of [`NEVER`] is still to come.
    pub(super) fn new(
        first: Moment,
        last: Moment,
        lives: impl Iterator<Item = (Moment, Moment)>,
    ) -> Alive {
        let first_hour = first / HOUR * HOUR;
        let hours = ((last.max(first) - first_hour) / HOUR + 1) as usize;
        let mut at_hour = vec![Vec::new(); hours];
        let mut by_begin = Vec::new();
        for (index, (begin, end)) in (0_u32..).zip(lives) {
            by_begin.push((begin, index));
            let from = begin.saturating_sub(first_hour).div_ceil(HOUR) as usize;
            let until = if end == NEVER {
                hours
            } else if end < first_hour {
                0
            } else {
                (((end - first_hour) / HOUR) as usize + 1).min(hours)
            };
            for living in at_hour.get_mut(from..until).unwrap_or_default() {
                living.push(index);
            }
        }
        by_begin.sort_unstable();
        Alive { first_hour, at_hour, by_begin }
    }

    /// All that may have existed at some time from `from` to `until`, both included, in the order
    /// of their indices. It holds a few more: who needs it exactly looks at the lives.
    pub(super) fn between(&self, from: Moment, until: Moment) -> Vec<u32> {
        let hour = (from.saturating_sub(self.first_hour) / HOUR) as usize;
        let hour = hour.min(self.at_hour.len() - 1);
        let hour_begin = self.first_hour + hour as Moment * HOUR;
        let mut found = self.at_hour[hour].clone();
        let begun = self.by_begin.partition_point(|&(begin, _)| begin <= hour_begin);
        let ahead = self.by_begin.partition_point(|&(begin, _)| begin <= until);
        if until < hour_begin {
            // Asked before the first hour: only what had begun by then.
            return self.by_begin[..ahead].iter().map(|&(_, index)| index).collect();
        }
        found.extend(self.by_begin[begun..ahead].iter().map(|&(_, index)| index));
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_a_moment_is_found_from_the_hour_before_it() {
        let lives = [(0, 100), (0, NEVER), (3500, 3700), (3600, 7200), (7000, 7100), (7300, NEVER)];
        let alive = Alive::new(0, 9000, lives.into_iter());
        let check = |from, until, expected: &[u32]| {
            let found: Vec<u32> = alive
                .between(from, until)
                .into_iter()
                .filter(|&index| {
                    let (begin, end) = lives[index as usize];
                    begin <= until && end >= from
                })
                .collect();
            assert_eq!(found, expected, "{from}..={until}");
        };
        check(0, 0, &[0, 1]);
        check(3600, 3600, &[1, 2, 3]);
        check(3800, 3800, &[1, 3]);
        check(3650, 7050, &[1, 2, 3, 4]);
        check(7200, 7299, &[1, 3]);
        check(100_000, 100_000, &[1, 5]);
    }
}
