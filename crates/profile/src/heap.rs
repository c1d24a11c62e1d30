//! Heap dumps by class: the number of objects in a dump, and their sizes.

use std::cmp::Reverse;

use crate::{ClassId, Timestamp};

/// The contents of the heap at the moment of a dump, by class. The objects themselves are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapHistogram {
    /// The classes that have objects, in the file's order. Classes of one name by different loaders
    /// are distinguished. The objects that represent classes are in the row of `java.lang.Class`.
    pub rows: Vec<HeapClassRow>,
    /// The number of roots of each kind; kinds without roots are left out.
    pub roots: Vec<(HeapRoot, u64)>,
    /// The layout from which the sizes were computed; `None` if the file gives the size of each
    /// object.
    pub layout: Option<ObjectLayout>,
    /// Whether the file ends inside the dump: there were more objects.
    pub is_cut: bool,
    /// The time at which the dump was written, if it is known.
    pub written: Option<Timestamp>,
}

/// The objects of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapClassRow {
    /// The class.
    pub class: ClassId,
    /// The number of its objects.
    pub instance_count: u64,
    /// The sum of their own sizes, with headers and padding.
    pub shallow_bytes: u64,
}

/// The reason why the JVM holds an object.
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

/// The object layout of the JVM of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// The number of bytes before an object's first field.
    pub header_bytes: u32,
    /// The number of bytes before the elements of a byte array.
    pub array_header_bytes: u32,
    /// The size of a reference.
    pub reference_bytes: u32,
    /// The alignment to which sizes are rounded up.
    pub alignment_bytes: u32,
    /// Whether the layout was inferred from the objects' addresses; otherwise it is assumed.
    pub is_inferred: bool,
}

impl HeapHistogram {
    /// The number of all objects.
    pub fn object_count(&self) -> u64 {
        self.rows.iter().map(|row| row.instance_count).fold(0, u64::saturating_add)
    }

    /// The sum of the sizes of all objects.
    pub fn object_bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.shallow_bytes).fold(0, u64::saturating_add)
    }

    /// Adds up the rows of each class and orders them as the JVM prints its histogram: most bytes
    /// first, then most objects, then in order of class.
    pub fn rank(&mut self) {
        // The classes of all lambdas of a class are one.
        self.rows.sort_unstable_by_key(|row| row.class);
        self.rows.dedup_by(|row, first| {
            let is_same = row.class == first.class;
            if is_same {
                first.instance_count = first.instance_count.saturating_add(row.instance_count);
                first.shallow_bytes = first.shallow_bytes.saturating_add(row.shallow_bytes);
            }
            is_same
        });
        self.rows.sort_unstable_by_key(|row| {
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

    /// The name of the kind in HPROF's text format.
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

    /// The kind that has this name in HPROF's text format.
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
