//! The names of a page's frames.

use perk_analysis::label_tree::Part;
use perk_profile::Profile;

use super::data::Kind;

/// The properties by which the page distinguishes frames. Siblings stand in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Label<'a> {
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    pub(crate) signature: &'a str,
    pub(crate) kind: Kind,
}

impl<'a> Label<'a> {
    /// Returns the label of a node that is not a method.
    pub(crate) fn named(kind: Kind, name: &'a str) -> Self {
        Self { class: "", name, signature: "", kind }
    }

    pub(crate) fn new(profile: &'a Profile, part: Part) -> Self {
        let strings = &profile.symbols.strings;
        match part {
            Part::Thread(name) => Self::named(Kind::Thread, strings.get(name)),
            Part::Subject(name) => Self::named(Kind::Objects, strings.get(name)),
            Part::State(state) => Self::named(Kind::Objects, state.label()),
            Part::NoStack => Self::named(Kind::NoStack, "[no stack]"),
            Part::BelowCutoff => Self::named(Kind::BelowCutoff, "[below cutoff]"),
            Part::Method { id, native } => {
                let method = profile.symbols.get_method(id);
                Label {
                    class: profile.symbols.class_name(method.class),
                    name: strings.get(method.name),
                    signature: method.signature.map_or("", |signature| strings.get(signature)),
                    kind: if native { Kind::Native } else { Kind::Java },
                }
            }
        }
    }
}
