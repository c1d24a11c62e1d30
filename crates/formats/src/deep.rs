//! Stacks for formats that write each of them whole. The middle of deep stacks is left out if all
//! of them together are too large to be of use.

use perk_profile::deep::{depths, limit};
use perk_profile::{FrameId, NodeId, Profile};

/// The frame that represents the frames that are left out.
pub(crate) const LEFT_OUT: &str = "[frames left out]";
/// The frames of stacks as they are written.
#[derive(Debug)]
pub(crate) struct Stacks<'a> {
    profile: &'a Profile,
    limit: Option<Limit>,
}

#[derive(Debug)]
struct Limit {
    depths: Vec<u32>,
    /// For each node, the nearest ancestor (or the node itself) at which the written outer frames
    /// end.
    outer: Vec<NodeId>,
    frame_count: usize,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Self {
        Self::with_limit(profile, limit(&[profile]))
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

    /// Returns the frames of a node from the innermost outward; `None` means those that are
    /// left out.
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
        let text: String = (1..=2000_usize)
            .map(|depth| {
                let frames: Vec<_> = (0..depth).map(|level| format!("f{level}")).collect();
                format!("{} 1\n", frames.join(";"))
            })
            .collect();
        let profile = collapsed::read(text.as_bytes()).unwrap();
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
