//! Heap dumps: any HPROF binary read record by record, and the JVM's own dump rewritten while it
//! streams.
//!
//! The JVM dumps its heap best: it knows every root and stops for no longer than it must. Its dump,
//! which may still be growing, is read once, and each record goes on as perk's: with perk's names,
//! serial numbers and traces, without the fields that perk itself gave to classes, and without what
//! the JVM fills gaps of the heap with ([`fillers`]). What is kept in memory is names, classes,
//! threads and roots, a bit for each place that something refers to, and one segment. See
//! [`Writer::heap_dump`](crate::Writer::heap_dump); [`Stream`] alone serves who only reads.

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

pub use field::FieldType;
pub use records::{
    ClassDump, Elements, Ids, JavaStack, Record, Root, RootKind, StaticField, Value,
};
pub(crate) use stream::HEAD_BYTES;
pub use stream::{Header, Stream};

pub(crate) use classes::{
    Classes, HeapClass, Layout, Names, PlacedField, is_resolved_references, source_form,
};
pub(crate) use records::number;
pub(crate) use rewrite::{ArrayHead, Rewrite, Sink};
pub(crate) use sub_records::sub;
pub(crate) use tally::Tally;

/// What the JVM's dump does not tell.
///
/// Traces and threads are those of the profile that the file is written from; what the answers name
/// is written before the first record that refers to it.
pub trait Context {
    /// The trace on which the object of a class, by its name in source form, was allocated that has
    /// this number in its injected record field; asked only where the field is not 0. It is whatever
    /// stands there in the program's heap.
    fn object_trace(&mut self, profile: &mut Profile, class: StrId, record: u32)
    -> Option<TraceId>;

    /// The trace on which the array, or object without such a field, at this address of the JVM's
    /// dump was allocated.
    fn kept_trace(&mut self, profile: &mut Profile, address: u64) -> Option<TraceId>;

    /// The thread whose `java.lang.Thread` has this `tid`. The file must have its START THREAD.
    fn thread(&mut self, profile: &mut Profile, tid: u64) -> Option<ThreadId>;

    /// The `tid`s of the threads whose stacks the JVM's dump has, in its order and without virtual
    /// ones, where they are known before the dump. Stacks stand before the heap, as readers look for
    /// them at the roots; which thread has which the dump may tell last. Threads that are not known
    /// here then have no name but in the heap.
    fn stack_tids(&mut self) -> Option<Vec<u64>> {
        None
    }

    /// Whether the dump has among its roots what the frames of virtual threads refer to that no
    /// carrier runs (JDK 22 and later).
    fn roots_parked_frames(&self) -> bool {
        true
    }

    /// The size of an instance as the JVM counts it, header and padding among it. `classes` are the
    /// class and those above it, from `java.lang.Object` down.
    fn instance_bytes(&mut self, classes: &[ClassFields<'_>]) -> u64;

    /// The size of an array as the JVM counts it.
    fn array_bytes(&mut self, element: FieldType, length: u32) -> u64;
}

/// What a class declares for its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFields<'a> {
    /// The name in source form.
    pub name: &'a str,
    /// Whether the boot loader defined it.
    pub is_of_boot_loader: bool,
    /// The types of the fields in the order of the JVM's dump, without perk's own.
    pub fields: Vec<FieldType>,
}

/// What of the heap is written, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// Whether objects are booked on the traces of their allocation, as far as [`Context`] knows
    /// them. Otherwise it is not asked, and all have trace 0.
    pub with_traces: bool,
    /// Whether fields of primitive types, static ones too, have their values; they are 0 otherwise.
    pub primitive_fields: bool,
    /// Whether arrays of primitive types have their elements; their length is 0 otherwise.
    pub primitive_arrays: bool,
    /// Whether the frames of threads have lines.
    pub lines: bool,
    /// Whether native methods are told by their lines, where frames have any.
    pub native_lines: bool,
    /// A folder for temporary files: for arrays that may be fillers, and for output that begins with
    /// what is known at its end.
    pub folder: PathBuf,
    /// The fields that are not the program's.
    pub own_fields: OwnFields,
}

/// How the names of the fields begin that perk gave to classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnFields {
    /// All of them.
    pub prefix: &'static str,
    /// The one that tells an object's record.
    pub record: &'static str,
}

/// What a heap dump held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapCounts {
    /// Classes, those of arrays among them.
    pub class_count: u64,
    /// Instances and arrays.
    pub object_count: u64,
    /// Their bytes, as [`Context`] counts them.
    pub object_bytes: u64,
    /// Roots.
    pub root_count: u64,
    /// Threads that have roots.
    pub thread_count: u64,
}
