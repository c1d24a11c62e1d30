//! Exact counts of executed bytecodes per method and line (`jamaica=bytecodes`, and a part of
//! `jamaica=y`).
//!
//! 1. Probes count the executions of basic blocks ([`perk_instrument::Flow`]) in the counters of their thread
//!    ([`Counters`]).
//! 2. JVMTI reports each exception as it is thrown. Its stack shows which blocks it ends in their
//!    middle, and which one handles it ([`methods`]).
//! 3. At a dump, the threads stand still for a moment. Their stacks show which blocks are not at their
//!    end yet.

mod executed;
mod methods;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perk_control::intrinsics::CodeMetric;
use perk_control::options::Jamaica;
use perk_instrument::{CountedCode, MethodName, Methods, Probes, instrument};
use perk_jvm::guard::Feature;
use perk_jvm::hook;
use perk_jvm::os;
use perk_jvm::probes;
use perk_jvm::sync::lock;
use perk_jvm::{Image, Jni, MethodRef, ObjectRef, Reference, StackFrame, Walker};
use perk_jvmti_sys::Capability;
use perk_profile::mutf8;
use rustc_hash::FxHashMap;

use self::methods::{CountedMethods, ExceptionFrame, Exceptions};
use super::books::jamaica::JamaicaBook;
use super::books::sites::SiteBook;
use super::counters::{Counters, MOST_COUNTERS};
use super::{Analysis, Event, ExceptionEvent, Needs};
use crate::common::Common;
use crate::intrinsics;
use crate::recorder::Book;
use crate::selection::{self, Selection};
use crate::threads::LiveThread;

/// The frames that are looked at first, when an exception is thrown: most are caught near by.
const FIRST_FRAMES: u32 = 4;
/// The frames that are looked at in the end.
const MOST_FRAMES: u32 = 1 << 21;

/// The analysis; see the module.
#[derive(Debug)]
pub(crate) struct Bytecodes {
    common: &'static Common,
    book: &'static JamaicaBook,
    probes: Probes,
    selection: Selection,
    /// Whether the exact engine puts the probes into classes, together with its own.
    is_guest: bool,
    methods: Mutex<CountedMethods>,
    /// The names of methods, as class files have them.
    names: Mutex<FxHashMap<MethodRef, Option<Arc<str>>>>,
    counters: Counters,
    walker: Walker,
    /// The numbers of the last survey, until they are booked.
    moment: Mutex<Option<Moment>>,
    image: Option<&'static Image>,
    /// The methods that lack probes, each with the reason.
    skipped: Mutex<Vec<String>>,
    has_begun: AtomicBool,
}

/// The numbers of one moment.
#[derive(Debug)]
struct Moment {
    /// The sums of all counters.
    counters: Vec<u64>,
    /// By method.
    exceptions: Vec<Exceptions>,
    /// The pcs at which threads are in methods, by the method's name.
    running: FxHashMap<Arc<str>, Vec<u16>>,
}

impl Bytecodes {
    /// Makes the analysis. The exact engine puts the probes into classes if there are more counts.
    ///
    /// # Errors
    /// The reason why it is not possible, in one line.
    pub(crate) fn new(
        common: &'static Common,
        counts: Jamaica,
        sites: Option<&'static SiteBook>,
    ) -> Result<Self, String> {
        let options = &common.options;
        let counters = Counters::new()?;
        Ok(Self {
            common,
            book: Box::leak(Box::new(JamaicaBook::new(counts, sites))),
            probes: Probes { calls: false, blocks: true, ..Probes::least(counters.names()) },
            selection: Selection::new(&options.include, &options.exclude),
            is_guest: counts == Jamaica::All,
            methods: Mutex::default(),
            names: Mutex::default(),
            counters,
            walker: Walker::default(),
            moment: Mutex::default(),
            image: Image::of(common.jvmti),
            skipped: Mutex::default(),
            has_begun: AtomicBool::new(false),
        })
    }

    /// Returns the book of JamaicaVM's profile.
    pub(crate) fn book(&self) -> &'static JamaicaBook {
        self.book
    }

    /// Returns the name of a method, as [`CountedMethods`] has it; `None` if the JVM does not.
    fn name(&self, jni: Jni<'_>, method: MethodRef) -> Option<Arc<str>> {
        if let Some(known) = lock(&self.names).get(&method) {
            return known.clone();
        }
        let jvmti = self.common.jvmti;
        let found = || {
            let class = jvmti.declaring_class(jni, method).ok()?;
            let class = jvmti.class_signature(&class).ok()?;
            let class = class.strip_prefix('L')?.strip_suffix(';')?;
            // The suffix of a hidden class.
            let class = class.split_once('.').map_or(class, |(class, _)| class);
            let (name, descriptor) = jvmti.method_name(method).ok()?;
            Some(format!("{class}.{name}{descriptor}").into())
        };
        let name: Option<Arc<str>> = found();
        lock(&self.names).insert(method, name.clone());
        name
    }

    /// Returns a method that an exception meets. The JVM may stop the thread when it is asked for the
    /// name, which a dump waits for, so the methods are not locked then.
    fn meet(&self, jni: Jni<'_>, method: MethodRef) -> Option<ExceptionFrame> {
        let known = lock(&self.methods).met(method);
        known.or_else(|| {
            let name = self.name(jni, method)?;
            Some(lock(&self.methods).meet(method, &name))
        })
    }

    /// Runs `body` with the frames of a thread, the innermost first, until it returns `false`.
    fn each_frame(
        &self,
        thread: &(impl Reference + ?Sized),
        mut body: impl FnMut(StackFrame) -> bool,
    ) {
        let (mut depth, mut seen) = (FIRST_FRAMES, 0);
        loop {
            let goes_on = self.walker.walk(self.common.jvmti, thread, depth, |frames| {
                let frames = frames.unwrap_or_default();
                let is_open = frames.len() == depth as usize && depth < MOST_FRAMES;
                frames.iter().skip(seen).all(|frame| body(*frame)) && is_open
            });
            if !goes_on {
                return;
            }
            (seen, depth) = (depth as usize, depth * 8);
        }
    }

    /// Returns the places in methods at which threads are.
    fn running(&self, jni: Jni<'_>) -> FxHashMap<Arc<str>, Vec<u16>> {
        let mut running: FxHashMap<Arc<str>, Vec<u16>> = FxHashMap::default();
        for thread in self.common.jvmti.all_threads(jni).unwrap_or_default() {
            self.each_frame(&thread, |StackFrame { method, bci }| {
                if let (Some(name), Ok(pc)) = (self.name(jni, method), u16::try_from(bci)) {
                    running.entry(name).or_default().push(pc);
                }
                true
            });
        }
        running
    }

    /// Returns the numbers of now, with the places at which threads are in methods.
    fn moment(&self, running: FxHashMap<Arc<str>, Vec<u16>>) -> Moment {
        let methods = lock(&self.methods);
        let counters = self.counters.sums(methods.counter_count());
        let exceptions = methods.all().map(|(method, _)| method.exceptions().clone()).collect();
        Moment { counters, exceptions, running }
    }

    /// Books what all methods have executed since the start.
    fn settle_moment(&self, Moment { counters, exceptions, running }: &Moment) {
        let methods = lock(&self.methods);
        for ((method, is_last), exceptions) in methods.all().zip(exceptions) {
            // Threads are in the version that was added last.
            let running = running.get(method.name()).filter(|_| is_last);
            let running = running.map_or(&[][..], Vec::as_slice);
            let executed = method.executed(counters, exceptions, running);
            let is_program =
                || self.image.is_none_or(|image| !image.has(&mutf8::encode(method.class())));
            if executed.bytecodes > 0 || is_program() {
                let recorder = &mut lock(self.common.recorder);
                let with_lines = self.common.options.lineno;
                executed::book(recorder, self.book, with_lines, method.text(), &executed);
            }
        }
    }

    /// Counts the blocks of a method's code: see [`Methods::counters`].
    pub(crate) fn new_counters(&self, count: usize) -> Option<u32> {
        let first = lock(&self.methods).counters(count, MOST_COUNTERS)?;
        self.counters.grow(first as usize + count).then_some(first)
    }

    /// Notes a method with counters: see [`Methods::counted`].
    pub(crate) fn counted(&self, method: &MethodName<'_>, code: CountedCode<'_>) {
        lock(&self.methods).add(method, code);
    }

    /// Returns the counters of threads.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns a class with probes.
    pub(crate) fn instrument(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match instrument(bytes, self.probes, &mut View(self)) {
            Ok(done) => {
                lock(&self.skipped).extend(probes::skipped_methods(bytes, &done.skipped));
                done.bytes
            }
            // The JVM will say what is wrong with it.
            Err(_) => None,
        }
    }
}

/// The view of one class file on the analysis.
struct View<'a>(&'a Bytecodes);

impl Methods for View<'_> {
    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool {
        self.0.selection.selects(class, method)
    }

    fn counters(&mut self, _: &MethodName<'_>, count: usize) -> Option<u32> {
        self.0.new_counters(count)
    }

    fn counted(&mut self, method: &MethodName<'_>, code: CountedCode<'_>) {
        self.0.counted(method, code);
    }
}

impl Analysis for Bytecodes {
    fn name(&self) -> Option<&'static str> {
        Some("bytecodes")
    }

    fn feature(&self) -> Feature {
        Feature::Probes
    }

    fn task(&self) -> &'static str {
        "count bytecodes"
    }

    fn needs(&self) -> Needs {
        let mut events = vec![Event::Exception];
        if !self.is_guest {
            events.extend([Event::VmStart, Event::ClassFile, Event::NativeBind]);
        }
        let capabilities = vec![Capability::CanGenerateEarlyVmstart];
        Needs { events, capabilities, ..Needs::default() }
    }

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![self.book]
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
        hook::overtaken();
        intrinsics::warn(self.common.jvmti, CodeMetric::Bytecodes);
        self.has_begun.store(true, Relaxed);
        self.counters.start(self.common, jni)
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        self.counters.thread_began(self.common, &**thread);
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, _: Option<&LiveThread>) {
        self.counters.thread_ended(jni, thread);
    }

    fn class_file(&self, bytes: &[u8], _: Option<ObjectRef<'_>>) -> Option<Vec<u8>> {
        if hook::is_done(bytes) { None } else { self.instrument(bytes) }
    }

    fn exception(&self, jni: Jni<'_>, thread: ObjectRef<'_>, thrown: ExceptionEvent) {
        if !self.has_begun.load(Relaxed) {
            return;
        }
        let mut frames: Vec<(ExceptionFrame, u16)> = Vec::new();
        let mut above: Option<ExceptionFrame> = None;
        let mut is_caught = false;
        self.each_frame(&thread, |StackFrame { method, bci }| {
            let Some(met) = self.meet(jni, method) else { return false };
            let mut methods = lock(&self.methods);
            let pc = u16::try_from(bci).ok();
            // The exception does not leave what the JVM itself has called: the JVM throws another
            // one, which it reports again. So do the native methods of reflection.
            let is_called = above.is_none_or(|above| match pc {
                Some(pc) => methods.calls(met, pc, above),
                None => !met.is_wrapping && thrown.caught.is_some(),
            });
            if !is_called {
                return false;
            }
            is_caught = thrown.caught.is_some_and(|(catcher, handler_pc)| {
                let mut handles =
                    |pc| methods.counted(met).is_none_or(|it| it.handles(pc, handler_pc));
                catcher == method && pc.is_some_and(&mut handles)
            });
            frames.extend(pc.map(|pc| (met, pc)));
            above = (!met.is_helper).then_some(met);
            !is_caught
        });
        let mut methods = lock(&self.methods);
        for &(met, pc) in &frames {
            if let Some(counted) = methods.counted(met) {
                counted.leave(pc);
            }
        }
        if let (true, Some((_, handler_pc)), Some(&(met, _))) =
            (is_caught, thrown.caught, frames.last())
            && let Some(counted) = methods.counted(met)
        {
            counted.enter(handler_pc);
        }
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

    fn survey(&self) {
        if let Some(jni) = self.counters.jni() {
            let stopped = self.common.jvmti.stop_threads(jni);
            let moment = self.moment(self.running(jni));
            let has_stopped = stopped.is_some();
            drop(stopped);
            if !has_stopped {
                os::say(
                    "HPROF WARNING: another agent, such as a debugger, has the right to stop threads: \
                     what other threads executed during the dump is counted in part\n",
                );
            }
            *lock(&self.moment) = Some(moment);
        }
    }

    fn settle(&self, _: bool) {
        let surveyed = lock(&self.moment).take();
        self.settle_moment(&surveyed.unwrap_or_else(|| self.moment(FxHashMap::default())));
    }

    fn finish(&self) {
        self.counters.warn_of_uncounted("bytecodes");
        selection::warn_of_missing("bytecodes", &lock(&self.skipped), &self.selection);
    }
}
