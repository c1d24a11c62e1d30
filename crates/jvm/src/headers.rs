//! The headers of objects, which a walk of the heap can read: the JVM stands still meanwhile.
//!
//! The JVM passes a place for the tag of each object to a callback of the walk. In HotSpot this is
//! in a record of the object that has its address, its size, its tag and the tag of its class, in
//! this order. Whether that is so is found out before it is used.

use std::ffi::c_void;
use std::ptr::null_mut;

use perk_hotspot::layout::FieldKind;
use perk_jvmti_sys::jni_sys::{jint, jlong};
use perk_jvmti_sys::{call, jvmtiHeapCallbacks, jvmtiPrimitiveType};

use crate::sweep::stay;
use crate::{Jni, Jvmti, Reference};

/// The bits of a header that show the state of an object.
const STATE_MASK: u64 = 7;
/// The state of an object that is not locked, and may have an identity hash.
const FREE: u64 = 1;
/// Selects the bits of the state that say whether the object is locked.
const LOCKED_MASK: u64 = 3;
/// The bits of an identity hash.
const HASH_MASK: u64 = 0x7fff_ffff;

/// The place of identity hashes in headers.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    hash_shift: u32,
    /// The bit that perk sets with a hash.
    mark: u64,
}

/// The header of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// An identity hash that perk has written: the bit below it, which HotSpot does not use, is set.
    Marked(u32),
    /// An identity hash of the JVM; 0 if the object does not have one.
    Hash(u32),
    /// The object is locked, and its identity hash is elsewhere.
    Locked,
}

impl Headers {
    /// Returns the headers of this JVM, if walks give the addresses of objects. The lowest bit of the
    /// hash is 0 if perk writes none.
    pub fn find(jvmti: Jvmti, jni: Jni<'_>, hash_shift: u32) -> Option<Self> {
        let mark = if hash_shift > 0 { 1 << (hash_shift - 1) } else { 0 };
        walks_give_addresses(jvmti, jni).then_some(Self { hash_shift, mark })
    }

    /// Returns the address and the header of the object that a walk is at, by the pointer to its
    /// tag.
    ///
    /// # Safety
    /// The JVM must have passed the pointer to a callback that has not returned.
    pub unsafe fn of_walked(self, tag: *const jlong) -> (u64, Header) {
        // SAFETY: the caller's promise; `find` has made sure that the address precedes.
        let (address, header) = unsafe {
            let address = *tag.sub(2) as u64;
            (address, *(address as *const u64))
        };
        let hash = (header >> self.hash_shift & HASH_MASK) as u32;
        let header = match (header & STATE_MASK, header & LOCKED_MASK) {
            (FREE, _) if header & self.mark != 0 => Header::Marked(hash),
            (FREE, _) => Header::Hash(hash),
            // With biased locking; such an object does not have a hash.
            (_, FREE) => Header::Hash(0),
            _ => Header::Locked,
        };
        (address, header)
    }
}

/// Whether the address of an object is where [`Headers::of_walked`] looks for it. An array of bytes
/// is walked to: its elements, of which the JVM passes the address, follow its header.
fn walks_give_addresses(jvmti: Jvmti, jni: Jni<'_>) -> bool {
    struct HeaderSearch {
        base_bytes: u64,
        is_there: bool,
    }
    unsafe extern "system" fn elements(
        class_tag: jlong,
        size: jlong,
        tag: *mut jlong,
        _: jint,
        _: jvmtiPrimitiveType,
        elements: *const c_void,
        looked: *mut c_void,
    ) -> jint {
        // SAFETY: this is the argument passed below; the words around the tag are of the caller's
        // frame.
        unsafe {
            let looked = &mut *looked.cast::<HeaderSearch>();
            let address = (elements as u64).wrapping_sub(looked.base_bytes);
            let expected = [address as jlong, size, 0, class_tag];
            looked.is_there = [-2, -1, 0, 1].map(|at: isize| *tag.offset(at)) == expected;
        }
        0
    }
    let Some(layout) = jvmti.object_layout(jni) else { return false };
    let Some(array) = jni.new_byte_array(1) else { return false };
    let base_bytes = layout.array_base_bytes(FieldKind::OneByte);
    let mut looked = HeaderSearch { base_bytes, is_there: false };
    let callbacks = jvmtiHeapCallbacks {
        heap_reference_callback: Some(stay),
        array_primitive_value_callback: Some(elements),
        ..Default::default()
    };
    let argument = std::ptr::from_mut(&mut looked).cast();
    let (env, array) = (jvmti.raw(), array.raw());
    // SAFETY: the environment and reference are valid; the callbacks do not call the JVM.
    let walked =
        unsafe { call!(env, FollowReferences, 0, null_mut(), array, &callbacks, argument).ok() };
    walked.is_ok() && looked.is_there
}
