//! The owner of a monitor, from the JVM's memory or, where that does not say, from JVMTI.
//!
//! `GetObjectMonitorUsage` stops all threads. From JDK 23 on it also looks at the object of each thread in
//! HotSpot's list, in which a thread that attaches to the JVM has none yet: the JVM ends with SIGSEGV. So it
//! is not called there.

use std::sync::OnceLock;

use perk_hotspot::since;
use perk_hotspot::vm::{MonitorOwner, Monitors};
use perk_jvmti_sys::{call, jvmtiMonitorUsage};

use crate::{
    Jni, Jvmti, Local, LongField, ProcessMemory, Reference, VirtualThreadFunction, vm_memory,
};

/// The thread that has a monitor, and how often it has entered it if that is known.
type MonitorHolder<'a> = (Local<'a>, Option<u32>);

impl Jvmti {
    /// Returns the thread that has a monitor. `threads` are the platform threads that may have it, or
    /// carry a virtual thread that has it; `without_carrier` gives the virtual thread of an id.
    pub fn monitor_owner<'a>(
        self,
        jni: Jni<'a>,
        monitor: &dyn Reference,
        threads: &[&dyn Reference],
        without_carrier: &dyn Fn(u64) -> Option<Local<'a>>,
    ) -> Option<Local<'a>> {
        match self.read_owner(jni, monitor, threads, without_carrier) {
            Some(found) => found.map(|(thread, _)| thread),
            None => self.monitor_usage(jni, monitor).map(|(thread, _)| thread),
        }
    }

    /// Returns the thread that has a monitor, likewise, and how often it has entered it; at least once.
    pub fn monitor_entries<'a>(
        self,
        jni: Jni<'a>,
        monitor: &dyn Reference,
        threads: &[&dyn Reference],
        without_carrier: &dyn Fn(u64) -> Option<Local<'a>>,
    ) -> Option<(Local<'a>, u32)> {
        match self.read_owner(jni, monitor, threads, without_carrier) {
            Some(None) => None,
            Some(Some((thread, Some(count)))) => Some((thread, count)),
            rest => self
                .monitor_usage(jni, monitor)
                .or_else(|| rest.flatten().map(|(thread, _)| (thread, 1))),
        }
    }

    /// Reads which thread has a monitor; `Some(None)` if none has, `None` if it is not known.
    fn read_owner<'a>(
        self,
        jni: Jni<'a>,
        monitor: &dyn Reference,
        threads: &[&dyn Reference],
        without_carrier: &dyn Fn(u64) -> Option<Local<'a>>,
    ) -> Option<Option<MonitorHolder<'a>>> {
        static MONITORS: OnceLock<Option<(Monitors, LongField)>> = OnceLock::new();
        let known = MONITORS.get_or_init(|| {
            let thread = jni.find_class(c"java/lang/Thread")?;
            let address = jni.long_field(&thread, c"eetop")?;
            Some((vm_memory::monitors().ok()?, address))
        });
        let (monitors, address) = known.as_ref()?;
        // SAFETY: the field is java.lang.Thread's, and these are threads.
        let address = |thread: &&dyn Reference| unsafe { jni.get_long(*thread, *address) } as usize;
        let addresses: Vec<_> = threads.iter().map(address).collect();
        // A new reference is never outdated, and has the form that collectors give to those in memory.
        let reference = jni.global(monitor)?;
        let owner = monitors.owner(&ProcessMemory, reference.raw() as usize, &addresses);
        jni.delete(reference);
        match owner? {
            None => Some(None),
            Some(owner) => {
                let thread = self.thread_of(jni, owner, threads, without_carrier)?;
                Some(Some((thread, owner.entry_count)))
            }
        }
    }

    /// Returns the thread that an owner is.
    fn thread_of<'a>(
        self,
        jni: Jni<'a>,
        owner: MonitorOwner,
        threads: &[&dyn Reference],
        without_carrier: &dyn Fn(u64) -> Option<Local<'a>>,
    ) -> Option<Local<'a>> {
        static VIRTUAL: OnceLock<Option<VirtualThreadFunction>> = OnceLock::new();
        let Some(index) = owner.thread else { return without_carrier(owner.id?) };
        let thread = *threads.get(index)?;
        let function = *VIRTUAL.get_or_init(|| self.virtual_thread_function());
        let mounted = function.and_then(|function| self.virtual_thread(jni, function, thread));
        let found = mounted.or_else(|| jni.local(thread))?;
        // The carrier may have begun to run another one.
        owner.id.is_none_or(|id| self.java_id(jni, &found) == id).then_some(found)
    }

    /// Asks the JVM for the thread that has a monitor, and how often it has entered it, where that is safe.
    ///
    /// The JVM also lists the waiting threads. If some of these are virtual, JDK 21 returns invalid
    /// references in that list, so the list is not used. Its references are freed with the local
    /// frame.
    fn monitor_usage<'a>(self, jni: Jni<'a>, monitor: &dyn Reference) -> Option<(Local<'a>, u32)> {
        if self.feature_version() >= since::THREADS_IN_MONITOR_USAGE {
            return None;
        }
        // SAFETY: all fields are numbers and pointers; zeroes are valid.
        let mut usage: jvmtiMonitorUsage = unsafe { std::mem::zeroed() };
        // SAFETY: the environment and reference are valid; the arrays and the owner are ours.
        unsafe {
            call!(self.raw(), GetObjectMonitorUsage, monitor.raw(), &mut usage).ok().ok()?;
            let count = usage.waiter_count.saturating_add(usage.notify_waiter_count);
            jni.expect_locals(usize::try_from(count).unwrap_or(0) + 1);
            self.free(usage.waiters);
            self.free(usage.notify_waiters);
            Some((Local::from_raw(jni, usage.owner)?, usage.entry_count.unsigned_abs().max(1)))
        }
    }
}
