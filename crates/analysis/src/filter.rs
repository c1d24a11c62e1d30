//! Profiles of a part of the measurements: traces through some methods, without others, or with
//! frames taken out.

use perk_profile::{
    AllocationSite, Event, FieldAccesses, FrameId, KeyedMap, MethodId, Metric, NamePattern, NodeId,
    PathId, Profile, Section, Symbols, Thread, ThreadId, TimelineRow, TraceId, WholePattern,
};

use crate::{LabelPattern, MethodTree, labels};

/// The traces that count, and the frames of them that count. Without any pattern all count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The patterns of methods through which traces must go, if there are any.
    pub focus: Vec<NamePattern>,
    /// The patterns of methods through which traces must not go.
    pub ignore: Vec<NamePattern>,
    /// Methods whose frames are taken out of the traces: their numbers go to their caller. The
    /// calls of a hidden method are dropped; their time goes to the caller.
    pub hide: Vec<NamePattern>,
    /// The labels that rows must have: one of those of each key.
    pub labels: Vec<LabelPattern>,
    /// The names of the threads whose numbers count, if there are any.
    pub threads: Vec<WholePattern>,
}

impl Filter {
    /// Whether the filter keeps everything.
    pub fn is_empty(&self) -> bool {
        let Self { focus, ignore, hide, labels, threads } = self;
        let methods = [focus, ignore, hide];
        methods.iter().all(|it| it.is_empty()) && labels.is_empty() && threads.is_empty()
    }

    /// The patterns that match no method of a profile, each with the name of its list.
    pub fn unmatched<'a>(&'a self, symbols: &Symbols) -> Vec<(&'static str, &'a NamePattern)> {
        let lists = [("focus", &self.focus), ("ignore", &self.ignore), ("hide", &self.hide)];
        let all = lists
            .into_iter()
            .flat_map(|(list, patterns)| patterns.iter().map(move |it| (list, it)));
        let methods = || (0..symbols.method_count()).map(MethodId::new);
        let is_unmatched = |(_, pattern): &(_, &NamePattern)| {
            !methods().any(|method| pattern.matches_method(symbols, method))
        };
        all.filter(is_unmatched).collect()
    }

    /// Whether each method, by its index, is hidden.
    pub fn hidden(&self, symbols: &Symbols) -> Vec<bool> {
        matching(&self.hide, symbols)
    }

    /// Returns the part of `profile` that the filter keeps. Ids stay the same. Totals are those of
    /// the rows that are left. The trace of an object whose fields were accessed is the method that
    /// allocated it. Tables of callers and callees have no traces and are left out, with a note.
    /// Dumps of threads and of the heap stay.
    pub fn apply(&self, mut profile: Profile) -> Profile {
        if self.is_empty() {
            return profile;
        }
        if !self.labels.is_empty() {
            self.keep_labels(&mut profile);
        }
        if let Some(is_kept) = self.kept_threads(&profile) {
            keep_threads(&is_kept, &mut profile);
        }
        let traces = Traces::new(self, &mut profile);
        let mut skipped = 0_usize;
        profile.events.retain_mut(|event| {
            match event {
                Event::Section(pairs) if pairs.head.is_by_pair => {
                    skipped += pairs.len();
                    return false;
                }
                Event::Section(section) => traces.filter(section),
                Event::Timeline(timeline) if traces.is_kept.is_some() => {
                    let rows = timeline.rows.iter();
                    timeline.rows = rows.filter(|row| traces.keeps(row.trace)).copied().collect();
                }
                // They are of all threads and paths.
                Event::TimeSeries(_) => return false,
                Event::FieldAccesses(accesses) => self.keep_objects(accesses, &profile.symbols),
                _ => {}
            }
            true
        });
        if skipped > 0 {
            let pairs = if skipped == 1 { "pair" } else { "pairs" };
            profile.notes.push(format!(
                "{skipped} {pairs} of caller and callee skipped: no traces to filter by"
            ));
        }
        profile
    }

    /// Keeps the rows with the labels. When samples were taken is known by trace alone, and is left out.
    fn keep_labels(&self, profile: &mut Profile) {
        let is_kept = labels::kept(&self.labels, profile);
        profile.events.retain_mut(|event| match event {
            Event::Section(section) => {
                section.retain(|key| is_kept[key.labels.index()]);
                true
            }
            Event::Timeline(_) => false,
            _ => true,
        });
    }

    /// Whether each thread, by its index, counts; `None` where all numbers do.
    pub(crate) fn kept_threads(&self, profile: &Profile) -> Option<Vec<bool>> {
        let name = |thread: &Thread| profile.symbols.strings.get(thread.name);
        let is_kept = |thread| self.threads.iter().any(|pattern| pattern.matches(name(thread)));
        (!self.threads.is_empty()).then(|| profile.threads.iter().map(is_kept).collect())
    }

    /// Keeps the objects that the kept methods allocated.
    fn keep_objects(&self, accesses: &mut FieldAccesses, symbols: &Symbols) {
        let mut known: KeyedMap<Option<AllocationSite>, bool> = KeyedMap::default();
        let is_kept = |site: Option<AllocationSite>| {
            let Some(site) = site else { return self.focus.is_empty() };
            let class = symbols.strings.get(site.class).replace('/', ".");
            let method = symbols.strings.get(site.method);
            let is_through =
                |patterns: &[NamePattern]| patterns.iter().any(|it| it.matches(&class, method));
            (self.focus.is_empty() || is_through(&self.focus)) && !is_through(&self.ignore)
        };
        accesses.retain(|site| *known.entry(site).or_insert_with(|| is_kept(site)));
    }
}

/// Keeps the rows of threads that count. Tables of callers and callees have no threads, and stay for what follows.
fn keep_threads(is_kept: &[bool], profile: &mut Profile) {
    let kept = |thread: Option<ThreadId>| thread.is_some_and(|thread| is_kept[thread.index()]);
    let threads: Vec<_> = profile.traces().iter().map(|trace| trace.thread).collect();
    for event in &mut profile.events {
        match event {
            Event::Section(section) if !section.head.is_by_pair => {
                section.retain(|key| kept(threads[key.trace.index()]));
            }
            Event::Timeline(timeline) => {
                let thread = |row: &TimelineRow| row.thread.or(threads[row.trace.index()]);
                timeline.rows =
                    timeline.rows.iter().filter(|row| kept(thread(row))).copied().collect();
            }
            _ => {}
        }
    }
}

/// The decision about each trace.
struct Traces {
    /// `None` where all are kept.
    is_kept: Option<Vec<bool>>,
    /// Whether its innermost frame was hidden; `None` where no frame was.
    is_hidden: Option<Vec<bool>>,
}

impl Traces {
    /// Decides about the traces of `profile` and takes the hidden frames out of them.
    fn new(filter: &Filter, profile: &mut Profile) -> Self {
        let of_traces = |kept: KeptNodes| {
            profile.traces().iter().map(|trace| kept.has(trace.node)).collect::<Vec<_>>()
        };
        let is_kept = KeptNodes::new(filter, profile).map(of_traces);
        let is_hidden = (!filter.hide.is_empty()).then(|| hide(filter, profile));
        Self { is_kept, is_hidden }
    }

    fn keeps(&self, trace: TraceId) -> bool {
        self.is_kept.as_ref().is_none_or(|is_kept| is_kept[trace.index()])
    }

    /// Keeps the rows of the kept traces, and their totals. The calls of a hidden method do not
    /// become calls of its caller.
    fn filter(&self, section: &mut Section) {
        if self.is_kept.is_some() {
            section.retain(|key| self.keeps(key.trace));
        }
        let Some(is_hidden) = &self.is_hidden else { return };
        let of_calls = [Metric::Calls, Metric::TotalTime].map(|metric| section.head.place(&metric));
        if of_calls.iter().any(Option::is_some) {
            section.change(|key, numbers| {
                if is_hidden[key.trace.index()] {
                    of_calls.into_iter().flatten().for_each(|place| numbers[place] = 0);
                }
            });
        }
    }
}

/// Takes the hidden frames out of the traces. Returns whether the innermost frame of each was hidden.
fn hide(filter: &Filter, profile: &mut Profile) -> Vec<bool> {
    let hide = filter.hidden(&profile.symbols);
    let count = profile.tree.len();
    let mut is_hidden = vec![false; count];
    let mut shown: Vec<NodeId> = (0..count).map(NodeId::new).collect();
    // A parent's index is below its children's.
    for index in 0..count {
        let node = NodeId::new(index);
        let above = profile.tree.parent(node).zip(profile.tree.frame(node));
        let Some((parent, frame)) = above else { continue };
        let method = profile.symbols.get_frame(frame).method.index();
        is_hidden[index] = hide[method];
        let above = shown[parent.index()];
        if hide[method] {
            shown[index] = above;
        } else if above != parent {
            shown[index] = profile.tree.insert_below(above, [frame]);
        }
    }
    let nodes = profile.traces().iter().map(|trace| trace.node.index());
    let is_hidden = nodes.map(|node| is_hidden[node]).collect();
    if hide.contains(&true) {
        profile.move_traces(|_, _, trace| shown[trace.node.index()]);
    }
    is_hidden
}

/// What is on the paths of traces: a frame through which they must go, one through which they must not go.
#[derive(Debug)]
struct Marks {
    /// That of the empty path.
    root: u8,
    of_frame: Vec<u8>,
    /// What is on all paths below one with it.
    last: u8,
}

impl Marks {
    const THROUGH: u8 = 1;
    const IGNORED: u8 = 2;

    /// Those of a filter; `None` where all traces count.
    fn new(filter: &Filter, symbols: &Symbols) -> Option<Self> {
        if filter.focus.is_empty() && filter.ignore.is_empty() {
            return None;
        }
        let [focus, ignore] = [&filter.focus, &filter.ignore].map(|it| matching(it, symbols));
        let of_frame = (0..symbols.frame_count()).map(|index| {
            let method = symbols.get_frame(FrameId::new(index)).method.index();
            (u8::from(focus[method]) * Self::THROUGH) | (u8::from(ignore[method]) * Self::IGNORED)
        });
        Some(Self {
            root: u8::from(filter.focus.is_empty()) * Self::THROUGH,
            of_frame: of_frame.collect(),
            last: if filter.ignore.is_empty() { Self::THROUGH } else { Self::IGNORED },
        })
    }
}

/// The nodes of a tree whose traces count, by the methods on their paths.
#[derive(Debug)]
pub(crate) struct KeptNodes {
    /// What is on the path of each node.
    marks: Vec<u8>,
}

impl KeptNodes {
    /// Those of the tree of a profile; `None` where all count.
    pub(crate) fn new(filter: &Filter, profile: &Profile) -> Option<Self> {
        let Marks { root, of_frame, .. } = Marks::new(filter, &profile.symbols)?;
        let mut marks = Vec::with_capacity(profile.tree.len());
        marks.push(root);
        // A parent's index is below its children's.
        for (parent, frame) in profile.tree.edges() {
            marks.push(marks[parent.index()] | of_frame[frame.index()]);
        }
        Some(Self { marks })
    }

    #[inline]
    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.marks[node.index()] == Marks::THROUGH
    }
}

/// The chains of a tree of methods whose traces count.
#[derive(Debug)]
pub(crate) struct KeptChains {
    /// What is on the paths to the end of each chain.
    marks: Vec<u8>,
}

impl KeptChains {
    /// Those of the tree of a profile; `None` where all count.
    pub(crate) fn new(filter: &Filter, profile: &Profile, tree: &MethodTree) -> Option<Self> {
        let Marks { root, of_frame, last } = Marks::new(filter, &profile.symbols)?;
        let chains = tree.chains();
        let mut marks = vec![root; chains.len()];
        for (paths, chain, below) in chains.all() {
            let mut mark = marks[chain];
            for path in paths.map(PathId::new) {
                if mark & last != 0 {
                    break;
                }
                mark |= tree.frame(path).map_or(0, |frame| of_frame[frame.index()]);
            }
            marks[chain] = mark;
            marks[below].fill(mark);
        }
        Some(Self { marks })
    }

    /// Whether the traces that end with a chain count.
    #[inline]
    pub(crate) fn has(&self, chain: usize) -> bool {
        self.marks[chain] == Marks::THROUGH
    }
}

/// Whether one of `patterns` matches each method, by its index.
fn matching(patterns: &[NamePattern], symbols: &Symbols) -> Vec<bool> {
    let is_meant = |index| {
        let method = MethodId::new(index);
        patterns.iter().any(|pattern| pattern.matches_method(symbols, method))
    };
    (0..symbols.method_count()).map(is_meant).collect()
}

#[cfg(test)]
mod tests {
    use perk_profile::{SectionView, Timeline, TimelineHead};

    use super::*;
    use crate::fixture::{edges, push_metric, push_samples, push_sites, push_times, thread};

    fn patterns(names: &[&str]) -> Vec<NamePattern> {
        names.iter().map(|name| NamePattern::new(name).unwrap()).collect()
    }

    fn filter(focus: &[&str], ignore: &[&str], hide: &[&str]) -> Filter {
        let labels = Vec::new();
        Filter {
            focus: patterns(focus),
            ignore: patterns(ignore),
            hide: patterns(hide),
            labels,
            ..Filter::default()
        }
    }

    /// A profile of every kind of number on four paths.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        let paths = ["T.main", "T.leaf<T.a<T.main", "T.leaf<T.b<T.main", "T.a<T.main"];
        push_samples(&mut profile, &[(paths[0], 1), (paths[1], 2), (paths[2], 4), (paths[3], 8)]);
        push_metric(&mut profile, "misses", &[(paths[1], 5), (paths[2], 7)]);
        let times = paths.map(|path| (path, None, 3, 10));
        push_times(&mut profile, &times);
        push_sites(&mut profile, &[("byte[]", paths[1], [64, 2, 32, 1]), ("T", paths[0], [8; 4])]);
        profile
    }

    #[test]
    fn threads_have_their_own_numbers() {
        let mut profile = Profile::default();
        let [one, two, main] = ["http-1", "http-2", "main"].map(|name| thread(&mut profile, name));
        let rows = [(one, 1), (two, 2), (main, 4)];
        push_times(&mut profile, &rows.map(|(thread, ns)| ("T.a<T.main", Some(thread), 1, ns)));
        push_metric(&mut profile, "misses", &[("T.a<T.main", 8)]);
        let trace = |thread| {
            let traces = 0..profile.traces().len();
            let mut traces = traces.map(TraceId::new);
            traces.find(|&it| profile.get_trace(it).thread == Some(thread)).unwrap()
        };
        let row = |tick, thread, of| TimelineRow { tick, thread, trace: trace(of), count: 1 };
        // A row has the thread of its trace, unless it has one.
        let rows = vec![row(0, None, one), row(1, Some(two), main), row(2, None, main)];
        let head = TimelineHead { metric: Metric::Samples, tick_ns: 1, begin_ns: 0, end_ns: 3 };
        profile.events.push(Event::Timeline(Timeline { head, rows: rows.into() }));
        let names =
            |names: &[&str]| names.iter().map(|it| WholePattern::new(it).unwrap()).collect();
        for (threads, ns, ticks) in [
            (&["http-*"][..], 3, &[0, 1][..]),
            (&["main"], 4, &[2]),
            (&["main", "http-1"], 5, &[0, 2]),
            (&["none"], 0, &[]),
            (&[], 7, &[0, 1, 2]),
        ] {
            let filter = Filter { threads: names(threads), ..Filter::default() };
            let kept = filter.apply(profile.clone());
            assert_eq!(Metric::SelfTime.total(&kept), ns, "{threads:?}");
            let rows = kept.timelines().flat_map(|it| it.rows.iter().map(|row| row.tick));
            assert_eq!(rows.collect::<Vec<_>>(), ticks, "{threads:?}");
            let misses = Metric::other("misses", perk_profile::Unit::Count).total(&kept);
            assert_eq!(misses, if threads.is_empty() { 8 } else { 0 }, "of no thread");
        }
    }

    /// Samples, metric, self time, calls and allocated bytes by path.
    fn shown(profile: &Profile) -> Vec<(String, u64, u64, u64, u64, u64)> {
        let mut rows: Vec<(String, u64, u64, u64, u64, u64)> = Vec::new();
        let path = |trace| {
            let name = |frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method);
            profile.frames(trace).map(name).collect::<Vec<_>>().join("<")
        };
        let mut row = |trace: TraceId| {
            let path = path(trace);
            let place = rows.iter().position(|row| row.0 == path);
            place.unwrap_or_else(|| {
                rows.push((path, 0, 0, 0, 0, 0));
                rows.len() - 1
            })
        };
        let mut numbers = Vec::new();
        for (trace, count) in profile.cpu_samples().flat_map(|it| it.rows) {
            numbers.push((row(trace), [count, 0, 0, 0, 0]));
        }
        let misses = Metric::find(profile, "misses").map(|metric| metric.rows(profile).by_trace());
        for (trace, count) in misses.unwrap_or_default() {
            numbers.push((row(trace), [0, count, 0, 0, 0]));
        }
        for it in profile.call_times().flat_map(|it| it.rows) {
            numbers.push((row(it.trace), [0, 0, it.self_ns, it.count, 0]));
        }
        for site in &profile.sites().unwrap().rows {
            numbers.push((row(site.trace), [0, 0, 0, 0, site.objects.allocated_bytes]));
        }
        for (place, [a, b, c, d, e]) in numbers {
            let row = &mut rows[place];
            *row = (row.0.clone(), row.1 + a, row.2 + b, row.3 + c, row.4 + d, row.5 + e);
        }
        rows
    }

    /// The totals of all sections, in their order.
    fn totals(profile: &Profile) -> Vec<u64> {
        let total = |section: &Section| match section.view(profile) {
            SectionView::CallTimes(it) => it.total_ns,
            SectionView::Sites(it) => it.total.allocated_bytes,
            _ => section.head.columns[0].total,
        };
        profile.sections().map(total).collect()
    }

    #[test]
    fn without_patterns_nothing_changes() {
        let filtered = Filter::default().apply(profile());
        assert_eq!(shown(&filtered), shown(&profile()));
        assert_eq!(totals(&filtered), [15, 12, 40, 72]);
    }

    #[test]
    fn focus_keeps_what_goes_through() {
        let filtered = filter(&["a"], &[], &[]).apply(profile());
        assert_eq!(
            shown(&filtered),
            [
                ("T.leaf<T.a<T.main".to_owned(), 2, 5, 10, 3, 64),
                ("T.a<T.main".to_owned(), 8, 0, 10, 3, 0),
            ]
        );
        assert_eq!(totals(&filtered), [10, 5, 20, 64]);
        assert_eq!(shown(&filter(&["a", "b"], &[], &[]).apply(profile())).len(), 3);
        assert_eq!(totals(&filter(&["nothing"], &[], &[]).apply(profile())), [0, 0, 0, 0]);
    }

    #[test]
    fn ignore_drops_what_goes_through() {
        let filtered = filter(&[], &["T.a"], &[]).apply(profile());
        assert_eq!(
            shown(&filtered),
            [
                ("T.main".to_owned(), 1, 0, 10, 3, 8),
                ("T.leaf<T.b<T.main".to_owned(), 4, 7, 10, 3, 0),
            ]
        );
        assert_eq!(totals(&filter(&["leaf"], &["a"], &[]).apply(profile())), [4, 7, 10, 0]);
    }

    #[test]
    fn focus_and_ignore_part_the_whole() {
        for name in ["T.main", "T.a", "b", "leaf", "T.*", "nothing"] {
            let focus = totals(&filter(&[name], &[], &[]).apply(profile()));
            let ignore = totals(&filter(&[], &[name], &[]).apply(profile()));
            let sum: Vec<_> = focus.iter().zip(&ignore).map(|(a, b)| a + b).collect();
            assert_eq!(sum, totals(&profile()), "{name}");
        }
    }

    #[test]
    fn hidden_frames_give_their_numbers_to_their_caller() {
        let filtered = filter(&[], &[], &["T.leaf"]).apply(profile());
        assert_eq!(
            shown(&filtered),
            [
                ("T.main".to_owned(), 1, 0, 10, 3, 8),
                ("T.a<T.main".to_owned(), 10, 5, 20, 3, 64),
                ("T.b<T.main".to_owned(), 4, 7, 10, 0, 0),
            ]
        );
        assert_eq!(totals(&filtered), totals(&profile()));
        let middle = filter(&[], &[], &["T.a", "T.b"]).apply(profile());
        assert_eq!(
            shown(&middle),
            [("T.main".to_owned(), 9, 0, 20, 3, 8), ("T.leaf<T.main".to_owned(), 6, 12, 20, 6, 64),]
        );
    }

    #[test]
    fn a_hidden_thread_start_leaves_no_stack() {
        let filtered = filter(&["T.main"], &[], &["T.*"]).apply(profile());
        assert_eq!(shown(&filtered), [(String::new(), 15, 12, 40, 0, 72)]);
    }

    #[test]
    fn pairs_without_traces_are_skipped() {
        let profile = filter(&["T.f"], &[], &[]).apply(edges(&[("T.f", "T.main", 3, 5)]));
        assert_eq!(profile.call_edges().count(), 0);
        let note = "1 pair of caller and callee skipped: no traces to filter by";
        assert_eq!(profile.notes, [note]);
    }
}
