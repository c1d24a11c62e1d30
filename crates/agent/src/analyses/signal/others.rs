//! The threads that do not run Java code: the JVM's own, which compile, collect garbage and stop the
//! others, and those of libraries.

use std::time::{Duration, Instant};

use perk_jvm::os::{self, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

use super::timers::{Owner, Start, Timers};
use crate::threads::Threads;

/// The time between two looks for such threads.
const PERIOD: Duration = Duration::from_secs(1);
/// The shortest interval of their samples: they show what the rest of the CPU time is.
const LEAST_INTERVAL_NS: u64 = 20_000_000;
/// The beginning of the names of perk's own threads.
const OWN: &str = "perk ";
/// The kernel keeps 15 bytes of a name. These are the JVM's names that have more.
const LONG_NAMES: [&str; 3] = ["C1 CompilerThread", "C2 CompilerThread", "VM Periodic Task Thread"];

/// The threads; see the module.
#[derive(Debug, Default)]
pub(super) struct NativeThreads {
    names: FxHashMap<Tid, String>,
    /// Threads that were not there at the look before: they may be about to run Java code.
    new: FxHashSet<Tid>,
    looked_at: Option<Instant>,
}

impl NativeThreads {
    /// Looks for threads that have begun or ended, once in a while.
    pub(super) fn look(&mut self, threads: &Threads, timers: &mut Timers, interval_ns: u64) {
        let is_first = self.looked_at.is_none();
        if self.looked_at.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.looked_at = Some(Instant::now());
        let present: FxHashSet<Tid> = os::own_tids().into_iter().collect();
        self.names.retain(|tid, _| {
            let lives = present.contains(tid);
            if !lives {
                timers.remove(Owner::Native(*tid));
            }
            lives
        });
        let known = timers.tids();
        let is_unknown = |tid: &Tid| {
            !known.contains(tid)
                && !self.names.contains_key(tid)
                && threads.slot_of_tid(*tid).is_none()
        };
        let mut new = FxHashSet::default();
        for tid in present.into_iter().filter(is_unknown).collect::<Vec<_>>() {
            let Some(name) = tid.name() else { continue };
            if name.starts_with(OWN) {
                self.names.insert(tid, name);
            } else if is_first || self.new.contains(&tid) {
                self.names.insert(tid, group_name(&name));
                let cpu_ns = tid.cpu_ns().unwrap_or(0);
                let interval_ns = self::interval_ns(interval_ns);
                let start = Start { tid, java_thread: 0, cpu_ns, interval_ns };
                timers.add(Owner::Native(tid), start);
            } else {
                new.insert(tid);
            }
        }
        self.new = new;
    }

    /// Returns the name of a thread's group.
    pub(super) fn name(&self, tid: Tid) -> Option<&str> {
        self.names.get(&tid).map(String::as_str)
    }
}

/// Returns the interval of such threads, in nanoseconds, for that of the others.
pub(super) fn interval_ns(interval_ns: u64) -> u64 {
    interval_ns.max(LEAST_INTERVAL_NS)
}

/// Returns the name of a thread without its number, as threads of one task are shown together.
fn group_name(name: &str) -> String {
    let long = LONG_NAMES.iter().find(|long| name.len() == 15 && long.starts_with(name));
    let name = long.copied().unwrap_or(name);
    match name.rsplit_once('#') {
        Some((group, number)) if number.bytes().all(|it| it.is_ascii_digit()) => group.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_task_have_one_name() {
        for (name, group) in [
            ("C2 CompilerThre", "C2 CompilerThread"),
            ("VM Periodic Tas", "VM Periodic Task Thread"),
            ("GC Thread#11", "GC Thread"),
            ("G1 Conc#0", "G1 Conc"),
            ("VM Thread", "VM Thread"),
            ("G1", "G1"),
        ] {
            assert_eq!(group_name(name), group);
        }
    }
}
