//! Exact counts of executed bytecodes per method (`jamaica=y`).
//!
//! 1. Probes count the executions of basic blocks ([`perk_instrument::Flow`]) in native memory, where
//!    each thread has counters of its own ([`threads`]).
//! 2. JVMTI reports each exception as it is thrown. Its stack shows which blocks it ends in their
//!    middle, and which one handles it ([`methods`]).
//! 3. At the end, the stacks of the threads show which blocks are not at their end yet.

mod methods;
mod natives;
mod threads;

use std::ffi::c_void;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use perk_instrument::{Call, Flow, MethodName, Methods, Names, Probes, SitePlace, instrument};
use perk_jvmti_sys::Capability;
use rustc_hash::FxHashMap;

use self::methods::CountedMethods;
use self::threads::{MOST_COUNTERS, States};
use super::{Analysis, Event, Needs, Thrown};
use crate::common::Common;
use crate::guard::Feature;
use crate::hook;
use crate::jvm::{Borrowed, Global, Jni, MethodRef, Reference, StackFrame, Walker};
use crate::output::Output;
use crate::probes::{self, Selection};
use crate::recorder::cannot_write;
use crate::sync::lock;
use crate::threads::LiveThread;

/// The frames that are looked at first, when an exception is thrown: most are caught near by.
const FIRST_FRAMES: u32 = 8;
/// The frames that are looked at in the end.
const MOST_FRAMES: u32 = 1 << 21;

/// The analysis; see the module.
#[derive(Debug)]
pub(crate) struct Bytecodes {
    common: &'static Common,
    probes: Probes,
    selection: Selection,
    methods: Mutex<CountedMethods>,
    /// The names of methods, as class files have them.
    names: Mutex<FxHashMap<MethodRef, Option<Arc<str>>>>,
    helper: OnceLock<&'static Global>,
    states: OnceLock<States>,
    walker: Walker,
    output: Mutex<Output>,
    /// The methods that lack probes, each with the reason.
    skipped: Mutex<Vec<String>>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
}

impl Bytecodes {
    /// Makes the analysis, which writes to this file.
    pub(crate) fn new(common: &'static Common, output: Output) -> Self {
        let options = &common.options;
        Self {
            common,
            probes: Probes {
                blocks: true,
                ..Probes::least(Names::ending_with(RandomState::new().build_hasher().finish()))
            },
            selection: Selection::new(&options.include, &options.exclude),
            methods: Mutex::default(),
            names: Mutex::default(),
            helper: OnceLock::new(),
            states: OnceLock::new(),
            walker: Walker::default(),
            output: Mutex::new(output),
            skipped: Mutex::default(),
            has_begun: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    fn names(&self) -> Names {
        self.probes.names
    }

    /// Starts the probes' counting; the program is about to begin.
    fn start(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let helper = *self.helper.get().ok_or("no helper class")?;
        if !probes::is_bound() {
            return Err("its native methods could not be bound".to_owned());
        }
        let states = States::new(jni, helper, self.names())?;
        let _ = self.states.set(states);
        hook::overtaken();
        self.has_begun.store(true, Relaxed);
        // SAFETY: the method does not have arguments.
        let started = unsafe { jni.call_static_long(helper, c"start", c"()J", &[]) };
        started.map(|_| ()).ok_or_else(|| "the helper class does not start".to_owned())
    }

    /// Gives the calling thread its counters; see [`States::begin`].
    fn begin_thread(&self, jni: Jni<'_>, thread: &Borrowed<'_>) -> i64 {
        let is_own = self.common.threads.is_own(jni, thread);
        self.states.get().map_or(0, |states| states.begin(jni, thread, is_own))
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

    /// Writes the file.
    fn finish(&self, jni: Option<Jni<'_>>) {
        if self.is_over.swap(true, Relaxed) {
            return;
        }
        if let Some(jni) = jni {
            self.leave_frames(jni);
        }
        let counters = |number| self.states.get().map_or(0, |states| states.sum(number));
        let mut sums: FxHashMap<String, u64> = FxHashMap::default();
        for (name, count) in lock(&self.methods).bytecodes(counters) {
            if count > 0 {
                *sums.entry(name.to_owned()).or_default() += count;
            }
        }
        let total = sums.values().map(|count| u128::from(*count)).sum::<u128>().max(1);
        let mut rows: Vec<_> = sums.into_iter().collect();
        rows.sort();
        let mut text = String::new();
        for (name, count) in rows {
            let share = format!("{count} ({}%)", u128::from(count) * 100 / total);
            let _ = writeln!(text, "PROFILE: {share:<14} {name}");
        }
        let mut output = lock(&self.output);
        let written = output.write_all(text.as_bytes()).and_then(|()| output.finish());
        if let Err(error) = written {
            let part = output.part().map(|part| part.display().to_string());
            cannot_write(&output.name(), &error, part);
        }
        drop(output);
        probes::warn_of_missing("bytecodes", &lock(&self.skipped), &self.selection);
    }

    /// Leaves the blocks in which threads are.
    fn leave_frames(&self, jni: Jni<'_>) {
        for thread in self.common.jvmti.all_threads(jni).unwrap_or_default() {
            let mut frames = Vec::new();
            self.each_frame(&thread, |frame| {
                frames.push(frame);
                true
            });
            for StackFrame { method, bci } in frames {
                let (Some(name), Ok(pc)) = (self.name(jni, method), u16::try_from(bci)) else {
                    continue;
                };
                if let Some(counted) = lock(&self.methods).named(&name) {
                    counted.leave(pc);
                }
            }
        }
    }

    /// Returns a class with probes.
    fn instrument(&self, bytes: &[u8]) -> Option<Vec<u8>> {
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

/// Whether a native method wraps the exceptions of what it calls.
fn is_wrapping(method: &str) -> bool {
    method.contains(".invoke0(") || method.contains(".newInstance0(")
}

/// The view of one class file on the analysis.
struct View<'a>(&'a Bytecodes);

impl Methods for View<'_> {
    fn number(&mut self, _: &MethodName<'_>) -> u32 {
        0
    }

    fn leaf(&mut self, _: &[u8], _: &[u8], _: &[u8], _: bool) -> bool {
        false
    }

    fn selected(&mut self, class: &[u8], method: &[u8]) -> bool {
        self.0.selection.selects(class, method)
    }

    fn field(&mut self, _: &[u8], _: &[u8], _: &[u8]) -> u32 {
        0
    }

    fn site(&mut self, _: &MethodName<'_>, _: Option<SitePlace>) -> u32 {
        0
    }

    fn counters(&mut self, _: &MethodName<'_>, count: usize) -> Option<u32> {
        lock(&self.0.methods).counters(count, MOST_COUNTERS)
    }

    fn counted(
        &mut self,
        method: &MethodName<'_>,
        first: u32,
        flow: Flow,
        pcs: Vec<[u16; 2]>,
        calls: Vec<Call<'_>>,
    ) {
        lock(&self.0.methods).add(method, first, flow, pcs, &calls);
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
        Needs {
            events: vec![
                Event::VmStart,
                Event::ClassFile,
                Event::Exception,
                Event::VirtualThreadEnd,
                Event::NativeBind,
            ],
            capabilities: vec![Capability::CanGenerateEarlyVmstart],
            ..Needs::default()
        }
    }

    fn vm_started(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let helper = natives::define_helper(self.common.jvmti, jni, self)
            .map_err(|reason| format!("perk's probes do not work in this JVM: {reason}"))?;
        let _ = self.helper.set(helper);
        Ok(())
    }

    fn prepare(&'static self, _: Jni<'_>) {
        if let Some(helper) = self.helper.get() {
            self.common.set_helper(helper);
        }
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        self.start(jni)
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: Borrowed<'_>, _: Option<&LiveThread>) {
        if let Some(states) = self.states.get() {
            states.end(jni, &thread);
        }
    }

    fn class_file(&self, bytes: &[u8], _: Option<Borrowed<'_>>) -> Option<Vec<u8>> {
        if hook::is_done(bytes) { None } else { self.instrument(bytes) }
    }

    fn exception(&self, jni: Jni<'_>, thread: Borrowed<'_>, thrown: Thrown) {
        if !self.has_begun.load(Relaxed) {
            return;
        }
        let mut frames: Vec<(Arc<str>, u16)> = Vec::new();
        let mut above: Option<Arc<str>> = None;
        let mut is_caught = false;
        self.each_frame(&thread, |StackFrame { method, bci }| {
            let Some(name) = self.name(jni, method) else { return false };
            let mut methods = lock(&self.methods);
            let pc = u16::try_from(bci).ok();
            // The exception does not leave what the JVM itself has called: the JVM throws another
            // one, which it reports again. So do the native methods of reflection.
            let is_called = above.as_ref().is_none_or(|above| match pc {
                Some(pc) => methods.calls(&name, pc, above),
                None => !is_wrapping(&name) && thrown.caught.is_some(),
            });
            if !is_called {
                return false;
            }
            is_caught = thrown.caught.is_some_and(|(catcher, handler_pc)| {
                let mut handles =
                    |pc| methods.named(&name).is_none_or(|it| it.handles(pc, handler_pc));
                catcher == method && pc.is_some_and(&mut handles)
            });
            drop(methods);
            frames.extend(pc.map(|pc| (name.clone(), pc)));
            above = Some(name);
            !is_caught
        });
        let mut methods = lock(&self.methods);
        for (name, pc) in &frames {
            if let Some(counted) = methods.named(name) {
                counted.leave(*pc);
            }
        }
        if let (true, Some((_, handler_pc)), Some((name, _))) =
            (is_caught, thrown.caught, frames.last())
            && let Some(counted) = methods.named(name)
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
        probes::bind_makers(self.common.jvmti, jni, method, function, change)
    }

    fn vm_dies(&self, jni: Jni<'_>) {
        Bytecodes::finish(self, Some(jni));
    }

    fn finish(&self) {
        Bytecodes::finish(self, None);
    }
}
