//! Heap dumps: any HPROF binary read record by record, and the JVM's own dump rewritten while it
//! streams.
//!
//! The JVM itself makes the best dump of its heap: it knows every root, and stops for no longer
//! than necessary. Its dump, which may still be growing, is read once, and each record is written
//! as one of perk's: with perk's names, serial numbers and traces, without the fields that perk
//! itself gave to classes, and without the arrays with which the JVM fills gaps of the heap
//! ([`fillers`]). Memory holds names, classes, threads and roots, a bit for each place that
//! something refers to, and one segment. See
//! [`Writer::heap_dump`](crate::Writer::heap_dump). For reading alone, [`Stream`] is enough.

mod addresses;
mod classes;
mod field;
mod fillers;
mod records;
mod rewrite;
mod sizes;
pub(crate) mod skim;
mod stream;
mod sub_records;
mod tally;
mod threads;

use std::path::PathBuf;

use perk_profile::{Profile, StrId, ThreadId, TraceId};

pub use addresses::Addresses;
pub use field::FieldType;
pub use records::{
    ClassDump, Elements, Ids, JavaStack, Record, Root, RootKind, StaticField, Value,
};
pub use sizes::ObjectSizes;
pub use skim::{ObjectVisitor, object};
pub(crate) use stream::HEAD_BYTES;
pub use stream::{Header, Stream, TEXT_TITLE};
pub use sub_records::sub;
pub use tally::Tally;

pub use classes::source_form;
pub(crate) use classes::{
    DumpNames, FieldPlace, HeapClass, HeapClasses, InstanceLayout, is_resolved_references,
};
pub use records::number;
pub(crate) use rewrite::{ArrayHead, Rewrite, Sink};

/// The facts that the JVM's dump does not give.
///
/// Traces and threads are those of the profile that the file is written from. The traces and
/// threads in the answers are written before the first record that refers to them.
pub trait Context {
    /// Returns the allocation trace of an object whose injected record field has this number.
    /// `class` is the name of its class in source form. The method is called only if the field is
    /// not 0. The number is whatever the program's heap holds in the field.
    fn object_trace(&mut self, profile: &mut Profile, class: StrId, record: u32)
    -> Option<TraceId>;

    /// Returns the allocation trace of the array, or of the object without such a field, at this
    /// address of the JVM's dump.
    fn kept_trace(&mut self, profile: &mut Profile, address: u64) -> Option<TraceId>;

    /// Returns the thread whose `java.lang.Thread` has this `tid`. The file must have its START
    /// THREAD.
    fn thread(&mut self, profile: &mut Profile, tid: u64) -> Option<ThreadId>;

    /// Returns the `tid`s of the threads whose stacks the JVM's dump has, in its order and without
    /// virtual threads, if they are known before the dump. Stacks come before the heap, as readers
    /// look for them at the roots. The dump may give the thread of each stack only at its end.
    /// Threads that are not known here have a name only in the heap.
    fn stack_tids(&mut self) -> Option<Vec<u64>> {
        None
    }

    /// Whether the dump has among its roots the references in frames of virtual threads that no
    /// carrier runs (JDK 22 and later).
    fn roots_parked_frames(&self) -> bool {
        true
    }

    /// Returns the size of an instance as the JVM counts it, with header and padding. `classes` are
    /// the class and those above it, from `java.lang.Object` down.
    fn instance_bytes(&mut self, classes: &[ClassFields<'_>]) -> u64;

    /// Returns the size of an array as the JVM counts it.
    fn array_bytes(&mut self, element: FieldType, length: u32) -> u64;
}

/// The instance fields that a class declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFields<'a> {
    /// The name in source form.
    pub name: &'a str,
    /// Whether the boot loader defined it.
    pub is_of_boot_loader: bool,
    /// The types of the fields in the order of the JVM's dump, without perk's own.
    pub fields: Vec<FieldType>,
}

/// The options for the contents of a rewritten heap dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// Whether objects have the traces of their allocation, as far as [`Context`] knows them.
    /// Otherwise it is not asked, and all objects have trace 0.
    pub with_traces: bool,
    /// Whether fields of primitive types, also static ones, have their values. Otherwise they are
    /// 0.
    pub primitive_fields: bool,
    /// Whether arrays of primitive types have their elements. Otherwise their length is 0.
    pub primitive_arrays: bool,
    /// Whether the frames of threads have lines.
    pub lines: bool,
    /// Whether the lines mark native methods, if frames have lines.
    pub native_lines: bool,
    /// A folder for temporary files: for arrays that may be fillers, and for output that begins
    /// with facts known only at its end.
    pub folder: PathBuf,
    /// The fields that do not belong to the program.
    pub own_fields: InjectedFields,
}

/// The names of the fields that perk gave to classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFields {
    /// The prefix of all of them.
    pub prefix: &'static str,
    /// The prefix of the field that holds the number of an object's record.
    pub record: &'static str,
}

/// The numbers of a heap dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapCounts {
    /// The number of classes, those of arrays among them.
    pub class_count: u64,
    /// The number of instances and arrays.
    pub object_count: u64,
    /// Their bytes, as [`Context`] counts them.
    pub object_bytes: u64,
    /// The number of roots.
    pub root_count: u64,
    /// The number of threads that have roots.
    pub thread_count: u64,
}
