//! What each thread did over time: its numbers of several metrics, and its states.

use std::cmp::Reverse;

use perk_profile::{
    KeyedMap, Metric, Profile, SeriesSubject, StrId, Thread, TimeSeries, WallState, spread,
};

use crate::Filter;
use crate::times::{rows, thread_of, whole_ticks};

/// The metrics that have numbers by thread beside those of samples, in their order.
const OTHERS: [Metric; 3] = [Metric::BlockedTime, Metric::WaitedTime, Metric::AllocatedBytes];

/// The numbers of metrics by thread and interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The length of an interval.
    pub interval_ns: u64,
    /// The metrics, of which each thread has a lane.
    pub metrics: Vec<Metric>,
    /// All threads.
    pub all: ThreadLanes,
    /// The threads with most, by name; the numbers of the first metric decide, then those of the next.
    pub threads: Vec<ThreadLanes>,
    /// The sum of the other threads, and of numbers whose thread is not known.
    pub others: ThreadLanes,
    /// The number of names of the other threads.
    pub other_count: usize,
}

/// The numbers of the threads of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadLanes {
    /// The name; `None` where the thread is not known.
    pub name: Option<StrId>,
    /// The sum of all intervals, by metric.
    pub totals: Vec<u64>,
    /// The number of each interval, by metric.
    pub numbers: Vec<Vec<u64>>,
}

impl ThreadLanes {
    fn new(name: Option<StrId>, count: usize, length: usize) -> Self {
        Self { name, totals: vec![0; count], numbers: vec![vec![0; length]; count] }
    }

    fn add(&mut self, lane: usize, at: usize, more: u64) {
        for sum in [&mut self.totals[lane], &mut self.numbers[lane][at]] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The numbers of `metric` and of those with a series, by intervals of at least `interval_ns`, of the `count` threads
/// with most; `None` where the times of `metric` are not known.
pub fn lanes(
    profile: &Profile,
    metric: &Metric,
    filter: &Filter,
    (interval_ns, count): (u64, usize),
) -> Option<Lanes> {
    let interval_ns = whole_ticks(profile, metric, interval_ns)?;
    let length = intervals(profile.recorded_ns(), interval_ns);
    let rows = rows(profile, metric, filter);
    let names = names(profile, filter);
    // What has no stack cannot be filtered by one.
    let has_others = Filter { threads: Vec::new(), ..filter.clone() }.is_empty();
    let of_metric = |other: &Metric| {
        let other = other.clone();
        profile.time_series().filter(move |it| it.metric == other && !it.numbers.is_empty())
    };
    let others = OTHERS.into_iter().filter(|it| has_others && it != metric);
    let others = others.filter(|it| of_metric(it).next().is_some());
    let metrics: Vec<_> = std::iter::once(metric.clone()).chain(others).collect();
    let each = |give: &mut dyn FnMut(usize, Option<StrId>, usize, u64)| {
        for &(time_ns, row) in &rows {
            let thread = thread_of(profile, row);
            let at = ((time_ns / interval_ns) as usize).min(length - 1);
            give(0, thread.map(|it| profile.get_thread(it).name), at, row.count);
        }
        for (lane, other) in metrics.iter().enumerate().skip(1) {
            each_number(of_metric(other), (interval_ns, length), &mut |subject, at, more| {
                let name = subject.thread.and_then(|serial| names.get(&serial).copied());
                // Of a thread that is chosen, numbers of others are left out.
                if name.is_some() || filter.threads.is_empty() {
                    give(lane, name, at, more);
                }
            });
        }
    };
    let lane_count = metrics.len();
    let mut totals: KeyedMap<Option<StrId>, Vec<u64>> = KeyedMap::default();
    each(&mut |lane, name, _, more| {
        let sum = &mut totals.entry(name).or_insert_with(|| vec![0; lane_count])[lane];
        *sum = sum.saturating_add(more);
    });
    let mut order: Vec<_> = totals.into_iter().filter(|it| it.0.is_some()).collect();
    order.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let other_count = order.len().saturating_sub(count);
    order.truncate(count);
    let new = |name| ThreadLanes::new(name, lane_count, length);
    let mut threads: Vec<_> = order.iter().map(|it| new(it.0)).collect();
    let places: KeyedMap<_, _> =
        threads.iter().enumerate().map(|(place, it)| (it.name, place)).collect();
    let (mut all, mut others) = (new(None), new(None));
    each(&mut |lane, name, at, more| {
        all.add(lane, at, more);
        match places.get(&name) {
            Some(&place) => threads[place].add(lane, at, more),
            None => others.add(lane, at, more),
        }
    });
    Some(Lanes { interval_ns, metrics, all, threads, others, other_count })
}

/// The time of a thread in each state, by interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStates {
    /// The serial number of the thread.
    pub serial: u32,
    /// The time of each interval in each state, in the order of [`WallState::ALL`], in nanoseconds.
    pub numbers: [Vec<u64>; WallState::ALL.len()],
}

/// The time from the recording's start to the last state that is known.
pub fn states_end_ns(profile: &Profile) -> u64 {
    let of_states = profile.time_series().filter(|it| it.metric == Metric::WallTime);
    let end_ns = |it: &TimeSeries| {
        it.numbers.last_key_value().map(|last| it.time_ns(last.0.0.saturating_add(1)))
    };
    of_states.filter_map(end_ns).max().unwrap_or(0)
}

/// The states of the threads by intervals of `interval_ns`, of which there should be few; those with most time first; empty where no times of states are
/// known.
pub fn states(profile: &Profile, filter: &Filter, interval_ns: u64) -> Vec<ThreadStates> {
    let end_ns = states_end_ns(profile);
    let interval_ns = interval_ns.max(1);
    let length = intervals(end_ns, interval_ns);
    let names = names(profile, filter);
    let mut threads: KeyedMap<u32, [Vec<u64>; WallState::ALL.len()]> = KeyedMap::default();
    let mut add = |subject: SeriesSubject, at: usize, more| {
        let (Some(serial), Some(state)) = (subject.thread, subject.state) else { return };
        if names.contains_key(&serial) {
            let new = || std::array::from_fn(|_| vec![0; length]);
            let sums = threads.entry(serial).or_insert_with(new);
            let sum: &mut u64 = &mut sums[usize::from(state.number())][at];
            *sum = sum.saturating_add(more);
        }
    };
    let of_states = profile.time_series().filter(|it| it.metric == Metric::WallTime);
    each_number(of_states, (interval_ns, length), &mut add);
    let total =
        |numbers: &[Vec<u64>]| numbers.iter().flatten().copied().fold(0, u64::saturating_add);
    let mut all: Vec<_> = threads
        .into_iter()
        .map(|(serial, numbers)| (total(&numbers), ThreadStates { serial, numbers }))
        .collect();
    all.sort_unstable_by_key(|(total, it)| (Reverse(*total), it.serial));
    all.into_iter().map(|it| it.1).collect()
}

/// The number of intervals up to a time.
fn intervals(end_ns: u64, interval_ns: u64) -> usize {
    (end_ns.saturating_sub(1) / interval_ns) as usize + 1
}

/// The names of the threads that the filter keeps, by serial number.
fn names(profile: &Profile, filter: &Filter) -> KeyedMap<u32, StrId> {
    let kept = filter.kept_threads(profile);
    let is_kept = |place: usize| kept.as_ref().is_none_or(|kept| kept[place]);
    let threads = profile.threads.iter().enumerate().filter(|it| is_kept(it.0));
    threads.map(|(_, &Thread { serial, name, .. })| (serial, name)).collect()
}

/// Gives each number of time series to the intervals in which it came about.
fn each_number<'s>(
    all: impl Iterator<Item = &'s TimeSeries>,
    (interval_ns, length): (u64, usize),
    give: &mut dyn FnMut(SeriesSubject, usize, u64),
) {
    for series in all {
        for (&(tick, subject), &number) in &series.numbers {
            let times = (series.time_ns(tick), series.time_ns(tick.saturating_add(1)));
            // A time that no recording reaches is one of a damaged file.
            if times.0 / interval_ns < length as u64 {
                spread(times, interval_ns, number, |at, more| {
                    give(subject, (at as usize).min(length - 1), more);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Event, TimelineHead, TimelineRow};

    use super::*;
    use crate::fixture::{push_samples, thread};

    const MS: u64 = 1_000_000;

    /// `one` uses a CPU for 1 s and then waits, `two` waits for 1 s.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        push_samples(&mut profile, &[("T.a<T.main", 100)]);
        let threads = [thread(&mut profile, "one"), thread(&mut profile, "two")];
        let trace = Metric::Samples.rows(&profile).rows[0].0.trace;
        let row = |tick| TimelineRow { tick, thread: Some(threads[0]), trace, count: 1 };
        let end_ns = 2000 * MS;
        let head = TimelineHead { metric: Metric::Samples, tick_ns: 10 * MS, begin_ns: 0, end_ns };
        let rows = (0..100).map(row).collect();
        profile.events.push(Event::Timeline(perk_profile::Timeline { head, rows }));
        let [one, two] = threads.map(|it| Some(profile.get_thread(it).serial));
        let mut push = |metric, rows: &[(u64, Option<u32>, Option<WallState>, u64)]| {
            let numbers = rows.iter().map(|&(tick, thread, state, number)| {
                ((tick, SeriesSubject { thread, state }), number)
            });
            let numbers = numbers.collect();
            let (tick_ns, begin_ns) = (1000 * MS, 0);
            let series = TimeSeries { metric, tick_ns, begin_ns, numbers };
            profile.events.push(Event::TimeSeries(series));
        };
        push(Metric::BlockedTime, &[(0, two, None, 900), (1, one, None, 600), (1, None, None, 7)]);
        let [running, parked] = [WallState::Running, WallState::Parked].map(Some);
        push(
            Metric::WallTime,
            &[(0, one, running, 1000), (0, two, parked, 400), (1, one, parked, 9)],
        );
        profile
    }

    #[test]
    fn each_thread_has_a_lane_for_each_metric() {
        let profile = profile();
        let of = |filter: &Filter, count| {
            let lanes = lanes(&profile, &Metric::Samples, filter, (500 * MS, count)).unwrap();
            assert_eq!(lanes.interval_ns, 500 * MS);
            lanes
        };
        let whole = of(&Filter::default(), 9);
        assert_eq!(whole.metrics, [Metric::Samples, Metric::BlockedTime]);
        assert_eq!(whole.all.totals, [100, 1507]);
        let one = &whole.threads[0];
        assert_eq!(one.numbers, [vec![50, 50, 0, 0], vec![0, 0, 300, 300]]);
        assert_eq!(whole.threads[1].numbers, [vec![0; 4], vec![450, 450, 0, 0]]);
        assert_eq!((&*whole.others.totals, whole.other_count), (&[0, 7][..], 0));
        let first = of(&Filter::default(), 1);
        assert_eq!((&*first.others.totals, first.other_count), (&[0, 907][..], 1));
        // A thread can be chosen in both kinds of numbers, a method in those of samples alone.
        let threads = vec![perk_profile::WholePattern::new("two").unwrap()];
        let two = of(&Filter { threads, ..Filter::default() }, 9);
        assert_eq!((&*two.all.totals, two.threads.len()), (&[0, 900][..], 1));
        let focus = vec![perk_profile::NamePattern::new("T.a").unwrap()];
        let focused = of(&Filter { focus, ..Filter::default() }, 9);
        assert_eq!((focused.metrics.len(), &*focused.all.totals), (1, &[100][..]));
        assert_eq!(lanes(&profile, &Metric::Calls, &Filter::default(), (MS, 1)), None);
    }

    #[test]
    fn each_thread_has_its_states() {
        let profile = profile();
        let states = states(&profile, &Filter::default(), 1000 * MS);
        let numbers = |place: usize, state: WallState| {
            states[place].numbers[usize::from(state.number())].clone()
        };
        assert_eq!(numbers(0, WallState::Running), [1000, 0]);
        assert_eq!(numbers(0, WallState::Parked), [0, 9]);
        assert_eq!(numbers(1, WallState::Parked), [400, 0]);
        assert_eq!(states.len(), 2);
    }
}
