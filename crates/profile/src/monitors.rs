//! Contention: the waits of threads for locks and for each other, and the owners of monitors at a
//! dump.

use std::cmp::Reverse;

use crate::{
    ClassId, Column, Key, KeyedMap, KeyedSet, Metric, Section, SectionHead, Subject, Timestamp,
    TraceId,
};

/// The kind of lock that threads wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockKind {
    /// The monitor of an object: `synchronized`, `Object.wait`.
    Monitor,
    /// A blocker of `LockSupport.park`: the locks and queues of `java.util.concurrent`.
    Parking,
}

impl LockKind {
    /// The kind of the locks of a class, if a file gives only the class. Threads park for the
    /// synchronizers of `java.util.concurrent`, and use monitors of all other classes.
    pub fn of_class(name: &str) -> Self {
        match name.starts_with("java.util.concurrent.") {
            true => LockKind::Parking,
            false => LockKind::Monitor,
        }
    }
}

/// Waits since the previous such section, by trace and class of the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorTimes {
    /// The time in which threads were blocked, in nanoseconds, of all rows, including those below
    /// the file's cutoff.
    pub total_ns: u64,
    /// The rows, in the file's order.
    pub rows: Vec<MonitorRow>,
    /// The time at which the section was written, if it is known.
    pub written: Option<Timestamp>,
}

/// The waits of one trace for locks of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorRow {
    /// The call trace of the waits.
    pub trace: TraceId,
    /// The class of the lock.
    pub class: ClassId,
    /// The kind of the lock.
    pub kind: LockKind,
    /// The number and the time of the waits.
    pub waits: Waits,
}

/// Numbers and times of waits. A wait in progress is counted when it begins; its time is the time
/// up to the section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The number of times that a thread could not acquire a lock at once. For
    /// [`LockKind::Parking`] it is the number of times that a thread was parked for a lock that was
    /// held, which may be several times until it acquires the lock.
    pub blocked_count: u64,
    /// The time until the thread acquired the lock.
    pub blocked_ns: u64,
    /// The number of times that a thread waited to be notified: `Object.wait`, and parking for
    /// something that is not a lock.
    pub wait_count: u64,
    /// The time until the thread was notified, or the wait timed out.
    pub waited_ns: u64,
}

impl Waits {
    /// Makes waits from numbers in the order of [`Metric::OF_LOCKS`].
    pub fn of([blocked_count, blocked_ns, wait_count, waited_ns]: [u64; 4]) -> Self {
        Self { blocked_count, blocked_ns, wait_count, waited_ns }
    }

    /// The numbers in the order of [`Metric::OF_LOCKS`].
    pub fn numbers(self) -> [u64; 4] {
        let Self { blocked_count, blocked_ns, wait_count, waited_ns } = self;
        [blocked_count, blocked_ns, wait_count, waited_ns]
    }

    /// Adds more waits; sums stop at the largest number.
    pub fn add(&mut self, more: Self) {
        let sum = |a: &mut u64, b| *a = a.saturating_add(b);
        sum(&mut self.blocked_count, more.blocked_count);
        sum(&mut self.blocked_ns, more.blocked_ns);
        sum(&mut self.wait_count, more.wait_count);
        sum(&mut self.waited_ns, more.waited_ns);
    }

    /// Whether a thread could not acquire a lock at once, in this section or in a previous one.
    pub fn is_blocked(&self) -> bool {
        self.blocked_count > 0 || self.blocked_ns > 0
    }

    /// Whether a thread waited to be notified.
    pub fn is_waiting(&self) -> bool {
        self.wait_count > 0 || self.waited_ns > 0
    }

    /// The sort key of rows: most time blocked first, then most often blocked, then most time
    /// waited.
    pub fn order(&self) -> impl Ord + use<> {
        Reverse((self.blocked_ns, self.blocked_count, self.waited_ns, self.wait_count))
    }
}

impl MonitorTimes {
    /// The waits of a section; `None` if it has none. Rows without the class of a lock are left
    /// out.
    pub fn of(section: &Section) -> Option<Self> {
        if !section.head.has(&Metric::OF_LOCKS) {
            return None;
        }
        let row = |(Key { trace, subject, .. }, numbers): (Key, [u64; 4])| {
            let Subject::Lock(class, kind) = subject else { return None };
            Some(MonitorRow { trace, class, kind, waits: Waits::of(numbers) })
        };
        let [total_ns] = section.totals([Metric::BlockedTime]);
        let rows = section.of_metrics(Metric::OF_LOCKS).filter_map(row).collect();
        Some(Self { total_ns, rows, written: section.head.written })
    }

    /// The head of their section.
    pub fn head(&self) -> SectionHead {
        let mut sum = Waits::default();
        self.rows.iter().for_each(|row| sum.add(row.waits));
        sum.blocked_ns = self.total_ns;
        let columns = Metric::OF_LOCKS.into_iter().zip(sum.numbers());
        let columns: Vec<_> = columns.map(|(metric, total)| Column::new(metric, total)).collect();
        SectionHead { written: self.written, ..SectionHead::new(columns) }
    }

    /// The rows of their section.
    pub fn keyed(&self) -> impl ExactSizeIterator<Item = (Key, [u64; 4])> + Clone {
        self.rows.iter().map(|row| {
            let subject = Subject::Lock(row.class, row.kind);
            (Key::new(row.trace, subject), row.waits.numbers())
        })
    }

    /// Orders the rows as HPROF prints them: most time blocked first; rows that only waited come
    /// after these, most time first. Drops the rows whose shares of the time blocked and of the
    /// time waited are below `cutoff`.
    pub fn rank(&mut self, cutoff: f64) {
        self.rows.sort_unstable_by_key(|row| (row.waits.order(), row.trace, row.class, row.kind));
        let waited = self.rows.iter().map(|row| row.waits.waited_ns).fold(0, u64::saturating_add);
        let has = |part: u64, total: u64| part as f64 >= cutoff * total as f64;
        self.rows.retain(|MonitorRow { waits, .. }| {
            (waits.is_blocked() && has(waits.blocked_ns, self.total_ns))
                || (waits.is_waiting() && has(waits.waited_ns, waited))
        });
    }
}

/// The name of the frame in the place of the stack of a holder that is not known.
pub const UNKNOWN_HOLDER: &str = "[holder not known]";

/// The time for which threads waited for locks of one class while one stack had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderRow {
    /// The call trace of the holder.
    pub trace: TraceId,
    /// The class of the lock.
    pub class: ClassId,
    /// The kind of the lock.
    pub kind: LockKind,
    /// The time of the waits, of each waiting thread.
    pub blocking_ns: u64,
    /// The number of times that a waiting thread was met while the stack had its lock.
    pub sample_count: u64,
}

impl HolderRow {
    /// The rows of a section.
    pub fn all_of(section: &Section) -> impl Iterator<Item = Self> {
        let has_rows = section.head.has(&Metric::OF_HOLDERS);
        let rows = section.of_metrics(Metric::OF_HOLDERS).filter(move |_| has_rows);
        rows.filter_map(|(Key { trace, subject, .. }, [blocking_ns, sample_count])| {
            let Subject::Lock(class, kind) = subject else { return None };
            Some(Self { trace, class, kind, blocking_ns, sample_count })
        })
    }

    /// Makes a section of rows.
    pub fn section(rows: &[Self], written: Option<Timestamp>) -> Section {
        let numbers = |row: &Self| [row.blocking_ns, row.sample_count];
        let mut totals = [0_u64; 2];
        for row in rows {
            for (total, number) in totals.iter_mut().zip(numbers(row)) {
                *total = total.saturating_add(number);
            }
        }
        let columns = Metric::OF_HOLDERS.into_iter().zip(totals);
        let columns: Vec<_> = columns.map(|(metric, total)| Column::new(metric, total)).collect();
        let head = SectionHead { written, ..SectionHead::new(columns) };
        let rows = rows.iter().map(|row| {
            let subject = Subject::Lock(row.class, row.kind);
            (Key::new(row.trace, subject), numbers(row))
        });
        Section::with_rows(head, rows)
    }
}

/// A thread's wait, as text files report it when it happens: with class and thread, without a
/// trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitEvent {
    /// The kind of the event.
    pub kind: WaitKind,
    /// The class of the monitor; `None` for a sleep.
    pub class: Option<ClassId>,
    /// For [`WaitKind::Wait`] and [`WaitKind::Sleep`] the time limit, or 0 without a limit; for
    /// [`WaitKind::Waited`] the duration of the wait; in milliseconds.
    pub time_ms: u64,
    /// The thread's serial number; `None` if it is not known.
    pub thread: Option<u32>,
}

/// The kind of a [`WaitEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// A thread begins to wait to be notified.
    Wait,
    /// The thread was notified or interrupted, or its wait timed out.
    Waited,
    /// A thread waits without a monitor.
    Sleep,
    /// A thread leaves a monitor. No known file has it.
    Exit,
}

/// All threads and the monitors they hold or wait for, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorDump {
    /// The threads.
    pub threads: Vec<ThreadState>,
    /// The monitors that a thread owns or waits for.
    pub monitors: Vec<Monitor>,
    /// The time at which the dump was written, if it is known.
    pub written: Option<Timestamp>,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread's serial number. Files can name threads that they never introduced.
    pub serial: u32,
    /// The thread's stack; the system trace if it is not known.
    pub trace: TraceId,
    /// The thread's status.
    pub status: Status,
    /// Whether it is suspended.
    pub is_suspended: bool,
    /// Whether it was interrupted and has not noticed yet.
    pub is_interrupted: bool,
    /// Whether it is in a native method.
    pub is_in_native: bool,
}

/// The status of a thread, in HPROF's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The thread has ended.
    Ended,
    /// The thread has not started.
    NotStarted,
    /// The thread sleeps.
    Sleeping,
    /// The thread waits to enter a monitor.
    Blocked,
    /// The thread waits to be notified, or is parked.
    Waiting,
    /// The thread runs, or is ready to run.
    Runnable,
    /// Anything else.
    Unknown,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 7] = [
        Status::Ended,
        Status::NotStarted,
        Status::Sleeping,
        Status::Blocked,
        Status::Waiting,
        Status::Runnable,
        Status::Unknown,
    ];

    /// The abbreviation that HPROF writes.
    pub fn code(self) -> &'static str {
        match self {
            Status::Ended => "ZO",
            Status::NotStarted => "NS",
            Status::Sleeping => "SL",
            Status::Blocked => "MW",
            Status::Waiting => "CW",
            Status::Runnable => "R",
            Status::Unknown => "UN",
        }
    }

    /// The name of the status in reports.
    pub fn title(self) -> &'static str {
        match self {
            Status::Ended => "ended",
            Status::NotStarted => "not started",
            Status::Sleeping => "sleeping",
            Status::Blocked => "blocked",
            Status::Waiting => "waiting",
            Status::Runnable => "runnable",
            Status::Unknown => "unknown",
        }
    }
}

/// A monitor or lock, its owner and the threads that wait for it. Threads are given by their serial
/// numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// The class of the object.
    pub class: ClassId,
    /// The object's identity hash code, which distinguishes it from others of its class; `None` if
    /// the file does not give it.
    pub identity: Option<u32>,
    /// The kind of the lock.
    pub kind: LockKind,
    /// The thread that owns it, if any.
    pub owner: Option<u32>,
    /// The number of times that the owner has entered it and not left it; 0 if it has no owner, or
    /// if the lock does not give the number.
    pub entry_count: u32,
    /// The threads that wait to acquire it.
    pub blocked: Vec<u32>,
    /// The threads that wait to be notified, or are parked for something that is not a lock.
    pub waiting: Vec<u32>,
}

impl Monitor {
    /// Whether a thread that waits for it has entered it meanwhile: monitors are reentrant, so that their
    /// owner never waits for them.
    pub fn has_let_in(&self, thread: u32) -> bool {
        self.kind == LockKind::Monitor && self.owner == Some(thread)
    }
}

/// One thread of a deadlock: it waits for a monitor that the next thread owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockLink {
    /// The thread's serial number.
    pub thread: u32,
    /// The monitor that it waits for, as an index into [`MonitorDump::monitors`].
    pub monitor: usize,
}

impl MonitorDump {
    /// Returns the cycles of threads in which each thread waits for a monitor of the next, and the
    /// last for one of the first. Each cycle begins with the thread of the lowest number. A thread
    /// that waits for a monitor of its own has just entered it: monitors are reentrant. It may wait for
    /// ever for a lock of `java.util.concurrent` that is its own.
    pub fn deadlocks(&self) -> Vec<Vec<DeadlockLink>> {
        let mut waits_for: KeyedMap<u32, usize> = KeyedMap::default();
        for (index, monitor) in self.monitors.iter().enumerate() {
            for &thread in monitor.blocked.iter().filter(|thread| !monitor.has_let_in(**thread)) {
                waits_for.insert(thread, index);
            }
        }
        let mut threads: Vec<u32> = waits_for.keys().copied().collect();
        threads.sort_unstable();
        let mut seen = KeyedSet::default();
        let mut circles = Vec::new();
        for first in threads {
            let mut path: Vec<DeadlockLink> = Vec::new();
            let mut next = Some(first);
            while let Some(thread) = next {
                if let Some(begin) = path.iter().position(|link| link.thread == thread) {
                    let mut circle = path.split_off(begin);
                    let lowest = circle.iter().map(|link| link.thread).min();
                    let lowest = circle.iter().position(|link| Some(link.thread) == lowest);
                    circle.rotate_left(lowest.unwrap_or(0));
                    circles.push(circle);
                    break;
                }
                if !seen.insert(thread) {
                    break;
                }
                let Some(&monitor) = waits_for.get(&thread) else { break };
                path.push(DeadlockLink { thread, monitor });
                next = self.monitors[monitor].owner;
            }
        }
        circles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::fixture::{push_monitor_times, waits};

    #[test]
    fn most_time_blocked_comes_first_and_little_is_cut() {
        let mut profile = Profile::default();
        push_monitor_times(
            &mut profile,
            &[
                ("A", "T.f", waits(0, 0, 2, 900)),
                ("A", "T.g", waits(1, 5, 0, 0)),
                ("B", "T.f", waits(3, 995, 1, 1)),
                ("B", "T.g", waits(0, 0, 0, 0)),
            ],
        );
        let mut times = profile.monitor_times().next().unwrap();
        times.rank(0.0);
        let blocked = |times: &MonitorTimes| -> Vec<_> {
            times.rows.iter().map(|row| row.waits.blocked_ns).collect()
        };
        assert_eq!(blocked(&times), [995, 5, 0]);
        times.rank(0.01);
        assert_eq!(blocked(&times), [995, 0]);
        assert_eq!(times.total_ns, 1000);
    }

    fn monitor(class: ClassId, owner: Option<u32>, blocked: &[u32]) -> Monitor {
        Monitor {
            class,
            identity: None,
            kind: LockKind::Monitor,
            owner,
            entry_count: 1,
            blocked: blocked.to_vec(),
            waiting: Vec::new(),
        }
    }

    #[test]
    fn deadlocks_are_circles() {
        let mut profile = Profile::default();
        let class = profile.symbols.class("A");
        let circles = |monitors: &[(Option<u32>, &[u32])]| -> Vec<Vec<u32>> {
            let monitors =
                monitors.iter().map(|&(owner, blocked)| monitor(class, owner, blocked)).collect();
            let dump = MonitorDump { monitors, ..MonitorDump::default() };
            let circles = dump.deadlocks();
            circles.iter().map(|it| it.iter().map(|link| link.thread).collect()).collect()
        };
        // Thread 4 waits for a thread of the cycle, and thread 9 for a monitor without an owner.
        let three: [(Option<u32>, &[u32]); 4] =
            [(Some(3), &[1, 4]), (Some(2), &[3]), (Some(1), &[2]), (None, &[9])];
        assert_eq!(circles(&three), [[1, 3, 2]]);
        assert_eq!(circles(&[(Some(1), &[2]), (Some(2), &[3])]), [[0; 0]; 0]);
        // Thread 7 has entered the monitor that it was met at.
        assert_eq!(circles(&[(Some(1), &[2]), (Some(2), &[1]), (Some(7), &[7])]), [[1, 2]]);
        // Locks of java.util.concurrent need not be reentrant.
        let lock = Monitor { kind: LockKind::Parking, ..monitor(class, Some(7), &[7]) };
        let dump = MonitorDump { monitors: vec![lock], ..MonitorDump::default() };
        assert_eq!(dump.deadlocks(), [[DeadlockLink { thread: 7, monitor: 0 }]]);
    }
}
