//! Stacks in forms that write each of them whole. A chain of calls of which every frame ends a stack
//! makes files that grow with the square of its depth, so of deep stacks the middle is left out
//! where all together are more than anybody can use.

use perk_profile::{FrameId, NodeId, Profile};

/// Stands for the frames that are left out.
pub(crate) const LEFT_OUT: &str = "[frames left out]";
/// As many frames are written, however deep the stacks are.
const MANY_FRAMES: usize = 100_000_000;
/// Stacks of so many frames are written whole, unless there are so many that no tool reads them.
const WHOLE_FRAMES: usize = 1024;
/// The most frames that are written of stacks of up to [`WHOLE_FRAMES`].
const MOST_FRAMES: usize = 1_000_000_000;

/// How many frames are written of each stack of `profile` by the forms that write stacks whole;
/// `None` where all are.
pub fn limit(profile: &Profile) -> Option<usize> {
    limit_of(profile, MANY_FRAMES)
}

fn limit_of(profile: &Profile, many_frames: usize) -> Option<usize> {
    let depths = depths(profile);
    let mut depths: Vec<u32> =
        profile.traces().iter().map(|trace| depths[trace.node.index()]).collect();
    let sum = |limit: usize| depths.iter().map(|&depth| (depth as usize).min(limit)).sum::<usize>();
    if sum(usize::MAX) <= many_frames {
        return None;
    }
    let limit = (many_frames / depths.len()).max(WHOLE_FRAMES);
    let limit = if sum(limit) <= MOST_FRAMES { limit } else { MOST_FRAMES / depths.len() };
    depths.sort_unstable();
    depths.last().is_some_and(|&deepest| deepest as usize > limit).then_some(limit.max(2))
}

/// The number of frames of each node.
fn depths(profile: &Profile) -> Vec<u32> {
    let mut depths = vec![0; profile.tree.len()];
    for index in 1..depths.len() {
        let parent = profile.tree.parent(NodeId::new(index)).unwrap_or(profile.tree.root());
        depths[index] = depths[parent.index()] + 1;
    }
    depths
}

/// The frames of stacks as they are written.
#[derive(Debug)]
pub(crate) struct Stacks<'a> {
    profile: &'a Profile,
    limit: Option<Limit>,
}

#[derive(Debug)]
struct Limit {
    depths: Vec<u32>,
    /// Of each node the one above it, or itself, that ends the outer frames that are written.
    outer: Vec<NodeId>,
    frame_count: usize,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Self {
        Self::with_limit(profile, limit(profile))
    }

    fn with_limit(profile: &'a Profile, limit: Option<usize>) -> Self {
        let limit = limit.map(|frame_count| {
            let depths = depths(profile);
            let mut outer = vec![profile.tree.root(); depths.len()];
            for index in 1..depths.len() {
                let node = NodeId::new(index);
                let parent = profile.tree.parent(node).unwrap_or(profile.tree.root());
                let is_outer = depths[index] as usize <= frame_count / 2;
                outer[index] = if is_outer { node } else { outer[parent.index()] };
            }
            Limit { depths, outer, frame_count }
        });
        Self { profile, limit }
    }

    /// The frames of a node from the innermost outward; `None` for those that are left out.
    pub(crate) fn frames(&self, node: NodeId) -> impl Iterator<Item = Option<FrameId>> + '_ {
        let tree = &self.profile.tree;
        let deep =
            self.limit.as_ref().filter(|it| it.depths[node.index()] as usize > it.frame_count);
        let inner_count = deep.map_or(usize::MAX, |it| it.frame_count - it.frame_count / 2);
        let outer = deep.map(|it| it.outer[node.index()]);
        let inner = tree.frames(node).take(inner_count).map(Some);
        let outer = outer.into_iter().flat_map(|node| tree.frames(node).map(Some));
        inner.chain(deep.map(|_| None)).chain(outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed;

    #[test]
    fn the_middle_of_deep_stacks_is_left_out() {
        let text: String = (1..=3000_usize)
            .map(|depth| {
                let frames: Vec<_> = (0..depth).map(|level| format!("f{level}")).collect();
                format!("{} 1\n", frames.join(";"))
            })
            .collect();
        let profile = collapsed::read(text.as_bytes()).unwrap();
        assert_eq!(limit(&profile), None, "4.5 million frames are not too many");
        // One more trace is that of no stack.
        assert_eq!(limit_of(&profile, 4_000_000), Some(4_000_000 / 3001));
        assert_eq!(limit_of(&profile, 1_000_000), Some(WHOLE_FRAMES));
        let stacks = Stacks::with_limit(&profile, Some(5));
        let shown = |depth: usize| -> Vec<String> {
            let node = profile.traces()[depth].node;
            assert_eq!(profile.tree.depth(node), depth);
            let name = |frame: FrameId| {
                profile.symbols.method_name(profile.symbols.get_frame(frame).method)
            };
            let frames = stacks.frames(node);
            frames.map(|frame| frame.map_or_else(|| LEFT_OUT.to_owned(), name)).collect()
        };
        assert_eq!(shown(5), ["f4", "f3", "f2", "f1", "f0"]);
        assert_eq!(shown(2000), ["f1999", "f1998", "f1997", LEFT_OUT, "f1", "f0"]);
    }
}
