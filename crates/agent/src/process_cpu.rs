//! The CPU time of the process by group of threads, from the kernel's clocks and names of threads.
//!
//! The threads are looked at twice a second while the process works: the JVM starts compiler threads while the
//! program runs, ends them when they have been idle for half a second, and the clock of a thread ends with it. What a thread burns after the last look at
//! it is part of the rest, which [`Accounting::cpu_groups`] computes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use perk_jvm::guard;
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use perk_profile::Accounting;
use rustc_hash::FxHashMap;

use crate::threads::Threads;

/// The divisor of the time for the time that looks may take.
const MOST_SHARE: u32 = 500;
/// The CPU time of the process for which a look is worth its cost.
const LEAST_NS: u64 = 5_000_000;

/// The measurement; see the module.
#[derive(Debug, Default)]
pub(crate) struct ProcessCpu {
    table: Mutex<Table>,
    /// The clock of the thread that stops the others, when the current collection began.
    collection_begun_ns: AtomicU64,
    /// The CPU time of that thread in collections: some collectors have no other thread.
    collection_ns: AtomicU64,
}

/// The work that a thread is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Runs Java code: the registry of threads has its time.
    Java,
    Gc,
    JitC1,
    JitC2,
    Jvm,
    Native,
    Perk,
}

/// The threads that were there at the last look, and the sums of those that have ended.
#[derive(Debug, Default)]
struct Table {
    threads: FxHashMap<Tid, ThreadCpu>,
    ended: Sums,
    /// The process's time before the program, perk's own left out.
    start_ns: u64,
    next_look: Option<Instant>,
    /// The process's time at the last look.
    looked_at_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct ThreadCpu {
    group: Group,
    /// The CPU time when the measurement began.
    first_ns: u64,
    cpu_ns: u64,
    /// The name is that of the creator until the thread gives itself another.
    has_final_name: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    gc: u64,
    jit_c1: u64,
    jit_c2: u64,
    jvm: u64,
    native: u64,
    perk: u64,
}

impl ProcessCpu {
    /// Begins to measure, as the program is about to begin or in one that runs. `perk_ns` is perk's own
    /// time so far if the JVM's start is part of the account.
    pub(crate) fn begin(&self, threads: &Threads, perk_ns: Option<u64>) {
        let mut table = lock(&self.table);
        table.look(threads);
        table.threads.values_mut().for_each(|seen| seen.first_ns = seen.cpu_ns);
        table.ended = Sums::default();
        self.collection_ns.store(0, Relaxed);
        table.start_ns = perk_ns.map_or(0, |perk_ns| os::process_cpu_ns().saturating_sub(perk_ns));
    }

    /// Looks at all threads, unless they have done little, or looks at that many would take more than
    /// their share of the time.
    pub(crate) fn tick(&self, threads: &Threads) {
        let mut table = lock(&self.table);
        let begun = Instant::now();
        let process_ns = os::process_cpu_ns();
        let has_worked = process_ns >= table.looked_at_ns + LEAST_NS;
        if has_worked && table.next_look.is_none_or(|at| begun >= at) {
            table.looked_at_ns = process_ns;
            table.look(threads);
            table.next_look = Some(begun + begun.elapsed() * MOST_SHARE);
        }
    }

    /// Looks at all threads.
    pub(crate) fn look(&self, threads: &Threads) {
        lock(&self.table).look(threads);
    }

    /// Notes that the JVM stands still on the calling thread, to collect garbage.
    pub(crate) fn collection_started(&self) {
        self.collection_begun_ns.store(os::thread_cpu_ns(), Relaxed);
    }

    /// Notes the end of the collection.
    pub(crate) fn collection_finished(&self) {
        let burned_ns = os::thread_cpu_ns().saturating_sub(self.collection_begun_ns.load(Relaxed));
        self.collection_ns.fetch_add(burned_ns, Relaxed);
    }

    /// Adds the times up to now to the account, which has perk's own up to now: the callbacks' time, and
    /// that of threads which count it themselves.
    pub(crate) fn account(
        &self,
        threads: &Threads,
        callbacks_ns: u64,
        accounting: &mut Accounting,
    ) {
        let mut table = lock(&self.table);
        table.look(threads);
        let mut sums = table.ended;
        table.threads.values().for_each(|seen| sums.add(seen));
        let collection_ns = self.collection_ns.load(Relaxed).min(sums.jvm);
        accounting.cpu_count =
            std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        accounting.start_cpu_ns = table.start_ns;
        accounting.gc_cpu_ns = sums.gc + collection_ns;
        accounting.jit_c1_cpu_ns = sums.jit_c1;
        accounting.jit_c2_cpu_ns = sums.jit_c2;
        accounting.jvm_cpu_ns = sums.jvm - collection_ns;
        match threads.cpu_ns_without_tid() {
            None => accounting.native_cpu_ns = sums.native,
            // They cannot be distinguished from native threads; few programs have native threads
            // that work.
            Some(known_ns) => accounting.java_cpu_ns += sums.native.saturating_sub(known_ns),
        }
        let counted_ns = accounting.perk_cpu_ns.saturating_sub(callbacks_ns);
        accounting.perk_thread_cpu_ns = sums.perk.max(counted_ns);
        accounting.perk_cpu_ns = callbacks_ns + accounting.perk_thread_cpu_ns;
    }
}

impl Table {
    fn look(&mut self, threads: &Threads) {
        let mut before = std::mem::take(&mut self.threads);
        let java = threads.tids();
        for tid in os::own_tids() {
            if java.contains(&tid) {
                before.remove(&tid);
                let seen =
                    ThreadCpu { group: Group::Java, first_ns: 0, cpu_ns: 0, has_final_name: true };
                self.threads.insert(tid, seen);
                continue;
            }
            let Some(cpu_ns) = tid.cpu_ns() else { continue };
            // A clock that has gone back is that of another thread with the same id.
            let known = before.remove(&tid).filter(|seen| {
                let is_same = seen.cpu_ns <= cpu_ns;
                if !is_same {
                    self.ended.add(seen);
                }
                is_same
            });
            let first_ns = known.map_or(0, |seen| seen.first_ns);
            let (group, has_final_name) = match known {
                Some(seen) if seen.has_final_name => (seen.group, true),
                _ => match tid.name() {
                    Some(name) => (Group::of(tid, &name), known.is_some()),
                    None => continue,
                },
            };
            self.threads.insert(tid, ThreadCpu { group, first_ns, cpu_ns, has_final_name });
        }
        before.values().for_each(|seen| self.ended.add(seen));
    }
}

impl Sums {
    fn add(&mut self, seen: &ThreadCpu) {
        let sum = match seen.group {
            Group::Java => return,
            Group::Gc => &mut self.gc,
            Group::JitC1 => &mut self.jit_c1,
            Group::JitC2 => &mut self.jit_c2,
            Group::Jvm => &mut self.jvm,
            Group::Native => &mut self.native,
            Group::Perk => &mut self.perk,
        };
        *sum += seen.cpu_ns.saturating_sub(seen.first_ns);
    }
}

/// The beginnings of the names that HotSpot gives its threads; the kernel keeps 15 bytes of a name.
/// Java threads that are older than the agent are among them.
const NAMES: [(Group, &[&str]); 5] = [
    (Group::Perk, &["perk "]),
    (Group::JitC1, &["C1 "]),
    (Group::JitC2, &["C2 ", "JVMCI", "LibGraal"]),
    (
        Group::Gc,
        &[
            "GC Thread#",
            "G1 ",
            "ParGC",
            "ZWorker",
            "ZDirector",
            "ZDriver",
            "ZStat",
            "ZUncommitter",
            "ZUnmapper",
            "ZMark",
            "XWorker",
            "XDirector",
            "XDriver",
            "XStat",
            "XUncommitter",
            "XUnmapper",
            "RuntimeWorker",
            "Shenandoah",
            "ShenUncommit",
            "Shen ",
            "StringDedup",
            "StrDedup",
        ],
    ),
    (
        Group::Jvm,
        &[
            "VM ",
            "Service Thread",
            "Monitor Deflati",
            "Sweeper thread",
            "Notification Th",
            "AsyncLog",
            "Signal Dispatch",
            "Attach Listener",
            "Reference Handl",
            "Finalizer",
            "JFR ",
        ],
    ),
];

impl Group {
    fn of(tid: Tid, name: &str) -> Self {
        // The process's first thread starts the JVM and waits for its end.
        if u32::try_from(tid.number()) == Ok(std::process::id()) {
            return Group::Jvm;
        }
        let is_named = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
        NAMES.iter().find(|(_, names)| is_named(names)).map_or(Group::Native, |(group, _)| *group)
    }
}

/// Returns perk's own CPU time of an account: its threads, its callbacks, its changes of classes.
pub(crate) fn perk_ns(accounting: &Accounting) -> u64 {
    accounting.perk_cpu_ns + accounting.instrument_cpu_ns + guard::callback_cpu_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_groups_of_their_names() {
        let other = Tid::from_number(-1);
        for (name, group) in [
            ("C1 CompilerThre", Group::JitC1),
            ("C2 CompilerThre", Group::JitC2),
            ("JVMCI-native Co", Group::JitC2),
            ("GC Thread#0", Group::Gc),
            ("G1 Conc#0", Group::Gc),
            ("ZWorkerYoung#1", Group::Gc),
            ("VM Thread", Group::Jvm),
            ("VM Periodic Tas", Group::Jvm),
            ("perk sampler", Group::Perk),
            ("netty-io", Group::Native),
            ("Zebra", Group::Native),
        ] {
            assert_eq!(Group::of(other, name), group, "{name}");
        }
        let first = Tid::from_number(i32::try_from(std::process::id()).unwrap());
        assert_eq!(Group::of(first, "java"), Group::Jvm);
    }

    #[test]
    fn times_of_ended_threads_count() {
        let seen =
            |group, first_ns, cpu_ns| ThreadCpu { group, first_ns, cpu_ns, has_final_name: true };
        let mut sums = Sums::default();
        sums.add(&seen(Group::JitC2, 5, 12));
        sums.add(&seen(Group::JitC2, 0, 3));
        sums.add(&seen(Group::Java, 0, 100));
        assert_eq!((sums.jit_c2, sums.jvm, sums.native), (10, 0, 0));
    }
}
