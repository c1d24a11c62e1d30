//! COMPILED_METHOD_LOAD and COMPILED_METHOD_UNLOAD. JVMTI reports them on threads of the JVM's own that the
//! agent does not know, so the bridge's thread sends them, in their order.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::SeqCst;

use perk_jvmti_sys::jni_sys::{jint, jmethodID};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
    JVMPI_Event_compiled_method_load, JVMPI_Event_u, JVMPI_Lineno,
};
use perk_jvmti_sys::{JvmtiEnv, jvmtiAddrLocationMap};

use super::{Bridge, bridge, gc, notify};
use crate::state::STATE;
use crate::state::entries::{CodeChange, MethodCode};
use perk_jvm::guard::{Feature, contain};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, LineTable, MethodRef};

/// The room for references of a handler.
const ROOM: u8 = 16;

/// `CompiledMethodLoad`
pub(super) unsafe extern "system" fn compiled_method_load(
    _: JvmtiEnv,
    method: jmethodID,
    size_bytes: jint,
    address: *const c_void,
    count: jint,
    map: *const jvmtiAddrLocationMap,
    _: *const c_void,
) {
    contain(Feature::Jvmpi, || {
        let Some(bridge) = bridge() else { return };
        if !notify::is_enabled(JVMPI_EVENT_COMPILED_METHOD_LOAD)
            || !lock(&STATE.compiled.known).insert(address as usize)
        {
            return;
        }
        // SAFETY: the JVM passes one of its methods and an array of `count` entries.
        let (method, map) =
            unsafe { (MethodRef::from_raw(method), bridge.jvmti.slice(count, map)) };
        let lines = bridge.jvmti.line_table(method).unwrap_or_default();
        let places = map.iter().map(|it| {
            let offset = (it.start_address as usize).wrapping_sub(address as usize);
            (offset, it.location)
        });
        let lines = lines_of(places, &lines);
        push(CodeChange::Load(MethodCode { method, address: address as usize, size_bytes, lines }));
    });
}

/// `CompiledMethodUnload`
pub(super) unsafe extern "system" fn compiled_method_unload(
    _: JvmtiEnv,
    method: jmethodID,
    address: *const c_void,
) {
    contain(Feature::Jvmpi, || {
        let address = address as usize;
        let is_known = lock(&STATE.compiled.known).remove(&address);
        if !is_known && STATE.compiled.is_on.load(SeqCst) {
            return;
        }
        // SAFETY: the id was one of the JVM's; the JVM looks whether it is still one.
        let method = unsafe { MethodRef::from_raw(method) };
        push(CodeChange::Unload { method, address, is_known });
    });
}

/// Returns the line of each place in the code: the offset, and the line.
fn lines_of(places: impl Iterator<Item = (usize, i64)>, lines: &LineTable) -> Vec<(jint, jint)> {
    let of_place = |(offset, bci): (usize, i64)| {
        let at = lines.partition_point(|(begin, _)| *begin <= bci).checked_sub(1)?;
        Some((jint::try_from(offset).ok()?, lines[at].1 as jint))
    };
    places.filter_map(of_place).collect()
}

fn push(change: CodeChange) {
    lock(&STATE.compiled.queue).push_back(change);
    gc::wake();
}

/// Whether all were sent.
pub(super) fn is_settled() -> bool {
    lock(&STATE.compiled.queue).is_empty()
}

/// Sends what has come, on the bridge's thread. No event is sent of the code of perk's own methods, nor of
/// that of a class which is unloaded.
pub(super) fn send(bridge: &Bridge, jni: Jni<'_>) {
    let next = || lock(&STATE.compiled.queue).pop_front();
    while let Some(change) = next() {
        jni.with_room(ROOM, || match change {
            CodeChange::Load(code) if bridge.announce_method(jni, code.method) => {
                lock(&STATE.compiled.unreported).remove(&code.address);
                send_load(jni, &code);
            }
            CodeChange::Load(code) => _ = lock(&STATE.compiled.unreported).insert(code.address),
            CodeChange::Unload { address, is_known: true, .. }
                if lock(&STATE.compiled.unreported).remove(&address) => {}
            CodeChange::Unload { method, is_known: false, .. }
                if bridge.is_own_method(jni, method) => {}
            CodeChange::Unload { method, address, .. } => {
                // The event of old headers ends after the method; the address is where that of the load
                // has it.
                let compiled_method_load = JVMPI_Event_compiled_method_load {
                    method_id: method.raw(),
                    code_addr: address as *mut c_void,
                    code_size: 0,
                    lineno_table_size: 0,
                    lineno_table: null_mut(),
                };
                notify::send(JVMPI_EVENT_COMPILED_METHOD_UNLOAD, jni.raw(), || JVMPI_Event_u {
                    compiled_method_load,
                });
            }
        });
    }
}

fn send_load(jni: Jni<'_>, code: &MethodCode) {
    let line = |&(offset, lineno): &(jint, jint)| JVMPI_Lineno { offset, lineno };
    let mut lines: Vec<_> = code.lines.iter().map(line).collect();
    let compiled_method_load = JVMPI_Event_compiled_method_load {
        method_id: code.method.raw(),
        code_addr: code.address as *mut c_void,
        code_size: code.size_bytes,
        lineno_table_size: lines.len() as jint,
        lineno_table: if lines.is_empty() { null_mut() } else { lines.as_mut_ptr() },
    };
    notify::send(JVMPI_EVENT_COMPILED_METHOD_LOAD, jni.raw(), || JVMPI_Event_u {
        compiled_method_load,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_code_have_the_lines_of_their_bytecodes() {
        let lines = vec![(2, 10), (5, 11), (9, 10)];
        let places = [(0, 0), (4, 2), (8, 4), (12, 5), (16, 20), (usize::MAX, 5)];
        let expected = [(4, 10), (8, 10), (12, 11), (16, 10)];
        assert_eq!(lines_of(places.into_iter(), &lines), expected);
        assert_eq!(lines_of(places.into_iter(), &Vec::new()), []);
    }
}
