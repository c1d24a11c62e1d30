//! The exact engine: probes in every method count calls and time them, in calling context.
//!
//! 1. [`classes`] puts probes into each class that the JVM loads, from the first class on.
//! 2. The probes call a helper class in java.base ([`natives`]), which walks a tree of calling
//!    contexts in native memory ([`tree`]); [`threads`] gives each thread one, and a state
//!    ([`state`]) with its position in it. Native methods have no code that could hold probes:
//!    [`trampolines`] count them.
//! 3. [`clock`] books the time on the contexts in which it meets the threads.
//! 4. At a dump the trees' counts are booked: [`calls`], [`objects`]. The cost of the probes is
//!    subtracted: [`calibration`].
//!
//! The two analyses of exact counts share the engine.

mod budget;
mod calibration;
mod calls;
mod classes;
mod clock;
mod companion;
mod cost;
mod counts;
mod interception;
mod late;
mod looks;
mod natives;
mod objects;
mod path_budget;
mod sites;
mod state;
mod threads;
mod tree;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use perk_control::options::{Clock as ClockOption, TimesForm, TimingMethod};
use perk_instrument::{Events, Names, Places, Probes, with_record};
use perk_jvm::guard::Feature;
use perk_jvm::hook;
use perk_jvm::os;
use perk_jvm::probes;
use perk_jvm::trampolines::{self, NativeCalls, Trampolines};
use perk_jvm::{Global, Image, Jni, Local, MethodRef, ObjectRef, Reference, Vm};
use perk_jvmti_sys::jni_sys::jvalue;
use perk_jvmti_sys::{Capability, JVMTI_EVENT_NATIVE_METHOD_BIND};
use perk_profile::{Accounting, NAME_SEPARATOR, mutf8};
use rustc_hash::FxHashMap;

use self::budget::Budget;
pub(crate) use self::calls::ExactCalls;
use self::calls::book::CallBook;
use self::classes::Classes;
use self::clock::{Clock, Timing};
pub(crate) use self::companion::Companion;
use self::cost::Calibration;
pub(crate) use self::objects::ExactSites;
use self::objects::book::ObjectBook;
use self::path_budget::PathBudget;
use self::sites::{AllocationSites, Origins};
use self::state::{Position, States};
use self::tree::{Contexts, ParkedThreads, Tree, TreePool};
use super::books::sites::SiteBook;
use super::bytecodes::Bytecodes;
use super::counters::Counters;
use super::late::LateProbes;
use super::{Analysis, Event, Needs};
use crate::common::{Common, Life};
use crate::random;
use crate::roster::Slot;
use crate::selection::Selection;
use crate::threads::LiveThread;

/// The recorded depth from which call paths are distinguished whole, and recursion is folded.
const WHOLE_DEPTH: u32 = 256;

/// The exact engine; see the module.
#[derive(Debug)]
pub(crate) struct ExactEngine {
    common: &'static Common,
    pool: TreePool,
    clock: &'static Clock,
    timing: Timing,
    places: Places,
    per_thread: bool,
    with_calls: bool,
    /// The analysis whose probes the engine places, too.
    companion: Option<Companion>,
    /// The counters of threads, if probes count in them, too.
    counters: Option<&'static Counters>,
    sites: Option<AllocationSites>,
    call_book: CallBook,
    object_book: ObjectBook,
    classes: Classes,
    trampolines: Trampolines,
    helper: OnceLock<&'static Global>,
    /// What is different in a program that runs already.
    late: Option<LateProbes>,
    states: OnceLock<States>,
    parked: ParkedThreads,
    vm: OnceLock<Vm>,
    calibration: OnceLock<Calibration>,
    path_budget: Option<&'static PathBudget>,
    /// The numbers of native methods that have made objects, where sites have numbers.
    running_natives: Mutex<FxHashMap<MethodRef, u32>>,
    unseen_class_count: AtomicU64,
    stopped: AtomicBool,
}

impl ExactEngine {
    /// Returns the engine if the options need one. It places the probes of a companion, too, and books
    /// objects on `site_book`.
    ///
    /// # Errors
    /// A fault in the options, in one line.
    pub(crate) fn new(
        common: &'static Common,
        companion: Option<Companion>,
        site_book: Option<&'static SiteBook>,
    ) -> Result<Option<Self>, String> {
        let Common { jvmti, options, .. } = common;
        let jvmti = *jvmti;
        let bytecodes = companion.and_then(Companion::bytecodes);
        let with_calls = options.cpu.times.is_some() || bytecodes.is_some();
        let budget = Arc::new(Budget::new(options.tree_limit_bytes()));
        let sites = AllocationSites::new(jvmti, options, &budget)?;
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
        let is_late = common.life == Life::Attached;
        let selection = Selection::new(&options.include, &options.exclude);
        let origins = sites.as_ref().map_or(Origins::None, AllocationSites::origins);
        let with_paths = origins == Origins::Paths;
        let with_sites = origins == Origins::Instructions;
        let places = match bytecodes {
            Some(_) => Places::Positions,
            None if with_paths && options.lineno => Places::Lines,
            None => Places::None,
        };
        let unwinding = !selection.is_everything();
        let path_budget = PathBudget::new(options.path_budget)?;
        let of_budget = path_budget.map(PathBudget::counters);
        let counters = companion.map(Companion::counters).or(of_budget);
        let names = counters.map_or_else(random::names, Counters::names);
        let object_record = sites.as_ref().is_some_and(AllocationSites::with_records);
        let probes = Probes {
            unwinding,
            timed: timing != Timing::None,
            leaving: timing == Timing::WallExact,
            places,
            heap: sites.is_some(),
            sites: with_sites,
            object_record,
            accesses: false,
            extended: false,
            calls: true,
            blocks: bytecodes.is_some(),
            entries: companion.and_then(Companion::calls).is_some(),
            path_budget: path_budget.is_some(),
            events: Events::NONE,
            late: is_late,
            names,
        };
        let mut depth = 0;
        if with_calls {
            // The totals of pairs follow from whole paths.
            let is_by_path = options.cpu.times == Some(TimesForm::Times);
            depth = if is_by_path { options.timing_depth } else { WHOLE_DEPTH };
        }
        if with_paths {
            depth = depth.max(options.depth);
        }
        if with_sites {
            depth = depth.max(1);
        }
        let has_marks = path_budget.is_some();
        let pool = TreePool::new(contexts(depth), options.max_nodes, budget, with_sites, has_marks)
            .map_err(|error| format!("perk has no memory for a call tree: {error}"))?;
        Ok(Some(Self {
            common,
            pool,
            clock: Box::leak(Box::new(Clock::new(timing))),
            timing,
            places,
            per_thread: options.distinguishes_all_threads(),
            with_calls,
            companion,
            counters,
            sites,
            call_book: CallBook::new(options),
            object_book: ObjectBook::new(options, site_book),
            classes: Classes::new(
                probes,
                with_calls || with_paths,
                companion,
                selection,
                path_budget,
                Image::of(jvmti),
            ),
            trampolines: Trampolines::default(),
            helper: OnceLock::new(),
            late: is_late.then(LateProbes::default),
            states: OnceLock::new(),
            parked: ParkedThreads::default(),
            vm: OnceLock::new(),
            calibration: OnceLock::new(),
            path_budget,
            running_natives: Mutex::default(),
            unseen_class_count: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }))
    }

    /// Starts the probes' counting; the program is about to begin.
    fn start(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let Common { jvmti, recorder, .. } = *self.common;
        let helper = *self.helper.get().ok_or("no helper class")?;
        if self.late.is_none() && !probes::is_bound() {
            return Err("its native methods could not be bound".to_owned());
        }
        let _ = self.vm.set(jni.vm().ok_or("no JVM")?);
        let states = States::new(jni, helper, self.names(), self.late.is_some());
        let states = states.ok_or("no fields for the state of threads")?;
        let states = self.states.get_or_init(|| states);
        self.clock.start(self.common, jni, states)?;
        if let Some(sites) = &self.sites {
            sites.vm_init(jni, helper, &self.classes, recorder)?;
            interception::begin(jvmti, jni, self)?;
        }
        let arguments = [
            jvalue { z: self.timing == Timing::WallExact },
            jvalue { z: self.timing.ticks() },
            jvalue { z: self.places != Places::None },
            jvalue { z: jni.has_virtual_threads() },
            jvalue { z: self.late.is_some() },
            jvalue { j: self.pool.nil() as i64 },
        ];
        if self.late.is_none() {
            if self.counts_natives() {
                trampolines::begin(self);
            }
            let enabled = jvmti.enable(JVMTI_EVENT_NATIVE_METHOD_BIND);
            enabled.map_err(|error| format!("the JVM does not report native methods: {error}"))?;
        }
        // The agents before this one may have begun.
        hook::overtaken();
        // SAFETY: the arguments are those of the helper's method.
        let started = unsafe { jni.call_static_long(helper, c"start", c"(ZZZZZJ)J", &arguments) };
        started.ok_or_else(|| "the helper class does not start".to_owned())?;
        self.start_looks(jni)
    }

    /// Returns the names of perk's additions to the JVM.
    fn names(&self) -> Names {
        self.classes.names()
    }

    /// Whether objects hold the index of their record.
    fn with_records(&self) -> bool {
        self.sites.as_ref().is_some_and(AllocationSites::with_records)
    }

    /// Returns the analysis of bytecodes, whose probes the engine places, too.
    fn bytecodes(&self) -> Option<&'static Bytecodes> {
        self.companion.and_then(Companion::bytecodes)
    }

    /// Whether hidden classes get probes.
    fn gives_hidden_classes_probes(&self) -> bool {
        self.has_numbered_sites() || self.companion.is_some()
    }

    /// Whether hidden classes get a field for records, or probes.
    fn changes_hidden_classes(&self) -> bool {
        self.with_records() || self.gives_hidden_classes_probes()
    }

    /// Whether allocations are counted.
    pub(crate) fn counts_allocations(&self) -> bool {
        self.sites.is_some()
    }

    /// Whether calls of native methods are counted.
    fn counts_natives(&self) -> bool {
        self.with_calls || self.sites.as_ref().is_some_and(|it| it.origins() == Origins::Paths)
    }

    /// Whether the probes of allocations pass the number of the site, and the thread has no other place.
    pub(crate) fn has_numbered_sites(&self) -> bool {
        self.sites.as_ref().is_some_and(|it| it.origins() == Origins::Instructions)
    }

    /// Returns the function to bind in place of a native method's function, which the JVM binds.
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
        if class == probes::HIDDEN_CLASS_MAKER && self.changes_hidden_classes() {
            let (name, signature) = jvmti.method_name(method).ok()?;
            let names = self.names();
            let change = move |class: &[u8]| match self.bytecodes() {
                Some(bytecodes) => bytecodes.instrument(class),
                None if self.has_numbered_sites() => self.classes.transform(recorder, class, None),
                // The JVM will report what is wrong with a class.
                None => with_record(class, names).ok().flatten(),
            };
            // SAFETY: `native_method_bind` passes the function that the JVM is about to bind to the method.
            return unsafe { probes::bind_hidden(&name, &signature, function, change) };
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
            let reason = format!("more than {} native methods", trampolines::COUNT);
            self.classes.skip(format!("{method}: {reason}"));
        }
        trampoline
    }

    /// Measures the cost of the probes, and ends the clock.
    fn end_counting(&self, jni: Jni<'_>) {
        if let Some(budget) = self.path_budget {
            budget.stop();
        }
        self.calibrate(jni);
        self.count_unseen(jni);
        // New threads are not counted from now on.
        self.stopped.store(true, Relaxed);
        self.clock.stop();
    }

    /// Whether a class is the one that the probes call.
    fn is_helper(&self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> bool {
        self.helper.get().is_some_and(|helper| jni.same(*helper, class))
    }

    /// Counts the classes that agents do not receive and that have no probes: the hidden ones. The JVM writes their
    /// signature with a dot before the unique part.
    fn count_unseen(&self, jni: Jni<'_>) {
        if self.gives_hidden_classes_probes() {
            return;
        }
        let classes = self.common.jvmti.loaded_classes(jni).unwrap_or_default();
        let is_hidden = |class: &Local<'_>| {
            self.common.jvmti.class_signature(class).is_ok_and(|signature| signature.contains('.'))
        };
        let count = classes.iter().filter(|class| is_hidden(class)).count();
        self.unseen_class_count.store(count as u64, Relaxed);
    }

    /// Returns all trees, each with the slot of the platform thread that it belongs to if threads are
    /// distinguished.
    fn trees(&self) -> Vec<(Option<Slot>, &'static Tree)> {
        if let Some(budget) = self.path_budget {
            budget.settle(&self.pool);
        }
        let threads = self.clock.threads();
        let owned = self.pool.trees().into_iter().map(|tree| {
            let owner = threads.iter().find(|(_, own)| std::ptr::eq(*own, tree));
            let owner = owner.filter(|_| self.per_thread);
            (owner.and_then(|&(tid, _)| self.common.threads.slot_of_tid(tid)), tree)
        });
        owned.collect()
    }
}

impl NativeCalls for ExactEngine {
    fn enter(&self, jni: Jni<'_>, number: u32) -> u64 {
        self.current(jni).map_or(0, |current| current.enter(jni, self, number).0)
    }

    fn leave(&self, jni: Jni<'_>, caller: u64) {
        if let Some(current) = self.current(jni) {
            current.leave(jni, self, Position(caller));
        }
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
        if self.late.is_some() {
            return LateProbes::needs();
        }
        let mut needs = Needs {
            events: vec![Event::VmStart, Event::ClassFile, Event::VirtualThreadEnd],
            capabilities: vec![Capability::CanGenerateEarlyVmstart],
            ..Needs::default()
        };
        // Hidden classes get their field or probes in the native method that defines them.
        match self.changes_hidden_classes() {
            true => needs.events.push(Event::NativeBind),
            false => needs.later_events.push(Event::NativeBind),
        }
        if self.path_budget.is_some() {
            needs.capabilities.push(Capability::CanRetransformClasses);
        }
        needs
    }

    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let own = natives::helper(self);
        let more = self.counters.map(Counters::helper_class);
        let helpers = [own].into_iter().chain(more).collect();
        let defined = probes::define_helpers(self.common.jvmti, jni, self.names(), helpers)?;
        if let [own, more @ ..] = defined.as_slice() {
            let _ = self.helper.set(own);
            for (counters, helper) in self.counters.iter().zip(more) {
                counters.set_helper(helper);
            }
        }
        Ok(())
    }

    fn prepare(&'static self, _: Jni<'_>) {
        if self.late.is_some() {
            return;
        }
        let more = self.counters.and_then(Counters::helper);
        self.common.set_helpers(self.helper.get().copied().into_iter().chain(more));
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        match &self.late {
            Some(late) => self.begin_late(late, jni),
            None => self.start(jni),
        }
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        if let Some(budget) = self.path_budget {
            budget.counters().thread_began(self.common, &**thread);
        }
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, known: Option<&LiveThread>) {
        if let Some(budget) = self.path_budget {
            budget.counters().thread_ended(jni, thread);
        }
        self.leave_platform(jni, &thread, || known.map(|known| known.slot));
    }

    fn virtual_thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        self.leave_virtual(jni, &thread, || self.common.threads.slot_of_virtual(jni, &thread));
    }

    fn class_file(&self, bytes: &[u8], redefined: Option<ObjectRef<'_>>) -> Option<Vec<u8>> {
        if hook::is_done(bytes) || self.late.as_ref().is_some_and(|late| !late.gives_probes(bytes))
        {
            return None;
        }
        let redefined = redefined.filter(|_| self.late.is_none());
        let has_record = probes::kept_record(self.common.jvmti, self.names(), redefined);
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

    fn vm_dies(&self, jni: Jni<'_>) {
        self.end_counting(jni);
    }

    fn withdraw(&self, jni: Jni<'_>) {
        if let Some(late) = &self.late {
            self.withdraw_late(late, jni);
        }
    }

    fn release(&'static self, jni: Jni<'_>) {
        self.release_late(jni);
    }

    fn finish(&self) {
        if let Some(budget) = self.path_budget {
            budget.counters().warn_of_uncounted("calls of methods over budget");
        }
        if let Some(limit_bytes) = self.pool.budget().reached() {
            let folded_count = self.call_book.folded_count();
            os::say(&format!(
                "HPROF WARNING: call trees have reached memlimit, {limit_bytes} bytes: {folded_count} \
                 calls are counted by method alone, below <folded>, and new sites by class alone\n"
            ));
        }
    }

    fn account(&self, accounting: &mut Accounting) {
        let read = |count: &AtomicU64| count.load(Relaxed);
        let counts = &self.classes.counts;
        let cost = self.probe_cost();
        accounting.probe_self_ps = cost.self_ps;
        accounting.probe_caller_ps = cost.caller_ps;
        let Calibration { call_count, call_ns, object_count, object_ns, .. } = self.calibration();
        // With the time on the wall, or without any, only that of all threads is known.
        let most_ns = accounting.java_cpu_ns;
        accounting.probe_call_count = call_count;
        accounting.probe_call_ns = call_ns.min(most_ns);
        accounting.probe_object_count = object_count;
        accounting.probe_object_ns = object_ns.min(most_ns - accounting.probe_call_ns);
        // Calls that a companion counts are in no tree.
        let has_calls_elsewhere = self.companion.and_then(Companion::calls).is_some();
        accounting.call_node_count = if has_calls_elsewhere { 0 } else { self.pool.node_count() };
        if let Some(budget) = self.path_budget {
            budget.account(accounting);
        }
        accounting.instrumented_class_count = read(&counts.classes);
        accounting.instrumented_method_count = read(&counts.methods);
        self.classes.skipped().account(accounting);
        accounting.excluded_class_count = read(&counts.excluded_classes);
        accounting.unmatched_patterns = self.classes.unmatched_patterns().join(NAME_SEPARATOR);
        accounting.unseen_class_count = read(&self.unseen_class_count);
        accounting.instrument_cpu_ns = read(&counts.cpu_ns);
        accounting.perk_cpu_ns += self.clock.own_cpu_ns();
        accounting.perk_peak_bytes += self.pool.used_bytes();
    }
}

/// Returns the call paths that must be distinguished for traces of this depth.
fn contexts(depth: u32) -> Contexts {
    match depth {
        WHOLE_DEPTH.. => Contexts::Folded,
        depth => Contexts::Suffix(depth.saturating_sub(1) as usize),
    }
}
