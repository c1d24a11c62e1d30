//! The waits of threads for locks, by path, class of the lock and thread, and the holders of the locks.

use std::cmp::Reverse;
use std::collections::HashSet;

use perk_profile::monitors::{DeadlockLink, UNKNOWN_HOLDER};
use perk_profile::{
    ClassId, FrameId, HolderRow, KeyedMap, LockKind, Monitor, MonitorDump, NodeId, Profile, StrId,
    ThreadId, Waits,
};

use crate::{Owner, Owners};

/// The waits of one path for locks of one class, over all sections and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionRow {
    /// The class of the lock; of several with the same name the first.
    pub class: ClassId,
    /// The kind of the lock.
    pub kind: LockKind,
    /// The path of the waits, with lines; the root if it is not known.
    pub node: NodeId,
    /// The number and the time of the waits.
    pub waits: Waits,
}

/// The time for which threads waited for locks of one class while one path had them, over all sections
/// and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldingRow {
    /// The class of the lock; of several with the same name the first.
    pub class: ClassId,
    /// The kind of the lock.
    pub kind: LockKind,
    /// The path of the holder, with lines.
    pub node: NodeId,
    /// The time of the waits, of each waiting thread.
    pub blocking_ns: u64,
    /// The number of times that a waiting thread was met.
    pub sample_count: u64,
}

impl HoldingRow {
    /// Whether the holder is known.
    pub fn is_known(&self, profile: &Profile) -> bool {
        let symbols = &profile.symbols;
        let name = |frame: FrameId| {
            let method = symbols.get_method(symbols.get_frame(frame).method);
            symbols.strings.get(method.name)
        };
        profile.tree.frame(self.node).is_some_and(|frame| name(frame) != UNKNOWN_HOLDER)
    }
}

/// The paths on which threads waited, most time blocked first.
pub fn contention(profile: &Profile) -> Vec<ContentionRow> {
    let rows = profile.monitor_times().flat_map(|section| section.rows).map(|row| {
        let node = profile.get_trace(row.trace).node;
        ((node, row.class, row.kind), row.waits)
    });
    let mut rows = merge(profile, rows, Waits::add);
    rows.sort_by_key(|&((node, class, kind), waits)| (waits.order(), node, class, kind));
    rows.into_iter()
        .map(|((node, class, kind), waits)| ContentionRow { class, kind, node, waits })
        .collect()
}

/// The paths that had locks which others waited for, most time first.
pub fn holding(profile: &Profile) -> Vec<HoldingRow> {
    let rows = profile.sections().flat_map(HolderRow::all_of).map(|row| {
        let node = profile.get_trace(row.trace).node;
        ((node, row.class, row.kind), [row.blocking_ns, row.sample_count])
    });
    let rows = merge(profile, rows, |sum: &mut [u64; 2], more| {
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    });
    let mut rows: Vec<_> = rows
        .into_iter()
        .map(|((node, class, kind), [blocking_ns, sample_count])| HoldingRow {
            class,
            kind,
            node,
            blocking_ns,
            sample_count,
        })
        .collect();
    rows.sort_by_key(|row| (Reverse(row.blocking_ns), row.node, row.class, row.kind));
    rows
}

/// The classes of the locks that threads waited for, most time blocked first.
pub fn lock_classes(profile: &Profile) -> Vec<(ClassId, LockKind, Waits)> {
    classes_of(profile, &contention(profile))
}

/// The classes of the locks of some paths, most time blocked first.
pub fn classes_of(profile: &Profile, rows: &[ContentionRow]) -> Vec<(ClassId, LockKind, Waits)> {
    let rows = rows.iter().map(|row| ((NodeId::new(0), row.class, row.kind), row.waits));
    let rows = merge(profile, rows, Waits::add).into_iter();
    let mut rows: Vec<_> = rows.map(|((_, class, kind), waits)| (class, kind, waits)).collect();
    rows.sort_by_key(|&(class, kind, waits)| (waits.order(), class, kind));
    rows
}

/// Whether a wait is one of the JDK's housekeeping: threads of the JDK that wait for work (Cleaner,
/// Reference Handler, idle threads of pools), and threads that wait for the end of others (for that of a
/// virtual thread they are blocked by a latch).
pub fn is_housekeeping(profile: &Profile, owners: &Owners, row: &ContentionRow) -> bool {
    let symbols = &profile.symbols;
    let method = |frame: FrameId| symbols.get_frame(frame).method;
    let is_of_jdk = |frame: &FrameId| matches!(owners.of(method(*frame)), Owner::Jdk | Owner::Jvm);
    let frames: Vec<_> = profile.tree.frames(row.node).collect();
    let of_jdk = frames.iter().take_while(|frame| is_of_jdk(frame)).count();
    // A file that does not know the depth may have 0.
    let depth = profile.depth.filter(|&depth| depth > 0);
    let is_whole = depth.is_none_or(|depth| frames.len() < depth as usize);
    let called = of_jdk.checked_sub(1).map(|last| symbols.method_name(method(frames[last])));
    match called {
        Some(_) if of_jdk == frames.len() => is_whole && !row.waits.is_blocked(),
        Some(called) => ENDS.contains(&called.as_str()),
        None => false,
    }
}

/// The methods that wait for the end of threads.
const ENDS: [&str; 4] = [
    "java.lang.Thread.join",
    "java.util.concurrent.ExecutorService.close",
    "java.util.concurrent.ThreadPoolExecutor.awaitTermination",
    "java.util.concurrent.ForkJoinPool.awaitTermination",
];

/// The waits of each thread, most time blocked first; only in a profile that was made per thread.
pub fn waiting_threads(profile: &Profile) -> Vec<(ThreadId, Waits)> {
    let mut sums: KeyedMap<ThreadId, Waits> = KeyedMap::default();
    for row in profile.monitor_times().flat_map(|section| section.rows) {
        if let Some(thread) = profile.get_trace(row.trace).thread {
            sums.entry(thread).or_default().add(row.waits);
        }
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|&(thread, waits)| (waits.order(), thread));
    rows
}

/// Threads that wait for each other, and the dump that shows it first.
#[derive(Clone, Debug)]
pub struct Deadlock<'a> {
    /// The dump.
    pub dump: &'a MonitorDump,
    /// The threads, each with the monitor that it waits for, which the next one has.
    pub links: Vec<DeadlockLink>,
}

/// The deadlocks of all dumps, each once.
pub fn deadlocks(profile: &Profile) -> Vec<Deadlock<'_>> {
    let mut seen = HashSet::new();
    let mut deadlocks = Vec::new();
    for dump in profile.monitor_dumps() {
        for links in dump.deadlocks() {
            let threads: Vec<_> = links.iter().map(|link| link.thread).collect();
            if seen.insert(threads) {
                deadlocks.push(Deadlock { dump, links });
            }
        }
    }
    deadlocks
}

/// The monitors of a dump for which threads wait, those with most threads first.
pub fn wanted(dump: &MonitorDump) -> Vec<&Monitor> {
    let mut monitors: Vec<_> = dump.monitors.iter().collect();
    monitors.retain(|it| !it.blocked.is_empty() || !it.waiting.is_empty());
    monitors.sort_by_key(|it| Reverse((it.blocked.len(), it.waiting.len())));
    monitors
}

/// A path, and a lock's class and kind.
type PathLock = (NodeId, ClassId, LockKind);

/// Rows added up by path, name of the class and kind.
fn merge<T: Default>(
    profile: &Profile,
    rows: impl Iterator<Item = (PathLock, T)>,
    add: impl Fn(&mut T, T),
) -> Vec<(PathLock, T)> {
    let mut sums: Vec<(PathLock, T)> = Vec::new();
    let mut places: KeyedMap<(StrId, LockKind, NodeId), usize> = KeyedMap::default();
    for ((node, class, kind), number) in rows {
        let name = profile.symbols.get_class(class).name;
        let place = *places.entry((name, kind, node)).or_insert_with(|| {
            sums.push(((node, class, kind), T::default()));
            sums.len() - 1
        });
        add(&mut sums[place].1, number);
    }
    sums
}

#[cfg(test)]
mod tests {
    use perk_profile::Metric;

    use super::*;
    use crate::fixture::{push_monitor_times, stack, waits};

    #[test]
    fn sections_add_up() {
        let mut profile = Profile::default();
        push_monitor_times(&mut profile, &[("A", "T.f<T.main", waits(1, 10, 0, 0))]);
        push_monitor_times(
            &mut profile,
            &[("A", "T.f<T.main", waits(2, 20, 1, 5)), ("B", "T.f<T.main", waits(1, 90, 0, 0))],
        );
        let rows = contention(&profile);
        let name = |class| profile.symbols.class_name(class);
        assert_eq!((name(rows[0].class), rows[0].waits), ("B", waits(1, 90, 0, 0)));
        assert_eq!((name(rows[1].class), rows[1].waits), ("A", waits(3, 30, 1, 5)));
        assert_eq!(lock_classes(&profile).len(), 2);
    }

    #[test]
    fn holders_add_up() {
        let mut profile = Profile::default();
        let class = profile.symbols.class("L");
        let mut push = |rows: &[(&str, u64, u64)]| {
            let row = |&(path, blocking_ns, sample_count): &(&str, u64, u64)| {
                let node = stack(&mut profile, path);
                let trace = profile.trace(node, None);
                HolderRow { trace, class, kind: LockKind::Monitor, blocking_ns, sample_count }
            };
            let rows: Vec<_> = rows.iter().map(row).collect();
            profile.events.push(HolderRow::section(&rows, None).into());
        };
        push(&[("T.sleep<T.main", 10, 1), (".[holder not known]", 30, 0)]);
        push(&[("T.sleep<T.main", 50, 2)]);
        let rows = holding(&profile);
        let numbers: Vec<_> = rows.iter().map(|it| (it.blocking_ns, it.sample_count)).collect();
        assert_eq!(numbers, [(60, 3), (30, 0)]);
        assert_eq!(rows.iter().map(|it| it.is_known(&profile)).collect::<Vec<_>>(), [true, false]);
        assert_eq!(Metric::BlockingTime.total(&profile), 90);
    }

    #[test]
    fn waits_of_the_jdk_and_for_the_end_of_threads_are_housekeeping() {
        let mut profile = Profile::default();
        let of_jdk = "java.lang.ref.ReferenceQueue.remove<java.lang.Thread.run";
        let joins = "java.lang.Object.wait<java.lang.Thread.join<com.acme.T.main";
        let queue = "java.lang.Object.wait<com.acme.Queue.take<java.lang.Thread.run";
        let blocked = "java.io.PrintStream.println<java.lang.Thread.run";
        push_monitor_times(
            &mut profile,
            &[
                ("A", of_jdk, waits(0, 0, 1, 10)),
                ("B", joins, waits(0, 0, 1, 9)),
                ("C", queue, waits(0, 0, 1, 8)),
                ("D", blocked, waits(1, 1, 0, 0)),
            ],
        );
        let owners = Owners::new(&profile);
        let rows = contention(&profile);
        let kept: Vec<_> = rows
            .iter()
            .filter(|row| !is_housekeeping(&profile, &owners, row))
            .map(|row| profile.symbols.class_name(row.class))
            .collect();
        assert_eq!(kept, ["D", "C"]);
        // A stack that is cut may have other frames.
        profile.depth = Some(2);
        let is_cut = |row: &&ContentionRow| profile.symbols.class_name(row.class) == "A";
        let row = rows.iter().find(is_cut).unwrap();
        assert!(!is_housekeeping(&profile, &owners, row));
    }
}
