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
    /// Counts an attempt before its password is compared, so that parallel attempts are limited too.
    /// False if there were too many.
    pub(super) fn reserve(&self, from: IpAddr, name: &str, now: Timestamp) -> bool {
        let mut failed = self.failed.lock().expect("no holder of this lock panics");
        let is_over = |count: Option<&Count>| {
            count.is_some_and(|count| count.failures >= MOST && count.since + WHILE > now)
        };
        if is_over(failed.addresses.get(&from)) || is_over(failed.names.get(name)) {
            return false;
        }
        add(&mut failed.addresses, from, now);
        add(&mut failed.names, name.to_owned(), now);
        true
    }

    /// Takes back a reservation whose password was right.
    pub(super) fn release(&self, from: IpAddr, name: &str) {
        let mut failed = self.failed.lock().expect("no holder of this lock panics");
        let Failed { addresses, names } = &mut *failed;
        for count in addresses.get_mut(&from).into_iter().chain(names.get_mut(name)) {
            count.failures = count.failures.saturating_sub(1);
        }
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
            assert!(attempts.reserve(here, "ann", now));
        }
        assert!(!attempts.reserve(here, "bob", now), "by address");
        assert!(!attempts.reserve(there, "ann", now), "by name");
        assert!(attempts.reserve(there, "bob", now));
        assert!(attempts.reserve(here, "ann", now + WHILE));
    }

    /// The attack: 300 requests at once, before any password has been compared.
    #[test]
    fn parallel_guesses_are_limited() {
        let attempts = Attempts::default();
        let here = "10.0.0.1".parse().unwrap();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let granted = (0..300).filter(|_| attempts.reserve(here, "ann", now)).count();
        assert_eq!(granted, 10);
    }

    #[test]
    fn right_passwords_do_not_count() {
        let attempts = Attempts::default();
        let here = "10.0.0.1".parse().unwrap();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for _ in 0..50 {
            assert!(attempts.reserve(here, "ann", now));
            attempts.release(here, "ann");
        }
    }
}
