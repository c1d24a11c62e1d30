//! The sampler's thread: waits, reads clocks, walks stacks.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, StackFrame};
use perk_jvmti_sys::jvmtiFrameInfo;

use super::Polling;
use super::clocks::SampleDebt;
use crate::roster::Slot;

/// The shortest time between ticks: with a shorter interval, a walk represents several intervals.
const MIN_PERIOD_NS: u64 = 100_000;
/// While the process is idle, the time between ticks grows by up to this factor.
const MAX_IDLE_FACTOR: u32 = 4;
/// CPU time since the last tick that is less than this, or less than a hundredth of an interval, is
/// left for a later tick.
const MIN_GROWTH_NS: u64 = 50_000;
/// The interval is divided by this for the number of idle threads' clocks that are read per tick,
/// which cost a quarter of a percent of a CPU. That applies when the threads known to be busy do
/// not explain the CPU time of the process; otherwise a tenth of that number is read.
const INTERVAL_NS_PER_IDLE_CLOCK: u64 = 100_000;
/// The divisor of the interval for the cost of the process's clock per tick: a quarter of a
/// percent.
const INTERVAL_PER_CLOCK_SHARE: u64 = 400;
/// Threads that only the JVM can be asked about are asked once in this many ticks: they are the
/// JVM's own, such as the Finalizer, and mostly idle.
const TICKS_PER_OLDER_CLOCK: u64 = 16;

/// The sampler; see the module.
pub(super) struct Sampler<'a> {
    polling: &'a Polling,
    jni: Jni<'a>,
    /// The buffers of a walk, which are reused.
    buffer: Vec<jvmtiFrameInfo>,
    stack: Vec<StackFrame>,
    /// The CPU time of the process without the sampler's, at the last reading that was not idle.
    seen_ns: u64,
    /// The CPU time since then of the threads known to be busy.
    explained_ns: u64,
    /// Whether the process burned more than those threads: then idle threads may have become
    /// active.
    search_idle: bool,
    /// The number of ticks until the process's clock is read again.
    process_clock_pause: u64,
    busy_ticks: u64,
    /// The number of consecutive ticks that found the process idle.
    idle_ticks: u32,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(polling: &'a Polling, jni: Jni<'a>) -> Self {
        // SAFETY: a frame is a number and a pointer; zeroes are valid.
        let frame: jvmtiFrameInfo = unsafe { std::mem::zeroed() };
        Self {
            polling,
            jni,
            buffer: vec![frame; polling.depth.load(Relaxed) as usize],
            stack: Vec::new(),
            seen_ns: 0,
            explained_ns: 0,
            search_idle: true,
            process_clock_pause: 0,
            busy_ticks: 0,
            idle_ticks: 0,
        }
    }

    /// Samples until it is stopped.
    pub(super) fn run(mut self) {
        let mut deadline = Instant::now();
        loop {
            deadline += self.next_wait();
            if self.polling.wait_until(deadline) {
                break;
            }
            self.tick();
            // After a stall (a stopped process, a suspended laptop) the missed ticks are not made
            // up: the CPU clocks contain that time.
            deadline = deadline.max(Instant::now());
        }
        self.polling.sampler_cpu_ns.store(os::thread_cpu_ns(), Relaxed);
    }

    /// Returns an interval, more or less; longer while the program is idle.
    fn next_wait(&self) -> Duration {
        let period_ns = self.polling.interval_ns.max(MIN_PERIOD_NS);
        let wait_ns = lock(&self.polling.clocks).around(period_ns);
        let factor = (1 + self.idle_ticks).min(MAX_IDLE_FACTOR);
        Duration::from_nanos(wait_ns) * factor
    }

    fn tick(&mut self) {
        let interval_ns = self.polling.interval_ns;
        if self.process_is_idle() {
            self.idle_ticks += 1;
            return;
        }
        self.idle_ticks = 0;
        self.busy_ticks += 1;

        // The JVM is asked before the table is locked.
        let older_clocks = self.older_clocks();
        let mut due = Vec::new();
        let mut clocks = lock(&self.polling.clocks);
        self.explained_ns += clocks.tick_busy(&mut due);
        let budget = (interval_ns / INTERVAL_NS_PER_IDLE_CLOCK).clamp(10, 1000) as usize;
        let budget = if self.search_idle { budget } else { budget / 10 };
        clocks.tick_idle(budget, &mut due);
        for (thread, cpu_ns) in older_clocks {
            if let Some(index) = clocks.find(thread)
                && clocks.advance(index, cpu_ns) > 0
            {
                due.extend(clocks.due(index));
            }
        }
        drop(clocks);

        for due in due {
            // A thread that burned CPU time and blocks by now would be sampled where it waits, not
            // where it worked. Its time stays pending until it is met running.
            if due.is_running() {
                self.walk(&due);
            }
        }
        self.polling.common.threads.delete_ended(self.jni);
    }

    /// Whether the process has burned almost no CPU time since the last busy tick, by its own
    /// clock. That clock adds up all threads, so it is read rarely in a process of thousands: its
    /// cost is limited to the same share as that of the idle threads' clocks. In between, the last
    /// result counts.
    fn process_is_idle(&mut self) -> bool {
        if self.process_clock_pause > 0 {
            self.process_clock_pause -= 1;
            return false;
        }
        let interval_ns = self.polling.interval_ns;
        let own_ns = os::thread_cpu_ns();
        let others_ns = os::process_cpu_ns().saturating_sub(own_ns);
        let after_ns = os::thread_cpu_ns();
        self.polling.sampler_cpu_ns.store(after_ns, Relaxed);
        let share_ns = (interval_ns / INTERVAL_PER_CLOCK_SHARE).max(1);
        self.process_clock_pause = (after_ns - own_ns) / share_ns;
        let grown_ns = others_ns.saturating_sub(self.seen_ns);
        if grown_ns < MIN_GROWTH_NS.max(interval_ns / 100) {
            return true;
        }
        self.search_idle = grown_ns.saturating_sub(self.explained_ns) >= interval_ns / 50;
        (self.seen_ns, self.explained_ns) = (others_ns, 0);
        false
    }

    /// Returns the clocks of the threads without a kernel id, if they are due.
    fn older_clocks(&self) -> Vec<(Slot, u64)> {
        if !self.busy_ticks.is_multiple_of(TICKS_PER_OLDER_CLOCK) {
            return Vec::new();
        }
        self.polling.older_clocks()
    }

    fn walk(&mut self, due: &SampleDebt) {
        let Self { polling, jni, buffer, stack, .. } = self;
        let common = polling.common;
        let depth = polling.depth.load(Relaxed) as usize;
        if depth == 0 {
            return;
        }
        let room = common.depth_with_probes(depth);
        // SAFETY: a frame is a number and a pointer; zeroes are valid.
        buffer.resize(room, unsafe { std::mem::zeroed() });
        polling.walk_count.fetch_add(1, Relaxed);
        let jvmti = common.jvmti;
        let mounted = polling
            .virtual_thread
            .and_then(|function| jvmti.virtual_thread(*jni, function, &*due.thread));
        let walked = match &mounted {
            Some(thread) => jvmti.stack(thread, buffer, stack),
            None => jvmti.stack(&*due.thread, buffer, stack),
        };
        if walked.is_err() || stack.is_empty() {
            polling.failed_walk_count.fetch_add(1, Relaxed);
            return;
        }
        // The thread may have begun to wait, in a native method, between the check and the walk.
        let is_native = stack[0].bci < 0;
        if is_native && (jvmti.is_waiting(&*due.thread) || due.waits()) {
            return;
        }
        common.remove_probes(stack, depth);
        if stack.is_empty() {
            polling.failed_walk_count.fetch_add(1, Relaxed);
            return;
        }
        let samples = {
            let mut clocks = lock(&polling.clocks);
            // The thread may have ended in the meantime; its time was booked then.
            let Some(index) = clocks.find_due(due) else { return };
            clocks.get_mut(index).take_samples(polling.interval_ns)
        };
        let thread = mounted.as_ref().and_then(|mounted| common.slot_of_virtual(*jni, mounted));
        if mounted.is_some() {
            polling.virtual_sample_count.fetch_add(samples, Relaxed);
        }
        let slot = thread.unwrap_or(due.thread.slot);
        let frames = common.frames(*jni, stack);
        let trace = polling.book.sample(
            &mut lock(common.recorder),
            slot,
            &frames,
            samples,
            os::nano_time(),
        );
        let mut clocks = lock(&polling.clocks);
        if let Some(index) = clocks.find_due(due) {
            clocks.get_mut(index).last_trace = Some(trace);
        }
    }
}
