//! One profiled JVM: a loop over its analyses.

mod commands;
mod schedule;

use std::io::Write;
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, Ordering::Acquire, Ordering::Relaxed, Ordering::SeqCst,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use perk_control::messages::{self, DUMP_BEGIN, DUMP_END, DumpPart};
use perk_control::options::{Classes, Options, OutputFormat};
use perk_jvm::guard;
use perk_jvm::memory;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Jvmti, ObjectRef, Reference, Vm, bool_flag};
use perk_jvmti_sys::Capability;
use perk_profile::{
    Accounting, ClassId, LIVE_COLLECTED, LIVE_UNCOLLECTED, NAME_SEPARATOR, NamePattern, secrets,
};

use self::schedule::Alarm;
use crate::analyses::{Analysis, Event, Needs};
use crate::cgroup::CpuQuota;
use crate::common::{Common, Life};
use crate::listener::Listener;
use crate::pauses::Pauses;
use crate::process_cpu::{self, ProcessCpu};
use crate::recorder::Book;
use crate::resolve::class_id;
use crate::{launcher, packages, threads};

/// The session of a process; see the module. What is small of it lives as long as the process, as
/// callbacks may still have it; the rest is released when a session in a running program ends.
pub(crate) struct Session {
    common: &'static Common,
    /// The analyses, in the order in which they are called.
    analyses: Vec<&'static dyn Analysis>,
    /// The books of the analyses, in the order of their sections.
    books: Vec<&'static dyn Book>,
    /// The analyses that asked for each event.
    asked: [Vec<&'static dyn Analysis>; Event::COUNT],
    /// The events that are enabled without a request of an analysis.
    enabled: Vec<Event>,
    start: OnceLock<Start>,
    /// The moment since when it measures.
    since: Mutex<StartTimes>,
    alarm: Alarm,
    vm: OnceLock<Vm>,
    /// The thread at whose end garbage is collected, before the last dump.
    collector: OnceLock<Arc<Global>>,
    /// Held while a dump is made, or a part of one for a peer.
    dumping: Mutex<()>,
    /// The receiver of a peer's commands, if there is a peer.
    listener: Option<Listener>,
    process_cpu: ProcessCpu,
    pauses: &'static Pauses,
    quota: Mutex<CpuQuota>,
    /// Whether the JVM dies: commands are then ignored.
    is_dying: AtomicBool,
    has_ended: AtomicBool,
    /// Whether garbage was collected for the dump to come.
    is_collected: AtomicBool,
    is_paused: AtomicBool,
}

/// What was there at the beginning: VMInit, if the session is that of the program.
struct Start {
    at: Instant,
    jvm: String,
    program: String,
    class_path: String,
}

/// The times that are not of what is measured.
#[derive(Clone, Copy, Default)]
struct StartTimes {
    at: Option<Instant>,
    process_cpu_ns: u64,
    callback_cpu_ns: u64,
    java_cpu_ns: u64,
}

/// The time that the end of the process waits for a recording that is being ended.
const LONGEST_END: Duration = Duration::from_secs(10);
/// The time between two looks at it.
const LOOK: Duration = Duration::from_millis(1);

fn join(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    names.map(|name| name.as_ref().to_owned()).collect::<Vec<_>>().join(NAME_SEPARATOR)
}

/// The current session.
static SESSION: AtomicPtr<Session> = AtomicPtr::new(null_mut());

/// Returns the needs of the session itself, whatever is analysed.
pub(crate) fn needs(options: &Options) -> Needs {
    let mut events = vec![
        Event::VmInit,
        Event::VmDeath,
        Event::ThreadStart,
        Event::ThreadEnd,
        Event::CollectionStart,
        Event::CollectionFinish,
        Event::DataDump,
    ];
    if writes_all_classes(options) {
        events.push(Event::ClassLoad);
    }
    if options.format == OutputFormat::Binary {
        events.push(Event::ObjectFree);
    }
    let capabilities = vec![
        Capability::CanGetSourceFileName,
        Capability::CanGetLineNumbers,
        Capability::CanGetThreadCpuTime,
        Capability::CanTagObjects,
    ];
    Needs { events, capabilities, ..Needs::default() }
}

/// Whether every loaded class is written to the file.
fn writes_all_classes(options: &Options) -> bool {
    options.format == OutputFormat::Binary && options.classes == Classes::All
}

impl Session {
    /// Makes the current session; `None` if there already is one. `books` are those that no analysis owns
    /// alone.
    pub(crate) fn install(
        common: &'static Common,
        analyses: Vec<&'static dyn Analysis>,
        mut books: Vec<&'static dyn Book>,
        listener: Option<Listener>,
    ) -> Option<&'static Self> {
        let mut asked: [Vec<&'static dyn Analysis>; Event::COUNT] = Default::default();
        let mut enabled = needs(&common.options).events;
        for analysis in &analyses {
            let Needs { events, later_events, .. } = analysis.needs();
            for event in events.iter().chain(&later_events) {
                asked[*event as usize].push(*analysis);
            }
            enabled.extend(events);
        }
        books.extend(analyses.iter().flat_map(|analysis| analysis.books()));
        // The session lives as long as the process.
        let pauses: &'static Pauses =
            Box::leak(Box::new(Pauses::new(common.options.format == OutputFormat::Extended)));
        books.push(pauses);
        books.push(&common.series);
        books.sort_by_key(|book| book.place());
        let session = Self {
            common,
            analyses,
            books,
            asked,
            enabled,
            start: OnceLock::new(),
            since: Mutex::default(),
            alarm: Alarm::default(),
            vm: OnceLock::new(),
            collector: OnceLock::new(),
            dumping: Mutex::new(()),
            listener,
            process_cpu: ProcessCpu::default(),
            pauses,
            quota: Mutex::default(),
            is_dying: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            is_collected: AtomicBool::new(false),
            is_paused: AtomicBool::new(false),
        };
        let session = Box::into_raw(Box::new(session));
        match SESSION.compare_exchange(null_mut(), session, SeqCst, SeqCst) {
            // SAFETY: it is never freed from now on.
            Ok(_) => Some(unsafe { &*session }),
            Err(_) => {
                // SAFETY: nobody else has it.
                drop(unsafe { Box::from_raw(session) });
                None
            }
        }
    }

    /// Returns the current session.
    pub(crate) fn current() -> Option<&'static Self> {
        // SAFETY: sessions are never freed.
        unsafe { SESSION.load(Acquire).as_ref() }
    }

    /// Takes back a session that could not begin.
    pub(crate) fn uninstall(&self) {
        let this = std::ptr::from_ref(self).cast_mut();
        let _ = SESSION.compare_exchange(this, null_mut(), SeqCst, SeqCst);
    }

    /// Returns the name of the file.
    ///
    /// # Errors
    /// The reason why it is lost, in one line.
    pub(crate) fn file(&self) -> Result<String, String> {
        lock(self.common.recorder).file_name()
    }

    /// Returns the name and version of the JVM, once it has begun.
    pub(crate) fn jvm(&self) -> Option<&str> {
        self.start.get().map(|start| start.jvm.as_str())
    }

    /// Returns the time since the beginning.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        self.start.get().map(|start| start.at.elapsed())
    }

    /// Returns the shared state.
    pub(crate) fn common(&self) -> &'static Common {
        self.common
    }

    /// Returns the agent's environment.
    pub(crate) fn jvmti(&self) -> Jvmti {
        self.common.jvmti
    }

    /// Returns the analyses that asked for an event.
    pub(crate) fn asked(&self, event: Event) -> &[&'static dyn Analysis] {
        &self.asked[event as usize]
    }

    /// Whether an event is enabled together with the others.
    pub(crate) fn enables(&self, event: Event) -> bool {
        self.enabled.contains(&event)
    }

    /// Begins the session. `this` is the calling thread, unless it is one of perk's own or a virtual one:
    /// if the JVM is about to run the program, it is the program's first.
    ///
    /// # Errors
    /// An analysis that cannot begin in a program that runs already, in one line. (A program that is about to
    /// start runs without it, and the line is on stderr.)
    pub(crate) fn begin(
        &'static self,
        jni: Jni<'_>,
        this: Option<ObjectRef<'_>>,
    ) -> Result<(), String> {
        let Common { jvmti, options, recorder, .. } = self.common;
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let start = Start {
            at: Instant::now(),
            jvm: format!("{} {}", property(c"java.vm.name"), property(c"java.vm.version")),
            program: match options.secrets {
                true => property(c"sun.java.command"),
                false => secrets::mask(&property(c"sun.java.command")),
            },
            class_path: property(c"java.class.path"),
        };
        if self.start.set(start).is_err() {
            return Ok(());
        }
        if let Some(vm) = jni.vm() {
            let _ = self.vm.set(vm);
        }
        // The whole process is that of the program.
        *lock(&self.since) = match self.common.life {
            Life::Program => StartTimes { at: Some(Instant::now()), ..StartTimes::default() },
            Life::Attached => self.now(),
        };
        self.analyses.iter().for_each(|analysis| analysis.prepare(jni));
        let mut held = lock(recorder);
        held.begin(options.depth);
        self.common.series.begin_at(held.begun_ns());
        drop(held);
        if writes_all_classes(options) {
            for class in jvmti.loaded_classes(jni).unwrap_or_default() {
                self.class_loaded(&class);
            }
        }
        if let Some(this) = &this {
            self.watch(jni, this, true);
        }
        let caller = jvmti.current_thread(jni);
        for thread in jvmti.all_threads(jni).unwrap_or_default() {
            if !caller.as_ref().is_some_and(|caller| jni.same(&thread, caller)) {
                self.watch(jni, &thread, false);
            }
        }
        let looks_at_heap = options.heap_sites || options.heap_dump;
        if options.gc && looks_at_heap && self.add_collector(jni).is_none() {
            os::say("HPROF ERROR: perk cannot collect garbage before the last dump\n");
        }
        for analysis in &self.analyses {
            if let Err(reason) = analysis.begin(jni) {
                let line = format!("perk cannot {}: {reason}", analysis.task());
                match self.common.life {
                    Life::Attached => return Err(line),
                    Life::Program => os::say(&format!("HPROF ERROR: {line}\n")),
                }
            }
        }
        let mut own = Accounting::default();
        self.analyses.iter().for_each(|analysis| analysis.account(&mut own));
        let perk_ns = (self.common.life == Life::Program).then(|| process_cpu::perk_ns(&own));
        self.process_cpu.begin(&self.common.threads, perk_ns);
        self.pauses.clear();
        *lock(&self.quota) = CpuQuota::begin();
        // What cannot pause was refused with the options.
        if !options.start {
            self.begin_paused(jni);
        }
        if let Err(reason) = self.start_schedule(jni) {
            os::say(&format!(
                "HPROF ERROR: perk cannot keep delay, duration and flush: {reason}\n"
            ));
        }
        if let Some(listener) = &self.listener
            && let Err(reason) = listener.start(self.common, jni, self)
        {
            os::say(&format!("HPROF ERROR: perk cannot take commands: {reason}\n"));
        }
        Ok(())
    }

    /// Looks at the clocks of the process's threads. Calls no JVM function.
    pub(crate) fn tick(&self) {
        if self.start.get().is_some() {
            self.process_cpu.tick(&self.common.threads);
            self.pauses.look();
        }
    }

    /// Handles the start of a collection. The JVM stands still.
    pub(crate) fn collection_started(&self) {
        self.process_cpu.collection_started();
        self.pauses.started();
        self.asked(Event::CollectionStart).iter().for_each(|it| it.collection_started());
    }

    /// Handles the end of a collection, as above.
    pub(crate) fn collection_finished(&self) {
        self.asked(Event::CollectionFinish).iter().for_each(|it| it.collection_finished());
        self.process_cpu.collection_finished();
        self.pauses.finished();
    }

    /// Handles the load of a class.
    pub(crate) fn class_loaded(&self, class: &(impl Reference + ?Sized)) {
        let (class, new) = class_id(self.common.jvmti, self.common.recorder, class);
        if new {
            lock(self.common.recorder).write_class(class);
        }
    }

    /// Handles the end of an object with a tag: it is a class if the tag is one of a class.
    pub(crate) fn object_freed(&self, tag: i64) {
        if let Some(class) = threads::class_of_tag(tag) {
            lock(self.common.recorder).write_class_unload(ClassId::new(class));
        }
    }

    /// Handles the start of a platform thread, which calls this.
    pub(crate) fn thread_started(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        let threads = &self.common.threads;
        let is_known = self.start.get().is_none()
            || threads.is_own(jni, &thread)
            || threads.current(jni, &thread).is_some();
        if !is_known {
            self.watch(jni, &thread, true);
        }
    }

    /// Handles the end of the calling platform thread.
    pub(crate) fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        let threads = &self.common.threads;
        let known = threads.remove_current(jni, &thread);
        self.analyses.iter().for_each(|it| it.thread_ended(jni, thread, known.as_deref()));
        if let Some(slot) = known.map(|known| known.slot) {
            self.analyses.iter().for_each(|analysis| analysis.slot_freed(jni, slot));
            lock(self.common.recorder).thread_ended(slot);
        }
        threads.delete_ended(jni);
        let has_ended = self.has_ended.load(Relaxed);
        let is_collector = |it: &Arc<Global>| !has_ended && jni.same(&**it, &thread);
        if self.collector.get().is_some_and(is_collector) {
            self.collect();
        }
    }

    /// Collects garbage, so that the next dump counts no dead object as live.
    fn collect(&self) {
        self.common.jvmti.force_garbage_collection();
        // Epsilon collects nothing.
        self.is_collected.store(bool_flag(c"UseEpsilonGC") != Some(true), Relaxed);
    }

    /// Arranges for a garbage collection when the program ends: the JVM then starts a thread that
    /// does nothing, and the end of this thread is an event. The JVM's death is too late:
    /// concurrent collectors are stopped by then, and a request to them would wait for ever (ZGC of
    /// JDK 17).
    fn add_collector(&self, jni: Jni<'_>) -> Option<()> {
        let thread = self.common.threads.new_own(jni, c"perk collector").ok()?;
        let thread = self.collector.get_or_init(|| thread);
        jni.add_shutdown_hook(&**thread)
    }

    /// Handles the end of the calling virtual thread. Its slot is reused unless traces refer to it.
    pub(crate) fn virtual_thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        let Common { threads, options, recorder, .. } = self.common;
        self.analyses.iter().for_each(|analysis| analysis.virtual_thread_ended(jni, thread));
        if options.distinguishes_all_threads() {
            return;
        }
        if let Some(slot) = threads.take_slot_of_virtual(&thread) {
            self.analyses.iter().for_each(|analysis| analysis.slot_freed(jni, slot));
            lock(recorder).thread_ended(slot);
        }
    }

    fn watch(&self, jni: Jni<'_>, thread: &dyn Reference, is_current: bool) {
        if let Some(thread) = self.common.threads.add(jni, thread, is_current) {
            self.analyses.iter().for_each(|analysis| analysis.thread_began(&thread));
        }
    }

    /// Writes the data since the last dump.
    pub(crate) fn dump(&self) {
        if let Ok(dumping) = self.dumping.try_lock() {
            if self.common.options.gc {
                self.collect();
            }
            self.survey();
            self.write_dump(self.vm.get().and_then(Vm::jni), dumping, false);
        }
    }

    fn write_dump(&self, jni: Option<Jni<'_>>, _dumping: MutexGuard<'_, ()>, last: bool) {
        let Common { options, recorder, .. } = self.common;
        if !lock(recorder).is_begun() {
            return;
        }
        self.progress(DUMP_BEGIN);
        self.settle(last);
        // The heap takes longest, and reports its progress.
        let (first, rest): (Vec<_>, Vec<_>) =
            DumpPart::of(options).partition(|part| *part <= DumpPart::Heap);
        first.iter().for_each(|part| self.progress(part.progress()));
        self.analyses.iter().for_each(|analysis| analysis.dump(jni, last));
        rest.iter().for_each(|part| self.progress(part.progress()));
        let accounting = self.accounting();
        let lines = if last { selection_lines(&accounting) } else { Vec::new() };
        self.is_collected.store(false, Relaxed);
        let printed = lock(recorder).dump(accounting, &self.books, last);
        self.progress(DUMP_END);
        lines.iter().for_each(|line| self.progress(line));
        if let Some(text) = printed {
            // All text is written at once, so that the program's own lines do not come in between,
            // and without the recorder's lock, as stdout may have no reader at the moment. If
            // stdout is closed, it has no reader at all.
            let _ = std::io::stdout().write_all(&text);
        }
    }

    /// Books all data that the analyses have and their books do not.
    fn settle(&self, last: bool) {
        self.analyses.iter().for_each(|analysis| analysis.settle(last));
    }

    /// Determines which objects live.
    fn survey(&self) {
        self.analyses.iter().for_each(|analysis| analysis.survey());
    }

    /// Handles the JVM's death: makes the last dump, if it is wanted, and ends the file.
    pub(crate) fn vm_death(&self, jni: Jni<'_>) {
        self.is_dying.store(true, Relaxed);
        // Waits until the current command is done.
        drop(lock(&self.dumping));
        self.stop();
        self.analyses.iter().for_each(|analysis| analysis.vm_dies(jni));
        self.survey();
        self.end(Some(jni));
        // The original agent's files have the original agent's lines alone.
        let is_own = self.common.options.format == OutputFormat::Extended;
        if is_own && launcher::has_failed(self.common.jvmti, jni) {
            os::say(
                "HPROF WARNING: java found no main class or method to run: what was measured is the start \
                 of the JVM\n",
            );
        }
    }

    /// Whether the file is finished.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Relaxed)
    }

    /// Whether nothing is measured at present.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Relaxed)
    }

    /// Measures nothing from now on.
    ///
    /// # Errors
    /// The reason why that cannot be, in one line.
    pub(crate) fn pause(&self, jni: Jni<'_>) -> Result<(), String> {
        let options = &self.common.options;
        if let Some(refusal) = options.refusal_to_pause() {
            return Err(refusal.for_agent(options));
        }
        if self.is_paused() {
            return Err("it is paused already".to_owned());
        }
        self.pause_samples(jni);
        Ok(())
    }

    /// Measures nothing yet but what is counted exactly. What samplers have seen since they began, a moment
    /// ago, is forgotten.
    fn begin_paused(&self, jni: Jni<'_>) {
        self.pause_samples(jni);
        let _ = self.forget(false);
    }

    /// Measures nothing from now on but what is counted exactly.
    fn pause_samples(&self, jni: Jni<'_>) {
        self.is_paused.store(true, Relaxed);
        self.settle(false);
        // The next dump gathers them again.
        self.drop_gathered();
        self.analyses.iter().for_each(|analysis| analysis.set_paused(jni, true));
    }

    /// Measures again.
    ///
    /// # Errors
    /// It is not paused.
    pub(crate) fn resume(&self, jni: Jni<'_>) -> Result<(), String> {
        if self.has_ended() {
            return Err("the recording has ended, as its duration is over".to_owned());
        }
        if !self.is_paused.swap(false, Relaxed) {
            return Err("it is measured already: nothing is paused".to_owned());
        }
        self.analyses.iter().for_each(|analysis| analysis.set_paused(jni, false));
        Ok(())
    }

    /// Forgets what was measured so far.
    ///
    /// # Errors
    /// The reason why that cannot be, in one line.
    pub(crate) fn reset(&self) -> Result<(), String> {
        self.forget(true)
    }

    /// As [`reset`](Self::reset). Objects that live count as allocated from now on if `with_live` is set.
    fn forget(&self, with_live: bool) -> Result<(), String> {
        let _dumping = lock(&self.dumping);
        if self.is_dying.load(Relaxed) {
            return Err("the program is ending".to_owned());
        }
        self.survey();
        self.settle(false);
        self.analyses.iter().for_each(|analysis| analysis.reset(with_live));
        let _recorder = lock(self.common.recorder);
        self.books.iter().for_each(|book| book.reset(with_live));
        Ok(())
    }

    /// Drops what is booked anew for each dump.
    fn drop_gathered(&self) {
        let _recorder = lock(self.common.recorder);
        self.books.iter().for_each(|book| book.drop_gathered());
    }

    /// Stops the work that has a cost and can be stopped: the output is no longer read, or the JVM
    /// dies.
    pub(crate) fn stop(&self) {
        // perk's threads end.
        self.process_cpu.look(&self.common.threads);
        self.analyses.iter().for_each(|analysis| analysis.stop());
    }

    /// Ends the work of a session in a running program, which continues.
    pub(crate) fn end_work(&self, jni: Jni<'_>) {
        self.is_dying.store(true, Relaxed);
        self.stop();
        self.analyses.iter().for_each(|analysis| analysis.withdraw(jni));
        if self.common.options.gc {
            self.collect();
        }
        self.survey();
    }

    /// Gives up what is large, and the environment. Nobody may be in a callback of the session.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        let Common { jvmti, threads, options, recorder, .. } = self.common;
        self.analyses.iter().for_each(|analysis| analysis.release(jni));
        self.books.iter().for_each(|book| book.release());
        self.common.release();
        threads.release(jni);
        lock(recorder).release(options);
        jvmti.dispose();
    }

    /// Makes the last dump, once. A process that ends without the JVM's knowledge has no help of the
    /// JVM, so its dump has no heap.
    pub(crate) fn end(&self, jni: Option<Jni<'_>>) {
        if self.has_ended.swap(true, Relaxed) {
            self.wait_for_file();
            return;
        }
        self.alarm.ring();
        let Common { options, recorder, .. } = self.common;
        lock(recorder).be_patient();
        // The dump is not skipped: one that was requested a moment ago does not have the data since.
        let dumping = lock(&self.dumping);
        match options.doe {
            true => self.write_dump(jni, dumping, true),
            false => drop(dumping),
        }
        self.analyses.iter().for_each(|analysis| analysis.finish());
        if memory::is_short() {
            os::say(
                "HPROF WARNING: the system refused perk more address space (ulimit -v, ulimit -d): what \
                 had no room is counted without its place, or is missing\n",
            );
        }
        let mut recorder = lock(recorder);
        recorder.discard_unbegun();
        recorder.finish();
    }

    /// Waits until the thread that ends the recording has finished the file: the process ends now.
    fn wait_for_file(&self) {
        let begin = Instant::now();
        while lock(self.common.recorder).is_begun() && begin.elapsed() < LONGEST_END {
            std::thread::sleep(LOOK);
        }
    }

    fn progress(&self, text: &str) {
        // In a program that runs, whoever asked has an answer.
        if self.common.options.verbose && self.common.life == Life::Program {
            os::say(text);
        }
    }

    /// Returns the times up to now.
    fn now(&self) -> StartTimes {
        StartTimes {
            at: Some(Instant::now()),
            process_cpu_ns: os::process_cpu_ns(),
            callback_cpu_ns: guard::callback_cpu_ns(),
            java_cpu_ns: self.common.threads.java_cpu_ns(),
        }
    }

    /// Returns the account up to now; the recorder adds its own counts and the clock's offset.
    fn accounting(&self) -> Accounting {
        let names: Vec<_> = self.analyses.iter().filter_map(|analysis| analysis.name()).collect();
        let since = *lock(&self.since);
        let callbacks_ns = guard::callback_cpu_ns() - since.callback_cpu_ns;
        let mut accounting = Accounting {
            pid: std::process::id(),
            engine: names.join(", "),
            interval_ns: self.common.options.sample_interval_ns(),
            java_cpu_ns: self.common.threads.java_cpu_ns(),
            perk_cpu_ns: callbacks_ns,
            process_cpu_ns: os::process_cpu_ns(),
            perk_peak_bytes: memory::peak_bytes(),
            fault_count: guard::faults(),
            ..Accounting::default()
        };
        if self.common.options.heap_sites && self.common.options.live {
            let is_collected = self.is_collected.load(Relaxed);
            let live = if is_collected { LIVE_COLLECTED } else { LIVE_UNCOLLECTED };
            accounting.live = live.to_owned();
        }
        if let Some(start) = self.start.get() {
            accounting.wall_ns = since.at.unwrap_or(start.at).elapsed().as_nanos() as u64;
            accounting.process_cpu_ns -= since.process_cpu_ns;
            accounting.java_cpu_ns = accounting.java_cpu_ns.saturating_sub(since.java_cpu_ns);
            accounting.jvm.clone_from(&start.jvm);
            accounting.program.clone_from(&start.program);
            if self.common.options.format == OutputFormat::Extended {
                accounting.packages = join(packages::of_class_path(&start.class_path).iter());
            }
        }
        accounting.app = join(self.common.options.app.iter().map(NamePattern::as_str));
        self.analyses.iter().for_each(|analysis| analysis.account(&mut accounting));
        self.process_cpu.account(&self.common.threads, callbacks_ns, &mut accounting);
        self.pauses.sum_up(&mut accounting);
        lock(&self.quota).account(&mut accounting);
        accounting
    }
}

/// Returns the lines on methods without probes and on patterns without a match, if there are any.
fn selection_lines(accounting: &Accounting) -> Vec<String> {
    let named: Vec<_> = accounting.skipped_methods.split(NAME_SEPARATOR).collect();
    let count = accounting.skipped_method_count;
    let skipped = (count > 0).then(|| messages::skipped_methods(count, &named));
    let patterns = &accounting.unmatched_patterns;
    let unmatched = (!patterns.is_empty()).then(|| messages::unmatched_patterns(patterns));
    skipped.into_iter().chain(unmatched).collect()
}
