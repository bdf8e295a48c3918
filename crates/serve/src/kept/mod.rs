//! Answers that are kept: one that was given costs nothing until something new is collected.
//!
//! Then it is made again, without anybody who waits for it if somebody asked for it lately: the one
//! before is given for some seconds more. Those who ask the same at once wait for one answer. Only so
//! many are made at a time, so that many questions need no more memory than a few, and the others come
//! in turn.

mod ahead;
mod shelf;

use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use axum::body::Bytes;
use jiff::{SignedDuration, Timestamp};
use lake::Version;
use query::Sight;
use tokio::sync::Semaphore;

use crate::trouble::Trouble;
use shelf::Shelf;

pub(crate) use ahead::{ask_ahead, watch};

/// An answer that is about the time until now is about another one after this.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
/// One that no longer holds is given for so long while another one is made.
const STILL_GIVEN: SignedDuration = SignedDuration::from_mins(1);
/// What all that is kept may take.
const MOST_BYTES: usize = 96 * 1024 * 1024;

/// What is asked, and who sees the answer. All that an answer depends on is in here or in the
/// lake's version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) sight: Sight,
    /// The path and the parameters, as they are written once they were read.
    pub(crate) address: String,
    pub(crate) media_type: &'static str,
}

/// When something is asked, and of which state of the lake.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) time: Timestamp,
    pub(crate) version: Version,
}

impl Moment {
    /// Whether what was made at another moment still holds, if it does so for so long.
    pub(crate) fn is_as(&self, made: &Moment, longest: SignedDuration) -> bool {
        made.version == self.version && self.time.duration_since(made.time) < longest
    }
}

/// What is kept of an answer.
pub(crate) enum Answer {
    /// A page, without what is around it: that is said to somebody, and of now.
    Page(Body),
    File(Bytes),
}

/// A page without what is around it.
pub(crate) struct Body {
    pub(crate) title: String,
    /// What it shows, as HTML.
    pub(crate) main: String,
    /// Names and addresses of the same in other formats.
    pub(crate) formats: Vec<(&'static str, String)>,
}

impl Answer {
    fn bytes(&self) -> usize {
        match self {
            Answer::Page(Body { title, main, formats }) => {
                let addresses = formats.iter().map(|(_, address)| address.len());
                title.len() + main.len() + addresses.sum::<usize>()
            }
            Answer::File(bytes) => bytes.len(),
        }
    }
}

/// A kept answer, and whether somebody has just waited for it to be made.
pub(crate) struct Given {
    pub(crate) answer: Arc<Answer>,
    pub(crate) is_new: bool,
}

struct Entry {
    answer: Arc<Answer>,
    made: Moment,
    /// Since when it is known not to hold any more.
    outdated_since: Option<Timestamp>,
}

impl Entry {
    fn holds_at(&self, moment: &Moment) -> bool {
        moment.is_as(&self.made, LONGEST)
    }

    /// Whether it is given though it does not hold: somebody who waits sees little more.
    fn is_still_given_at(&self, time: Timestamp) -> bool {
        let is_over = |since: Timestamp| time.duration_since(since) >= STILL_GIVEN;
        !is_over(self.made.time + LONGEST) && !self.outdated_since.is_some_and(is_over)
    }
}

/// All that is kept.
pub(crate) struct Kept {
    shelf: Mutex<Shelf>,
    /// One for each answer that may be made now.
    places: Semaphore,
}

impl Kept {
    pub(crate) fn new() -> Kept {
        let places = available_parallelism().map_or(1, usize::from);
        Kept { shelf: Mutex::new(Shelf::new(MOST_BYTES)), places: Semaphore::new(places) }
    }

    /// What is kept, or what is made now. Who waits and leaves is not waited for: another one of
    /// those who ask the same makes it.
    pub(crate) async fn answer(
        &self,
        key: &Key,
        moment: Moment,
        is_ahead: bool,
        make: impl Future<Output = Result<Answer, Trouble>>,
    ) -> Result<Given, Trouble> {
        let asked = (!is_ahead).then_some(moment.time);
        let room = self.shelf().room(key, asked);
        if let Some(given) = room.given(&moment, !is_ahead) {
            return Ok(given);
        }
        let _making = room.making.lock().await;
        // Whoever made it meanwhile asked when we did.
        if let Some(given) = room.given(&moment, false) {
            return Ok(given);
        }
        let _place = self.places.acquire().await.map_err(anyhow::Error::from)?;
        let answer = Arc::new(make.await?);
        room.put(Entry { answer: answer.clone(), made: moment, outdated_since: None });
        self.shelf().weigh(key, answer.bytes());
        Ok(Given { answer, is_new: true })
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shelf.lock().expect("no holder of this lock panics")
    }
}

#[cfg(test)]
mod tests;
