//! The threads of the program, from their start to their end. What is kept grows with the threads
//! that live, and with those that have traces of their own; not with all that ever lived.

use perk_hprof::ThreadStart;
use perk_profile::{Profile, Thread, ThreadId};
use rustc_hash::FxHashMap;

use crate::jvm::ThreadInfo;

/// HPROF's serial number for threads it does not know; the first thread gets the next.
const UNKNOWN_THREAD: u32 = 200_000;
/// Thread objects' ids begin with HPROF's digit for objects.
const THREAD_OBJECT: u64 = 0x5 << 60;

/// A thread of the roster. The slot of an ended thread is given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(u32);

impl Slot {
    /// The slot as a number.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The slot of a number that [`Slot::index`] gave.
    pub(crate) fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    entries: Vec<Entry>,
    free: Vec<Slot>,
    started: u32,
    ended: u32,
    /// The thread that ended last.
    last: Option<Entry>,
}

#[derive(Debug)]
struct Entry {
    serial: u32,
    info: ThreadInfo,
    /// Whether the file has its THREAD START.
    announced: bool,
    /// Its id in the profile, once it has a trace of its own.
    id: Option<ThreadId>,
}

impl Roster {
    /// A thread has started.
    pub(crate) fn add(&mut self, info: ThreadInfo) -> Slot {
        self.started += 1;
        let serial = UNKNOWN_THREAD + self.started;
        let entry = Entry { serial, info, announced: false, id: None };
        match self.free.pop() {
            Some(slot) => {
                self.entries[slot.index()] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                Slot::from_index(self.entries.len() - 1)
            }
        }
    }

    /// The threads that have not ended.
    pub(crate) fn living(&self) -> impl Iterator<Item = Slot> {
        let entries = self.entries.iter().enumerate();
        let living = entries.filter(|(_, entry)| entry.info.java_id != 0);
        living.map(|(index, _)| Slot::from_index(index))
    }

    /// The thread whose object the file knows by this id, or that has it as its serial number.
    pub(crate) fn find(&self, id: u64) -> Option<Slot> {
        let is_it = |it: &Entry| {
            let object = object_id(it.serial);
            // Files with ids of four bytes have the position alone.
            [object, object & u64::from(u32::MAX), it.serial.into()].contains(&id)
        };
        let index = self.entries.iter().position(|it| it.announced && is_it(it))?;
        Some(Slot::from_index(index))
    }

    /// The thread has ended. Answers its serial number, if the file knows it.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<u32> {
        self.ended += 1;
        self.free.push(slot);
        let entry = &mut self.entries[slot.index()];
        let info = std::mem::take(&mut entry.info);
        self.last = Some(Entry { info, ..*entry });
        // A late use of its slot does not announce it any more.
        std::mem::replace(&mut entry.announced, true).then_some(entry.serial)
    }

    /// The record that announces the thread in the file, unless that is written.
    pub(crate) fn announce(&mut self, slot: Slot) -> Option<ThreadStart<'_>> {
        let entry = &mut self.entries[slot.index()];
        if std::mem::replace(&mut entry.announced, true) {
            return None;
        }
        Some(ThreadStart {
            serial: entry.serial,
            object_id: object_id(entry.serial),
            name: &entry.info.name,
            group: entry.info.group.as_deref(),
            parent_group: entry.info.parent_group.as_deref(),
        })
    }

    /// The thread's id in the profile, which it gets now if it has none.
    pub(crate) fn id(&mut self, slot: Slot, profile: &mut Profile) -> ThreadId {
        self.entries[slot.index()].id(profile)
    }

    /// The ids of the threads that the file knows, by the JVM's own numbers: of those that live, and
    /// of the one that ended last. (As the JVM dies it is at the dump, by the JVM's count.)
    pub(crate) fn by_java_id(&mut self, profile: &mut Profile) -> FxHashMap<u64, ThreadId> {
        let entries = self.entries.iter_mut().chain(&mut self.last);
        let known = entries.filter(|entry| entry.info.java_id != 0 && entry.announced);
        known.map(|entry| (entry.info.java_id, entry.id(profile))).collect()
    }

    /// The serial number of the thread that has the slot, or had it last.
    pub(crate) fn serial(&self, slot: Slot) -> u32 {
        self.entries[slot.index()].serial
    }

    /// Changes with each thread that starts or ends.
    pub(crate) fn turnover(&self) -> u64 {
        u64::from(self.started) + u64::from(self.ended)
    }

    /// How many threads there were.
    pub(crate) fn started(&self) -> u64 {
        self.started.into()
    }
}

impl Entry {
    fn id(&mut self, profile: &mut Profile) -> ThreadId {
        *self.id.get_or_insert_with(|| {
            let strings = &mut profile.symbols.strings;
            let info = &self.info;
            let thread = Thread {
                serial: self.serial,
                object_id: object_id(self.serial),
                name: strings.intern(&info.name),
                group: info.group.as_deref().map(|name| strings.intern(name)),
                parent_group: info.parent_group.as_deref().map(|name| strings.intern(name)),
            };
            profile.push_thread(thread)
        })
    }
}

fn object_id(serial: u32) -> u64 {
    THREAD_OBJECT | u64::from(serial - UNKNOWN_THREAD)
}
