//! Addresses of our own pages. They are relative to the page that shows them, so that everything
//! works below any path that a proxy puts us at.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a path and in a parameter (RFC 3986, 2.3: unreserved).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where the pages lie, as seen from one of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Root(String);

impl Root {
    /// As seen from a path such as `/users/ann`.
    pub(crate) fn seen_from(path: &str) -> Root {
        let depth = path.matches('/').count().saturating_sub(1);
        Root(if depth == 0 { "./".to_owned() } else { "../".repeat(depth) })
    }

    /// The address of a page by the segments of its path, which may be anything.
    pub(crate) fn to(&self, segments: &[&str], query: &str) -> String {
        let path: Vec<String> = segments.iter().map(|segment| encoded(segment)).collect();
        format!("{}{}{query}", self.0, path.join("/"))
    }
}

/// Parameters as a part of an address, with their question mark; blank if there are none.
pub(crate) fn query_of(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, segments: &[&str], address: &str) {
        assert_eq!(Root::seen_from(path).to(segments, "?days=7"), address);
    }

    #[test]
    fn addresses_are_relative_and_names_cannot_leave_them() {
        check("/", &[], "./?days=7");
        check("/users", &["users", "ann"], "./users/ann?days=7");
        check("/users/ann", &["jobs", "maple", "7_1"], "../jobs/maple/7_1?days=7");
        check("/jobs/maple/7", &["users", "../a?b&<"], "../../users/..%2Fa%3Fb%26%3C?days=7");
    }
}
