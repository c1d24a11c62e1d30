//! One metric of a profile as a tree of labels, and what is read from it at once.

use std::cmp::Reverse;

use perk_profile::{KeyedMap, Metric, NodeId, Profile, ThreadId, Unit, names, units};

/// Stands for the stack of numbers that have none.
const NO_STACK: &str = "[no stack]";
/// Stands for the stacks that the profile counts and does not list.
const BELOW_CUTOFF: &str = "[below cutoff]";
/// Stands for a method without a name.
const UNKNOWN: &str = "[unknown]";

/// The node above all others.
pub(crate) const ROOT: u32 = 0;

/// What of a profile is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only what ran in this thread.
    pub(crate) thread: Option<ThreadId>,
    /// Only call paths through the method of this label.
    pub(crate) focus: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) parent: u32,
    pub(crate) label: u32,
    /// What ends here.
    pub(crate) own: u64,
    /// What ends here or below.
    pub(crate) total: u64,
}

/// A method or class over the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flat {
    pub(crate) label: u32,
    pub(crate) own: u64,
    /// Where a method calls itself, the outer call alone counts.
    pub(crate) total: u64,
}

/// A tree of labels with numbers. Methods that look the same are one label.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) labels: Vec<String>,
    /// A parent's index is below its children's; the first is [`ROOT`].
    pub(crate) nodes: Vec<Node>,
    /// The children of node `i` are `children[starts[i]..starts[i + 1]]`, most first.
    children: Vec<u32>,
    starts: Vec<u32>,
    pub(crate) unit: Unit,
}

impl Graph {
    pub(crate) fn new(profile: &Profile, metric: &Metric, filter: &Filter) -> Self {
        let mut builder = Builder::default();
        builder.add_all(profile, metric, filter);
        let Builder { labels, mut nodes, .. } = builder;
        for index in (1..nodes.len()).rev() {
            let (total, parent) = (nodes[index].total, nodes[index].parent as usize);
            nodes[parent].total = nodes[parent].total.saturating_add(total);
        }
        // Paths that the filter leaves out have nodes without a number.
        let shown = || nodes.iter().enumerate().skip(1).filter(|(_, node)| node.total > 0);
        let mut starts = vec![0_u32; nodes.len() + 1];
        for (_, node) in shown() {
            starts[node.parent as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut children = vec![0_u32; shown().count()];
        for (index, node) in shown() {
            let place = &mut next[node.parent as usize];
            children[*place as usize] = index as u32;
            *place += 1;
        }
        for range in starts.windows(2) {
            let siblings = &mut children[range[0] as usize..range[1] as usize];
            siblings.sort_by_key(|&child| {
                let node = &nodes[child as usize];
                (Reverse(node.total), &labels[node.label as usize])
            });
        }
        Self { labels, nodes, children, starts, unit: metric.unit() }
    }

    pub(crate) fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    pub(crate) fn label(&self, label: u32) -> &str {
        &self.labels[label as usize]
    }

    /// All that is shown.
    pub(crate) fn total(&self) -> u64 {
        self.nodes[ROOT as usize].total
    }

    /// The children of a node, most first.
    pub(crate) fn children(&self, index: u32) -> &[u32] {
        let range = self.starts[index as usize] as usize..self.starts[index as usize + 1] as usize;
        &self.children[range]
    }

    /// All labels with their numbers.
    pub(crate) fn flat(&self) -> Vec<Flat> {
        let mut rows: Vec<Flat> =
            (0..self.labels.len() as u32).map(|label| Flat { label, own: 0, total: 0 }).collect();
        self.walk(|node, is_outermost| {
            let row = &mut rows[node.label as usize];
            row.own = row.own.saturating_add(node.own);
            if is_outermost {
                row.total = row.total.saturating_add(node.total);
            }
        });
        rows.retain(|row| row.total > 0);
        rows
    }

    /// The nodes of a label that are not below another node of it.
    pub(crate) fn outermost(&self, label: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![ROOT];
        while let Some(index) = open.pop() {
            if index != ROOT && self.node(index).label == label {
                found.push(index);
            } else {
                open.extend(self.children(index));
            }
        }
        found
    }

    /// Tells each node, and whether no node above it has its label.
    fn walk(&self, mut tell: impl FnMut(&Node, bool)) {
        let mut on_path = vec![0_u32; self.labels.len()];
        // A node, and whether all below it has been told.
        let mut open: Vec<(u32, bool)> =
            self.children(ROOT).iter().map(|&child| (child, false)).collect();
        while let Some((index, is_done)) = open.pop() {
            let node = self.node(index);
            let count = &mut on_path[node.label as usize];
            if is_done {
                *count -= 1;
                continue;
            }
            tell(node, *count == 0);
            *count += 1;
            open.push((index, true));
            open.extend(self.children(index).iter().map(|&child| (child, false)));
        }
    }
}

struct Builder {
    labels: Vec<String>,
    label_ids: KeyedMap<String, u32>,
    nodes: Vec<Node>,
    child_ids: KeyedMap<(u32, u32), u32>,
}

impl Default for Builder {
    fn default() -> Self {
        let root = Node { parent: ROOT, label: 0, own: 0, total: 0 };
        Self {
            labels: vec![String::new()],
            label_ids: KeyedMap::default(),
            nodes: vec![root],
            child_ids: KeyedMap::default(),
        }
    }
}

impl Builder {
    fn add_all(&mut self, profile: &Profile, metric: &Metric, filter: &Filter) {
        let numbers = metric.rows(profile);
        let mut method_labels: Vec<Option<u32>> = vec![None; profile.symbols.method_count()];
        // Where the nodes of the profile's tree are in this one.
        let mut known: KeyedMap<NodeId, u32> = KeyedMap::default();
        let mut path: Vec<(NodeId, u32)> = Vec::new();
        let mut listed = 0_u64;
        for &(trace, class, number) in &numbers.rows {
            listed = listed.saturating_add(number);
            let trace = profile.get_trace(trace);
            if filter.thread.is_some() && trace.thread != filter.thread {
                continue;
            }
            let mut node = ROOT;
            let mut at = trace.node;
            while let Some(frame) = profile.tree.frame(at) {
                if let Some(&there) = known.get(&at) {
                    node = there;
                    break;
                }
                let method = profile.symbols.get_frame(frame).method;
                let label = *method_labels[method.index()]
                    .get_or_insert_with(|| self.label(method_label(profile, method)));
                path.push((at, label));
                at = profile.tree.parent(at).unwrap_or(profile.tree.root());
            }
            while let Some((at, label)) = path.pop() {
                node = self.child(node, label);
                known.insert(at, node);
            }
            if node == ROOT {
                let label = self.label(NO_STACK.to_owned());
                node = self.child(ROOT, label);
            }
            if let Some(class) = class {
                let label = self.label(units::printable(profile.symbols.class_name(class)));
                node = self.child(node, label);
            }
            if filter.focus.as_deref().is_none_or(|focus| self.is_through(node, focus)) {
                self.add(node, number);
            }
        }
        if numbers.total > listed && *filter == Filter::default() {
            let label = self.label(BELOW_CUTOFF.to_owned());
            let node = self.child(ROOT, label);
            self.add(node, numbers.total - listed);
        }
    }

    fn label(&mut self, text: String) -> u32 {
        if let Some(&label) = self.label_ids.get(&text) {
            return label;
        }
        let label = self.labels.len() as u32;
        self.labels.push(text.clone());
        self.label_ids.insert(text, label);
        label
    }

    fn child(&mut self, parent: u32, label: u32) -> u32 {
        let next = self.nodes.len() as u32;
        *self.child_ids.entry((parent, label)).or_insert_with(|| {
            self.nodes.push(Node { parent, label, own: 0, total: 0 });
            next
        })
    }

    fn add(&mut self, node: u32, number: u64) {
        let node = &mut self.nodes[node as usize];
        node.own = node.own.saturating_add(number);
        node.total = node.total.saturating_add(number);
    }

    fn is_through(&self, mut node: u32, focus: &str) -> bool {
        while node != ROOT {
            let Node { parent, label, .. } = self.nodes[node as usize];
            if self.labels[label as usize] == focus {
                return true;
            }
            node = parent;
        }
        false
    }
}

/// `class.method(int, String)`, the parameters where the profile has them.
fn method_label(profile: &Profile, id: perk_profile::MethodId) -> String {
    let symbols = &profile.symbols;
    let name = symbols.method_name(id);
    if name.is_empty() {
        return UNKNOWN.to_owned();
    }
    let signature = symbols.get_method(id).signature.map_or("", |id| symbols.strings.get(id));
    let parameters = match names::parameters(signature) {
        Some(types) => {
            let simple = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
            format!("({})", types.iter().map(simple).collect::<Vec<_>>().join(", "))
        }
        None => String::new(),
    };
    units::printable(&(name + &parameters))
}
