//! Folds trees of very deep stacks to the depth that a picture can show.

use std::iter::repeat_n;
use std::mem;

use super::{LevelNode, LevelTree, index};

/// The number of frames that are shown at each end of a chain: frames with one callee each and no
/// numbers of their own.
const CHAIN_END: usize = 32;

impl<L> LevelTree<L> {
    /// Limits the tree to `levels` levels, if given: leaves out the middle of long chains, and all
    /// nodes that are still too deep after that. A node represents the nodes that are left out, and
    /// has their numbers. Returns the labels of these new nodes: their indexes follow all others.
    pub fn fold(&mut self, levels: Option<usize>) -> Vec<String> {
        levels.map_or_else(Vec::new, |levels| self.fold_to(index(levels), CHAIN_END))
    }

    fn fold_to(&mut self, levels: u32, chain_end: usize) -> Vec<String> {
        let mut folded =
            TreeFold { levels, first_label: index(self.labels.len()), ..TreeFold::default() };
        let mut middles = middles(&self.nodes, chain_end).into_iter().peekable();
        // The number of levels that are left out above each frame of the path.
        let mut shifts: Vec<u32> = Vec::new();
        // The new place of each node.
        let mut places: Vec<u32> = Vec::with_capacity(self.nodes.len());
        let mut at = 0;
        while let Some(&node) = self.nodes.get(at) {
            shifts.truncate(node.level as usize);
            let shift = shifts.last().copied().unwrap_or(0);
            let level = node.level - shift;
            if let Some(middle) = middles.next_if(|middle| middle.begin == at) {
                folded.leave_out(level, middle.count);
                places.extend(repeat_n(folded.last(level), middle.count));
                shifts.extend(repeat_n(shift, middle.count - 1));
                shifts.push(shift + index(middle.count - 1));
                at += middle.count;
            } else {
                folded.push(LevelNode { level, ..node });
                places.push(folded.last(level));
                shifts.push(shift);
                at += 1;
            }
        }
        folded.flush();
        self.nodes = folded.nodes;
        self.ends.iter_mut().for_each(|(_, node)| *node = places[*node as usize]);
        folded.texts
    }
}

/// The middle of a chain: nodes that follow each other.
struct ChainMiddle {
    begin: usize,
    count: usize,
}

/// The middles of all chains of `nodes` that are longer than their two ends.
fn middles(nodes: &[LevelNode], chain_end: usize) -> Vec<ChainMiddle> {
    let mut has_branches = vec![false; nodes.len()];
    let mut path: Vec<usize> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let level = node.level as usize;
        if level > 0 && path.len() > level {
            has_branches[path[level - 1]] = true;
        }
        path.truncate(level);
        path.push(at);
    }
    let mut middles = Vec::new();
    let mut begin = 0;
    for (at, node) in nodes.iter().enumerate() {
        let has_own = node.before > 0 || node.after > 0;
        let has_one_callee =
            !has_branches[at] && nodes.get(at + 1).is_some_and(|next| next.level > node.level);
        if has_own || !has_one_callee {
            let length = at + 1 - begin;
            if length > 2 * chain_end + 1 {
                let count = length - 2 * chain_end;
                middles.push(ChainMiddle { begin: begin + chain_end, count });
            }
            begin = at + 1;
        }
    }
    middles
}

/// The nodes that are kept, and those that represent others.
#[derive(Default)]
struct TreeFold {
    levels: u32,
    nodes: Vec<LevelNode>,
    first_label: u32,
    texts: Vec<String>,
    /// The number of frames that are too deep below the last node, and their numbers before and
    /// after.
    deeper: (usize, u64, u64),
}

impl TreeFold {
    fn push(&mut self, node: LevelNode) {
        if node.level < self.levels {
            self.flush();
            self.nodes.push(node);
        } else {
            let (count, before, after) = &mut self.deeper;
            *count += 1;
            *before = before.saturating_add(node.before);
            *after = after.saturating_add(node.after);
        }
    }

    /// The place of a node of this level that was just added, or of the one that will represent it.
    fn last(&self, level: u32) -> u32 {
        let is_deeper = level >= self.levels;
        index(self.nodes.len() - usize::from(!is_deeper))
    }

    fn leave_out(&mut self, level: u32, count: usize) {
        if level < self.levels {
            self.flush();
            self.stand_in(level, format!("[{count} frames left out]"), 0, 0);
        } else {
            self.deeper.0 += count;
        }
    }

    fn flush(&mut self) {
        let (count, before, after) = mem::take(&mut self.deeper);
        if count > 0 {
            let frames = if count == 1 { "frame" } else { "frames" };
            self.stand_in(self.levels, format!("[{count} deeper {frames}]"), before, after);
        }
    }

    fn stand_in(&mut self, level: u32, text: String, before: u64, after: u64) {
        let label = self.first_label + index(self.texts.len());
        self.texts.push(text);
        self.nodes.push(LevelNode { level, label, before, after });
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Metric;

    use super::super::{name, stacks};
    use super::*;

    /// The tree of collapsed stacks after folding: level, label and number of each node.
    fn folded(text: &str, levels: u32, chain_end: usize) -> Vec<(u32, String, u64)> {
        let profile = stacks(text);
        let mut tree = LevelTree::new(&profile, &Metric::Samples, |part| name(&profile, part));
        let texts = tree.fold_to(levels, chain_end);
        tree.labels.extend(texts);
        let label = |node: &LevelNode| tree.labels[node.label as usize].clone();
        tree.nodes.iter().map(|node| (node.level, label(node), node.after)).collect()
    }

    fn shown(nodes: &[(u32, String, u64)]) -> Vec<(u32, &str, u64)> {
        nodes.iter().map(|(level, label, number)| (*level, label.as_str(), *number)).collect()
    }

    #[test]
    fn the_middle_of_chains_is_left_out() {
        let text = "a;b;c;d;e;f;g 1\na;b;c;d;e;f;h;i 2\na;b;c;d;e;f;h;i;j;k;l;m 3\nz 4\n";
        assert_eq!(
            shown(&folded(text, 11, 1)),
            [
                (0, "a", 0),
                (1, "[4 frames left out]", 0),
                (2, "f", 0),
                (3, "g", 1),
                (3, "h", 0),
                (4, "i", 2),
                (5, "j", 0),
                (6, "[2 frames left out]", 0),
                (7, "m", 3),
                (0, "z", 4),
            ]
        );
    }

    #[test]
    fn what_is_too_deep_is_one_frame() {
        let text = "a 1\na;b 2\na;b;c 3\na;b;c;d 4\na;b;c;d;e 5\na;b;c;f 6\na;b;g 7\na;h;i;j 8\n";
        assert_eq!(
            shown(&folded(text, 3, 1)),
            [
                (0, "a", 1),
                (1, "b", 2),
                (2, "c", 3),
                (3, "[3 deeper frames]", 15),
                (2, "g", 7),
                (1, "h", 0),
                (2, "i", 0),
                (3, "[1 deeper frame]", 8),
            ]
        );
        // A chain that begins below the last level that is shown.
        assert_eq!(
            shown(&folded("a 1\na;b;c;d;e;f;g;h;i 2\n", 1, 1)),
            [(0, "a", 1), (1, "[8 deeper frames]", 2)]
        );
    }
}
