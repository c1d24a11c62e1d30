//! The numbers of a profile as one tree of labels: lines and traces merged, threads on the first
//! level, siblings in the order of their labels. Every writer of a merged tree starts here.

mod fold;

use std::cmp::Ordering;
use std::hash::Hash;
use std::io;

use perk_profile::{FrameId, KeyedMap, Line, MethodId, Metric, NodeId, Profile, StrId};

use crate::file_format::View;

/// What a node stands for, before a format gives it a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// All that ran in the threads of this name.
    Thread(StrId),
    /// A method on the stack.
    Method { id: MethodId, native: bool },
    /// The class of this name: of objects that were allocated, or of a lock.
    Class(StrId),
    /// What has no known stack.
    NoStack,
    /// What belongs to traces that the file left out.
    BelowCutoff,
}

/// A tree of labels `L`. Parts with equal labels are one node.
#[derive(Debug)]
pub(crate) struct Graph<L> {
    pub(crate) labels: Vec<L>,
    /// In preorder.
    pub(crate) nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// How many nodes are above it.
    pub(crate) level: u32,
    /// Its label's place in the graph's table.
    pub(crate) label: u32,
    /// The samples, or what else is shown, that end here.
    pub(crate) self_count: u64,
}

impl<L: Clone + Ord + Hash> Graph<L> {
    /// The tree of all that `profile` has of `metric`, labelled by `label`.
    pub(crate) fn new(profile: &Profile, metric: &Metric, label: impl Fn(Part) -> L) -> Self {
        let mut builder = Builder::new(label);
        let numbers = metric.rows(profile);
        let mut listed = 0_u64;
        // The nodes of the profile's tree that are in the graph already, and where.
        let mut known: KeyedMap<(Option<StrId>, NodeId), u32> = KeyedMap::default();
        let mut path: Vec<(NodeId, FrameId)> = Vec::new();
        for &(trace, class, count) in &numbers.rows {
            listed = listed.saturating_add(count);
            let trace = profile.get_trace(trace);
            let thread = trace.thread.map(|thread| profile.get_thread(thread).name);
            let base = thread.map_or(ROOT, |name| builder.child(ROOT, Part::Thread(name)));
            let mut node = base;
            let mut at = trace.node;
            while let Some(frame) = profile.tree.frame(at) {
                if let Some(&there) = known.get(&(thread, at)) {
                    node = there;
                    break;
                }
                path.push((at, frame));
                at = profile.tree.parent(at).unwrap_or(profile.tree.root());
            }
            while let Some((at, frame)) = path.pop() {
                let frame = profile.symbols.get_frame(frame);
                let part = Part::Method { id: frame.method, native: frame.line == Line::Native };
                node = builder.child(node, part);
                known.insert((thread, at), node);
            }
            if node == base {
                node = builder.child(base, Part::NoStack);
            }
            if let Some(class) = class {
                let name = profile.symbols.get_class(class).name;
                node = builder.child(node, Part::Class(name));
            }
            builder.add(node, count);
        }
        if numbers.total > listed {
            let node = builder.child(ROOT, Part::BelowCutoff);
            builder.add(node, numbers.total - listed);
        }
        builder.finish()
    }
}

/// A node of two trees laid on each other. There can be many millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// How many nodes are above it.
    pub(crate) level: u32,
    /// Its label's place in the table.
    pub(crate) label: u32,
    /// What ends here in the first tree.
    pub(crate) before: u64,
    /// What ends here in the second tree.
    pub(crate) after: u64,
}

/// Two trees laid on each other: all nodes of both.
#[derive(Debug)]
pub(crate) struct Pairs<L> {
    pub(crate) labels: Vec<L>,
    /// In preorder.
    pub(crate) nodes: Vec<Pair>,
}

impl<'a, L: Clone + Ord + Hash> Pairs<L> {
    /// The tree of what is shown: of the profile alone, or of two laid on each other.
    pub(crate) fn of(view: &View<'a>, label: impl Fn(&'a Profile, Part) -> L) -> io::Result<Self> {
        let graph = |view: &View<'a>| -> io::Result<_> {
            Ok(Graph::new(view.profile, &view.metric()?, |part| label(view.profile, part)))
        };
        match view.before {
            None => Ok(graph(view)?.into()),
            Some(before) => Ok(Self::new(graph(before)?, graph(view)?)),
        }
    }
}

/// A tree alone: the one before has nothing.
impl<L> From<Graph<L>> for Pairs<L> {
    fn from(graph: Graph<L>) -> Self {
        let pair =
            |Node { level, label, self_count }| Pair { level, label, before: 0, after: self_count };
        Self { nodes: graph.nodes.into_iter().map(pair).collect(), labels: graph.labels }
    }
}

impl<L: Clone + Ord + Hash> Pairs<L> {
    /// Lays two trees on each other.
    pub(crate) fn new(before: Graph<L>, after: Graph<L>) -> Self {
        let mut labels = before.labels;
        let mut known: KeyedMap<L, u32> = KeyedMap::default();
        known.extend(labels.iter().cloned().zip(0..));
        let places = after.labels.into_iter().map(|label| {
            *known.entry(label).or_insert_with_key(|label| {
                labels.push(label.clone());
                index(labels.len() - 1)
            })
        });
        let places: Vec<u32> = places.collect();
        let ranks = ranks(&labels);
        let mut nodes = Vec::with_capacity(before.nodes.len().max(after.nodes.len()));
        let mut left = before.nodes.into_iter().peekable();
        let place = |node: Node| Node { label: places[node.label as usize], ..node };
        let mut right = after.nodes.into_iter().map(place).peekable();
        let alone = |node: Node| Pair {
            level: node.level,
            label: node.label,
            before: node.self_count,
            after: 0,
        };
        let new = |node: Node| Pair { before: 0, after: node.self_count, ..alone(node) };
        loop {
            // Both stand below the same parent: of the deeper one alone there are more children.
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { labels, nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => {
                    let rank = |node: &Node| ranks[node.label as usize];
                    b.level.cmp(&a.level).then_with(|| rank(a).cmp(&rank(b)))
                }
            };
            match order {
                Ordering::Equal => {
                    if let (Some(a), Some(b)) = (left.next(), right.next()) {
                        nodes.push(Pair { after: b.self_count, ..alone(a) });
                    }
                }
                Ordering::Less => {
                    let Some(top) = left.next() else { continue };
                    nodes.push(alone(top));
                    while let Some(node) = left.next_if(|node| node.level > top.level) {
                        nodes.push(alone(node));
                    }
                }
                Ordering::Greater => {
                    let Some(top) = right.next() else { continue };
                    nodes.push(new(top));
                    while let Some(node) = right.next_if(|node| node.level > top.level) {
                        nodes.push(new(node));
                    }
                }
            }
        }
    }
}

/// The place of each label among all in their order.
fn ranks<L: Ord>(labels: &[L]) -> Vec<u32> {
    let mut by_label: Vec<u32> = (0..index(labels.len())).collect();
    by_label.sort_unstable_by_key(|&label| &labels[label as usize]);
    let mut ranks = vec![0_u32; labels.len()];
    for (rank, &label) in by_label.iter().enumerate() {
        ranks[label as usize] = index(rank);
    }
    ranks
}

/// The node above all others while the graph is built; it is no part of the graph.
const ROOT: u32 = 0;

struct Builder<L, F> {
    label: F,
    labels: Vec<L>,
    label_ids: KeyedMap<L, u32>,
    part_ids: KeyedMap<Part, u32>,
    /// Parent, label and number of each node.
    nodes: Vec<(u32, u32, u64)>,
    children: KeyedMap<(u32, u32), u32>,
}

impl<L: Clone + Ord + Hash, F: Fn(Part) -> L> Builder<L, F> {
    fn new(label: F) -> Self {
        Self {
            label,
            labels: Vec::new(),
            label_ids: KeyedMap::default(),
            part_ids: KeyedMap::default(),
            nodes: vec![(ROOT, 0, 0)],
            children: KeyedMap::default(),
        }
    }

    fn child(&mut self, parent: u32, part: Part) -> u32 {
        let label = *self.part_ids.entry(part).or_insert_with(|| {
            let label = (self.label)(part);
            *self.label_ids.entry(label).or_insert_with_key(|label| {
                self.labels.push(label.clone());
                index(self.labels.len() - 1)
            })
        });
        *self.children.entry((parent, label)).or_insert_with(|| {
            self.nodes.push((parent, label, 0));
            index(self.nodes.len() - 1)
        })
    }

    fn add(&mut self, node: u32, count: u64) {
        let self_count = &mut self.nodes[node as usize].2;
        *self_count = self_count.saturating_add(count);
    }

    fn finish(self) -> Graph<L> {
        let ranks = ranks(&self.labels);
        // Parent, rank and node, last sibling first, as a stack gives them back in reverse.
        let mut edges: Vec<(u32, u32, u32)> = (1..self.nodes.len())
            .map(|node| {
                let (parent, label, _) = self.nodes[node];
                (parent, u32::MAX - ranks[label as usize], index(node))
            })
            .collect();
        edges.sort_unstable();
        let children = |node: u32| {
            let begin = edges.partition_point(|edge| edge.0 < node);
            edges[begin..].iter().take_while(move |edge| edge.0 == node).map(|edge| edge.2)
        };
        let mut nodes = Vec::with_capacity(edges.len());
        let mut open: Vec<(u32, u32)> = children(ROOT).map(|node| (node, 0)).collect();
        while let Some((node, level)) = open.pop() {
            let (_, label, self_count) = self.nodes[node as usize];
            nodes.push(Node { level, label, self_count });
            open.extend(children(node).map(|child| (child, level + 1)));
        }
        Graph { labels: self.labels, nodes }
    }
}

pub(crate) fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a profile's tables hold less than 2^32 entries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed;

    #[test]
    fn preorder_with_siblings_in_label_order() {
        let profile = collapsed::read(&b"b.x;c.y 1\na.x 2\nb.x 3\nb.x;a.y;a.z 4\n"[..]).unwrap();
        let graph = Graph::new(&profile, &Metric::Samples, |part| match part {
            Part::Method { id, .. } => profile.symbols.method_name(id),
            _ => String::new(),
        });
        let shown: Vec<_> = graph
            .nodes
            .iter()
            .map(|node| (node.level, graph.labels[node.label as usize].as_str(), node.self_count))
            .collect();
        assert_eq!(
            shown,
            [(0, "a.x", 2), (0, "b.x", 3), (1, "a.y", 0), (2, "a.z", 4), (1, "c.y", 1)]
        );
    }

    #[test]
    fn trees_are_laid_on_each_other() {
        let graph = |text: &str| {
            let profile = collapsed::read(text.as_bytes()).unwrap();
            Graph::new(&profile, &Metric::Samples, |part| match part {
                Part::Method { id, .. } => profile.symbols.method_name(id),
                _ => String::new(),
            })
        };
        let before = graph("a;b;c 1\na;b;d 2\na;x 3\nz;y 4\n");
        let after = graph("a;b;d 20\na;b;e;f 30\na 40\nb;y 50\n");
        let Pairs { labels, nodes } = Pairs::new(before, after);
        let label = |it: &Pair| labels[it.label as usize].as_str();
        let shown: Vec<_> =
            nodes.iter().map(|it| (it.level, label(it), it.before, it.after)).collect();
        assert_eq!(
            shown,
            [
                (0, "a", 0, 40),
                (1, "b", 0, 0),
                (2, "c", 1, 0),
                (2, "d", 2, 20),
                (2, "e", 0, 0),
                (3, "f", 0, 30),
                (1, "x", 3, 0),
                (0, "b", 0, 0),
                (1, "y", 0, 50),
                (0, "z", 0, 0),
                (1, "y", 4, 0),
            ]
        );
    }

    #[test]
    fn equal_labels_are_one_node() {
        let profile = collapsed::read(&b"a.x 1\nb.x 2\n"[..]).unwrap();
        let graph = Graph::new(&profile, &Metric::Samples, |_| ());
        assert_eq!(graph.nodes, [Node { level: 0, label: 0, self_count: 3 }]);
    }
}
