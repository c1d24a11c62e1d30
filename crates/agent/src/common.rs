//! The state that all analyses share: the JVM, the options, the threads, the symbols and the
//! recorder.

use std::sync::{Arc, Mutex, OnceLock};

use perk_control::options::{Options, OutputFormat};
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Jvmti, MethodRef, ObjectRef, Reference, StackFrame};
use perk_profile::{ClassId, FrameId, TraceId};

use crate::cycles::CycleClock;
use crate::output::Watcher;
use crate::recorder::Recorder;
use crate::resolve::{Resolver, class_id};
use crate::roster::Slot;
use crate::series::SeriesBook;
use crate::threads::Threads;

/// The limit of walks: deeper stacks are walked to this depth, whatever `depth` says.
const MAX_FRAMES: u32 = 1 << 16;

/// The limit of innermost frames that can belong to the helper class and its callees.
pub(crate) const MOST_HELPER_FRAMES: usize = 16;
/// The interval between samples of allocations of a JVM whose interval nobody has set.
pub(crate) const JVM_INTERVAL_BYTES: u64 = 512 << 10;

/// The time in which a session measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// From the JVM's start to its death.
    Program,
    /// From one command to another, in a program that runs.
    Attached,
}

/// The shared state; see the module.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) jvmti: Jvmti,
    pub(crate) life: Life,
    pub(crate) options: Options,
    /// The connection that the recording goes to, if somebody watches.
    pub(crate) watcher: Option<Arc<Watcher>>,
    pub(crate) threads: Threads,
    pub(crate) recorder: &'static Mutex<Recorder>,
    /// What is allocated and how long threads wait, over time.
    pub(crate) series: SeriesBook,
    pub(crate) cycles: CycleClock,
    resolver: Resolver,
    helper_methods: OnceLock<Vec<MethodRef>>,
}

impl Common {
    /// Whether the program starts without samples of allocations if another agent takes them, which the JVM
    /// gives to one alone: perk chose to measure them, and agents that come later must not fail by that.
    pub(crate) fn may_lack_samples(&self) -> bool {
        // The first thread draws its first distance before the interval could be set that late.
        let is_of_jvm = self.options.heap_sample_bytes == Some(JVM_INTERVAL_BYTES);
        self.life == Life::Program && self.options.budget && is_of_jvm
    }

    pub(crate) fn new(
        jvmti: Jvmti,
        life: Life,
        options: Options,
        watcher: Option<Arc<Watcher>>,
        recorder: Recorder,
    ) -> Self {
        let recorder: &'static Mutex<Recorder> = Box::leak(Box::new(Mutex::new(recorder)));
        let marks_native = marks_native(&options);
        let series =
            SeriesBook::new(options.format == OutputFormat::Extended, options.every_ns.is_some());
        Self {
            jvmti,
            life,
            threads: Threads::new(jvmti, recorder),
            resolver: Resolver::new(jvmti, recorder, options.lineno, marks_native),
            options,
            watcher,
            recorder,
            series,
            cycles: CycleClock::begin(),
            helper_methods: OnceLock::new(),
        }
    }

    /// Forgets the symbols: the session has ended.
    pub(crate) fn release(&self) {
        self.resolver.release();
    }

    /// Returns the number of frames of a walk.
    pub(crate) fn depth(&self) -> u32 {
        limited(self.options.depth)
    }

    /// Whether native methods have a line of their own.
    pub(crate) fn marks_native(&self) -> bool {
        self.options.lineno && marks_native(&self.options)
    }

    /// Returns the profile's class for a class of the JVM.
    pub(crate) fn class(&self, class: &(impl Reference + ?Sized)) -> ClassId {
        class_id(self.jvmti, self.recorder, class).0
    }

    /// Returns the trace of a thread's stack.
    pub(crate) fn trace(
        &self,
        jni: Jni<'_>,
        thread: Option<Slot>,
        stack: &[StackFrame],
    ) -> TraceId {
        let frames = self.resolver.frames(jni, stack);
        lock(self.recorder).trace(thread, &frames)
    }

    /// Returns the slot of a virtual thread for traces: its own, or that of all virtual threads; `None`
    /// if traces do not have threads.
    pub(crate) fn slot_of_virtual(&self, jni: Jni<'_>, thread: &dyn Reference) -> Option<Slot> {
        match self.options.distinguishes_all_threads() {
            true => self.threads.slot_of_virtual(jni, thread),
            false => self.options.thread.then(|| lock(self.recorder).virtual_threads()),
        }
    }

    /// Returns the slot of the calling thread for traces, which may be virtual.
    pub(crate) fn slot(&self, jni: Jni<'_>, thread: &ObjectRef<'_>) -> Option<Slot> {
        if !self.options.thread {
            return None;
        }
        match jni.is_virtual(thread) {
            true => self.slot_of_virtual(jni, thread),
            false => self.threads.slot(jni, thread),
        }
    }

    /// Returns the frames of a stack, beginning with the innermost.
    pub(crate) fn frames(&self, jni: Jni<'_>, stack: &[StackFrame]) -> Vec<FrameId> {
        self.resolver.frames(jni, stack)
    }

    /// Returns the methods of the probes' helper class, which are not part of the program.
    pub(crate) fn helper_methods(&self) -> &[MethodRef] {
        self.helper_methods.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the number of frames of a walk that is to have `depth` without those of probes.
    pub(crate) fn depth_with_probes(&self, depth: usize) -> usize {
        if self.helper_methods().is_empty() { depth } else { depth + MOST_HELPER_FRAMES }
    }

    /// Removes the frames of a probe and its callees, whose work belongs to the method that they are
    /// in, and those beyond `depth`.
    pub(crate) fn remove_probes(&self, stack: &mut Vec<StackFrame>, depth: usize) {
        let helper = self.helper_methods();
        let inner = &stack[..stack.len().min(MOST_HELPER_FRAMES)];
        let outermost = inner.iter().rposition(|frame| helper.contains(&frame.method));
        stack.drain(..outermost.map_or(0, |it| it + 1));
        stack.truncate(depth);
    }

    /// Notes the probes' helper classes, once.
    pub(crate) fn set_helpers<'h>(&self, helpers: impl IntoIterator<Item = &'h Global>) {
        let methods = |helper| self.jvmti.class_methods(helper).unwrap_or_default();
        let _ = self.helper_methods.set(helpers.into_iter().flat_map(methods).collect());
    }
}

/// Whether the output has a word for native frames; the original's text has none.
fn marks_native(options: &Options) -> bool {
    options.format != OutputFormat::Ascii
}

/// Returns the depth of walks for an option's or a command's depth.
pub(crate) fn limited(depth: u32) -> u32 {
    depth.min(MAX_FRAMES)
}
