//! The exact engine: probes in every method count calls and time them, in calling context.
//!
//! 1. [`classes`] puts probes into each class that the JVM loads, from the first on.
//! 2. The probes call a helper class in java.base ([`natives`]), which walks a tree of calling
//!    contexts in native memory ([`tree`]); [`threads`] gives each thread one.
//!    Native methods have no code that could hold probes: [`trampolines`] count them.
//! 3. [`clock`] keeps the time in words of memory that the probes read.
//! 4. At a dump the trees' counts are booked on the profile, by the recorder.

mod classes;
mod clock;
mod hidden;
mod interception;
mod natives;
mod reflection;
mod selection;
mod sites;
mod threads;
mod trampolines;
mod tree;

use std::ffi::{CString, c_void};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use perk_control::options::{Clock as ClockOption, TimesForm, TimingMethod};
use perk_hotspot::PLAIN_ADDRESS_FLAGS;
use perk_instrument::fields::{OBJECT_RECORD, THREAD_STACK, THREAD_TREE};
use perk_instrument::{Names, Probes};
use perk_jvmti_sys::jni_sys::jvalue;
use perk_jvmti_sys::{Capability, JVMTI_EVENT_NATIVE_METHOD_BIND};
use perk_profile::{Accounting, NAME_SEPARATOR, mutf8};
use rustc_hash::FxHashMap;

use self::classes::Classes;
use self::clock::Clock;
use self::selection::Selection;
use self::sites::{AllocationSites, Key};
use self::trampolines::Trampolines;
use self::tree::{Contexts, Place, Tree, TreePool};
use super::heap_dump::ArrayRecords;
use super::{Analysis, Event, Needs};
use crate::common::Common;
use crate::guard::Feature;
use crate::jvm::{Borrowed, Global, Image, Jni, Local, LongField, MethodRef, NewObject, bool_flag};
use crate::recorder::{Calls, ProbeCost, SitePaths};
use crate::roster::Slot;
use crate::sync::lock;
use crate::threads::LiveThread;
use crate::{hook, os};

/// In the place of a tree: the thread has ended. PerkProbes has the same.
const ENDED: i64 = -1;
/// Calls made at once to measure what a call's probes cost, and for how long.
const CALIBRATION_CALLS: i32 = 100_000;
const FEW_CALIBRATION_CALLS: i32 = 2_000;
const CALIBRATION_NS: i64 = 8_000_000;
/// It is measured so often, and then until it gets no less: on a busy machine code is compiled late.
const FEWEST_CALIBRATIONS: u32 = 3;
const MOST_CALIBRATIONS: u32 = 12;
const CALIBRATION_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);
/// No method of the program has this number.
const CALIBRATION_METHOD: i32 = i32::MAX - 1;

/// Recorded to this depth or deeper, call paths are told apart whole, and recursion is folded.
const WHOLE_DEPTH: u32 = 256;

/// See the module.
#[derive(Debug)]
pub(crate) struct ExactEngine {
    common: &'static Common,
    pool: TreePool,
    clock: &'static Clock,
    timing: Timing,
    lines: bool,
    per_thread: bool,
    with_calls: bool,
    sites: Option<AllocationSites>,
    classes: Classes,
    trampolines: Trampolines,
    helper: OnceLock<&'static Global>,
    fields: OnceLock<Fields>,
    calibration: OnceLock<ProbeCost>,
    unseen_class_count: AtomicU64,
    stopped: AtomicBool,
}

/// How probes read the time; the numbers are those of PerkProbes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    None = 1,
    CpuTick = 2,
    WallTick = 3,
    WallExact = 4,
}

/// What a tree has counted.
#[derive(Debug)]
struct Counted {
    /// Calls since the last dump.
    calls: Vec<Calls>,
    /// Where objects were allocated.
    paths: SitePaths,
}

/// perk's fields of `java.lang.Thread`.
#[derive(Clone, Copy, Debug)]
struct Fields {
    stack: LongField,
    tree: LongField,
}

impl ExactEngine {
    /// The engine that the options ask for, if they ask for one.
    ///
    /// # Errors
    /// What is wrong with the options, for one line.
    pub(crate) fn new(common: &'static Common) -> Result<Option<Self>, String> {
        let Common { jvmti, options, .. } = common;
        let jvmti = *jvmti;
        let with_calls = options.cpu.times.is_some();
        let sites = AllocationSites::new(jvmti, options)?;
        if !with_calls && sites.is_none() {
            return Ok(None);
        }
        let timing = match (options.timing, options.clock()) {
            _ if !with_calls => Timing::None,
            (TimingMethod::None, _) => Timing::None,
            (TimingMethod::Exact, _) => Timing::WallExact,
            (TimingMethod::Tick, ClockOption::Cpu) => Timing::CpuTick,
            (TimingMethod::Tick, ClockOption::Wall) => Timing::WallTick,
        };
        let selection = Selection::new(&options.include, &options.exclude);
        let with_paths = sites.as_ref().is_some_and(AllocationSites::with_paths);
        let lines = with_paths && options.lineno;
        let unwinding = !selection.is_everything();
        // Drawn: the standard library's hash maps have a secret of their own.
        let names = Names::ending_with(RandomState::new().build_hasher().finish());
        let object_record = with_paths;
        let probes = Probes { unwinding, lines, heap: sites.is_some(), object_record, names };
        let mut depth = 0;
        if with_calls {
            depth = options.timing_depth;
        }
        if with_paths {
            depth = depth.max(options.depth);
        }
        Ok(Some(Self {
            common,
            pool: TreePool::new(
                contexts(depth),
                options.max_nodes,
                matches!(timing, Timing::WallTick | Timing::WallExact),
            ),
            clock: Box::leak(Box::new(Clock::new())),
            timing,
            lines,
            per_thread: options.thread,
            with_calls,
            sites,
            classes: Classes::new(probes, with_calls || with_paths, selection, Image::of(jvmti)),
            trampolines: Trampolines::default(),
            helper: OnceLock::new(),
            fields: OnceLock::new(),
            calibration: OnceLock::new(),
            unseen_class_count: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }))
    }

    /// The program is about to begin, and the probes begin to count.
    fn start(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let Common { jvmti, recorder, .. } = *self.common;
        let helper = *self.helper.get().ok_or("no helper class")?;
        if !natives::is_bound() {
            return Err("its native methods could not be bound".to_owned());
        }
        let class = jni.find_class(c"java/lang/Thread").ok_or("no java.lang.Thread")?;
        let field = |plain| {
            let name = CString::new(self.names().of(plain)).ok()?;
            jni.long_field(&class, &name)
        };
        let (stack, tree) =
            field(THREAD_STACK).zip(field(THREAD_TREE)).ok_or("no fields in java.lang.Thread")?;
        let fields = Fields { stack, tree };
        let _ = self.fields.set(fields);
        if matches!(self.timing, Timing::CpuTick | Timing::WallTick) {
            let started = self.clock.start(self.timing == Timing::CpuTick);
            started.map_err(|error| format!("no clock thread: {error}"))?;
        }
        if let Some(sites) = &self.sites {
            sites.vm_init(jni, helper, &self.classes, recorder)?;
            interception::begin(jvmti, jni, self)?;
        }
        let arguments = [
            jvalue { i: self.timing as i32 },
            jvalue { i: if self.lines { 2 } else { 1 } },
            jvalue { j: self.clock.wall_word() as i64 },
            jvalue { j: self.pool.nil() as i64 },
            jvalue { j: self.pool.unborn() as i64 },
        ];
        if self.counts_natives() {
            trampolines::begin(self);
        }
        let enabled = jvmti.enable(JVMTI_EVENT_NATIVE_METHOD_BIND);
        enabled.map_err(|error| format!("the JVM does not report native methods: {error}"))?;
        // Those of agents before this one on the command line may have begun.
        hook::overtaken();
        // SAFETY: the arguments are those of the helper's method.
        let started = unsafe { jni.call_static_long(helper, c"start", c"(IIJJJ)J", &arguments) };
        started.map(|_| ()).ok_or_else(|| "the helper class does not start".to_owned())
    }

    /// The names of what is added to the JVM.
    fn names(&self) -> Names {
        self.classes.names()
    }

    /// Whether objects hold the index of their record.
    fn with_records(&self) -> bool {
        self.sites.as_ref().is_some_and(AllocationSites::with_paths)
    }

    /// Whether allocations are counted.
    fn counts_allocations(&self) -> bool {
        self.sites.is_some()
    }

    /// Whether calls of native methods are counted.
    fn counts_natives(&self) -> bool {
        self.with_calls || self.with_records()
    }

    /// The JVM binds a native method: answers what to bind in the place of its function.
    fn bind(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let Common { jvmti, recorder, .. } = *self.common;
        let class = jvmti.declaring_class(jni, method).ok()?;
        let class = jvmti.class_signature(&class).ok()?;
        let class = class.strip_prefix('L')?.strip_suffix(';')?;
        if class == "sun/instrument/InstrumentationImpl" {
            let (name, signature) = jvmti.method_name(method).ok()?;
            return hook::watched(&name, &signature, function);
        }
        if class == hidden::CLASS && self.with_records() {
            let (name, signature) = jvmti.method_name(method).ok()?;
            return hidden::bind(self, &name, &signature, function);
        }
        let class_name = mutf8::encode(class);
        if !self.classes.counts_natives_of(&class_name) {
            return None;
        }
        let (name, signature) = jvmti.method_name(method).ok()?;
        if !self.classes.selects(&class_name, &mutf8::encode(&name)) {
            return None;
        }
        let number = self.classes.native_number(recorder, class, &name, &signature);
        let trampoline = self.trampolines.bind(number, &signature, function);
        if trampoline.is_none() {
            let method = format!("{}.{name}{signature}", class.replace('/', "."));
            self.classes.skip(&method, &format!("more than {} native methods", trampolines::COUNT));
        }
        trampoline
    }

    /// The calling thread calls a native method. Answers whether it is counted, and is to be left.
    fn enter_native(&self, jni: Jni<'_>, number: u32) -> bool {
        let Some(thread) = self.common.jvmti.current_thread(jni) else { return false };
        let Some((tree, top)) = self.own_tree(jni, &thread.borrowed()) else { return false };
        // SAFETY: it is the top of the calling thread's stack.
        let line = if self.lines { unsafe { Tree::place_at(top) }.line } else { 0 };
        let top = tree.enter(&self.pool, top, number, line, self.now_ns(tree));
        self.set_top(jni, &thread, top);
        true
    }

    /// It returns.
    fn leave_native(&self, jni: Jni<'_>, number: u32) {
        let Some(thread) = self.common.jvmti.current_thread(jni) else { return };
        if let Some((tree, top)) = self.own_tree(jni, &thread.borrowed()) {
            let kept = tree.unwind(top, number, true, self.now_ns(tree));
            self.set_top(jni, &thread, kept);
            tree.clear(top, kept);
        }
    }

    /// What a tree has counted.
    fn count(&self, tree: &Tree, last: bool) -> Counted {
        let calls = if self.with_calls { tree.calls(self.now_ns(tree), last) } else { Vec::new() };
        let paths = self.sites.as_ref().map(|sites| sites.paths(tree)).unwrap_or_default();
        Counted { calls, paths }
    }

    /// The number of a class; 0 if it gets none.
    fn class_number(&self, jni: Jni<'_>, class: &Borrowed<'_>) -> u32 {
        match (&self.sites, self.helper.get()) {
            (Some(sites), Some(&helper)) => {
                sites.number(jni, helper, &self.classes, self.common.recorder, class)
            }
            _ => 0,
        }
    }

    /// Whether the `clone` of a class with instances is that of `java.lang.Object`.
    fn inherits_clone(&self, jni: Jni<'_>, class: &Borrowed<'_>) -> bool {
        let method = jni.method(class, c"clone", c"()Ljava/lang/Object;");
        let class = method.and_then(|method| self.common.jvmti.declaring_class(jni, method).ok());
        class.is_some_and(|class| jni.superclass(&class).is_none())
    }

    /// Native code has made an object by JNI.
    fn made_by_jni(&self, jni: Jni<'_>, object: Borrowed<'_>) {
        let (thread, class) = (self.common.jvmti.current_thread(jni), jni.class_of(&object));
        let size_bytes = self.common.jvmti.object_bytes(&object);
        if let (Some(thread), Some(class), Some(size_bytes), Some(sites)) =
            (thread, class, size_bytes, &self.sites)
        {
            let (thread, class) = (thread.borrowed(), class.borrowed());
            let made = NewObject { thread, object, class, size_bytes };
            self.at_place(jni, &made, |tree, _, key| sites.count(jni, tree, key, &made));
        }
    }

    /// Runs `body` with the place at which the calling thread has got an object.
    fn at_place(&self, jni: Jni<'_>, made: &NewObject<'_>, body: impl FnOnce(&Tree, Place, Key)) {
        let Some((tree, top)) = self.own_tree(jni, &made.thread) else { return };
        let class = self.class_number(jni, &made.class);
        if class != 0 {
            // SAFETY: it is the top of the calling thread's stack.
            let place = unsafe { Tree::place_at(top) };
            let line = if self.lines { place.line } else { 0 };
            body(tree, place, Key { node: place.node, class, line });
        }
    }

    /// The time now, on the clock of a tree's thread.
    fn now_ns(&self, tree: &Tree) -> u64 {
        match self.timing {
            Timing::None => 0,
            Timing::CpuTick => tree.cpu_ns.load(Relaxed),
            Timing::WallTick => self.clock.wall_ns(),
            Timing::WallExact => os::nano_time(),
        }
    }

    /// Counts the classes that no agent is shown: the hidden ones, in whose signature the JVM writes a
    /// dot before what makes them unique.
    fn count_unseen(&self, jni: Jni<'_>) {
        let classes = self.common.jvmti.loaded_classes(jni).unwrap_or_default();
        let is_hidden = |class: &Local<'_>| {
            self.common.jvmti.class_signature(class).is_ok_and(|signature| signature.contains('.'))
        };
        let count = classes.iter().filter(|class| is_hidden(class)).count();
        self.unseen_class_count.store(count as u64, Relaxed);
    }

    /// Measures what probes cost, by calling them: once, before the first dump.
    fn calibrate(&self, jni: Jni<'_>) {
        let Some(&helper) = self.helper.get() else { return };
        if self.timing == Timing::None || self.calibration.get().is_some() {
            return;
        }
        let tree = self.pool.scratch();
        let run = |calls: i32| {
            let tree = jvalue { j: tree.address() as i64 };
            let arguments = [tree, jvalue { i: CALIBRATION_METHOD }, jvalue { i: calls }];
            // SAFETY: the arguments are those of the helper's method.
            unsafe { jni.call_static_long(helper, c"calibrate", c"(JII)J", &arguments) }
        };
        // Where nothing is compiled, fewer must do. The second calls have the loop compiled.
        let Some(few_ns) = run(FEW_CALIBRATION_CALLS) else { return };
        let is_slow = few_ns > CALIBRATION_NS / 10;
        let calls = if is_slow { FEW_CALIBRATION_CALLS } else { CALIBRATION_CALLS };
        if run(calls).is_none() {
            return;
        }
        self.clock.carry(tree);
        // What the first calls took is left out: a dump begins where the last one ended.
        tree.calls(0, false);
        let mut least: Option<(i64, f64)> = None;
        for round in 1..=MOST_CALIBRATIONS {
            let Some(measured) = self.calibrated(tree, || run(calls)) else { break };
            let is_less = |(known, _): (i64, f64)| measured.0 * 20 < known * 19;
            let improved = least.is_none_or(is_less);
            if least.is_none_or(|least| measured.0 < least.0) {
                least = Some(measured);
            }
            if round >= FEWEST_CALIBRATIONS && !improved {
                break;
            }
            // The JIT may be waiting for a CPU with what it makes of the probes.
            std::thread::sleep(CALIBRATION_PAUSE);
        }
        if !self.clock.put_down() {
            self.clock.thread_ended();
        }
        let Some((least_ns, inside)) = least else { return };
        let call_ps = least_ns as f64 * 1000.0 / f64::from(calls);
        let cost = ProbeCost {
            self_ps: (call_ps * inside) as u64,
            caller_ps: (call_ps * (1.0 - inside)) as u64,
        };
        let _ = self.calibration.set(cost);
    }

    /// One measurement: the least that `run` took, and how much of the time was between the probes of
    /// entry and exit.
    fn calibrated(&self, tree: &Tree, run: impl Fn() -> Option<i64>) -> Option<(i64, f64)> {
        let (mut all_ns, mut least_ns) = (0, i64::MAX);
        self.clock.refresh();
        let begin_ns = self.now_ns(tree);
        while all_ns < CALIBRATION_NS {
            let took_ns = run()?.max(1);
            least_ns = least_ns.min(took_ns);
            all_ns += took_ns;
        }
        self.clock.refresh();
        // On the clock of the calls: others may have had the CPU.
        let spent_ns = self.now_ns(tree).saturating_sub(begin_ns).max(1);
        let inside_ns = tree.calls(0, false).iter().map(|node| node.total_ns).sum::<u64>();
        Some((least_ns, (inside_ns as f64 / spent_ns as f64).clamp(0.0, 1.0)))
    }

    /// Books what was counted.
    fn book(&self, thread: Option<Slot>, counted: &Counted) {
        let mut recorder = lock(self.common.recorder);
        match self.common.options.cpu.times {
            Some(TimesForm::Old) => recorder.book_edges(thread, &counted.calls, self.probe_cost()),
            Some(TimesForm::Times) => {
                recorder.book_calls(thread, &counted.calls, self.probe_cost())
            }
            None => {}
        }
        recorder.book_paths(thread, &counted.paths);
    }

    /// What the probes of a call cost, as far as it is known.
    fn probe_cost(&self) -> ProbeCost {
        self.calibration.get().copied().unwrap_or_default()
    }
}

impl Analysis for ExactEngine {
    fn name(&self) -> Option<&'static str> {
        Some("exact")
    }

    fn feature(&self) -> Feature {
        Feature::Probes
    }

    fn task(&self) -> &'static str {
        "count calls"
    }

    fn needs(&self) -> Needs {
        let mut needs = Needs {
            events: vec![Event::VmStart, Event::ClassFile, Event::VirtualThreadEnd],
            capabilities: vec![Capability::CanGenerateEarlyVmstart],
            ..Needs::default()
        };
        if self.sites.is_some() {
            needs.events.push(Event::ObjectMade);
        }
        // Hidden classes get their field where a native method defines them.
        match self.with_records() {
            true => needs.events.push(Event::NativeBind),
            false => needs.later_events.push(Event::NativeBind),
        }
        needs
    }

    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        // Every class has probes that call the helper: without it no program can run.
        let helper = natives::define_helper(self.common.jvmti, jni, self)
            .map_err(|reason| format!("perk's probes do not work in this JVM: {reason}"))?;
        let _ = self.helper.set(helper);
        Ok(())
    }

    fn prepare(&'static self, _: Jni<'_>) {
        if let Some(&helper) = self.helper.get() {
            let methods = self.common.jvmti.class_methods(helper);
            self.common.set_helper_methods(methods.unwrap_or_default());
        }
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        self.start(jni)
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>, known: Option<&LiveThread>) {
        self.leave_platform(jni, &thread, |it| self.book(known.map(|known| known.slot), it));
    }

    fn virtual_thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>) {
        let Common { options, threads, .. } = self.common;
        self.leave_virtual(jni, &thread, |counted| {
            let slot = options.thread.then(|| threads.slot_of_virtual(jni, &thread)).flatten();
            self.book(slot, counted);
        });
    }

    fn class_file(&self, bytes: &[u8], redefined: Option<Borrowed<'_>>) -> Option<Vec<u8>> {
        if hook::is_done(bytes) {
            return None;
        }
        // Its fields must stay the same.
        let has_record = redefined.map(|class| {
            let name = self.names().of(OBJECT_RECORD);
            // One that does not tell has what a new one gets.
            let field = self.common.jvmti.declared_int_field(&class, &name);
            field.map_or(true, |field| field.is_some())
        });
        self.classes.transform(self.common.recorder, bytes, has_record)
    }

    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        self.bind(jni, method, function)
    }

    /// Unless Java code has made it that the JVM called.
    fn object_made(&self, jni: Jni<'_>, made: &NewObject<'_>) {
        let Some(sites) = &self.sites else { return };
        if sites.is_probed(jni) {
            return;
        }
        self.at_place(jni, made, |tree, place, key| {
            let has_called = place.last != self.pool.nil();
            if !has_called || !sites.is_counted(jni, tree, key.class, made) {
                sites.count(jni, tree, key, made);
            }
        });
    }

    fn vm_dies(&self, jni: Jni<'_>) {
        self.calibrate(jni);
        self.count_unseen(jni);
        // No new threads are counted from now on.
        self.stopped.store(true, Relaxed);
        self.clock.stop();
    }

    fn survey(&self) {
        if let Some(sites) = &self.sites {
            sites.settle(&self.classes, self.common.recorder, &self.pool.trees());
        }
    }

    fn settle(&self, last: bool) {
        // Before their paths: of what comes in between no path would be known.
        let objects = self.sites.as_ref().map(|sites| (sites.objects(), Instant::now()));
        self.clock.refresh();
        let threads = self.clock.threads();
        for tree in self.pool.trees() {
            let owner = threads.iter().find(|(_, own)| std::ptr::eq(*own, tree));
            let thread = owner.and_then(|&(tid, _)| self.common.threads.slot_of_tid(tid));
            self.book(thread, &self.count(tree, last));
        }
        if let Some((objects, moment)) = objects {
            lock(self.common.recorder).book_objects(&objects, moment);
        }
    }

    fn account(&self, accounting: &mut Accounting) {
        let read = |count: &AtomicU64| count.load(Relaxed);
        let counts = &self.classes.counts;
        let (clock, timing) = match self.timing {
            Timing::None if !self.with_calls => ("", ""),
            Timing::None => ("", "none"),
            Timing::CpuTick => ("cpu", "tick"),
            Timing::WallTick => ("wall", "tick"),
            Timing::WallExact => ("wall", "exact"),
        };
        let cost = self.probe_cost();
        accounting.probe_self_ps = cost.self_ps;
        accounting.probe_caller_ps = cost.caller_ps;
        accounting.clock = clock.to_owned();
        accounting.timing = timing.to_owned();
        accounting.call_node_count = self.pool.node_count();
        accounting.instrumented_class_count = read(&counts.classes);
        accounting.instrumented_method_count = read(&counts.methods);
        let skipped = self.classes.skipped();
        accounting.skipped_method_count = skipped.count;
        accounting.skipped_methods = skipped.names.join(NAME_SEPARATOR);
        accounting.excluded_class_count = read(&counts.excluded_classes);
        accounting.unmatched_patterns = self.classes.unmatched_patterns().join(NAME_SEPARATOR);
        accounting.unseen_class_count = read(&self.unseen_class_count);
        accounting.instrument_cpu_ns = read(&counts.cpu_ns);
        accounting.perk_cpu_ns += self.clock.own_cpu_ns();
        if let Some(sites) = &self.sites {
            accounting.unsited_object_count = sites.unsited_count();
            accounting.perk_peak_bytes += sites.used_bytes();
        }
    }
}

impl ArrayRecords for ExactEngine {
    /// With collectors that let them be had. A thread that stopped while it was booking an array keeps
    /// the arrays of its tree to itself.
    unsafe fn array_records(&self) -> FxHashMap<u64, u32> {
        if !PLAIN_ADDRESS_FLAGS.iter().any(|flag| bool_flag(flag) == Some(true)) {
            return FxHashMap::default();
        }
        let trees = self.pool.trees();
        let sites = trees.iter().filter_map(|tree| tree.try_sites());
        // SAFETY: the caller's promise, and the collector's kind.
        sites.flat_map(|sites| unsafe { sites.keeper.addresses() }.collect::<Vec<_>>()).collect()
    }
}

/// The call paths that must be told apart for traces of the depth asked for.
fn contexts(depth: u32) -> Contexts {
    match depth {
        WHOLE_DEPTH.. => Contexts::Folded,
        depth => Contexts::Suffix(depth.saturating_sub(1) as usize),
    }
}
