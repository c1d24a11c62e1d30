//! What is asked for, and how a long analysis reports its progress.

use std::path::{Path, PathBuf};

use perk_profile::{HeapHistogram, ObjectLayout, Profile};
use serde::{Deserialize, Serialize};

/// The references that hold objects. Weak, phantom and finalizer references do not, except with
/// [`Refs::All`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refs {
    /// Strong references only.
    Strong,
    /// Strong references and the referents of `java.lang.ref.SoftReference`.
    #[default]
    Soft,
    /// Strong references and the referents of all `java.lang.ref.Reference`s.
    All,
}

/// The options of an analysis.
#[derive(Clone, Debug)]
pub struct Options {
    /// The references that hold objects.
    pub refs: Refs,
    /// Whether each tree of unreachable objects counts as held by a root of its own.
    pub keep_unreachable: bool,
    /// The number of the dump in the file, from 1; without it the last one.
    pub dump_number: Option<usize>,
    /// The rules that shallow sizes follow from; without it they are inferred from the addresses.
    pub layout: Option<ObjectLayout>,
    /// The folder for temporary files; without it the system's.
    pub scratch: Option<PathBuf>,
    /// The number of threads that read the file; 0 for one per CPU.
    pub thread_count: usize,
    /// The size of a dump from which on the analysis is kept in an index beside it, `NAME.perkidx`,
    /// and taken from there the next time; `None` for never.
    pub index_from_bytes: Option<u64>,
    /// The memory that the program may take; `None` for 80 % of what is free. What does not fit goes
    /// to scratch files.
    pub memory_bytes: Option<u64>,
    /// Whether questions about all references follow, as those for shortest paths and exact sizes:
    /// they take half as much memory again.
    pub all_references: bool,
    /// Whether holders and retained sizes are found. Without them the analysis ends when the class and the
    /// size of each object are known. Such a heap answers as if nothing was held, has no totals
    /// ([`Heap::has_holders`](crate::Heap::has_holders)), and is not kept in an index; but what an index
    /// has is taken from there.
    pub holders: bool,
}

impl Options {
    /// The size of a dump from which on an index pays: the analysis of a smaller one takes seconds.
    pub const INDEX_FROM_BYTES: u64 = 1 << 30;

    /// Returns the number of threads that read the file, which is at least 1.
    pub(crate) fn threads(&self) -> usize {
        match self.thread_count {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            refs: Refs::default(),
            keep_unreachable: false,
            dump_number: None,
            layout: None,
            scratch: None,
            thread_count: 0,
            index_from_bytes: Some(Self::INDEX_FROM_BYTES),
            memory_bytes: None,
            all_references: false,
            holders: true,
        }
    }
}

/// A receiver of what is known before the analysis is finished.
pub trait Watch {
    /// `done` of `total` bytes or steps of this phase are done.
    fn progress(&mut self, _phase: &'static str, _done: u64, _total: u64) {}
    /// Takes the objects by class, which are known long before the rest. The profile has the
    /// classes' names.
    fn histogram(&mut self, _profile: &Profile, _heap: &HeapHistogram) {}
    /// The analysis needs more memory than it may take: the rest goes to scratch files in this folder.
    fn little_memory(&mut self, _needed_bytes: u64, _limit_bytes: u64, _folder: &Path) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {}
