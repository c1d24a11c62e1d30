//! The numbers of a metric as a tree of labels: the lines and copies of a method, and all other
//! parts with the same label, are one node. The caller provides the labels.
//!
//! [`LevelTree`] is for writing files: siblings are in the order of their labels, two profiles can
//! be merged into one tree, and very deep chains are folded. [`RankedTree`] is for browsing:
//! siblings are ordered by their totals.

mod fold;
mod levels;
mod ranked;
mod start;

use std::collections::hash_map::Entry;
use std::hash::Hash;

use perk_profile::{
    FrameId, KeyedMap, Line, MethodId, Metric, NodeId, Profile, StrId, Subject, ThreadId, TraceId,
    WallState,
};

pub use levels::{LevelNode, LevelTree};
pub use ranked::{LabelTotal, RankedNode, RankedTree};
pub use start::StartFold;

/// The root node, which has no label.
pub const ROOT: u32 = 0;

/// The part of a stack that a node represents, before it has a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The threads of this name.
    Thread(StrId),
    /// A method on the stack.
    Method {
        /// The method.
        id: MethodId,
        /// Whether the frame is that of a native method.
        native: bool,
    },
    /// The state of threads whose time a number is.
    State(WallState),
    /// The subject of a number: the class of objects or of a lock; below it, a field.
    Subject(StrId),
    /// The frames above the program's own code.
    AboveYours,
    /// The time of threads that do not work.
    Idle,
    /// The numbers without a known stack.
    NoStack,
    /// The numbers of traces that the file left out.
    BelowCutoff,
}

/// The part of a profile that a tree shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope<L> {
    /// Whether threads are the first level.
    pub by_thread: bool,
    /// Only the numbers of this thread, if given.
    pub thread: Option<ThreadId>,
    /// Only paths through this label, if given.
    pub through: Option<L>,
}

/// A tree of labels `L`. Parts with equal labels below one parent are one node.
#[derive(Debug)]
struct LabelTree<L> {
    labels: Vec<L>,
    /// A parent's index is below its children's; the first is [`ROOT`].
    nodes: Vec<LabelNode>,
    /// The nodes in which traces end, in order of trace.
    ends: Vec<(TraceId, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct LabelNode {
    parent: u32,
    label: u32,
    /// The number that ends here.
    own: u64,
}

impl<L: Clone + Ord + Hash> LabelTree<L> {
    /// Makes the tree of the numbers of `metric` in `profile`, labelled by `label`.
    fn new(
        profile: &Profile,
        metric: &Metric,
        scope: &Scope<L>,
        fold: &StartFold,
        label: impl Fn(Part) -> L,
    ) -> Self {
        let mut builder = Builder::new(profile, label);
        let numbers = metric.rows(profile);
        let mut listed = 0_u64;
        // By thread, the nodes of the profile's tree that are in this one already, and their
        // indexes here.
        let mut known: KeyedMap<Option<StrId>, KeyedMap<NodeId, u32>> = KeyedMap::default();
        let mut path: Vec<(NodeId, FrameId)> = Vec::new();
        let mut ends = Vec::with_capacity(numbers.rows.len());
        for &(key, number) in &numbers.rows {
            listed = listed.saturating_add(number);
            let trace = profile.get_trace(key.trace);
            if scope.thread.is_some() && trace.thread != scope.thread {
                continue;
            }
            let thread = trace.thread.filter(|_| scope.by_thread);
            let thread = thread.map(|thread| profile.get_thread(thread).name);
            let base = thread.map_or(ROOT, |name| builder.child(ROOT, Part::Thread(name)));
            if scope.through.is_none() && fold.is_idle(key.trace, key.subject) {
                let node = builder.child(base, Part::Idle);
                builder.add(node, number);
                ends.push((key.trace, node));
                continue;
            }
            let known = known.entry(thread).or_default();
            let mut node = base;
            let mut at = trace.node;
            while let Some(frame) = profile.tree.frame(at) {
                if let Some(&there) = known.get(&at) {
                    node = there;
                    break;
                }
                if fold.is_above(trace.node, at) {
                    node = builder.child(base, Part::AboveYours);
                    break;
                }
                path.push((at, frame));
                at = profile.tree.parent(at).unwrap_or(profile.tree.root());
            }
            while let Some((at, frame)) = path.pop() {
                let frame = profile.symbols.get_frame(frame);
                let part = Part::Method { id: frame.method, native: frame.line == Line::Native };
                node = builder.child(node, part);
                known.insert(at, node);
            }
            if node == base {
                node = builder.child(base, Part::NoStack);
            }
            if let Some(class) = key.subject.class() {
                let name = profile.symbols.get_class(class).name;
                node = builder.child(node, Part::Subject(name));
            }
            match key.subject {
                Subject::Field(_, name) => node = builder.child(node, Part::Subject(name)),
                Subject::State(state) => node = builder.child(node, Part::State(state)),
                _ => {}
            }
            if scope.through.as_ref().is_none_or(|label| builder.is_through(node, label)) {
                builder.add(node, number);
                ends.push((key.trace, node));
            }
        }
        if numbers.total > listed && scope.thread.is_none() && scope.through.is_none() {
            let node = builder.child(ROOT, Part::BelowCutoff);
            builder.add(node, numbers.total - listed);
        }
        Self { labels: builder.labels, nodes: builder.nodes, ends }
    }
}

struct Builder<L, F> {
    label: F,
    labels: Vec<L>,
    label_ids: KeyedMap<L, u32>,
    /// The labels of methods, and of native methods, that are known.
    method_labels: Vec<[Option<u32>; 2]>,
    nodes: Vec<LabelNode>,
    children: KeyedMap<(u32, u32), u32>,
}

impl<L: Clone + Ord + Hash, F: Fn(Part) -> L> Builder<L, F> {
    fn new(profile: &Profile, label: F) -> Self {
        Self {
            label,
            labels: Vec::new(),
            label_ids: KeyedMap::default(),
            method_labels: vec![[None; 2]; profile.symbols.method_count()],
            nodes: vec![LabelNode { parent: ROOT, label: 0, own: 0 }],
            children: KeyedMap::default(),
        }
    }

    fn child(&mut self, parent: u32, part: Part) -> u32 {
        let label = match part {
            Part::Method { id, native } => {
                let known = self.method_labels[id.index()][usize::from(native)];
                known.unwrap_or_else(|| {
                    let label = self.label_of(part);
                    self.method_labels[id.index()][usize::from(native)] = Some(label);
                    label
                })
            }
            part => self.label_of(part),
        };
        match self.children.entry((parent, label)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                // The index is not read back from the map: the next node below would wait for that
                // memory.
                let node = index(self.nodes.len());
                self.nodes.push(LabelNode { parent, label, own: 0 });
                entry.insert(node);
                node
            }
        }
    }

    fn label_of(&mut self, part: Part) -> u32 {
        *self.label_ids.entry((self.label)(part)).or_insert_with_key(|label| {
            self.labels.push(label.clone());
            index(self.labels.len() - 1)
        })
    }

    fn add(&mut self, node: u32, number: u64) {
        let own = &mut self.nodes[node as usize].own;
        *own = own.saturating_add(number);
    }

    fn is_through(&self, mut node: u32, label: &L) -> bool {
        while node != ROOT {
            let LabelNode { parent, label: at, .. } = self.nodes[node as usize];
            if self.labels[at as usize] == *label {
                return true;
            }
            node = parent;
        }
        false
    }
}

fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a profile's tables hold less than 2^32 entries")
}

/// The labels of the tests: the names of methods, and of threads in brackets.
#[cfg(test)]
fn name(profile: &Profile, part: Part) -> String {
    match part {
        Part::Thread(name) => format!("[{}]", profile.symbols.strings.get(name)),
        Part::Method { id, .. } => {
            profile.symbols.method_name(id).trim_start_matches("T.").to_owned()
        }
        Part::Subject(name) => profile.symbols.strings.get(name).to_owned(),
        Part::State(state) => state.label().to_owned(),
        Part::AboveYours | Part::Idle | Part::NoStack | Part::BelowCutoff => format!("{part:?}"),
    }
}

/// A profile of collapsed stacks: `outer;inner 3`.
#[cfg(test)]
fn stacks(text: &str) -> Profile {
    let stacks: Vec<_> = text
        .lines()
        .map(|line| {
            let (stack, count) = line.split_once(' ').unwrap();
            let frames: Vec<_> = stack.rsplit(';').map(|name| format!("T.{name}")).collect();
            (frames.join("<"), count.parse().unwrap())
        })
        .collect();
    let stacks: Vec<_> = stacks.iter().map(|(stack, count)| (stack.as_str(), *count)).collect();
    crate::fixture::samples(&stacks)
}
