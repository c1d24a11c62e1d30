//! The shares of a thread's CPU time in interpreted, compiled and native code, by samples.
//!
//! A thread of perk reads the CPU clocks of the program's threads, and looks at the innermost frame
//! of each that burned time and runs. A native method's time is native. Whether a frame is one of
//! compiled code, JVMTI does not say: it is if the JVM has compiled code of its method at that
//! moment.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use perk_instrument::{COUNTS_HELPER, HELPER};
use perk_jvm::os::Tid;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, MethodRef, StackFrame, VirtualThreadFunction, Walker};
use rustc_hash::FxHashMap;

use super::Census;
use crate::common::Common;
use crate::threads::LiveThread;
use crate::worker::Worker;

/// The time between samples.
const PERIOD: Duration = Duration::from_millis(10);

/// The time between samples for each thread: more threads are sampled less often, so that their
/// clocks cost half a percent of a processor.
const PERIOD_OF_THREAD: Duration = Duration::from_micros(50);

/// The CPU time that a thread must have burned for a sample.
const LEAST_NS: u64 = 1_000_000;

/// The frames of a walk. The innermost can be those of perk's helper class and its callees.
const MOST_FRAMES: u32 = 16;

/// The classes that probes call.
const PROBES: [&str; 3] = [COUNTS_HELPER, HELPER, "jdk/internal/misc/Unsafe"];

/// The kind of code that a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Interpreted,
    Compiled,
    Native,
}

/// The sampler; see the module.
#[derive(Debug)]
pub(super) struct Shares {
    /// How many pieces of compiled code each method has.
    compiled: Mutex<FxHashMap<MethodRef, u32>>,
    walker: Walker,
    virtual_thread: Option<VirtualThreadFunction>,
    worker: Worker,
}

impl Shares {
    pub(super) fn new(common: &Common) -> Self {
        Self {
            compiled: Mutex::default(),
            walker: Walker::default(),
            virtual_thread: common.jvmti.virtual_thread_function(),
            worker: Worker::default(),
        }
    }

    /// Notes that the JVM has compiled a method.
    pub(super) fn compiled(&self, method: MethodRef) {
        *lock(&self.compiled).entry(method).or_default() += 1;
    }

    /// Notes that the JVM has dropped compiled code of a method.
    pub(super) fn dropped(&self, method: MethodRef) {
        let mut compiled = lock(&self.compiled);
        if let Some(count) = compiled.get_mut(&method) {
            *count -= 1;
            if *count == 0 {
                compiled.remove(&method);
            }
        }
    }

    /// Returns the methods of which the JVM has compiled code.
    pub(super) fn compiled_methods(&self) -> Vec<MethodRef> {
        lock(&self.compiled).keys().copied().collect()
    }

    /// Starts the thread that takes samples.
    pub(super) fn start(
        &'static self,
        census: &'static Census,
        jni: Jni<'_>,
    ) -> Result<(), String> {
        self.worker.start(census.common, jni, c"perk census", |jni| self.sample(census, jni))
    }

    /// Ends the thread that takes samples.
    pub(super) fn stop(&self) {
        self.worker.stop();
    }

    fn sample(&self, census: &Census, jni: Jni<'_>) {
        let mut deadline = Instant::now();
        while !self.worker.must_stop() {
            let burning = census.threads.burning(LEAST_NS);
            for (thread, cpu_ns) in burning {
                if let Some(mode) = self.mode(census.common, jni, &thread) {
                    census.threads.sampled(&thread, cpu_ns, mode);
                }
            }
            census.common.threads.delete_ended(jni);
            let count = u32::try_from(census.threads.count()).unwrap_or(u32::MAX);
            deadline = deadline.max(Instant::now()) + PERIOD.max(PERIOD_OF_THREAD * count);
            self.worker.wait_until(deadline);
        }
    }

    /// Returns the kind of code that a thread runs, if it runs.
    fn mode(&self, common: &Common, jni: Jni<'_>, thread: &LiveThread) -> Option<Mode> {
        let runs = || thread.tid().and_then(Tid::is_runnable) == Some(true);
        if !runs() {
            return None;
        }
        let jvmti = common.jvmti;
        let mounted = self.virtual_thread.and_then(|it| jvmti.virtual_thread(jni, it, thread));
        // The work of probes belongs to the method that they are in.
        let helper = common.helper_methods();
        let innermost = |frames: Option<&[StackFrame]>| {
            let frames = frames?;
            let probe = frames.iter().rposition(|frame| helper.contains(&frame.method));
            frames.get(probe.map_or(0, |probe| probe + 1)).map(|frame| (*frame, probe.is_some()))
        };
        let (frame, is_in_probe) = match &mounted {
            Some(thread) => self.walker.walk(jvmti, thread, MOST_FRAMES, innermost),
            None => self.walker.walk(jvmti, thread, MOST_FRAMES, innermost),
        }?;
        if frame.bci < 0 {
            // It may have begun to wait in a native method before the walk.
            return (!jvmti.is_waiting(thread) && runs()).then_some(Mode::Native);
        }
        let is_compiled = lock(&self.compiled).contains_key(&frame.method);
        // A thread is looked at where it jumps or returns. One that is at a call has returned from
        // compiled code a moment ago; the interpreter is looked at before it returns.
        let has_returned = || {
            let called = jvmti.called_method(jni, frame);
            called.is_some_and(|[class, _]| !PROBES.iter().any(|it| class.starts_with(it)))
        };
        let runs_compiled = is_compiled || !is_in_probe && has_returned();
        Some(if runs_compiled { Mode::Compiled } else { Mode::Interpreted })
    }
}
