//! The live objects: weak references for arrays, and a walk of the heap for all others.

use std::ffi::c_void;

use perk_jvmti_sys::jni_sys::{jint, jlong, jvalue};
use perk_jvmti_sys::{
    JVMTI_HEAP_REFERENCE_FIELD, JVMTI_PRIMITIVE_TYPE_INT, JVMTI_VISIT_OBJECTS, jvmtiHeapCallbacks,
    jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind, jvmtiPrimitiveType,
};

use super::Records;
use crate::jvm::{Jni, Jvmti, Reference, Weak};
use crate::recorder::entry;

/// The number of references at which the first sweep deletes those to dead objects. Later sweeps
/// come at twice the number that the last one left.
const FIRST_SWEEP: usize = 1 << 12;
/// The number of references among which an object that was kept is looked for.
const LOOKED_BACK: usize = 1 << 12;

/// The weak references of a tree to its objects and arrays.
#[derive(Debug, Default)]
pub(in crate::analyses::exact) struct Keeper {
    all: Vec<(Weak, Kept)>,
    next_sweep: usize,
}

/// The record and the size of an object or array.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyses::exact) struct Kept {
    /// The index of its record.
    pub(in crate::analyses::exact) record: u32,
    /// The size in units of [`LEAST_ALIGNMENT`]: many are kept, and no array has 2^32 units.
    size: u32,
}

/// A divisor of all sizes of objects on every JVM, in bytes.
const LEAST_ALIGNMENT: u64 = 8;

impl Kept {
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
        kept: Kept,
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

    /// Returns the records of all live objects and arrays, by address.
    ///
    /// # Safety
    /// As of [`Weak::address`].
    pub(in crate::analyses::exact) unsafe fn addresses(&self) -> impl Iterator<Item = (u64, u32)> {
        // SAFETY: the caller's promise; the references of this list were not deleted.
        let all = self.all.iter().map(|(weak, kept)| (unsafe { weak.address() }, kept.record));
        all.filter(|&(address, _)| address != 0)
    }

    /// Returns all live objects and arrays.
    pub(super) fn live(&mut self, jni: Jni<'_>) -> impl Iterator<Item = Kept> {
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

/// The objects of a heap, reachable or not yet collected.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    records: &'a Records,
    /// Whether objects hold the index of their record, by the number of their class.
    has_field: &'a [bool],
    /// The objects by the tag of the class, which is the number of the class. The sizes include
    /// perk's field.
    pub(super) by_class: Vec<Sum>,
    /// The number of objects by the index of the record.
    pub(super) by_record: Vec<u64>,
    /// The object that the walk is at, if it has the field: the number of its class, the lowest
    /// index of its fields so far, and the value of that field.
    at: Option<(u32, jint, i32)>,
}

impl<'a> Walk<'a> {
    /// Walks the heap and reads the record of each object.
    pub(super) fn of(jvmti: Jvmti, records: &'a Records, has_field: &'a [bool]) -> Self {
        let none =
            || Self { records, has_field, by_class: Vec::new(), by_record: Vec::new(), at: None };
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
            && self.records.is_of_class(record, class)
        {
            *entry(&mut self.by_record, record as usize) += 1;
        }
    }
}

/// Handles an object or array that the walk reaches. The JVM must not be called.
unsafe extern "system" fn object(
    class_tag: jlong,
    size: jlong,
    _: *mut jlong,
    _: jint,
    walk: *mut c_void,
) -> jint {
    // SAFETY: `Walk::of` passed it.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    walk.leave();
    if let Ok(class) = u32::try_from(class_tag) {
        entry(&mut walk.by_class, class as usize).add(1, size.unsigned_abs());
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
    if kind == JVMTI_HEAP_REFERENCE_FIELD && walk.has_field.get(class as usize) == Some(&true) {
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
