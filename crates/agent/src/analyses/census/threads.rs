//! The platform threads of the program: how many there are at once, and the priority, CPU time and
//! stack of each.
//!
//! Threads of the same name are one. The memory is bounded whatever the program starts: beyond
//! [`MOST_NAMES`] names, the threads whose names differ in numbers only are one as well.

use std::sync::{Arc, Mutex};

use perk_hotspot::{GC_THREADS, VM_THREAD};
use perk_jvm::os::{self, Stack, Tid};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, ObjectRef, ThreadInfo, bool_flag};
use rustc_hash::FxHashMap;

use super::shares::Mode;
use crate::common::Common;
use crate::roster::Slot;
use crate::threads::LiveThread;

/// The number of names that are kept apart. As many again are kept for names without numbers.
const MOST_NAMES: usize = 1000;

/// The name of all threads beyond that.
const OTHERS: &str = "other threads";

/// The name of the JVM's threads that collect garbage.
const COLLECTORS: &str = "GC threads";

/// The threads; see the module.
#[derive(Debug, Default)]
pub(super) struct ThreadCensus(Mutex<Crowd>);

/// The threads of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Namesakes {
    /// The highest priority, as Java has it: 1 to 10; 0 for threads of the JVM.
    pub(super) priority: u32,
    /// The CPU time since the dump before.
    pub(super) cpu_ns: u64,
    /// The most bytes of a stack.
    pub(super) stack_bytes: usize,
    /// Whether they collect garbage and do nothing else.
    pub(super) are_collectors: bool,
    /// The CPU time of samples in interpreted, compiled and native code.
    pub(super) sampled_ns: [u64; 3],
}

#[derive(Debug, Default)]
struct Crowd {
    alive: FxHashMap<Slot, ThreadRecord>,
    most_alive: usize,
    names: FxHashMap<String, Namesakes>,
    /// The CPU time of the collecting threads that is counted.
    collectors_ns: u64,
}

#[derive(Debug)]
struct ThreadRecord {
    thread: Arc<LiveThread>,
    /// The stack, if the thread has been seen itself.
    stack: Option<Stack>,
    /// The CPU time that is counted.
    counted_ns: u64,
    /// The CPU time up to the last sample.
    seen_ns: u64,
    sampled_ns: [u64; 3],
}

impl ThreadCensus {
    /// Notes a thread that lives; the call may come from another one.
    pub(super) fn began(&self, thread: &Arc<LiveThread>) {
        let is_current = thread.tid() == Some(Tid::current());
        let stack = if is_current { Stack::of_current() } else { None };
        let living = ThreadRecord {
            thread: Arc::clone(thread),
            stack,
            counted_ns: 0,
            seen_ns: thread.first_cpu_ns(),
            sampled_ns: [0; 3],
        };
        let mut crowd = lock(&self.0);
        crowd.alive.insert(thread.slot, living);
        crowd.most_alive = crowd.most_alive.max(crowd.alive.len());
    }

    /// Notes the end of the calling thread.
    pub(super) fn ended(
        &self,
        common: &Common,
        jni: Jni<'_>,
        thread: ObjectRef<'_>,
        known: &LiveThread,
    ) {
        let Some(living) = lock(&self.0).alive.remove(&known.slot) else { return };
        let info = common.jvmti.thread_info(jni, &thread).unwrap_or_default();
        let stack = living.stack.or_else(Stack::of_current);
        let stack_bytes = stack.and_then(|stack| stack.high_water_bytes()).unwrap_or(0);
        let cpu_ns = known.burned_ns().saturating_sub(living.counted_ns);
        lock(&self.0).add(&info, cpu_ns, stack_bytes, living.sampled_ns);
    }

    /// Returns how many threads live.
    pub(super) fn count(&self) -> usize {
        lock(&self.0).alive.len()
    }

    /// Returns the threads that have burned this CPU time since their last sample, with that time.
    pub(super) fn burning(&self, least_ns: u64) -> Vec<(Arc<LiveThread>, u64)> {
        let crowd = lock(&self.0);
        let burning = crowd.alive.values().filter_map(|living| {
            let cpu_ns = living.thread.tid()?.cpu_ns()?.saturating_sub(living.seen_ns);
            (cpu_ns >= least_ns).then(|| (Arc::clone(&living.thread), cpu_ns))
        });
        burning.collect()
    }

    /// Notes the CPU time since a thread's last sample, which it runs this kind of code for.
    pub(super) fn sampled(&self, thread: &Arc<LiveThread>, cpu_ns: u64, mode: Mode) {
        let mut crowd = lock(&self.0);
        let living = crowd.alive.get_mut(&thread.slot);
        if let Some(living) = living.filter(|it| Arc::ptr_eq(&it.thread, thread)) {
            living.seen_ns += cpu_ns;
            living.sampled_ns[mode as usize] += cpu_ns;
        }
    }

    /// Returns the most threads that were alive at once, and all threads by name, with the CPU time
    /// since the last call.
    pub(super) fn take(&self, common: &Common, jni: Jni<'_>) -> (usize, Vec<(String, Namesakes)>) {
        let alive =
            lock(&self.0).alive.values().map(|it| Arc::clone(&it.thread)).collect::<Vec<_>>();
        for thread in alive {
            // The JVM is asked while nothing is locked.
            let Ok(info) = common.jvmti.thread_info(jni, &*thread) else { continue };
            let clock = thread.tid().and_then(Tid::cpu_ns);
            if let Some(cpu_ns) = clock.or_else(|| common.jvmti.thread_cpu_ns(&*thread)) {
                thread.saw_cpu_ns(cpu_ns);
            }
            let mut crowd = lock(&self.0);
            // It may have ended in the meantime.
            let Some(living) = crowd.alive.get_mut(&thread.slot) else { continue };
            if !Arc::ptr_eq(&living.thread, &thread) {
                continue;
            }
            let stack_bytes = living.stack.as_ref().and_then(Stack::high_water_bytes).unwrap_or(0);
            let burned_ns = thread.burned_ns();
            let cpu_ns = burned_ns.saturating_sub(living.counted_ns);
            living.counted_ns = burned_ns;
            let sampled_ns = std::mem::take(&mut living.sampled_ns);
            crowd.add(&info, cpu_ns, stack_bytes, sampled_ns);
        }
        let collectors_ns = collectors_ns(common);
        let mut crowd = lock(&self.0);
        let cpu_ns = collectors_ns.saturating_sub(crowd.collectors_ns);
        crowd.collectors_ns = collectors_ns;
        let collectors = Namesakes { cpu_ns, are_collectors: true, ..Namesakes::default() };
        let mut rows: Vec<_> = crowd.names.iter().map(|(name, it)| (name.clone(), *it)).collect();
        rows.push((COLLECTORS.to_owned(), collectors));
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        crowd.names.values_mut().for_each(|it| it.cpu_ns = 0);
        (crowd.most_alive, rows)
    }
}

impl Namesakes {
    /// Returns the percentages of the time in interpreted, compiled and native code, and in that of
    /// collectors.
    pub(super) fn shares(&self) -> [u64; 4] {
        let all_ns = self.sampled_ns.iter().sum::<u64>().max(1);
        let percent = |ns: u64| (u128::from(ns) * 100 / u128::from(all_ns)) as u64;
        let [interpreted, compiled, native] = self.sampled_ns.map(percent);
        [interpreted, compiled, native, if self.are_collectors { 100 } else { 0 }]
    }
}

impl Crowd {
    fn add(&mut self, info: &ThreadInfo, cpu_ns: u64, stack_bytes: usize, sampled_ns: [u64; 3]) {
        let namesakes = self.namesakes(&info.name);
        namesakes.priority = namesakes.priority.max(info.priority);
        namesakes.cpu_ns += cpu_ns;
        namesakes.stack_bytes = namesakes.stack_bytes.max(stack_bytes);
        for (sum, ns) in namesakes.sampled_ns.iter_mut().zip(sampled_ns) {
            *sum += ns;
        }
    }

    fn namesakes(&mut self, name: &str) -> &mut Namesakes {
        let is_kept = |name: &str, most| self.names.contains_key(name) || self.names.len() < most;
        let name = match without_numbers(name) {
            _ if is_kept(name, MOST_NAMES) => name.to_owned(),
            pattern if is_kept(&pattern, 2 * MOST_NAMES) => pattern,
            _ => OTHERS.to_owned(),
        };
        self.names.entry(name).or_default()
    }
}

/// Returns the CPU time of the JVM's threads that collect garbage.
fn collectors_ns(common: &Common) -> u64 {
    let is_serial = bool_flag(c"UseSerialGC") == Some(true);
    let is_collector = |name: &str| {
        GC_THREADS.iter().any(|it| name.starts_with(it)) || is_serial && name == VM_THREAD
    };
    let collectors = os::own_tids().into_iter().filter(|tid| {
        common.threads.slot_of_tid(*tid).is_none()
            && tid.name().is_some_and(|name| is_collector(&name))
    });
    collectors.filter_map(os::Tid::cpu_ns).sum()
}

/// Returns a name with a star for each number in it.
fn without_numbers(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '0'..='9' if pattern.ends_with('*') => {}
            '0'..='9' => pattern.push('*'),
            other => pattern.push(other),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_bound_take_bounded_memory() {
        assert_eq!(without_numbers("pool-12-thread-345"), "pool-*-thread-*");
        let mut crowd = Crowd::default();
        let mut add = |name: String| {
            let info = ThreadInfo { name, priority: 5, ..ThreadInfo::default() };
            crowd.add(&info, 7, 4096, [0; 3]);
        };
        (0..100_000).for_each(|number| add(format!("Thread-{number}")));
        // Letters without end.
        let word =
            |number: u32| (0..17).map(move |bit| if number >> bit & 1 == 0 { 'a' } else { 'b' });
        (0..10_000).for_each(|number| add(word(number).collect()));
        (0..10_000).for_each(|number| add(format!("Thread-{number}")));
        assert!(crowd.names.len() <= 2 * MOST_NAMES + 1, "{}", crowd.names.len());
        let sum: u64 = crowd.names.values().map(|it| it.cpu_ns).sum();
        assert_eq!(sum, 120_000 * 7);
        assert_eq!(crowd.names["Thread-0"].cpu_ns, 14);
        assert_eq!(crowd.names["Thread-*"].cpu_ns, 108_000 * 7);
    }
}
