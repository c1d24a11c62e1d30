//! Ids of stacks by their content: one stack has one id in all recordings, in files and stores.

use perk_profile::{FrameId, NodeId, Profile};
use twox_hash::XxHash3_128;

/// The bytes of an id.
pub const STACK_ID_BYTES: i32 = 16;

/// The id of a stack: 128 bits of its frames (class, method, signature, source file, line and kind of each), the
/// outermost first. That of the stack without frames is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub [u8; 16]);

impl StackId {
    /// The id of the stack that has one frame more than this one.
    fn with(self, profile: &Profile, frame: FrameId, text: &mut Vec<u8>) -> Self {
        let symbols = &profile.symbols;
        let frame = symbols.get_frame(frame);
        let method = symbols.get_method(frame.method);
        let name = |id| symbols.strings.get(id).as_bytes();
        text.clear();
        text.extend_from_slice(&self.0);
        text.extend_from_slice(symbols.class_name(method.class).as_bytes());
        for part in [Some(method.name), method.signature, method.source] {
            text.push(0);
            text.extend_from_slice(part.map_or(b"", name));
        }
        text.push(0);
        text.extend_from_slice(&frame.line.to_hprof().to_le_bytes());
        text.push(frame.kind as u8);
        Self(XxHash3_128::oneshot(text).to_be_bytes())
    }
}

/// The ids of all nodes of a profile's call tree, in their order.
pub fn stack_ids(profile: &Profile) -> Vec<StackId> {
    let mut ids = vec![StackId::default(); profile.tree.len()];
    let mut text = Vec::new();
    for (index, (parent, frame)) in profile.tree.edges().enumerate() {
        ids[index + 1] = ids[parent.index()].with(profile, frame, &mut text);
    }
    ids
}

/// The ids of the stacks of a profile that grows, as they are shown: without the frames of proxies whose callee stands
/// for both ([`Symbols::is_proxy_of`](perk_profile::Symbols::is_proxy_of)).
#[derive(Debug, Default)]
pub(crate) struct ShownStacks {
    /// The id of each node, and that of the frames around its own.
    ids: Vec<(StackId, StackId)>,
    text: Vec<u8>,
}

impl ShownStacks {
    /// The id of the stack of a node; `None` if it has no frames.
    pub(crate) fn id(&mut self, profile: &Profile, node: NodeId) -> Option<StackId> {
        let tree = &profile.tree;
        // A parent's index is below its children's.
        for index in self.ids.len()..=node.index() {
            let own = NodeId::new(index);
            let ids = tree.parent(own).zip(tree.frame(own)).map(|(parent, frame)| {
                let (id, around) = self.ids[parent.index()];
                let is_folded =
                    tree.frame(parent).is_some_and(|it| profile.symbols.is_proxy_of(it, frame));
                let around = if is_folded { around } else { id };
                (around.with(profile, frame, &mut self.text), around)
            });
            self.ids.push(ids.unwrap_or_default());
        }
        (node != tree.root()).then(|| self.ids[node.index()].0)
    }
}

/// The frames of a node, the outermost first.
pub fn frames(profile: &Profile, node: NodeId) -> Vec<FrameId> {
    let mut frames: Vec<_> = profile.tree.frames(node).collect();
    frames.reverse();
    frames
}
