//! Which thread has a monitor: from the mark of the object, and from the JVM's monitor if the object has
//! one. It stops no thread, and no thread waits for it.
//!
//! The JVM changes all of this meanwhile, so each answer is read twice. [`Monitors::new`] allocates.

use super::heap::{Heap, Moment};
use super::memory::{Memory, Symbols};
use super::tables::{MissingDescription, Tables};

/// How often a monitor is read until two answers in succession are the same.
const TRIES: usize = 4;
/// The bits of a reference that give its kind.
const REFERENCE_BITS: usize = 3;
/// The most monitors that are believed to be on a thread's stack of locks. HotSpot has room for 8.
const MOST_LOCKS: usize = 64;
/// The value of the flag `LockingMode` with which monitors that nobody waits for are on the stack of the
/// thread that has them. They do not say how often it has entered them.
const LOCKING_MODE: &str = "LockingMode";
const STACK_LOCKING: u8 = 1;

/// How this JVM holds monitors.
#[derive(Clone, Copy, Debug)]
pub struct Monitors {
    heap: Heap,
    marks: Marks,
    /// Where threads have the monitors that they wait to enter, and to be notified by, if marks do not
    /// lead to the JVM's monitors: those are in a table then.
    awaited: Option<[usize; 2]>,
    /// Where a monitor has its object, its owner, and the entries but the first.
    object: usize,
    owner: usize,
    recursions: usize,
    /// Where it has a place on the owner's stack (JDK 24 and later).
    stack_locker: Option<usize>,
    /// The owner of a monitor that is known to itself alone.
    anonymous: Option<usize>,
    /// Where threads have the id of the owner that they act as (JDK 24 and later): those of monitors
    /// are such ids.
    owner_id: Option<usize>,
    lock_stack: Option<LockStack>,
    stack_base: usize,
    stack_size: usize,
    counts_entries: bool,
}

/// The bits of marks, and their values.
#[derive(Clone, Copy, Debug)]
struct Marks {
    mask: usize,
    unlocked: usize,
    locked: usize,
    monitor: usize,
    /// The mask and the value of objects that are given to a thread before it enters them (JDK 17).
    biased: Option<(usize, usize)>,
}

/// Where a thread has the objects whose monitors it has, as long as nobody waits for these: their end,
/// counted from the thread, and the first.
#[derive(Clone, Copy, Debug)]
struct LockStack {
    top: usize,
    base: usize,
}

/// The thread that has a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorOwner {
    /// Its place among the threads; `None` if it is none of them, as a virtual thread without a carrier.
    pub thread: Option<usize>,
    /// Its id, on JDK 24 and later: that of the virtual thread if the thread carries one.
    pub id: Option<u64>,
    /// How often it has entered the monitor; `None` if the JVM does not count.
    pub entry_count: Option<u32>,
}

impl Monitors {
    /// Reads the tables, once the JVM runs.
    ///
    /// # Errors
    ///
    /// Names the first description that this JVM does not have.
    pub fn new(
        memory: &impl Memory,
        symbols: &impl Symbols,
    ) -> Result<Monitors, MissingDescription> {
        let tables = Tables::read(memory, symbols)?;
        let flags = tables.flags(memory, &["UseObjectMonitorTable", LOCKING_MODE])?;
        let constant = |name: &str| tables.constant(name).map(|value| value as usize);
        let biased = constant("markWord::biased_lock_mask_in_place")
            .and_then(|mask| Ok((mask, constant("markWord::biased_lock_pattern")?)));
        let lock_stack = || -> Result<LockStack, MissingDescription> {
            let stack = tables.offset(&["JavaThread._lock_stack"])?;
            let at = |field: &str| tables.offset(&[field]).map(|offset| stack + offset);
            Ok(LockStack { top: at("LockStack._top")?, base: at("LockStack._base[0]")? })
        };
        let lock_stack = lock_stack().ok();
        Ok(Monitors {
            heap: Heap::new(memory, &tables)?,
            marks: Marks {
                mask: constant("markWord::lock_mask_in_place")?,
                unlocked: constant("markWord::unlocked_value")?,
                locked: constant("markWord::locked_value")?,
                monitor: constant("markWord::monitor_value")?,
                biased: biased.ok(),
            },
            awaited: match flags.get("UseObjectMonitorTable") {
                None | Some(0) => None,
                Some(_) => Some([
                    tables.offset(&["JavaThread._current_pending_monitor"])?,
                    tables.offset(&["JavaThread._current_waiting_monitor"])?,
                ]),
            },
            object: tables.offset(&["ObjectMonitor._object"])?,
            owner: tables.offset(&["ObjectMonitor._owner"])?,
            recursions: tables.offset(&["ObjectMonitor._recursions"])?,
            stack_locker: tables.offset(&["ObjectMonitor._stack_locker"]).ok(),
            anonymous: constant("ObjectMonitor::ANONYMOUS_OWNER").ok(),
            owner_id: tables.offset(&["JavaThread._monitor_owner_id"]).ok(),
            lock_stack,
            stack_base: tables.offset(&["JavaThread._stack_base", "Thread._stack_base"])?,
            stack_size: tables.offset(&["JavaThread._stack_size", "Thread._stack_size"])?,
            counts_entries: lock_stack.is_some()
                && flags.get(LOCKING_MODE).is_none_or(|&mode| mode != STACK_LOCKING),
        })
    }

    /// Returns the thread that has the monitor of the object that a reference of JNI is to, `Some(None)`
    /// if no thread has it, and `None` where that cannot be read. `threads` are the addresses of the
    /// `JavaThread`s that may have it.
    pub fn owner(
        &self,
        memory: &impl Memory,
        reference: usize,
        threads: &[usize],
    ) -> Option<Option<MonitorOwner>> {
        let mut last = None;
        for _ in 0..TRIES {
            let now = self.read(memory, reference & !REFERENCE_BITS, threads);
            if now.is_some() && now == last {
                return now.map(|(_, owner)| owner);
            }
            last = now;
        }
        None
    }

    /// Reads it once. The reference is read at the end again: collectors that copy objects while the
    /// program runs change all references before they use the memory of the old copies.
    fn read(
        &self,
        memory: &impl Memory,
        slot: usize,
        threads: &[usize],
    ) -> Option<((Moment, usize), Option<MonitorOwner>)> {
        let moment = self.heap.moment(memory, false)?;
        let object = self.heap.object(memory, memory.word(slot)?).filter(|it| *it != 0)?;
        let mark = memory.word(object)?;
        let owner = self.owner_by_mark(memory, object, mark, threads)?;
        let is_same = memory.word(object)? == mark
            && self.heap.object(memory, memory.word(slot)?)? == object
            && self.heap.moment(memory, false)? == moment;
        is_same.then_some(((moment, mark), owner))
    }

    fn owner_by_mark(
        &self,
        memory: &impl Memory,
        object: usize,
        mark: usize,
        threads: &[usize],
    ) -> Option<Option<MonitorOwner>> {
        let Marks { mask, unlocked, locked, monitor, biased } = self.marks;
        if biased.is_some_and(|(mask, value)| mark & mask == value) {
            return None;
        }
        if mark & mask == unlocked {
            return Some(None);
        }
        if mark & mask == locked {
            let owner = self.fast_owner(memory, object, threads);
            return owner.or_else(|| self.stack_owner(memory, mark, threads)).map(Some);
        }
        if mark & mask != monitor {
            return None;
        }
        let monitor = match self.awaited {
            None => mark & !mask,
            Some(places) => self.awaited_monitor(memory, object, places, threads)?,
        };
        self.monitor_owner(memory, object, monitor, threads)
    }

    /// Returns the JVM's monitor of an object, if one of the threads waits for it.
    fn awaited_monitor(
        &self,
        memory: &impl Memory,
        object: usize,
        places: [usize; 2],
        threads: &[usize],
    ) -> Option<usize> {
        let places = threads.iter().flat_map(|thread| places.map(|it| thread.wrapping_add(it)));
        let mut monitors = places.filter_map(|place| memory.word(place));
        monitors.find(|&monitor| monitor != 0 && self.object_of(memory, monitor) == Some(object))
    }

    /// Returns the object of one of the JVM's monitors; `None` if a collector has not come to this
    /// reference yet.
    fn object_of(&self, memory: &impl Memory, monitor: usize) -> Option<usize> {
        let slot = memory.word(monitor.wrapping_add(self.object))?;
        self.heap.object(memory, memory.word(slot)?)
    }

    /// Returns the owner that one of the JVM's monitors has.
    fn monitor_owner(
        &self,
        memory: &impl Memory,
        object: usize,
        monitor: usize,
        threads: &[usize],
    ) -> Option<Option<MonitorOwner>> {
        let at = |offset: usize| memory.word(monitor.wrapping_add(offset));
        let owner = at(self.owner)?;
        if self.object_of(memory, monitor).is_some_and(|its| its != object) {
            return None;
        }
        if owner == 0 {
            return Some(None);
        }
        let found = if self.anonymous == Some(owner) {
            self.fast_owner(memory, object, threads)
                .or_else(|| self.stack_owner(memory, at(self.stack_locker?)?, threads))?
        } else {
            let entry_count = match self.counts_entries {
                true => u32::try_from(at(self.recursions)?).ok()?.checked_add(1),
                false => None,
            };
            match self.owner_id {
                Some(place) => {
                    let is_it =
                        |thread: &usize| memory.word(thread.wrapping_add(place)) == Some(owner);
                    let thread = threads.iter().position(is_it);
                    MonitorOwner { thread, id: Some(owner as u64), entry_count }
                }
                None => match threads.iter().position(|thread| *thread == owner) {
                    Some(thread) => MonitorOwner { thread: Some(thread), id: None, entry_count },
                    None => self.stack_owner(memory, owner, threads)?,
                },
            }
        };
        (at(self.owner)? == owner).then_some(Some(found))
    }

    /// Returns the thread that has an object on its stack of locks.
    fn fast_owner(
        &self,
        memory: &impl Memory,
        object: usize,
        threads: &[usize],
    ) -> Option<MonitorOwner> {
        let stack = self.lock_stack?;
        let count = |thread: usize| -> Option<usize> {
            let end = memory.u32(thread.wrapping_add(stack.top))? as usize;
            let locks = (stack.base..end).step_by(size_of::<usize>()).take(MOST_LOCKS);
            let is_it = |place: &usize| memory.word(thread.wrapping_add(*place)) == Some(object);
            Some(locks.filter(is_it).count())
        };
        let (thread, count) = threads
            .iter()
            .enumerate()
            .filter_map(|(index, &thread)| Some((index, count(thread)?)))
            .find(|(_, count)| *count > 0)?;
        Some(self.owner_of(memory, thread, threads, u32::try_from(count).ok()))
    }

    /// Returns the thread whose stack has an address.
    fn stack_owner(
        &self,
        memory: &impl Memory,
        address: usize,
        threads: &[usize],
    ) -> Option<MonitorOwner> {
        let is_its = |thread: &usize| {
            let at = |offset: usize| memory.word(thread.wrapping_add(offset));
            let (base, size) = (at(self.stack_base)?, at(self.stack_size)?);
            Some((base.wrapping_sub(size)..base).contains(&address))
        };
        let thread = threads.iter().position(|thread| is_its(thread) == Some(true))?;
        Some(self.owner_of(memory, thread, threads, None))
    }

    fn owner_of(
        &self,
        memory: &impl Memory,
        thread: usize,
        threads: &[usize],
        entry_count: Option<u32>,
    ) -> MonitorOwner {
        let id = self.owner_id.zip(threads.get(thread)).and_then(|(place, thread)| {
            memory.word(thread.wrapping_add(place)).map(|id| id as u64)
        });
        MonitorOwner { thread: Some(thread), id, entry_count }
    }
}
