//! The native methods of the fixture `MonitorOwners`: what is read of a monitor.
//!
//! rustc compiles it without cargo, so it includes the module that it tests.
#![allow(missing_docs, dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::ffi::c_void;
use std::sync::OnceLock;

#[path = "../../src"]
mod src {
    #[allow(unused_imports)]
    pub mod vm;
}
#[path = "../support/process.rs"]
mod process;
use process::{Exports, dlopen};
use src::vm::{Memory, MonitorOwner, Monitors};

/// Functions of JNI, by their places in the table.
const NEW_GLOBAL_REF: usize = 21;
const DELETE_GLOBAL_REF: usize = 22;
const ARRAY_LENGTH: usize = 171;
const GET_LONGS: usize = 204;
const SET_LONGS: usize = 212;

type Env = *mut *const [*const c_void; 230];

struct ProcessMemory;

impl Memory for ProcessMemory {
    fn word(&self, address: usize) -> Option<usize> {
        process::word(address)
    }
}

fn monitors() -> Option<&'static Monitors> {
    static MONITORS: OnceLock<Option<Monitors>> = OnceLock::new();
    let read = || {
        // RTLD_NOW | RTLD_NOLOAD
        let exports = Exports(unsafe { dlopen(c"libjvm.so".as_ptr(), 2 | 4) });
        match Monitors::new(&ProcessMemory, &exports) {
            Ok(monitors) => Some(monitors),
            Err(missing) => {
                println!("missing={missing}");
                None
            }
        }
    };
    MONITORS.get_or_init(read).as_ref()
}

/// `static native void owner(Object monitor, long[] threads, long[] found)`: whether it is known, the place
/// of the owner or -1, its id or 0, the count or 0; the place is -2 if nobody has it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_MonitorOwners_owner(
    env: Env,
    _: *mut c_void,
    monitor: *mut c_void,
    threads: *mut c_void,
    found: *mut c_void,
) {
    type Reference = unsafe extern "system" fn(Env, *mut c_void) -> *mut c_void;
    type Length = unsafe extern "system" fn(Env, *mut c_void) -> i32;
    type Longs = unsafe extern "system" fn(Env, *mut c_void, i32, i32, *mut i64);
    let function = |index: usize| (**env)[index];
    let length = std::mem::transmute::<*const c_void, Length>(function(ARRAY_LENGTH))(env, threads);
    let mut addresses = vec![0_i64; length as usize];
    let get = std::mem::transmute::<*const c_void, Longs>(function(GET_LONGS));
    get(env, threads, 0, length, addresses.as_mut_ptr());
    let addresses: Vec<usize> = addresses.into_iter().map(|address| address as usize).collect();
    let reference = std::mem::transmute::<*const c_void, Reference>(function(NEW_GLOBAL_REF));
    let global = reference(env, monitor);
    let owner = monitors().and_then(|it| it.owner(&ProcessMemory, global as usize, &addresses));
    std::mem::transmute::<*const c_void, Reference>(function(DELETE_GLOBAL_REF))(env, global);
    let mut answer = match owner {
        None => [0, -2, 0, 0],
        Some(None) => [1, -2, 0, 0],
        Some(Some(MonitorOwner { thread, id, entry_count })) => [
            1,
            thread.map_or(-1, |thread| thread as i64),
            id.map_or(0, |id| id as i64),
            entry_count.map_or(0, i64::from),
        ],
    };
    let set = std::mem::transmute::<*const c_void, Longs>(function(SET_LONGS));
    set(env, found, 0, answer.len() as i32, answer.as_mut_ptr());
}
