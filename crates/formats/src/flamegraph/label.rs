//! The names of a page's frames.

use perk_analysis::label_tree::Part;
use perk_profile::Profile;

use super::data::NodeKind;

/// The properties by which the page distinguishes frames. Siblings are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FrameLabel<'a> {
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    pub(crate) signature: &'a str,
    pub(crate) kind: NodeKind,
}

impl<'a> FrameLabel<'a> {
    /// Returns the label of a node that is not a method.
    pub(crate) fn named(kind: NodeKind, name: &'a str) -> Self {
        Self { class: "", name, signature: "", kind }
    }

    pub(crate) fn new(profile: &'a Profile, part: Part) -> Self {
        let strings = &profile.symbols.strings;
        match part {
            Part::Thread(name) => Self::named(NodeKind::Thread, strings.get(name)),
            Part::Subject(name) => Self::named(NodeKind::Objects, strings.get(name)),
            Part::State(state) => Self::named(NodeKind::Objects, state.label()),
            Part::AboveYours => Self::named(NodeKind::LeftOut, "[above your code]"),
            Part::Idle => Self::named(NodeKind::LeftOut, "[idle threads]"),
            Part::NoStack => Self::named(NodeKind::NoStack, "[no stack]"),
            Part::BelowCutoff => Self::named(NodeKind::BelowCutoff, "[below cutoff]"),
            Part::Method { id, native } => {
                let method = profile.symbols.get_method(id);
                FrameLabel {
                    class: profile.symbols.class_name(method.class),
                    name: strings.get(method.name),
                    signature: method.signature.map_or("", |signature| strings.get(signature)),
                    kind: if native { NodeKind::Native } else { NodeKind::Java },
                }
            }
        }
    }
}
