//! The analyses of the program: each kind of measurement is one [`Analysis`].
//!
//! An analysis gives the events of the JVM that it needs ([`Needs`]). It is called for these events
//! and as threads start and end, and fills its books ([`Book`]) before each dump. No
//! analysis depends on the session, which calls them all in one order.

pub(crate) mod allocations;
pub(crate) mod books;
pub(crate) mod bytecodes;
pub(crate) mod census;
pub(crate) mod counters;
pub(crate) mod counts;
pub(crate) mod exact;
pub(crate) mod fields;
pub(crate) mod heap_dump;
pub(crate) mod late;
pub(crate) mod monitors;
mod polling;
pub(crate) mod samples;
mod signal;
pub(crate) mod skipped;
pub(crate) mod wall;
pub(crate) mod xprof;

use std::ffi::{CStr, c_void};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use perk_jvm::guard::Feature;
use perk_jvm::{Jni, MethodRef, NewObject, ObjectRef};
use perk_jvmti_sys::Capability;
use perk_profile::Accounting;

use crate::recorder::{Book, Flush};
use crate::roster::Slot;
use crate::threads::LiveThread;

/// The groups of the JDK's own threads: Reference Handler, Common-Cleaner, process reaper and such.
pub(crate) const OWN_GROUPS: [&str; 2] = ["system", "InnocuousThreadGroup"];

/// An event of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    VmStart,
    VmInit,
    VmDeath,
    ThreadStart,
    ThreadEnd,
    VirtualThreadEnd,
    /// The file of a class that is about to be loaded.
    ClassFile,
    ClassLoad,
    ObjectFree,
    /// An object that the JVM itself has made.
    ObjectMade,
    /// An object that the JVM's sampler has picked.
    ObjectSampled,
    MonitorEnter,
    MonitorEntered,
    MonitorWait,
    MonitorWaited,
    NativeBind,
    CollectionStart,
    CollectionFinish,
    /// An exception that is thrown, or leaves a native method.
    Exception,
    /// A method that the JVM has compiled.
    Compiled,
    /// A method of which the JVM drops compiled code.
    CodeDropped,
    /// Code that the JVM has generated for itself.
    StubMade,
    DataDump,
}

impl Event {
    /// The number of events.
    pub(crate) const COUNT: usize = Self::DataDump as usize + 1;
}

/// The capabilities and events that an analysis needs of the JVM.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    pub(crate) events: Vec<Event>,
    /// Events that the analysis enables by itself.
    pub(crate) later_events: Vec<Event>,
    /// Capabilities that no event implies.
    pub(crate) capabilities: Vec<Capability>,
}

/// An exception that is thrown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExceptionEvent {
    /// The method that catches it and the bytecode index of the handler, as far as the JVM knows.
    pub(crate) caught: Option<(MethodRef, u16)>,
}

/// A request of a peer while the program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Samples a thread, or all present and future threads, from now on or no more.
    Sample { thread: Option<Slot>, is_sampled: bool },
    /// Keeps this number of frames of each stack from now on.
    Depth(u32),
    /// Dumps the heap.
    DumpHeap,
}

/// One kind of measurement. No lock is held when a method is called. The methods from
/// [`prepare`](Self::prepare) to [`finish`](Self::finish) are called in the order of their
/// declaration. An analysis leaves out the methods that it does not need.
#[expect(unused_variables, reason = "most analyses leave most methods out")]
pub(crate) trait Analysis: Send + Sync {
    /// Returns the name in the accounting, if the analysis is listed there.
    fn name(&self) -> Option<&'static str>;

    /// Returns the feature that is switched off if the analysis panics where several analyses are
    /// called.
    fn feature(&self) -> Feature;

    /// Returns the task that perk cannot do without it, which ends the sentence "perk cannot ...".
    fn task(&self) -> &'static str;

    /// Returns the events and capabilities that it needs.
    fn needs(&self) -> Needs;

    /// Returns the books that it owns.
    fn books(&'static self) -> Vec<&'static dyn Book> {
        Vec::new()
    }

    /// Called when the JVM has granted the needs. Very little of the JVM can be used yet.
    ///
    /// # Errors
    /// The reason why the program must not run, for one line on stderr.
    fn loaded(&'static self) -> Result<(), String> {
        Ok(())
    }

    /// Called when the JVM can run Java code but has not run any yet.
    ///
    /// # Errors
    /// The reason why the program cannot run, for one line on stderr.
    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Prepares right before the program begins: looks up what it needs of the JVM. That may run
    /// Java code, which no analysis counts.
    fn prepare(&'static self, jni: Jni<'_>) {}

    /// Begins to measure. All living threads have been announced.
    ///
    /// # Errors
    /// The reason why it cannot begin, for one line on stderr.
    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Called when a platform thread has begun.
    fn thread_began(&self, thread: &Arc<LiveThread>) {}

    /// Called on a platform thread that ends; `known` is its entry in the registry.
    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, known: Option<&LiveThread>) {}

    /// Called on a virtual thread that ends.
    fn virtual_thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {}

    /// Called when a thread has ended and its slot is about to be reused.
    fn slot_freed(&self, jni: Jni<'_>, slot: Slot) {}

    /// Handles [`Event::ClassFile`]. Returns the file to load instead, if any. `redefined` is the
    /// class if it already exists.
    fn class_file(&self, bytes: &[u8], redefined: Option<ObjectRef<'_>>) -> Option<Vec<u8>> {
        None
    }

    /// Handles [`Event::NativeBind`]. Returns the function to bind in place of a native method's
    /// function.
    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        None
    }

    /// Handles [`Event::ObjectMade`]: the calling thread has received an object.
    fn object_made(&self, jni: Jni<'_>, made: &NewObject<'_>) {}

    /// Handles [`Event::ObjectSampled`]: the calling thread allocates an object.
    fn object_sampled(&self, jni: Jni<'_>, picked: &NewObject<'_>) {}

    /// Handles [`Event::MonitorEnter`]: the calling thread cannot enter a monitor at once.
    fn monitor_enter(&self, jni: Jni<'_>, thread: ObjectRef<'_>, monitor: ObjectRef<'_>) {}

    /// Handles [`Event::MonitorEntered`]: the calling thread has entered the monitor.
    fn monitor_entered(&self, jni: Jni<'_>, thread: ObjectRef<'_>, monitor: ObjectRef<'_>) {}

    /// Handles [`Event::MonitorWait`]: the calling thread waits to be notified, for at most this
    /// number of milliseconds, for ever if it is 0.
    fn monitor_wait(
        &self,
        jni: Jni<'_>,
        thread: ObjectRef<'_>,
        monitor: ObjectRef<'_>,
        timeout_ms: u64,
    ) {
    }

    /// Handles [`Event::MonitorWaited`]: the calling thread continues as soon as it has the monitor
    /// again.
    fn monitor_waited(&self, jni: Jni<'_>, thread: ObjectRef<'_>, monitor: ObjectRef<'_>) {}

    /// Handles [`Event::CollectionStart`]. The JVM stands still, so hardly anything is allowed.
    fn collection_started(&self) {}

    /// Handles [`Event::CollectionFinish`] on the thread that handled the start, as above.
    fn collection_finished(&self) {}

    /// Handles [`Event::Exception`] on the thread that throws it.
    fn exception(&self, jni: Jni<'_>, thread: ObjectRef<'_>, thrown: ExceptionEvent) {}

    /// Handles [`Event::Compiled`].
    fn compiled(&self, method: MethodRef) {}

    /// Handles [`Event::CodeDropped`].
    fn code_dropped(&self, method: MethodRef) {}

    /// Handles [`Event::StubMade`].
    fn stub_made(&self, name: &CStr, addresses: Range<usize>) {}

    /// Does what a peer asks for.
    ///
    /// # Errors
    /// The reason why it is not done, for one line on stderr.
    fn obey(&'static self, jni: Jni<'_>, order: Order) -> Result<(), String> {
        Ok(())
    }

    /// Measures nothing from now on, or measures again. What happens while it is paused is not booked.
    /// (Analyses of measurements that cannot pause do not have it.)
    fn set_paused(&'static self, jni: Jni<'_>, is_paused: bool) {}

    /// Forgets what was measured so far, as far as its books do not have it. Objects that live count
    /// as allocated from now on if `with_live` is set.
    fn reset(&self, with_live: bool) {}

    /// Ends the work that has a cost and can end while the JVM lives: the numbers are no longer
    /// read, or the measurement is over.
    fn stop(&self) {}

    /// Called when the JVM dies: this is the last time that Java code can run.
    fn vm_dies(&self, jni: Jni<'_>) {}

    /// Determines which objects live, for the dump that follows.
    fn survey(&self) {}

    /// Books the data that its books do not have yet. Calls no JVM function. No dump follows
    /// the `last` one.
    fn settle(&self, last: bool) {}

    /// Books, for a flush alone, the counts so far that its books do not have; they stay what they
    /// are. Called on a thread of which the JVM does not know; calls no JVM function.
    fn show(&self) {}

    /// Adds to a flush what goes to the file without the books, as long as the flush
    /// `is_wanted`. Called as [`show`](Self::show).
    ///
    /// # Errors
    /// The error of the system, after which nothing is shown.
    fn show_more(&self, flush: &mut Flush, is_wanted: &dyn Fn() -> bool) -> io::Result<()> {
        Ok(())
    }

    /// Writes the analysis's own sections; `jni` is missing if the process ends without the JVM's
    /// knowledge. No dump follows the `last` one.
    fn dump(&self, jni: Option<Jni<'_>>, last: bool) {}

    /// Adds the analysis's part of the accounting.
    fn account(&self, accounting: &mut Accounting) {}

    /// Takes back the changes of the program's classes: a session in a running program ends.
    fn withdraw(&self, jni: Jni<'_>) {}

    /// Ends the file that the analysis writes itself. Calls no JVM function.
    fn finish(&self) {}

    /// Gives up what is large, and references: a session in a running program has ended.
    fn release(&'static self, jni: Jni<'_>) {}
}
