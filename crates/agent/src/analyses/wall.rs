//! Wall-clock samples: what every thread does, also while it waits.
//!
//! A thread of the agent visits the program's threads in turn, so that each is visited at the same
//! mean interval. A sample represents the time since the visit before: the sum of a thread's
//! samples is the time it lived. A thread whose CPU clock stands still has not moved since its last
//! sample, and is neither asked nor walked again: a visit to it costs one reading of a clock. See
//! `docs/measuring.md`.

mod book;
mod ledger;
mod sampler;
mod table;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perk_jvm::guard::Feature;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, ObjectRef, VirtualThreadFunction};
use perk_profile::{Accounting, SeriesSubject};

use self::book::WallBook;
use self::sampler::Sampler;
use self::table::{Booking, Table};
use super::{Analysis, Needs, OWN_GROUPS, Order};
use crate::common::{Common, limited};
use crate::recorder::Book;
use crate::series::SeriesKind;
use crate::threads::LiveThread;
use crate::worker::Worker;

/// The analysis of wall-clock samples; see the module.
pub(crate) struct WallClock {
    common: &'static Common,
    interval_ns: u64,
    /// The number of frames of a walk.
    depth: AtomicU32,
    virtual_thread: Option<VirtualThreadFunction>,
    is_paused: AtomicBool,
    table: Mutex<Table>,
    book: WallBook,
    worker: Worker,
    walk_count: AtomicU64,
    sampler_cpu_ns: AtomicU64,
}

impl WallClock {
    pub(crate) fn new(common: &'static Common, interval_ns: u64) -> Self {
        Self {
            common,
            interval_ns,
            depth: AtomicU32::new(common.depth()),
            virtual_thread: common.jvmti.virtual_thread_function(),
            is_paused: AtomicBool::new(false),
            table: Mutex::default(),
            book: WallBook::default(),
            worker: Worker::default(),
            walk_count: AtomicU64::new(0),
            sampler_cpu_ns: AtomicU64::new(0),
        }
    }

    /// Whether a thread gets samples. Without names these are the program's: the JDK's own threads
    /// are in groups apart, and wait most of the time.
    fn is_wanted(&self, thread: &LiveThread) -> bool {
        let names = &self.common.options.wall_threads;
        let recorder = lock(self.common.recorder);
        let info = recorder.thread_info(thread.slot);
        match names.is_empty() {
            true => !info.group.as_deref().is_some_and(|group| OWN_GROUPS.contains(&group)),
            false => names.iter().any(|pattern| pattern.matches(&info.name)),
        }
    }

    /// Books times. Those of threads that were never met have no stack.
    fn book(&self, bookings: &[Booking]) {
        if self.is_paused.load(Relaxed) {
            return;
        }
        let Common { recorder, series, .. } = self.common;
        let mut recorder = lock(recorder);
        self.book.book(bookings.iter().filter(|it| it.ns > 0).map(|it| {
            let trace = it.trace.unwrap_or_else(|| recorder.trace(Some(it.slot), &[]));
            let (thread, state) = (recorder.profile.serial_of_trace(trace), Some(it.state));
            series.add_between(SeriesKind::Wall, SeriesSubject { thread, state }, it.times, it.ns);
            (trace, it.state, it.ns)
        }));
    }
}

impl Analysis for WallClock {
    fn name(&self) -> Option<&'static str> {
        Some("wall-clock sampling")
    }

    fn feature(&self) -> Feature {
        Feature::Sampling
    }

    fn task(&self) -> &'static str {
        "sample by the clock"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![&self.book]
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let name = c"perk wall sampler";
        self.worker.start(self.common, jni, name, |jni| Sampler::new(self, jni).run())
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        if self.is_wanted(thread) {
            lock(&self.table).insert(Arc::clone(thread), os::nano_time());
        }
    }

    fn thread_ended(&self, _: Jni<'_>, _: ObjectRef<'_>, known: Option<&LiveThread>) {
        let now_ns = os::nano_time();
        if let Some(known) = known {
            let bookings = lock(&self.table).remove(known.slot, now_ns);
            self.book(&bookings);
        }
    }

    fn obey(&'static self, _: Jni<'_>, order: Order) -> Result<(), String> {
        if let Order::Depth(depth) = order {
            self.depth.store(limited(depth), Relaxed);
        }
        Ok(())
    }

    fn set_paused(&'static self, _: Jni<'_>, is_paused: bool) {
        if is_paused {
            self.settle(false);
            self.is_paused.store(true, Relaxed);
        } else {
            lock(&self.table).begin_at(os::nano_time());
            self.is_paused.store(false, Relaxed);
        }
    }

    fn stop(&self) {
        self.worker.stop();
    }

    fn settle(&self, last: bool) {
        let bookings = lock(&self.table).settle(os::nano_time(), last);
        self.book(&bookings);
    }

    fn release(&'static self, _: Jni<'_>) {
        *lock(&self.table) = Table::default();
    }

    fn account(&self, accounting: &mut Accounting) {
        accounting.wall_sample_count += lock(&self.table).visit_count();
        accounting.wall_walk_count += self.walk_count.load(Relaxed);
        accounting.perk_cpu_ns += self.sampler_cpu_ns.load(Relaxed);
    }
}
