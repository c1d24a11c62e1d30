//! An agent that has a capability which the JVM gives to one agent alone.

use std::ffi::{c_char, c_int, c_void};

type GetEnv = unsafe extern "system" fn(*mut c_void, *mut *mut c_void, c_int) -> c_int;
type AddCapabilities = unsafe extern "system" fn(*mut c_void, *const [u64; 2]) -> c_int;

const JVMTI_VERSION: c_int = 0x3001_0000;
/// The places of `GetEnv` and `AddCapabilities` in their tables.
const GET_ENV: usize = 6;
const ADD_CAPABILITIES: usize = 141;
/// `can_generate_sampled_object_alloc_events`
const SAMPLED_ALLOCATIONS: u64 = 1 << 43;

#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut c_void,
    _: *mut c_char,
    _: *mut c_void,
) -> c_int {
    let mut env = std::ptr::null_mut();
    // SAFETY: the JVM passes itself, and an environment begins with its table, whose places are those
    // of the specification.
    unsafe {
        let table = *vm.cast::<*const GetEnv>();
        (*table.add(GET_ENV))(vm, &raw mut env, JVMTI_VERSION);
        let table = *env.cast::<*const AddCapabilities>();
        (*table.add(ADD_CAPABILITIES))(env, &[SAMPLED_ALLOCATIONS, 0])
    }
}
