//! Inferred callers: traces that lack their outer frames are joined to longer traces of which they
//! are most likely the inner end.
//!
//! Profilers limit the number of frames of a stack, and old profilers lost some. If a trace's
//! outermost method is not one that a thread starts with, its callers are searched in the other
//! traces that contain that method. Those that share most frames with the cut trace count, each
//! weighted by the number measured there. The trace is joined only if a large share of them agree
//! about the callers.

use std::cell::OnceCell;
use std::rc::Rc;

use perk_profile::{KeyedMap, MethodId, Metric, NodeId, PathId, Profile, Symbols, TraceId};

use crate::{Columns, MethodTree};

/// The share of the measured weight that must agree about each caller.
const AGREED: f64 = 0.75;
/// The number of steps after which the search is given up: a file that is made to be slow gets no
/// inferred callers.
const MOST_STEPS: usize = 10_000_000;

/// The traces of a profile that were joined: their outer frames are inferred, not measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferredCallers {
    /// The number of inferred outer frames, by trace.
    inferred: KeyedMap<TraceId, usize>,
    /// The number of cut traces whose possible callers do not agree: they stay as they are.
    pub ambiguous_count: usize,
}

impl InferredCallers {
    /// Whether nothing was joined.
    pub fn is_empty(&self) -> bool {
        self.inferred.is_empty()
    }

    /// The number of traces that were joined.
    pub fn len(&self) -> usize {
        self.inferred.len()
    }

    /// The number of outer frames of a trace that are inferred.
    pub fn inferred_frame_count(&self, trace: TraceId) -> usize {
        self.inferred.get(&trace).copied().unwrap_or(0)
    }

    /// The rows whose trace was joined.
    pub fn rows(&self, rows: &[(TraceId, u64)]) -> Vec<(TraceId, u64)> {
        rows.iter().filter(|row| self.inferred.contains_key(&row.0)).copied().collect()
    }

    /// Recounts the inferred frames when the frames of some methods are taken out of the traces of
    /// `profile`. A trace without inferred frames left counts as measured.
    pub fn without(&mut self, profile: &Profile, is_hidden: &[bool]) {
        self.inferred.retain(|&trace, count| {
            let frames: Vec<_> = profile.frames(trace).collect();
            let outer = &frames[frames.len().saturating_sub(*count)..];
            let is_shown = |frame| !is_hidden[profile.symbols.get_frame(frame).method.index()];
            *count = outer.iter().filter(|&&frame| is_shown(frame)).count();
            *count > 0
        });
    }
}

/// Joins the cut traces of `profile` to longer ones. Numbers stay on their traces; the traces get
/// longer.
///
/// In perk's own files, which have an accounting of losses, only traces with as many frames as the
/// file's depth are cut.
pub fn infer(profile: &mut Profile) -> InferredCallers {
    let cut = cut_traces(profile);
    let Some(metric) = Metric::first_of(profile).filter(|_| !cut.is_empty()) else {
        return InferredCallers::default();
    };
    let tree = MethodTree::new(profile);
    let columns = Columns::new(profile, &tree, &metric, None);
    let path = |id| (id, tree.path(profile.get_trace(id).node));
    let cut = cut.into_iter().map(path).collect();
    let mut search = Search { tree: &tree, tops: tops(&tree), columns: &columns, steps: 0 };
    let mut callers: KeyedMap<TraceId, PathId> = KeyedMap::default();
    let mut ambiguous_count = 0;
    for (top, traces) in search.by_top(&cut) {
        let Some(matches) = search.matches(top, &traces) else { return InferredCallers::default() };
        for (trace, ends) in matches {
            match ends.callers(&search) {
                Answer::None => {}
                Answer::Ambiguous => ambiguous_count += 1,
                Answer::Path(path) => {
                    callers.insert(trace, path);
                }
            }
        }
    }
    let nodes = heaviest_nodes(profile, &tree, &metric, callers.values().copied());
    let mut inferred = KeyedMap::default();
    profile.move_traces(|tree, id, trace| {
        let Some(path) = callers.get(&id) else { return trace.node };
        let node = nodes[path];
        let frames: Vec<_> = tree.frames(trace.node).collect();
        inferred.insert(id, tree.depth(node));
        tree.insert_below(node, frames.into_iter().rev())
    });
    InferredCallers { inferred, ambiguous_count }
}

/// The traces whose outer frames are missing.
fn cut_traces(profile: &Profile) -> Vec<TraceId> {
    let mut depths = vec![0_usize; profile.tree.len()];
    let mut outermost = vec![None; profile.tree.len()];
    for index in 1..depths.len() {
        let node = NodeId::new(index);
        let Some(parent) = profile.tree.parent(node).map(NodeId::index) else { continue };
        depths[index] = depths[parent] + 1;
        outermost[index] = outermost[parent].or_else(|| profile.tree.frame(node));
    }
    let traces = profile.traces();
    let longest = traces.iter().map(|trace| depths[trace.node.index()]).max().unwrap_or(0);
    let limit = profile.depth.and_then(|depth| usize::try_from(depth).ok()).unwrap_or(longest);
    let starts: Vec<bool> = (0..profile.symbols.method_count())
        .map(|index| is_thread_start(&profile.symbols, MethodId::new(index)))
        .collect();
    let are_shorter_whole = profile.accounting.is_some();
    let is_cut = |node: NodeId| {
        let Some(frame) = outermost[node.index()] else { return false };
        !starts[profile.symbols.get_frame(frame).method.index()]
            && (!are_shorter_whole || depths[node.index()] >= limit)
    };
    let mut is_pair = vec![false; traces.len()];
    for pairs in profile.sections().filter(|section| section.head.is_by_pair) {
        pairs.rows().for_each(|(key, _)| is_pair[key.trace.index()] = true);
    }
    let traces = traces.iter().zip(is_pair).enumerate();
    let traces = traces.filter(|(_, (trace, is_pair))| !is_pair && is_cut(trace.node));
    traces.map(|(index, _)| TraceId::new(index)).collect()
}

/// Whether threads start with a method, or the JVM calls it by itself. A method without a class is
/// a frame of another tool, which may be anything, so it counts as a start.
fn is_thread_start(symbols: &Symbols, method: MethodId) -> bool {
    let method = symbols.get_method(method);
    let class = symbols.class_name(method.class);
    let name = symbols.strings.get(method.name);
    class.is_empty()
        || matches!(name, "main" | "run" | "<clinit>")
        || matches!(class, "java.lang.Thread" | "java.lang.ThreadGroup" | "java.lang.Shutdown")
        || (class == "java.lang.System" && name.starts_with("init"))
        || class.starts_with("sun.launcher.")
        || class.starts_with("jdk.internal.vm.")
}

/// The places that share most frames with a cut trace: the path of the trace's outermost method,
/// and that of the innermost shared method.
#[derive(Debug)]
struct TraceEnds {
    places: Vec<(PathId, PathId)>,
    answer: OnceCell<Answer>,
}

/// The result of the places about the callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// There are no callers.
    None,
    /// The callers differ.
    Ambiguous,
    /// The path to the caller of the outermost method.
    Path(PathId),
}

/// Traces, each with its path.
type Traces = Vec<(TraceId, PathId)>;

/// Returns, for each path, the path that has only its outermost method.
fn tops(tree: &MethodTree) -> Vec<PathId> {
    let mut tops: Vec<PathId> = vec![tree.root(); tree.len()];
    for index in 1..tops.len() {
        let path = PathId::new(index);
        let parent = tree.parent(path);
        tops[index] = if parent == tree.root() { path } else { tops[parent.index()] };
    }
    tops
}

struct Search<'a> {
    tree: &'a MethodTree,
    /// For each path, the path that has only its outermost method.
    tops: Vec<PathId>,
    columns: &'a Columns,
    steps: usize,
}

impl Search<'_> {
    /// Groups the traces by the path that has only their outermost method.
    fn by_top(&self, cut: &Traces) -> Vec<(PathId, Traces)> {
        let mut grouped: KeyedMap<PathId, Traces> = KeyedMap::default();
        for &(trace, path) in cut {
            grouped.entry(self.tops[path.index()]).or_default().push((trace, path));
        }
        let mut grouped: Vec<_> = grouped.into_iter().collect();
        grouped.sort_by_key(|&(top, _)| top);
        grouped
    }

    /// Returns, for each of the traces below `top`, the places that share most frames with it;
    /// `None` if that would take too long.
    fn matches(&mut self, top: PathId, traces: &Traces) -> Option<Vec<(TraceId, Rc<TraceEnds>)>> {
        let tree = self.tree;
        let method = tree.method(top);
        let mut wanted: KeyedMap<PathId, Vec<TraceId>> = KeyedMap::default();
        for &(trace, path) in traces {
            wanted.entry(path).or_default().push(trace);
        }
        self.steps += tree.len();
        // A cut trace's own recursion gives no information about its callers.
        let places = (1..tree.len()).map(PathId::new).filter(|&path| {
            tree.method(path) == method
                && tree.parent(path) != tree.root()
                && self.tops[path.index()] != top
        });
        let ends = places.map(|path| (path, path)).collect();
        let mut matches = Vec::new();
        let mut open =
            vec![(top, Rc::new(TraceEnds { places: ends, answer: OnceCell::new() }), true)];
        while let Some((path, ends, is_going_on)) = open.pop() {
            for &trace in wanted.get(&path).into_iter().flatten() {
                matches.push((trace, Rc::clone(&ends)));
            }
            let mut inner: KeyedMap<MethodId, Vec<(PathId, PathId)>> = KeyedMap::default();
            if is_going_on {
                for child in tree.children(path) {
                    inner.extend(tree.method(child).map(|method| (method, Vec::new())));
                }
                for &(place, at) in &ends.places {
                    for child in tree.children(at) {
                        self.steps += 1;
                        if let Some(places) = tree.method(child).and_then(|it| inner.get_mut(&it)) {
                            places.push((place, child));
                        }
                    }
                }
            }
            if self.steps > MOST_STEPS {
                return None;
            }
            for child in tree.children(path) {
                let places = tree.method(child).and_then(|method| inner.remove(&method));
                open.push(match places.filter(|places| !places.is_empty()) {
                    Some(places) => {
                        (child, Rc::new(TraceEnds { places, answer: OnceCell::new() }), true)
                    }
                    None => (child, Rc::clone(&ends), false),
                });
            }
        }
        Some(matches)
    }
}

impl TraceEnds {
    fn callers(&self, search: &Search<'_>) -> Answer {
        *self.answer.get_or_init(|| self.vote(search))
    }

    /// Goes outward from all places at once, as long as they agree. A place that ends on the way is
    /// cut itself, or is where a thread starts.
    fn vote(&self, search: &Search<'_>) -> Answer {
        let tree = search.tree;
        let weight = |path: PathId| search.columns.total(path).max(1);
        // The caller's path, the current position, and the weight.
        let mut voters: Vec<(PathId, PathId, u64)> = self
            .places
            .iter()
            .map(|&(place, innermost)| (tree.parent(place), tree.parent(place), weight(innermost)))
            .collect();
        let mut answer = Answer::None;
        while !voters.is_empty() {
            let mut sums: KeyedMap<MethodId, u64> = KeyedMap::default();
            for &(_, at, weight) in &voters {
                if let Some(method) = tree.method(at) {
                    let sum = sums.entry(method).or_default();
                    *sum = sum.saturating_add(weight);
                }
            }
            let all = sums.values().copied().fold(0, u64::saturating_add);
            let leader = sums.into_iter().max_by_key(|&(method, sum)| (sum, method));
            let Some((leader, sum)) = leader else { break };
            if (sum as f64) < all as f64 * AGREED {
                return Answer::Ambiguous;
            }
            voters.retain(|&(_, at, _)| tree.method(at) == Some(leader));
            let heaviest = voters.iter().max_by_key(|&&(path, _, weight)| (weight, path));
            answer = heaviest.map_or(answer, |&(path, ..)| Answer::Path(path));
            voters.iter_mut().for_each(|voter| voter.1 = tree.parent(voter.1));
            voters.retain(|&(_, at, _)| at != tree.root());
        }
        answer
    }
}

/// Returns, for each path, the node of the profile's tree, with lines, that has the highest number.
fn heaviest_nodes(
    profile: &Profile,
    tree: &MethodTree,
    metric: &Metric,
    paths: impl Iterator<Item = PathId>,
) -> KeyedMap<PathId, NodeId> {
    let root = profile.tree.root();
    let mut nodes: KeyedMap<PathId, NodeId> = paths.map(|path| (path, root)).collect();
    if nodes.is_empty() {
        return nodes;
    }
    let mut weights = vec![0_u64; profile.tree.len()];
    for (key, number) in metric.rows(profile).rows {
        let weight = &mut weights[profile.get_trace(key.trace).node.index()];
        *weight = weight.saturating_add(number);
    }
    for index in (1..weights.len()).rev() {
        let Some(parent) = profile.tree.parent(NodeId::new(index)) else { continue };
        weights[parent.index()] = weights[parent.index()].saturating_add(weights[index]);
    }
    for index in 1..weights.len() {
        let node = NodeId::new(index);
        if let Some(best) = nodes.get_mut(&tree.path(node))
            && (*best == root || weights[index] > weights[best.index()])
        {
            *best = node;
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::samples;
    use perk_profile::Accounting;

    /// The frames of each trace with samples, the inferred ones after a bar.
    fn joined(mut profile: Profile) -> (Vec<String>, usize) {
        let joined = infer(&mut profile);
        let shown = |&(trace, count): &(TraceId, u64)| {
            let frames: Vec<_> = profile.frames(trace).collect();
            let names: Vec<_> = frames
                .iter()
                .map(|&frame| {
                    let name = profile.symbols.get_method(profile.symbols.get_frame(frame).method);
                    profile.symbols.strings.get(name.name)
                })
                .collect();
            let known = names.len() - joined.inferred_frame_count(trace);
            let (known, inferred) = names.split_at(known);
            let bar = if inferred.is_empty() { "" } else { " | " };
            format!("{}{bar}{} {count}", known.join("<"), inferred.join("<"))
        };
        let rows = profile.total_cpu_samples().rows;
        (rows.iter().map(shown).collect(), joined.ambiguous_count)
    }

    /// The traces of the book's example: 214 and 151 have lost their callers.
    #[test]
    fn lost_callers_are_found_in_longer_traces() {
        let profile = samples(&[
            ("F.dtoa<F.make<Double.toString<String.valueOf", 8664),
            ("F.dtoa", 1609),
            ("F.dtoa:7<F.make:9", 490),
            ("Double.equals", 1846),
            ("Double.equals<Hashtable.put", 98),
        ]);
        assert_eq!(
            joined(profile),
            (
                vec![
                    "dtoa<make<toString<valueOf 8664".to_owned(),
                    "dtoa | make<toString<valueOf 1609".to_owned(),
                    "dtoa<make | toString<valueOf 490".to_owned(),
                    "equals | put 1846".to_owned(),
                    "equals<put 98".to_owned(),
                ],
                0
            )
        );
    }

    #[test]
    fn traces_of_full_depth_overlap() {
        let profile = samples(&[
            ("T.a<T.b<T.c", 5),
            ("T.c<T.d<T.main", 1),
            ("T.c<T.e<T.main", 1),
            ("T.b<T.c<T.d", 4),
        ]);
        let (rows, _) = joined(profile);
        // A trace that shares two frames counts more than one that shares one.
        assert_eq!(rows[0], "a<b<c | d 5");
        assert_eq!(rows[3], "b<c<d | main 4");
    }

    #[test]
    fn who_differs_is_not_joined() {
        let profile = samples(&[("T.get", 5), ("T.get<T.f<T.main", 10), ("T.get<T.g<T.main", 10)]);
        let (rows, ambiguous_count) = joined(profile);
        assert_eq!((rows[0].as_str(), ambiguous_count), ("get 5", 1));
        let profile = samples(&[("T.get", 5), ("T.get<T.f<T.main", 31), ("T.get<T.g<T.main", 10)]);
        assert_eq!(joined(profile).0[0], "get | f<main 5");
    }

    #[test]
    fn what_a_thread_starts_with_is_whole() {
        let whole =
            samples(&[("T.main", 1), ("T.main<T.f<T.main", 1), ("T.run<T.main", 1), ("T.run", 1)]);
        let (rows, ambiguous_count) = joined(whole);
        assert!(rows.iter().all(|row| !row.contains('|')), "{rows:?}");
        assert_eq!(ambiguous_count, 0);
    }

    #[test]
    fn recursion_of_its_own_says_nothing() {
        let (rows, ambiguous_count) = joined(samples(&[("T.fib<T.fib<T.fib", 3), ("T.fib", 1)]));
        assert_eq!((rows, ambiguous_count), (vec!["fib<fib<fib 3".into(), "fib 1".into()], 0));
        let profile = samples(&[("T.fib<T.fib<T.fib", 3), ("T.fib<T.fib<T.main", 1)]);
        assert_eq!(joined(profile).0[0], "fib<fib<fib | main 3");
    }

    #[test]
    fn files_that_know_what_they_lost_are_believed() {
        let mut profile = samples(&[("T.f", 1), ("T.f<T.g", 1), ("T.g<T.main", 1)]);
        profile.accounting = Some(Accounting::default());
        profile.depth = Some(2);
        assert_eq!(joined(profile).0, ["f 1", "f<g | main 1", "g<main 1"]);
    }

    #[test]
    fn hidden_frames_are_not_counted() {
        let mut profile = samples(&[("T.f", 1), ("T.f<T.g<T.h<T.main", 1)]);
        let mut joined = infer(&mut profile);
        let trace = profile.total_cpu_samples().rows[0].0;
        assert_eq!(joined.inferred_frame_count(trace), 3);
        let hidden = (0..profile.symbols.method_count())
            .map(|index| profile.symbols.method_name(MethodId::new(index)) == "T.h");
        joined.without(&profile, &hidden.collect::<Vec<_>>());
        assert_eq!(joined.inferred_frame_count(trace), 2);
        assert_eq!((joined.len(), joined.rows(&[(trace, 5)]).len()), (1, 1));
        joined.without(&profile, &vec![true; profile.symbols.method_count()]);
        assert!(joined.is_empty());
    }

    #[test]
    fn deep_recursion_takes_no_time() {
        let deep = vec!["T.f"; 100_000].join("<");
        let other = format!("{deep}<T.main");
        let mut profile = samples(&[(&deep, 1), (&other, 1)]);
        assert!(infer(&mut profile).is_empty());
    }
}
