//! The threads that do not work.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perk_profile::{KeyedMap, Profile, ThreadId};

use super::waits::Wait;
use super::{Key, Stay};

/// A thread that works for less of its time than this is idle.
const IDLE: f64 = 0.01;
/// The name of the JVM's first thread of Java code.
const MAIN: &str = "main";
/// A `main` that waits in one place for this share of its time has started something and waits for its end.
const MOST_OF_MAIN: f64 = 0.9;

/// The threads that do not work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleThreads {
    /// All threads; 0 if the profile does not distinguish threads.
    pub thread_count: usize,
    /// Those that do not work.
    pub idle_count: usize,
    /// Those that do not work, by what their names have in common, most first.
    pub groups: Vec<IdleGroup>,
}

/// Idle threads whose names differ in numbers alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleGroup {
    /// The name, with `*` for a number.
    pub name: String,
    /// The threads.
    pub count: usize,
}

/// The name of a thread, with `*` for its last number: that of its pool.
pub(super) fn group_name(name: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let Some(end) = name.rfind(is_digit) else { return name.to_owned() };
    let begin = name[..end].rfind(|c| !is_digit(c));
    let begin = begin.map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
    format!("{}*{}", &name[..begin], &name[end + 1..])
}

/// The idle threads, and the stays of threads at work.
pub(super) fn split<'p>(
    profile: &Profile,
    mut stays: Vec<Stay<'p>>,
) -> (IdleThreads, Vec<Stay<'p>>) {
    let mut times: KeyedMap<ThreadId, [u64; 2]> = KeyedMap::default();
    let are_idle = are_idle(profile, &stays);
    for (stay, is_idle) in stays.iter().zip(&are_idle) {
        let Some(thread) = stay.thread else { continue };
        let [all, busy] = times.entry(thread).or_default();
        *all = all.saturating_add(stay.ns);
        *busy = busy.saturating_add(if *is_idle { 0 } else { stay.ns });
    }
    let idle = times.iter().filter(|(_, [all, busy])| (*busy as f64) < *all as f64 * IDLE);
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for (thread, _) in idle {
        *groups.entry(group_name(profile.thread_name(*thread))).or_default() += 1;
    }
    let mut groups: Vec<_> =
        groups.into_iter().map(|(name, count)| IdleGroup { name, count }).collect();
    groups.sort_by_key(|group| Reverse(group.count));
    let idle_count = groups.iter().map(|group| group.count).sum();
    let mut are_idle = are_idle.into_iter();
    stays.retain(|_| !are_idle.next().unwrap_or(false));
    (IdleThreads { thread_count: times.len(), idle_count, groups }, stays)
}

/// Whether each of some stays is one of a thread that does not work.
pub(super) fn are_idle(profile: &Profile, stays: &[Stay<'_>]) -> Vec<bool> {
    let place_of_main = place_of_main(profile, stays);
    let is_idle = |stay: &Stay<'_>| {
        let is_place_of_main = is_main(profile, stay) && Some(stay.key()) == place_of_main;
        stay.place.is_idle || is_place_of_main
    };
    stays.iter().map(is_idle).collect()
}

fn is_main(profile: &Profile, stay: &Stay<'_>) -> bool {
    stay.thread.is_some_and(|thread| profile.thread_name(thread) == MAIN)
}

/// Where `main` waits nearly all the time, if it does.
fn place_of_main(profile: &Profile, stays: &[Stay<'_>]) -> Option<Key> {
    let mut all = 0_u64;
    let mut sums: KeyedMap<Key, u64> = KeyedMap::default();
    for stay in stays.iter().filter(|stay| is_main(profile, stay)) {
        all = all.saturating_add(stay.ns);
        if may_wait_for_end(stay) {
            *sums.entry(stay.key()).or_default() += stay.ns;
        }
    }
    let (key, ns) = sums.into_iter().max_by_key(|&(_, ns)| ns)?;
    (ns as f64 >= all as f64 * MOST_OF_MAIN).then_some(key)
}

/// Whether a wait can be one for the end of the program. A sleep is one inside of a library, such as a
/// server's.
fn may_wait_for_end(stay: &Stay<'_>) -> bool {
    match stay.place.wait {
        Some(Wait::Result | Wait::Notice | Wait::Element | Wait::Native) => true,
        Some(Wait::Sleep) => stay.place.is_through_library,
        _ => false,
    }
}
