//! A command's answer, compressed as it comes: what is archived, and what is read from then on.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use lake::{Archive, Asked};
use source::elasticsearch::{self, Purpose};
use source::{Command, Failure, Machine, Parsed, Parser};

use crate::config::SearchServer;

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

    /// Whether a word stands among what it was asked.
    pub(super) fn was_asked(&self, word: &str) -> bool {
        was_asked(&self.asked, word)
    }

    /// The access point that was asked by its name.
    pub(super) fn access_point(&self) -> Option<&str> {
        let place = self.asked.command.iter().position(|word| word == "-name")?;
        self.asked.command.get(place + 1).map(String::as_str)
    }

    /// Whether `condor_status` was asked for the pool's daemons; earlier only for access points.
    pub(super) fn is_about_daemons(&self) -> bool {
        self.was_asked("-any") || self.was_asked("-schedd")
    }

    /// What tells this question from others that are asked in the same collection.
    pub(super) fn source(&self) -> String {
        let program = self.program();
        match self.access_point() {
            Some(name) => format!("{program} -name {name}"),
            None if is_about_jobs_of_scontrol(&self.asked) => format!("{program} show job"),
            None if self.is_about_daemons() => format!("{program} -any"),
            None => program.to_owned(),
        }
    }

    /// What a parser makes of what was printed.
    pub(super) fn parsed<T>(&self, mut parser: impl Parser<T>) -> Result<Parsed<T>> {
        lake::replay(&self.frame, &mut |piece| parser.push(piece))?;
        Ok(parser.finish())
    }

    /// What was printed.
    pub(super) fn text(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        lake::replay(&self.frame, &mut |piece| text.extend_from_slice(piece))?;
        Ok(text)
    }
}

/// Whether `scontrol` was asked for jobs, which belong to the nodes that it was asked for just
/// before.
pub(crate) fn is_about_jobs_of_scontrol(asked: &Asked) -> bool {
    asked.command.first().is_some_and(|program| program == "scontrol") && was_asked(asked, "job")
}

fn was_asked(asked: &Asked, word: &str) -> bool {
    asked.command.iter().skip(1).any(|asked| asked == word)
}

/// How often a command that fails is asked again, and how long is waited before: a controller that
/// restarts is back within seconds, a database that does not answer must not be besieged.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// Asks in a thread of its own, so that what else is under way goes on.
pub(super) async fn fetch(
    machine: &Arc<dyn Machine>,
    command: Command,
    run: Timestamp,
    window: Option<(Timestamp, Timestamp)>,
) -> Result<Answer> {
    let machine = machine.clone();
    tokio::task::spawn_blocking(move || fetch_here(machine.as_ref(), &command, run, window)).await?
}

/// A command, the machine that it runs on, and the window that it is about.
pub(super) struct Question {
    pub(super) machine: Arc<dyn Machine>,
    pub(super) command: Command,
    pub(super) window: Option<(Timestamp, Timestamp)>,
}

/// Asks several questions, some of them at once, and gives the answers as the archive has them: by
/// the time at which they were asked.
pub(super) async fn fetch_all(
    questions: Vec<Question>,
    run: Timestamp,
    at_once: usize,
) -> Result<Vec<Answer>> {
    let asking: Vec<_> = questions
        .into_iter()
        .map(|Question { machine, command, window }| {
            async move { fetch(&machine, command, run, window).await }.boxed()
        })
        .collect();
    let mut answers: Vec<Answer> = stream::iter(asking).buffered(at_once).try_collect().await?;
    answers.sort_by(|one, other| {
        (one.asked.time, &one.asked.command).cmp(&(other.asked.time, &other.asked.command))
    });
    Ok(answers)
}

/// Asks until there is an answer, or until it is plain that there will be none.
fn fetch_here(
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

/// Asks a server that keeps job ads about a window, with several searches at once. It asks again by
/// itself where that may help.
pub(super) async fn fetch_documents(
    machine: &Arc<dyn Machine>,
    history: &SearchServer,
    run: Timestamp,
    window: (Timestamp, Timestamp),
    at_once: usize,
) -> Result<Answer> {
    let (machine, history) = (machine.clone(), history.clone());
    tokio::task::spawn_blocking(move || {
        let asked = Asked {
            time: machine.now(),
            run,
            window: Some(window),
            command: vec![
                elasticsearch::PROGRAM.to_owned(),
                history.url.clone(),
                history.index.clone(),
            ],
            failure: None,
        };
        let mut archive = Archive::begin(&asked)?;
        let answered = history.server(Purpose::Read).and_then(|server| {
            let mut sink = |piece: &[u8]| archive.push(piece);
            Ok(elasticsearch::jobs(machine.as_ref(), &server, window, at_once, &mut sink)?)
        });
        let duration_seconds = machine.now().duration_since(asked.time).as_secs_f64();
        let (asked, archive) = match answered {
            Ok(()) => (asked, archive),
            Err(error) => {
                let asked = Asked { failure: Some(format!("{error:#}")), ..asked };
                let archive = Archive::begin(&asked)?;
                (asked, archive)
            }
        };
        let (frame, bytes) = archive.finish()?;
        Ok(Answer { asked, frame, bytes, duration_seconds })
    })
    .await?
}

/// Whether asking again may help. A command that took all of its time would take it again.
fn may_pass(failure: &Failure) -> bool {
    match failure {
        Failure::Missing { .. } | Failure::Start { .. } | Failure::TimeLimit { .. } => false,
        Failure::Read { .. } | Failure::Status { .. } => true,
        // A server was asked again where that could help.
        Failure::Unreachable { .. } | Failure::Refused { .. } => false,
    }
}
