//! Where answers are kept: so many bytes of them, those that were asked for last.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::{Entry, Key, Moment};

/// A place for an answer. Who holds its lock makes the answer, and the others wait.
pub(super) type Room = Arc<Mutex<Option<Entry>>>;

pub(super) struct Shelf {
    slots: HashMap<Key, Slot>,
    most_bytes: usize,
    bytes: usize,
    /// How often anything was asked for: the order in which it was.
    asks: u64,
}

struct Slot {
    room: Room,
    bytes: usize,
    last: u64,
    /// When somebody last asked; nobody has yet if we asked ahead.
    asked: Option<Timestamp>,
}

impl Shelf {
    pub(super) fn new(most_bytes: usize) -> Shelf {
        Shelf { slots: HashMap::new(), most_bytes, bytes: 0, asks: 0 }
    }

    /// The place of an answer that somebody asks for, or that we ask for ahead.
    pub(super) fn room(&mut self, key: &Key, asked: Option<Timestamp>) -> Room {
        self.asks += 1;
        let asks = self.asks;
        let is_new = !self.slots.contains_key(key);
        let slot = self.slots.entry(key.clone()).or_insert_with(|| Slot {
            room: Room::default(),
            bytes: 0,
            last: asks,
            asked: None,
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

    /// Notes how large an answer is, and lets go of what was not asked for longest if all is too
    /// large.
    pub(super) fn weigh(&mut self, key: &Key, bytes: usize) {
        let own = size_of::<Slot>() + 2 * size_of::<Key>() + key.address.len();
        if let Some(slot) = self.slots.get_mut(key) {
            self.bytes = self.bytes - slot.bytes + bytes + own;
            slot.bytes = bytes + own;
        }
        while self.bytes > self.most_bytes {
            let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.last);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            self.bytes -= self.slots.remove(&key).map_or(0, |slot| slot.bytes);
        }
    }

    /// What somebody asked for since a moment and what no longer holds, the last first. One that
    /// is being made is left out.
    pub(super) fn outdated(&self, since: Timestamp, moment: &Moment) -> Vec<Key> {
        let is_outdated = |slot: &Slot| {
            slot.asked.is_some_and(|asked| asked >= since)
                && slot
                    .room
                    .try_lock()
                    .is_ok_and(|entry| entry.as_ref().is_some_and(|entry| !entry.holds_at(moment)))
        };
        let mut outdated: Vec<(u64, &Key)> = self
            .slots
            .iter()
            .filter(|(_, slot)| is_outdated(slot))
            .map(|(key, slot)| (slot.last, key))
            .collect();
        outdated.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        outdated.into_iter().map(|(_, key)| key.clone()).collect()
    }
}
