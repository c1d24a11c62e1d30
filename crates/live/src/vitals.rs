//! What a JVM does in a part of its recording, in a few numbers.

use std::cmp::Reverse;
use std::collections::HashMap;

use perk_profile::{CpuGroup, Metric, Profile, Subject, ThreadId, WallState};

/// The numbers of a part of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vitals {
    /// The time that was recorded.
    pub recorded_ns: u64,
    /// The processors that the process may use.
    pub cpu_count: u64,
    /// The CPU time of the process.
    pub process_cpu_ns: u64,
    /// Its parts.
    pub cpu_groups: Vec<(CpuGroup, u64)>,
    /// The time of threads in each state, most first.
    pub states: Vec<(WallState, u64)>,
    /// The bytes that were allocated.
    pub allocated_bytes: u64,
    /// The time for which threads waited for locks.
    pub blocked_ns: u64,
    /// The pauses to collect garbage.
    pub gc_count: u64,
    /// The time of these pauses.
    pub gc_pause_ns: u64,
}

/// The numbers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadVitals {
    /// The thread.
    pub thread: ThreadId,
    /// The state in which it was for most of the time.
    pub state: Option<WallState>,
    /// The time that its samples of wall-clock time represent.
    pub seen_ns: u64,
    /// Its CPU time.
    pub cpu_ns: u64,
    /// The bytes that it allocated.
    pub allocated_bytes: u64,
    /// The time for which it waited for locks.
    pub blocked_ns: u64,
}

/// The time of threads in each state, by what `key` makes of a trace's thread.
fn states_by<K: std::hash::Hash + Eq>(
    profile: &Profile,
    key: impl Fn(Option<ThreadId>) -> K,
) -> HashMap<K, Vec<(WallState, u64)>> {
    let mut sums: HashMap<K, Vec<(WallState, u64)>> = HashMap::new();
    for section in profile.sections() {
        for (row, [ns]) in section.of_metrics([Metric::WallTime]) {
            let Subject::State(state) = row.subject else { continue };
            let states = sums.entry(key(profile.get_trace(row.trace).thread)).or_default();
            match states.iter_mut().find(|(other, _)| *other == state) {
                Some((_, sum)) => *sum = sum.saturating_add(ns),
                None => states.push((state, ns)),
            }
        }
    }
    sums.values_mut().for_each(|states| states.sort_by_key(|&(state, ns)| (Reverse(ns), state)));
    sums
}

impl Vitals {
    /// The numbers of the profile of a moment; `None` before anything was recorded.
    pub fn of(profile: &Profile) -> Option<Self> {
        let of_part = profile.accounting.as_ref().filter(|it| it.wall_ns > 0)?;
        let sum = |metric: Metric| metric.rows(profile).total;
        let states = states_by(profile, |_| ()).remove(&()).unwrap_or_default();
        Some(Self {
            recorded_ns: of_part.wall_ns,
            cpu_count: of_part.cpu_count,
            process_cpu_ns: of_part.process_cpu_ns,
            cpu_groups: of_part.cpu_groups().into_iter().flatten().collect(),
            states,
            allocated_bytes: sum(Metric::AllocatedBytes),
            blocked_ns: sum(Metric::BlockedTime),
            gc_count: of_part.gc_count,
            gc_pause_ns: of_part.gc_pause_ns,
        })
    }

    /// A number of the part for each second of it.
    pub fn rate(&self, number: u64) -> u64 {
        (u128::from(number) * 1_000_000_000 / u128::from(self.recorded_ns.max(1))) as u64
    }
}

/// The numbers of the threads of which a profile has any: most CPU time first.
pub fn threads(profile: &Profile) -> Vec<ThreadVitals> {
    let mut threads: HashMap<ThreadId, ThreadVitals> = HashMap::new();
    let mut add = |thread: ThreadId, change: &dyn Fn(&mut ThreadVitals)| {
        change(threads.entry(thread).or_insert(ThreadVitals {
            thread,
            state: None,
            seen_ns: 0,
            cpu_ns: 0,
            allocated_bytes: 0,
            blocked_ns: 0,
        }));
    };
    for (thread, states) in states_by(profile, |thread| thread) {
        let Some(thread) = thread else { continue };
        add(thread, &|it| {
            it.state = states.first().map(|it| it.0);
            it.seen_ns = states.iter().map(|it| it.1).fold(0, u64::saturating_add);
        });
    }
    let interval_ns = profile.accounting.as_ref().map_or(0, |it| it.interval_ns);
    let period_ns = Metric::Samples.period(profile).unwrap_or(interval_ns);
    for (metric, factor) in
        [(Metric::Samples, period_ns), (Metric::AllocatedBytes, 1), (Metric::BlockedTime, 1)]
    {
        for (trace, number) in metric.rows(profile).by_trace() {
            let Some(thread) = profile.get_trace(trace).thread else { continue };
            let number = number.saturating_mul(factor);
            add(thread, &|it| {
                let sum = match metric {
                    Metric::Samples => &mut it.cpu_ns,
                    Metric::AllocatedBytes => &mut it.allocated_bytes,
                    _ => &mut it.blocked_ns,
                };
                *sum = sum.saturating_add(number);
            });
        }
    }
    let mut threads: Vec<_> = threads.into_values().collect();
    threads.sort_by_key(|it| (Reverse((it.cpu_ns, it.allocated_bytes)), it.thread));
    threads
}
