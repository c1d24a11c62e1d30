//! The events that represent the numbers of a profile: how many, when, and what each has of its
//! row's numbers.

use std::collections::BTreeMap;

use perk_profile::{
    ClassId, Key, KeyedMap, LockKind, Metric, Profile, Subject, ThreadId, TraceId, Waits, WallState,
};

use crate::jfr::{native_samples, waiting_samples};

/// The most events of one kind. If there are more samples or waits, an event represents several.
pub(super) const MAX_EVENTS: u64 = 5_000_000;
/// The most events of a kind that need not be as many as its samples, as each has a weight.
const MAX_WEIGHTED_EVENTS: u64 = 200_000;
/// The time that an event of wall-clock time represents, unless there are too many of them.
const WALL_EVENT_NS: u64 = 10_000_000;
/// The length of a recording for which nothing else gives one.
const ANY_LENGTH_NS: u64 = 1_000_000_000;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Running,
    Waiting,
    Native,
    Allocation,
    MonitorEnter,
    MonitorWait,
    /// A thread is parked; whether for a lock.
    Park(bool),
    WallClock(WallState),
}

impl EventKind {
    /// Whether the events have a duration.
    pub(super) fn is_wait(self) -> bool {
        matches!(self, EventKind::MonitorEnter | EventKind::MonitorWait | EventKind::Park(_))
    }
}

/// Events of one kind and place, spread evenly over a time. Each has its part of the amounts.
#[derive(Clone, Copy, Debug)]
pub(in crate::jfr) struct EventRow {
    pub(super) kind: EventKind,
    pub(in crate::jfr) trace: TraceId,
    pub(super) thread: Option<ThreadId>,
    pub(super) class: Option<ClassId>,
    /// The start, since the recording's start, and the length of the time.
    pub(super) begin_ns: u64,
    length_ns: u64,
    pub(in crate::jfr) event_count: u64,
    /// Nanoseconds or bytes.
    amount: u64,
    object_count: u64,
}

impl EventRow {
    /// Returns the time of an event, since the recording's start. A wait ends at this time.
    pub(super) fn time_ns(&self, event: u64) -> u64 {
        let halves = u128::from(event) * 2 + 1;
        let past = u128::from(self.length_ns) * halves / (u128::from(self.event_count) * 2);
        self.begin_ns.saturating_add(u64::try_from(past).unwrap_or(u64::MAX))
    }

    pub(super) fn amount(&self, event: u64) -> u64 {
        self.part(self.amount, event)
    }

    pub(super) fn object_count(&self, event: u64) -> u64 {
        self.part(self.object_count, event)
    }

    /// Returns an event's part of a number. The parts add up to the number.
    fn part(&self, number: u64, event: u64) -> u64 {
        let below = |event: u64| {
            let below = u128::from(number) * u128::from(event) / u128::from(self.event_count);
            u64::try_from(below).unwrap_or(u64::MAX)
        };
        below(event + 1) - below(event)
    }
}

/// All events, and the facts about them that the recording states.
#[derive(Debug)]
pub(in crate::jfr) struct Plan {
    pub(in crate::jfr) rows: Vec<EventRow>,
    pub(super) length_ns: u64,
    /// The number of samples, or waits, that an event represents.
    pub(in crate::jfr) sample_step: u64,
    pub(super) wait_step: u64,
    /// Whether times of samples are known.
    pub(super) is_timed: bool,
}

/// Returns the number of samples that an event represents, for this number of samples.
pub(super) fn step(count: u64) -> u64 {
    count.div_ceil(MAX_EVENTS).max(1)
}

/// A counter that selects one of each `step` things.
#[derive(Debug)]
struct Selection {
    step: u64,
    rest: u64,
}

impl Selection {
    fn new(step: u64) -> Self {
        Self { step, rest: 0 }
    }

    fn next(&mut self, count: u64) -> u64 {
        let rest = self.rest + count % self.step;
        self.rest = rest % self.step;
        count / self.step + rest / self.step
    }
}

impl Plan {
    pub(in crate::jfr) fn new(profile: &Profile) -> Self {
        let mut plan = Self {
            rows: Vec::new(),
            length_ns: length_ns(profile),
            sample_step: step(Metric::Samples.rows(profile).total),
            wait_step: step(wait_count(profile)),
            is_timed: false,
        };
        plan.samples(profile, &Metric::Samples, EventKind::Running);
        plan.samples(profile, &native_samples(), EventKind::Native);
        plan.samples(profile, &waiting_samples(), EventKind::Waiting);
        plan.wall_clock(profile);
        plan.allocations(profile);
        plan.waits(profile);
        plan.rows.sort_by_key(|row| row.begin_ns);
        plan
    }

    /// Adds events at a trace, spread over the whole recording; none if there is nothing of them.
    fn add(
        &mut self,
        profile: &Profile,
        kind: EventKind,
        key: Key,
        [event_count, amount, object_count]: [u64; 3],
    ) {
        if event_count > 0 {
            // No wait begins before the recording.
            let begin_ns = if kind.is_wait() { amount.div_ceil(event_count) } else { 0 };
            self.rows.push(EventRow {
                kind,
                trace: key.trace,
                thread: profile.get_trace(key.trace).thread,
                class: key.subject.class(),
                begin_ns,
                length_ns: self.length_ns.saturating_sub(begin_ns),
                event_count,
                amount,
                object_count,
            });
        }
    }

    /// Adds samples: those whose times are known at these, the others spread over the recording.
    fn samples(&mut self, profile: &Profile, metric: &Metric, kind: EventKind) {
        let numbers = metric.rows(profile);
        let mut selection = Selection::new(step(numbers.total));
        let mut unlisted = numbers.total;
        let mut left: KeyedMap<TraceId, u64> = KeyedMap::default();
        for (trace, count) in numbers.by_trace() {
            left.insert(trace, count);
            unlisted = unlisted.saturating_sub(count);
        }
        for timeline in profile.timelines().filter(|it| it.head.metric == *metric) {
            for row in &timeline.rows {
                // A timeline has the samples of rows below the cutoff, too.
                let of_trace = left.get_mut(&row.trace).map_or(0, |left| take(left, row.count));
                let count = of_trace + take(&mut unlisted, row.count - of_trace);
                let event_count = selection.next(count);
                if event_count > 0 {
                    self.is_timed = true;
                    self.rows.push(EventRow {
                        kind,
                        trace: row.trace,
                        thread: row.thread.or(profile.get_trace(row.trace).thread),
                        class: None,
                        begin_ns: timeline.head.time_ns(row.tick),
                        length_ns: timeline.head.tick_ns,
                        event_count,
                        amount: 0,
                        object_count: 0,
                    });
                }
            }
        }
        let left: BTreeMap<TraceId, u64> = left.into_iter().collect();
        for (trace, count) in left {
            self.add(profile, kind, trace.into(), [selection.next(count), 0, 0]);
        }
        let unlisted = selection.next(unlisted);
        self.add(profile, kind, profile.system_trace().into(), [unlisted, 0, 0]);
    }

    fn wall_clock(&mut self, profile: &Profile) {
        let numbers = Metric::WallTime.rows(profile);
        let event_ns = WALL_EVENT_NS.max(numbers.total / MAX_WEIGHTED_EVENTS);
        let mut unlisted = numbers.total;
        for (key, ns) in numbers.rows {
            unlisted = unlisted.saturating_sub(ns);
            let state = match key.subject {
                Subject::State(state) => state,
                _ => WallState::Running,
            };
            self.add(profile, EventKind::WallClock(state), key, [ns.div_ceil(event_ns), ns, 0]);
        }
        let key = profile.system_trace().into();
        let kind = EventKind::WallClock(WallState::Running);
        self.add(profile, kind, key, [unlisted.div_ceil(event_ns), unlisted, 0]);
    }

    fn allocations(&mut self, profile: &Profile) {
        let [bytes, objects] =
            [Metric::AllocatedBytes, Metric::AllocatedObjects].map(|it| it.rows(profile));
        let sampled_bytes = Metric::AllocatedBytes.period(profile).unwrap_or(1);
        let event_bytes = sampled_bytes.max(bytes.total / MAX_WEIGHTED_EVENTS).max(1);
        let mut unlisted = [bytes.total, objects.total];
        let mut sums: BTreeMap<Key, [u64; 2]> = BTreeMap::new();
        for (place, numbers) in [bytes, objects].into_iter().enumerate() {
            for (key, number) in numbers.rows {
                let sum = &mut sums.entry(key).or_default()[place];
                *sum = sum.saturating_add(number);
                unlisted[place] = unlisted[place].saturating_sub(number);
            }
        }
        let of_system = sums.entry(profile.system_trace().into()).or_default();
        of_system.iter_mut().zip(unlisted).for_each(|(it, more)| *it = it.saturating_add(more));
        for (key, [bytes, objects]) in sums {
            // No more events than objects, of which there is at least one.
            let most = if objects == 0 { u64::MAX } else { objects };
            let at_least = u64::from(bytes > 0 || objects > 0);
            let rounded = bytes.saturating_add(event_bytes / 2) / event_bytes;
            let event_count = rounded.min(most).max(at_least);
            self.add(profile, EventKind::Allocation, key, [event_count, bytes, objects]);
        }
    }

    fn waits(&mut self, profile: &Profile) {
        let mut sums: BTreeMap<(TraceId, ClassId, LockKind), Waits> = BTreeMap::new();
        let mut listed = Waits::default();
        for row in profile.monitor_times().flat_map(|times| times.rows) {
            sums.entry((row.trace, row.class, row.kind)).or_default().add(row.waits);
            listed.add(row.waits);
        }
        let total = Metric::OF_LOCKS.map(|metric| metric.rows(profile).total);
        let mut unlisted = total;
        unlisted.iter_mut().zip(listed.numbers()).for_each(|(it, listed)| {
            *it = it.saturating_sub(listed);
        });
        let mut selections = [Selection::new(self.wait_step), Selection::new(self.wait_step)];
        let mut add = |key: Key, kind: LockKind, waits: Waits| {
            let (enter, wait) = match kind {
                LockKind::Monitor => (EventKind::MonitorEnter, EventKind::MonitorWait),
                LockKind::Parking => (EventKind::Park(true), EventKind::Park(false)),
            };
            let Waits { blocked_count, blocked_ns, wait_count, waited_ns } = waits;
            for (place, (kind, count, ns)) in
                [(enter, blocked_count, blocked_ns), (wait, wait_count, waited_ns)]
                    .into_iter()
                    .enumerate()
            {
                // A time needs an event.
                let event_count = selections[place].next(count).max(u64::from(ns > 0));
                self.add(profile, kind, key, [event_count, ns, 0]);
            }
        };
        for ((trace, class, kind), waits) in sums {
            add(Key::new(trace, Subject::Class(class)), kind, waits);
        }
        add(profile.system_trace().into(), LockKind::Monitor, Waits::of(unlisted));
    }
}

/// Takes up to `count` of `left`; returns how many.
fn take(left: &mut u64, count: u64) -> u64 {
    let taken = count.min(*left);
    *left -= taken;
    taken
}

/// Returns the number of waits of both kinds.
pub(super) fn wait_count(profile: &Profile) -> u64 {
    let counts = [Metric::BlockedCount, Metric::WaitCount].map(|it| it.rows(profile).total);
    counts[0].saturating_add(counts[1])
}

/// Returns the length of the recording.
fn length_ns(profile: &Profile) -> u64 {
    let wall_ns = profile.accounting.as_ref().map_or(0, |it| it.wall_ns);
    let known_ns = wall_ns.max(profile.recorded_ns());
    let sampled_ns = || {
        let count = Metric::Samples.rows(profile).total;
        profile.sample_interval_ns().map_or(0, |ns| ns.saturating_mul(count))
    };
    let lengths = [known_ns, sampled_ns(), ANY_LENGTH_NS];
    lengths.into_iter().find(|&ns| ns > 0).unwrap_or(ANY_LENGTH_NS).min(i64::MAX.unsigned_abs() / 4)
}
