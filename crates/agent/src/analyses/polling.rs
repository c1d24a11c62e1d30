//! CPU samples by polling: a thread of the agent asks every thread's CPU clock, and walks the stacks
//! of those that burned CPU time and are running now.
//!
//! Reading a clock costs a quarter of a microsecond, a walk ten to a hundred; so waiting threads
//! cost very little. A walk takes effect at the thread's next safepoint poll, which biases frames
//! within a method or two, as in every JVMTI profiler. The *amount* of CPU time for which a thread
//! gets samples is not biased, as it comes from the kernel's clock. See `docs/measuring.md`.

mod clocks;
mod sampler;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use perk_jvm::guard::Feature;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, ObjectRef, VirtualThreadFunction};
use perk_profile::{Accounting, TraceId};

use self::clocks::Clocks;
use self::sampler::Sampler;
use super::books::samples::SampleBook;
use super::{Analysis, Needs, Order};
use crate::common::{Common, limited};
use crate::roster::Slot;
use crate::threads::LiveThread;
use crate::worker::Worker;

/// The analysis of CPU samples; see the module.
pub(crate) struct Polling {
    common: &'static Common,
    book: &'static SampleBook,
    interval_ns: u64,
    /// The number of frames of a walk; there are no samples if it is 0.
    depth: AtomicU32,
    virtual_thread: Option<VirtualThreadFunction>,
    clocks: Mutex<Clocks>,
    worker: Worker,
    walk_count: AtomicU64,
    failed_walk_count: AtomicU64,
    unattributed_count: AtomicU64,
    virtual_sample_count: AtomicU64,
    sampler_cpu_ns: AtomicU64,
}

impl Polling {
    pub(crate) fn new(common: &'static Common, book: &'static SampleBook) -> Self {
        Self {
            common,
            book,
            interval_ns: common.options.sample_interval_ns(),
            depth: AtomicU32::new(common.depth()),
            virtual_thread: common.jvmti.virtual_thread_function(),
            clocks: Mutex::new(Clocks::new(common.options.cpu.samples)),
            worker: Worker::default(),
            walk_count: AtomicU64::new(0),
            failed_walk_count: AtomicU64::new(0),
            unattributed_count: AtomicU64::new(0),
            virtual_sample_count: AtomicU64::new(0),
            sampler_cpu_ns: AtomicU64::new(0),
        }
    }

    /// Starts the thread that takes samples, once.
    fn start_sampler(&'static self, jni: Jni<'_>) -> Result<(), String> {
        self.worker.start(self.common, jni, c"perk sampler", |jni| Sampler::new(self, jni).run())
    }

    /// Samples a thread, or all present and future threads, from now on or no more.
    fn set_sampled(
        &'static self,
        jni: Jni<'_>,
        thread: Option<Slot>,
        is_sampled: bool,
    ) -> Result<(), String> {
        // The CPU time so far is sampled under the setting so far.
        let older = self.older_clocks();
        let mut clocks = lock(&self.clocks);
        clocks.read_all();
        for (slot, cpu_ns) in older {
            if let Some(index) = clocks.find(slot) {
                clocks.advance(index, cpu_ns);
            }
        }
        if !clocks.set_sampled(thread, is_sampled) {
            return Err("no thread that lives has that id".to_owned());
        }
        drop(clocks);
        if is_sampled { self.start_sampler(jni) } else { Ok(()) }
    }

    /// Returns the clocks of the threads without a kernel id, which only the JVM can read.
    fn older_clocks(&self) -> Vec<(Slot, u64)> {
        let without_tid = lock(&self.clocks).without_tid();
        let clock = |thread: &LiveThread| self.common.jvmti.thread_cpu_ns(thread);
        without_tid.iter().filter_map(|it| Some((it.slot, clock(it)?))).collect()
    }

    /// Waits until the deadline. Returns true if the thread must stop.
    pub(super) fn wait_until(&self, deadline: Instant) -> bool {
        self.worker.wait_until(deadline)
    }

    /// Books samples of a thread that was not met running on its last trace. If it has none, the
    /// samples are in the account alone: as with the original, a trace without frames has no row.
    fn book(&self, last: Option<TraceId>, thread: Slot, samples: u64) {
        match last {
            // As with the original, no frames means no samples.
            _ if samples == 0 || self.depth.load(Relaxed) == 0 => {}
            Some(trace) => {
                let recorder = &mut lock(self.common.recorder);
                self.book.book(recorder, trace, thread, samples, os::nano_time());
            }
            None => _ = self.unattributed_count.fetch_add(samples, Relaxed),
        }
    }
}

impl Analysis for Polling {
    fn name(&self) -> Option<&'static str> {
        self.common.options.cpu.samples.then_some("polling")
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

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        match self.common.options.cpu.samples && self.depth.load(Relaxed) > 0 {
            true => self.start_sampler(jni),
            false => Ok(()),
        }
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        lock(&self.clocks).insert(Arc::clone(thread), self.interval_ns);
    }

    fn thread_ended(&self, _: Jni<'_>, _: ObjectRef<'_>, known: Option<&LiveThread>) {
        let mut clocks = lock(&self.clocks);
        let Some(index) = known.and_then(|thread| clocks.find(thread.slot)) else { return };
        clocks.advance(index, os::thread_cpu_ns());
        let mut watched = clocks.remove(index);
        drop(clocks);
        let samples = watched.take_samples(self.interval_ns);
        self.book(watched.last_trace, watched.slot(), samples);
    }

    fn obey(&'static self, jni: Jni<'_>, order: Order) -> Result<(), String> {
        match order {
            Order::Sample { thread, is_sampled } => self.set_sampled(jni, thread, is_sampled)?,
            Order::Depth(depth) => self.depth.store(limited(depth), Relaxed),
            Order::DumpHeap => {}
        }
        Ok(())
    }

    fn set_paused(&'static self, jni: Jni<'_>, is_paused: bool) {
        // It is refused for threads that do not live, and these are all.
        let _ = self.set_sampled(jni, None, !is_paused);
    }

    fn stop(&self) {
        self.worker.stop();
    }

    fn settle(&self, _: bool) {
        let mut clocks = lock(&self.clocks);
        clocks.read_all();
        let mut pending = Vec::new();
        for index in 0..clocks.len() {
            let watched = clocks.get_mut(index);
            let samples = watched.take_samples(self.interval_ns);
            pending.push((watched.last_trace, watched.slot(), samples));
        }
        drop(clocks);
        for (last_trace, thread, samples) in pending {
            self.book(last_trace, thread, samples);
        }
    }

    fn account(&self, accounting: &mut Accounting) {
        accounting.walk_count += self.walk_count.load(Relaxed);
        accounting.failed_walk_count += self.failed_walk_count.load(Relaxed);
        accounting.unattributed_count += self.unattributed_count.load(Relaxed);
        accounting.virtual_sample_count += self.virtual_sample_count.load(Relaxed);
        accounting.perk_cpu_ns += self.sampler_cpu_ns.load(Relaxed);
    }
}
