//! Heap dumps: the roots, objects and classes, as far as both formats contain them.

use std::collections::{BTreeMap, BTreeSet};

/// The section HEAP DUMP.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heap {
    /// The numbers of objects and bytes in the first line (text).
    pub stated: Option<(u64, u64)>,
    /// The roots, in order.
    pub roots: Vec<Root>,
    /// The instances and arrays by id.
    pub objects: BTreeMap<u64, Object>,
    /// The classes by the id of the class object.
    pub classes: BTreeMap<u64, Class>,
    /// The serial numbers of threads and traces that are written after the records that refer to
    /// them, or not at all.
    pub late: BTreeSet<u32>,
}

/// A reference that keeps an object alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The object's id.
    pub object: u64,
    /// The kind as in text, such as `JNI global ref`.
    pub kind: &'static str,
    /// The serial number of the thread, if the kind has one.
    pub thread: Option<u32>,
    /// The serial number of the trace of a thread's stack.
    pub trace: Option<u32>,
}

/// An instance or an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// The name of its class in source form.
    pub class: String,
    /// The size in the record, in bytes (text).
    pub bytes: Option<u64>,
    /// The serial number of the trace at which it was allocated.
    pub trace: u32,
    /// The contents of the object.
    pub contents: Contents,
}

/// The contents of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// The fields with their names; text has only references that are not null.
    Fields(Vec<(String, Value)>),
    /// The number of elements, and the elements that are not null by their index.
    References(u32, Vec<(u32, u64)>),
    /// The number of elements, and their bytes (binary).
    Primitives(u32, Option<Vec<u8>>),
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// An object's id, or 0.
    Reference(u64),
    /// The bits of a primitive value (binary).
    Bits(u64),
}

/// A class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Class {
    /// The name in source form.
    pub name: String,
    /// The serial number of the trace at which it was loaded.
    pub trace: u32,
    /// The ids of superclass, class loader, signers and protection domain; 0 for none.
    pub links: [u64; 4],
    /// The static fields in order; text has only references that are not null.
    pub statics: Vec<(String, Value)>,
    /// The references in the constant pool by their index.
    pub constants: Vec<(u32, u64)>,
}

impl Heap {
    /// Returns the traces of all objects, classes and threads that have one (not 0).
    pub(super) fn traces(&self) -> impl Iterator<Item = u32> {
        let roots = self.roots.iter().filter_map(|root| root.trace);
        self.object_traces().chain(roots).filter(|trace| *trace != 0)
    }

    /// Returns the traces of all objects and classes.
    pub(super) fn object_traces(&self) -> impl Iterator<Item = u32> {
        let objects = self.objects.values().map(|object| object.trace);
        objects.chain(self.classes.values().map(|class| class.trace))
    }
}
