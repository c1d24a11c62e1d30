//! A table with an entry for each id that was ever given: the object's class, kind and size, whether the
//! agent knows the id, and whether the object is gone.
//!
//! An id's entry is at its serial number. The table is made of chunks of zeroed memory that never
//! move; a page of which all objects are gone returns to the system. So it is read without locks, in
//! callbacks of heap walks, too.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use super::super::Id;
use crate::memory::{clear, reserve};
use crate::sync::lock;

/// What `OBJECT_ALLOC` tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::jvmpi) struct Record {
    /// The object's class; of an array of objects, the class of its elements. `None` for arrays of
    /// primitives, and for the object that is `java.lang.Class`.
    pub(in crate::jvmpi) class: Option<Id>,
    /// `JVMPI_NORMAL_OBJECT`, or the type of an array's elements (`JVMPI_CLASS`, `JVMPI_INT`, ...).
    pub(in crate::jvmpi) kind: u8,
    /// The size that the JVM gives.
    pub(in crate::jvmpi) size_bytes: u64,
}

/// The entries of a page and of a chunk.
const PAGE: usize = 256;
const CHUNK: usize = 1 << 22;
/// The most chunks; later ids have no entry.
const CHUNKS: usize = 1 << 14;

/// The first word of an entry: flags, the kind, the size.
const NOTED: u64 = 1;
const TOLD: u64 = 2;
const FREED: u64 = 4;
const KIND_SHIFT: u32 = 8;
const SIZE_SHIFT: u32 = 16;

/// The table; see the module.
#[derive(Debug, Default)]
pub(super) struct Records {
    chunks: OnceLock<Box<[OnceLock<Chunk>]>>,
    growing: Mutex<()>,
}

/// Some of the entries.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Two words each.
    words: &'static [AtomicU64],
    /// The number of freed objects of each page.
    freed: &'static [AtomicU32],
}

impl Records {
    /// Returns the entry's chunk, which is made if it `must_exist`, and its index therein.
    fn entry(&self, id: Id, must_exist: bool) -> Option<(Chunk, usize)> {
        let serial = usize::try_from(id.0 >> 4).ok()?;
        let chunks = self.chunks.get_or_init(|| (0..CHUNKS).map(|_| OnceLock::new()).collect());
        let place = chunks.get(serial / CHUNK)?;
        if place.get().is_none() && must_exist {
            let _growing = lock(&self.growing);
            if place.get().is_none() {
                let words = reserve(CHUNK * 2).ok()?;
                let freed = reserve(CHUNK / PAGE).ok()?;
                let _ = place.set(Chunk { words, freed });
            }
        }
        Some((*place.get()?, serial % CHUNK))
    }

    /// Enters an object.
    pub(super) fn note(&self, id: Id, record: Record) {
        let Some((chunk, at)) = self.entry(id, true) else { return };
        let word = NOTED
            | u64::from(record.kind) << KIND_SHIFT
            | record.size_bytes.min(u64::MAX >> SIZE_SHIFT) << SIZE_SHIFT;
        let class = record.class.map_or(0, |class| class.0);
        chunk.words[at * 2 + 1].store(class.cast_unsigned(), Ordering::Relaxed);
        chunk.words[at * 2].fetch_or(word, Ordering::Release);
    }

    /// Returns what was entered for an object that is not gone.
    pub(super) fn get(&self, id: Id) -> Option<Record> {
        let (chunk, at) = self.entry(id, false)?;
        let word = chunk.words[at * 2].load(Ordering::Acquire);
        let class = chunk.words[at * 2 + 1].load(Ordering::Relaxed);
        (word & (NOTED | FREED) == NOTED).then(|| Record {
            class: Id::from_tag(class.cast_signed()),
            kind: (word >> KIND_SHIFT) as u8,
            size_bytes: word >> SIZE_SHIFT,
        })
    }

    /// Notes that the agent is told the id.
    pub(super) fn tell(&self, id: Id) {
        if let Some((chunk, at)) = self.entry(id, true) {
            let word = &chunk.words[at * 2];
            if word.load(Ordering::Relaxed) & TOLD == 0 {
                word.fetch_or(TOLD, Ordering::Relaxed);
            }
        }
    }

    /// Whether the object is gone.
    pub(super) fn is_freed(&self, id: Id) -> bool {
        self.entry(id, false).is_some_and(|(chunk, at)| {
            chunk.words[at * 2].load(Ordering::Acquire) & FREED != 0
                || chunk.freed[at / PAGE].load(Ordering::Acquire) == PAGE as u32
        })
    }

    /// Notes that the object is gone. Returns whether the agent was told its id.
    pub(super) fn free(&self, id: Id) -> bool {
        let Some((chunk, at)) = self.entry(id, true) else { return false };
        let before = chunk.words[at * 2].fetch_or(FREED, Ordering::AcqRel);
        if before & FREED != 0 {
            return false;
        }
        let page = at / PAGE;
        if chunk.freed[page].fetch_add(1, Ordering::AcqRel) + 1 == PAGE as u32 {
            clear(&chunk.words[page * PAGE * 2..][..PAGE * 2]);
        }
        before & TOLD != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: Record = Record { class: Some(Id(32)), kind: 2, size_bytes: 1 << 33 };

    #[test]
    fn an_object_is_known_until_it_is_freed() {
        let (records, id) = (Records::default(), Id(77 << 4));
        assert_eq!((records.get(id), records.is_freed(id)), (None, false));
        records.note(id, RECORD);
        records.tell(id);
        assert_eq!(records.get(id), Some(RECORD));
        assert!(records.free(id) && !records.free(id));
        assert_eq!((records.get(id), records.is_freed(id)), (None, true));
    }

    #[test]
    fn an_id_that_nobody_was_told_ends_in_silence() {
        let (records, id) = (Records::default(), Id((CHUNK as i64) << 4));
        records.note(id, Record { class: None, ..RECORD });
        assert_eq!(records.get(id).unwrap().class, None);
        assert!(!records.free(id));
        // Beyond the table.
        let last = Id(i64::MAX);
        records.note(last, RECORD);
        assert_eq!((records.get(last), records.free(last)), (None, false));
    }

    #[test]
    fn a_page_of_freed_objects_is_given_back() {
        let records = Records::default();
        let ids = || (0..2 * PAGE as i64).map(|serial| Id(serial << 4));
        ids().for_each(|id| records.note(id, RECORD));
        ids().take(PAGE).for_each(|id| _ = records.free(id));
        assert!(ids().take(PAGE).all(|id| records.is_freed(id) && records.get(id).is_none()));
        assert!(ids().skip(PAGE).all(|id| records.get(id) == Some(RECORD)));
    }
}
