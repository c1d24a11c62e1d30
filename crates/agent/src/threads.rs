//! The registry of threads: which live, by which slot the recorder knows them, and which are perk's
//! own. It belongs to no analysis.
//!
//! Platform threads are known by a reference and, once they have called, by the kernel's id. Virtual
//! threads hold their slot in the tag of their object, from the moment on that somebody asks.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use perk_jvmti_sys::jni_sys::jobject;
use rustc_hash::FxHashMap;

use crate::jvm::{Global, Jni, Jvmti, Reference};
use crate::os::{self, Tid};
use crate::recorder::Recorder;
use crate::roster::Slot;
use crate::sync::lock;

thread_local! {
    /// The slot of this platform thread, once it is known.
    static SLOT: Cell<Option<Slot>> = const { Cell::new(None) };
}

/// Tags of virtual threads: their slot and this, which is above the range of class tags.
const VIRTUAL_THREAD_TAG: i64 = 1 << 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Threads {
    jvmti: Jvmti,
    recorder: &'static Mutex<Recorder>,
    table: Mutex<Table>,
    /// The threads of perk's own, which are never reported.
    own: Mutex<Vec<&'static Global>>,
    /// Whether a virtual thread has a slot.
    has_virtual: AtomicBool,
}

/// A platform thread that lives, or has lived a moment ago.
#[derive(Debug)]
pub(crate) struct LiveThread {
    pub(crate) slot: Slot,
    reference: Global,
    /// The kernel's id. Threads that were there before the agent have none until they call; until
    /// then only the JVM can be asked about them.
    tid: OnceLock<Tid>,
    /// CPU time when it was first met.
    first_cpu_ns: u64,
    /// CPU time as last read by anyone.
    cpu_ns: AtomicU64,
}

/// The live threads.
#[derive(Debug, Default)]
struct Table {
    by_slot: FxHashMap<Slot, Arc<LiveThread>>,
    by_tid: FxHashMap<Tid, Slot>,
    /// Ended threads, whose references are deleted when nobody uses them any more.
    graveyard: Vec<Arc<LiveThread>>,
    /// CPU time that ended threads have burned since they were first met.
    ended_cpu_ns: u64,
}

impl LiveThread {
    /// The kernel's id, if it is known.
    pub(crate) fn tid(&self) -> Option<Tid> {
        self.tid.get().copied()
    }

    /// CPU time when it was first met.
    pub(crate) fn first_cpu_ns(&self) -> u64 {
        self.first_cpu_ns
    }

    /// Its clock was read.
    pub(crate) fn saw_cpu_ns(&self, cpu_ns: u64) {
        self.cpu_ns.fetch_max(cpu_ns, Relaxed);
    }

    /// CPU time since it was first met, up to the last reading.
    fn burned_ns(&self) -> u64 {
        self.cpu_ns.load(Relaxed).saturating_sub(self.first_cpu_ns)
    }
}

impl Reference for LiveThread {
    fn raw(&self) -> jobject {
        self.reference.raw()
    }
}

impl Threads {
    pub(crate) fn new(jvmti: Jvmti, recorder: &'static Mutex<Recorder>) -> Self {
        Self {
            jvmti,
            recorder,
            table: Mutex::default(),
            own: Mutex::default(),
            has_virtual: AtomicBool::new(false),
        }
    }

    /// Makes a thread object of perk's own, which the program does not see in its thread groups.
    ///
    /// # Errors
    /// What the JVM refused, for one line on stderr.
    pub(crate) fn new_own(
        &self,
        jni: Jni<'_>,
        name: &std::ffi::CStr,
    ) -> Result<&'static Global, String> {
        let group = self.jvmti.top_thread_group(jni).ok_or("no top thread group")?;
        let thread = jni.new_thread(&group, name).ok_or("no Thread object")?;
        let thread = jni.global(&thread).ok_or("no global reference")?;
        let thread: &'static Global = Box::leak(Box::new(thread));
        lock(&self.own).push(thread);
        Ok(thread)
    }

    /// Whether a thread is one of perk's own.
    pub(crate) fn is_own(&self, jni: Jni<'_>, thread: &dyn Reference) -> bool {
        let own = lock(&self.own).clone();
        own.iter().any(|own| jni.same(*own, thread))
    }

    /// Adds a platform thread. `is_current` where the call comes from that thread itself: the others
    /// were there before VMInit, and the file gets no line for them before a trace names them.
    pub(crate) fn add(
        &self,
        jni: Jni<'_>,
        thread: &dyn Reference,
        is_current: bool,
    ) -> Option<Arc<LiveThread>> {
        let info = self.jvmti.thread_info(jni, thread).ok()?;
        let slot = lock(self.recorder).thread_started(info, is_current);
        let reference = jni.global(thread)?;
        let (tid, cpu_ns) = match is_current {
            true => (OnceLock::from(Tid::current()), Some(os::thread_cpu_ns())),
            false => (OnceLock::new(), self.jvmti.thread_cpu_ns(&reference)),
        };
        let first_cpu_ns = cpu_ns.unwrap_or(0);
        let cpu_ns = AtomicU64::new(first_cpu_ns);
        let thread = Arc::new(LiveThread { slot, reference, tid, first_cpu_ns, cpu_ns });
        let mut table = lock(&self.table);
        if let Some(tid) = thread.tid() {
            table.by_tid.insert(tid, slot);
        }
        table.by_slot.insert(slot, Arc::clone(&thread));
        Some(thread)
    }

    /// The calling platform thread, if it is known: by the kernel's id, or by its object where it was
    /// added by another thread.
    pub(crate) fn current(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Arc<LiveThread>> {
        let tid = Tid::current();
        let table = lock(&self.table);
        if let Some(known) = table.find(tid) {
            return Some(known);
        }
        let without_tid = table.without_tid();
        // The JVM is asked while nothing is locked.
        drop(table);
        let same = without_tid.into_iter().find(|it| jni.same(&**it, thread))?;
        let _ = same.tid.set(tid);
        lock(&self.table).by_tid.insert(tid, same.slot);
        Some(same)
    }

    /// The calling platform thread ends: it is not among those that live any more. Its slot is the
    /// recorder's to give to another.
    pub(crate) fn remove_current(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Arc<LiveThread>> {
        SLOT.set(None);
        let thread = self.current(jni, thread)?;
        thread.saw_cpu_ns(os::thread_cpu_ns());
        let mut table = lock(&self.table);
        table.by_slot.remove(&thread.slot);
        table.by_tid.remove(&Tid::current());
        table.ended_cpu_ns += thread.burned_ns();
        table.graveyard.push(Arc::clone(&thread));
        Some(thread)
    }

    /// Deletes the references of ended threads that nobody uses any more.
    pub(crate) fn delete_ended(&self, jni: Jni<'_>) {
        let ended = std::mem::take(&mut lock(&self.table).graveyard);
        let mut used = Vec::new();
        for thread in ended {
            match Arc::try_unwrap(thread) {
                Ok(thread) => jni.delete(thread.reference),
                Err(thread) => used.push(thread),
            }
        }
        if !used.is_empty() {
            lock(&self.table).graveyard.append(&mut used);
        }
    }

    /// All platform threads but perk's own, in the order of their slots.
    pub(crate) fn all(&self) -> Vec<Arc<LiveThread>> {
        let mut all: Vec<_> = lock(&self.table).by_slot.values().cloned().collect();
        all.sort_unstable_by_key(|thread| thread.slot.index());
        all
    }

    /// The slot of the platform thread with this kernel id.
    pub(crate) fn slot_of_tid(&self, tid: Tid) -> Option<Slot> {
        lock(&self.table).by_tid.get(&tid).copied()
    }

    /// CPU time of all threads since they were first met. Calls no JVM function: of threads without a
    /// kernel's id it is that of the last reading.
    pub(crate) fn java_cpu_ns(&self) -> u64 {
        let table = lock(&self.table);
        let burned = table.by_slot.values().map(|thread| {
            if let Some(cpu_ns) = thread.tid().and_then(Tid::cpu_ns) {
                thread.saw_cpu_ns(cpu_ns);
            }
            thread.burned_ns()
        });
        burned.sum::<u64>() + table.ended_cpu_ns
    }

    /// The slot of the calling thread, be it a virtual one; `None` for a thread of perk's own.
    pub(crate) fn slot(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        match jni.is_virtual(thread) {
            true => self.slot_of_virtual(jni, thread),
            false => self.slot_of_platform(jni, thread),
        }
    }

    /// The same, but `None` for a virtual thread that has no slot.
    pub(crate) fn known_slot(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        match jni.is_virtual(thread) {
            true => self.known_slot_of_virtual(thread),
            false => self.slot_of_platform(jni, thread),
        }
    }

    fn slot_of_platform(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        SLOT.get().or_else(|| {
            let slot = self.current(jni, thread).map(|thread| thread.slot);
            SLOT.set(slot);
            slot
        })
    }

    /// The slot of a virtual thread, which gets one if it has none.
    pub(crate) fn slot_of_virtual(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        if let Some(slot) = self.known_slot_of_virtual(thread) {
            return Some(slot);
        }
        let info = self.jvmti.thread_info(jni, thread).ok()?;
        let slot = lock(self.recorder).thread_started(info, false);
        self.has_virtual.store(true, Relaxed);
        self.jvmti.set_tag(thread, VIRTUAL_THREAD_TAG + slot.index() as i64);
        Some(slot)
    }

    /// The slot of a virtual thread, if it has one.
    pub(crate) fn known_slot_of_virtual(&self, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        if !self.has_virtual.load(Relaxed) {
            return None;
        }
        let slot = usize::try_from(self.jvmti.tag(thread) - VIRTUAL_THREAD_TAG);
        slot.ok().map(Slot::from_index)
    }
}

impl Table {
    fn find(&self, tid: Tid) -> Option<Arc<LiveThread>> {
        self.by_slot.get(self.by_tid.get(&tid)?).cloned()
    }

    fn without_tid(&self) -> Vec<Arc<LiveThread>> {
        self.by_slot.values().filter(|thread| thread.tid().is_none()).cloned().collect()
    }
}

/// The number of the class whose object had this tag; `None` if it was a thread's.
pub(crate) fn class_of_tag(tag: i64) -> Option<usize> {
    (1..VIRTUAL_THREAD_TAG).contains(&tag).then(|| (tag - 1) as usize)
}
