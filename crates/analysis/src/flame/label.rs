//! The labels of the nodes of a flame graph.

use perk_profile::{FrameId, KeyedMap, Line, MethodId, NamePattern, Profile, names::package};

use crate::{Filter, MethodTree, Owner, Owners};

/// What is a node of a flame graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// A method.
    #[default]
    Method,
    /// The methods of a class that call each other.
    Class,
    /// The methods of a package that call each other.
    Package,
}

/// What a label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelKind {
    /// A method.
    Method {
        /// Whether its frames are those of a native method.
        is_native: bool,
    },
    /// A class.
    Class,
    /// A package.
    Package,
    /// A thread, a value of a label: what numbers are grouped by.
    Group,
    /// The class of objects or locks, a field, the state of threads.
    Subject,
    /// The frames above the program's own code.
    AboveYours,
    /// The time of threads that do not work.
    Idle,
    /// The numbers without a known stack.
    NoStack,
    /// The numbers of traces that the file left out.
    BelowCutoff,
}

impl LabelKind {
    /// Its name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            LabelKind::Method { is_native: false } => "method",
            LabelKind::Method { is_native: true } => "native",
            LabelKind::Class => "class",
            LabelKind::Package => "package",
            LabelKind::Group => "group",
            LabelKind::Subject => "subject",
            LabelKind::AboveYours => "above",
            LabelKind::Idle => "idle",
            LabelKind::NoStack => "no_stack",
            LabelKind::BelowCutoff => "below_cutoff",
        }
    }
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameLabel {
    /// What it names.
    pub kind: LabelKind,
    /// The class of a method and its name, or another name.
    pub text: String,
    /// The types of a method, as the JVM writes them; empty where they are not known.
    pub signature: String,
    /// Whose code it is; `None` of what is no code.
    pub owner: Option<Owner>,
}

/// Frames that are not shown have this label.
pub(super) const HIDDEN: u32 = u32::MAX;
/// The label of numbers without a stack.
pub(super) const NO_STACK: u32 = 0;
/// The label of numbers of traces that the file left out.
pub(super) const BELOW_CUTOFF: u32 = 1;

/// All labels of a graph, by their numbers.
#[derive(Debug)]
pub(super) struct Labels {
    pub(super) all: Vec<FlameLabel>,
    ids: KeyedMap<(LabelKind, String, String), u32>,
    pub(super) level: Level,
}

impl Labels {
    pub(super) fn new(level: Level) -> Self {
        let mut labels = Self { all: Vec::new(), ids: KeyedMap::default(), level };
        labels.id(LabelKind::NoStack, "[no stack]".to_owned(), String::new(), None);
        labels.id(LabelKind::BelowCutoff, "[below cutoff]".to_owned(), String::new(), None);
        labels
    }

    pub(super) fn id(
        &mut self,
        kind: LabelKind,
        text: String,
        signature: String,
        owner: Option<Owner>,
    ) -> u32 {
        let all = &mut self.all;
        *self.ids.entry((kind, text, signature)).or_insert_with_key(|(kind, text, signature)| {
            let (text, signature) = (text.clone(), signature.clone());
            all.push(FlameLabel { kind: *kind, text, signature, owner });
            all.len() as u32 - 1
        })
    }

    /// The label of a name without an owner.
    pub(super) fn named(&mut self, kind: LabelKind, text: String) -> u32 {
        self.id(kind, text, String::new(), None)
    }

    /// The label of each frame of a tree of methods; [`HIDDEN`] where the filter takes frames out.
    pub(super) fn of_frames(
        &mut self,
        profile: &Profile,
        tree: &MethodTree,
        owners: &Owners,
        filter: &Filter,
    ) -> Vec<u32> {
        let symbols = &profile.symbols;
        let is_hidden = filter.hidden(symbols);
        // A method is native if none of its frames is another one.
        let mut is_native = vec![self.level == Level::Method; symbols.method_count()];
        let frames = (0..symbols.frame_count()).map(FrameId::new);
        for frame in frames.clone().map(|frame| symbols.get_frame(frame)) {
            is_native[frame.method.index()] &= frame.line == Line::Native;
        }
        let mut known: Vec<Option<u32>> = vec![None; symbols.method_count()];
        let of_frame = |frame| {
            let method = tree.method_of(frame);
            let place = method.index();
            if is_hidden[place] {
                return HIDDEN;
            }
            *known[place]
                .get_or_insert_with(|| self.of_method(profile, owners, method, is_native[place]))
        };
        frames.map(of_frame).collect()
    }

    fn of_method(
        &mut self,
        profile: &Profile,
        owners: &Owners,
        id: MethodId,
        is_native: bool,
    ) -> u32 {
        let symbols = &profile.symbols;
        let method = symbols.get_method(id);
        let class = symbols.class_name(method.class);
        let (kind, text) = match self.level {
            // A function of another language has no class.
            Level::Class | Level::Package if class.is_empty() => {
                (LabelKind::Method { is_native }, symbols.method_name(id))
            }
            Level::Method => (LabelKind::Method { is_native }, symbols.method_name(id)),
            Level::Class => (LabelKind::Class, class.to_owned()),
            Level::Package => (LabelKind::Package, package(class).to_owned()),
        };
        let signature = method.signature.filter(|_| self.level == Level::Method);
        let signature = signature.map_or("", |it| symbols.strings.get(it)).to_owned();
        self.id(kind, text, signature, Some(owners.of(id)))
    }

    /// Whether each label is one of a method or a class of this name.
    pub(super) fn matching(&self, pattern: &NamePattern) -> Vec<bool> {
        let is_meant = |label: &FlameLabel| match label.kind {
            LabelKind::Method { .. } => {
                let (class, method) = label.text.rsplit_once('.').unwrap_or(("", &label.text));
                pattern.matches(class, method)
            }
            LabelKind::Class => label.text == pattern.as_str(),
            _ => false,
        };
        self.all.iter().map(is_meant).collect()
    }

    /// Whether each label has this text in it, whatever its case.
    pub(super) fn with_text(&self, text: &str) -> Vec<bool> {
        let text = text.to_lowercase();
        self.all.iter().map(|label| label.text.to_lowercase().contains(&text)).collect()
    }
}
