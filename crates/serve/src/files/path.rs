//! Which file a page is written to: the one place that turns an address into a path.

use std::fmt::Write;

use ring::digest::{SHA256, digest};

use super::ASSETS;
use crate::page::PAGES;
use crate::wanted::ENDINGS;

/// A longer name is cut, for file systems take no more than 255 bytes with the ending.
const LONGEST: usize = 160;

/// The file of a page by the segments of its path, which may be anything. It is made of letters,
/// digits, `-`, `_`, `.`, `~` and `/` alone, is the same in an address, and leads nowhere else.
pub(crate) fn file_path(segments: &[&str]) -> String {
    let Some(last) = segments.last() else { return "index.html".to_owned() };
    let mut path = segments.iter().map(|name| file_name(name)).collect::<Vec<_>>().join("/");
    let is_file = segments[0] == ASSETS || (!is_of_one(segments) && has_ending(last));
    if !is_file {
        path += ".html";
    }
    path
}

/// Whether the last segment names somebody or something: then what it ends with is a part of the name.
pub(super) fn is_of_one(segments: &[&str]) -> bool {
    let is_of_family =
        |family: &str| PAGES.iter().any(|page| page.is_of_one() && page.family() == family);
    segments.len() > 1 && is_of_family(segments[0])
}

fn has_ending(segment: &str) -> bool {
    segment.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// A name as that of a file: two names are never one file. What may not stand in it, and a dot at
/// its beginning, is `~` with the byte in two digits.
fn file_name(name: &str) -> String {
    let mut safe = String::new();
    for (place, byte) in name.bytes().enumerate() {
        match byte {
            b'.' if place > 0 => safe.push('.'),
            b'-' | b'_' => safe.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => safe.push(char::from(byte)),
            _ => write!(safe, "~{byte:02X}").expect("a string takes whatever is written"),
        }
    }
    if safe.is_empty() {
        return "~".to_owned();
    }
    if safe.len() > LONGEST {
        safe.truncate(LONGEST);
        safe.push_str("~~");
        for byte in &digest(&SHA256, name.as_bytes()).as_ref()[..8] {
            write!(safe, "{byte:02x}").expect("a string takes whatever is written");
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(segments: &[&str], expected: &str) {
        assert_eq!(file_path(segments), expected);
    }

    #[test]
    fn a_page_is_a_file_and_one_of_something_is_in_a_folder() {
        check(&[], "index.html");
        check(&["users"], "users.html");
        check(&["users.json"], "users.json");
        check(&["overview.csv"], "overview.csv");
        check(&["users", "ann"], "users/ann.html");
        check(&["nodes", "maple", "gpu1.example.edu"], "nodes/maple/gpu1.example.edu.html");
        check(&["reports", "daily"], "reports/daily.html");
        check(&["reports", "daily.csv"], "reports/daily.csv");
        check(&["asset", "0f.css"], "asset/0f.css");
    }

    #[test]
    fn a_name_is_only_a_name() {
        check(&["users", "../x"], "users/~2E.~2Fx.html");
        check(&["users", ".."], "users/~2E..html");
        check(&["users", "."], "users/~2E.html");
        check(&["users", "/etc/passwd"], "users/~2Fetc~2Fpasswd.html");
        check(&["users", ""], "users/~.html");
        check(&["users", "a.json"], "users/a.json.html");
        check(&["users", "C:\\x\0\n"], "users/C~3A~5Cx~00~0A.html");
        check(&["users", "<script>&\"'"], "users/~3Cscript~3E~26~22~27.html");
        check(&["users", "a%2Fb~41?#"], "users/a~252Fb~7E41~3F~23.html");
        check(&["users", "zoë"], "users/zo~C3~AB.html");
        check(&["nodes", "../..", "n"], "nodes/~2E.~2F../n.html");
    }

    #[test]
    fn long_names_fit_and_stay_apart() {
        let names = ["é".repeat(300), "é".repeat(301)];
        let paths = names.each_ref().map(|name| file_path(&["users", name]));
        assert_ne!(paths[0], paths[1]);
        assert!(paths.iter().all(|path| path.len() < 200), "{paths:?}");
    }
}
