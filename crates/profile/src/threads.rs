//! Profiles whose threads are not distinguished.

use std::borrow::Cow;

use crate::{Event, KeyedMap, Profile, StrId, Thread, ThreadId};

/// The texts that begin and end the process in a thread's name: `Main (pid 12): worker`.
const PROCESS_BEGIN: &str = "(pid ";
const PROCESS_END: &str = "): ";
/// The group of virtual threads, and the name of all virtual threads without a name.
const VIRTUAL_GROUP: &str = "VirtualThreads";
const UNNAMED: &str = "unnamed virtual threads";

impl Profile {
    /// Whether call traces are of threads.
    pub fn has_threads(&self) -> bool {
        self.traces().iter().any(|trace| trace.thread.is_some())
    }

    /// The same numbers, of call traces without a thread. In a profile of several processes, each
    /// process is one thread.
    #[must_use]
    pub fn without_threads(&self) -> Cow<'_, Self> {
        if !self.has_threads() {
            return Cow::Borrowed(self);
        }
        let mut merged = self.clone();
        let mut processes: KeyedMap<StrId, ThreadId> = KeyedMap::default();
        let threads: Vec<_> = (0..self.threads.len())
            .map(|index| {
                let thread = ThreadId::new(index);
                let process = process_of(self.thread_name(thread))?;
                let name = merged.symbols.strings.intern(process);
                Some(*processes.entry(name).or_insert_with(|| {
                    let (group, parent_group) = (None, None);
                    let Thread { serial, .. } = *self.get_thread(thread);
                    let thread = Thread { serial, object_id: 0, name, group, parent_group };
                    merged.push_thread(thread)
                }))
            })
            .collect();
        merged.move_threads(|thread| threads[thread.index()]);
        Cow::Owned(merged)
    }

    /// Whether a thread is virtual, as far as its group says so.
    pub fn is_virtual(&self, thread: ThreadId) -> bool {
        let group = self.get_thread(thread).group;
        group.is_some_and(|group| self.symbols.strings.get(group) == VIRTUAL_GROUP)
    }

    /// Makes all virtual threads without a name one thread.
    pub fn merge_unnamed_threads(&mut self) {
        let is_unnamed =
            |thread: ThreadId| self.thread_name(thread).is_empty() && self.is_virtual(thread);
        let all = (0..self.threads.len()).map(ThreadId::new);
        let unnamed: Vec<_> = all.map(is_unnamed).collect();
        let Some(first) = unnamed.iter().position(|&it| it).map(ThreadId::new) else { return };
        self.threads[first.index()].name = self.symbols.strings.intern(UNNAMED);
        let merged = |thread: ThreadId| if unnamed[thread.index()] { first } else { thread };
        self.move_threads(|thread| Some(merged(thread)));
        for event in &mut self.events {
            if let Event::Timeline(timeline) = event {
                for row in timeline.rows.iter_mut() {
                    row.thread = row.thread.map(merged);
                }
            }
        }
    }
}

/// The process in the name of a thread.
fn process_of(name: &str) -> Option<&str> {
    let end = name.find(PROCESS_END)?;
    let process = &name[..=end];
    process.contains(PROCESS_BEGIN).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metric, Section, Subject};

    fn profile(threads: &[(&str, Option<&str>)]) -> Profile {
        let mut profile = Profile::default();
        let node = profile.tree.root();
        let mut rows = Vec::new();
        for (index, &(name, group)) in threads.iter().enumerate() {
            let name = profile.symbols.strings.intern(name);
            let group = group.map(|group| profile.symbols.strings.intern(group));
            let serial = 200_001 + index as u32;
            let thread = Thread { serial, object_id: 0, name, group, parent_group: None };
            let thread = profile.push_thread(thread);
            rows.push((profile.trace(node, Some(thread)), 1 << index));
        }
        let total = rows.iter().map(|row| row.1).sum();
        profile.events.push(Section::of(Metric::Samples, total, rows).into());
        profile
    }

    /// The numbers by the name of the thread.
    fn numbers(profile: &Profile) -> Vec<(String, u64)> {
        let mut sums: Vec<(String, u64)> = Vec::new();
        for (key, number) in Metric::Samples.rows(profile).rows {
            assert_eq!(key.subject, Subject::None);
            let thread = profile.get_trace(key.trace).thread;
            let name = thread.map_or("-", |thread| profile.thread_name(thread)).to_owned();
            match sums.iter_mut().find(|sum| sum.0 == name) {
                Some(sum) => sum.1 += number,
                None => sums.push((name, number)),
            }
        }
        sums
    }

    #[test]
    fn threads_of_a_process_are_one() {
        let threads = profile(&[("main", None), ("odd): name", None)]);
        assert!(threads.has_threads() && !threads.without_threads().has_threads());
        assert_eq!(numbers(&threads.without_threads()), [("-".to_owned(), 3)]);
        let several = profile(&[
            ("A (pid 1): main", None),
            ("B (pid 2): main", None),
            ("A (pid 1): worker", None),
        ]);
        let expected = [("A (pid 1)".to_owned(), 5), ("B (pid 2)".to_owned(), 2)];
        assert_eq!(numbers(&several.without_threads()), expected);
    }

    #[test]
    fn virtual_threads_without_a_name_are_one() {
        let group = Some("VirtualThreads");
        let mut threads =
            profile(&[("", group), ("named", group), ("", Some("main")), ("", group)]);
        threads.merge_unnamed_threads();
        let expected = [(UNNAMED, 9), ("named", 2), ("", 4)];
        assert_eq!(numbers(&threads), expected.map(|(name, it)| (name.to_owned(), it)));
    }
}
