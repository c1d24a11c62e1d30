//! Where a tree begins: at the program's own code.

use perk_profile::{KeyedSet, NodeId, Profile, Subject, TraceId};

use crate::{MethodTree, Owner, Owners, limits};

/// What a tree has as one node each: the frames above the program's own code, and the time of threads that
/// do not work. The default folds nothing.
#[derive(Clone, Debug, Default)]
pub struct StartFold {
    /// Whether each node of the profile's tree, or one above it, is the program's own code; empty if no
    /// frames are folded.
    has_yours: Vec<bool>,
    idle: KeyedSet<(TraceId, Subject)>,
}

impl StartFold {
    /// Folds what is above the program's own code, and the time of threads that do not work.
    pub fn new(profile: &Profile, owners: &Owners) -> Self {
        let tree = &profile.tree;
        let mut has_yours = vec![false; tree.len()];
        let mut has_above = false;
        // A parent's index is below its children's.
        for index in 1..tree.len() {
            let node = NodeId::new(index);
            let Some((parent, frame)) = tree.parent(node).zip(tree.frame(node)) else { continue };
            let owner = owners.of(profile.symbols.get_frame(frame).method);
            has_yours[index] = has_yours[parent.index()] || owner == Owner::Yours;
            has_above |= has_yours[index] && !has_yours[parent.index()] && parent != tree.root();
        }
        if !has_above {
            has_yours.clear();
        }
        let idle = limits::idle(profile, &MethodTree::new(profile), owners);
        Self { has_yours, idle }
    }

    /// Whether it folds nothing.
    pub fn is_empty(&self) -> bool {
        self.has_yours.is_empty() && self.idle.is_empty()
    }

    /// Shows the frames above the program's own code.
    #[must_use]
    pub fn without_frames(self) -> Self {
        Self { has_yours: Vec::new(), ..self }
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

    pub(super) fn is_idle(&self, trace: TraceId, subject: Subject) -> bool {
        !self.idle.is_empty() && self.idle.contains(&(trace, subject))
    }

    /// Whether the frame of `node` is above the program's own code on the way to `end`.
    pub(super) fn is_above(&self, end: NodeId, node: NodeId) -> bool {
        let has_yours = |node: NodeId| self.has_yours.get(node.index()).copied().unwrap_or(false);
        has_yours(end) && !has_yours(node)
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
        let fold = StartFold::new(&profile, &Owners::new(&profile));
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
