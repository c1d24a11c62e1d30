//! The work of the JVM itself: pauses for collections of garbage, and the CPU time of its own threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use rustc_hash::FxHashMap;

use super::ticks;

/// The time between two looks at the JVM's threads: compilers end when they have no work for a while.
const LOOK_NS: u64 = 500_000_000;
/// How often the name of a thread is read until it is one of the JVM's: new threads get it late.
const NAME_READINGS: u8 = 2;

/// The JVM; see the module.
#[derive(Debug, Default)]
pub(super) struct Jvm {
    /// The time and the CPU time at which the pause began that is now; 0 between pauses.
    pause_begin_ns: AtomicU64,
    pause_begin_cpu_ns: AtomicU64,
    /// The time of all pauses, and the CPU time of the threads that announced them.
    pause_ns: AtomicU64,
    pause_cpu_ns: AtomicU64,
    threads: Mutex<Threads>,
}

/// The threads of the process that were seen so far.
#[derive(Debug, Default)]
struct Threads {
    seen: FxHashMap<Tid, ThreadTimes>,
    looked_ns: u64,
}

#[derive(Debug, Default)]
struct ThreadTimes {
    kind: Option<Kind>,
    name_readings: u8,
    first_cpu_ns: u64,
    last_cpu_ns: u64,
}

/// The kinds of the JVM's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Compiler,
    Collector,
    /// The thread that executes the JVM's operations, which include pauses of some collectors.
    Operations,
}

impl Kind {
    /// Returns the kind of a thread by the name that the kernel has of it.
    fn of(name: &str) -> Option<Self> {
        const COMPILERS: [&str; 3] = ["C1 Compiler", "C2 Compiler", "JVMCI Compiler"];
        // Parallel and G1; ZGC, also of JDK 21 without generations; Shenandoah.
        const COLLECTORS: [&str; 8] = [
            "GC Thread#",
            "G1 ",
            "ZDriver",
            "ZDirector",
            "ZWorker",
            "XDriver",
            "XWorker",
            "Shenandoah",
        ];
        let begins = |names: &[&str]| names.iter().any(|it| name.starts_with(it));
        match name {
            "VM Thread" => Some(Self::Operations),
            _ if begins(&COMPILERS) => Some(Self::Compiler),
            _ if begins(&COLLECTORS) => Some(Self::Collector),
            _ => None,
        }
    }
}

impl Jvm {
    /// Begins: the CPU time so far does not count.
    pub(super) fn begin(&self) {
        let mut threads = lock(&self.threads);
        threads.look(os::nano_time());
        for seen in threads.seen.values_mut() {
            seen.first_cpu_ns = seen.last_cpu_ns;
        }
    }

    /// Handles the beginning of a pause. Called while the JVM stands still.
    pub(super) fn collection_started(&self) {
        self.pause_begin_ns.store(os::nano_time(), Relaxed);
        self.pause_begin_cpu_ns.store(os::thread_cpu_ns(), Relaxed);
    }

    /// Handles the end of a pause, on the thread that announced its beginning.
    pub(super) fn collection_finished(&self) {
        let begin_ns = self.pause_begin_ns.swap(0, Relaxed);
        if begin_ns > 0 {
            let cpu_ns = os::thread_cpu_ns();
            let begin_cpu_ns = self.pause_begin_cpu_ns.load(Relaxed);
            self.pause_ns.fetch_add(os::nano_time().saturating_sub(begin_ns), Relaxed);
            self.pause_cpu_ns.fetch_add(cpu_ns.saturating_sub(begin_cpu_ns), Relaxed);
        }
    }

    /// Looks at the JVM's threads, if it is time to.
    pub(super) fn look(&self, now_ns: u64) {
        let mut threads = lock(&self.threads);
        if now_ns.saturating_sub(threads.looked_ns) >= LOOK_NS {
            threads.look(now_ns);
        }
    }

    /// Returns the ticks of the summary's lines, in their order.
    pub(super) fn labels(&self, interval_ns: u64) -> Vec<(&'static str, u64)> {
        let mut threads = lock(&self.threads);
        threads.look(os::nano_time());
        let operations_ns = threads.cpu_ns(Kind::Operations);
        let others_ns = operations_ns.saturating_sub(self.pause_cpu_ns.load(Relaxed));
        let lines = [
            ("Received GC ticks", self.pause_ns.load(Relaxed)),
            ("Compilation", threads.cpu_ns(Kind::Compiler)),
            ("Other VM operations", others_ns),
            ("GC threads", threads.cpu_ns(Kind::Collector)),
        ];
        lines.into_iter().map(|(label, ns)| (label, ticks(ns, interval_ns))).collect()
    }
}

impl Threads {
    fn look(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        for tid in os::own_tids() {
            let seen = self.seen.entry(tid).or_default();
            if seen.kind.is_none() && seen.name_readings < NAME_READINGS {
                seen.name_readings += 1;
                seen.kind = tid.name().as_deref().and_then(Kind::of);
            }
            if seen.kind.is_some()
                && let Some(cpu_ns) = tid.cpu_ns()
            {
                seen.last_cpu_ns = seen.last_cpu_ns.max(cpu_ns);
            }
        }
    }

    fn cpu_ns(&self, kind: Kind) -> u64 {
        let seen = self.seen.values().filter(|seen| seen.kind == Some(kind));
        seen.map(|seen| seen.last_cpu_ns.saturating_sub(seen.first_cpu_ns)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_jvms_threads() {
        for (name, kind) in [
            ("C1 CompilerThre", Some(Kind::Compiler)),
            ("C2 CompilerThre", Some(Kind::Compiler)),
            ("GC Thread#12", Some(Kind::Collector)),
            ("G1 Conc#0", Some(Kind::Collector)),
            ("ZWorker#3", Some(Kind::Collector)),
            ("VM Thread", Some(Kind::Operations)),
            ("VM Periodic Tas", None),
            ("main", None),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn a_pause_has_its_length() {
        let jvm = Jvm::default();
        jvm.collection_finished();
        jvm.collection_started();
        std::thread::sleep(std::time::Duration::from_millis(30));
        jvm.collection_finished();
        jvm.collection_finished();
        let labels = jvm.labels(10_000_000);
        assert!(labels[0].0 == "Received GC ticks" && labels[0].1 >= 3, "{labels:?}");
    }
}
