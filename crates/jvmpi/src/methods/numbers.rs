//! The numbers that probes pass for methods. A method has no id of the JVM's before its class is
//! defined, so each number gets the id at the method's first call.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::state::STATE;
use crate::state::entries::{CHUNK, CHUNKS, Chunk};
use perk_jvm::MethodRef;
use perk_jvmti_sys::jni_sys::{jint, jmethodID};
use perk_jvmti_sys::jvmpi::JVMPI_EVENT_CLASS_LOAD;

use super::super::{bridge, notify};

/// Returns a number that no method has; `None` if there are no more.
pub(super) fn next() -> Option<u32> {
    let number = STATE.numbers.next.fetch_add(1, Relaxed);
    let index = number as usize / CHUNK;
    let Some(place) = STATE.numbers.table.get(index) else {
        // The counter stays where it is, so that it does not begin again.
        STATE.numbers.next.store((CHUNK * CHUNKS) as u32, Relaxed);
        return None;
    };
    if place.load(Acquire).is_null() {
        // A chunk is larger than the stacks of some threads.
        // SAFETY: a null pointer is all zeros.
        let new = Box::into_raw(unsafe { Box::<Chunk>::new_zeroed().assume_init() });
        if place.compare_exchange(null_mut(), new, Release, Acquire).is_err() {
            // SAFETY: another thread was first; nobody knows this chunk.
            drop(unsafe { Box::from_raw(new) });
        }
    }
    Some(number)
}

/// Returns the method of a number, which `find` finds at its first call; null if it does not.
pub(super) fn method(number: i32, find: impl FnOnce() -> jmethodID) -> jmethodID {
    let number = number as usize;
    let chunk =
        STATE.numbers.table.get(number / CHUNK).map_or(null_mut(), |place| place.load(Acquire));
    // SAFETY: chunks are never freed.
    let Some(chunk) = (unsafe { chunk.as_ref() }) else { return null_mut() };
    let place = &chunk[number % CHUNK];
    let known = place.load(Relaxed);
    if !known.is_null() {
        return known.cast();
    }
    let found = find();
    place.store(found.cast(), Relaxed);
    found
}

/// Returns the method of a number, whose frame is below this number of frames of the helper.
pub(crate) fn of_number(number: jint, helper_frames: jint) -> jmethodID {
    method(number, || {
        let found = bridge().and_then(|bridge| {
            let method = bridge.jvmti.frame_method(helper_frames)?;
            // A class that perk's own work prepares may be used before it is announced.
            if notify::is_enabled(JVMPI_EVENT_CLASS_LOAD)
                && let Some(jni) = bridge.current_jni()
            {
                // SAFETY: it is the method of a frame, which is there.
                let method = unsafe { MethodRef::from_raw(method) };
                jni.without_exception(|| _ = bridge.announce_method(jni, method));
            }
            Some(method)
        });
        found.unwrap_or(null_mut())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_found_once() {
        let number = next().unwrap() as i32;
        let id = 0x1230 as jmethodID;
        assert!(method(number, null_mut).is_null());
        assert_eq!(method(number, || id), id);
        assert_eq!(method(number, || unreachable!("it is known")), id);
        assert!(method(i32::MAX, || id).is_null());
    }
}
