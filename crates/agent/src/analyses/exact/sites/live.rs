//! The live objects: a walk of the heap reads the record of each, and weak references are for those
//! that cannot hold it.

use std::ffi::c_void;

use perk_jvm::{FOUND, Jni, Jvmti, Reference, Weak};
use perk_jvmti_sys::jni_sys::{jint, jlong, jvalue};
use perk_jvmti_sys::{
    JVMTI_HEAP_REFERENCE_FIELD, JVMTI_PRIMITIVE_TYPE_INT, JVMTI_VISIT_OBJECTS, jvmtiHeapCallbacks,
    jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind, jvmtiPrimitiveType,
};

use super::Records;
use super::blocks::Owner;
use super::identities::Identities;
use crate::recorder::entry;

/// The number of references at which the first sweep deletes those to dead objects. Later sweeps
/// come at twice the number that the last one left.
const FIRST_SWEEP: usize = 1 << 12;
/// The number of references among which an object that was kept is looked for.
const LOOKED_BACK: usize = 1 << 12;

/// The records for which there is room as there may be new ones before a walk begins.
const MORE_RECORDS: usize = 1 << 16;

/// The weak references of a tree to its objects and arrays.
#[derive(Debug, Default)]
pub(in crate::analyses::exact) struct Keeper {
    all: Vec<(Weak, ObjectRecord)>,
    next_sweep: usize,
}

/// The record and the size of an object or array.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyses::exact) struct ObjectRecord {
    /// The index of its record.
    pub(in crate::analyses::exact) record: u32,
    /// The size in units of [`LEAST_ALIGNMENT`]: many are kept, and no array has 2^32 units.
    size: u32,
}

/// A divisor of all sizes of objects on every JVM, in bytes.
const LEAST_ALIGNMENT: u64 = 8;

impl ObjectRecord {
    /// Makes it for an array of a size; the size is 0 for an object.
    pub(in crate::analyses::exact) fn new(record: u32, bytes: u64) -> Self {
        Self { record, size: (bytes / LEAST_ALIGNMENT) as u32 }
    }

    /// Returns the size of an array; 0 for an object.
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.size) * LEAST_ALIGNMENT
    }
}

impl Keeper {
    /// Keeps a weak reference.
    pub(in crate::analyses::exact) fn keep(
        &mut self,
        jni: Jni<'_>,
        object: &(impl Reference + ?Sized),
        kept: ObjectRecord,
    ) {
        if self.all.len() >= self.next_sweep.max(FIRST_SWEEP) {
            self.sweep(jni, Weak::is_cleared);
            self.next_sweep = 2 * self.all.len();
        }
        if let Some(weak) = jni.weak(object) {
            self.all.push((weak, kept));
        }
    }

    /// Whether an object or array of this size is among those that were kept last.
    pub(super) fn keeps(
        &self,
        jni: Jni<'_>,
        object: &(impl Reference + ?Sized),
        bytes: u64,
    ) -> bool {
        let last = self.all.iter().rev().take(LOOKED_BACK);
        last.filter(|(_, kept)| kept.bytes() == bytes).any(|(weak, _)| jni.is_of(weak, object))
    }

    /// Deletes the references to dead objects.
    fn sweep(&mut self, jni: Jni<'_>, is_gone: impl Fn(&Weak) -> bool) {
        for (weak, _) in self.all.extract_if(.., |(weak, _)| is_gone(weak)) {
            jni.delete_weak(weak);
        }
    }

    /// Returns all live objects and arrays.
    pub(super) fn live(&mut self, jni: Jni<'_>) -> impl Iterator<Item = ObjectRecord> {
        self.sweep(jni, |weak| jni.is_gone(weak));
        self.all.iter().map(|(_, kept)| *kept)
    }
}

/// The number and size of some objects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Sum {
    /// Makes a number of objects, without a size.
    pub(super) fn objects(count: u64) -> Self {
        Self { count, bytes: 0 }
    }

    /// Subtracts the objects that are counted elsewhere; the result is never negative.
    pub(super) fn remove(&mut self, other: Self) {
        self.count = self.count.saturating_sub(other.count);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }

    /// Returns the smaller number and size.
    pub(super) fn least(self, other: Self) -> Self {
        Self { count: self.count.min(other.count), bytes: self.bytes.min(other.bytes) }
    }

    pub(super) fn add(&mut self, count: u64, bytes: u64) {
        self.count += count;
        self.bytes += bytes;
    }
}

/// Sums by index, most of which are 0: where nobody adds to them, they take no memory.
#[derive(Debug, Default)]
pub(super) struct Sums(Vec<[u64; 2]>);

impl Sums {
    /// Makes a number of sums.
    pub(super) fn new(count: usize) -> Self {
        // The system has pages of zeroes at no cost, unlike sums that are made one by one.
        Self(vec![[0; 2]; count])
    }

    /// Returns the sum at an index.
    pub(super) fn get(&self, index: usize) -> Sum {
        self.0.get(index).map_or(Sum::default(), |&[count, bytes]| Sum { count, bytes })
    }

    /// Adds to the sum at an index.
    pub(super) fn add(&mut self, index: usize, more: Sum) {
        let sum = entry(&mut self.0, index);
        *sum = [sum[0] + more.count, sum[1] + more.bytes];
    }

    /// Returns the number of sums.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The objects of a heap, reachable or not yet collected.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    source: WalkSource<'a>,
    /// The objects by the tag of the class, which is the number of the class. The sizes include
    /// perk's field.
    pub(super) by_class: Vec<Sum>,
    /// The objects by the index of the record. Those that hold it in a field have no size here.
    pub(super) by_record: Sums,
    /// The objects that existed before the probes began, as far as their hashes show, by the number
    /// of the class.
    pub(super) reserved: Vec<Sum>,
    /// The objects with hashes: their addresses and records, if they are asked for.
    pub(super) addresses: Vec<(u64, u32)>,
    /// The object that the walk is at, if it has the field: the number of its class, the lowest
    /// index of its fields so far, and the value of that field.
    at: Option<(u32, jint, i32)>,
}

/// The data that a walk needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkSource<'a> {
    pub(super) records: &'a Records,
    pub(super) identities: Option<&'a Identities>,
    /// Whether objects hold the index of their record in a field, by the number of their class.
    pub(super) has_field: &'a [bool],
    pub(super) with_addresses: bool,
}

impl<'a> Walk<'a> {
    /// Walks the heap and reads the record of each object. Objects without a field for it that are
    /// locked get the tag [`FOUND`].
    pub(super) fn of(jvmti: Jvmti, source: WalkSource<'a>) -> Self {
        let none = || Self {
            source,
            by_class: Vec::new(),
            by_record: Sums::new(source.records.len() + MORE_RECORDS),
            reserved: Vec::new(),
            addresses: Vec::new(),
            at: None,
        };
        let mut walk = none();
        let callbacks = jvmtiHeapCallbacks {
            heap_iteration_callback: Some(object),
            primitive_field_callback: Some(field),
            ..Default::default()
        };
        // SAFETY: the callbacks are passed a walk, by the thread that has it borrowed.
        let walked =
            unsafe { jvmti.iterate_through_heap(&callbacks, std::ptr::from_mut(&mut walk).cast()) };
        if walked.is_err() {
            return none();
        }
        walk.leave();
        walk
    }

    /// Books the object that the walk was at. The value of its field is checked: it must be a
    /// record, and one of the object's class.
    fn leave(&mut self) {
        if let Some((class, _, record)) = self.at.take()
            && let Ok(record) = u32::try_from(record)
        {
            self.add(record, class, Sum::objects(1));
        }
    }

    /// Books an object of a class with the record that it holds. Returns whether the record is one
    /// of the class.
    pub(super) fn add(&mut self, record: u32, class: u32, sum: Sum) -> bool {
        let is_one = self.source.records.is_of_class(record, class);
        if is_one {
            self.by_record.add(record as usize, sum);
        }
        is_one
    }

    fn has_field(&self, class: u32) -> bool {
        self.source.has_field.get(class as usize) == Some(&true)
    }

    /// Books an object without a field by its identity hash.
    ///
    /// # Safety
    /// The tag must be that of the object that the walk is at.
    unsafe fn identify(&mut self, class: u32, bytes: u64, tag: *mut jlong) {
        let Some(identities) = self.source.identities else { return };
        // SAFETY: the caller's promise.
        let (address, owner) = unsafe { identities.of_walked(tag) };
        match owner {
            Some(Owner::Record(record)) => {
                if self.add(record, class, Sum { count: 1, bytes }) && self.source.with_addresses {
                    self.addresses.push((address, record));
                }
            }
            Some(Owner::Reserved) => entry(&mut self.reserved, class as usize).add(1, bytes),
            Some(Owner::Nobody) => {}
            // SAFETY: the tag is that of the object that the walk is at, as the caller promises.
            None => unsafe {
                if *tag == 0 {
                    *tag = FOUND;
                }
            },
        }
    }
}

/// Handles an object or array that the walk reaches. The JVM must not be called.
unsafe extern "system" fn object(
    class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    _: jint,
    walk: *mut c_void,
) -> jint {
    // SAFETY: `Walk::of` passed it.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    walk.leave();
    if let Ok(class) = u32::try_from(class_tag) {
        let bytes = size.unsigned_abs();
        entry(&mut walk.by_class, class as usize).add(1, bytes);
        if !walk.has_field(class) {
            // SAFETY: the JVM passes the tag of this object.
            unsafe { walk.identify(class, bytes, tag) };
        }
    }
    JVMTI_VISIT_OBJECTS
}

/// Handles a primitive field of that object. perk's field is the first that is declared by the
/// topmost class with fields, so it has the lowest index of all fields that are not static: fields
/// of superclasses come before those of subclasses (JVMTI, "Heap Callback: Field Index").
unsafe extern "system" fn field(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    class_tag: jlong,
    _: *mut jlong,
    value: jvalue,
    value_type: jvmtiPrimitiveType,
    walk: *mut c_void,
) -> jint {
    // SAFETY: `Walk::of` passed it.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    let class = u32::try_from(class_tag).unwrap_or(0);
    if kind == JVMTI_HEAP_REFERENCE_FIELD && walk.has_field(class) {
        // SAFETY: this is the information for fields; the type says which value there is.
        let (index, value) = unsafe {
            let is_int = value_type == JVMTI_PRIMITIVE_TYPE_INT;
            ((*info).field.index, if is_int { value.i } else { 0 })
        };
        if walk.at.is_none_or(|(_, lowest, _)| index < lowest) {
            walk.at = Some((class, index, value));
        }
    }
    JVMTI_VISIT_OBJECTS
}
