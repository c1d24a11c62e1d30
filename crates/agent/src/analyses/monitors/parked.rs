//! The platform threads that park now, where waits are sampled.
//!
//! A thread that parks notes the time at a place of its own, which asks the JVM nothing: threads park often, and
//! most parks are neither long nor for a lock. Who looks for the holders of locks asks what the threads that park
//! still are waiting for, once for each park.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::roster::Slot;

/// The places of the first block; each further one has twice as many.
const FIRST: usize = 64;
/// The number of blocks, which are enough for all slots.
const BLOCKS: usize = 27;
/// The bit of a park that is among the waits.
const NOTED: u64 = 1;

/// The places; see the module.
#[derive(Debug)]
pub(super) struct ParkedThreads {
    /// All times are since then.
    base: Instant,
    blocks: [OnceLock<Box<[Place]>>; BLOCKS],
}

/// The place of a thread, which is a cache line of its own: others write to theirs at the same time.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place {
    /// The time at which the thread parked, twice, plus [`NOTED`]; 0 while it does not park.
    park: AtomicU64,
    /// The park that was looked at last.
    seen: AtomicU64,
}

/// A park that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Park {
    pub(super) slot: Slot,
    pub(super) begun: Instant,
    park: u64,
}

impl Default for ParkedThreads {
    fn default() -> Self {
        Self { base: Instant::now(), blocks: [const { OnceLock::new() }; BLOCKS] }
    }
}

impl ParkedThreads {
    fn place(&self, slot: Slot) -> &Place {
        let index = slot.index() + FIRST;
        let block = (index / FIRST).ilog2();
        let len = FIRST << block;
        let places = || (0..len).map(|_| Place::default()).collect();
        &self.blocks[block as usize].get_or_init(places)[index - len]
    }

    /// Notes that the calling thread parks.
    pub(super) fn begins(&self, slot: Slot, now: Instant) {
        // A time of 0 would be none.
        let ns = (now.saturating_duration_since(self.base).as_nanos() as u64).max(1);
        self.place(slot).park.store(ns << 1, SeqCst);
    }

    /// Notes that the calling thread continues. Returns whether its park is among the waits.
    pub(super) fn ends(&self, slot: Slot) -> bool {
        self.place(slot).park.swap(0, SeqCst) & NOTED != 0
    }

    /// Returns the parks that last and were not looked at before.
    pub(super) fn new_parks(&self) -> Vec<Park> {
        let mut parks = Vec::new();
        for (block, places) in self.blocks.iter().enumerate() {
            let first = (FIRST << block) - FIRST;
            for (index, place) in places.get().into_iter().flatten().enumerate() {
                let park = place.park.load(SeqCst);
                if park != 0 && park & NOTED == 0 && place.seen.swap(park, SeqCst) != park {
                    let begun = self.base + Duration::from_nanos(park >> 1);
                    parks.push(Park { slot: Slot::from_index(first + index), begun, park });
                }
            }
        }
        parks
    }

    /// Notes that a park is among the waits. Returns false if it has ended.
    pub(super) fn note(&self, park: Park) -> bool {
        let place = self.place(park.slot);
        place.park.compare_exchange(park.park, park.park | NOTED, SeqCst, SeqCst).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_park_is_found_once_while_it_lasts() {
        let parked = ParkedThreads::default();
        let slots = [0, 63, 64, 191, 192, 70_000].map(Slot::from_index);
        let now = Instant::now();
        slots.iter().for_each(|&slot| parked.begins(slot, now));
        let found = parked.new_parks();
        let found_slots: Vec<_> = found.iter().map(|it| it.slot).collect();
        assert_eq!(found_slots, slots);
        assert!(found.iter().all(|it| it.begun <= now + Duration::from_nanos(1)));
        assert_eq!(parked.new_parks(), []);
        assert!(parked.note(found[2]));
        let noted: Vec<_> = slots.iter().map(|&slot| parked.ends(slot)).collect();
        assert_eq!(noted, [false, false, true, false, false, false]);
        assert!(!parked.note(found[1]) && parked.new_parks().is_empty());
        parked.begins(slots[1], now + Duration::from_nanos(5));
        assert_eq!(parked.new_parks().len(), 1);
    }
}
