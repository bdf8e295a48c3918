//! A command's answer, compressed as it comes: what is archived, and what is read from then on.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use lake::{Archive, Asked};
use source::{Command, Failure, Machine};

/// What a command said, or why it said nothing.
pub(crate) struct Answer {
    pub(super) asked: Asked,
    /// What it printed, as a frame of the archive.
    pub(super) frame: Vec<u8>,
    pub(super) bytes: u64,
    pub(super) duration_seconds: f64,
}

impl Answer {
    /// One that was archived.
    pub(crate) fn archived(asked: Asked, frame: Vec<u8>) -> Answer {
        Answer { asked, frame, bytes: 0, duration_seconds: 0.0 }
    }

    /// The program that was asked.
    pub(crate) fn program(&self) -> &str {
        self.asked.command.first().map_or("", String::as_str)
    }
}

/// How often a command that fails is asked again, and how long is waited before: a controller that
/// restarts is back within seconds, a database that does not answer must not be besieged.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// Asks until there is an answer, or until it is plain that there will be none.
pub(super) fn fetch(
    machine: &dyn Machine,
    command: &Command,
    run: Timestamp,
    window: Option<(Timestamp, Timestamp)>,
) -> Result<Answer> {
    let words: Vec<String> =
        std::iter::once(command.program.to_owned()).chain(command.arguments.clone()).collect();
    let mut pauses = PAUSES.iter();
    loop {
        let asked =
            Asked { time: machine.now(), run, window, command: words.clone(), failure: None };
        let mut archive = Archive::begin(&asked)?;
        let ran = machine.run(command, &mut |piece| archive.push(piece));
        let duration_seconds = machine.now().duration_since(asked.time).as_secs_f64();
        let failure = match ran {
            Ok(()) => {
                let (frame, bytes) = archive.finish()?;
                return Ok(Answer { asked, frame, bytes, duration_seconds });
            }
            Err(failure) => failure,
        };
        match pauses.next().filter(|_| may_pass(&failure)) {
            Some(pause) => {
                tracing::debug!(program = command.program, "asking again: {failure}");
                machine.pause(*pause);
            }
            None => {
                // What it printed before it failed counts for nothing.
                let asked = Asked { failure: Some(failure.to_string()), ..asked };
                let (frame, _) = Archive::begin(&asked)?.finish()?;
                return Ok(Answer { asked, frame, bytes: 0, duration_seconds });
            }
        }
    }
}

/// The same in a thread of its own.
pub(super) async fn fetch_aside(
    machine: Arc<dyn Machine>,
    command: Command,
    run: Timestamp,
    window: (Timestamp, Timestamp),
) -> Result<Answer> {
    tokio::task::spawn_blocking(move || fetch(machine.as_ref(), &command, run, Some(window)))
        .await?
}

/// Whether asking again may help. A command that took all of its time would take it again.
fn may_pass(failure: &Failure) -> bool {
    match failure {
        Failure::Missing { .. } | Failure::Start { .. } | Failure::TimeLimit { .. } => false,
        Failure::Read { .. } | Failure::Status { .. } => true,
    }
}
