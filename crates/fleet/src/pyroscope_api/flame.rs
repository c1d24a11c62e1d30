//! Flame graphs: `SelectMergeStacktraces` and `SelectMergeSpanProfile`.

use std::sync::Arc;

use perk_analysis::label_tree::{Part as StackPart, ROOT, RankedTree, Scope};
use perk_profile::{KeyedMap, Profile};

use super::api::Api;
use super::fault::Fault;
use super::limits::{DEFAULT_NODES, MOST_NODES};
use super::part::{Numbers, Part, type_id};
use super::selector::Selector;
use crate::pyroscope_messages::{
    FlameGraph, Level, SelectMergeSpanProfileRequest, SelectMergeStacktracesRequest,
    SelectMergeStacktracesResponse,
};
use crate::series_names::SPAN_ID;

/// `PROFILE_FORMAT_TREE`.
const TREE: i32 = 2;
/// The name of the root, and of the nodes that are left out.
const TOTAL: &str = "total";
const OTHER: &str = "other";

/// The stacks of a part.
pub(super) async fn select_merge_stacktraces(
    api: Arc<Api>,
    asked: SelectMergeStacktracesRequest,
) -> Result<SelectMergeStacktracesResponse, Fault> {
    check_profile_ids(&asked.profile_id_selector)?;
    let id = type_id(&asked.profile_type_id)?;
    let part = Part::new(asked.start, asked.end, Selector::parse(&asked.label_selector)?)?;
    let most = most_nodes(asked.max_nodes, asked.format)?;
    let numbers = api.numbers(&part, &id, asked.stack_trace_selector.as_ref()).await?;
    answer(numbers, most).await
}

/// The stacks of spans.
pub(super) async fn select_merge_span_profile(
    api: Arc<Api>,
    asked: SelectMergeSpanProfileRequest,
) -> Result<SelectMergeStacktracesResponse, Fault> {
    let id = type_id(&asked.profile_type_id)?;
    let mut selector = Selector::parse(&asked.label_selector)?;
    if !asked.span_selector.is_empty() {
        selector = selector.with(SPAN_ID, &asked.span_selector)?;
    }
    let part = Part::new(asked.start, asked.end, selector)?;
    let most = most_nodes(asked.max_nodes, asked.format)?;
    answer(api.numbers(&part, &id, None).await?, most).await
}

/// A store has no profiles that could be named.
pub(super) fn check_profile_ids(ids: &[String]) -> Result<(), Fault> {
    match ids.is_empty() {
        true => Ok(()),
        false => Err(Fault::unknown("a store has no single profiles: select by labels and time")),
    }
}

fn most_nodes(asked: Option<i64>, format: i32) -> Result<usize, Fault> {
    if format == TREE {
        return Err(Fault::unknown("perk answers flame graphs, and no trees of bytes"));
    }
    let asked = asked.filter(|&it| it > 0).and_then(|it| usize::try_from(it).ok());
    Ok(asked.map_or(DEFAULT_NODES, |it| it.min(MOST_NODES)))
}

async fn answer(
    numbers: Option<Numbers>,
    most: usize,
) -> Result<SelectMergeStacktracesResponse, Fault> {
    let Some(numbers) = numbers else {
        return Ok(SelectMergeStacktracesResponse { flamegraph: Some(FlameGraph::default()) });
    };
    let drawn = tokio::task::spawn_blocking(move || flame_graph(&numbers, most)).await;
    let flamegraph = drawn.map_err(|error| Fault::store(&error.into()))?;
    Ok(SelectMergeStacktracesResponse { flamegraph: Some(flamegraph) })
}

/// The flame graph of numbers, with about this number of nodes.
fn flame_graph(Numbers { metric, profile }: &Numbers, most: usize) -> FlameGraph {
    let scope = Scope { by_thread: false, thread: None, through: None };
    let tree = RankedTree::new(profile, metric, &scope, |part| name(profile, part));
    let least = least_total(&tree, most);
    let mut names = Names::default();
    let mut levels: Vec<Line> = Vec::new();
    let mut max_self = 0;
    // Nodes with the places where they begin, and their levels; what is left out has no node.
    let mut open = vec![(Some(ROOT), tree.total(), 0_u64, 0_usize)];
    while let Some((node, total, begin, level)) = open.pop() {
        let (name, own) = match node {
            Some(ROOT) => (TOTAL, 0),
            Some(node) => {
                let node = tree.node(node);
                (tree.label(node.label).as_str(), node.own)
            }
            None => (OTHER, total),
        };
        if levels.len() <= level {
            levels.resize_with(level + 1, Line::default);
        }
        max_self = own.max(max_self);
        levels[level].push(begin, total, own, names.index(name));
        let Some(node) = node else { continue };
        let mut next = begin.saturating_add(own);
        let mut others = 0_u64;
        let mut below = Vec::new();
        for &child in tree.children(node) {
            let total = tree.node(child).total;
            if total >= least {
                below.push((Some(child), total, next, level + 1));
                next = next.saturating_add(total);
            } else {
                others = others.saturating_add(total);
            }
        }
        if others > 0 {
            below.push((None, others, next, level + 1));
        }
        // The leftmost comes first.
        open.extend(below.into_iter().rev());
    }
    FlameGraph {
        names: names.names,
        levels: levels.into_iter().map(|it| Level { values: it.values }).collect(),
        total: signed(tree.total()),
        max_self: signed(max_self),
    }
}

/// The total that nodes must have to be among the largest.
fn least_total(tree: &RankedTree<String>, most: usize) -> u64 {
    let mut totals = Vec::new();
    let mut open = vec![ROOT];
    while let Some(node) = open.pop() {
        totals.extend(tree.children(node).iter().map(|&it| tree.node(it).total));
        open.extend(tree.children(node));
    }
    if totals.len() <= most {
        return 0;
    }
    let (_, least, _) = totals.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
    *least
}

/// The name of a part of a stack, as in pprof's files.
fn name(profile: &Profile, part: StackPart) -> String {
    match part {
        StackPart::Method { id, .. } => profile.symbols.method_name(id).to_string(),
        StackPart::Thread(name) | StackPart::Subject(name) => {
            profile.symbols.strings.get(name).to_owned()
        }
        StackPart::State(state) => state.name().to_owned(),
        StackPart::NoStack => "[no stack]".to_owned(),
        StackPart::BelowCutoff => "[below cutoff]".to_owned(),
        StackPart::AboveYours | StackPart::Idle => OTHER.to_owned(),
    }
}

/// The nodes of a level.
#[derive(Default)]
struct Line {
    values: Vec<i64>,
    /// Where the last node ends.
    end: u64,
}

impl Line {
    fn push(&mut self, begin: u64, total: u64, own: u64, name: i64) {
        let distance = begin.saturating_sub(self.end);
        self.values.extend([signed(distance), signed(total), signed(own), name]);
        self.end = begin.saturating_add(total);
    }
}

/// Names, each once.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    indexes: KeyedMap<String, i64>,
}

impl Names {
    fn index(&mut self, name: &str) -> i64 {
        if let Some(&known) = self.indexes.get(name) {
            return known;
        }
        let index = i64::try_from(self.names.len()).unwrap_or(i64::MAX);
        self.names.push(name.to_owned());
        self.indexes.insert(name.to_owned(), index);
        index
    }
}

/// The protocol's numbers are signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use perk_profile::Metric;

    use super::*;

    /// A flame graph of collapsed stacks: of each level its nodes as `begin name total/own`.
    fn drawn(stacks: &str, most: usize) -> Vec<String> {
        let profile = perk_formats::collapsed::read(stacks.as_bytes()).unwrap();
        let graph = flame_graph(&Numbers { metric: Metric::Samples, profile }, most);
        let level = |level: &Level| {
            let mut end = 0;
            let nodes = level.values.chunks(4).map(|it| {
                let begin = end + it[0];
                end = begin + it[1];
                format!("{begin} {} {}/{}", graph.names[it[3] as usize], it[1], it[2])
            });
            nodes.collect::<Vec<_>>().join(", ")
        };
        graph.levels.iter().map(level).collect()
    }

    const STACKS: &str = "A.m;A.a;A.x 3\nA.m;A.a 2\nA.m;A.b;A.x 4\nA.n 1\n";

    #[test]
    fn levels_have_distances_totals_and_names() {
        assert_eq!(
            drawn(STACKS, 100),
            [
                "0 total 10/0",
                "0 A.m 9/0, 9 A.n 1/1",
                "0 A.a 5/2, 5 A.b 4/0",
                "2 A.x 3/3, 5 A.x 4/4",
            ]
        );
    }

    #[test]
    fn small_nodes_are_others() {
        assert_eq!(
            drawn(STACKS, 2),
            ["0 total 10/0", "0 A.m 9/0, 9 other 1/1", "0 A.a 5/2, 5 other 4/4", "2 other 3/3"]
        );
    }
}
