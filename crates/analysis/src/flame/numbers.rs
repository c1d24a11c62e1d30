//! The numbers of a question about a profile, by node of its tree.

use perk_profile::{
    Key, KeyedMap, LabelSetId, Metric, NamePattern, NodeId, Profile, Subject, ThreadId, TraceId,
};

use super::FlameIndex;
use super::label::{FlameLabel, HIDDEN, LabelKind, Labels, Level};
use crate::{Filter, Window, filter, labels};

/// What numbers are grouped by, at the root of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// Nothing.
    #[default]
    None,
    /// The threads, by name.
    Thread,
    /// The values of the label of this key.
    Label(String),
}

/// What is asked of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The metric.
    pub metric: Metric,
    /// The part of the recording.
    pub window: Window,
    /// The traces that count.
    pub filter: Filter,
    /// What is a node.
    pub level: Level,
    /// What is at the root.
    pub group: Group,
}

/// The numbers of one profile.
#[derive(Debug)]
pub(super) struct Side {
    /// The label of each frame.
    pub(super) of_frame: Vec<u32>,
    /// The sum of each node of the tree and all below it, of the numbers of all groups.
    pub(super) totals: Vec<u64>,
    /// The numbers with a subject, by node.
    pub(super) leaves: Vec<Leaf>,
    /// What has no trace.
    pub(super) below_cutoff: u64,
    /// The numbers by group: its label, and the nodes that they end at.
    pub(super) groups: Vec<GroupRows>,
}

/// A number that ends below a node of the tree: at the class of objects, at the state of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) node: u32,
    pub(super) label: u32,
    pub(super) number: u64,
}

/// The numbers of a group.
#[derive(Debug)]
pub(super) struct GroupRows {
    pub(super) label: u32,
    pub(super) total: u64,
    rows: Vec<(u32, u64)>,
    leaves: Vec<Leaf>,
}

/// The numbers of a question about one profile, or two.
#[derive(Debug)]
pub struct FlameGraph {
    pub(super) labels: Labels,
    pub(super) sides: Vec<Side>,
}

impl FlameGraph {
    /// The numbers of profiles, each with its index and its question; all questions have the level and the
    /// group of the first.
    pub fn new(sides: &[(&Profile, &FlameIndex, &Question)]) -> Self {
        let level = sides.first().map_or(Level::Method, |it| it.2.level);
        let mut labels = Labels::new(level);
        let make = |&(profile, index, question): &(&Profile, &FlameIndex, &Question)| {
            Side::new(profile, index, question, &mut labels)
        };
        Self { sides: sides.iter().map(make).collect(), labels }
    }

    /// A label by its number.
    pub fn label(&self, id: u32) -> Option<&FlameLabel> {
        self.labels.all.get(id as usize)
    }

    /// The numbers of the whole graph, by side.
    pub fn total(&self) -> [u64; 2] {
        let mut total = [0; 2];
        for (sum, side) in total.iter_mut().zip(&self.sides) {
            *sum = side.totals[0].saturating_add(side.below_cutoff);
        }
        total
    }

    /// The labels with a text in them, and the numbers of all stacks through one of them, by side.
    pub fn search(&self, profiles: &[&Profile], text: &str) -> (Vec<u32>, [u64; 2]) {
        let is_found = self.labels.with_text(text);
        let mut sums = [0; 2];
        for ((sum, side), profile) in sums.iter_mut().zip(&self.sides).zip(profiles) {
            let outermost = side.outermost(profile, &is_found);
            let number = |&node: &u32| side.totals[node as usize];
            *sum = outermost.iter().map(number).fold(0, u64::saturating_add);
            // Classes of objects, of stacks that are not found already.
            let is_below = side.is_below(profile, &outermost);
            let leaves = side
                .leaves
                .iter()
                .filter(|leaf| is_found[leaf.label as usize] && !is_below[leaf.node as usize]);
            *sum = leaves.map(|leaf| leaf.number).fold(*sum, u64::saturating_add);
        }
        let ids = is_found.iter().zip(0..).filter(|it| *it.0).map(|it| it.1);
        (ids.collect(), sums)
    }

    /// Whether each label is that of a method of this name.
    pub(super) fn matching(&self, pattern: &NamePattern) -> Vec<bool> {
        self.labels.matching(pattern)
    }
}

impl Side {
    fn new(
        profile: &Profile,
        index: &FlameIndex,
        question: &Question,
        labels: &mut Labels,
    ) -> Self {
        let of_frame = labels.of_frames(profile, &index.owners, &question.filter);
        let is_kept = filter::kept_nodes(&question.filter, profile);
        let mut grouping = Grouping::new(profile, &question.group, labels);
        let mut totals = vec![0_u64; profile.tree.len()];
        let mut leaves = Vec::new();
        let mut listed = 0_u64;
        let is_of_calls = [Metric::Calls, Metric::TotalTime].contains(&question.metric);
        let total = visit(profile, question, |key, thread, number| {
            listed = listed.saturating_add(number);
            let node = profile.get_trace(key.trace).node;
            if is_kept.as_ref().is_some_and(|it| !it[node.index()]) {
                return;
            }
            // The calls of a hidden method do not become calls of its caller.
            let frame = profile.tree.frame(node).filter(|_| is_of_calls);
            if frame.is_some_and(|frame| of_frame[frame.index()] == HIDDEN) {
                return;
            }
            totals[node.index()] = totals[node.index()].saturating_add(number);
            let subject = subject(profile, key.subject);
            let node = node.index() as u32;
            let leaf = subject.map(|text| Leaf {
                node,
                label: labels.named(LabelKind::Subject, text),
                number,
            });
            grouping.add((profile, labels), (key, thread), (node, number), leaf);
            leaves.extend(leaf);
        });
        leaves.sort_by_key(|leaf| (leaf.node, leaf.label));
        merge(&mut leaves);
        let is_whole = question.filter.is_empty() && question.window.is_whole();
        let below_cutoff = if is_whole { total.saturating_sub(listed) } else { 0 };
        add_up(profile, &mut totals);
        Self { of_frame, totals, leaves, below_cutoff, groups: grouping.groups }
    }

    /// The numbers of a group alone.
    pub(super) fn of_group(&self, profile: &Profile, group: &GroupRows) -> Self {
        let mut totals = vec![0_u64; self.totals.len()];
        for &(node, number) in &group.rows {
            let sum = &mut totals[node as usize];
            *sum = sum.saturating_add(number);
        }
        add_up(profile, &mut totals);
        let mut leaves = group.leaves.clone();
        leaves.sort_by_key(|leaf| (leaf.node, leaf.label));
        merge(&mut leaves);
        let of_frame = self.of_frame.clone();
        Self { of_frame, totals, leaves, below_cutoff: 0, groups: Vec::new() }
    }

    /// The label of a node of the tree; `None` of the root.
    pub(super) fn label(&self, profile: &Profile, node: u32) -> Option<u32> {
        let frame = profile.tree.frame(NodeId::new(node as usize))?;
        Some(self.of_frame[frame.index()])
    }

    /// The subjects of a node of the tree.
    pub(super) fn leaves_of(&self, node: u32) -> &[Leaf] {
        let begin = self.leaves.partition_point(|leaf| leaf.node < node);
        let count = self.leaves[begin..].iter().take_while(|leaf| leaf.node == node).count();
        &self.leaves[begin..begin + count]
    }

    /// The nodes with these labels that are not below another one.
    pub(super) fn outermost(&self, profile: &Profile, is_meant: &[bool]) -> Vec<u32> {
        let mut is_inside = vec![false; self.totals.len()];
        let mut found = Vec::new();
        // A parent's index is below its children's.
        for node in 1..self.totals.len() as u32 {
            let parent = parent(profile, node);
            let label = self.label(profile, node).filter(|&it| it != HIDDEN);
            let is_above = is_inside[parent as usize];
            let is_one = label.is_some_and(|label| is_meant[label as usize]);
            is_inside[node as usize] = is_above || is_one;
            if is_one && !is_above && self.totals[node as usize] > 0 {
                found.push(node);
            }
        }
        found
    }

    /// Whether each node is one of these or below one.
    fn is_below(&self, profile: &Profile, nodes: &[u32]) -> Vec<bool> {
        let mut is_below = vec![false; self.totals.len()];
        nodes.iter().for_each(|&node| is_below[node as usize] = true);
        for node in 1..self.totals.len() as u32 {
            is_below[node as usize] |= is_below[parent(profile, node) as usize];
        }
        is_below
    }

    /// The numbers that end at each node itself, without those of subjects.
    pub(super) fn own(&self, profile: &Profile) -> Vec<u64> {
        let mut own = self.totals.clone();
        for node in 1..self.totals.len() as u32 {
            let above = &mut own[parent(profile, node) as usize];
            *above = above.saturating_sub(self.totals[node as usize]);
        }
        for leaf in &self.leaves {
            let own = &mut own[leaf.node as usize];
            *own = own.saturating_sub(leaf.number);
        }
        own
    }
}

/// The node above; the root's is the root.
pub(super) fn parent(profile: &Profile, node: u32) -> u32 {
    profile.tree.parent(NodeId::new(node as usize)).map_or(0, |it| it.index() as u32)
}

/// Adds the number of each node to all above it.
fn add_up(profile: &Profile, totals: &mut [u64]) {
    for node in (1..totals.len()).rev() {
        let total = totals[node];
        let above = &mut totals[parent(profile, node as u32) as usize];
        *above = above.saturating_add(total);
    }
}

/// Makes one leaf of those of a node with the same label.
fn merge(leaves: &mut Vec<Leaf>) {
    leaves.dedup_by(|next, kept| {
        let is_same = (next.node, next.label) == (kept.node, kept.label);
        if is_same {
            kept.number = kept.number.saturating_add(next.number);
        }
        is_same
    });
}

/// Visits the rows of a question, each with its thread where that is known. Returns their total, with what the file
/// left out.
fn visit(
    profile: &Profile,
    question: &Question,
    mut visit: impl FnMut(Key, Option<ThreadId>, u64),
) -> u64 {
    let Question { metric, window, filter, .. } = question;
    let of_trace = |trace: TraceId| profile.get_trace(trace).thread;
    if window.is_whole() {
        let is_kept = (!filter.labels.is_empty()).then(|| labels::kept(&filter.labels, profile));
        let numbers = metric.rows(profile);
        for (key, number) in numbers.rows {
            if is_kept.as_ref().is_none_or(|kept| kept[key.labels.index()]) {
                visit(key, of_trace(key.trace), number);
            }
        }
        return numbers.total;
    }
    let (from_ns, to_ns) = (window.from_ns.unwrap_or(0), window.to_ns.unwrap_or(u64::MAX));
    // When samples were taken is known by trace alone.
    let timelines = profile.timelines().filter(|it| it.head.metric == *metric);
    let mut total = 0_u64;
    for timeline in timelines.filter(|_| filter.labels.is_empty()) {
        let rows = timeline.rows.iter();
        for row in rows.filter(|row| (from_ns..to_ns).contains(&timeline.head.time_ns(row.tick))) {
            visit(Key::from(row.trace), row.thread.or_else(|| of_trace(row.trace)), row.count);
            total = total.saturating_add(row.count);
        }
    }
    total
}

/// The name of a subject.
fn subject(profile: &Profile, subject: Subject) -> Option<String> {
    subject.merged().label(&profile.symbols)
}

/// The groups as they are found.
struct Grouping<'g> {
    group: &'g Group,
    groups: Vec<GroupRows>,
    places: KeyedMap<u32, usize>,
    of_thread: KeyedMap<Option<ThreadId>, u32>,
    of_labels: KeyedMap<LabelSetId, u32>,
}

impl<'g> Grouping<'g> {
    fn new(profile: &Profile, group: &'g Group, labels: &mut Labels) -> Self {
        let mut of_thread = KeyedMap::default();
        if *group == Group::Thread {
            of_thread.insert(None, labels.named(LabelKind::Group, "[all threads]".to_owned()));
            for index in 0..profile.threads.len() {
                let id = ThreadId::new(index);
                let name = profile.thread_name(id).to_owned();
                of_thread.insert(Some(id), labels.named(LabelKind::Group, name));
            }
        }
        let (groups, places, of_labels) = Default::default();
        Self { group, groups, places, of_thread, of_labels }
    }

    fn add(
        &mut self,
        (profile, labels): (&Profile, &mut Labels),
        (key, thread): (Key, Option<ThreadId>),
        row: (u32, u64),
        leaf: Option<Leaf>,
    ) {
        let label = match self.group {
            Group::None => return,
            Group::Thread => self.of_thread.get(&thread).copied().unwrap_or_default(),
            Group::Label(name) => *self.of_labels.entry(key.labels).or_insert_with(|| {
                let mut all = profile.labels.get(key.labels).iter();
                let found = all.find(|it| profile.symbols.strings.get(it.key) == name);
                let value = found.map(|it| it.value_text(&profile.symbols));
                let value = value.unwrap_or_else(|| format!("[no {name}]"));
                labels.named(LabelKind::Group, value)
            }),
        };
        let Self { groups, places, .. } = self;
        let place = *places.entry(label).or_insert_with(|| {
            groups.push(GroupRows { label, total: 0, rows: Vec::new(), leaves: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[place];
        group.total = group.total.saturating_add(row.1);
        group.rows.push(row);
        group.leaves.extend(leaf);
    }
}
