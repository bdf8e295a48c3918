//! The names in SLURM's short form of many, `cpu[01-03,07],gpu1`, written out.

use super::hostlist;

/// The most names that are written out: more nodes than any cluster has, and a list that says so
/// is a mistake that must not take all memory.
const MOST: i64 = 1_000_000;

/// Every name of a list, in its order.
pub(crate) fn names(list: &str) -> Option<Vec<String>> {
    if hostlist::count(list.as_bytes())? > MOST {
        return None;
    }
    let mut names = Vec::new();
    let mut depth = 0;
    // A comma inside brackets lists numbers.
    let items = list.split(|letter| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    });
    for item in items {
        names.extend(item_names(item)?);
    }
    Some(names)
}

/// The names of `rack[1-2]n[01-03]`: every number of one bracket with every one of the next.
fn item_names(item: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = item.split_once('[') else {
        return Some(vec![item.to_owned()]);
    };
    let (numbers, after) = rest.split_once(']')?;
    let behind = item_names(after)?;
    let mut names = Vec::new();
    for range in numbers.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        // `01` stands for names with two digits, `1` for as many as the number has.
        let width = first.len();
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        for number in first..=last {
            for end in &behind {
                names.push(format!("{before}{number:0width$}{end}"));
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn every_name_is_written_out() {
        for (list, expected) in [
            ("cpu01", "cpu01"),
            ("gpu01,mix01", "gpu01 mix01"),
            ("cpu[01,03-04]", "cpu01 cpu03 cpu04"),
            ("a[9-11],b2", "a9 a10 a11 b2"),
            ("x-[08-10]-ib", "x-08-ib x-09-ib x-10-ib"),
            ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        ] {
            assert_eq!(names(list).unwrap().join(" "), expected, "{list}");
        }
    }

    #[test]
    fn what_is_no_list_or_endless_is_none() {
        for list in ["", "a[", "a[1-", "a[3-1]", "None assigned", "a[1-999999999]"] {
            assert_eq!(names(list), None, "{list}");
        }
    }
}
