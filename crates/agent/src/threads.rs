//! The registry of threads: the living threads, the slots by which the recorder knows them, and
//! perk's own threads. It belongs to no analysis.
//!
//! Platform threads are known by a reference and, once they have called, by the kernel's id.
//! Virtual threads hold their slot in the tag of their object, from the first request for it on.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Jvmti, Local, Reference};
use perk_jvmti_sys::jni_sys::jobject;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::recorder::Recorder;
use crate::roster::Slot;

thread_local! {
    static CALLER: Cell<Caller> = const { Cell::new(Caller::UNKNOWN) };
    /// Whether this thread is one of perk's own that the JVM did not start.
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// The class of the threads that carry virtual ones.
const CARRIER: &str = "Ljdk/internal/misc/CarrierThread;";

/// What is known of the calling platform thread.
#[derive(Clone, Copy, Debug)]
struct Caller {
    /// Its slot in the registry of that number.
    known: Option<(u32, Slot)>,
    /// Whether it carries virtual threads, now and then.
    is_carrier: bool,
}

impl Caller {
    const UNKNOWN: Self = Self { known: None, is_carrier: false };
}

/// The number of registries so far: each session has one.
static REGISTRIES: AtomicU32 = AtomicU32::new(0);

/// The tag of virtual threads that have ended and given back their slot; it is above the range of class
/// tags. The tag of one that has a slot is the slot plus [`FIRST_SLOT_TAG`].
const ENDED_TAG: i64 = 1 << 40;
const FIRST_SLOT_TAG: i64 = ENDED_TAG + 1;

/// The registry; see the module.
#[derive(Debug)]
pub(crate) struct Threads {
    jvmti: Jvmti,
    recorder: &'static Mutex<Recorder>,
    number: u32,
    table: Mutex<Table>,
    /// perk's own threads, which are never reported.
    own: Mutex<Vec<Arc<Global>>>,
    /// Whether a virtual thread has a slot.
    has_virtual: AtomicBool,
    /// Who gives a virtual thread its slot, or takes it back, holds this: the thread itself and a sampler
    /// may do so at once.
    tagging: Mutex<()>,
}

/// A platform thread that lives, or has ended a moment ago.
#[derive(Debug)]
pub(crate) struct LiveThread {
    pub(crate) slot: Slot,
    reference: Global,
    /// The kernel's id. Threads that are older than the agent have none until they call; until then
    /// only the JVM has data about them.
    tid: OnceLock<Tid>,
    /// The CPU time when the thread was first met.
    first_cpu_ns: AtomicU64,
    /// The CPU time as last read by any caller.
    cpu_ns: AtomicU64,
}

/// The live threads.
#[derive(Debug, Default)]
struct Table {
    by_slot: FxHashMap<Slot, Arc<LiveThread>>,
    by_tid: FxHashMap<Tid, Slot>,
    /// Ended threads, whose references are deleted when they are no longer used.
    graveyard: Vec<Arc<LiveThread>>,
    /// The CPU time that ended threads have burned since they were first met.
    ended_cpu_ns: u64,
}

impl LiveThread {
    /// Returns the kernel's id, if it is known.
    pub(crate) fn tid(&self) -> Option<Tid> {
        self.tid.get().copied()
    }

    /// Returns the CPU time when the thread was first met.
    pub(crate) fn first_cpu_ns(&self) -> u64 {
        self.first_cpu_ns.load(Relaxed)
    }

    /// Leaves out the CPU time so far, which is that of the agent's start.
    pub(crate) fn begin_at(&self, cpu_ns: u64) {
        self.first_cpu_ns.fetch_max(cpu_ns, Relaxed);
        self.saw_cpu_ns(cpu_ns);
    }

    /// Notes the reading of the thread's clock.
    pub(crate) fn saw_cpu_ns(&self, cpu_ns: u64) {
        self.cpu_ns.fetch_max(cpu_ns, Relaxed);
    }

    /// Returns the CPU time since the thread was first met, up to the last reading.
    pub(crate) fn burned_ns(&self) -> u64 {
        self.cpu_ns.load(Relaxed).saturating_sub(self.first_cpu_ns())
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
            number: REGISTRIES.fetch_add(1, Relaxed),
            table: Mutex::default(),
            own: Mutex::default(),
            has_virtual: AtomicBool::new(false),
            tagging: Mutex::default(),
        }
    }

    /// Makes a thread object for perk itself, which the program does not see in its thread groups.
    ///
    /// # Errors
    /// The JVM's refusal, for one line on stderr.
    pub(crate) fn new_own(
        &self,
        jni: Jni<'_>,
        name: &std::ffi::CStr,
    ) -> Result<Arc<Global>, String> {
        let group = self.jvmti.top_thread_group(jni).ok_or("no top thread group")?;
        let thread = jni.new_thread(&group, name).ok_or("no Thread object")?;
        let thread = jni.global(&thread).ok_or("no global reference")?;
        let thread = Arc::new(thread);
        lock(&self.own).push(Arc::clone(&thread));
        Ok(thread)
    }

    /// Whether the calling thread is one of perk's own.
    pub(crate) fn is_own(&self, jni: Jni<'_>, thread: &dyn Reference) -> bool {
        if is_own_thread() {
            return true;
        }
        let own = lock(&self.own).clone();
        own.iter().any(|own| jni.same(&**own, thread))
    }

    /// Adds a platform thread. `is_current` is set if the call comes from that thread itself. The
    /// other threads existed before VMInit; the file has no line for them until a trace refers to
    /// them.
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
        let cpu_ns = cpu_ns.unwrap_or(0);
        let (first_cpu_ns, cpu_ns) = (AtomicU64::new(cpu_ns), AtomicU64::new(cpu_ns));
        let thread = Arc::new(LiveThread { slot, reference, tid, first_cpu_ns, cpu_ns });
        let mut table = lock(&self.table);
        if let Some(tid) = thread.tid() {
            table.by_tid.insert(tid, slot);
        }
        table.by_slot.insert(slot, Arc::clone(&thread));
        Some(thread)
    }

    /// Returns the calling platform thread if it is known: by the kernel's id, or by its object if
    /// another thread added it.
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
        // The JVM is asked while no lock is held.
        drop(table);
        let same = without_tid.into_iter().find(|it| jni.same(&**it, thread))?;
        let _ = same.tid.set(tid);
        lock(&self.table).by_tid.insert(tid, same.slot);
        Some(same)
    }

    /// Removes the calling platform thread, which ends, from the living threads. The recorder
    /// decides when its slot is reused.
    pub(crate) fn remove_current(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Arc<LiveThread>> {
        CALLER.set(Caller::UNKNOWN);
        let thread = self.current(jni, thread)?;
        thread.saw_cpu_ns(os::thread_cpu_ns());
        let mut table = lock(&self.table);
        table.by_slot.remove(&thread.slot);
        table.by_tid.remove(&Tid::current());
        table.ended_cpu_ns += thread.burned_ns();
        table.graveyard.push(Arc::clone(&thread));
        Some(thread)
    }

    /// Gives up all references: the session has ended.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        let table = std::mem::take(&mut *lock(&self.table));
        let ended = table.by_slot.into_values().chain(table.graveyard);
        ended.filter_map(Arc::into_inner).for_each(|thread| jni.delete(thread.reference));
        let own = std::mem::take(&mut *lock(&self.own));
        own.into_iter().filter_map(Arc::into_inner).for_each(|thread| jni.delete(thread));
    }

    /// Deletes the references of ended threads that are no longer used.
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

    /// Notes the kernel's id of a thread that is older than the agent.
    pub(crate) fn know_tid(&self, thread: &LiveThread, tid: Tid) {
        if thread.tid.set(tid).is_ok() {
            lock(&self.table).by_tid.insert(tid, thread.slot);
        }
    }

    /// Returns all platform threads but perk's own, in the order of their slots.
    pub(crate) fn all(&self) -> Vec<Arc<LiveThread>> {
        let mut all: Vec<_> = lock(&self.table).by_slot.values().cloned().collect();
        all.sort_unstable_by_key(|thread| thread.slot.index());
        all
    }

    /// Returns the platform thread of a slot, if it lives.
    pub(crate) fn find(&self, slot: Slot) -> Option<Arc<LiveThread>> {
        lock(&self.table).by_slot.get(&slot).cloned()
    }

    /// Returns the slot of the platform thread with this kernel id.
    pub(crate) fn slot_of_tid(&self, tid: Tid) -> Option<Slot> {
        lock(&self.table).by_tid.get(&tid).copied()
    }

    /// Returns the kernel's ids of the platform threads, as far as they are known.
    pub(crate) fn tids(&self) -> FxHashSet<Tid> {
        lock(&self.table).by_tid.keys().copied().collect()
    }

    /// Returns the CPU time of all threads since they were first met. Calls no JVM function: for
    /// threads without a kernel id, the last reading counts.
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

    /// Returns the CPU time that is known of threads whose kernel's id is not: those that are older than the
    /// agent, and have not called it. `None` if there are none.
    pub(crate) fn cpu_ns_without_tid(&self) -> Option<u64> {
        let without_tid = lock(&self.table).without_tid();
        let burned = without_tid.iter().map(|thread| thread.burned_ns());
        (!without_tid.is_empty()).then(|| burned.sum())
    }

    /// Returns the slot of the calling thread, which may be virtual; `None` for perk's own threads.
    pub(crate) fn slot(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        self.slot_of_caller().or_else(|| match jni.is_virtual(thread) {
            true => self.slot_of_virtual(jni, thread),
            false => self.slot_of_platform(jni, thread),
        })
    }

    /// Returns the same, but `None` for a virtual thread without a slot.
    pub(crate) fn known_slot(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        self.slot_of_caller().or_else(|| match jni.is_virtual(thread) {
            true => self.known_slot_of_virtual(thread),
            false => self.slot_of_platform(jni, thread),
        })
    }

    /// Returns the slot of the calling thread if it is known to be no virtual one, without a question to the JVM.
    pub(crate) fn slot_of_caller(&self) -> Option<Slot> {
        let caller = CALLER.get();
        let (number, slot) = caller.known.filter(|_| !caller.is_carrier)?;
        (number == self.number).then_some(slot)
    }

    /// Whether the calling thread is a virtual one.
    pub(crate) fn is_virtual(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> bool {
        self.slot_of_caller().is_none() && jni.is_virtual(thread)
    }

    /// Notes that the calling platform thread carries virtual ones.
    pub(crate) fn carries(&self) {
        CALLER.set(Caller { is_carrier: true, ..CALLER.get() });
    }

    /// Returns the slot of a thread other than the calling one; `None` for perk's own threads.
    pub(crate) fn slot_of_other(&self, jni: Jni<'_>, thread: &Local<'_>) -> Option<Slot> {
        match jni.is_virtual(thread) {
            true => self.slot_of_virtual(jni, thread),
            false => self.all().iter().find(|it| jni.same(&***it, thread)).map(|it| it.slot),
        }
    }

    fn slot_of_platform(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        let caller = CALLER.get();
        match caller.known {
            Some((number, slot)) if number == self.number => Some(slot),
            _ => {
                let slot = self.current(jni, thread).map(|thread| thread.slot);
                let is_carrier = caller.is_carrier || self.is_carrier(jni, thread);
                CALLER.set(Caller { known: slot.map(|slot| (self.number, slot)), is_carrier });
                slot
            }
        }
    }

    fn is_carrier(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> bool {
        let class = jni.class_of(thread);
        class.is_some_and(|class| self.jvmti.class_signature(&class).is_ok_and(|it| it == CARRIER))
    }

    /// Returns the slot of a virtual thread, which gets one if it has none; `None` if it has given it back.
    pub(crate) fn slot_of_virtual(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        if let Some(slot) = self.known_slot_of_virtual(thread) {
            return Some(slot);
        }
        // This may wait until the thread is mounted, which no lock must do.
        let info = self.jvmti.thread_info(jni, thread).ok()?;
        let _tagging = lock(&self.tagging);
        match self.jvmti.tag(thread) {
            ENDED_TAG => None,
            tag => slot_of_tag(tag).or_else(|| {
                let slot = lock(self.recorder).thread_started(info, false);
                self.has_virtual.store(true, Relaxed);
                self.jvmti.set_tag(thread, FIRST_SLOT_TAG + slot.index() as i64);
                Some(slot)
            }),
        }
    }

    /// Returns the slot of a virtual thread, if it has one.
    pub(crate) fn known_slot_of_virtual(&self, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        if !self.has_virtual.load(Relaxed) {
            return None;
        }
        slot_of_tag(self.jvmti.tag(thread))
    }

    /// Takes the slot of a virtual thread that has ended, if it has one: another thread may get it. A
    /// sampler that has found the thread before finds no slot of it any more.
    pub(crate) fn take_slot_of_virtual(&self, thread: &(impl Reference + ?Sized)) -> Option<Slot> {
        let slot = self.known_slot_of_virtual(thread)?;
        let _tagging = lock(&self.tagging);
        self.jvmti.set_tag(thread, ENDED_TAG);
        Some(slot)
    }
}

fn slot_of_tag(tag: i64) -> Option<Slot> {
    usize::try_from(tag - FIRST_SLOT_TAG).ok().map(Slot::from_index)
}

impl Table {
    fn find(&self, tid: Tid) -> Option<Arc<LiveThread>> {
        self.by_slot.get(self.by_tid.get(&tid)?).cloned()
    }

    fn without_tid(&self) -> Vec<Arc<LiveThread>> {
        self.by_slot.values().filter(|thread| thread.tid().is_none()).cloned().collect()
    }
}

/// Whether the calling thread is one of perk's own that the JVM did not start.
pub(crate) fn is_own_thread() -> bool {
    IS_OWN.get()
}

/// Makes the calling thread one of perk's own.
pub(crate) fn become_own() {
    IS_OWN.set(true);
}

/// Returns the number of the class whose object had this tag; `None` if the tag was a thread's.
pub(crate) fn class_of_tag(tag: i64) -> Option<usize> {
    (1..ENDED_TAG).contains(&tag).then(|| (tag - 1) as usize)
}
