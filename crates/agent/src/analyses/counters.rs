//! Counters in native memory, of which each thread has its own. Probes increment them: see
//! `java/helper/java/lang/PerkCounts.java`.

mod helper;
mod threads;

use std::sync::OnceLock;

use perk_instrument::Names;
use perk_jvm::os;
use perk_jvm::probes::{self, HelperClass};
use perk_jvm::{Global, Jni, ObjectRef, Reference, Vm};
use perk_jvmti_sys::jni_sys::jvalue;

use self::threads::{SharedSets, States, Tables};
use crate::common::Common;
use crate::random;
pub(crate) use threads::MOST_COUNTERS;

/// The counters of all threads, and the helper class; see the module.
#[derive(Debug)]
pub(crate) struct Counters {
    names: Names,
    helper: OnceLock<&'static Global>,
    tables: Tables,
    states: OnceLock<States>,
    shared: OnceLock<SharedSets>,
    vm: OnceLock<Vm>,
}

impl Counters {
    /// Makes them.
    ///
    /// # Errors
    /// The reason why there is no memory for them, in one line.
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self {
            names: random::names(),
            helper: OnceLock::new(),
            tables: Tables::new()?,
            states: OnceLock::new(),
            shared: OnceLock::new(),
            vm: OnceLock::new(),
        })
    }

    /// Returns the names of perk's additions to the JVM.
    pub(crate) fn names(&self) -> Names {
        self.names
    }

    /// Gives all threads this number of counters. Returns whether there is memory for them.
    pub(crate) fn grow(&self, len: usize) -> bool {
        self.tables.grow(len)
    }

    /// Returns the helper class.
    pub(crate) fn helper_class(&self) -> HelperClass {
        helper::helper(self.tables.unread())
    }

    /// Returns the helper class once it is defined.
    pub(crate) fn helper(&self) -> Option<&'static Global> {
        self.helper.get().copied()
    }

    /// Sets the helper class as it is defined.
    pub(crate) fn set_helper(&self, helper: &'static Global) {
        let _ = self.helper.set(helper);
    }

    /// Defines the helper class.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(crate) fn define(&self, common: &Common, jni: Jni<'_>) -> Result<(), String> {
        let helpers = vec![self.helper_class()];
        for helper in probes::define_helpers(common.jvmti, jni, self.names, helpers)? {
            self.set_helper(helper);
        }
        Ok(())
    }

    /// Starts the probes' counting; the program is about to begin.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(crate) fn start(&'static self, common: &Common, jni: Jni<'_>) -> Result<(), String> {
        let helper = self.helper().ok_or("no helper class")?;
        if !probes::is_bound() {
            return Err("its native methods could not be bound".to_owned());
        }
        let _ = self.vm.set(jni.vm().ok_or("no JVM")?);
        let _ = self.states.set(States::new(jni, self.names, &self.tables)?);
        for thread in common.jvmti.all_threads(jni).unwrap_or_default() {
            self.begin_thread(common, jni, &thread);
        }
        // SAFETY: the method does not have arguments.
        let started = unsafe { jni.call_static_long(helper, c"start", c"()J", &[]) };
        started.map(|_| ()).ok_or_else(|| "the helper class does not start".to_owned())
    }

    /// Defines the helper class in a program that runs already, and starts counting.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(crate) fn start_late(&self, jni: Jni<'_>) -> Result<&'static Global, String> {
        let helper = probes::define_late(jni, self.names, self.helper_class())?;
        self.set_helper(helper);
        let shared = SharedSets::new(&self.tables)?;
        let argument = jvalue { j: shared.address() };
        let _ = self.shared.set(shared);
        // SAFETY: the argument is that of the method.
        let started = unsafe { jni.call_static_long(helper, c"startShared", c"(J)J", &[argument]) };
        started.map(|_| helper).ok_or_else(|| "the helper class does not start".to_owned())
    }

    /// Has probes that are left count in counters that nobody reads. Returns whether that is possible.
    pub(crate) fn end_late(&self, len: usize) -> bool {
        self.shared.get().is_none_or(|shared| shared.redirect(len))
    }

    /// Gives the memory back to the system.
    ///
    /// # Safety
    /// Counting has ended, by [`end_late`](Self::end_late), and no thread is inside of the helper class.
    pub(crate) unsafe fn free(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.tables.free() };
    }

    /// Gives a thread that has begun its counters.
    pub(crate) fn thread_began(&self, common: &Common, thread: &dyn Reference) {
        if let Some(jni) = self.jni() {
            self.begin_thread(common, jni, thread);
        }
    }

    /// Gives a thread its counters, unless it is one of perk's own.
    fn begin_thread(&self, common: &Common, jni: Jni<'_>, thread: &dyn Reference) {
        if let Some(states) = self.states.get()
            && !common.threads.is_own(jni, thread)
        {
            states.begin(jni, thread);
        }
    }

    /// Ends a thread, whose counters become another one's.
    pub(crate) fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        if let Some(states) = self.states.get() {
            states.end(jni, &thread);
        }
    }

    /// Returns the calling thread's access to the JVM, once counting has started.
    pub(crate) fn jni(&self) -> Option<Jni<'_>> {
        self.vm.get().and_then(Vm::jni)
    }

    /// Returns the sum over all threads of each of the first counters.
    pub(crate) fn sums(&self, count: usize) -> Vec<u64> {
        self.tables.sums(count)
    }

    /// Warns of threads without counters, given with what is not counted of them.
    pub(crate) fn warn_of_uncounted(&self, what: &str) {
        let count = self.states.get().map_or(0, States::uncounted);
        if count > 0 {
            os::say(&format!(
                "HPROF WARNING: {what} of {count} threads are not in the file: there is no address space for their \
                 counters\n"
            ));
        }
    }
}
