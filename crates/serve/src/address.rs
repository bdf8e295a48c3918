//! Addresses of our own pages. They are relative to the page that shows them, so that everything
//! works below any path that a proxy puts us at, and in a folder.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::files::{Links, file_path};

/// What stays as it is in a path and in a parameter (RFC 3986, 2.3: unreserved).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where the pages lie, as seen from one of them.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    up: String,
    /// What is noted of each link where pages are files; a server has none.
    links: Option<Links>,
}

impl Root {
    /// As seen from a path such as `/users/ann`.
    pub(crate) fn seen_from(path: &str) -> Root {
        let depth = path.matches('/').count().saturating_sub(1);
        let up = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
        Root { up, links: None }
    }

    /// As seen from the file of that path: what is linked to is noted, so that it can be written too.
    pub(crate) fn of_files(path: &str, links: &Links) -> Root {
        Root { links: Some(links.clone()), ..Root::seen_from(path) }
    }

    /// Whether pages are files: nothing can be asked then, and nothing is said by parameters.
    pub(crate) fn is_of_files(&self) -> bool {
        self.links.is_some()
    }

    /// The address of a page by the segments of its path, which may be anything.
    pub(crate) fn to(&self, segments: &[&str], query: &str) -> String {
        match &self.links {
            Some(links) => {
                links.note(segments);
                format!("{}{}", self.up, file_path(segments))
            }
            None => format!("{}{}{query}", self.up, path_of(segments)),
        }
    }
}

/// A path by its segments, without what it begins with.
pub(crate) fn path_of(segments: &[&str]) -> String {
    segments.iter().map(|segment| encoded(segment)).collect::<Vec<_>>().join("/")
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

    fn check(path: &str, segments: &[&str], address: &str, file: &str) {
        assert_eq!(Root::seen_from(path).to(segments, "?days=7"), address);
        assert_eq!(Root::of_files(path, &Links::default()).to(segments, "?days=7"), file);
    }

    #[test]
    fn addresses_are_relative_and_names_cannot_leave_them() {
        check("/", &[], "./?days=7", "./index.html");
        check("/users", &["users", "ann"], "./users/ann?days=7", "./users/ann.html");
        check(
            "/users/ann",
            &["nodes", "maple", "n1"],
            "../nodes/maple/n1?days=7",
            "../nodes/maple/n1.html",
        );
        check(
            "/nodes/maple/7",
            &["users", "../a?b&<"],
            "../../users/..%2Fa%3Fb%26%3C?days=7",
            "../../users/~2E.~2Fa~3Fb~26~3C.html",
        );
    }
}
