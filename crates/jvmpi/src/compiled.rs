//! COMPILED_METHOD_LOAD and COMPILED_METHOD_UNLOAD. JVMTI tells of them on threads of the JVM's own that the
//! agent does not know, so the bridge's thread sends them, in their order.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use perk_jvmti_sys::jni_sys::{jint, jmethodID};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
    JVMPI_Event_compiled_method_load, JVMPI_Event_u, JVMPI_Lineno,
};
use perk_jvmti_sys::{
    JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD, JvmtiEnv,
    jvmtiAddrLocationMap,
};

use super::{Bridge, bridge, events, gc, notify};
use perk_jvm::guard::{Feature, contain};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, LineTable, MethodRef};

/// The room for references of a handler.
const ROOM: u8 = 16;

/// What is to be sent.
#[derive(Debug)]
enum Change {
    Load(Code),
    Unload {
        method: MethodRef,
        address: usize,
        /// Whether COMPILED_METHOD_LOAD of it is in the queue before.
        is_known: bool,
    },
}

/// A method's code.
#[derive(Debug)]
struct Code {
    method: MethodRef,
    address: usize,
    size_bytes: jint,
    lines: Vec<(jint, jint)>,
}

static QUEUE: Mutex<VecDeque<Change>> = Mutex::new(VecDeque::new());
/// The addresses of the code that the agent knows, as the JVM may tell of one twice when it is asked
/// for what is there.
static KNOWN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Has the JVM tell of compiled methods, those that are there first.
pub(super) fn switch_load(bridge: &'static Bridge, on: bool) {
    if on {
        require(bridge);
    }
    events::set(bridge, JVMTI_EVENT_COMPILED_METHOD_LOAD, on);
    if IS_ON.swap(on, SeqCst) == on {
        return;
    }
    if on {
        let _ = bridge.jvmti.generate_events(JVMTI_EVENT_COMPILED_METHOD_LOAD);
    } else {
        lock(&KNOWN).clear();
    }
}

/// Has the JVM tell of code that it drops.
pub(super) fn switch_unload(bridge: &'static Bridge, on: bool) {
    if on {
        require(bridge);
    }
    events::set(bridge, JVMTI_EVENT_COMPILED_METHOD_UNLOAD, on);
}

fn require(bridge: &'static Bridge) {
    if let Some(jni) = bridge.current_jni() {
        jni.without_exception(|| gc::require(bridge, jni));
    }
}

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
            || !lock(&KNOWN).insert(address as usize)
        {
            return;
        }
        // SAFETY: the JVM passes one of its methods and an array of so many entries.
        let (method, map) =
            unsafe { (MethodRef::from_raw(method), bridge.jvmti.slice(count, map)) };
        let lines = bridge.jvmti.line_table(method).unwrap_or_default();
        let places = map.iter().map(|it| {
            let offset = (it.start_address as usize).wrapping_sub(address as usize);
            (offset, it.location)
        });
        let lines = lines_of(places, &lines);
        push(Change::Load(Code { method, address: address as usize, size_bytes, lines }));
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
        let is_known = lock(&KNOWN).remove(&address);
        if !is_known && IS_ON.load(SeqCst) {
            return;
        }
        // SAFETY: the id was one of the JVM's; the JVM looks whether it is still one.
        let method = unsafe { MethodRef::from_raw(method) };
        push(Change::Unload { method, address, is_known });
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

fn push(change: Change) {
    lock(&QUEUE).push_back(change);
    gc::wake();
}

/// Whether all were sent.
pub(super) fn is_settled() -> bool {
    lock(&QUEUE).is_empty()
}

/// Sends what has come, on the bridge's thread. No event is sent of the code of perk's own methods, nor of
/// that of a class which is unloaded.
pub(super) fn send(bridge: &Bridge, jni: Jni<'_>) {
    /// The addresses of the code whose COMPILED_METHOD_LOAD was not sent.
    static UNTOLD: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    let next = || lock(&QUEUE).pop_front();
    while let Some(change) = next() {
        jni.with_room(ROOM, || match change {
            Change::Load(code) if bridge.announce_method(jni, code.method) => {
                lock(&UNTOLD).remove(&code.address);
                send_load(jni, &code);
            }
            Change::Load(code) => _ = lock(&UNTOLD).insert(code.address),
            Change::Unload { address, is_known: true, .. } if lock(&UNTOLD).remove(&address) => {}
            Change::Unload { method, is_known: false, .. } if bridge.is_own_method(jni, method) => {
            }
            Change::Unload { method, address, .. } => {
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

fn send_load(jni: Jni<'_>, code: &Code) {
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
