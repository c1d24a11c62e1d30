//! The ticks of threads, by the place of each.

use perk_hprof::xprof::{Table, ThreadTables, XprofRow};
use perk_jvm::os::Tid;
use perk_profile::MethodId;
use rustc_hash::FxHashMap;

use super::places::{INTERPRETER, NO_LAST_FRAME, NULL_METHOD, Place};
use super::ticks;
use crate::roster::Slot;

/// The labels of a thread, in the order of their lines.
const LABELS: [&str; 3] = [INTERPRETER, NULL_METHOD, NO_LAST_FRAME];

/// The threads; see the module.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// The time when the ticks began, in nanoseconds of `System.nanoTime`; 0 before.
    begin_ns: u64,
    /// The thread on which they began, and the time for which it had waited for a CPU before.
    first: Option<(Tid, u64)>,
    /// By the number that the engine knows a thread by, which is never used again.
    all: FxHashMap<u64, Thread>,
    /// The ticks of all threads by label, in the order of [`LABELS`].
    label_counts: [u64; LABELS.len()],
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread {
    slot: Slot,
    name: String,
    /// Whether it is one of the program's, and not of the JDK's own.
    is_programs: bool,
    begin_ns: u64,
    /// The time of its end, once it has ended.
    end_ns: Option<u64>,
    tid: Tid,
    /// The time for which it had waited for a CPU when it ended, if the kernel says.
    delay_ns: Option<u64>,
    counts: FxHashMap<Place, u64>,
    /// The place of its last tick.
    last: Option<Place>,
    counted: u64,
    lost_count: u64,
}

impl Threads {
    /// Notes that the ticks begin, on the calling thread.
    pub(super) fn begin(&mut self, now_ns: u64) {
        let tid = Tid::current();
        self.begin_ns = now_ns;
        self.first = tid.run_delay_ns().map(|delay_ns| (tid, delay_ns));
    }

    /// Whether ticks have begun.
    pub(super) fn has_begun(&self) -> bool {
        self.begin_ns > 0
    }

    /// Returns the time since the ticks began, in nanoseconds.
    pub(super) fn elapsed_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.begin_ns)
    }

    /// Adds a thread.
    pub(super) fn add(&mut self, number: u64, thread: Thread) {
        self.all.insert(number, thread);
    }

    /// Gives the living thread of a slot another name.
    pub(super) fn rename(&mut self, slot: Slot, name: String) {
        let mut living = self.all.values_mut().filter(|thread| thread.end_ns.is_none());
        if let Some(thread) = living.find(|thread| thread.slot == slot) {
            thread.name = name;
        }
    }

    /// Notes the end of a thread, and returns how long it lived.
    pub(super) fn end(&mut self, number: u64, now_ns: u64) -> Option<u64> {
        let thread = self.all.get_mut(&number)?;
        thread.end_ns = Some(now_ns);
        Some(now_ns.saturating_sub(thread.begin_ns))
    }

    /// Notes the name of a thread at its end, and the time for which it had waited for a CPU.
    pub(super) fn describe(&mut self, number: u64, name: Option<String>, delay_ns: Option<u64>) {
        if let Some(thread) = self.all.get_mut(&number) {
            thread.delay_ns = delay_ns;
            if let Some(name) = name {
                thread.name = name;
            }
        }
    }

    /// Counts a tick of a thread. Those of threads that are not here are the JVM's own.
    pub(super) fn tick(&mut self, number: u64, place: Place, count: u64) {
        let Some(thread) = self.all.get_mut(&number) else { return };
        thread.counted += count;
        thread.last = Some(place.clone());
        self.count(number, place, count);
    }

    fn count(&mut self, number: u64, place: Place, count: u64) {
        let Some(thread) = self.all.get_mut(&number) else { return };
        if let Place::Label(label) = place
            && let Some(index) = LABELS.iter().position(|it| *it == label)
        {
            self.label_counts[index] += count;
        }
        *thread.counts.entry(place).or_default() += count;
    }

    /// Notes that all ticks of a thread are counted. `expired_count` were taken; `unseen_count` ended
    /// between two ticks of the kernel, and belong to the last place. Returns the thread if it has
    /// ended.
    pub(super) fn settle(
        &mut self,
        number: u64,
        expired_count: u64,
        unseen_count: u64,
    ) -> Option<Thread> {
        let thread = self.all.get_mut(&number)?;
        thread.lost_count = expired_count.saturating_sub(thread.counted);
        if unseen_count > 0 {
            let last = thread.last.clone().unwrap_or(Place::Label(NO_LAST_FRAME));
            self.count(number, last, unseen_count);
        }
        let has_ended = self.all.get(&number).is_some_and(|thread| thread.end_ns.is_some());
        if has_ended { self.all.remove(&number) } else { None }
    }

    /// Takes all threads, in the order in which they began.
    pub(super) fn take_all(&mut self) -> Vec<Thread> {
        let mut all: Vec<_> = self.all.drain().collect();
        all.sort_unstable_by_key(|thread| thread.0);
        let all = all.into_iter().map(|(_, thread)| thread);
        all.map(|thread| match thread.end_ns {
            Some(_) => thread,
            None => Thread { delay_ns: thread.tid.run_delay_ns(), ..thread },
        })
        .collect()
    }

    /// Returns the ticks of all threads that the summary lists.
    pub(super) fn labels(&self) -> [(&'static str, u64); 2] {
        let [interpreter, null_method, no_last_frame] = self.label_counts;
        [(INTERPRETER, interpreter), ("Unknown code", null_method + no_last_frame)]
    }

    /// Returns the tables of a thread, `None` if they would be empty: it lived for less than a tick,
    /// or it is the JVM's and did nothing.
    pub(super) fn tables(
        &self,
        thread: &Thread,
        interval_ns: u64,
        now_ns: u64,
        name_of: impl Fn(MethodId) -> String,
    ) -> Option<ThreadTables> {
        let elapsed_ns = thread.end_ns.unwrap_or(now_ns).saturating_sub(thread.begin_ns);
        let mut rows: FxHashMap<(Table, RowSubject<'_>), (u64, u64)> = FxHashMap::default();
        let mut label_counts = [0; LABELS.len()];
        for (place, &count) in &thread.counts {
            let (table, named, is_native) = match place {
                Place::Method { table, method, is_native } => {
                    (*table, RowSubject::Method(*method), *is_native)
                }
                Place::Stub { name, is_native } => {
                    (Table::RuntimeStub, RowSubject::Stub(name), *is_native)
                }
                Place::Label(label) => {
                    if let Some(index) = LABELS.iter().position(|it| it == label) {
                        label_counts[index] += count;
                    }
                    continue;
                }
            };
            let (code, native) = rows.entry((table, named)).or_default();
            *if is_native { native } else { code } += count;
        }
        let rows = rows.into_iter().map(|((table, named), (code_count, native_count))| XprofRow {
            table,
            name: match named {
                RowSubject::Method(method) => name_of(method),
                RowSubject::Stub(name) => name.to_owned(),
            },
            code_count,
            native_count,
        });
        let mut tables = ThreadTables {
            name: thread.name.clone(),
            elapsed_ns,
            rows: rows.collect(),
            labels: LABELS.iter().map(|it| (*it).to_owned()).zip(label_counts).collect(),
            lost_count: thread.lost_count,
            ..ThreadTables::default()
        };
        let running = tables.running_count();
        let idle = ticks(elapsed_ns, interval_ns).saturating_sub(running);
        // The JDK's own threads are older than the ticks, and have waited before.
        let delay_ns = thread.delay_ns.filter(|_| thread.is_programs).unwrap_or(0);
        let before_ns = self.first.filter(|first| first.0 == thread.tid).map_or(0, |first| first.1);
        let delay_ns = delay_ns.saturating_sub(before_ns);
        tables.waiting_count = ticks(delay_ns.min(elapsed_ns), interval_ns).min(idle);
        tables.blocked_count = idle - tables.waiting_count;
        let is_shown = running > 0 || thread.is_programs && idle > 0;
        is_shown.then_some(tables)
    }
}

impl Thread {
    /// A thread that begins now. `is_programs` distinguishes it from the JDK's own.
    pub(super) fn new(slot: Slot, tid: Tid, name: String, is_programs: bool, now_ns: u64) -> Self {
        Self {
            slot,
            name,
            is_programs,
            begin_ns: now_ns,
            end_ns: None,
            tid,
            delay_ns: None,
            counts: FxHashMap::default(),
            last: None,
            counted: 0,
            lost_count: 0,
        }
    }
}

/// What the row of a table is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum RowSubject<'a> {
    Method(MethodId),
    Stub(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_add_up_to_the_time_of_the_thread() {
        let mut threads = Threads { begin_ns: 1, ..Threads::default() };
        let slot = Slot::from_index(0);
        threads.add(7, Thread::new(slot, Tid::current(), "first".to_owned(), true, 0));
        let (method, table) = (MethodId::new(3), Table::Compiled);
        let place = |is_native| Place::Method { table, method, is_native };
        threads.tick(7, place(false), 4);
        threads.tick(7, place(true), 2);
        threads.tick(7, Place::Label(INTERPRETER), 1);
        threads.tick(8, Place::Label(INTERPRETER), 1);
        threads.rename(slot, "renamed".to_owned());
        // 9 were taken, and 3 more would have been.
        assert!(threads.settle(7, 9, 3).is_none());
        assert_eq!(threads.end(7, 200_000_000), Some(200_000_000));
        threads.describe(7, Some("last".to_owned()), Some(30_000_000));
        let thread = threads.settle(7, 9, 0).unwrap();
        let name = |method: MethodId| format!("A.m{}", method.index());
        let tables = threads.tables(&thread, 10_000_000, u64::MAX, name).unwrap();
        let row = XprofRow { table, name: "A.m3".to_owned(), code_count: 4, native_count: 2 };
        assert_eq!(tables.rows, [row]);
        assert_eq!((tables.name.as_str(), tables.lost_count), ("last", 2));
        assert_eq!(tables.labels[0], (INTERPRETER.to_owned(), 4));
        assert_eq!((tables.running_count(), tables.blocked_count), (12, 5));
        assert_eq!((tables.waiting_count, tables.total_count()), (3, 20));
        assert_eq!(threads.labels(), [(INTERPRETER, 4), ("Unknown code", 0)]);
        assert!(threads.take_all().is_empty());
    }

    #[test]
    fn threads_without_ticks_have_no_tables() {
        let mut threads = Threads::default();
        for (number, is_programs, ms) in [(1, true, 4), (2, false, 1000), (3, true, 5)] {
            let slot = Slot::from_index(0);
            threads.add(number, Thread::new(slot, Tid::current(), String::new(), is_programs, 0));
            threads.end(number, ms * 1_000_000);
        }
        let shown = threads.take_all().into_iter().map(|thread| {
            threads.tables(&thread, 10_000_000, 0, |_| String::new()).map(|it| it.total_count())
        });
        assert_eq!(shown.collect::<Vec<_>>(), [None, None, Some(1)]);
    }
}
