//! The names of locks, and of the threads of monitor dumps.

use perk_profile::units::printable;
use perk_profile::{KeyedMap, LockKind, Monitor, Profile, Symbols};

use crate::names;

/// The names of the threads and the locks of a profile's monitor dumps.
#[derive(Debug)]
pub struct DumpNames<'a> {
    symbols: &'a Symbols,
    /// The names of threads by serial number.
    threads: KeyedMap<u32, &'a str>,
}

impl<'a> DumpNames<'a> {
    /// Collects the names of a profile's threads.
    pub fn new(profile: &'a Profile) -> Self {
        let symbols = &profile.symbols;
        let threads = profile.threads.iter();
        let threads = threads.map(|it| (it.serial, symbols.strings.get(it.name))).collect();
        Self { symbols, threads }
    }

    /// A lock's class, and its identity hash if it is known: `com.acme.Cache@1f`.
    pub fn lock(&self, monitor: &Monitor) -> String {
        let name = names::class(self.symbols, monitor.class);
        match monitor.identity {
            Some(identity) => format!("{name}@{identity:x}"),
            None => name,
        }
    }

    /// A thread's name, or its serial number where it has none.
    pub fn thread(&self, serial: u32) -> String {
        match self.threads.get(&serial) {
            Some(name) if !name.is_empty() => printable(name),
            _ => format!("thread {serial}"),
        }
    }
}

/// The words after the class of locks of a kind.
pub fn lock_suffix(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Monitor => "",
        LockKind::Parking => " (parking)",
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Thread;

    use super::*;

    #[test]
    fn locks_and_threads_have_names() {
        let mut profile = Profile::default();
        for (serial, name) in [(1, "main"), (2, ""), (3, "a\nb")] {
            let name = profile.symbols.strings.intern(name);
            let thread = Thread { serial, object_id: 1, name, group: None, parent_group: None };
            profile.push_thread(thread);
        }
        let class = profile.symbols.class("[[B");
        let monitor = |identity| Monitor {
            class,
            identity,
            kind: LockKind::Monitor,
            owner: None,
            entry_count: 0,
            blocked: Vec::new(),
            waiting: Vec::new(),
        };
        let names = DumpNames::new(&profile);
        let threads = [1, 2, 3, 9].map(|serial| names.thread(serial));
        assert_eq!(threads, ["main", "thread 2", "a\\nb", "thread 9"]);
        let locks = [Some(0x1f), None].map(|identity| names.lock(&monitor(identity)));
        assert_eq!(locks, ["byte[][]@1f", "byte[][]"]);
    }
}
