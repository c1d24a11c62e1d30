//! The numbers of methods over time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perk_profile::{KeyedMap, MethodId, Metric, NamePattern, NodeId, Profile};

use crate::{Filter, MethodTree, times};

/// The most intervals of a history.
const MOST_INTERVALS: u64 = 2000;

/// The methods whose history is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryOf<'a> {
    /// Those that are on top of the stack most, in this number.
    Top(usize),
    /// All that match a pattern, as one.
    Like(&'a NamePattern),
}

/// The numbers of methods by interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The length of an interval.
    pub interval_ns: u64,
    /// The length of the recording.
    pub recorded_ns: u64,
    /// The numbers of all stacks.
    pub all: Vec<u64>,
    /// The methods, those with most on top of the stack first.
    pub methods: Vec<MethodHistory>,
}

/// The numbers of a method by interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodHistory {
    /// The method; `None` for all that match a pattern.
    pub method: Option<MethodId>,
    /// The numbers of stacks with it on top.
    pub own: Vec<u64>,
    /// The numbers of stacks with it anywhere.
    pub total: Vec<u64>,
}

/// The numbers of methods by intervals of at least `interval_ns`; `None` where the times of the metric are not known.
pub fn history(
    (profile, tree): (&Profile, &MethodTree),
    metric: &Metric,
    filter: &Filter,
    interval_ns: u64,
    of: &HistoryOf<'_>,
) -> Option<History> {
    let recorded_ns = profile.recorded_ns();
    let least_ns = interval_ns.max(recorded_ns.div_ceil(MOST_INTERVALS));
    let interval_ns = times::whole_ticks(profile, metric, least_ns)?;
    let mut nodes: BTreeMap<NodeId, KeyedMap<usize, u64>> = BTreeMap::new();
    let mut last = (recorded_ns.saturating_sub(1) / interval_ns) as usize;
    for (time_ns, row) in times::rows(profile, metric, filter) {
        // A time that no recording reaches is one of a damaged file.
        let at = (time_ns / interval_ns).min(2 * MOST_INTERVALS) as usize;
        last = last.max(at);
        let node = profile.get_trace(row.trace).node;
        add(nodes.entry(node).or_default().entry(at).or_default(), row.count);
    }
    let empty = || vec![0_u64; last.min(2 * MOST_INTERVALS as usize) + 1];
    let mut all = empty();
    for (&at, &number) in nodes.values().flatten() {
        add(&mut all[at], number);
    }
    let mut methods: Vec<MethodHistory> = chosen(&nodes, profile, tree, of)
        .into_iter()
        .map(|method| MethodHistory { method, own: empty(), total: empty() })
        .collect();
    let places = methods.iter().enumerate().filter_map(|(place, it)| Some((it.method?, place)));
    let places: KeyedMap<MethodId, usize> = places.collect();
    let place = |method| match of {
        HistoryOf::Top(_) => places.get(&method).copied(),
        HistoryOf::Like(pattern) => pattern.matches_method(&profile.symbols, method).then_some(0),
    };
    let mut found: Vec<usize> = Vec::new();
    for (&node, numbers) in &nodes {
        let path = tree.path(node);
        let top = tree.method(path).and_then(place);
        found.clear();
        found.extend(tree.methods(path).filter_map(place));
        found.sort_unstable();
        found.dedup();
        for (&at, &number) in numbers {
            if let Some(top) = top {
                add(&mut methods[top].own[at], number);
            }
            found.iter().for_each(|&place| add(&mut methods[place].total[at], number));
        }
    }
    Some(History { interval_ns, recorded_ns, all, methods })
}

fn add(sum: &mut u64, number: u64) {
    *sum = sum.saturating_add(number);
}

/// The methods that are asked; `None` is all that match.
fn chosen(
    nodes: &BTreeMap<NodeId, KeyedMap<usize, u64>>,
    profile: &Profile,
    tree: &MethodTree,
    of: &HistoryOf<'_>,
) -> Vec<Option<MethodId>> {
    let count = match of {
        HistoryOf::Like(_) => return vec![None],
        HistoryOf::Top(count) => *count,
    };
    let mut own = vec![0_u64; profile.symbols.method_count()];
    for (&node, numbers) in nodes {
        if let Some(method) = tree.method(tree.path(node)) {
            numbers.values().for_each(|&number| add(&mut own[method.index()], number));
        }
    }
    let mut methods: Vec<_> = (0..own.len()).filter(|&at| own[at] > 0).collect();
    methods.sort_by_key(|&at| (Reverse(own[at]), at));
    methods.truncate(count);
    methods.into_iter().map(|at| Some(MethodId::new(at))).collect()
}

#[cfg(test)]
mod tests {
    use perk_profile::{Event, Timeline, TimelineHead, TimelineRow};

    use super::*;
    use crate::fixture::push_samples;

    const MS: u64 = 1_000_000;

    /// A sample each 10 ms: for a second in `T.a`, then for half a second in `T.b`, which `T.a` calls.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        push_samples(&mut profile, &[("T.a<T.main", 100), ("T.b<T.a<T.main", 50)]);
        let traces: Vec<_> =
            Metric::Samples.rows(&profile).rows.iter().map(|it| it.0.trace).collect();
        let row = |tick: u64| TimelineRow {
            tick,
            thread: None,
            trace: traces[usize::from(tick >= 100)],
            count: 1,
        };
        let head = TimelineHead {
            metric: Metric::Samples,
            tick_ns: 10 * MS,
            begin_ns: 0,
            end_ns: 1500 * MS,
        };
        let rows = (0..150).map(row).collect();
        profile.events.push(Event::Timeline(Timeline { head, rows }));
        profile
    }

    fn asked(of: &HistoryOf<'_>) -> (Profile, History) {
        let profile = profile();
        let tree = MethodTree::new(&profile);
        let filter = Filter::default();
        let found = history((&profile, &tree), &Metric::Samples, &filter, 500 * MS, of).unwrap();
        (profile, found)
    }

    #[test]
    fn methods_have_numbers_by_interval() {
        let (profile, found) = asked(&HistoryOf::Top(9));
        assert_eq!((found.interval_ns, &*found.all), (500 * MS, &[50, 50, 50][..]));
        let name = |it: &MethodHistory| profile.symbols.method_name(it.method.unwrap());
        let methods: Vec<_> =
            found.methods.iter().map(|it| (name(it), it.own.clone(), it.total.clone())).collect();
        assert_eq!(
            methods,
            [
                ("T.a".to_owned(), vec![50, 50, 0], vec![50, 50, 50]),
                ("T.b".to_owned(), vec![0, 0, 50], vec![0, 0, 50]),
            ]
        );
        assert_eq!(asked(&HistoryOf::Top(1)).1.methods, found.methods[..1]);
    }

    #[test]
    fn what_matches_a_pattern_is_one() {
        let like = |text: &str| asked(&HistoryOf::Like(&NamePattern::new(text).unwrap())).1;
        let [ref all] = like("T.*").methods[..] else { panic!() };
        assert_eq!((&*all.own, &*all.total), (&[50, 50, 50][..], &[50, 50, 50][..]));
        let [ref main] = like("T.main").methods[..] else { panic!() };
        assert_eq!((&*main.own, &*main.total), (&[0; 3][..], &[50, 50, 50][..]));
        assert_eq!(like("no.such").methods[0].total, [0; 3]);
    }

    #[test]
    fn a_profile_without_times_has_no_history() {
        let mut profile = profile();
        profile.events.retain(|it| !matches!(it, Event::Timeline(_)));
        let tree = MethodTree::new(&profile);
        let (filter, of) = (Filter::default(), HistoryOf::Top(1));
        assert_eq!(history((&profile, &tree), &Metric::Samples, &filter, MS, &of), None);
    }
}
