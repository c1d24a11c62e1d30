//! What is found out about the program: one [`Analysis`] each.
//!
//! An analysis says which events of the JVM it needs ([`Needs`]); it is called for these, and as
//! threads come and go, and books what it has found on the recorder before each dump. None knows of
//! the session, which calls them all in one order.

pub(crate) mod allocations;
pub(crate) mod exact;
pub(crate) mod heap_dump;
pub(crate) mod monitors;
pub(crate) mod polling;

use std::ffi::c_void;
use std::sync::Arc;

use perk_jvmti_sys::Capability;
use perk_profile::Accounting;

use crate::guard::Feature;
use crate::jvm::{Borrowed, Jni, MethodRef, NewObject};
use crate::roster::Slot;
use crate::threads::LiveThread;

/// An event of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    VmStart,
    VmInit,
    VmDeath,
    ThreadStart,
    ThreadEnd,
    VirtualThreadEnd,
    /// The file of a class, as it is to be loaded.
    ClassFile,
    ClassLoad,
    ObjectFree,
    /// The JVM has made an object by itself.
    ObjectMade,
    /// The JVM's sampler has picked an object.
    ObjectSampled,
    MonitorEnter,
    MonitorEntered,
    MonitorWait,
    MonitorWaited,
    NativeBind,
    CollectionStart,
    DataDump,
}

impl Event {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::DataDump as usize + 1;
}

/// What the JVM is to be able to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    pub(crate) events: Vec<Event>,
    /// Events that the analysis enables by itself.
    pub(crate) later_events: Vec<Event>,
    /// What no event stands for.
    pub(crate) capabilities: Vec<Capability>,
}

/// What a peer asks for while the program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Samples a thread, or all and those that come, from now on or no more.
    Sample { thread: Option<Slot>, is_sampled: bool },
    /// Keeps so many frames of each stack from now on.
    Depth(u32),
    /// Dumps the heap.
    DumpHeap,
}

/// See the module. Each method is called while nothing is locked, from [`prepare`](Self::prepare) to
/// [`account`](Self::account) in the order in which they stand here. What an analysis does not need
/// it leaves out.
#[expect(unused_variables, reason = "most analyses leave most methods out")]
pub(crate) trait Analysis: Send + Sync {
    /// Its name in the accounting, if it stands there.
    fn name(&self) -> Option<&'static str>;

    /// What is switched off should it panic where several analyses are called.
    fn feature(&self) -> Feature;

    /// What perk cannot do without it: the end of "perk cannot ...".
    fn task(&self) -> &'static str;

    /// The events that it needs, and what else.
    fn needs(&self) -> Needs;

    /// The JVM has given what was needed. It can do next to nothing yet.
    ///
    /// # Errors
    /// Why the program is not to run, for one line on stderr.
    fn loaded(&'static self) -> Result<(), String> {
        Ok(())
    }

    /// The JVM can run Java code from now on, and has run none.
    ///
    /// # Errors
    /// Why the program cannot run, for one line on stderr.
    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        Ok(())
    }

    /// The program is about to begin. Looks at what it needs of the JVM; that may run Java code,
    /// which no analysis counts.
    fn prepare(&'static self, jni: Jni<'_>) {}

    /// Begins. All threads that live have been announced.
    ///
    /// # Errors
    /// Why it cannot, for one line on stderr.
    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        Ok(())
    }

    /// A platform thread has begun.
    fn thread_began(&self, thread: &Arc<LiveThread>) {}

    /// The calling platform thread ends; `known` is what the registry knew of it.
    fn thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>, known: Option<&LiveThread>) {}

    /// The calling virtual thread ends.
    fn virtual_thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>) {}

    /// A thread has ended, and its slot is about to be given to another.
    fn slot_freed(&self, jni: Jni<'_>, slot: Slot) {}

    /// [`Event::ClassFile`]: the file to load instead, if there is one. `redefined` is the class
    /// that there is already.
    fn class_file(&self, bytes: &[u8], redefined: Option<Borrowed<'_>>) -> Option<Vec<u8>> {
        None
    }

    /// [`Event::NativeBind`]: what to bind in the place of a native method's function.
    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        None
    }

    /// [`Event::ObjectMade`]: the calling thread has got an object.
    fn object_made(&self, jni: Jni<'_>, made: &NewObject<'_>) {}

    /// [`Event::ObjectSampled`]: the calling thread allocates an object.
    fn object_sampled(&self, jni: Jni<'_>, picked: &NewObject<'_>) {}

    /// [`Event::MonitorEnter`]: the calling thread cannot have a monitor at once.
    fn monitor_enter(&self, jni: Jni<'_>, thread: Borrowed<'_>, monitor: Borrowed<'_>) {}

    /// [`Event::MonitorEntered`]: it has it.
    fn monitor_entered(&self, jni: Jni<'_>, thread: Borrowed<'_>) {}

    /// [`Event::MonitorWait`]: the calling thread waits to be notified, at most so many milliseconds
    /// if not 0.
    fn monitor_wait(
        &self,
        jni: Jni<'_>,
        thread: Borrowed<'_>,
        monitor: Borrowed<'_>,
        timeout_ms: u64,
    ) {
    }

    /// [`Event::MonitorWaited`]: it goes on, as soon as it has the monitor again.
    fn monitor_waited(&self, jni: Jni<'_>, thread: Borrowed<'_>) {}

    /// [`Event::CollectionStart`]. The JVM stands still: next to nothing may be done.
    fn collection_started(&self) {}

    /// A peer asks for something.
    ///
    /// # Errors
    /// Why it is not done, for one line on stderr.
    fn obey(&'static self, jni: Jni<'_>, order: Order) -> Result<(), String> {
        Ok(())
    }

    /// Ends what costs something and can end while the JVM lives: nobody reads the numbers any more,
    /// or no more are to come.
    fn stop(&self) {}

    /// The JVM dies: this is the last time that Java code can run.
    fn vm_dies(&self, jni: Jni<'_>) {}

    /// Finds out which objects live, for the dump that follows.
    fn survey(&self) {}

    /// Books what it knows and the recorder does not. Calls no JVM function. After the `last` dump
    /// there is no other.
    fn settle(&self, last: bool) {}

    /// Writes sections of its own; `jni` is missing where the process ends without the JVM's
    /// knowledge.
    fn dump(&self, jni: Option<Jni<'_>>) {}

    /// Its part of the accounting.
    fn account(&self, accounting: &mut Accounting) {}
}
