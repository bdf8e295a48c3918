//! The nodes that a scheduler's list names: `cpu[01-03,07],gpu1`.

/// No list of a real job is longer; one that claims more names no nodes that we could tell.
const MOST: usize = 100_000;

/// Every node of a list, in its order; none if it is no such list.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut nodes = Vec::new();
    for name in split(list)? {
        let mut names = vec![String::new()];
        let mut rest = name;
        while let Some((before, after)) = rest.split_once('[') {
            let (ranges, behind) = after.split_once(']')?;
            let numbers = numbers(ranges)?;
            if names.len().checked_mul(numbers.len())? > MOST {
                return None;
            }
            names = names
                .iter()
                .flat_map(|name| {
                    numbers.iter().map(move |number| format!("{name}{before}{number}"))
                })
                .collect();
            rest = behind;
        }
        if name.is_empty() || rest.contains([']', ' ']) || nodes.len() + names.len() > MOST {
            return None;
        }
        nodes.extend(names.into_iter().map(|name| name + rest));
    }
    Some(nodes)
}

/// Cuts at the commas that stand outside of brackets.
fn split(list: &str) -> Option<Vec<&str>> {
    let (mut names, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                names.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    names.push(&list[start..]);
    (depth == 0).then_some(names)
}

/// The numbers of `01-03,07`, each as wide as it is written.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if ![first, last].iter().all(|end| end.bytes().all(|byte| byte.is_ascii_digit())) {
            return None;
        }
        let width = first.len();
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? >= MOST as u64 {
            return None;
        }
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn nodes_are_written_out_in_their_order_and_width() {
        for (list, nodes) in [
            ("cpu01", "cpu01"),
            ("gpu01,mix01", "gpu01 mix01"),
            ("cpu[08-10]", "cpu08 cpu09 cpu10"),
            ("a[1-2,7],b[01-02]c", "a1 a2 a7 b01c b02c"),
            ("rig-[3-4,6]", "rig-3 rig-4 rig-6"),
            ("rack[1-2]n[1-2]", "rack1n1 rack1n2 rack2n1 rack2n2"),
            ("slot1_3@e2001.example.org", "slot1_3@e2001.example.org"),
        ] {
            assert_eq!(expand(list).unwrap().join(" "), nodes, "{list}");
        }
    }

    #[test]
    fn what_is_no_list_names_no_nodes() {
        for list in
            ["", ",", "a,", "a[", "a[]", "a[3-1]", "a]", "None assigned", "a[1-999999999]", "a[x]"]
        {
            assert_eq!(expand(list), None, "{list}");
        }
    }
}
