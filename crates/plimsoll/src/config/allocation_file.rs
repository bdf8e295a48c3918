//! A CSV file of allocations: a line an allocation, its columns named as the keys of
//! `[[allocation]]`, several names in one field separated by semicolons.

use query::{Allocation, Holders};

use super::check::{AllocationEntry, AllocationKnown, KEYS_OF_ALLOCATIONS, complaint};

/// Reads a file's text; or says what is wrong with which line.
pub(super) fn allocations(
    text: &str,
    known: &AllocationKnown<'_>,
) -> Result<Vec<Allocation>, Vec<String>> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Ok(Vec::new());
    };
    let columns = fields(header);
    let mut problems: Vec<String> = columns
        .iter()
        .filter(|column| !KEYS_OF_ALLOCATIONS.contains(&column.as_str()))
        .map(|column| {
            format!("1: unknown column {column:?}: there are {}", KEYS_OF_ALLOCATIONS.join(", "))
        })
        .collect();
    let mut allocations: Vec<Allocation> = Vec::new();
    for (number, line) in lines {
        let fields = fields(line);
        if fields.len() != columns.len() {
            let words =
                format!("{} fields, and the first line names {}", fields.len(), columns.len());
            problems.push(format!("{}: {words}", number + 1));
            continue;
        }
        let entry = entry(|key| {
            let place = columns.iter().position(|column| column == key);
            place.map_or("", |place| fields[place].as_str())
        });
        let name = entry.name.clone();
        match entry.read(known) {
            Ok(allocation) if allocations.iter().any(|other| other.name == allocation.name) => {
                let words = complaint(&name, "name", "it is already the name of another");
                problems.push(format!("{}: {words}", number + 1));
            }
            Ok(allocation) => allocations.push(allocation),
            Err(wrong) => {
                problems.extend(wrong.into_iter().map(|(key, words)| {
                    format!("{}: {}", number + 1, complaint(&name, key, &words))
                }));
            }
        }
    }
    if problems.is_empty() { Ok(allocations) } else { Err(problems) }
}

fn entry<'a>(field: impl Fn(&str) -> &'a str) -> AllocationEntry {
    let names = |key: &str| {
        let names = field(key).split(';').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let amount = field("amount").parse().ok();
    AllocationEntry {
        name: field("name").to_owned(),
        holders: Holders {
            groups: names("group"),
            accounts: names("account"),
            users: names("user"),
        },
        clusters: names("cluster"),
        unit: field("unit").to_owned(),
        amount: amount.filter(|amount: &f64| amount.is_finite() && *amount > 0.0),
        from: field("from").to_owned(),
        to: field("to").to_owned(),
    }
}

/// The fields of a line; one in quotes may have commas, and quotes that are written twice.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.trim_end_matches('\r').chars().peekable();
    while let Some(letter) = letters.next() {
        let last = fields.last_mut().expect("there is always one");
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                last.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            letter => last.push(letter),
        }
    }
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn check(text: &str, expected: Result<&[&str], &[&str]>) {
        let groups = BTreeMap::from([("physics".to_owned(), Vec::new())]);
        let known = AllocationKnown { groups: &groups, clusters: vec!["alder"] };
        let read = allocations(text, &known);
        let shown = read.map(|all| {
            let one = |one: Allocation| {
                let Holders { groups, accounts, users } = one.holders;
                let names = [groups, accounts, users, one.clusters].map(|names| names.join("+"));
                let (name, unit) = (one.name, one.unit.name());
                format!("{name} {} {} {unit} {} {}", names.join("/"), one.amount, one.from, one.to)
            };
            all.into_iter().map(one).collect::<Vec<_>>()
        });
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(shown, expected.map(words).map_err(words));
    }

    #[test]
    fn columns_are_found_by_their_names() {
        check(
            "amount,unit,name,account,from,to,group\n\
             40,gpu-year,\"lab, \"\"main\"\"\",lab;lab-2,2026-04-01,2027-04-01,physics\r\n\n",
            Ok(&["lab, \"main\" physics/lab+lab-2// 40 gpu-year 2026-04-01 2027-04-01"]),
        );
        check("", Ok(&[]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_entry() {
        check(
            "name,account,unit,amount,from,to,cluster,colour\n\
             lab,lab,gpu-yaer,0,2026-04-01,2026-03-01,aldr,red\n\
             lab,lab\n",
            Err(&[
                "1: unknown column \"colour\": there are name, group, account, user, cluster, unit, \
                 amount, from, to",
                "2: allocation \"lab\": cluster: \"aldr\": did you mean \"alder\"?",
                "2: allocation \"lab\": unit: unknown unit \"gpu-yaer\": did you mean \"gpu-year\"?",
                "2: allocation \"lab\": amount: missing: write a number above zero",
                "2: allocation \"lab\": to: it ends before it begins, on 2026-04-01: 2026-03-01 is \
                 the day after its last",
                "3: 2 fields, and the first line names 8",
            ]),
        );
    }
}
