//! When numbers were measured: by thread and interval, and as a heat map.

use perk_profile::{
    KeyedMap, Metric, PauseKind, Profile, StrId, ThreadId, TimeSeries, Timeline, TimelineRow,
    spread,
};

use crate::Filter;
use crate::filter::KeptNodes;

/// The most intervals; a longer recording has longer ones.
const MOST_INTERVALS: u64 = 20_000;
/// The height of a heat map's cell, where ticks are not longer.
const CELL_NS: u64 = 20_000_000;
/// The least width of a heat map's column.
const COLUMN_NS: u64 = 1_000_000_000;
/// The most columns of a heat map.
const MOST_COLUMNS: u64 = 3600;

/// The numbers of a metric by interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// The length of an interval.
    pub interval_ns: u64,
    /// The length of the recording.
    pub recorded_ns: u64,
    /// The numbers of all threads.
    pub all: Vec<u64>,
    /// The threads with most, by name, most first.
    pub threads: Vec<ThreadSeries>,
    /// The number of names of threads that are not in the list.
    pub other_count: usize,
}

/// The numbers of the threads of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadSeries {
    /// The name; `None` where the thread is not known.
    pub name: Option<StrId>,
    /// The sum of all intervals.
    pub total: u64,
    /// The number of each interval.
    pub numbers: Vec<u64>,
}

/// The numbers of a metric by second and part of a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeatMap {
    /// The length of a column.
    pub column_ns: u64,
    /// The length of a cell.
    pub cell_ns: u64,
    /// The cells of a column.
    pub height: usize,
    /// The number of each cell, column by column.
    pub numbers: Vec<u64>,
}

/// The pauses of a kind by interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseSeries {
    /// The kind.
    pub kind: PauseKind,
    /// The number of pauses.
    pub count: u64,
    /// The sum of their lengths, in nanoseconds.
    pub total_ns: u64,
    /// The length of the longest, in nanoseconds.
    pub longest_ns: u64,
    /// The part of each interval for which the program stood still, in nanoseconds.
    pub numbers: Vec<u64>,
}

/// The pauses of each kind that there is, in `length` intervals.
pub fn pauses(profile: &Profile, (interval_ns, length): (u64, usize)) -> Vec<PauseSeries> {
    let interval_ns = interval_ns.max(1);
    let of_kind = |kind| {
        let numbers = vec![0; length];
        let mut all = PauseSeries { kind, count: 0, total_ns: 0, longest_ns: 0, numbers };
        for pause in profile.pauses().filter(|it| it.kind == kind) {
            all.count += 1;
            all.total_ns = all.total_ns.saturating_add(pause.duration_ns);
            all.longest_ns = all.longest_ns.max(pause.duration_ns);
            let mut at_ns = pause.begin_ns;
            while at_ns < pause.end_ns() {
                let place = at_ns / interval_ns;
                let next_ns = (place + 1).saturating_mul(interval_ns).min(pause.end_ns());
                let Some(number) = all.numbers.get_mut(place as usize) else { break };
                *number = number.saturating_add(next_ns - at_ns);
                at_ns = next_ns;
            }
        }
        (all.count > 0).then_some(all)
    };
    PauseKind::ALL.into_iter().filter_map(of_kind).collect()
}

/// The metrics that have numbers over time beside those of samples, and the numbers of all threads in `length` intervals.
pub fn time_series(
    profile: &Profile,
    (interval_ns, length): (u64, usize),
) -> Vec<(Metric, Vec<u64>)> {
    let interval_ns = interval_ns.max(1);
    let mut all: Vec<(Metric, Vec<u64>)> = Vec::new();
    // Of states the share of each thread says something, and not the sum.
    let has_numbers = |it: &&TimeSeries| it.numbers.keys().any(|key| key.1.state.is_none());
    for series in profile.time_series().filter(has_numbers) {
        let place = all.iter().position(|it| it.0 == series.metric).unwrap_or(all.len());
        if place == all.len() {
            all.push((series.metric.clone(), vec![0; length]));
        }
        let numbers = &mut all[place].1;
        for (&(tick, _), &number) in series.numbers.iter().filter(|it| it.0.1.state.is_none()) {
            let times = (series.time_ns(tick), series.time_ns(tick.saturating_add(1)));
            // A time that no recording reaches is one of a damaged file.
            if times.0 / interval_ns >= length as u64 {
                continue;
            }
            spread(times, interval_ns, number, |at, more| {
                let at = (at as usize).min(length - 1);
                numbers[at] = numbers[at].saturating_add(more);
            });
        }
    }
    all
}

/// The metrics whose times are known, in the order of their use.
pub fn metrics(profile: &Profile) -> Vec<Metric> {
    let is_known = |metric: &Metric| profile.timelines().any(|it| it.head.metric == *metric);
    let mut metrics: Vec<Metric> = Metric::all_of(profile).into_iter().filter(is_known).collect();
    for timeline in profile.timelines() {
        if !metrics.contains(&timeline.head.metric) {
            metrics.push(timeline.head.metric.clone());
        }
    }
    metrics
}

/// The thread of a row, by itself or by its trace.
pub(crate) fn thread_of(profile: &Profile, row: &TimelineRow) -> Option<ThreadId> {
    row.thread.or_else(|| profile.get_trace(row.trace).thread)
}

/// The rows of a metric with the time at which each begins, of traces that pass the filter.
pub(crate) fn rows<'p>(
    profile: &'p Profile,
    metric: &'p Metric,
    filter: &Filter,
) -> Vec<(u64, &'p TimelineRow)> {
    let kept = KeptNodes::new(filter, profile);
    let threads = filter.kept_threads(profile);
    // Times are known by trace alone, and not by label.
    let has_labels = !filter.labels.is_empty();
    let timelines = profile.timelines().filter(|it| it.head.metric == *metric && !has_labels);
    let rows = timelines
        .flat_map(|it: &Timeline| it.rows.iter().map(|row| (it.head.time_ns(row.tick), row)));
    let is_kept = |row: &TimelineRow| {
        kept.as_ref().is_none_or(|kept| kept.has(profile.get_trace(row.trace).node))
    };
    let is_of_thread = |row: &TimelineRow| {
        let is_kept = |kept: &Vec<bool>| thread_of(profile, row).is_some_and(|it| kept[it.index()]);
        threads.as_ref().is_none_or(is_kept)
    };
    rows.filter(|(_, row)| is_kept(row) && is_of_thread(row)).collect()
}

/// An interval of at least `least_ns` of whole ticks, as a tick is in one interval; `None` where the times of the metric
/// are not known.
pub(crate) fn whole_ticks(profile: &Profile, metric: &Metric, least_ns: u64) -> Option<u64> {
    let tick_ns = tick_ns(profile, metric)?.max(1);
    let least_ns = least_ns.max(profile.recorded_ns().div_ceil(MOST_INTERVALS)).max(1);
    Some(least_ns.div_ceil(tick_ns).saturating_mul(tick_ns))
}

/// The longest tick of a metric's times; `None` where it has none.
fn tick_ns(profile: &Profile, metric: &Metric) -> Option<u64> {
    profile.timelines().filter(|it| it.head.metric == *metric).map(|it| it.head.tick_ns).max()
}

/// The numbers of a metric by intervals of at least `interval_ns`, of the `count` threads with most; `None` where
/// its times are not known.
pub fn series(
    profile: &Profile,
    metric: &Metric,
    filter: &Filter,
    (interval_ns, count): (u64, usize),
) -> Option<Series> {
    let recorded_ns = profile.recorded_ns();
    let interval_ns = whole_ticks(profile, metric, interval_ns)?;
    let rows = rows(profile, metric, filter);
    let name = |row: &TimelineRow| Some(profile.get_thread(thread_of(profile, row)?).name);
    let mut totals: KeyedMap<Option<StrId>, u64> = KeyedMap::default();
    let mut last = recorded_ns.saturating_sub(1) / interval_ns;
    for (time_ns, row) in rows.iter().copied() {
        let total = totals.entry(name(row)).or_default();
        *total = total.saturating_add(row.count);
        last = last.max(time_ns / interval_ns);
    }
    // A time that no recording reaches is one of a damaged file.
    let length = last.min(2 * MOST_INTERVALS) as usize + 1;
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by_key(|&(name, total)| (std::cmp::Reverse(total), name));
    let other_count = totals.len().saturating_sub(count);
    totals.truncate(count);
    let mut threads: Vec<_> = totals
        .into_iter()
        .map(|(name, total)| ThreadSeries { name, total, numbers: vec![0; length] })
        .collect();
    let places: KeyedMap<_, _> =
        threads.iter().enumerate().map(|(place, it)| (it.name, place)).collect();
    let mut all = vec![0_u64; length];
    for (time_ns, row) in rows {
        let at = ((time_ns / interval_ns) as usize).min(length - 1);
        all[at] = all[at].saturating_add(row.count);
        if let Some(&place) = places.get(&name(row)) {
            let number = &mut threads[place].numbers[at];
            *number = number.saturating_add(row.count);
        }
    }
    Some(Series { interval_ns, recorded_ns, all, threads, other_count })
}

/// The heat map of a metric; `None` where its times are not known.
pub fn heat_map(profile: &Profile, metric: &Metric, filter: &Filter) -> Option<HeatMap> {
    let cell_ns = tick_ns(profile, metric)?.max(CELL_NS);
    let recorded_ns = profile.recorded_ns();
    let least_ns = COLUMN_NS.max(recorded_ns.div_ceil(MOST_COLUMNS)).max(cell_ns);
    let height = least_ns.div_ceil(cell_ns);
    // Of a long recording cells are longer, and not more.
    let (height, cell_ns) = match height {
        0..=100 => (height, cell_ns),
        _ => (50, least_ns.div_ceil(50)),
    };
    let column_ns = height.saturating_mul(cell_ns);
    let rows = rows(profile, metric, filter);
    let end_ns = rows.iter().map(|it| it.0 + 1).max().unwrap_or(0).max(recorded_ns);
    let columns = end_ns.div_ceil(column_ns).clamp(1, 2 * MOST_COLUMNS);
    let mut numbers = vec![0_u64; (columns * height) as usize];
    for (time_ns, row) in rows {
        let at = ((time_ns / cell_ns) as usize).min(numbers.len() - 1);
        numbers[at] = numbers[at].saturating_add(row.count);
    }
    Some(HeatMap { column_ns, cell_ns, height: height as usize, numbers })
}

#[cfg(test)]
mod tests {
    use perk_profile::{Event, TimelineHead};

    use super::*;
    use crate::fixture::{push_samples, thread};

    const MS: u64 = 1_000_000;

    /// A sample each 10 ms for 1.5 s, of two threads in turn: even ticks in `T.a`, odd ones in `T.b`.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        push_samples(&mut profile, &[("T.a<T.main", 75), ("T.b<T.main", 75)]);
        let threads = [thread(&mut profile, "one"), thread(&mut profile, "two")];
        let traces: Vec<_> =
            Metric::Samples.rows(&profile).rows.iter().map(|it| it.0.trace).collect();
        let row = |tick: u64| TimelineRow {
            tick,
            thread: Some(threads[tick as usize % 2]),
            trace: traces[tick as usize % 2],
            count: 1,
        };
        let end_ns = 1500 * MS;
        let head = TimelineHead { metric: Metric::Samples, tick_ns: 10 * MS, begin_ns: 0, end_ns };
        let rows = (0..150).map(row).collect();
        profile.events.push(Event::Timeline(Timeline { head, rows }));
        profile
    }

    #[test]
    fn intervals_add_up() {
        let profile = profile();
        let filter = Filter::default();
        let all = series(&profile, &Metric::Samples, &filter, (500 * MS, 9)).unwrap();
        assert_eq!((all.interval_ns, all.recorded_ns), (500 * MS, 1500 * MS));
        assert_eq!(all.all, [50, 50, 50]);
        let threads: Vec<_> = all.threads.iter().map(|it| (it.total, &*it.numbers)).collect();
        assert_eq!(threads, [(75, &[25, 25, 25][..]), (75, &[25, 25, 25])]);
        let one = series(&profile, &Metric::Samples, &filter, (495 * MS, 1)).unwrap();
        assert_eq!((one.interval_ns, one.threads.len(), one.other_count), (500 * MS, 1, 1));
        let focus = vec![perk_profile::NamePattern::new("T.a").unwrap()];
        let filter = Filter { focus, ..filter };
        let focused = series(&profile, &Metric::Samples, &filter, (500 * MS, 9)).unwrap();
        assert_eq!((&*focused.all, focused.threads.len()), (&[25, 25, 25][..], 1));
        assert_eq!(series(&profile, &Metric::WallTime, &Filter::default(), (MS, 1)), None);
    }

    #[test]
    fn a_heat_map_has_seconds_across_and_parts_of_them_down() {
        let map = heat_map(&profile(), &Metric::Samples, &Filter::default()).unwrap();
        assert_eq!((map.column_ns, map.cell_ns, map.height), (1000 * MS, 20 * MS, 50));
        assert_eq!(map.numbers.len(), 100);
        assert_eq!(map.numbers[..75], [2; 75]);
        assert_eq!(map.numbers[75..], [0; 25]);
    }
}
