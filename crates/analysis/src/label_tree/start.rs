//! Where a tree begins: at the program's own code.

use std::sync::Arc;

use perk_profile::{KeyedSet, NodeId, PathId, Profile, Subject, TraceId};

use crate::bits::Bits;
use crate::{MethodTree, Owner, Owners, limits};

/// What a tree has as one node each: the frames above the program's own code, and the time of threads that do
/// not work. The default folds nothing.
#[derive(Clone, Debug, Default)]
pub struct StartFold {
    /// The paths of methods without a frame of the program's own code; empty if no frames are folded.
    above: Arc<Bits>,
    /// The paths on which the program's own code begins below other frames.
    below: Bits,
    /// The path of each node of the profile's tree; `None` where they have the same indexes.
    paths: Option<Arc<Vec<PathId>>>,
    idle: KeyedSet<(TraceId, Subject)>,
}

impl StartFold {
    /// Folds what is above the program's own code, and the time of threads that do not work; `methods` is the tree
    /// of the profile.
    pub fn new(profile: &Profile, methods: &MethodTree, owners: &Owners) -> Self {
        let idle = limits::idle(profile, methods, owners);
        let paths = methods.paths().cloned();
        let is_yours = |method| owners.of(method) == Owner::Yours;
        let [mut above, mut below] = [(); 2].map(|()| Bits::new(methods.len()));
        above.set(methods.root().index());
        let mut has_above = false;
        // A parent's index is below its children's.
        for path in (1..methods.len()).map(PathId::new) {
            let parent = methods.parent(path);
            if !above.has(parent.index()) {
                if below.has(parent.index()) {
                    below.set(path.index());
                }
                continue;
            }
            match methods.method(path).is_some_and(is_yours) {
                false => above.set(path.index()),
                true if parent == methods.root() => {}
                true => {
                    below.set(path.index());
                    has_above = true;
                }
            }
        }
        match has_above {
            true => Self { above: above.into(), below, paths, idle },
            false => Self { idle, ..Self::default() },
        }
    }

    /// Whether it folds nothing.
    pub fn is_empty(&self) -> bool {
        self.above.is_empty() && self.idle.is_empty()
    }

    /// Shows the frames above the program's own code.
    #[must_use]
    pub fn without_frames(self) -> Self {
        Self { idle: self.idle, ..Self::default() }
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

    /// The paths of methods without a frame of the program's own code.
    pub(crate) fn above(&self) -> Arc<Bits> {
        Arc::clone(&self.above)
    }

    /// Whether frames above the program's own code are on the way to `end`.
    pub(crate) fn has_above(&self, end: PathId) -> bool {
        self.below.has(end.index())
    }

    pub(crate) fn is_idle(&self, trace: TraceId, subject: Subject) -> bool {
        !self.idle.is_empty() && self.idle.contains(&(trace, subject))
    }

    /// Whether the frame of `node` is above the program's own code on the way to `end`.
    pub(super) fn is_above(&self, end: NodeId, node: NodeId) -> bool {
        self.has_above(self.path(end)) && self.above.has(self.path(node).index())
    }

    fn path(&self, node: NodeId) -> PathId {
        self.paths.as_ref().map_or_else(|| PathId::new(node.index()), |paths| paths[node.index()])
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
