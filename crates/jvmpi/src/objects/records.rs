//! A table with an entry for each id that was ever given: the object's class, kind and size, whether the
//! agent knows the id, and whether the object is gone.
//!
//! An id's entry is at its serial number, in memory that grows and never moves; a page of which all
//! objects are gone returns to the system. So it is read without locks, in callbacks of heap walks, too.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::super::Id;
use perk_jvm::memory::{Pages, Region, clear};

/// The contents of `OBJECT_ALLOC` for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectRecord {
    /// The object's class; of an array of objects, the class of its elements. `None` for arrays of
    /// primitives, and for the object that is `java.lang.Class`.
    pub(crate) class: Option<Id>,
    /// `JVMPI_NORMAL_OBJECT`, or the type of an array's elements (`JVMPI_CLASS`, `JVMPI_INT`, ...).
    pub(crate) kind: u8,
    /// The size that the JVM gives.
    pub(crate) size_bytes: u64,
}

/// The entries of a page.
const PAGE: usize = 256;
/// The limit of entries; later ids have none.
const MOST: usize = 1 << 36;

/// The first word of an entry: flags, the kind, the size.
const NOTED: u64 = 1;
const PUBLISHED: u64 = 2;
const FREED: u64 = 4;
const KIND_SHIFT: u32 = 8;
const SIZE_SHIFT: u32 = 16;

/// The table; see the module.
#[derive(Debug, Default)]
pub(crate) struct ObjectRecords {
    memory: OnceLock<Option<EntryMemory>>,
    /// Whether the system gives no more memory: later ids have no entry.
    is_full: AtomicBool,
}

/// The memory of the entries.
#[derive(Debug)]
struct EntryMemory {
    /// Two words each.
    words: Region<AtomicU64>,
    /// The number of freed objects of each page.
    freed: Region<AtomicU32>,
}

/// The entry of an id.
struct RecordEntry {
    words: &'static [AtomicU64; 2],
    /// The words of its page, and the number of freed objects there.
    page: &'static [AtomicU64],
    freed: &'static AtomicU32,
}

impl EntryMemory {
    fn new() -> Option<Self> {
        let words = Region::new(MOST * 2, Pages::Small).ok()?;
        let freed = Region::new(MOST / PAGE, Pages::Small).ok()?;
        Some(Self { words, freed })
    }

    fn grow(&self, serial: usize) -> bool {
        let page = serial / PAGE + 1;
        serial < MOST && self.words.grow(page * PAGE * 2) && self.freed.grow(page)
    }

    fn place(&self, serial: usize) -> Option<RecordEntry> {
        let page = serial / PAGE;
        let words = self.words.all().get(page * PAGE * 2..)?.get(..PAGE * 2)?;
        let own = words.get(serial % PAGE * 2..)?.first_chunk()?;
        Some(RecordEntry { words: own, page: words, freed: self.freed.all().get(page)? })
    }
}

impl ObjectRecords {
    /// Returns an id's entry, which is made if it `must_exist`.
    fn entry(&self, id: Id, must_exist: bool) -> Option<RecordEntry> {
        let serial = usize::try_from(id.0 >> 4).ok()?;
        let memory = self.memory.get_or_init(EntryMemory::new).as_ref();
        if let Some(place) = memory.and_then(|memory| memory.place(serial)) {
            return Some(place);
        }
        if !must_exist || self.is_full.load(Ordering::Relaxed) {
            return None;
        }
        let grown = memory.filter(|memory| memory.grow(serial));
        if grown.is_none() {
            self.is_full.store(true, Ordering::Relaxed);
        }
        grown?.place(serial)
    }

    /// Returns the number of those of the first ids that have no entry, as there was no memory.
    pub(super) fn missing_count(&self, given: u64) -> u64 {
        if !self.is_full.load(Ordering::Relaxed) {
            return 0;
        }
        let memory = self.memory.get().and_then(Option::as_ref);
        let entries = memory.map_or(0, |it| it.words.all().len() / 2) as u64;
        // The first entry is of no id.
        (given + 1).saturating_sub(entries.max(1))
    }

    /// Enters an object.
    pub(super) fn note(&self, id: Id, record: ObjectRecord) {
        let Some(place) = self.entry(id, true) else { return };
        let word = NOTED
            | u64::from(record.kind) << KIND_SHIFT
            | record.size_bytes.min(u64::MAX >> SIZE_SHIFT) << SIZE_SHIFT;
        let class = record.class.map_or(0, |class| class.0);
        place.words[1].store(class.cast_unsigned(), Ordering::Relaxed);
        place.words[0].fetch_or(word, Ordering::Release);
    }

    /// Returns what was entered for an object that is not gone.
    pub(super) fn get(&self, id: Id) -> Option<ObjectRecord> {
        let place = self.entry(id, false)?;
        let word = place.words[0].load(Ordering::Acquire);
        let class = place.words[1].load(Ordering::Relaxed);
        (word & (NOTED | FREED) == NOTED).then(|| ObjectRecord {
            class: Id::from_tag(class.cast_signed()),
            kind: (word >> KIND_SHIFT) as u8,
            size_bytes: word >> SIZE_SHIFT,
        })
    }

    /// Notes that the agent gets the id.
    pub(super) fn publish(&self, id: Id) {
        if let Some(RecordEntry { words: [word, _], .. }) = self.entry(id, true)
            && word.load(Ordering::Relaxed) & PUBLISHED == 0
        {
            word.fetch_or(PUBLISHED, Ordering::Relaxed);
        }
    }

    /// Whether the object is gone.
    pub(super) fn is_freed(&self, id: Id) -> bool {
        self.entry(id, false).is_some_and(|place| {
            place.words[0].load(Ordering::Acquire) & FREED != 0
                || place.freed.load(Ordering::Acquire) == PAGE as u32
        })
    }

    /// Notes that the object is gone. Returns whether the agent has got its id.
    pub(super) fn free(&self, id: Id) -> bool {
        let Some(place) = self.entry(id, true) else { return false };
        let before = place.words[0].fetch_or(FREED, Ordering::AcqRel);
        if before & FREED != 0 {
            return false;
        }
        if place.freed.fetch_add(1, Ordering::AcqRel) + 1 == PAGE as u32 {
            clear(place.page);
        }
        before & PUBLISHED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: ObjectRecord = ObjectRecord { class: Some(Id(32)), kind: 2, size_bytes: 1 << 33 };

    #[test]
    fn an_object_is_known_until_it_is_freed() {
        let (records, id) = (ObjectRecords::default(), Id(77 << 4));
        assert_eq!((records.get(id), records.is_freed(id)), (None, false));
        records.note(id, RECORD);
        records.publish(id);
        assert_eq!(records.get(id), Some(RECORD));
        assert!(records.free(id) && !records.free(id));
        assert_eq!((records.get(id), records.is_freed(id)), (None, true));
    }

    #[test]
    fn an_id_that_nobody_has_ends_in_silence() {
        let (records, id) = (ObjectRecords::default(), Id(1 << 26));
        records.note(id, ObjectRecord { class: None, ..RECORD });
        assert_eq!(records.get(id).unwrap().class, None);
        assert!(!records.free(id));
        // Beyond the table.
        let last = Id(i64::MAX);
        records.note(last, RECORD);
        assert_eq!((records.get(last), records.free(last)), (None, false));
        let entries = records.missing_count(0);
        assert_eq!((entries, records.missing_count(1 << 40) >> 39), (0, 1));
    }

    #[test]
    fn a_page_of_freed_objects_is_given_back() {
        let records = ObjectRecords::default();
        let ids = || (0..2 * PAGE as i64).map(|serial| Id(serial << 4));
        ids().for_each(|id| records.note(id, RECORD));
        ids().take(PAGE).for_each(|id| _ = records.free(id));
        assert!(ids().take(PAGE).all(|id| records.is_freed(id) && records.get(id).is_none()));
        assert!(ids().skip(PAGE).all(|id| records.get(id) == Some(RECORD)));
    }
}
