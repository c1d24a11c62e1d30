//! Index types. Each is a position in one table of a [`Profile`](crate::Profile), and is valid only
//! for that profile.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of the entry at `index`.
            ///
            /// # Panics
            /// If `index` is 2^32 or more: no table of a profile grows that far.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a profile's tables hold less than 2^32 entries"))
            }

            /// The position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A string of the [`Interner`](crate::Interner).
    StrId,
    /// A class of [`Symbols`](crate::Symbols).
    ClassId,
    /// A method of [`Symbols`](crate::Symbols).
    MethodId,
    /// A frame (a method and a place in it) of [`Symbols`](crate::Symbols).
    FrameId,
    /// A node of the [`CallTree`](crate::CallTree).
    NodeId,
    /// A node of a `MethodTree` of `perk-analysis`.
    PathId,
    /// A thread of a [`Profile`](crate::Profile).
    ThreadId,
    /// A call trace of a [`Profile`](crate::Profile).
    TraceId,
    /// A set of labels of [`LabelSets`](crate::LabelSets).
    LabelSetId,
}

impl LabelSetId {
    /// The set without labels.
    pub const EMPTY: Self = Self(0);
}
