//! The holders of locks that other threads wait for, and what they do meanwhile.
//!
//! A thread of perk looks at the waiting threads about a hundred times a second, while there are any. It asks for each of their
//! locks which thread has it, and walks the stack of that thread. What has passed of the waits since
//! the look before is booked on this stack; what a wait lasts after its last look is booked on the stack
//! that this look found. The waits between two looks have no holder of their own: their time is divided
//! as that of the waits which a single look met. So the times of the holders are, lock by lock, as much
//! as those of the waiting threads, and the cost does not depend on how often threads wait.
//!
//! The owner of a monitor is read from the JVM's memory; where that is not possible, the JVM stops all threads
//! for a moment, so that a look asks for few monitors. The owner of a lock of `java.util.concurrent` is in a
//! field. A holder is not known if the lock does not say who has it (read locks, `StampedLock`).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Local, Reference, Walker};
use perk_profile::monitors::UNKNOWN_HOLDER;
use perk_profile::{ClassId, HolderRow, LockKind, MonitorRow, TraceId};
use rustc_hash::FxHashMap;

use super::held::{HolderBook, HolderView};
use super::wait::{ThreadWait, delete};
use super::{Monitors, WaitGoal};
use crate::random::Random;
use crate::roster::Slot;
use crate::worker::Worker;

/// The time between two looks, on average; longer with a budget.
const PERIOD_NS: u64 = 10_000_000;
const BUDGET_PERIOD_NS: u64 = 100_000_000;
/// The number of looks in succession without a waiting thread, after which the next thread that waits
/// wakes the one that looks.
const MOST_IDLE_LOOKS: u32 = 3;
/// The number of monitors that a look asks for.
const MOST_MONITORS: usize = 4;
/// The time between a question for the holder and the end of the walk, after which the question is asked
/// again.
const MOST_DELAY: Duration = Duration::from_micros(300);
/// The local references of the work on one lock.
const ROOM: u8 = 64;

/// A lock's class and kind.
type LockClass = (ClassId, LockKind);

/// The measurement; see the module.
#[derive(Debug, Default)]
pub(super) struct Holders {
    worker: Worker,
    /// Whether the thread sleeps until another one waits for a lock.
    is_asleep: AtomicBool,
    books: Mutex<FxHashMap<(TraceId, LockClass), Arc<HolderBook>>>,
    unknown: OnceLock<TraceId>,
    walker: Walker,
}

/// A lock that threads wait for, and these threads with the beginnings of their waits.
struct LockQueue {
    class: LockClass,
    object: Arc<Global>,
    waits: Vec<(Slot, Instant)>,
}

impl Monitors {
    /// Begins to look for holders.
    ///
    /// # Errors
    /// The reason why that is not possible, in one line.
    pub(super) fn begin_holders(&'static self, jni: Jni<'_>) -> Result<(), String> {
        let period_ns = if self.sampled.is_some() { BUDGET_PERIOD_NS } else { PERIOD_NS };
        self.holders.worker.start(self.common, jni, c"perk locks", move |jni| {
            let mut random = Random::default();
            let mut idle_looks = 0;
            let mut pause_ns = random.around(period_ns);
            while !self.holders.worker.wait_until(Instant::now() + Duration::from_nanos(pause_ns)) {
                pause_ns = random.around(period_ns);
                idle_looks = if self.look(jni, &mut random) { 0 } else { idle_looks + 1 };
                if idle_looks >= MOST_IDLE_LOOKS {
                    if self.sleep(jni) {
                        return;
                    }
                    // A thread that parks for something else wakes it, too.
                    idle_looks = MOST_IDLE_LOOKS - 1;
                    // The wait that has begun is met as likely as any other of its length.
                    pause_ns = random.below(period_ns);
                }
            }
        })
    }

    /// Sleeps until a thread waits for a lock, or parks. Returns true if the looks must stop.
    fn sleep(&self, jni: Jni<'_>) -> bool {
        let is_asleep = &self.holders.is_asleep;
        is_asleep.store(true, SeqCst);
        // A thread that begins to wait or parks afterwards sees the flag.
        self.note_parked(jni);
        let is_waited = lock(&self.waiting).values().any(|it| it.what == WaitGoal::Lock);
        let must_stop = self.holders.worker.wait_while(|| !is_waited && is_asleep.load(SeqCst));
        is_asleep.store(false, SeqCst);
        must_stop
    }

    /// Looks at the holders of all locks that threads wait for. Returns whether there are any.
    fn look(&self, jni: Jni<'_>, random: &mut Random) -> bool {
        self.note_parked(jni);
        self.know_classes(jni);
        let mut wanted = self.wanted(jni);
        if wanted.is_empty() {
            return false;
        }
        // A look cannot ask for all monitors if there are many.
        let first = random.below(wanted.len() as u64) as usize;
        wanted.rotate_left(first);
        let mut monitor_count = 0;
        for wanted in wanted {
            let is_monitor = wanted.class.1 == LockKind::Monitor;
            monitor_count += usize::from(is_monitor);
            if !is_monitor || monitor_count <= MOST_MONITORS {
                jni.with_room(ROOM, || self.book_holder(jni, &wanted));
            }
            delete(jni, Some(wanted.object));
        }
        true
    }

    /// Returns the locks that threads wait for now.
    fn wanted(&self, jni: Jni<'_>) -> Vec<LockQueue> {
        let waits: Vec<_> = lock(&self.waiting)
            .iter()
            .filter(|(_, waiting)| waiting.what == WaitGoal::Lock)
            .filter_map(|(&slot, waiting)| {
                let class = (waiting.class?, waiting.kind);
                let object = Arc::clone(waiting.object.as_ref()?);
                Some((slot, waiting.begun.at, class, object))
            })
            .collect();
        let mut wanted: Vec<LockQueue> = Vec::new();
        for (slot, begun, class, object) in waits {
            let known =
                wanted.iter_mut().find(|it| it.class == class && jni.same(&*it.object, &*object));
            match known {
                Some(known) => {
                    known.waits.push((slot, begun));
                    delete(jni, Some(object));
                }
                None => wanted.push(LockQueue { class, object, waits: vec![(slot, begun)] }),
            }
        }
        wanted
    }

    /// Books the waits for a lock on the thread that has it.
    fn book_holder(&self, jni: Jni<'_>, wanted: &LockQueue) {
        let Some(found) = self.holder(jni, wanted) else { return };
        let now = Instant::now();
        let mut waiting = lock(&self.waiting);
        for (slot, begun) in &wanted.waits {
            // Meanwhile it may have got the lock, or wait for another.
            let waits_still =
                |it: &&mut ThreadWait| it.begun.at == *begun && found.thread != Some(*slot);
            if let Some(waiting) = waiting.get_mut(slot).filter(waits_still) {
                waiting.held.saw(&found, now);
            }
        }
    }

    /// Finds the thread that has a lock, and its stack.
    fn holder(&self, jni: Jni<'_>, wanted: &LockQueue) -> Option<HolderView> {
        let common = self.common;
        let asked = Instant::now();
        let Some(owner) = self.owner(jni, wanted) else {
            let book = self.holders.book(self.unknown_holder(), wanted.class);
            return Some(HolderView { thread: None, book, is_known: false });
        };
        let thread = common.threads.slot_of_other(jni, &owner);
        let depth = common.depth() as usize;
        let walked = common.depth_with_probes(depth) as u32;
        let trace = self.holders.walker.walk(common.jvmti, &owner, walked, |stack| {
            let mut stack = stack?.to_vec();
            common.remove_probes(&mut stack, depth);
            Some(common.trace(jni, thread, &stack))
        })?;
        // It may have left the lock before its stack was walked.
        if asked.elapsed() > MOST_DELAY
            && !self.owner(jni, wanted).is_some_and(|now| jni.same(&now, &owner))
        {
            return None;
        }
        Some(HolderView { thread, book: self.holders.book(trace, wanted.class), is_known: true })
    }

    /// Returns the thread that has a lock.
    fn owner<'a>(&self, jni: Jni<'a>, wanted: &LockQueue) -> Option<Local<'a>> {
        let object = &*wanted.object;
        match wanted.class.1 {
            LockKind::Monitor => {
                let threads = self.common.threads.all();
                let threads: Vec<_> = threads.iter().map(|it| &**it as &dyn Reference).collect();
                let waiting = |id| self.waiting_virtual(jni, id);
                self.common.jvmti.monitor_owner(jni, object, &threads, &waiting)
            }
            LockKind::Parking => {
                let owner = self.parking.get().and_then(|it| it.owner(jni, object));
                owner.map(|owner| self.mounted(jni, owner))
            }
        }
    }

    /// Returns the virtual thread of an id, if it waits without a carrier.
    pub(super) fn waiting_virtual<'a>(&self, jni: Jni<'a>, id: u64) -> Option<Local<'a>> {
        let waiting: Vec<_> = lock(&self.waiting)
            .iter()
            .filter_map(|(&slot, waiting)| Some((slot, Arc::clone(waiting.thread.as_ref()?))))
            .collect();
        let recorder = lock(self.common.recorder);
        let index = waiting.iter().position(|(slot, _)| recorder.thread_info(*slot).java_id == id);
        drop(recorder);
        let found = index.and_then(|index| jni.local(&*waiting[index].1));
        waiting.into_iter().for_each(|(_, thread)| delete(jni, Some(thread)));
        found
    }

    /// Returns the trace of holders that are not known.
    pub(super) fn unknown_holder(&self) -> TraceId {
        *self.holders.unknown.get_or_init(|| lock(self.common.recorder).named_trace(UNKNOWN_HOLDER))
    }

    /// Returns the virtual thread that a thread carries, or else the thread.
    fn mounted<'a>(&self, jni: Jni<'a>, thread: Local<'a>) -> Local<'a> {
        let virtual_thread = |function| self.common.jvmti.virtual_thread(jni, function, &thread);
        match self.virtual_thread.filter(|_| !jni.is_virtual(&thread)).and_then(virtual_thread) {
            Some(mounted) => mounted,
            None => thread,
        }
    }
}

impl Holders {
    fn book(&self, trace: TraceId, class: LockClass) -> Arc<HolderBook> {
        Arc::clone(lock(&self.books).entry((trace, class)).or_default())
    }

    /// Notes that a thread begins to wait, maybe for a lock: it is among those that wait or park.
    pub(super) fn wait_begins(&self) {
        if self.is_asleep.load(SeqCst) && self.is_asleep.swap(false, SeqCst) {
            self.worker.wake();
        }
    }

    /// Stops the looks.
    pub(super) fn stop(&self) {
        self.worker.stop();
    }

    /// Returns the times since the last call, each with the number of waits that a single look met.
    pub(super) fn take(&self) -> Vec<(HolderRow, u64)> {
        let books = lock(&self.books);
        let rows = books.iter().map(|(&(trace, (class, kind)), book)| {
            let blocking_ns = book.blocking_ns.swap(0, Relaxed);
            let sample_count = book.sample_count.swap(0, Relaxed);
            let row = HolderRow { trace, class, kind, blocking_ns, sample_count };
            (row, book.short_count.swap(0, Relaxed))
        });
        rows.filter(|(row, short)| row.blocking_ns > 0 || row.sample_count > 0 || *short > 0)
            .collect()
    }

    /// Gives up the tables.
    pub(super) fn release(&self) {
        *lock(&self.books) = FxHashMap::default();
        self.walker.release();
    }
}

/// Gives the time of `blocked` that is booked on no holder to the holders of the same locks, in proportion
/// to the waits that a single look met; without any, to the `unknown` one.
pub(super) fn divide(
    holders: Vec<(HolderRow, u64)>,
    blocked: &[MonitorRow],
    unknown: TraceId,
) -> Vec<HolderRow> {
    let mut rest: FxHashMap<LockClass, u64> = FxHashMap::default();
    for row in blocked {
        *rest.entry((row.class, row.kind)).or_default() += row.waits.blocked_ns;
    }
    let mut short_counts: FxHashMap<LockClass, u64> = FxHashMap::default();
    for (row, short_count) in &holders {
        let class = (row.class, row.kind);
        let rest = rest.entry(class).or_default();
        *rest = rest.saturating_sub(row.blocking_ns);
        *short_counts.entry(class).or_default() += short_count;
    }
    // The parts of a rest add up to it.
    let mut rows = Vec::with_capacity(holders.len());
    for (mut row, short_count) in holders {
        let class = (row.class, row.kind);
        let left = short_counts.entry(class).or_default();
        if short_count > 0
            && let Some(rest) = rest.get_mut(&class)
        {
            let part = u128::from(*rest) * u128::from(short_count) / u128::from(*left);
            let part = part as u64;
            row.blocking_ns += part;
            *rest -= part;
            *left -= short_count;
        }
        rows.push(row);
    }
    for ((class, kind), ns) in rest.into_iter().filter(|(_, ns)| *ns > 0) {
        let is_its =
            |row: &&mut HolderRow| (row.trace, row.class, row.kind) == (unknown, class, kind);
        match rows.iter_mut().find(is_its) {
            Some(row) => row.blocking_ns += ns,
            None => rows.push(HolderRow {
                trace: unknown,
                class,
                kind,
                blocking_ns: ns,
                sample_count: 0,
            }),
        }
    }
    rows.retain(|row| row.blocking_ns > 0);
    rows
}

#[cfg(test)]
mod tests {
    use perk_profile::Waits;

    use super::*;

    /// Two locks' classes.
    fn classes() -> [LockClass; 2] {
        let class = ClassId::new(1);
        [(class, LockKind::Monitor), (class, LockKind::Parking)]
    }

    fn unknown() -> TraceId {
        TraceId::new(9)
    }

    fn holder(trace: usize, (class, kind): LockClass, blocking_ns: u64) -> HolderRow {
        HolderRow { trace: TraceId::new(trace), class, kind, blocking_ns, sample_count: 1 }
    }

    fn blocked((class, kind): LockClass, blocked_ns: u64) -> MonitorRow {
        let waits = Waits { blocked_ns, ..Waits::default() };
        MonitorRow { trace: TraceId::new(0), class, kind, waits }
    }

    #[test]
    fn short_waits_are_divided_as_those_that_were_met() {
        let [class, other] = classes();
        let holders = vec![
            (holder(1, class, 100), 3),
            (holder(2, class, 50), 1),
            (holder(3, class, 20), 0),
            (holder(3, other, 5), 0),
        ];
        let rows = [blocked(class, 200), blocked(class, 71), blocked(other, 8)];
        let mut found = divide(holders, &rows, unknown());
        found.sort_by_key(|row| (row.kind, row.trace));
        let rest = HolderRow { sample_count: 0, ..holder(9, other, 3) };
        let expected = [
            holder(1, class, 100 + 75),
            holder(2, class, 50 + 26),
            holder(3, class, 20),
            holder(3, other, 5),
            rest,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_has_no_holder_is_one_row() {
        let [class, _] = classes();
        let holders = vec![(holder(9, class, 4), 0)];
        let found = divide(holders, &[blocked(class, 10)], unknown());
        assert_eq!(found, [holder(9, class, 10)]);
        assert_eq!(divide(Vec::new(), &[], unknown()), []);
        // A wait that ended between the two readings is in the next section.
        let found = divide(vec![(holder(1, class, 10), 1)], &[blocked(class, 8)], unknown());
        assert_eq!(found, [holder(1, class, 10)]);
    }
}
