//! Heap dumps by class: how many objects a dump holds, and how much room they take.

use std::cmp::Reverse;

use crate::{ClassId, Timestamp};

/// What was in the heap at the moment of a dump, by class. The objects themselves are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapHistogram {
    /// The classes that have objects, in the file's order. Those of one name by different loaders
    /// are told apart. The objects that stand for classes are in the row of `java.lang.Class`.
    pub rows: Vec<HeapClassRow>,
    /// How many roots there are of each kind, the kinds without any left out.
    pub roots: Vec<(HeapRoot, u64)>,
    /// How the sizes were found; `None` where the file tells each object's.
    pub layout: Option<ObjectLayout>,
    /// The file ends inside the dump: there were more objects.
    pub is_cut: bool,
    /// When the dump was written, if that is told.
    pub written: Option<Timestamp>,
}

/// The objects of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapClassRow {
    /// The class.
    pub class: ClassId,
    /// How many objects it has.
    pub instance_count: u64,
    /// Their own sizes added up, headers and padding among them.
    pub shallow_bytes: u64,
}

/// Why the JVM holds an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeapRoot {
    /// Not known.
    Unknown,
    /// A global JNI reference.
    JniGlobal,
    /// A local JNI reference.
    JniLocal,
    /// A local variable.
    JavaFrame,
    /// Native code on a thread's stack.
    NativeStack,
    /// A class of the JVM's own.
    StickyClass,
    /// A thread that is blocked.
    ThreadBlock,
    /// A monitor in use.
    Monitor,
    /// A living thread.
    Thread,
}

/// How the JVM of a dump lays out objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// The bytes before an object's first field.
    pub header_bytes: u32,
    /// The bytes before the elements of an array of bytes.
    pub array_header_bytes: u32,
    /// The bytes of a reference.
    pub reference_bytes: u32,
    /// What sizes are rounded up to.
    pub alignment_bytes: u32,
    /// The objects' addresses tell it; otherwise it is assumed.
    pub is_inferred: bool,
}

impl HeapHistogram {
    /// All objects.
    pub fn object_count(&self) -> u64 {
        self.rows.iter().map(|row| row.instance_count).fold(0, u64::saturating_add)
    }

    /// The sizes of all objects.
    pub fn object_bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.shallow_bytes).fold(0, u64::saturating_add)
    }

    /// Orders the rows as the JVM prints its histogram: most bytes first, then most objects, then
    /// in order of class.
    pub fn rank(&mut self) {
        self.rows.sort_by_key(|row| {
            (Reverse(row.shallow_bytes), Reverse(row.instance_count), row.class)
        });
    }
}

impl HeapRoot {
    /// All kinds, in the order of their names in HPROF.
    pub const ALL: [HeapRoot; 9] = [
        HeapRoot::Unknown,
        HeapRoot::JniGlobal,
        HeapRoot::JniLocal,
        HeapRoot::JavaFrame,
        HeapRoot::NativeStack,
        HeapRoot::StickyClass,
        HeapRoot::ThreadBlock,
        HeapRoot::Monitor,
        HeapRoot::Thread,
    ];

    /// What HPROF's text calls it.
    pub fn name(self) -> &'static str {
        match self {
            HeapRoot::Unknown => "unknown",
            HeapRoot::JniGlobal => "JNI global ref",
            HeapRoot::JniLocal => "JNI local ref",
            HeapRoot::JavaFrame => "Java stack",
            HeapRoot::NativeStack => "native stack",
            HeapRoot::StickyClass => "system class",
            HeapRoot::ThreadBlock => "thread block",
            HeapRoot::Monitor => "busy monitor",
            HeapRoot::Thread => "thread",
        }
    }

    /// The kind that HPROF's text calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_ranked_by_bytes() {
        let row = |class, instance_count, shallow_bytes| HeapClassRow {
            class: ClassId::new(class),
            instance_count,
            shallow_bytes,
        };
        let rows = vec![row(0, 1, 16), row(1, 1, u64::MAX), row(2, 2, 16), row(3, 1, 16)];
        let mut heap = HeapHistogram { rows, ..HeapHistogram::default() };
        heap.rank();
        let order: Vec<_> = heap.rows.iter().map(|row| row.class.index()).collect();
        assert_eq!(order, [1, 2, 0, 3]);
        assert_eq!((heap.object_count(), heap.object_bytes()), (5, u64::MAX));
    }

    #[test]
    fn roots_have_names_of_their_own() {
        for kind in HeapRoot::ALL {
            assert_eq!(HeapRoot::of_name(kind.name()), Some(kind));
        }
        assert_eq!(HeapRoot::of_name("thing"), None);
    }
}
