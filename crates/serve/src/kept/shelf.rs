//! Where answers are kept: so many bytes of them, those that were asked for last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;

use super::{Entry, Given, Key, Moment};

/// A place for an answer.
#[derive(Default)]
pub(super) struct Room {
    entry: Mutex<Option<Entry>>,
    /// Who holds it makes the answer, and the others wait.
    pub(super) making: tokio::sync::Mutex<()>,
}

impl Room {
    /// What is given at a moment, also of what no longer holds if that will do.
    pub(super) fn given(&self, moment: &Moment, old_will_do: bool) -> Option<Given> {
        let entry = self.entry();
        let is_given = |entry: &&Entry| {
            entry.holds_at(moment) || (old_will_do && entry.is_still_given_at(moment.time))
        };
        let entry = entry.as_ref().filter(is_given)?;
        Some(Given { answer: entry.answer.clone(), is_new: false })
    }

    pub(super) fn put(&self, entry: Entry) {
        *self.entry() = Some(entry);
    }

    fn entry(&self) -> MutexGuard<'_, Option<Entry>> {
        self.entry.lock().expect("no holder of this lock panics")
    }

    /// Notes that it no longer holds; whether that is so.
    fn note_outdated(&self, moment: &Moment) -> bool {
        match self.entry().as_mut().filter(|entry| !entry.holds_at(moment)) {
            Some(entry) => {
                entry.outdated_since.get_or_insert(moment.time);
                true
            }
            None => false,
        }
    }

    /// Whether it no longer holds, and nobody makes another one; what was never made counts if so told.
    fn is_due(&self, though_never_made: bool) -> bool {
        let is_outdated = |entry: &Entry| entry.outdated_since.is_some();
        self.entry().as_ref().map_or(though_never_made, is_outdated)
            && self.making.try_lock().is_ok()
    }
}

pub(super) struct Shelf {
    slots: HashMap<Key, Slot>,
    most_bytes: usize,
    bytes: usize,
    /// How often anything was asked for: the order in which it was.
    asks: u64,
}

struct Slot {
    room: Arc<Room>,
    bytes: usize,
    last: u64,
    /// When somebody last asked; nobody has yet if we asked ahead.
    asked: Option<Timestamp>,
    /// Whether it is made for whoever comes, though nobody asked.
    is_standing: bool,
}

impl Shelf {
    pub(super) fn new(most_bytes: usize) -> Shelf {
        Shelf { slots: HashMap::new(), most_bytes, bytes: 0, asks: 0 }
    }

    /// The place of an answer that somebody asks for, or that we ask for ahead.
    pub(super) fn room(&mut self, key: &Key, asked: Option<Timestamp>) -> Arc<Room> {
        self.asks += 1;
        let asks = self.asks;
        let is_new = !self.slots.contains_key(key);
        let slot = self.slots.entry(key.clone()).or_insert_with(|| Slot {
            room: Arc::default(),
            bytes: 0,
            last: asks,
            asked: None,
            is_standing: false,
        });
        if asked.is_some() {
            (slot.last, slot.asked) = (asks, asked);
        }
        let room = slot.room.clone();
        if is_new {
            self.weigh(key, 0);
        }
        room
    }

    /// Has an answer made for whoever comes, again and again.
    pub(super) fn stand(&mut self, key: &Key) {
        self.room(key, None);
        if let Some(slot) = self.slots.get_mut(key) {
            slot.is_standing = true;
        }
    }

    /// Notes how large an answer is, and lets go of what was not asked for longest if all is too
    /// large.
    pub(super) fn weigh(&mut self, key: &Key, bytes: usize) {
        let own = size_of::<Slot>() + size_of::<Room>() + size_of::<Key>() + key.address.len();
        if let Some(slot) = self.slots.get_mut(key) {
            self.bytes = self.bytes - slot.bytes + bytes + own;
            slot.bytes = bytes + own;
        }
        while self.bytes > self.most_bytes {
            let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.last);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            self.remove(&key);
        }
    }

    /// Notes what no longer holds, and lets go of it if nobody asked for it since a moment.
    pub(super) fn note_outdated(&mut self, moment: &Moment, since: Timestamp) {
        let is_forgotten =
            |slot: &Slot| !slot.is_standing && slot.asked.is_none_or(|asked| asked < since);
        let forgotten: Vec<Key> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.room.note_outdated(moment) && is_forgotten(slot))
            .map(|(key, _)| key.clone())
            .collect();
        forgotten.iter().for_each(|key| self.remove(key));
    }

    /// What is to be made again next: what was asked for last.
    pub(super) fn next_due(&self) -> Option<Key> {
        let due = self.slots.iter().filter(|(_, slot)| slot.room.is_due(slot.is_standing));
        due.max_by_key(|(_, slot)| slot.last).map(|(key, _)| key.clone())
    }

    fn remove(&mut self, key: &Key) {
        self.bytes -= self.slots.remove(key).map_or(0, |slot| slot.bytes);
    }
}
