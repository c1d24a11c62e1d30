//! The part of a flame graph that is seen.

use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use perk_profile::{FrameId, NamePattern, PathId};

use super::label::{BELOW_CUTOFF, HIDDEN, Level, NO_STACK};
use super::numbers::{FlameGraph, Part, PartKind, Side};
use crate::MethodTree;
use crate::sums::{Row, Rows, Sums};

/// The most nodes of a view: where it would have more, narrow ones are left out.
const MOST_NODES: usize = 20_000;
/// The groups whose stacks are shown where nothing is zoomed.
const GROUPS: usize = 24;
/// The paths whose frames are read together: reads of memory that do not depend on each other overlap.
const TOGETHER: usize = 512;

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

/// A node before it is seen: paths of the profiles' trees with the same labels on them.
#[derive(Clone, Debug)]
struct Set {
    label: u32,
    /// The label of the part that its numbers are of; `None` for the numbers without one.
    part: Option<u32>,
    kind: SetKind,
    total: Sum,
    /// From the root on: paths and their sums. From the top of stacks: the path whose label is the next caller's, and
    /// the number that came from there.
    paths: [Rows; 2],
}

/// What the children of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetKind {
    /// Those of its paths.
    Inner,
    /// All numbers of its part.
    Part,
    /// All numbers, and the parts that have a label.
    Root,
}

/// A child of a set, as it is found: the side, the label, the number, and where its own children are.
type Child = (usize, u32, u64, Option<PathId>);

/// A graph with what is needed to look at it.
struct Viewer<'v> {
    graph: &'v FlameGraph,
    trees: &'v [&'v MethodTree],
    direction: Direction,
    merges: bool,
    /// The sums of the part that was looked at last of each side.
    sums: RefCell<[Option<PartSums>; 2]>,
    scratch: RefCell<Scratch>,
}

/// The label of a part, and its sums.
type PartSums = (Option<u32>, Arc<Sums>);

/// The sums of children while they are found, by label.
#[derive(Default)]
struct Scratch {
    totals: Vec<Sum>,
    /// The labels that are found.
    labels: Vec<u32>,
    /// The place of the set of each label and one; 0 for those that are not seen.
    places: Vec<u32>,
    /// What was found, by side.
    found: [FoundPaths; 2],
}

/// The paths of children with their labels, in the order in which they are found.
#[derive(Default)]
struct FoundPaths {
    labels: Vec<u32>,
    rows: Rows,
}

impl FlameGraph {
    /// The part of the graph at a place; `None` if there is no such place.
    pub fn view(&self, trees: &[&MethodTree], place: &Place) -> Option<FlameView> {
        let count = self.label_count();
        let scratch =
            Scratch { totals: vec![[0; 2]; count], places: vec![0; count], ..Scratch::default() };
        let viewer = Viewer {
            graph: self,
            trees,
            direction: place.direction,
            merges: self.labels.level != Level::Method,
            sums: RefCell::default(),
            scratch: scratch.into(),
        };
        let root = match &place.around {
            Some(pattern) => viewer.around(&self.matching(pattern)),
            None => viewer.root(),
        };
        viewer.view(root, place)
    }
}

/// The least number that is seen.
fn least(total: Sum, width: u64) -> u64 {
    total[0].max(total[1]).div_ceil(width.max(1)).max(1)
}

fn is_seen(total: Sum, least: u64) -> bool {
    total[0].max(total[1]) >= least
}

impl<'v> Viewer<'v> {
    /// The set of all stacks.
    fn root(&self) -> Set {
        Set { kind: SetKind::Root, total: self.graph.total(), ..Set::new(u32::MAX, None) }
    }

    /// The set of the stacks through methods, from these on.
    fn around(&self, is_meant: &[bool]) -> Set {
        let mut set = Set::new(u32::MAX, None);
        for (at, (side, tree)) in self.sides().enumerate() {
            let Some(part) = side.part(None) else { continue };
            let totals = self.sums(at, part);
            for path in side.through(tree, is_meant).outermost {
                let total = totals.get(path);
                if total == 0 {
                    continue;
                }
                set.total[at] = set.total[at].saturating_add(total);
                if let Some(label) = side.label(tree, path) {
                    set.label = set.label.min(label);
                }
                let path = match self.direction {
                    Direction::TopDown => path,
                    Direction::BottomUp => tree.parent(path),
                };
                set.paths[at].push(path, total);
            }
        }
        set
    }

    fn sides(&self) -> impl Iterator<Item = (&'v Side, &'v MethodTree)> + use<'v> {
        self.graph.sides.iter().zip(self.trees.iter().copied())
    }

    fn view(&self, mut root: Set, place: &Place) -> Option<FlameView> {
        let mut above = Vec::new();
        for label in &place.path {
            above.push(root.total);
            let is_next = |child: u32, _: Sum| child == *label;
            root = self.children(&root, is_next).sets.pop()?;
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
        let mut group_count = 0;
        while let Some((level, set)) = open.pop() {
            // With one part nothing narrower is left to leave out.
            if nodes.len() >= MOST_NODES && width > 1 {
                return None;
            }
            let is_closed = level > 0 && set.kind == SetKind::Part && {
                let is_group = self.is_of_kind(&set, PartKind::Group);
                group_count += usize::from(is_group);
                is_group && group_count > GROUPS || self.is_of_kind(&set, PartKind::Idle)
            };
            if is_closed {
                let (label, total) = (set.label, set.total);
                nodes.push(FlameNode { level, label, own: [0; 2], total, left_out: 1 });
                continue;
            }
            let is_cut = level as usize + 1 >= levels.max(1) || nodes.len() >= MOST_NODES;
            let Children { sets, below, count } =
                self.children(&set, |_, total| !is_cut && is_seen(total, least));
            let mut own = set.total;
            own.iter_mut().zip(below).for_each(|(own, below)| *own = own.saturating_sub(below));
            let left_out = (count - sets.len()) as u32;
            nodes.push(FlameNode { level, label: set.label, own, total: set.total, left_out });
            // The largest is last, where the stack is popped.
            open.extend(sets.into_iter().rev().map(|child| (level + 1, child)));
        }
        Some(nodes)
    }

    fn is_of_kind(&self, set: &Set, kind: PartKind) -> bool {
        self.graph.sides.iter().any(|it| it.part(set.part).is_some_and(|part| part.kind == kind))
    }

    /// The children of a set: those that are meant, the largest first, and the numbers and the count of all.
    fn children(&self, set: &Set, is_meant: impl Fn(u32, Sum) -> bool) -> Children {
        let scratch = &mut *self.scratch.borrow_mut();
        let Scratch { totals, labels, places, found } = scratch;
        let is_bottom_up = self.direction == Direction::BottomUp;
        let mut below = [0_u64; 2];
        self.visit(set, &mut |(at, label, number, path)| {
            let total = &mut totals[label as usize];
            if *total == [0; 2] {
                labels.push(label);
            }
            total[at] = total[at].saturating_add(number);
            below[at] = below[at].saturating_add(number);
            if let Some(path) = path {
                found[at].labels.push(label);
                found[at].rows.push(path, number);
            }
        });
        let count = labels.len();
        let mut sets = Vec::new();
        let is_top = set.kind == SetKind::Root;
        for &label in &*labels {
            let total = totals[label as usize];
            if is_meant(label, total) {
                let is_part = is_top && self.is_part(label);
                let part = if is_part { Some(label) } else { set.part };
                let kind = if is_part { SetKind::Part } else { SetKind::Inner };
                sets.push(Set { total, kind, ..Set::new(label, part) });
                places[label as usize] = sets.len() as u32;
            }
        }
        for (at, found) in found.iter_mut().enumerate() {
            found.part(places, &mut sets, at);
        }
        for &label in &*labels {
            (totals[label as usize], places[label as usize]) = ([0; 2], 0);
        }
        labels.clear();
        if is_bottom_up {
            let rows = sets.iter_mut().flat_map(|set| &mut set.paths);
            rows.for_each(|rows| *rows = mem::take(rows).merged());
        }
        // The largest first; of equal ones in the order of their labels.
        sets.sort_by_key(|set| (std::cmp::Reverse(set.total[0].max(set.total[1])), set.label));
        Children { sets, below, count }
    }

    /// Whether a label at the root is that of a part with a node of its own.
    fn is_part(&self, label: u32) -> bool {
        self.graph
            .sides
            .iter()
            .any(|it| it.part(Some(label)).is_some_and(|part| self.has_node(part)))
    }

    /// Whether a part has a node of its own: what is above the program's own code is a caller as others are.
    fn has_node(&self, part: &Part) -> bool {
        part.label.is_some()
            && (part.kind != PartKind::Yours || self.direction == Direction::TopDown)
    }

    /// Visits the children of a set; several can have one label.
    fn visit(&self, set: &Set, found: &mut impl FnMut(Child)) {
        for (at, (side, tree)) in self.sides().enumerate() {
            match set.kind {
                SetKind::Root => {
                    for part in &side.parts {
                        match part.label.filter(|_| self.has_node(part)) {
                            Some(label) if part.total > 0 => found((at, label, part.total, None)),
                            Some(_) => {}
                            None => self.all_of(at, part, found),
                        }
                    }
                    if side.below_cutoff > 0 {
                        found((at, BELOW_CUTOFF, side.below_cutoff, None));
                    }
                }
                SetKind::Part => {
                    let part = side.part(set.part);
                    part.into_iter().for_each(|part| self.all_of(at, part, found));
                }
                SetKind::Inner if self.direction == Direction::TopDown => {
                    if let Some(part) = side.part(set.part) {
                        let sums = self.sums(at, part);
                        self.callees((at, side, tree), (part, &sums), set, found);
                    }
                }
                SetKind::Inner => {
                    self.callers((at, side, tree), set.paths[at].iter(), Some(set.label), found);
                }
            }
        }
    }

    /// The sums of a part. Those of the part that was looked at last are kept: there can be many of them.
    fn sums(&self, at: usize, part: &Part) -> Arc<Sums> {
        let last = &mut self.sums.borrow_mut()[at];
        match last {
            Some((label, sums)) if *label == part.label => Arc::clone(sums),
            _ => {
                let sums = part.totals(self.trees[at]);
                *last = Some((part.label, Arc::clone(&sums)));
                sums
            }
        }
    }

    /// Visits the first level of a part.
    fn all_of(&self, at: usize, part: &Part, found: &mut impl FnMut(Child)) {
        let (side, tree) = (&self.graph.sides[at], self.trees[at]);
        if self.direction == Direction::BottomUp {
            self.callers((at, side, tree), part.rows(), None, found);
            for leaf in &part.leaves {
                found((at, leaf.label, leaf.number, Some(leaf.path)));
            }
            return;
        }
        let mut below = 0_u64;
        let mut root = Set::new(u32::MAX, part.label);
        root.paths[at].push(tree.root(), part.total);
        let sums = self.sums(at, part);
        self.callees((at, side, tree), (part, &sums), &root, &mut |child| {
            below = below.saturating_add(child.2);
            found(child);
        });
        if part.total > below {
            found((at, NO_STACK, part.total - below, None));
        }
    }

    /// Visits the callees of a set: below paths that are not shown, or are of the set, those below them.
    fn callees(
        &self,
        (at, side, tree): (usize, &Side, &MethodTree),
        (part, sums): (&Part, &Sums),
        set: &Set,
        found: &mut impl FnMut(Child),
    ) {
        let mut open = OpenRows::new(set.paths[at].iter());
        let mut next: Vec<Option<FrameId>> = Vec::new();
        while let Some(rows) = open.take() {
            next.clear();
            next.extend(rows.iter().map(|row| tree.frame_after(row.0)));
            for (&row, &next) in rows.iter().zip(&next) {
                for leaf in part.leaves_of(row.0) {
                    found((at, leaf.label, leaf.number, None));
                }
                sums.visit_callees(row, next, |child, frame, total| {
                    let label = side.label_of(frame);
                    match label == HIDDEN
                        || self.merges && label == set.label
                        || part.is_above(child)
                    {
                        true => open.push((child, total)),
                        false => found((at, label, total, Some(child))),
                    }
                });
            }
        }
    }

    /// Visits the labels of paths, or of the first one above each that is shown. Below a callee the number of a stack
    /// without further frames ends there.
    fn callers(
        &self,
        (at, side, tree): (usize, &Side, &MethodTree),
        rows: impl Iterator<Item = Row>,
        callee: Option<u32>,
        found: &mut impl FnMut(Child),
    ) {
        let mut open = OpenRows::new(rows);
        let mut labels: Vec<Option<u32>> = Vec::new();
        while let Some(rows) = open.take() {
            labels.clear();
            labels.extend(rows.iter().map(|row| side.label(tree, row.0)));
            for (&(path, number), &label) in rows.iter().zip(&labels) {
                match label {
                    Some(label) if label == HIDDEN || self.merges && callee == Some(label) => {
                        open.push((tree.parent(path), number));
                    }
                    Some(label) => found((at, label, number, Some(tree.parent(path)))),
                    None if callee.is_none() => found((at, NO_STACK, number, None)),
                    None => {}
                }
            }
        }
    }
}

/// Rows that are looked at, some of them together, and those that are found meanwhile.
struct OpenRows<I> {
    rows: I,
    found: Vec<Row>,
}

impl<I: Iterator<Item = Row>> OpenRows<I> {
    fn new(rows: I) -> Self {
        Self { rows, found: Vec::new() }
    }

    /// The next rows; `None` where there are no more.
    fn take(&mut self) -> Option<Vec<Row>> {
        let mut rows = self.found.split_off(self.found.len().saturating_sub(TOGETHER));
        rows.extend(self.rows.by_ref().take(TOGETHER - rows.len()));
        (!rows.is_empty()).then_some(rows)
    }

    fn push(&mut self, row: Row) {
        self.found.push(row);
    }
}

impl FoundPaths {
    /// Moves the paths of one side to the sets of their labels, whose places and one `places` has.
    fn part(&mut self, places: &[u32], sets: &mut [Set], side: usize) {
        if !sets.is_empty() {
            let place = |label: &u32| (places[*label as usize] as usize).checked_sub(1);
            let mut counts = vec![0; sets.len()];
            self.labels.iter().filter_map(place).for_each(|place| counts[place] += 1);
            for (set, count) in sets.iter_mut().zip(counts) {
                set.paths[side] = Rows::with_capacity(count);
            }
            for (place, (path, number)) in self.labels.iter().map(place).zip(self.rows.iter()) {
                if let Some(place) = place {
                    sets[place].paths[side].push(path, number);
                }
            }
        }
        self.labels.clear();
        self.rows.clear();
    }
}

/// The children of a set.
struct Children {
    /// Those that are meant.
    sets: Vec<Set>,
    /// The numbers of all.
    below: Sum,
    /// The count of all.
    count: usize,
}

impl Set {
    fn new(label: u32, part: Option<u32>) -> Self {
        Self { label, part, kind: SetKind::Inner, total: [0; 2], paths: Default::default() }
    }
}
