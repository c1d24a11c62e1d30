//! The numbers of a question about a profile, by path.

use std::sync::Arc;

use perk_profile::{FrameId, KeyedMap, Metric, NamePattern, PathId, Profile};

use super::label::{FlameLabel, HIDDEN, LabelKind, Labels, Level};
use super::rows::{Namer, visit};
use crate::bits::Bits;
use crate::filter::{KeptChains, KeptNodes};
use crate::label_tree::StartFold;
use crate::sums::{OrderedRows, Row, Rows, Sums};
use crate::{Columns, Filter, MethodTree, Owners, Window};

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
    /// Whether the frames above the program's own code are one node; not with a group.
    pub folds_frames: bool,
    /// Whether the time of threads that do not work is one node; not with a group.
    pub folds_idle: bool,
}

/// What a question is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// The profile.
    pub profile: &'s Profile,
    /// Its paths of methods.
    pub tree: &'s MethodTree,
    /// Whose code its methods are.
    pub owners: &'s Owners,
    /// The frames above the program's own code, and threads that do not work; needed where one of both is folded.
    pub start: Option<&'s StartFold>,
    /// The numbers of the whole profile of the metric that is asked for, where they are kept.
    pub columns: Option<&'s Columns>,
}

/// The numbers of one profile.
#[derive(Debug)]
pub(super) struct Side {
    /// The label of each frame of the tree of methods.
    of_frame: Vec<u32>,
    pub(super) parts: Vec<Part>,
    /// What has no trace.
    pub(super) below_cutoff: u64,
}

/// The numbers that have a node of their own at the root, or none.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    /// The label of that node.
    pub(super) label: Option<u32>,
    pub(super) total: u64,
    ends: Arc<OrderedRows>,
    /// The numbers with a subject, by path.
    pub(super) leaves: Vec<Leaf>,
    /// The sums of all paths, where the profile keeps them.
    totals: Option<Arc<Sums>>,
    /// The paths that are not shown, as they are above the program's own code.
    above: Arc<Bits>,
}

/// The stacks through one of several labels.
#[derive(Debug)]
pub(super) struct Through {
    /// Whether one is on the way to the end of each chain.
    is_chain: Vec<bool>,
    /// The paths that end with one and have none before.
    pub(super) outermost: Vec<PathId>,
}

/// Why numbers are a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// All that is in no other one.
    Rest,
    /// A group.
    Group,
    /// What is below the program's own code.
    Yours,
    /// The time of threads that do not work.
    Idle,
}

/// A number that ends below a path: at the class of objects, at the state of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) path: PathId,
    pub(super) label: u32,
    pub(super) number: u64,
}

/// The numbers of a question about one profile, or two.
#[derive(Debug)]
pub struct FlameGraph {
    pub(super) labels: Labels,
    pub(super) sides: Vec<Side>,
}

impl FlameGraph {
    /// The numbers of profiles, each with its question; all questions have the level and the group of the first.
    pub fn new(sides: &[(Subject<'_>, &Question)]) -> Self {
        let level = sides.first().map_or(Level::Method, |it| it.1.level);
        let mut labels = Labels::new(level);
        let make = |&(subject, question): &(Subject<'_>, &Question)| {
            Side::new(subject, question, &mut labels)
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
            let parts = side.parts.iter().map(|part| part.total);
            *sum = parts.fold(side.below_cutoff, u64::saturating_add);
        }
        total
    }

    /// The memory that it takes besides what the profile keeps.
    pub fn bytes(&self) -> usize {
        let of_part = |part: &Part| {
            let ends = if part.totals.is_some() { 0 } else { part.ends.bytes() };
            ends + size_of_val(&*part.leaves)
        };
        let of_side = |side: &Side| {
            size_of_val(&*side.of_frame) + side.parts.iter().map(of_part).sum::<usize>()
        };
        self.sides.iter().map(of_side).sum()
    }

    /// The labels with a text in them, and the numbers of all stacks through one of them, by side.
    pub fn search(&self, trees: &[&MethodTree], text: &str) -> (Vec<u32>, [u64; 2]) {
        let is_found = self.labels.with_text(text);
        let mut sums = [0; 2];
        for ((sum, side), tree) in sums.iter_mut().zip(&self.sides).zip(trees) {
            let through = side.through(tree, &is_found);
            let is_through = |end: PathId| through.is_chain[tree.chains().of(end)];
            for part in &side.parts {
                let rows = part.ends.iter().filter(|row| is_through(row.0));
                *sum = rows.map(|row| row.1).fold(*sum, u64::saturating_add);
                let is_found =
                    |leaf: &&Leaf| is_found[leaf.label as usize] || is_through(leaf.path);
                let leaves = part.leaves.iter().filter(is_found);
                *sum = leaves.map(|leaf| leaf.number).fold(*sum, u64::saturating_add);
            }
        }
        let ids = is_found.iter().zip(0..).filter(|it| *it.0).map(|it| it.1);
        (ids.collect(), sums)
    }

    pub(super) fn label_count(&self) -> usize {
        self.labels.all.len()
    }

    /// Whether each label is that of a method of this name.
    pub(super) fn matching(&self, pattern: &NamePattern) -> Vec<bool> {
        self.labels.matching(pattern)
    }
}

impl Side {
    fn new(subject: Subject<'_>, question: &Question, labels: &mut Labels) -> Self {
        let Subject { profile, tree, owners, start, columns } = subject;
        let of_frame = labels.of_frames(profile, tree, owners, &question.filter);
        // A group has all there is of it.
        let start = start.filter(|it| !it.is_empty() && question.group == Group::None);
        let is_by_path = question.is_by_path(profile)
            && start.is_none_or(|it| !question.folds_idle || it.idle().is_empty());
        let columns = columns.filter(|_| is_by_path);
        let kept = columns.and_then(|_| KeptChains::new(&question.filter, profile, tree));
        let below_cutoff = |columns: &Columns| match question.filter.is_empty() {
            true => columns.all.saturating_sub(columns.ends.sum()),
            false => 0,
        };
        if let Some(columns) = columns.filter(|_| start.is_none() && kept.is_none()) {
            let below_cutoff = below_cutoff(columns);
            return Self { of_frame, parts: vec![Part::of_columns(columns)], below_cutoff };
        }
        let mut parts: Vec<Part> = vec![Part::new(PartKind::Rest, None)];
        if let Some(start) = start {
            let mut add = |kind, label: LabelKind, text: &str| {
                parts.push(Part::new(kind, Some(labels.named(label, text.to_owned()))));
            };
            add(PartKind::Yours, LabelKind::AboveYours, "[above your code]");
            add(PartKind::Idle, LabelKind::Idle, "[idle threads]");
            parts[YOURS].above = start.above();
        }
        let mut ends: Vec<Rows> = parts.iter().map(|_| Rows::default()).collect();
        let place_of = |path| match start {
            Some(it) if question.folds_frames && it.has_above(path) => YOURS,
            _ => REST,
        };
        if let Some(columns) = columns {
            for (path, number) in columns.ends() {
                if kept.as_ref().is_none_or(|it| it.has(tree.chains().of(path))) {
                    ends[place_of(path)].push(path, number);
                }
            }
            parts.iter_mut().zip(ends).for_each(|(part, ends)| {
                part.finish(ends);
                part.total = part.ends.sum();
            });
            return Self { of_frame, parts, below_cutoff: below_cutoff(columns) };
        }
        let kept = KeptNodes::new(&question.filter, profile);
        let mut namer = Namer::new(profile, &question.group, labels);
        let mut places: KeyedMap<u32, usize> = KeyedMap::default();
        let mut listed = 0_u64;
        let total = visit(profile, question, |key, thread, number| {
            listed = listed.saturating_add(number);
            let node = profile.get_trace(key.trace).node;
            if number == 0 || kept.as_ref().is_some_and(|it| !it.has(node)) {
                return;
            }
            let path = tree.path(node);
            // The calls of a hidden method do not become calls of its caller.
            let frame = tree.frame(path).filter(|_| question.is_of_calls());
            if frame.is_some_and(|frame| of_frame[frame.index()] == HIDDEN) {
                return;
            }
            let place = match namer.group((profile, labels), (key, thread)) {
                Some(label) => *places.entry(label).or_insert_with(|| {
                    parts.push(Part::new(PartKind::Group, Some(label)));
                    ends.push(Rows::default());
                    parts.len() - 1
                }),
                None => match start {
                    Some(it) if question.folds_idle && it.is_idle(key.trace, key.subject) => IDLE,
                    _ => place_of(path),
                },
            };
            let part = &mut parts[place];
            part.total = part.total.saturating_add(number);
            match namer.subject((profile, labels), key.subject) {
                Some(label) => part.leaves.push(Leaf { path, label, number }),
                None => ends[place].push(path, number),
            }
        });
        parts.iter_mut().zip(ends).for_each(|(part, ends)| part.finish(ends));
        let is_whole = question.filter.is_empty() && question.window.is_whole();
        let below_cutoff = if is_whole { total.saturating_sub(listed) } else { 0 };
        Self { of_frame, parts, below_cutoff }
    }

    /// The label of a path; `None` of the root.
    #[inline]
    pub(super) fn label(&self, tree: &MethodTree, path: PathId) -> Option<u32> {
        tree.frame(path).map(|frame| self.label_of(frame))
    }

    /// The number of frames with a label.
    pub(super) fn frame_count(&self) -> usize {
        self.of_frame.len()
    }

    /// The label of a frame.
    #[inline]
    pub(super) fn label_of(&self, frame: FrameId) -> u32 {
        self.of_frame[frame.index()]
    }

    /// The stacks through one of these labels.
    pub(super) fn through(&self, tree: &MethodTree, is_meant: &[bool]) -> Through {
        let of_frame =
            self.of_frame.iter().map(|&label| label != HIDDEN && is_meant[label as usize]);
        let of_frame: Vec<bool> = of_frame.collect();
        let is_one = |path: &PathId| tree.frame(*path).is_some_and(|frame| of_frame[frame.index()]);
        let chains = tree.chains();
        let (mut is_chain, mut outermost) = (vec![false; chains.len()], Vec::new());
        for (paths, chain, below) in chains.all() {
            if !is_chain[chain] {
                let Some(path) = paths.map(PathId::new).find(is_one) else { continue };
                outermost.push(path);
                is_chain[chain] = true;
            }
            is_chain[below].fill(true);
        }
        Through { is_chain, outermost }
    }

    /// The part of a label at the root.
    pub(super) fn part(&self, label: Option<u32>) -> Option<&Part> {
        self.parts.iter().find(|part| part.label == label)
    }
}

/// The places of parts, where there are no groups.
const REST: usize = 0;
const YOURS: usize = 1;
const IDLE: usize = 2;

impl Question {
    fn is_of_calls(&self) -> bool {
        [Metric::Calls, Metric::TotalTime].contains(&self.metric)
    }

    /// Whether the path of a number alone decides where it is, and whether it is: then the [`Columns`] of the metric
    /// have what is needed.
    pub fn is_by_path(&self, profile: &Profile) -> bool {
        let Filter { hide, labels, threads, .. } = &self.filter;
        // The calls of a hidden method do not become calls of its caller.
        let shows_all = hide.is_empty() || !self.is_of_calls();
        let has_subject = |section: &perk_profile::Section| {
            section.has_subjects() && section.head.has(std::slice::from_ref(&self.metric))
        };
        labels.is_empty()
            && threads.is_empty()
            && shows_all
            && self.window.is_whole()
            && self.group == Group::None
            && !profile.sections().any(has_subject)
    }
}

impl Part {
    /// All numbers of a profile, which keeps them.
    fn of_columns(columns: &Columns) -> Self {
        Self {
            total: columns.ends.sum(),
            ends: Arc::clone(&columns.ends),
            totals: Some(Arc::clone(&columns.totals)),
            ..Self::new(PartKind::Rest, None)
        }
    }

    fn new(kind: PartKind, label: Option<u32>) -> Self {
        let (ends, leaves, totals, above) = Default::default();
        Self { kind, label, total: 0, ends, leaves, totals, above }
    }

    /// Takes the numbers without a subject, orders the leaves, and makes one of those of a path with the same label.
    fn finish(&mut self, ends: Rows) {
        self.ends = ends.ordered().into();
        self.leaves.sort_unstable_by_key(|leaf| (leaf.path, leaf.label));
        self.leaves.dedup_by(|next, kept| {
            let is_same = (next.path, next.label) == (kept.path, kept.label);
            if is_same {
                kept.number = kept.number.saturating_add(next.number);
            }
            is_same
        });
        self.leaves.shrink_to_fit();
    }

    /// The numbers without a subject.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> + Clone + '_ {
        self.ends.iter()
    }

    /// The sums of all paths.
    pub(super) fn totals(&self, tree: &MethodTree) -> Arc<Sums> {
        match &self.totals {
            Some(totals) => Arc::clone(totals),
            None => {
                let leaves = self.leaves.iter().map(|leaf| (leaf.path, leaf.number));
                Sums::new(tree, self.ends.iter().chain(leaves), self.total).into()
            }
        }
    }

    /// Whether the frame of a path is above the program's own code, and not shown.
    pub(super) fn is_above(&self, path: PathId) -> bool {
        self.above.has(path.index())
    }

    /// The subjects of a path.
    pub(super) fn leaves_of(&self, path: PathId) -> &[Leaf] {
        let begin = self.leaves.partition_point(|leaf| leaf.path < path);
        let count = self.leaves[begin..].iter().take_while(|leaf| leaf.path == path).count();
        &self.leaves[begin..begin + count]
    }
}
