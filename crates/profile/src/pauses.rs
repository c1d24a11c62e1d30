//! The times in which the JVM stopped the program.

/// A time in which the JVM stopped all threads of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pause {
    /// Its beginning since the recording's start, in nanoseconds, as in a [`Timeline`](crate::Timeline).
    pub begin_ns: u64,
    /// Its length, in nanoseconds.
    pub duration_ns: u64,
    /// What the JVM did.
    pub kind: PauseKind,
}

/// What the JVM does in a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PauseKind {
    /// Collects garbage.
    Collection,
    /// Another operation, for which threads stand at a safepoint.
    Safepoint,
}

impl PauseKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Collection, Self::Safepoint];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Collection => "collection",
            Self::Safepoint => "safepoint",
        }
    }
}

impl Pause {
    /// The end, in nanoseconds since the recording's start.
    pub fn end_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.duration_ns)
    }
}
