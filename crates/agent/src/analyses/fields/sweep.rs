//! The sweep: a walk of the heap marks the records of all objects that exist; the records of others
//! are written and freed.
//!
//! The records of a slab in use are left alone: an object may have been made but not hold its index
//! yet. Only the thread of the slab can be at this point, and it ends its slab after that.

use std::ffi::c_void;
use std::ops::Range;

use perk_jvm::probes::seed_of;
use perk_jvm::{FOUND, Header, Headers, Jni, Reference};
use perk_jvmti_sys::jni_sys::{jint, jlong, jvalue};
use perk_jvmti_sys::{JVMTI_VISIT_OBJECTS, jvmtiHeapCallbacks};

use super::SharedFields;
use super::records::{Record, Records, TAGGED};

/// The marks of records.
struct Marks<'a> {
    records: &'a Records,
    headers: Headers,
    /// The offset of the record's field by the number of the class; 0 if there is none.
    offsets: Vec<u32>,
    /// A bit per unit.
    bits: Vec<u64>,
}

impl Marks<'_> {
    fn set(&mut self, index: u32) {
        if let Some(word) = self.bits.get_mut(index as usize / 64) {
            *word |= 1 << (index % 64);
        }
    }

    fn has(&self, index: u32) -> bool {
        self.bits[index as usize / 64] & 1 << (index % 64) != 0
    }

    /// Marks the record of the object that a walk is at.
    ///
    /// # Safety
    /// The tag must be that of the object that the walk is at.
    unsafe fn object(&mut self, class: u32, tag: *mut jlong) {
        // SAFETY: the caller's promise.
        let (address, header) = unsafe { self.headers.of_walked(tag) };
        let offset = self.offsets.get(class as usize).copied().unwrap_or(0);
        // SAFETY: the caller's promise: the tag is that of an object of the walk.
        let tagged = unsafe { *tag };
        if tagged & TAGGED != 0 && tagged > 0 {
            self.set(tagged as u32);
        } else if offset != 0 {
            // SAFETY: the objects of the class have the field at this offset.
            self.set(unsafe { *((address + u64::from(offset)) as *const u32) });
        } else {
            match header {
                Header::Marked(hash) => self.set(seed_of(hash)),
                // One of the JVM leads to no record.
                Header::Hash(_) => {}
                // SAFETY: the caller's promise: the tag is that of an object of the walk.
                Header::Locked if tagged == 0 => unsafe { *tag = FOUND },
                Header::Locked => {}
            }
        }
    }
}

impl SharedFields {
    /// Writes and frees the records of objects that do not exist any more.
    pub(super) fn sweep(&self, jni: Jni<'_>) {
        let (Some(headers), Some(helper)) = (self.headers(), self.helper()) else { return };
        let records = &self.records;
        let Some(ranges) = records.begin_sweep() else { return };
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let bits = vec![0; end as usize / 64 + 1];
        let offsets = self.classes.offsets();
        let mut marks = Marks { records, headers, offsets, bits };
        let jvmti = self.common.jvmti;
        let callbacks =
            jvmtiHeapCallbacks { heap_iteration_callback: Some(object), ..Default::default() };
        let argument = std::ptr::from_mut(&mut marks).cast();
        // SAFETY: the callback is passed the marks, by the thread that has them borrowed.
        if unsafe { jvmti.iterate_through_heap(&callbacks, argument) }.is_err() {
            records.end_sweep(Vec::new());
            return;
        }
        for object in jvmti.take_tagged(jni, FOUND).unwrap_or_default() {
            let arguments = [jvalue { l: object.raw() }];
            let signature = c"(Ljava/lang/Object;)J";
            // SAFETY: the arguments are those of the helper's method.
            let hash =
                unsafe { jni.call_static_long(helper, c"identityOf", signature, &arguments) };
            marks.set(seed_of(hash.unwrap_or(0) as u32));
        }
        let mut holes = Vec::new();
        for range in ranges {
            self.free_dead(&marks, range, &mut holes);
        }
        records.end_sweep(holes);
        self.flush();
    }

    /// Writes and frees the records of a range that have no mark.
    fn free_dead(&self, marks: &Marks<'_>, range: Range<u32>, holes: &mut Vec<Range<u32>>) {
        let records = marks.records;
        let mut free: Option<Range<u32>> = None;
        let mut at = range.start;
        while at < range.end {
            let (class, len) = records.part(at);
            if len == 0 {
                break;
            }
            if class != 0 && marks.has(at) {
                holes.extend(free.take().filter(|free| records.free(free, &range)));
            } else {
                if class != 0 {
                    self.write(Record::at(records, at));
                    records.end(at);
                }
                free = Some(free.map_or(at, |free| free.start)..at + len);
            }
            at += len;
        }
        holes.extend(free.filter(|free| records.free(free, &range)));
    }
}

/// Handles an object or array that the walk reaches. The JVM must not be called.
unsafe extern "system" fn object(
    class_tag: jlong,
    _: jlong,
    tag: *mut jlong,
    _: jint,
    marks: *mut c_void,
) -> jint {
    // SAFETY: `sweep` passed it; the JVM passes the tag of this object.
    unsafe { (*marks.cast::<Marks<'_>>()).object(u32::try_from(class_tag).unwrap_or(0), tag) };
    JVMTI_VISIT_OBJECTS
}
