//! SLURM's short form of many names, `cpu[01-03,07],gpu1`, and of many array tasks, `0-99%10`.

/// How many hosts a list names.
///
/// They are counted, not written out: `a[1-999999999]` costs no more than `a1`.
pub(crate) fn count(list: &[u8]) -> Option<i64> {
    let mut total = 0_i64;
    let mut names = 1_i64;
    let mut length = 0;
    let mut rest = list;
    loop {
        match rest.split_first() {
            Some((b'[', inside)) => {
                let close = memchr::memchr(b']', inside)?;
                names = names.checked_mul(count_numbers(&inside[..close])?)?;
                length += 1;
                rest = &inside[close + 1..];
            }
            None | Some((b',', _)) => {
                if length == 0 {
                    return None;
                }
                total = total.checked_add(names)?;
                (names, length) = (1, 0);
                match rest.split_first() {
                    Some((_, after)) => rest = after,
                    None => return Some(total),
                }
            }
            Some((b']' | b' ', _)) => return None,
            Some((_, after)) => {
                length += 1;
                rest = after;
            }
        }
    }
}

/// How many numbers a list of ranges holds: `1-3,7`, with a step `0-10:5`, with a limit of
/// tasks at a time `0-99%10`.
///
/// A long list is printed short, ending in `...`: how many that is is not known.
pub(crate) fn count_numbers(list: &[u8]) -> Option<i64> {
    ranges(list).try_fold(0_i64, |total, range| {
        let Range { first, last, step } = range?;
        total.checked_add(((last - first) / step).checked_add(1)?)
    })
}

/// Whether something holds of every number in a list of ranges; not known where the list is not
/// whole and what there is of it does not say no.
pub(crate) fn all_numbers(list: &[u8], holds: impl Fn(i64) -> bool) -> Option<bool> {
    for range in ranges(list) {
        let Range { first, last, step } = range?;
        let mut number = Some(first);
        while let Some(here) = number.filter(|here| *here <= last) {
            if !holds(here) {
                return Some(false);
            }
            number = here.checked_add(step);
        }
    }
    Some(true)
}

/// From a first number up to a last one, neither negative, the step above 0.
struct Range {
    first: i64,
    last: i64,
    step: i64,
}

fn ranges(list: &[u8]) -> impl Iterator<Item = Option<Range>> {
    let list = match memchr::memchr(b'%', list) {
        Some(limit) => &list[..limit],
        None => list,
    };
    list.split(|&byte| byte == b',').map(|range| {
        let (range, step) = match memchr::memchr(b':', range) {
            Some(colon) => (&range[..colon], number(&range[colon + 1..])?),
            None => (range, 1),
        };
        let (first, last) = match memchr::memchr(b'-', range) {
            Some(hyphen) => (number(&range[..hyphen])?, number(&range[hyphen + 1..])?),
            None => (number(range)?, number(range)?),
        };
        (first <= last && step > 0).then_some(Range { first, last, step })
    })
}

fn number(digits: &[u8]) -> Option<i64> {
    // Rust's own reader takes a sign, which would here be a second hyphen.
    digits.first()?.is_ascii_digit().then(|| std::str::from_utf8(digits).ok())??.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{all_numbers, count, count_numbers};

    #[test]
    fn hosts_are_counted_without_writing_them_out() {
        for (list, expected) in [
            ("cpu01", 1),
            ("gpu01,mix01", 2),
            ("cpu[03-04]", 2),
            ("cpu[01,03]", 2),
            // 1, 2, 3, 7 and b01c, b02c
            ("a[1-3,7],b[01-02]c", 6),
            ("x-[3-4,6-7]", 4),
            ("rack[1-2]n[1-3]", 6),
            ("a[1-999999999]", 999_999_999),
        ] {
            assert_eq!(count(list.as_bytes()), Some(expected), "{list}");
        }
    }

    #[test]
    fn what_is_no_host_list_is_none() {
        for list in [
            "",
            ",",
            "a,",
            "a[",
            "a[]",
            "a[3-1]",
            "a]",
            "None assigned",
            "a[1-9223372036854775807],b[1-9]",
            "a[0-9223372036854775807]",
        ] {
            assert_eq!(count(list.as_bytes()), None, "{list}");
        }
    }

    #[test]
    fn tasks_of_an_array_are_counted() {
        for (ranges, expected) in [
            ("0-99%10", Some(100)),
            ("0-499", Some(500)),
            ("1,3,5,7,20%2", Some(5)),
            ("0-10:5", Some(3)), // 0, 5, 10
            ("0-10:0", None),
            ("1-2-3", None),
            ("1,3,...", None),
            ("", None),
        ] {
            assert_eq!(count_numbers(ranges.as_bytes()), expected, "{ranges}");
        }
    }

    #[test]
    fn every_task_of_an_array_is_looked_at() {
        for (ranges, expected) in [
            ("2-5%1", Some(true)),
            ("2,4-5", Some(true)),
            ("1-5", Some(false)),
            ("2-6", Some(false)),
            ("1-5:2", Some(false)),
            ("3-5:2,2", Some(true)),
            ("2,3,...", None),
            ("1,3,...", Some(false)),
            ("5-9223372036854775807:9223372036854775807", Some(true)),
            ("", None),
        ] {
            let found = all_numbers(ranges.as_bytes(), |number| (2..=5).contains(&number));
            assert_eq!(found, expected, "{ranges}");
        }
    }
}
