//! The JVMs that a profiled program starts itself, and that are not profiled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use procfs::process::all_processes;

use crate::talk::say;
use perk_attach::jvms::{Process, program_of};

/// The least time between two looks at all processes.
const LOOK: Duration = Duration::from_secs(1);
/// The time between two looks is at least this many times as long as a look.
const LOOK_SHARE: u32 = 200;
/// The number of JVMs that are named.
const MOST_NAMED: usize = 3;

/// The JVMs; see the module.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// Their programs, by process.
    seen: BTreeMap<u32, String>,
    next: Option<Instant>,
}

impl Children {
    /// Looks for those below the process `parent`, from time to time. One that lives for less is missed.
    pub(super) fn look(&mut self, parent: u32) {
        let begin = Instant::now();
        if self.next.is_some_and(|next| begin < next) {
            return;
        }
        let stats = all_processes().into_iter().flatten().flatten().filter_map(|it| it.stat().ok());
        let stats = stats.filter_map(|stat| {
            let (pid, parent) = (stat.pid.try_into().ok()?, stat.ppid.try_into().ok()?);
            Some((pid, (parent, stat.comm == "java")))
        });
        let stats: BTreeMap<u32, (u32, bool)> = stats.collect();
        for (&pid, &(_, is_java)) in &stats {
            if is_java
                && pid != parent
                && is_below(pid, parent, &stats)
                && !self.seen.contains_key(&pid)
            {
                let process = Process::open(pid).ok().flatten();
                let program = process.map(|process| program_of(&process)).unwrap_or_default();
                self.seen.insert(pid, program);
            }
        }
        self.next = Some(Instant::now() + LOOK.max(begin.elapsed() * LOOK_SHARE));
    }

    /// Says which JVMs were not profiled.
    pub(super) fn report(&self) {
        if self.seen.is_empty() {
            return;
        }
        let named: Vec<_> = self
            .seen
            .iter()
            .take(MOST_NAMED)
            .map(|(pid, program)| format!("{program} (pid {pid})"))
            .collect();
        let more = self.seen.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        say(format_args!(
            "not profiled, as the program itself started them: {}{more}; --children profiles them",
            named.join(", ")
        ));
    }
}

/// Whether a process was started by `ancestor`, or by a process that it started.
fn is_below(pid: u32, ancestor: u32, stats: &BTreeMap<u32, (u32, bool)>) -> bool {
    let mut met = BTreeSet::new();
    let mut now = pid;
    while let Some(&(parent, _)) = stats.get(&now) {
        if parent == ancestor {
            return true;
        }
        // Ids are used again: a list that was read meanwhile may have a circle.
        if !met.insert(now) {
            return false;
        }
        now = parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_and_circles_end() {
        let stats = BTreeMap::from([
            (2, (1, true)),
            (3, (2, false)),
            (4, (3, true)),
            (8, (9, true)),
            (9, (8, true)),
        ]);
        assert!(is_below(4, 2, &stats) && is_below(2, 1, &stats));
        assert!(!is_below(2, 4, &stats) && !is_below(8, 1, &stats));
    }
}
