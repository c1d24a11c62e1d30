//! What is live: weak references to arrays, and a walk of the heap for all else.

use std::ffi::c_void;

use perk_jvmti_sys::jni_sys::{jint, jlong, jvalue};
use perk_jvmti_sys::{
    JVMTI_HEAP_REFERENCE_FIELD, JVMTI_PRIMITIVE_TYPE_INT, JVMTI_VISIT_OBJECTS, jvmtiHeapCallbacks,
    jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind, jvmtiPrimitiveType,
};

use super::Records;
use crate::jvm::{Jni, Jvmti, Reference, Weak};
use crate::recorder::entry;

/// References to what is gone are deleted when there are so many, or twice as many as were left the
/// last time.
const FIRST_SWEEP: usize = 1 << 12;
/// An object that was kept is looked for among so many.
const LOOKED_BACK: usize = 1 << 12;

/// The objects and arrays of a tree to which references are kept.
#[derive(Debug, Default)]
pub(in crate::analyses::exact) struct Keeper {
    all: Vec<(Weak, Kept)>,
    next_sweep: usize,
}

/// What an object or array is counted as.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyses::exact) struct Kept {
    /// The index of its record.
    pub(in crate::analyses::exact) record: u32,
    /// In units of [`LEAST_ALIGNMENT`]: many are kept, and no array has 2^32 of them.
    size: u32,
}

/// What sizes are multiples of, on every JVM.
const LEAST_ALIGNMENT: u64 = 8;

impl Kept {
    /// The size is that of an array; 0 for an object.
    pub(in crate::analyses::exact) fn new(record: u32, bytes: u64) -> Self {
        Self { record, size: (bytes / LEAST_ALIGNMENT) as u32 }
    }

    /// The size of an array; 0 for an object.
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

    /// Deletes the references to what is gone.
    fn sweep(&mut self, jni: Jni<'_>, is_gone: impl Fn(&Weak) -> bool) {
        for (weak, _) in self.all.extract_if(.., |(weak, _)| is_gone(weak)) {
            jni.delete_weak(weak);
        }
    }

    /// The records of all that is there by address.
    ///
    /// # Safety
    /// As of [`Weak::address`].
    pub(in crate::analyses::exact) unsafe fn addresses(&self) -> impl Iterator<Item = (u64, u32)> {
        // SAFETY: the caller's promise; what is here was not deleted.
        let all = self.all.iter().map(|(weak, kept)| (unsafe { weak.address() }, kept.record));
        all.filter(|&(address, _)| address != 0)
    }

    /// All that is there.
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
    /// So many objects.
    pub(super) fn objects(count: u64) -> Self {
        Self { count, bytes: 0 }
    }

    /// Takes off what is counted elsewhere; the rest is never less than nothing.
    pub(super) fn remove(&mut self, other: Self) {
        self.count = self.count.saturating_sub(other.count);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }

    /// The smaller number and size.
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
    /// By the tag of the class, which is the number of the class. Sizes are those with perk's field.
    pub(super) by_class: Vec<Sum>,
    /// By the index of the record.
    pub(super) by_record: Vec<u64>,
    /// The object that the walk is at, if it has the field: the number of its class, and of its
    /// fields the one with the lowest number so far, and what is in it.
    at: Option<(u32, jint, i32)>,
}

impl<'a> Walk<'a> {
    /// Walks the heap, and looks at what record objects name.
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

    /// Books the object that the walk was at. Of what it holds nothing is taken for granted: it must
    /// be a record, and one of the object's class.
    fn leave(&mut self) {
        if let Some((class, _, record)) = self.at.take()
            && let Ok(record) = u32::try_from(record)
            && self.records.is_of_class(record, class)
        {
            *entry(&mut self.by_record, record as usize) += 1;
        }
    }
}

/// The walk comes to an object or array. Nothing of the JVM may be called.
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

/// A primitive field of that object. perk's is the first that the topmost of its classes declares
/// which declares any, and so has the lowest number of all that are not static: fields of
/// superclasses come before those of subclasses (JVMTI, "Heap Callback: Field Index").
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
