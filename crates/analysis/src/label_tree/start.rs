//! Where a tree begins: at the program's own code.

use std::sync::Arc;

use perk_profile::{KeyedSet, NodeId, Profile, Subject, TraceId};

use crate::{MethodTree, Owner, Owners, limits};

/// What a tree has as one node each: the frames above the program's own code, and the time of threads that do
/// not work. The default folds nothing.
#[derive(Clone, Debug, Default)]
pub struct StartFold {
    /// The place of each node of the profile's tree; empty if no frames are folded.
    places: Vec<StartPlace>,
    /// A bit for each path of methods: whether it has no frame of the program's own code.
    above: Arc<Vec<u64>>,
    idle: KeyedSet<(TraceId, Subject)>,
}

/// Where a node is, from the root on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartPlace {
    /// Nothing up to it is the program's own code.
    Above,
    /// The program's own code begins with the thread.
    First,
    /// The program's own code begins below other frames.
    Below,
}

impl StartFold {
    /// Folds what is above the program's own code, and the time of threads that do not work; `methods` is the tree
    /// of the profile.
    pub fn new(profile: &Profile, methods: &MethodTree, owners: &Owners) -> Self {
        let tree = &profile.tree;
        let mut places = vec![StartPlace::Above; tree.len()];
        let mut has_above = false;
        // A parent's index is below its children's.
        for index in 1..tree.len() {
            let node = NodeId::new(index);
            let Some((parent, frame)) = tree.parent(node).zip(tree.frame(node)) else { continue };
            places[index] = match places[parent.index()] {
                StartPlace::Above
                    if owners.of(profile.symbols.get_frame(frame).method) == Owner::Yours =>
                {
                    let is_first = parent == tree.root();
                    has_above |= !is_first;
                    if is_first { StartPlace::First } else { StartPlace::Below }
                }
                place => place,
            };
        }
        if !has_above {
            places.clear();
        }
        let mut above = vec![0; methods.len().div_ceil(64)];
        for (index, _) in places.iter().enumerate().filter(|it| *it.1 == StartPlace::Above) {
            let path = methods.path(NodeId::new(index)).index();
            above[path / 64] |= 1 << (path % 64);
        }
        let idle = limits::idle(profile, methods, owners);
        Self { places, above: above.into(), idle }
    }

    /// Whether it folds nothing.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.idle.is_empty()
    }

    /// Shows the frames above the program's own code.
    #[must_use]
    pub fn without_frames(self) -> Self {
        Self { places: Vec::new(), above: Arc::default(), ..self }
    }

    /// Shows the time of threads that do not work.
    #[must_use]
    pub fn without_idle(self) -> Self {
        Self { idle: KeyedSet::default(), ..self }
    }

    /// The traces and states in which threads do not work.
    pub fn idle(&self) -> &KeyedSet<(TraceId, Subject)> {
        &self.idle
    }

    /// A bit for each path of methods: whether it has no frame of the program's own code.
    pub(crate) fn above(&self) -> Arc<Vec<u64>> {
        Arc::clone(&self.above)
    }

    /// Whether frames above the program's own code are on the way to `end`.
    pub(crate) fn has_above(&self, end: NodeId) -> bool {
        self.places.get(end.index()) == Some(&StartPlace::Below)
    }

    pub(crate) fn is_idle(&self, trace: TraceId, subject: Subject) -> bool {
        !self.idle.is_empty() && self.idle.contains(&(trace, subject))
    }

    /// Whether the frame of `node` is above the program's own code on the way to `end`.
    pub(super) fn is_above(&self, end: NodeId, node: NodeId) -> bool {
        let is_above = |node: NodeId| self.places.get(node.index()) == Some(&StartPlace::Above);
        self.has_above(end) && is_above(node)
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Metric;

    use super::super::{ROOT, RankedTree, Scope, name, stacks};
    use super::*;

    /// The lines of a tree: level, name and total.
    fn lines(tree: &RankedTree<String>) -> Vec<(usize, String, u64)> {
        let mut lines = Vec::new();
        let mut open: Vec<_> = tree.children(ROOT).iter().rev().map(|&it| (0, it)).collect();
        while let Some((level, node)) = open.pop() {
            let it = tree.node(node);
            lines.push((level, tree.label(it.label).clone(), it.total));
            open.extend(tree.children(node).iter().rev().map(|&child| (level + 1, child)));
        }
        lines
    }

    #[test]
    fn frames_above_the_programs_own_code_are_one() {
        let mut profile = stacks("run;pool;mine;lib;mine 3\nrun;mine;lib 2\nrun;pool 4\nmine 1\n");
        profile.app = vec![perk_profile::NamePattern::new("T.mine").unwrap()];
        let tree = MethodTree::new(&profile);
        let fold = StartFold::new(&profile, &tree, &Owners::new(&profile));
        let label = |part| name(&profile, part);
        let scope = Scope::default();
        let tree = RankedTree::folded(&profile, &Metric::Samples, &scope, &fold, label);
        let line = |level, name: &str, total| (level, name.to_owned(), total);
        assert_eq!(
            lines(&tree),
            [
                line(0, "AboveYours", 5),
                line(1, "mine", 5),
                line(2, "lib", 5),
                line(3, "mine", 3),
                line(0, "run", 4),
                line(1, "pool", 4),
                line(0, "mine", 1),
            ]
        );
        assert_eq!(tree.total(), 10);
        let fold = fold.without_frames();
        let open = RankedTree::folded(&profile, &Metric::Samples, &scope, &fold, label);
        assert_eq!(open.total(), 10);
        assert_eq!(lines(&open)[0], line(0, "run", 9));
    }
}
