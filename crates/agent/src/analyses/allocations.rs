//! Sampled allocations. HotSpot's own sampler (JEP 331) picks objects. The agent asks for the
//! allocation site of each and keeps a weak reference to it, which shows later whether it lives.
//!
//! The sampler lets a random number of bytes pass between samples, with an exponential distribution
//! whose mean is the interval, for each thread separately. So an object of `s` bytes is picked with
//! the probability `1 - exp(-s / interval)`. Each picked object is counted as the inverse of that
//! probability, so the sums are unbiased for objects of any size. Events come on the allocating
//! thread, in the middle of its work: no lock is held while the JVM is asked, and no lock is waited
//! for long.
//!
//! With a budget (`budget=y`) the interval becomes longer where there are many samples. HotSpot draws a
//! thread's next distance right before it reports a sample, so each thread keeps the interval of that
//! moment, which is the weight of its next sample.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, Instant};

use perk_jvm::guard::Feature;
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, NewObject, Vm, Walker, Weak};
use perk_jvmti_sys::{Capability, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC};
use perk_profile::{Accounting, Allocations, ClassId, TraceId};
use rustc_hash::FxHashMap;

use super::books::sites::SiteBook;
use super::{Analysis, Event, Needs, Order};
use crate::common::{Common, JVM_INTERVAL_BYTES, Life, limited};
use crate::rate::Rate;
use crate::series::SeriesKind;
use crate::threads::LiveThread;

/// The least number of references that are swept before a dump.
const MIN_SWEPT: usize = 1 << 10;
/// The time that a dump waits for a sweep of another thread.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);

/// The sampler of allocations; see the module.
#[derive(Debug)]
pub(crate) struct AllocationSampler {
    common: &'static Common,
    /// The book of its estimates; `None` if others count, and ask for callers.
    book: Option<&'static SiteBook>,
    /// The average number of bytes between samples; never 0.
    rate: Rate,
    /// The number of frames of a walk.
    depth: AtomicU32,
    vm: OnceLock<Vm>,
    table: Mutex<Table>,
    /// Held by the only thread that may delete references.
    sweeping: Mutex<()>,
    walker: Walker,
    sample_count: AtomicU64,
    failed_walk_count: AtomicU64,
}

/// The samples so far.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Row>,
    by_site: FxHashMap<(ClassId, TraceId), usize>,
    /// The sampled objects that lived at the last check.
    live: Vec<LiveSample>,
    /// The number of objects that the last sweep left.
    swept: usize,
}

#[derive(Debug)]
struct Row {
    class: ClassId,
    trace: TraceId,
    allocated: Estimate,
}

#[derive(Debug)]
struct LiveSample {
    object: Weak,
    row: usize,
    sample: Estimate,
}

/// The objects that samples represent, which may be fractions.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    count: f64,
    bytes: f64,
}

thread_local! {
    /// Whether this thread books a sample: the JVM's allocations for that are not sampled.
    static BOOKING: Cell<bool> = const { Cell::new(false) };
    /// The interval with which the JVM drew this thread's next distance; 0 if no session has changed it
    /// since the thread began. It outlives sessions, as the distance does.
    static DRAWN: Cell<u64> = const { Cell::new(0) };
}

/// With a budget: the divisor of the process's CPU time for the time that samples may take.
const SHARE: u64 = 500;
/// The JVM takes an interval as a signed number of 32 bits.
const MOST_INTERVAL_BYTES: u64 = i32::MAX as u64;

/// Whether the interval becomes longer where samples cost much. Callers of counted objects need no more of them.
fn has_budget(common: &Common, book: Option<&SiteBook>) -> bool {
    common.options.budget || book.is_none()
}

impl AllocationSampler {
    pub(crate) fn new(
        common: &'static Common,
        interval_bytes: u64,
        book: Option<&'static SiteBook>,
    ) -> Self {
        let most_bytes =
            if has_budget(common, book) { MOST_INTERVAL_BYTES } else { interval_bytes };
        Self {
            common,
            book,
            rate: Rate::new(interval_bytes, most_bytes, SHARE),
            depth: AtomicU32::new(common.depth()),
            vm: OnceLock::new(),
            table: Mutex::default(),
            sweeping: Mutex::new(()),
            walker: Walker::default(),
            sample_count: AtomicU64::new(0),
            failed_walk_count: AtomicU64::new(0),
        }
    }

    /// Threads that begin later use the same interval.
    fn set_interval(&self) -> Result<(), String> {
        let set = self.common.jvmti.set_heap_sampling_interval(self.rate.interval());
        set.map_err(|error| format!("the JVM refused to sample allocations: {error}"))
    }

    /// Returns the interval with which the distance to the calling thread's sample was drawn, and notes
    /// that of the next one, which was drawn a moment ago.
    fn drawn_interval(&self) -> u64 {
        match DRAWN.replace(self.rate.interval()) {
            // A thread that is older than the session drew it with the JVM's own interval.
            0 if self.common.life == Life::Attached => JVM_INTERVAL_BYTES,
            0 => self.rate.least(),
            bytes => bytes,
        }
    }

    /// Waits for a running sweep, with a limit, as the thread that sweeps could be suspended.
    fn wait_for_sweeping(&self) -> Option<MutexGuard<'_, ()>> {
        let deadline = Instant::now() + SWEEP_TIMEOUT;
        loop {
            match self.sweeping.try_lock() {
                Ok(sweeping) => return Some(sweeping),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Drops the objects that are gone. A sweep runs whenever the list has doubled, so the list is
    /// never longer than twice the live objects, and the cost of sweeping per sample is small.
    fn sweep(&self, jni: Jni<'_>, _sweeping: &MutexGuard<'_, ()>) {
        // SAFETY: references are deleted below and nowhere else, by one thread at a time.
        let alias = |live: &LiveSample| unsafe { live.object.alias() };
        let objects: Vec<Weak> = lock(&self.table).live.iter().map(alias).collect();
        let gone: Vec<bool> = objects.iter().map(|object| jni.is_gone(object)).collect();
        for dead in lock(&self.table).remove(&gone) {
            jni.delete_weak(dead.object);
        }
    }

    /// Returns the number of objects that the samples of each class and trace represent.
    pub(crate) fn weights(&self) -> Vec<(ClassId, TraceId, f64)> {
        let table = lock(&self.table);
        table.rows.iter().map(|row| (row.class, row.trace, row.allocated.count)).collect()
    }

    /// Returns the estimates for each site, since the program's start.
    fn sites(&self) -> Vec<(ClassId, TraceId, Allocations)> {
        let table = lock(&self.table);
        let mut live = vec![Estimate::default(); table.rows.len()];
        for object in &table.live {
            live[object.row].add(object.sample);
        }
        let rows = table.rows.iter().zip(live);
        rows.map(|(row, live)| (row.class, row.trace, allocations(row.allocated, live))).collect()
    }
}

impl Analysis for AllocationSampler {
    fn name(&self) -> Option<&'static str> {
        Some("allocation sampling")
    }

    fn feature(&self) -> Feature {
        Feature::Sampling
    }

    fn task(&self) -> &'static str {
        "sample allocations"
    }

    fn needs(&self) -> Needs {
        Needs { later_events: vec![Event::ObjectSampled], ..Needs::default() }
    }

    fn loaded(&'static self) -> Result<(), String> {
        if self.common.may_lack_samples() {
            return Ok(());
        }
        self.set_interval()
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let vm = jni.vm().ok_or("no JVM")?;
        let _ = self.vm.set(vm);
        if self.common.may_lack_samples() {
            let samples = [Capability::CanGenerateSampledObjectAllocEvents].into_iter().collect();
            let added = self.common.jvmti.add_capabilities(samples);
            added.map_err(|error| format!("the JVM gives them to one agent: {error}"))?;
            self.set_interval()?;
        }
        let enabled = self.common.jvmti.enable(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC);
        enabled.map_err(|error| format!("the JVM refused the event: {error}"))
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        // The JVM has drawn its first distance a moment ago.
        if thread.tid() == Some(Tid::current()) {
            DRAWN.set(self.rate.interval());
        }
    }

    fn object_sampled(&self, jni: Jni<'_>, picked: &NewObject<'_>) {
        if BOOKING.replace(true) {
            return;
        }
        let begun_ns = os::thread_cpu_ns();
        let common = self.common;
        self.sample_count.fetch_add(1, Relaxed);
        let class = common.class(&picked.class);
        let thread = common.slot(jni, &picked.thread);
        let depth = self.depth.load(Relaxed);
        let trace = self.walker.walk(common.jvmti, &picked.thread, depth, |stack| {
            self.failed_walk_count.fetch_add(stack.is_none().into(), Relaxed);
            common.trace(jni, thread, stack.unwrap_or_default())
        });
        let object = (common.options.live && self.book.is_some())
            .then(|| jni.weak(&picked.object))
            .flatten();
        let sample = Estimate::of(picked.size_bytes, self.drawn_interval());
        let thread = lock(common.recorder).profile.serial_of_trace(trace);
        common.series.add(SeriesKind::Allocated, thread, 0, sample.bytes.round() as u64);
        let due = lock(&self.table).add((class, trace), sample, object);
        // If the lock is taken, another thread sweeps.
        if due && let Ok(sweeping) = self.sweeping.try_lock() {
            self.sweep(jni, &sweeping);
        }
        if has_budget(common, self.book)
            && let Some(interval_bytes) = self.rate.sampled(begun_ns)
        {
            let _ = common.jvmti.set_heap_sampling_interval(interval_bytes);
        }
        BOOKING.set(false);
    }

    fn obey(&'static self, _: Jni<'_>, order: Order) -> Result<(), String> {
        if let Order::Depth(depth) = order {
            self.depth.store(limited(depth), Relaxed);
        }
        Ok(())
    }

    fn set_paused(&'static self, _: Jni<'_>, is_paused: bool) {
        let jvmti = self.common.jvmti;
        let _ = match is_paused {
            true => jvmti.disable(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC),
            false => jvmti.enable(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC),
        };
    }

    /// If the JVM cannot be asked any more, the objects that lived at the last check count as live.
    fn survey(&self) {
        let Some(jni) = self.vm.get().and_then(Vm::jni) else { return };
        if let Some(sweeping) = self.wait_for_sweeping() {
            self.sweep(jni, &sweeping);
        }
    }

    fn settle(&self, _: bool) {
        let Some(book) = self.book else { return };
        let sites = self.sites();
        let _recorder = lock(self.common.recorder);
        book.book(sites);
    }

    /// Sites are booked anew each time.
    fn show(&self) {
        self.settle(false);
    }

    fn release(&'static self, jni: Jni<'_>) {
        let table = std::mem::take(&mut *lock(&self.table));
        table.live.into_iter().for_each(|live| jni.delete_weak(live.object));
        let _ = self.common.jvmti.set_heap_sampling_interval(JVM_INTERVAL_BYTES);
        self.walker.release();
    }

    fn account(&self, accounting: &mut Accounting) {
        accounting.allocation_sample_count += self.sample_count.load(Relaxed);
        accounting.failed_walk_count += self.failed_walk_count.load(Relaxed);
    }
}

impl Table {
    /// Adds a sample; returns whether a sweep is due.
    fn add(
        &mut self,
        (class, trace): (ClassId, TraceId),
        sample: Estimate,
        object: Option<Weak>,
    ) -> bool {
        let row = *self.by_site.entry((class, trace)).or_insert_with(|| {
            self.rows.push(Row { class, trace, allocated: Estimate::default() });
            self.rows.len() - 1
        });
        self.rows[row].allocated.add(sample);
        self.live.extend(object.map(|object| LiveSample { object, row, sample }));
        self.live.len() >= 2 * self.swept.max(MIN_SWEPT / 2)
    }

    /// Removes the objects that are gone; `gone` has an entry for each of the first objects.
    fn remove(&mut self, gone: &[bool]) -> Vec<LiveSample> {
        let mut gone = gone.iter();
        let dead = self.live.extract_if(.., |_| gone.next().is_some_and(|&gone| gone)).collect();
        self.swept = self.live.len();
        dead
    }
}

impl Estimate {
    /// Returns the estimate for a sampled object of `size_bytes`.
    fn of(size_bytes: u64, interval_bytes: u64) -> Self {
        let intervals = size_bytes as f64 / interval_bytes as f64;
        // `exp_m1` keeps the digits that `1 - exp` would lose for small objects.
        let count = -1.0 / (-intervals).exp_m1();
        Self { count, bytes: count * size_bytes as f64 }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

fn allocations(allocated: Estimate, live: Estimate) -> Allocations {
    // The same summands in another order can differ in the last digit.
    let live =
        Estimate { count: live.count.min(allocated.count), bytes: live.bytes.min(allocated.bytes) };
    Allocations {
        live_bytes: live.bytes.round() as u64,
        live_count: live.count.round() as u64,
        allocated_bytes: allocated.bytes.round() as u64,
        allocated_count: allocated.count.round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_stands_for_as_many_as_its_chance_says() {
        let small = Estimate::of(16, 512 << 10);
        assert!((small.count - (32_768.0 + 0.5)).abs() < 0.01, "{small:?}");
        assert!((small.bytes - 16.0 * small.count).abs() < 1e-6);
        // Much larger than the interval: sampled for sure.
        assert_eq!(Estimate::of(64 << 20, 512 << 10).count, 1.0);
    }

    #[test]
    fn live_is_never_more_than_allocated() {
        let allocated = Estimate { count: 2.5, bytes: 40.0 };
        let live = Estimate { count: 2.500_000_1, bytes: 40.000_000_1 };
        let row = allocations(allocated, live);
        assert_eq!((row.live_bytes, row.live_count), (row.allocated_bytes, row.allocated_count));
        assert_eq!((row.allocated_bytes, row.allocated_count), (40, 3));
    }
}
