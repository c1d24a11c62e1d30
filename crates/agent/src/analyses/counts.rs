//! Exact counts of calls by method and call site (`cpu=counts`).
//!
//! 1. Probes count the entries of methods, and the calls that they make, in the counters of their thread
//!    ([`Counters`]). No path is followed, and nothing is done at an exit.
//! 2. Class files tell which method a call can run ([`graph`]), and in a program that runs already its loaded
//!    classes ([`loaded`]).
//! 3. A dump has the calls since the last one, as stacks of two frames: the method, and its caller with the line
//!    ([`book`]).

mod book;
mod graph;
mod loaded;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perk_instrument::{ClassFile, Error, MethodCalls, MethodName, Methods, Probes, instrument};
use perk_jvm::guard::Feature;
use perk_jvm::hook;
use perk_jvm::os;
use perk_jvm::probes;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, MethodRef, ObjectRef};
use perk_jvmti_sys::Capability;
use perk_profile::{Accounting, NAME_SEPARATOR};

use self::book::CountBook;
use super::counters::{Counters, MOST_COUNTERS};
use super::late::{self, LateAnalysis, LateProbes};
use super::skipped::SkippedMethods;
use super::{Analysis, Event, Needs};
use crate::common::{Common, Life};
use crate::recorder::Book;
use crate::selection::Selection;
use crate::threads::LiveThread;

/// The analysis; see the module.
#[derive(Debug)]
pub(crate) struct CallCounts {
    common: &'static Common,
    probes: Probes,
    selection: Selection,
    counters: Counters,
    /// Whether the exact engine places its probes.
    is_guest: bool,
    /// The state of counting in a program that runs already.
    late: Option<LateProbes>,
    book: CountBook,
    /// The numbers of classes and methods with probes.
    class_count: AtomicU64,
    method_count: AtomicU64,
    /// The CPU time of changing classes.
    instrument_ns: AtomicU64,
    skipped: Mutex<SkippedMethods>,
}

impl CallCounts {
    /// Makes the analysis. Where sites are counted too, the exact engine places its probes.
    ///
    /// # Errors
    /// The reason why it is not possible, in one line.
    pub(crate) fn new(common: &'static Common) -> Result<Self, String> {
        let options = &common.options;
        let counters = Counters::new()?;
        let late = common.life == Life::Attached;
        let least = Probes::least(counters.names());
        Ok(Self {
            common,
            probes: Probes { calls: false, entries: true, late, ..least },
            is_guest: options.counts_sites(),
            late: late.then(LateProbes::default),
            selection: Selection::new(&options.include, &options.exclude),
            counters,
            book: CountBook::new(options),
            class_count: AtomicU64::new(0),
            method_count: AtomicU64::new(0),
            instrument_ns: AtomicU64::new(0),
            skipped: Mutex::default(),
        })
    }

    fn counter_count(&self) -> usize {
        self.book.graph().counter_count()
    }

    /// Returns the counters of threads.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Notes the methods of a class, and what they inherit: see [`Methods::class`].
    ///
    /// # Errors
    /// What is wrong with its file.
    pub(crate) fn class(&self, file: &ClassFile<'_>) -> Result<(), Error> {
        self.book.graph().add_file(file)
    }

    /// Returns the first of new counters: see [`Methods::counters`].
    pub(crate) fn new_counters(&self, count: usize) -> Option<u32> {
        let first = self.book.graph().counters(count, MOST_COUNTERS)?;
        self.counters.grow(first as usize + count).then_some(first)
    }

    /// Notes a method with counters: see [`Methods::entered`].
    pub(crate) fn entered(&self, method: &MethodName<'_>, calls: MethodCalls<'_>) {
        self.book.graph().add_counted(method, calls);
    }

    /// Returns a class with probes.
    fn instrument(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        // The JVM will report what is wrong with a class.
        let done = instrument(bytes, self.probes, &mut View(self)).ok()?;
        self.class_count.fetch_add((done.method_count > 0).into(), Relaxed);
        self.method_count.fetch_add(done.method_count as u64, Relaxed);
        let mut skipped = lock(&self.skipped);
        probes::skipped_methods(bytes, &done.skipped).into_iter().for_each(|it| skipped.add(it));
        done.bytes
    }
}

/// The view of one class file on the analysis.
struct View<'a>(&'a CallCounts);

impl Methods for View<'_> {
    fn class(&mut self, file: &ClassFile<'_>) -> Result<(), Error> {
        self.0.class(file)
    }

    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool {
        self.0.selection.selects(class, method)
    }

    fn counters(&mut self, _: &MethodName<'_>, count: usize) -> Option<u32> {
        self.0.new_counters(count)
    }

    fn entered(&mut self, method: &MethodName<'_>, calls: MethodCalls<'_>) {
        self.0.entered(method, calls);
    }
}

impl LateAnalysis for CallCounts {
    fn common(&self) -> &'static Common {
        self.common
    }

    fn helper(&self) -> Option<&'static Global> {
        self.counters.helper()
    }

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn may_have_unlisted_threads(&self, jni: Jni<'_>) -> bool {
        jni.has_virtual_threads()
    }

    fn skip(&self, class: String) {
        lock(&self.skipped).add(class);
    }

    fn free(&self, _: Jni<'_>) {
        // SAFETY: `release` has ended counting, and no thread is inside of the helper.
        unsafe { self.counters.free() };
    }
}

impl Analysis for CallCounts {
    fn name(&self) -> Option<&'static str> {
        Some("counts")
    }

    fn feature(&self) -> Feature {
        Feature::Probes
    }

    fn task(&self) -> &'static str {
        "count calls"
    }

    fn needs(&self) -> Needs {
        if self.late.is_some() {
            return LateProbes::needs();
        }
        if self.is_guest {
            return Needs::default();
        }
        let events = vec![Event::VmStart, Event::ClassFile, Event::NativeBind];
        let capabilities = vec![Capability::CanGenerateEarlyVmstart];
        Needs { events, capabilities, ..Needs::default() }
    }

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![&self.book]
    }

    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        self.counters.define(self.common, jni)
    }

    fn prepare(&'static self, _: Jni<'_>) {
        if let Some(helper) = self.counters.helper().filter(|_| !self.is_guest) {
            self.common.set_helpers([helper]);
        }
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let Some(late) = &self.late else {
            hook::overtaken();
            return self.counters.start(self.common, jni);
        };
        late::free_retired(jni);
        let helper = self.counters.start_late(jni)?;
        self.common.set_helpers([helper]);
        loaded::add_types(self.common.jvmti, jni, &self.selection, &mut self.book.graph());
        late.give(self, jni);
        Ok(())
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        self.counters.thread_began(self.common, &**thread);
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, _: Option<&LiveThread>) {
        self.counters.thread_ended(jni, thread);
    }

    fn class_file(&self, bytes: &[u8], _: Option<ObjectRef<'_>>) -> Option<Vec<u8>> {
        if hook::is_done(bytes) || self.late.as_ref().is_some_and(|it| !it.gives_probes(bytes)) {
            return None;
        }
        let begin_ns = os::thread_cpu_ns();
        let changed = self.instrument(bytes);
        self.instrument_ns.fetch_add(os::thread_cpu_ns().saturating_sub(begin_ns), Relaxed);
        changed
    }

    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let change = |class: &[u8]| self.instrument(class);
        // SAFETY: `native_method_bind` passes the function that the JVM is about to bind to the method.
        unsafe { probes::bind_makers(self.common.jvmti, jni, method, function, change) }
    }

    fn settle(&self, _: bool) {
        self.book.see(self.counters.sums(self.counter_count()));
    }

    fn withdraw(&self, jni: Jni<'_>) {
        if let Some(late) = &self.late {
            late.take(self, jni);
        }
    }

    fn release(&'static self, jni: Jni<'_>) {
        if self.counters.end_late(self.counter_count()) {
            late::free_when_left(self, jni);
        }
    }

    fn finish(&self) {
        self.counters.warn_of_uncounted("calls");
    }

    fn account(&self, accounting: &mut Accounting) {
        if self.is_guest {
            return;
        }
        accounting.instrumented_class_count = self.class_count.load(Relaxed);
        accounting.instrumented_method_count = self.method_count.load(Relaxed);
        accounting.instrument_cpu_ns = self.instrument_ns.load(Relaxed);
        lock(&self.skipped).account(accounting);
        accounting.unmatched_patterns = self.selection.unmatched().join(NAME_SEPARATOR);
    }
}
