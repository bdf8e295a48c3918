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
pub(crate) fn count_numbers(ranges: &[u8]) -> Option<i64> {
    let ranges = match memchr::memchr(b'%', ranges) {
        Some(limit) => &ranges[..limit],
        None => ranges,
    };
    let mut total = 0_i64;
    for range in ranges.split(|&byte| byte == b',') {
        let (range, step) = match memchr::memchr(b':', range) {
            Some(colon) => (&range[..colon], number(&range[colon + 1..])?),
            None => (range, 1),
        };
        let numbers = match memchr::memchr(b'-', range) {
            Some(hyphen) => {
                let first = number(&range[..hyphen])?;
                let last = number(&range[hyphen + 1..])?;
                let further = last.checked_sub(first).filter(|&further| further >= 0)?;
                further.checked_div(step)?.checked_add(1)?
            }
            None => number(range).map(|_| 1)?,
        };
        total = total.checked_add(numbers)?;
    }
    Some(total)
}

fn number(digits: &[u8]) -> Option<i64> {
    // Rust's own reader takes a sign, which would here be a second hyphen.
    digits.first()?.is_ascii_digit().then(|| std::str::from_utf8(digits).ok())??.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{count, count_numbers};

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
}
