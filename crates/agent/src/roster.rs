//! The threads of the program, from their start to their end. The memory in use grows with the
//! threads that live and with those that have traces of their own, not with all that ever lived.

use perk_hprof::ThreadStart;
use perk_jvm::{ThreadInfo, VIRTUAL_THREAD_GROUP};
use perk_profile::{Profile, Thread, ThreadId};
use rustc_hash::FxHashMap;

/// The serial number that HPROF gives to unknown threads; the first thread gets the next number.
const UNKNOWN_THREAD: u32 = 200_000;
/// The name of the thread that represents all virtual ones.
const VIRTUAL_THREADS: &str = "virtual threads";
/// The base of the thread objects' ids; they begin with HPROF's digit for objects.
const THREAD_OBJECT: u64 = 0x5 << 60;

/// A thread of the roster. The slot of an ended thread is reused for another thread, once nobody holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(u32);

impl Slot {
    /// Returns the slot as a number.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the slot for a number that [`Slot::index`] gave.
    pub(crate) fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

/// The registry of the threads; see the module.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    entries: Vec<Entry>,
    free: Vec<Slot>,
    started: u32,
    ended: u32,
    /// The entry that represents all virtual threads.
    virtual_threads: Option<Slot>,
    /// The thread that ended last.
    last: Option<Entry>,
}

/// The numbers of threads that have started and ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turnover {
    started: u32,
    ended: u32,
}

#[derive(Debug)]
struct Entry {
    serial: u32,
    info: ThreadInfo,
    /// Whether THREAD START is written to the file.
    announced: bool,
    /// The thread's id in the profile, once it has a trace of its own.
    id: Option<ThreadId>,
    /// Whether it stays until something of it is booked.
    is_held: bool,
    has_ended: bool,
}

impl Roster {
    /// Adds a thread that has started.
    pub(crate) fn add(&mut self, info: ThreadInfo) -> Slot {
        self.started += 1;
        let serial = UNKNOWN_THREAD + self.started;
        let entry =
            Entry { serial, info, announced: false, id: None, is_held: false, has_ended: false };
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

    /// Returns the slot that represents all virtual threads.
    pub(crate) fn virtual_threads(&mut self) -> Slot {
        if let Some(slot) = self.virtual_threads {
            return slot;
        }
        let group = Some(VIRTUAL_THREAD_GROUP.to_owned());
        let name = VIRTUAL_THREADS.to_owned();
        let slot = self.add(ThreadInfo { name, group, ..ThreadInfo::default() });
        self.virtual_threads = Some(slot);
        slot
    }

    /// Returns the threads that have not ended.
    pub(crate) fn living(&self) -> impl Iterator<Item = Slot> {
        let entries = self.entries.iter().enumerate();
        let living = entries.filter(|(_, entry)| entry.info.java_id != 0 && !entry.has_ended);
        living.map(|(index, _)| Slot::from_index(index))
    }

    /// Returns the thread whose object has this id in the file, or whose serial number it is.
    pub(crate) fn find(&self, id: u64) -> Option<Slot> {
        let is_it = |it: &Entry| {
            let object = object_id(it.serial);
            // Files with ids of four bytes have the lower half of the object's id only.
            [object, object & u64::from(u32::MAX), it.serial.into()].contains(&id)
        };
        let index = self.entries.iter().position(|it| it.announced && is_it(it))?;
        Some(Slot::from_index(index))
    }

    /// Notes that a thread has ended, and removes it unless its slot is held. Returns its serial number if it is
    /// removed and the file has it.
    pub(crate) fn end(&mut self, slot: Slot) -> Option<u32> {
        self.ended += 1;
        let entry = &mut self.entries[slot.index()];
        entry.has_ended = true;
        if entry.is_held { None } else { self.remove(slot) }
    }

    /// Keeps a thread from being removed until [`let_go`](Self::let_go): something of it is still to be
    /// booked.
    pub(crate) fn hold(&mut self, slot: Slot) {
        self.entries[slot.index()].is_held = true;
    }

    /// Ends [`hold`](Self::hold), and removes the thread if it has ended. Returns as [`end`](Self::end).
    pub(crate) fn let_go(&mut self, slot: Slot) -> Option<u32> {
        let entry = &mut self.entries[slot.index()];
        let is_over = std::mem::take(&mut entry.is_held) && entry.has_ended;
        if is_over { self.remove(slot) } else { None }
    }

    fn remove(&mut self, slot: Slot) -> Option<u32> {
        self.free.push(slot);
        let entry = &mut self.entries[slot.index()];
        let info = std::mem::take(&mut entry.info);
        self.last = Some(Entry { info, ..*entry });
        // A later use of its slot does not announce the thread again.
        std::mem::replace(&mut entry.announced, true).then_some(entry.serial)
    }

    /// Notes that a new file has no thread yet.
    pub(crate) fn forget_announced(&mut self) {
        let living = self.entries.iter_mut().filter(|entry| !entry.has_ended || entry.is_held);
        living.for_each(|entry| entry.announced = false);
    }

    /// Returns the record that announces the thread in the file, unless it is already written.
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

    /// Returns the thread's id in the profile; a thread without one gets it now.
    pub(crate) fn id(&mut self, slot: Slot, profile: &mut Profile) -> ThreadId {
        self.entries[slot.index()].id(profile)
    }

    /// Returns the ids of the threads that are in the file, by the JVM's thread ids: those of the
    /// living threads and of the one that ended last. (By the JVM's count, that one is still there
    /// at the dump when the JVM dies.)
    pub(crate) fn by_java_id(&mut self, profile: &mut Profile) -> FxHashMap<u64, ThreadId> {
        let entries = self.entries.iter_mut().chain(&mut self.last);
        let known = entries.filter(|entry| entry.info.java_id != 0 && entry.announced);
        known.map(|entry| (entry.info.java_id, entry.id(profile))).collect()
    }

    /// Returns the serial number of the thread that has the slot now, or had it last.
    pub(crate) fn serial(&self, slot: Slot) -> u32 {
        self.entries[slot.index()].serial
    }

    /// Returns what was known of the thread when it started; empty once it is removed.
    pub(crate) fn info(&self, slot: Slot) -> &ThreadInfo {
        &self.entries[slot.index()].info
    }

    /// Returns how many threads have started and ended so far.
    pub(crate) fn turnover(&self) -> Turnover {
        Turnover { started: self.started, ended: self.ended }
    }

    /// Whether a list that was made at some moment has the platform threads of now, by their ids in the
    /// JVM: none has ended since, and the list has those that have started. (The JVM lists a thread before
    /// it reports its start, which can take long on a busy machine.)
    pub(crate) fn are_listed(&self, then: Turnover, java_ids: &[u64]) -> bool {
        let is_new = |it: &&Entry| it.serial > UNKNOWN_THREAD + then.started;
        let new = self.entries.iter().filter(is_new).map(|entry| &entry.info);
        let mut platform = new.filter(|info| info.java_id != 0 && !info.is_of_virtual());
        self.ended == then.ended && platform.all(|info| java_ids.contains(&info.java_id))
    }

    /// Returns how many threads have started.
    pub(crate) fn started(&self) -> u64 {
        u64::from(self.started) - u64::from(self.virtual_threads.is_some())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_whose_start_is_reported_late_is_in_a_list_before() {
        let mut roster = Roster::default();
        let thread = |java_id: u64| ThreadInfo { java_id, ..ThreadInfo::default() };
        let first = roster.add(thread(1));
        let then = roster.turnover();
        assert!(roster.are_listed(then, &[1, 2]));
        roster.add(thread(2));
        let group = Some(VIRTUAL_THREAD_GROUP.to_owned());
        roster.add(ThreadInfo { group, ..thread(7) });
        assert!(roster.are_listed(then, &[1, 2]));
        let third = roster.add(thread(3));
        assert!(!roster.are_listed(then, &[1, 2]) && roster.are_listed(then, &[1, 2, 3]));
        roster.end(third);
        assert!(!roster.are_listed(then, &[1, 2]));
        let then = roster.turnover();
        roster.end(first);
        assert!(!roster.are_listed(then, &[1, 2]) && roster.are_listed(roster.turnover(), &[2]));
    }
    #[test]
    fn a_slot_is_free_when_its_thread_has_ended_and_nobody_holds_it() {
        let mut roster = Roster::default();
        let thread = |java_id: u64| ThreadInfo { java_id, ..ThreadInfo::default() };
        let first = roster.add(thread(1));
        roster.hold(first);
        assert_eq!(roster.end(first), None);
        let second = roster.add(thread(2));
        assert_ne!(second, first);
        assert_eq!(roster.living().collect::<Vec<_>>(), [second]);
        // Its last samples announce it.
        assert_eq!(roster.announce(first).map(|it| it.serial), Some(UNKNOWN_THREAD + 1));
        assert_eq!(roster.let_go(first), Some(UNKNOWN_THREAD + 1));
        assert_eq!(roster.add(thread(3)), first);
        // One that lives on is not removed.
        roster.hold(second);
        assert_eq!(roster.let_go(second), None);
        assert_ne!(roster.add(thread(4)), second);
    }
}
