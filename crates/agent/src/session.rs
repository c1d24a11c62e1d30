//! One profiled JVM: what the callbacks and the engine share.

mod commands;
mod monitors;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use perk_control::messages::{self, DUMP_BEGIN, DUMP_END, DumpPart};
use perk_control::options::{Classes, Format, Options, TimesForm};
use perk_jvmti_sys::jvmtiError;
use perk_profile::{Accounting, ClassId, NAME_SEPARATOR, TraceId};
use rustc_hash::FxHashMap;

use crate::engine::{AllocationSampler, Engine, Monitors};
use crate::exact::{Counted, ExactEngine};
use crate::heap_dump::{HeapDumps, ThreadList};
use crate::jvm::{Borrowed, Global, Jni, Jvmti, NewObject, Reference, StackFrame, Vm};
use crate::listener::Listener;
use crate::os::Tid;
use crate::recorder::Recorder;
use crate::resolve::{Resolver, class_id};
use crate::roster::Slot;
use crate::{guard, memory, os};

/// See the module. It is made at load and lives as long as the process.
pub(crate) struct Session {
    jvmti: Jvmti,
    options: Options,
    engine: &'static dyn Engine,
    pub(crate) exact: Option<&'static ExactEngine>,
    allocations: Option<AllocationSampler>,
    monitors: Option<Monitors>,
    heap_dumps: Option<HeapDumps>,
    resolver: Resolver,
    pub(crate) recorder: Mutex<Recorder>,
    start: OnceLock<Start>,
    vm: OnceLock<Vm>,
    /// The thread at whose end garbage is collected before the last dump.
    collector: OnceLock<Global>,
    /// Held while a dump is made, or a part of one for a peer.
    dumping: Mutex<()>,
    /// Takes the commands of a peer, if there is one.
    listener: Option<Listener>,
    /// The JVM dies: commands are passed over.
    is_dying: AtomicBool,
}

/// What the options ask for.
pub(crate) struct Parts {
    pub(crate) engine: &'static dyn Engine,
    pub(crate) exact: Option<&'static ExactEngine>,
    pub(crate) allocations: Option<AllocationSampler>,
    pub(crate) monitors: Option<Monitors>,
    pub(crate) heap_dumps: Option<HeapDumps>,
    pub(crate) listener: Option<Listener>,
}

/// The moment of VMInit.
struct Start {
    at: Instant,
    jvm: String,
    program: String,
}

/// Events that not every analysis needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) classes: bool,
    pub(crate) class_unloads: bool,
    pub(crate) virtual_thread_ends: bool,
    pub(crate) monitors: bool,
    pub(crate) vm_allocations: bool,
    pub(crate) collections: bool,
}

/// A walked stack and what it stands for.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) thread: Slot,
    /// The frames, the innermost first.
    pub(crate) stack: &'a [StackFrame],
    /// How many intervals of CPU time; none is possible.
    pub(crate) count: u64,
}

static SESSION: OnceLock<Session> = OnceLock::new();

/// Virtual threads' tags: their id and one, above the range of class tags.
const VIRTUAL_THREAD_TAG: i64 = 1 << 40;

impl Session {
    /// Makes the session of this process; `None` if there is one.
    pub(crate) fn install(
        jvmti: Jvmti,
        options: Options,
        parts: Parts,
        recorder: Recorder,
    ) -> Option<&'static Self> {
        let Parts { engine, exact, allocations, monitors, heap_dumps, listener } = parts;
        let session = Self {
            jvmti,
            engine,
            exact,
            allocations,
            monitors,
            heap_dumps,
            resolver: Resolver::new(
                jvmti,
                options.lineno,
                // In text the original has no word for it.
                options.format != Format::Ascii,
            ),
            options,
            recorder: Mutex::new(recorder),
            start: OnceLock::new(),
            vm: OnceLock::new(),
            collector: OnceLock::new(),
            dumping: Mutex::new(()),
            listener,
            is_dying: AtomicBool::new(false),
        };
        SESSION.set(session).ok()?;
        Self::current()
    }

    /// The session, once the agent is loaded.
    pub(crate) fn current() -> Option<&'static Self> {
        SESSION.get()
    }

    /// The JVM is up and about to run the program; `main` is its first thread, which calls this.
    pub(crate) fn vm_init(&'static self, jni: Jni<'_>, main: Borrowed<'_>) {
        let property = |name| self.jvmti.system_property(name).unwrap_or_default();
        let start = Start {
            at: Instant::now(),
            jvm: format!("{} {}", property(c"java.vm.name"), property(c"java.vm.version")),
            program: property(c"sun.java.command"),
        };
        if self.start.set(start).is_err() {
            return;
        }
        if let Some(vm) = jni.vm() {
            let _ = self.vm.set(vm);
        }
        if let Some(heap_dumps) = &self.heap_dumps {
            heap_dumps.vm_init(self.jvmti, jni);
        }
        lock(&self.recorder).begin(self.options.depth);
        if self.writes_all_classes() {
            for class in self.jvmti.loaded_classes(jni).unwrap_or_default() {
                self.class_loaded(&class);
            }
        }
        self.watch(jni, &main, Origin::Main);
        for thread in self.jvmti.all_threads(jni).unwrap_or_default() {
            if !jni.same(&thread, &main) {
                self.watch(jni, &thread, Origin::Older);
            }
        }
        let looks_at_heap = self.options.heap_sites || self.options.heap_dump;
        if self.options.gc && looks_at_heap && self.add_collector(jni).is_none() {
            os::say("HPROF ERROR: perk cannot collect garbage before the last dump\n");
        }
        if let Some(exact) = self.exact
            && let Err(reason) = exact.vm_init(jni, &self.recorder)
        {
            os::say(&format!("HPROF ERROR: perk cannot count calls: {reason}\n"));
        }
        if let Err(reason) = self.engine.start(jni, self) {
            os::say(&format!("HPROF ERROR: perk cannot sample: {reason}\n"));
        }
        if let Some(allocations) = &self.allocations
            && let Err(reason) = allocations.start(jni)
        {
            os::say(&format!("HPROF ERROR: perk cannot sample allocations: {reason}\n"));
        }
        if let Some(monitors) = &self.monitors
            && let Err(reason) = monitors.begin_parking(jni)
        {
            os::say(&format!("HPROF ERROR: perk cannot look at locks: {reason}\n"));
        }
        if let Some(listener) = &self.listener
            && let Err(reason) = listener.start(self.jvmti, jni, self)
        {
            os::say(&format!("HPROF ERROR: perk cannot take commands: {reason}\n"));
        }
    }

    /// Java code can run from now on.
    pub(crate) fn vm_start(&self, jni: Jni<'_>) {
        if let Some(exact) = self.exact
            && let Err(reason) = exact.vm_start(jni)
        {
            // Every class has probes that call what is not there: no program can run so.
            os::say(&format!("HPROF ERROR: perk's probes do not work in this JVM: {reason}\n"));
            std::process::exit(1);
        }
    }

    /// Asks the JVM for a running program's events.
    pub(crate) fn enable_events(&self, enable: fn(Jvmti, Wanted) -> Result<(), jvmtiError>) {
        let wanted = Wanted {
            classes: self.writes_all_classes(),
            class_unloads: self.options.format == Format::Binary,
            virtual_thread_ends: (self.exact.is_some() || self.monitors.is_some())
                && self.jvmti.has_virtual_threads(),
            monitors: self.monitors.is_some(),
            vm_allocations: self.exact.is_some_and(ExactEngine::counts_allocations),
            collections: self.heap_dumps.is_some()
                && self.exact.is_some_and(ExactEngine::counts_allocations),
        };
        if let Err(error) = enable(self.jvmti, wanted) {
            os::say(&format!("HPROF ERROR: the JVM refused events: {error}\n"));
        }
    }

    /// A class file as it is to be loaded; `None` leaves it as it is.
    pub(crate) fn transform(
        &self,
        bytes: &[u8],
        redefined: Option<Borrowed<'_>>,
    ) -> Option<Vec<u8>> {
        self.exact?.transform(&self.recorder, bytes, redefined)
    }

    /// Whether the waiting for locks of `java.util.concurrent` is recorded.
    pub(crate) fn records_locks(&self) -> bool {
        self.monitors.is_some() && self.options.locks
    }

    /// Whether every loaded class is told to the file.
    fn writes_all_classes(&self) -> bool {
        self.options.format == Format::Binary && self.options.classes == Classes::All
    }

    /// A class was loaded.
    pub(crate) fn class_loaded(&self, class: &(impl Reference + ?Sized)) {
        let (class, new) = class_id(self.jvmti, &self.recorder, class);
        if new {
            lock(&self.recorder).write_class(class);
        }
    }

    /// An object with a tag is gone: a class, if it is the tag of one.
    pub(crate) fn object_freed(&self, tag: i64) {
        if (1..VIRTUAL_THREAD_TAG).contains(&tag) {
            lock(&self.recorder).write_class_unload(ClassId::new((tag - 1) as usize));
        }
    }

    /// A platform thread was started, and calls this.
    pub(crate) fn thread_started(&self, jni: Jni<'_>, thread: Borrowed<'_>) {
        let known = self.start.get().is_none()
            || self.engine.is_own_thread(jni, &thread)
            || self.is_collector(jni, &thread)
            || self.listener.as_ref().is_some_and(|it| it.is_own_thread(jni, &thread))
            || self.engine.knows_current(jni, &thread);
        if !known {
            self.watch(jni, &thread, Origin::Started);
        }
    }

    /// The calling platform thread ends.
    pub(crate) fn thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>) {
        let slot = self.engine.thread_ended(jni, &thread, self);
        if let Some(exact) = self.exact {
            exact.thread_ended(jni, &thread, |calls| self.book(slot, calls));
        }
        if let Some(slot) = slot {
            self.forget_platform(jni, slot);
            lock(&self.recorder).thread_ended(slot);
        }
        if self.is_collector(jni, &thread) {
            self.jvmti.force_garbage_collection();
        }
    }

    /// Has garbage collected when the program ends: the JVM starts a thread then that does nothing,
    /// and whose end is an event. At the JVM's death it is too late: collectors that run beside the
    /// program are stopped by then, and to ask them would be to wait for ever (ZGC of JDK 17).
    fn add_collector(&self, jni: Jni<'_>) -> Option<()> {
        let group = self.jvmti.top_thread_group(jni)?;
        let thread = jni.new_thread(&group, c"perk collector")?;
        let _ = self.collector.set(jni.global(&thread)?);
        jni.add_shutdown_hook(&thread)
    }

    fn is_collector(&self, jni: Jni<'_>, thread: &Borrowed<'_>) -> bool {
        self.collector.get().is_some_and(|collector| jni.same(collector, thread))
    }

    /// The calling virtual thread ends.
    pub(crate) fn virtual_thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>) {
        if let Some(exact) = self.exact {
            exact.virtual_thread_ended(jni, &thread, |calls| {
                self.book(self.virtual_thread(jni, &thread), calls);
            });
        }
        self.forget_virtual(jni, &thread);
    }

    /// Books what the exact engine counted.
    fn book(&self, thread: Option<Slot>, counted: &Counted) {
        let cost = self.exact.map(ExactEngine::probe_cost).unwrap_or_default();
        let mut recorder = lock(&self.recorder);
        match self.options.cpu.times {
            Some(TimesForm::Old) => recorder.book_edges(thread, &counted.calls, cost),
            Some(TimesForm::Times) => recorder.book_calls(thread, &counted.calls, cost),
            None => {}
        }
        recorder.book_paths(thread, &counted.paths);
    }

    fn watch(&self, jni: Jni<'_>, thread: &dyn Reference, origin: Origin) {
        let Ok(info) = self.jvmti.thread_info(jni, thread) else { return };
        let id = lock(&self.recorder).thread_started(info, origin != Origin::Older);
        self.engine.thread_started(jni, thread, id, origin != Origin::Older);
    }

    /// The id under which samples of a virtual thread are booked, where threads are told apart.
    pub(crate) fn virtual_thread(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Slot> {
        if self.options.thread { self.slot_of_virtual(jni, thread) } else { None }
    }

    /// Books a sample; answers its trace.
    pub(crate) fn record(&self, jni: Jni<'_>, sample: &Sample<'_>) -> TraceId {
        let frames = self.resolver.frames(jni, &self.recorder, sample.stack);
        lock(&self.recorder).sample(sample.thread, &frames, sample.count)
    }

    /// The calling thread allocates an object that the JVM's sampler picked.
    pub(crate) fn allocation_sampled(&self, jni: Jni<'_>, picked: &NewObject<'_>) {
        if let Some(allocations) = &self.allocations {
            allocations.sample(self, jni, picked);
        }
    }

    /// The class and trace of an object that the calling thread allocates.
    pub(crate) fn allocation_site(
        &self,
        jni: Jni<'_>,
        picked: &NewObject<'_>,
        stack: &[StackFrame],
    ) -> (ClassId, TraceId) {
        let (class, _) = class_id(self.jvmti, &self.recorder, &picked.class);
        let frames = self.resolver.frames(jni, &self.recorder, stack);
        let thread = self.current_thread(jni, &picked.thread);
        (class, lock(&self.recorder).trace(thread, &frames))
    }

    /// The slot of the calling thread, where threads are told apart.
    fn current_thread(&self, jni: Jni<'_>, thread: &Borrowed<'_>) -> Option<Slot> {
        if !self.options.thread {
            None
        } else if jni.is_virtual(thread) {
            self.virtual_thread(jni, thread)
        } else if self.engine.knows_current(jni, thread) {
            self.engine.slot(Tid::current())
        } else {
            None
        }
    }

    /// Writes what was recorded since the last dump.
    pub(crate) fn dump(&self) {
        if let Ok(dumping) = self.dumping.try_lock() {
            self.settle_allocations(self.options.gc);
            self.write_dump(self.vm.get().and_then(Vm::jni), dumping, false);
        }
    }

    fn write_dump(&self, jni: Option<Jni<'_>>, _dumping: MutexGuard<'_, ()>, last: bool) {
        if !lock(&self.recorder).is_begun() {
            return;
        }
        self.progress(DUMP_BEGIN);
        self.gather(last);
        // The heap takes longest, and tells how far it is.
        let (first, rest): (Vec<_>, Vec<_>) =
            DumpPart::of(&self.options).partition(|part| *part <= DumpPart::Heap);
        first.iter().for_each(|part| self.progress(part.progress()));
        self.write_monitors(jni);
        let heap_dumps = self.heap_dumps.as_ref().filter(|_| self.options.heap_dump);
        if let (Some(heap_dumps), Some(jni)) = (heap_dumps, jni) {
            self.dump_heap(heap_dumps, jni);
        }
        rest.iter().for_each(|part| self.progress(part.progress()));
        let accounting = self.accounting();
        let lines = if last { selection_lines(&accounting) } else { Vec::new() };
        let printed = lock(&self.recorder).dump(accounting, last);
        self.progress(DUMP_END);
        lines.iter().for_each(|line| self.progress(line));
        if let Some(text) = printed {
            // All at once, so that the program's own lines do not come in between; and without the
            // recorder's lock, as nobody may be reading. A closed stdout has nobody who reads it.
            let _ = std::io::stdout().write_all(&text);
        }
    }

    /// Books all that the engines know and the recorder does not.
    fn gather(&self, last: bool) {
        self.engine.settle(self);
        if let Some(exact) = self.exact {
            // Before their paths: of what comes in between no path would be known.
            let (objects, moment) = (exact.objects(), Instant::now());
            exact.collect(last, |tid| self.engine.slot(tid), |slot, it| self.book(slot, it));
            if let Some(objects) = objects {
                lock(&self.recorder).book_objects(&objects, moment);
            }
        }
        if let Some(allocations) = &self.allocations {
            let sites = allocations.sites();
            let mut recorder = lock(&self.recorder);
            for (class, trace, objects) in sites {
                recorder.book_site(class, trace, objects);
            }
        }
    }

    fn dump_heap(&self, heap_dumps: &HeapDumps, jni: Jni<'_>) {
        let arrays = || match self.exact.filter(|_| self.options.heap_sites) {
            // SAFETY: it is asked while the JVM dumps.
            Some(exact) => unsafe { exact.array_records() },
            None => FxHashMap::default(),
        };
        let turnover = lock(&self.recorder).thread_turnover();
        let threads = self.jvmti.all_threads(jni).unwrap_or_default();
        let tids = threads.iter().map(|thread| self.jvmti.java_id(jni, thread)).collect();
        let threads = ThreadList { tids, turnover };
        if let Err(reason) = heap_dumps.write(jni, &self.recorder, threads, arrays) {
            os::say(&format!("HPROF ERROR: the heap cannot be dumped: {reason}\n"));
        }
    }

    /// The JVM dies: the last dump, if it is wanted, and the end of the file.
    pub(crate) fn vm_death(&self, jni: Jni<'_>) {
        self.is_dying.store(true, Relaxed);
        // Until the command is done that is being obeyed.
        drop(lock(&self.dumping));
        self.engine.stop();
        if let Some(exact) = self.exact {
            exact.calibrate(jni);
            exact.count_unseen(jni);
            exact.stop();
        }
        self.settle_allocations(false);
        self.end(Some(jni));
    }

    /// Looks which objects live, after a collection if `gc`.
    fn settle_allocations(&self, gc: bool) {
        if gc {
            self.jvmti.force_garbage_collection();
        }
        if let Some(exact) = self.exact {
            exact.settle(&self.recorder);
        }
        if let Some(allocations) = &self.allocations {
            allocations.settle();
        }
    }

    /// The last dump; without the JVM's help, and so without its heap, for a process that ends behind
    /// the JVM's back.
    pub(crate) fn end(&self, jni: Option<Jni<'_>>) {
        lock(&self.recorder).be_patient();
        if self.options.doe {
            // Not passed over: a dump that was asked for a moment ago does not have what came since.
            self.write_dump(jni, lock(&self.dumping), true);
        }
        let mut recorder = lock(&self.recorder);
        recorder.discard_unbegun();
        recorder.finish();
    }

    fn progress(&self, text: &str) {
        if self.options.verbose {
            os::say(text);
        }
    }

    /// What ran, by name.
    fn engine_names(&self) -> String {
        let samples = self.options.cpu.samples.then(|| self.engine.name());
        let exact = self.exact.is_some().then_some("exact");
        let allocations = self.allocations.is_some().then_some("allocation sampling");
        let monitors = self.monitors.is_some().then_some("monitors");
        let names = [samples, exact, allocations, monitors];
        let names: Vec<_> = names.into_iter().flatten().collect();
        names.join(", ")
    }

    /// The account up to now; the recorder adds its own counts and the clock's offset.
    fn accounting(&self) -> Accounting {
        let engine = self.engine.account();
        let mut accounting = Accounting {
            pid: std::process::id(),
            engine: self.engine_names(),
            interval_ns: self.options.interval_ns,
            walk_count: engine.walk_count,
            failed_walk_count: engine.failed_walk_count,
            unattributed_count: engine.unattributed_count,
            virtual_sample_count: engine.virtual_sample_count,
            java_cpu_ns: engine.java_cpu_ns,
            perk_cpu_ns: engine.engine_cpu_ns + guard::callback_cpu_ns(),
            process_cpu_ns: os::process_cpu_ns(),
            perk_peak_bytes: memory::peak_bytes(),
            fault_count: guard::faults(),
            ..Accounting::default()
        };
        if let Some(start) = self.start.get() {
            accounting.wall_ns = start.at.elapsed().as_nanos() as u64;
            accounting.jvm.clone_from(&start.jvm);
            accounting.program.clone_from(&start.program);
        }
        if let Some(exact) = self.exact {
            exact.account(&mut accounting);
        }
        if let Some(allocations) = &self.allocations {
            allocations.account(&mut accounting);
        }
        accounting
    }
}

/// The lines on methods without probes and on patterns without a match, if there are any.
fn selection_lines(accounting: &Accounting) -> Vec<String> {
    let named: Vec<_> = accounting.skipped_methods.split(NAME_SEPARATOR).collect();
    let count = accounting.skipped_method_count;
    let skipped = (count > 0).then(|| messages::skipped_methods(count, &named));
    let patterns = &accounting.unmatched_patterns;
    let unmatched = (!patterns.is_empty()).then(|| messages::unmatched_patterns(patterns));
    skipped.into_iter().chain(unmatched).collect()
}

/// How a thread came to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The main thread, at VMInit.
    Main,
    /// It was there before VMInit. HPROF has no line for these; perk writes one with the first
    /// trace that names them.
    Older,
    /// It was started under our eyes.
    Started,
}

/// Locks even after a panic: the data is counters and tables, and the feature that failed is off.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
