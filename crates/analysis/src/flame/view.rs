//! The part of a flame graph that is seen.

use perk_profile::{KeyedMap, NamePattern, Profile};

use super::FlameIndex;
use super::label::{BELOW_CUTOFF, HIDDEN, Level, NO_STACK};
use super::numbers::{FlameGraph, Side, parent};

/// The most nodes of a view: where it would have more, narrow ones are left out.
const MOST_NODES: usize = 20_000;
/// The groups whose stacks are shown where nothing is zoomed.
const GROUPS: usize = 24;

/// The beginning of a flame graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The threads' first methods, and below each its callees.
    #[default]
    TopDown,
    /// The methods on top of the stacks, and below each its callers.
    BottomUp,
}

/// A number of each side.
pub type Sum = [u64; 2];

/// The place and the size of a view.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// What is at the root.
    pub direction: Direction,
    /// The methods around which callers or callees are shown.
    pub around: Option<NamePattern>,
    /// The labels from the root of the graph to that of the view.
    pub path: Vec<u32>,
    /// The most levels.
    pub levels: usize,
    /// The number of equal parts of the root; a node of one part or more is seen.
    pub width: u64,
}

/// A node that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameNode {
    /// The nodes above; the root has none.
    pub level: u32,
    /// Its label; that of the root of the graph is `u32::MAX`.
    pub label: u32,
    /// The numbers that end here.
    pub own: Sum,
    /// The numbers that end here or below.
    pub total: Sum,
    /// The children that are not seen.
    pub left_out: u32,
}

/// What is seen.
#[derive(Debug)]
pub struct FlameView {
    /// The nodes, each after the one above; siblings with the largest first. The first is the root.
    pub nodes: Vec<FlameNode>,
    /// The numbers of the nodes on the path to the root of the view, the graph's root first.
    pub above: Vec<Sum>,
}

/// A node before it is seen: nodes of the profiles' trees with the same labels on their paths.
#[derive(Clone, Debug, Default)]
struct Set {
    label: u32,
    total: Sum,
    /// From the root on: nodes of the tree. From the top of stacks: the node whose label is the next caller's, and
    /// the number that came from there.
    nodes: [Vec<(u32, u64)>; 2],
}

/// A graph with what is needed to look at it.
struct Viewer<'v> {
    profiles: &'v [&'v Profile],
    indexes: &'v [&'v FlameIndex],
    sides: Vec<&'v Side>,
    direction: Direction,
    merges: bool,
}

impl FlameGraph {
    /// The part of the graph at a place; `None` if there is no such place.
    pub fn view(
        &self,
        profiles: &[&Profile],
        indexes: &[&FlameIndex],
        place: &Place,
    ) -> Option<FlameView> {
        let viewer = Viewer {
            profiles,
            indexes,
            sides: self.sides.iter().collect(),
            direction: place.direction,
            merges: self.labels.level != Level::Method,
        };
        let root = match &place.around {
            Some(pattern) => viewer.around(&self.matching(pattern)),
            None => viewer.root(),
        };
        let is_grouped =
            place.around.is_none() && self.sides.iter().any(|it| !it.groups.is_empty());
        if !is_grouped {
            return viewer.view(root, place, &place.path);
        }
        let groups = self.groups();
        if let Some((first, below)) = place.path.split_first() {
            let group = groups.iter().find(|it| it.label == *first)?;
            let sides = self.group_sides(profiles, group.label);
            let inside = Viewer { sides: sides.iter().collect(), ..viewer };
            let mut root = inside.root();
            root.label = group.label;
            let mut view = inside.view(root, place, below)?;
            view.above.insert(0, self.total());
            return Some(view);
        }
        Some(self.view_of_groups(&viewer, &groups, place))
    }

    /// The groups with their numbers, the largest first.
    fn groups(&self) -> Vec<Set> {
        let mut groups: Vec<Set> = Vec::new();
        for (at, side) in self.sides.iter().enumerate() {
            for group in &side.groups {
                let place = groups.iter().position(|it| it.label == group.label);
                let place = place.unwrap_or_else(|| {
                    groups.push(Set { label: group.label, ..Set::default() });
                    groups.len() - 1
                });
                groups[place].total[at] = group.total;
            }
        }
        sort(&mut groups);
        groups
    }

    fn group_sides(&self, profiles: &[&Profile], label: u32) -> Vec<Side> {
        let of_side = |(side, profile): (&Side, &&Profile)| {
            let group = side.groups.iter().find(|it| it.label == label);
            group.map(|group| side.of_group(profile, group))
        };
        self.sides.iter().zip(profiles).filter_map(of_side).collect()
    }

    /// The groups, and the stacks of the largest ones.
    fn view_of_groups(&self, viewer: &Viewer<'_>, groups: &[Set], place: &Place) -> FlameView {
        let total = self.total();
        let least = least(total, place.width);
        let root = FlameNode { level: 0, label: u32::MAX, own: [0; 2], total, left_out: 0 };
        let mut nodes = vec![root];
        for (index, group) in groups.iter().enumerate() {
            if !is_seen(group.total, least) {
                nodes[0].left_out += 1;
                continue;
            }
            let below = Place {
                // The same scale in all groups.
                width: (group.total[0].max(group.total[1]) / least.max(1)).max(1),
                levels: place.levels.saturating_sub(1),
                path: Vec::new(),
                ..place.clone()
            };
            let sides = self.group_sides(viewer.profiles, group.label);
            // A profile without the group has no part of it.
            let is_shown = index < GROUPS && place.levels > 1 && sides.len() == self.sides.len();
            let shown = is_shown.then(|| {
                let inside = Viewer { sides: sides.iter().collect(), ..*viewer };
                inside.view(inside.root(), &below, &[])
            });
            match shown.flatten() {
                Some(view) if nodes.len() + view.nodes.len() <= MOST_NODES => {
                    nodes.extend(view.nodes.into_iter().map(|node| FlameNode {
                        level: node.level + 1,
                        label: if node.level == 0 { group.label } else { node.label },
                        ..node
                    }));
                }
                _ => nodes.push(FlameNode {
                    level: 1,
                    label: group.label,
                    own: [0; 2],
                    total: group.total,
                    left_out: 1,
                }),
            }
        }
        FlameView { nodes, above: Vec::new() }
    }
}

/// The least number that is seen.
fn least(total: Sum, width: u64) -> u64 {
    total[0].max(total[1]).div_ceil(width.max(1)).max(1)
}

fn is_seen(total: Sum, least: u64) -> bool {
    total[0].max(total[1]) >= least
}

/// The largest first; of equal ones in the order of their labels.
fn sort(sets: &mut [Set]) {
    sets.sort_by_key(|set| (std::cmp::Reverse(set.total[0].max(set.total[1])), set.label));
}

impl<'v> Viewer<'v> {
    /// The set of all stacks.
    fn root(&self) -> Set {
        let mut root = Set { label: u32::MAX, ..Set::default() };
        for (at, side) in self.sides.iter().enumerate() {
            root.total[at] = side.totals[0].saturating_add(side.below_cutoff);
            if self.direction == Direction::TopDown {
                root.nodes[at].push((0, 0));
            }
        }
        root
    }

    /// The set of the stacks through methods, from these on.
    fn around(&self, is_meant: &[bool]) -> Set {
        let mut set = Set { label: u32::MAX, ..Set::default() };
        for (at, (side, profile)) in self.sides.iter().zip(self.profiles).enumerate() {
            for node in side.outermost(profile, is_meant) {
                let total = side.totals[node as usize];
                set.total[at] = set.total[at].saturating_add(total);
                if let Some(label) = side.label(profile, node) {
                    set.label = set.label.min(label);
                }
                set.nodes[at].push(match self.direction {
                    Direction::TopDown => (node, 0),
                    Direction::BottomUp => (parent(profile, node), total),
                });
            }
        }
        // Callers of callers: the set is the first level already.
        if self.direction == Direction::BottomUp && set.nodes.iter().all(Vec::is_empty) {
            set.nodes[0].push((0, 0));
        }
        set
    }

    fn view(&self, mut root: Set, place: &Place, path: &[u32]) -> Option<FlameView> {
        let mut above = Vec::new();
        for label in path {
            above.push(root.total);
            root = self.children(&root).into_iter().find(|child| child.label == *label)?;
        }
        let mut width = place.width.max(1);
        loop {
            if let Some(nodes) = self.nodes(&root, width, place.levels) {
                return Some(FlameView { nodes, above });
            }
            width = (width / 2).max(1);
        }
    }

    /// The nodes below a set that are seen; `None` if they are too many.
    fn nodes(&self, root: &Set, width: u64, levels: usize) -> Option<Vec<FlameNode>> {
        let least = least(root.total, width);
        let mut nodes = Vec::new();
        let mut open = vec![(0_u32, root.clone())];
        while let Some((level, set)) = open.pop() {
            // With one part nothing narrower is left to leave out.
            if nodes.len() >= MOST_NODES && width > 1 {
                return None;
            }
            let mut children = self.children(&set);
            let mut own = set.total;
            for child in &children {
                for (own, total) in own.iter_mut().zip(child.total) {
                    *own = own.saturating_sub(total);
                }
            }
            let count = children.len();
            let is_cut = level as usize + 1 >= levels.max(1) || nodes.len() >= MOST_NODES;
            children.retain(|child| !is_cut && is_seen(child.total, least));
            let left_out = (count - children.len()) as u32;
            nodes.push(FlameNode { level, label: set.label, own, total: set.total, left_out });
            // The largest is last, where the stack is popped.
            open.extend(children.into_iter().rev().map(|child| (level + 1, child)));
        }
        Some(nodes)
    }

    /// The children of a set, the largest first.
    fn children(&self, set: &Set) -> Vec<Set> {
        let mut children = Children::default();
        for at in 0..self.sides.len() {
            match self.direction {
                Direction::TopDown => self.callees(at, set, &mut children),
                Direction::BottomUp
                    if set.label == u32::MAX && set.nodes.iter().all(Vec::is_empty) =>
                {
                    self.tops(at, &mut children);
                }
                Direction::BottomUp => self.callers(at, set, &mut children),
            }
        }
        let mut sets = children.sets;
        if self.direction == Direction::BottomUp {
            sets.iter_mut().flat_map(|set| &mut set.nodes).for_each(sum_up);
        }
        sort(&mut sets);
        sets
    }

    fn callees(&self, at: usize, set: &Set, children: &mut Children) {
        let (side, profile) = (self.sides[at], self.profiles[at]);
        let mut open: Vec<u32> = set.nodes[at].iter().map(|it| it.0).collect();
        let mut below = 0_u64;
        while let Some(node) = open.pop() {
            for leaf in side.leaves_of(node) {
                children.add(at, leaf.label, leaf.number, None);
                below = below.saturating_add(leaf.number);
            }
            for child in self.indexes[at].children(node) {
                let total = side.totals[child as usize];
                let Some(label) = side.label(profile, child).filter(|_| total > 0) else {
                    continue;
                };
                if label == HIDDEN || self.merges && label == set.label {
                    open.push(child);
                    continue;
                }
                children.add(at, label, total, Some((child, 0)));
                below = below.saturating_add(total);
            }
        }
        if set.nodes[at].first().is_some_and(|it| it.0 == 0) {
            let without = side.totals[0].saturating_sub(below);
            children.add(at, NO_STACK, without, None);
            children.add(at, BELOW_CUTOFF, side.below_cutoff, None);
        }
    }

    /// What is on top of the stacks.
    fn tops(&self, at: usize, children: &mut Children) {
        let (side, profile) = (self.sides[at], self.profiles[at]);
        let own = side.own(profile);
        for (node, &number) in own.iter().enumerate().filter(|it| *it.1 > 0) {
            self.up(at, (node as u32, number), None, children);
        }
        for leaf in &side.leaves {
            children.add(at, leaf.label, leaf.number, Some((leaf.node, leaf.number)));
        }
        children.add(at, BELOW_CUTOFF, side.below_cutoff, None);
    }

    fn callers(&self, at: usize, set: &Set, children: &mut Children) {
        for &end in &set.nodes[at] {
            self.up(at, end, Some(set.label), children);
        }
    }

    /// Adds a number to the label of a node, or of the first one above it that is shown. Below a callee the
    /// number of a stack without further frames ends there.
    fn up(&self, at: usize, end: (u32, u64), callee: Option<u32>, children: &mut Children) {
        let (side, profile) = (self.sides[at], self.profiles[at]);
        let (mut node, number) = end;
        while let Some(label) = side.label(profile, node) {
            let above = parent(profile, node);
            let is_same = self.merges && callee == Some(label);
            if label != HIDDEN && !is_same {
                return children.add(at, label, number, Some((above, number)));
            }
            node = above;
        }
        if callee.is_none() {
            children.add(at, NO_STACK, number, None);
        }
    }
}

/// Children as they are found.
#[derive(Default)]
struct Children {
    sets: Vec<Set>,
    places: KeyedMap<u32, usize>,
}

impl Children {
    fn add(&mut self, at: usize, label: u32, number: u64, node: Option<(u32, u64)>) {
        if number == 0 {
            return;
        }
        let place = *self.places.entry(label).or_insert_with(|| {
            self.sets.push(Set { label, ..Set::default() });
            self.sets.len() - 1
        });
        let set = &mut self.sets[place];
        set.total[at] = set.total[at].saturating_add(number);
        set.nodes[at].extend(node);
    }
}

/// Makes one of the numbers that come from the same node.
fn sum_up(nodes: &mut Vec<(u32, u64)>) {
    nodes.sort_unstable_by_key(|it| it.0);
    nodes.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}
