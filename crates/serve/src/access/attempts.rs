//! How often somebody tried to log in: who guesses has to wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};

/// So many failures in so much time, of one address or for one name.
const MOST: u32 = 10;
const WHILE: SignedDuration = SignedDuration::from_mins(15);
/// More are not kept: whoever has as many addresses is not stopped by this, nor may they fill the memory.
const MOST_KEPT: usize = 100_000;

#[derive(Default)]
pub(super) struct Attempts {
    failed: Mutex<Failed>,
}

#[derive(Default)]
struct Failed {
    addresses: HashMap<IpAddr, Count>,
    names: HashMap<String, Count>,
}

struct Count {
    failures: u32,
    since: Timestamp,
}

impl Attempts {
    /// Whether another attempt is heard.
    pub(super) fn may_try(&self, from: IpAddr, name: &str, now: Timestamp) -> bool {
        let failed = self.failed.lock().expect("no holder of this lock panics");
        let is_over = |count: Option<&Count>| {
            count.is_some_and(|count| count.failures >= MOST && count.since + WHILE > now)
        };
        !is_over(failed.addresses.get(&from)) && !is_over(failed.names.get(name))
    }

    pub(super) fn note_failure(&self, from: IpAddr, name: &str, now: Timestamp) {
        let mut failed = self.failed.lock().expect("no holder of this lock panics");
        add(&mut failed.addresses, from, now);
        add(&mut failed.names, name.to_owned(), now);
    }
}

fn add<K: Eq + Hash>(counts: &mut HashMap<K, Count>, key: K, now: Timestamp) {
    if counts.len() >= MOST_KEPT {
        counts.retain(|_, count| count.since + WHILE > now);
    }
    if counts.len() >= MOST_KEPT {
        return;
    }
    let count = counts.entry(key).or_insert(Count { failures: 0, since: now });
    if count.since + WHILE <= now {
        *count = Count { failures: 0, since: now };
    }
    count.failures += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_too_often_waits() {
        let attempts = Attempts::default();
        let (here, there) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for _ in 0..MOST {
            assert!(attempts.may_try(here, "ann", now));
            attempts.note_failure(here, "ann", now);
        }
        assert!(!attempts.may_try(here, "bob", now), "by address");
        assert!(!attempts.may_try(there, "ann", now), "by name");
        assert!(attempts.may_try(there, "bob", now));
        assert!(attempts.may_try(here, "ann", now + WHILE));
    }
}
