//! CPU samples by signals: each thread has a clock of its CPU time, whose signal interrupts it where
//! it is. The handler walks its stack through the tables that HotSpot exports for debuggers.
//!
//! 1. [`timers`]: the kernel's events and timers, one a thread.
//! 2. [`handler`]: the walk, into a buffer, and the record of it in the [`ring`].
//! 3. [`intake`]: a thread of the agent reads the records and what their methods are called, and so does
//!    the JVM where it may unload classes.
//! 4. [`names`] and this file: that thread makes symbols of them, and books the samples.
//!
//! A sample represents one interval, or several where walks take long; when it is taken is left to chance
//! (`points.rs`). The place is not biased; see `docs/measuring.md`.

mod handler;
mod intake;
mod names;
mod others;
mod record;
mod ring;
mod timers;
mod virtual_threads;

use std::ffi::{CStr, c_int};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use perk_control::options::OutputFormat;
use perk_hotspot::vm::{Code, VmFrame};
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os::{self, checked, event, timer};
use perk_jvm::sync::lock;
use perk_jvm::{
    Jni, LongField, ObjectRef, ProcessMemory, VirtualThreadFunction, bool_flag, vm_memory,
};
use perk_profile::{Accounting, FrameId, TraceId};
use rustc_hash::FxHashMap;

use self::handler::{HandlerState, on_signal};
use self::intake::{Intake, Records};
use self::names::{Names, Stub, TickNames};
use self::others::NativeThreads;
use self::record::Parts;
use self::ring::Ring;
use self::timers::{Owner, Start, ThreadEnd, Timers};
use self::virtual_threads::VirtualThreads;
use super::books::samples::{NativeTimeBook, SampleBook};
use super::xprof::{self, Tick, Xprof};
use super::{Analysis, Needs};
use crate::common::{Common, MOST_HELPER_FRAMES};
use crate::threads::LiveThread;
use crate::worker::Worker;

/// The time between two looks at the records, which grows to the longest while there are few.
const PERIOD: Duration = Duration::from_millis(50);
const MOST_PERIOD: Duration = Duration::from_millis(200);
const FEW_RECORDS: usize = 50;
/// The beginning of the names of groups of stubs that are functions, such as intrinsics.
const STUB_ROUTINES: &str = "StubRoutines";
/// The words of the ring: 16 MiB, of which pages are used as they are written to.
const RING_WORDS: usize = 1 << 21;

/// The analysis of CPU samples; see the module.
pub(crate) struct Signals {
    common: &'static Common,
    /// The books of samples, if they are booked.
    books: Option<(&'static SampleBook, &'static NativeTimeBook)>,
    /// The analysis that gets all samples as ticks.
    xprof: Option<&'static Xprof>,
    shared: &'static HandlerState,
    interval_ns: u64,
    /// The signal of the timers.
    signal: c_int,
    timers: Mutex<Timers>,
    /// Its lock is held only while records are taken.
    intake: Mutex<Intake>,
    reader: Mutex<Reader>,
    /// The stubs that the reader does not know yet.
    stubs: Mutex<Vec<Stub>>,
    virtual_thread: Option<VirtualThreadFunction>,
    worker: Worker,
    /// The field of `java.lang.Thread` that has the address of the JVM's thread.
    address: OnceLock<LongField>,
    vm: OnceLock<perk_jvm::Vm>,
    worker_cpu_ns: AtomicU64,
}

/// The state of the thread that reads records.
#[derive(Debug, Default)]
struct Reader {
    names: Names,
    others: NativeThreads,
    virtual_threads: VirtualThreads,
    records: Records,
    /// The frames of a stack and their symbols.
    frames: Vec<VmFrame>,
    found: Vec<FrameId>,
    /// The trace of each thread's last sample, by the thread's number.
    last_traces: FxHashMap<u64, TraceId>,
    /// The samples whose stack is not complete.
    broken_count: u64,
    /// The samples without a Java frame.
    without_java_count: u64,
    /// The samples of virtual threads.
    virtual_count: u64,
}

impl Signals {
    /// Makes the analysis.
    ///
    /// # Errors
    /// The reason why this JVM or system cannot have it, in one line.
    pub(crate) fn new(
        common: &'static Common,
        books: Option<(&'static SampleBook, &'static NativeTimeBook)>,
        xprof: Option<&'static Xprof>,
    ) -> Result<Self, String> {
        let signal = timer::free_signal(on_signal).ok_or("no real-time signal is free")?;
        let least_depth = xprof.map_or(0, |_| xprof::LEAST_DEPTH);
        let depth = common.depth().max(least_depth) as usize + MOST_HELPER_FRAMES;
        let interval_ns = common.options.sample_interval_ns();
        let shared = match HandlerState::again(common.options.native, depth) {
            Some(shared) => shared,
            None => Box::leak(Box::new(new_shared(common.options.native, depth)?)),
        };
        Ok(Self {
            common,
            books,
            xprof,
            shared,
            interval_ns,
            signal,
            timers: Mutex::new(Timers::new(signal, interval_ns, common.options.native)),
            intake: Mutex::new(Intake::new(common.options.lineno)),
            reader: Mutex::default(),
            stubs: Mutex::default(),
            virtual_thread: common.jvmti.virtual_thread_function(),
            worker: Worker::default(),
            address: OnceLock::new(),
            vm: OnceLock::new(),
            worker_cpu_ns: AtomicU64::new(0),
        })
    }

    /// Starts the thread that reads the records, once.
    pub(super) fn start(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let find = || {
            let thread = jni.find_class(c"java/lang/Thread")?;
            jni.long_field(&thread, c"eetop")
        };
        let address = find().ok_or("java.lang.Thread does not know the JVM's thread")?;
        let _ = self.address.set(address);
        let _ = self.vm.set(jni.vm().ok_or("no JVM")?);
        // The JVM would report on stdout that its handlers are not there.
        if bool_flag(c"CheckJNICalls") != Some(true) {
            checked::install();
        }
        if self.common.options.distinguishes_all_threads()
            && let Some(offset) = virtual_threads::id_offset(self.common, &self.shared.vm, jni)
        {
            self.shared.id_offset.store(offset, Relaxed);
        }
        self.shared.publish();
        // SAFETY: the handler keeps to what its module says.
        unsafe { timer::handle(self.signal, on_signal) }.map_err(|error| error.to_string())?;
        event::survive_overflows();
        self.shared.is_on.store(true, Relaxed);
        if let Some(xprof) = self.xprof {
            xprof.begin();
        }
        for thread in self.common.threads.all() {
            self.watch(jni, &thread);
        }
        self.worker.start(self.common, jni, c"perk sampler", |_| self.run())
    }

    /// Gives a thread a timer.
    fn watch(&self, jni: Jni<'_>, thread: &LiveThread) {
        let Some(&address) = self.address.get() else { return };
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let java_thread = unsafe { jni.get_long(thread, address) } as usize;
        let tid =
            || self.shared.vm.os_thread_id(&ProcessMemory, java_thread).map(os::Tid::from_number);
        let owner = Owner::Java(thread.slot);
        let mut timers = lock(&self.timers);
        if let Some(tid) =
            thread.tid().or_else(tid).filter(|_| java_thread != 0 && !timers.has(owner))
        {
            self.common.threads.know_tid(thread, tid);
            // What perk itself did on the thread before does not count.
            let cpu_ns = tid.cpu_ns().unwrap_or_else(|| thread.first_cpu_ns());
            thread.begin_at(cpu_ns);
            timers.add(owner, Start { tid, java_thread, cpu_ns, interval_ns: self.interval_ns });
            if let (Some(xprof), Some(number)) = (self.xprof, timers.number(owner)) {
                xprof.thread_began(number, thread.slot, tid);
            }
        }
    }

    /// Reads records until it is stopped.
    fn run(&self) {
        let mut deadline = Instant::now();
        let mut period = PERIOD;
        loop {
            deadline = (deadline + period).max(Instant::now());
            let is_over = self.worker.wait_until(deadline);
            period = match self.read(false) {
                true => (2 * period).min(MOST_PERIOD),
                false => PERIOD,
            };
            if let Some(xprof) = self.xprof {
                xprof.flush();
            }
            self.worker_cpu_ns.store(os::thread_cpu_ns(), Relaxed);
            if is_over {
                return;
            }
        }
    }

    /// Books the samples of the records so far; the last ones may be waited for another time. Returns
    /// whether there were few, which do not have to be read soon: the threads of virtual ones are known while
    /// they run.
    fn read(&self, is_last: bool) -> bool {
        checked::verify();
        let ended = lock(&self.timers).take_ended();
        let mut reader = lock(&self.reader);
        if self.shared.is_on.load(Relaxed) {
            lock(&self.timers).refine();
        }
        let takes_others =
            self.books.is_some() && self.common.options.format == OutputFormat::Extended;
        if takes_others && self.shared.is_on.load(Relaxed) {
            let mut timers = lock(&self.timers);
            reader.others.look(&self.common.threads, &mut timers, self.interval_ns);
        }
        let mut records = std::mem::take(&mut reader.records);
        let (texts, is_empty) = {
            let mut intake = lock(&self.intake);
            let is_empty = intake.fill(self.shared);
            (intake.take(&mut records), is_empty)
        };
        reader.names.learn(self.common, texts);
        reader.names.learn_stubs(std::mem::take(&mut *lock(&self.stubs)));
        records.iter().for_each(|words| self.book(&mut reader, words));
        let are_few = records.len() < FEW_RECORDS && reader.virtual_count == 0;
        reader.records = records;
        reader.virtual_threads.forget_passing(self.common);
        if !is_empty && !is_last {
            // Records of theirs may still come.
            lock(&self.timers).put_back(ended);
            return are_few;
        }
        let book = self.books.map(|it| it.0);
        let Reader { last_traces, without_java_count, .. } = &mut *reader;
        for ended in &ended {
            let &ThreadEnd { owner, expired_count, unseen_count, at_ns, .. } = ended;
            let Owner::Java(slot) = owner else { continue };
            if let Some(xprof) = self.xprof {
                xprof.thread_settled(ended.number(), expired_count, unseen_count);
            }
            match last_traces.remove(&ended.number()).zip(book) {
                _ if unseen_count == 0 => {}
                Some((trace, book)) => {
                    let recorder = &mut lock(self.common.recorder);
                    book.book(recorder, trace, slot, unseen_count, at_ns);
                }
                None => *without_java_count += unseen_count,
            }
            lock(self.common.recorder).let_go(slot);
        }
        drop(reader);
        lock(&self.timers).forget(&ended);
        are_few
    }

    /// Books the sample of a record.
    fn book(&self, reader: &mut Reader, words: &[u64]) {
        let Some(Parts { head, frames: walked, kernel, stack }) = record::parts(words) else {
            return;
        };
        let owner = lock(&self.timers).owner(head.thread);
        let Reader { names, frames, found, .. } = reader;
        let (common, vm) = (self.common, &self.shared.vm);
        frames.clear();
        frames.extend(walked);
        if let (Some(xprof), Some(Owner::Java(_))) = (self.xprof, owner) {
            let tick = Tick { thread: head.thread, count: head.count, frames };
            xprof.tick(tick, &mut TickNames { vm, names });
        }
        let Some((book, native_book)) = self.books else { return };
        found.clear();
        names.add_kernel(common, kernel, found);
        if !stack.is_empty() {
            names.add_native(common, vm, head.registers, stack, found);
        }
        match owner {
            Some(Owner::Java(slot)) => {
                // The carrier's frames are not the virtual thread's.
                let mut is_virtual = false;
                let frames = frames.iter().copied().take_while(|frame| {
                    let is_border =
                        matches!(frame.kind, Code::Continuation | Code::FrozenContinuation);
                    is_virtual |= is_border;
                    !is_border
                });
                let native_count = found.len();
                names.add_frames(common, vm, frames, found);
                found.truncate(common.depth() as usize);
                if is_virtual {
                    reader.virtual_count += head.count;
                    reader.virtual_threads.describe(vm, self.vm.get().and_then(perk_jvm::Vm::jni));
                }
                if !head.is_complete {
                    reader.broken_count += head.count;
                }
                if found.len() <= native_count {
                    reader.without_java_count += head.count;
                    return;
                }
                let slot = match head.virtual_id {
                    _ if is_virtual && common.options.platform_threads => {
                        lock(common.recorder).virtual_threads()
                    }
                    id if is_virtual && id != 0 => {
                        let jni = self.vm.get().and_then(perk_jvm::Vm::jni);
                        let function = self.virtual_thread;
                        reader.virtual_threads.slot(common, jni, function, slot, id)
                    }
                    _ => slot,
                };
                let recorder = &mut lock(common.recorder);
                let trace = book.sample(recorder, slot, found, head.count, head.time_ns);
                reader.last_traces.insert(head.thread, trace);
            }
            Some(Owner::Native(tid)) => {
                let Some(name) = reader.others.name(tid) else { return };
                found.push(names.group(common, name));
                let ns = head.count * others::interval_ns(self.interval_ns);
                native_book.book(&mut lock(common.recorder), found, ns);
            }
            None => {}
        }
    }
}

/// Makes the state of the handlers.
fn new_shared(has_native: bool, depth: usize) -> Result<HandlerState, String> {
    let vm = vm_memory::structures().map_err(|missing| missing.to_string())?;
    let no_memory = |error| format!("no memory: {error}");
    let ring = Ring::new(RING_WORDS).map_err(no_memory)?;
    HandlerState::new(vm, ring, has_native, depth).map_err(no_memory)
}

impl Analysis for Signals {
    fn name(&self) -> Option<&'static str> {
        Some("signal")
    }

    fn feature(&self) -> Feature {
        Feature::Sampling
    }

    fn task(&self) -> &'static str {
        "sample"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        let jni = self.vm.get().and_then(perk_jvm::Vm::jni);
        if let Some(jni) = jni.filter(|_| self.shared.is_on.load(Relaxed)) {
            self.watch(jni, thread);
        }
    }

    fn thread_ended(&self, jni: Jni<'_>, this: ObjectRef<'_>, known: Option<&LiveThread>) {
        if let Some(thread) = known {
            let owner = Owner::Java(thread.slot);
            let Some(number) = lock(&self.timers).number(owner) else { return };
            if let Some(xprof) = self.xprof {
                xprof.thread_ends(jni, this, number);
            }
            // Its last records are not read yet.
            lock(self.common.recorder).hold(thread.slot);
            lock(&self.timers).remove(owner);
        }
    }

    fn collection_started(&self) {
        contain(Feature::Sampling, || _ = lock(&self.intake).fill(self.shared));
    }

    fn stub_made(&self, name: &CStr, addresses: Range<usize>) {
        let vm = &self.shared.vm;
        let group = vm
            .code_name(&ProcessMemory, addresses.start)
            .map(|group| vm.text(&ProcessMemory, group));
        // The other groups are one stub each, or many that are alike.
        if group.is_some_and(|group| group.starts_with(STUB_ROUTINES)) {
            let name = name.to_string_lossy().into_owned();
            lock(&self.stubs).push(Stub { name, addresses });
        }
    }

    fn set_paused(&'static self, jni: Jni<'_>, is_paused: bool) {
        self.shared.is_on.store(!is_paused, Relaxed);
        match is_paused {
            true => lock(&self.timers).clear(),
            false => self.common.threads.all().iter().for_each(|thread| self.watch(jni, thread)),
        }
    }

    fn stop(&self) {
        self.shared.is_on.store(false, Relaxed);
        lock(&self.timers).clear();
        self.worker.stop();
    }

    fn settle(&self, is_last: bool) {
        self.read(is_last);
    }

    fn finish(&self) {
        self.read(true);
        let lost_count = self.shared.lost_count.load(Relaxed);
        if lost_count > 0 {
            os::say(&format!(
                "HPROF WARNING: {lost_count} samples were lost: they came faster than they could be \
                 read\n"
            ));
        }
        let refused_count = lock(&self.timers).refused_count();
        if refused_count > 0 {
            os::say(&format!(
                "HPROF WARNING: {refused_count} threads have no samples: the kernel has no timers for \
                 them (ulimit -i)\n"
            ));
        }
    }

    fn release(&'static self, _: Jni<'_>) {
        *lock(&self.reader) = Reader::default();
        *lock(&self.intake) = Intake::new(false);
        lock(&self.timers).release();
    }

    fn account(&self, accounting: &mut Accounting) {
        let reader = lock(&self.reader);
        accounting.walk_count += self.shared.walk_count.load(Relaxed);
        accounting.failed_walk_count += reader.broken_count;
        accounting.virtual_sample_count += reader.virtual_count;
        accounting.unattributed_count +=
            reader.without_java_count + self.shared.lost_count.load(Relaxed);
        accounting.perk_cpu_ns +=
            self.worker_cpu_ns.load(Relaxed) + self.shared.walk_ns.load(Relaxed);
    }
}
