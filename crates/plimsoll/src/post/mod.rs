//! Sends what is written to people, and remembers to whom it went.

mod ledger;
mod webhook;

pub(crate) use ledger::{Ledger, Sent};
pub(crate) use webhook::tell;

use std::time::Duration;

use source::{Failure, Letter, Machine, MailServer};

use crate::config::Mail;

/// How often, and how long after one another, something is tried that did not work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) retries: usize,
    /// Before the first time; twice as long before each that follows.
    pub(crate) pause: Duration,
}

impl Mail {
    pub(crate) fn patience(&self) -> Patience {
        Patience { retries: self.retries, pause: self.retry_after }
    }
}

/// Hands a letter to the server; one that does not answer, or asks to come later, is asked again.
pub(crate) fn send(
    machine: &dyn Machine,
    letter: &Letter,
    server: &MailServer,
    patience: Patience,
) -> Result<(), Failure> {
    patiently(machine, patience, || machine.mail(letter, server))
}

/// Tries until it works, or until it is known that it will not.
fn patiently(
    machine: &dyn Machine,
    patience: Patience,
    mut attempt: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut pause = patience.pause;
    let mut left = patience.retries;
    loop {
        match attempt() {
            Err(Failure::Unreachable { reason, may_pass: true, .. }) if left > 0 => {
                tracing::warn!(pause_seconds = pause.as_secs(), "tries again later: {reason}");
                machine.pause(pause);
                pause *= 2;
                left -= 1;
            }
            ended => return ended,
        }
    }
}

/// A name for what these words say, fit for the head of a letter: always the same for the same words.
pub(crate) fn identifier(words: &[&str]) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    words.join("-").chars().map(plain).collect()
}

#[cfg(test)]
mod tests;
