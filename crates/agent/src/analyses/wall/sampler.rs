//! The sampler's thread: visits threads, asks for their states, walks their stacks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perk_jvm::os::{self, ThreadFiles};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Local, Reference, StackFrame};
use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::{
    JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_IN_NATIVE,
    JVMTI_THREAD_STATE_PARKED, JVMTI_THREAD_STATE_SLEEPING, JVMTI_THREAD_STATE_WAITING,
    jvmtiFrameInfo,
};
use perk_profile::WallState;

use super::WallClock;
use super::ledger::Counts;
use super::table::{Sample, VisitTarget};
use crate::random::Random;
use crate::threads::LiveThread;

/// The shortest time between ticks.
const MIN_PERIOD_NS: u64 = 100_000;
/// While no thread moves, the time between ticks grows by up to this factor; by the second with a budget.
const MAX_IDLE_FACTOR: u32 = 4;
const BUDGET_IDLE_FACTOR: u32 = 8;
/// The most threads that are walked in a tick. Where more move, all are visited less often.
const MOST_WALKS: usize = 8;
/// The divisor of the interval for the CPU time of a tick that goes to threads that stand still: a
/// half percent of a CPU. Where there are more of them, all are visited less often.
const INTERVAL_PER_VISITS: u64 = 200;
/// With a budget: the divisor of the process's CPU time for the time that the sampler may take.
const SHARE: u64 = 600;
/// The process counts as one that uses at least this part of a CPU, so that one that waits is sampled, too.
const LEAST_LOAD: u64 = 4;
/// The time that it may take at once: the first walks of each stack take longest, and a program may be short.
const CREDIT_NS: i64 = 3_000_000;
/// The longest time between two ticks that a budget makes.
const MOST_PAUSE_NS: u64 = 1_000_000_000;
/// The number of visits between two looks at the time they cost.
const BATCH: usize = 32;
/// A thread that changes its state during the walk is walked again, up to this number.
const MOST_ATTEMPTS: usize = 3;

/// The sampler; see the module.
pub(super) struct Sampler<'a> {
    wall: &'a WallClock,
    jni: Jni<'a>,
    /// The buffers of a walk, which are reused.
    buffer: Vec<jvmtiFrameInfo>,
    stack: Vec<StackFrame>,
    files: ThreadFiles,
    random: Random,
    /// The number of consecutive ticks in which no thread moved.
    idle_ticks: u32,
    budget: Option<Budget>,
}

/// The CPU time that the sampler may take; see [`SHARE`].
#[derive(Debug, Default)]
struct Budget {
    /// The clocks of the process, of the sampler and of the wall at the last tick.
    process_ns: u64,
    own_ns: u64,
    wall_ns: u64,
    /// The time that it took and was not yet allowed to; below 0 the time that it may still take.
    debt_ns: i64,
}

impl Budget {
    /// Returns the time for which the sampler must pause, by the load since the last tick.
    fn pause_ns(&mut self, process_ns: u64, own_ns: u64, wall_ns: u64) -> u64 {
        let passed =
            |now: u64, before: &mut u64| now.saturating_sub(std::mem::replace(before, now));
        let passed_ns = passed(wall_ns, &mut self.wall_ns).max(1);
        let burned_ns = passed(process_ns, &mut self.process_ns).max(passed_ns / LEAST_LOAD).max(1);
        let spent_ns = passed(own_ns, &mut self.own_ns);
        let allowed_ns = (burned_ns / SHARE).cast_signed();
        self.debt_ns = (self.debt_ns - allowed_ns).max(-CREDIT_NS) + spent_ns.cast_signed();
        let debt_ns = u128::from(self.debt_ns.max(0).cast_unsigned());
        let ns = debt_ns * u128::from(SHARE) * u128::from(passed_ns) / u128::from(burned_ns);
        u64::try_from(ns).unwrap_or(u64::MAX).min(MOST_PAUSE_NS)
    }
}

/// What a look at a thread shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    state: WallState,
    cpu_ns: Option<u64>,
}

impl Look {
    /// Whether the stack between this look and `after` is of the same state.
    fn agrees(self, after: Self) -> bool {
        self == after || self.is_active() && after.is_active()
    }

    /// Whether the thread runs or waits for a CPU.
    fn is_active(self) -> bool {
        self.state == WallState::Running
    }
}

impl<'a> Sampler<'a> {
    pub(super) fn new(wall: &'a WallClock, jni: Jni<'a>) -> Self {
        let (buffer, stack) = (Vec::new(), Vec::new());
        let budget = wall.common.options.budget.then(|| Budget {
            process_ns: os::process_cpu_ns(),
            own_ns: os::thread_cpu_ns(),
            wall_ns: os::nano_time(),
            debt_ns: -CREDIT_NS,
        });
        let (files, random) = (ThreadFiles::default(), Random::default());
        Self { wall, jni, buffer, stack, files, random, idle_ticks: 0, budget }
    }

    /// Samples until it is stopped.
    pub(super) fn run(mut self) {
        let mut deadline = Instant::now();
        loop {
            deadline += self.next_wait();
            if self.wall.worker.wait_until(deadline) {
                break;
            }
            if !self.wall.is_paused.load(Relaxed) {
                self.tick();
            }
            self.wall.sampler_cpu_ns.store(os::thread_cpu_ns(), Relaxed);
            // After a stall the missed ticks are not made up: the next samples have that time.
            deadline = deadline.max(Instant::now());
        }
    }

    /// Returns an interval, more or less; longer while no thread moves.
    fn next_wait(&mut self) -> Duration {
        let period_ns = self.wall.interval_ns.max(MIN_PERIOD_NS) * u64::from(self.idle_factor());
        let pause_ns = self.budget.as_mut().map_or(0, |budget| {
            budget.pause_ns(os::process_cpu_ns(), os::thread_cpu_ns(), os::nano_time())
        });
        Duration::from_nanos(self.random.around(period_ns.max(pause_ns)))
    }

    fn idle_factor(&self) -> u32 {
        let most = if self.budget.is_some() { BUDGET_IDLE_FACTOR } else { MAX_IDLE_FACTOR };
        (1 + self.idle_ticks).min(most)
    }

    /// Visits each thread once, or as many as the tick has time for.
    fn tick(&mut self) {
        let wall = self.wall;
        let mut left = lock(&wall.table).len();
        let mut spent_ns = 0;
        let budget_ns = wall.interval_ns * u64::from(self.idle_factor()) / INTERVAL_PER_VISITS;
        let mut walks = 0;
        self.idle_ticks += 1;
        while left > 0 && walks < MOST_WALKS && spent_ns <= budget_ns && !wall.worker.must_stop() {
            let begin_ns = os::thread_cpu_ns();
            let (visited, moving) = lock(&wall.table).pass(left.min(BATCH));
            if visited == 0 {
                break;
            }
            left = left.saturating_sub(visited);
            let is_walked = moving.is_some_and(|moving| self.look_at(&moving));
            if is_walked {
                walks += 1;
                self.idle_ticks = 0;
            } else {
                spent_ns += os::thread_cpu_ns().saturating_sub(begin_ns);
            }
        }
        wall.common.threads.delete_ended(self.jni);
    }

    /// Takes a sample of a thread that may have moved. Returns whether its stack was walked.
    fn look_at(&mut self, VisitTarget { thread, last }: &VisitTarget) -> bool {
        let wall = self.wall;
        let common = wall.common;
        let mounted = wall
            .virtual_thread
            .and_then(|function| common.jvmti.virtual_thread(self.jni, function, &**thread));
        let now_ns = os::nano_time();
        let Some(mut look) = self.look(thread, mounted.as_ref()) else { return false };
        let is_same = last.is_some_and(|it| {
            !look.is_active() && (it.state, it.counts.cpu_ns) == (look.state, look.cpu_ns)
        });
        if is_same && look.cpu_ns.is_some() {
            lock(&wall.table).saw(thread, now_ns);
            return false;
        }
        let mut is_walked = false;
        for _ in 0..MOST_ATTEMPTS {
            is_walked = match &mounted {
                Some(thread) => self.walk(thread),
                None => self.walk(&**thread),
            };
            let Some(after) = self.look(thread, mounted.as_ref()) else { return true };
            let agrees = look.agrees(after);
            if !agrees || !look.is_active() {
                look = after;
            }
            if agrees {
                break;
            }
        }
        if !is_walked {
            return true;
        }
        let slot = mounted.as_ref().and_then(|mounted| common.slot_of_virtual(self.jni, mounted));
        let trace = common.trace(self.jni, Some(slot.unwrap_or(thread.slot)), &self.stack);
        let delay_ns = thread.tid().and_then(|tid| self.files.run_delay_ns(tid));
        let counts = Counts { cpu_ns: look.cpu_ns, delay_ns };
        let sample = Sample { trace, state: look.state, counts };
        let bookings = lock(&wall.table).sampled(thread, sample, now_ns);
        wall.book(&bookings);
        true
    }

    /// Returns the state of a thread, or of the virtual thread that it carries; `None` if it has
    /// ended. A thread that waits for a CPU counts as running.
    fn look(&mut self, thread: &Arc<LiveThread>, mounted: Option<&Local<'_>>) -> Option<Look> {
        let jvmti = self.wall.common.jvmti;
        let clock = || match thread.tid() {
            Some(tid) => tid.cpu_ns(),
            None => jvmti.thread_cpu_ns(&**thread),
        };
        let cpu_ns = clock();
        let bits = match mounted {
            Some(thread) => jvmti.thread_state(thread)?,
            None => jvmti.thread_state(&**thread)?,
        };
        if let Some(state) = waiting_state(bits) {
            return Some(Look { state, cpu_ns });
        }
        // A clock that advances is proof that the thread runs, and costs less than a request for
        // the kernel's state.
        let later_ns = clock();
        let files = &mut self.files;
        let mut is_runnable = || thread.tid().and_then(|tid| files.is_runnable(tid)) == Some(true);
        let state = if later_ns > cpu_ns || is_runnable() {
            WallState::Running
        } else if bits & JVMTI_THREAD_STATE_IN_NATIVE != 0 {
            WallState::Native
        } else {
            WallState::Vm
        };
        Some(Look { state, cpu_ns: later_ns })
    }

    /// Walks a thread's stack.
    fn walk(&mut self, thread: &impl Reference) -> bool {
        let common = self.wall.common;
        let depth = self.wall.depth.load(Relaxed) as usize;
        let room = common.depth_with_probes(depth);
        // SAFETY: a frame is a number and a pointer; zeroes are valid.
        self.buffer.resize(room, unsafe { std::mem::zeroed() });
        self.wall.walk_count.fetch_add(1, Relaxed);
        if room > 0 && common.jvmti.stack(thread, &mut self.buffer, &mut self.stack).is_err() {
            return false;
        }
        common.remove_probes(&mut self.stack, depth);
        true
    }
}

/// Returns the state of a thread that waits by the JVM's word.
fn waiting_state(bits: jint) -> Option<WallState> {
    [
        (JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, WallState::Blocked),
        (JVMTI_THREAD_STATE_SLEEPING, WallState::Sleeping),
        (JVMTI_THREAD_STATE_PARKED, WallState::Parked),
        (JVMTI_THREAD_STATE_WAITING, WallState::Waiting),
    ]
    .into_iter()
    .find_map(|(bit, state)| (bits & bit != 0).then_some(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of the process's time that a sampler takes whose ticks take `tick_ns`, and the
    /// number of its ticks, in 100 s of a process that burns `load` thousandths of a CPU.
    fn run(tick_ns: u64, load: u64) -> (f64, u64) {
        const S: u64 = 1_000_000_000;
        let mut budget = Budget { debt_ns: -CREDIT_NS, ..Budget::default() };
        let (mut wall_ns, mut own_ns, mut ticks) = (0, 0, 0);
        while wall_ns < 100 * S {
            let pause_ns = budget.pause_ns(wall_ns * load / 1000, own_ns, wall_ns);
            wall_ns += pause_ns.max(10_000_000);
            own_ns += tick_ns;
            ticks += 1;
        }
        (own_ns as f64 / (wall_ns * load / 1000) as f64, ticks)
    }

    #[test]
    fn a_budget_is_a_share_of_the_process_s_time() {
        for (tick_ns, load) in [(200_000, 1000), (1_000_000, 2000), (300_000, 250)] {
            let (share, ticks) = run(tick_ns, load);
            assert!((0.0015..0.0020).contains(&share), "{tick_ns} {load}: {share} {ticks}");
        }
        // Nothing is slower than without a budget, and a process that waits is sampled, too.
        assert_eq!(run(10_000, 1000).1, 10_000);
        assert!(run(200_000, 1).1 >= 100, "{:?}", run(200_000, 1));
    }
}
