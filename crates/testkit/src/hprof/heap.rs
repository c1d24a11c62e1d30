//! Heap dumps: roots, objects and classes, as far as both forms hold them.

use std::collections::{BTreeMap, BTreeSet};

/// HEAP DUMP.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heap {
    /// Objects and bytes that the first line tells (text).
    pub told: Option<(u64, u64)>,
    /// Roots in order.
    pub roots: Vec<Root>,
    /// Instances and arrays by id.
    pub objects: BTreeMap<u64, Object>,
    /// Classes by the id of the class object.
    pub classes: BTreeMap<u64, Class>,
    /// Serial numbers of threads and traces that stand behind what refers to them, or nowhere.
    pub late: BTreeSet<u32>,
}

/// What keeps an object alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The object's id.
    pub object: u64,
    /// The kind as text has it, such as `JNI global ref`.
    pub kind: &'static str,
    /// Serial number of the thread, where the kind tells one.
    pub thread: Option<u32>,
    /// Serial number of the trace of a thread's stack.
    pub trace: Option<u32>,
}

/// An instance or an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its class's name in source form.
    pub class: String,
    /// The size that the record tells, in bytes (text).
    pub bytes: Option<u64>,
    /// Serial number of the trace at which it was made.
    pub trace: u32,
    /// What is in it.
    pub contents: Contents,
}

/// What is in an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// Fields with their names; text has only references that are not null.
    Fields(Vec<(String, Value)>),
    /// Number of elements, and those that are not null by their index.
    References(u32, Vec<(u32, u64)>),
    /// Number of elements, and their bytes (binary).
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
    /// Its name in source form.
    pub name: String,
    /// Serial number of the trace at which it was loaded.
    pub trace: u32,
    /// Ids of super class, class loader, signers and protection domain; 0 for none.
    pub links: [u64; 4],
    /// Static fields in order; text has only references that are not null.
    pub statics: Vec<(String, Value)>,
    /// References in the constant pool by their index.
    pub constants: Vec<(u32, u64)>,
}

impl Heap {
    /// Traces of all objects, classes and threads; 0 says that there is none.
    pub(super) fn traces(&self) -> impl Iterator<Item = u32> {
        let roots = self.roots.iter().filter_map(|root| root.trace);
        self.object_traces().chain(roots).filter(|trace| *trace != 0)
    }

    /// Traces of all objects and classes.
    pub(super) fn object_traces(&self) -> impl Iterator<Item = u32> {
        let objects = self.objects.values().map(|object| object.trace);
        objects.chain(self.classes.values().map(|class| class.trace))
    }
}
