//! The native method of the fixture `AttachingThreads`: a thread of the system that attaches to the JVM and
//! detaches again.
#![allow(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::ffi::c_void;
use std::ptr::null_mut;

/// Functions of JNI and of the invocation interface, by their places in the tables.
const GET_JAVA_VM: usize = 219;
const ATTACH: usize = 4;
const DETACH: usize = 5;

type Table<const N: usize> = *mut *const [*const c_void; N];
type Env = Table<230>;
type Vm = Table<8>;

struct Address(usize);

/// `static native void attach(int count)`
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_AttachingThreads_attach(env: Env, _: *mut c_void, count: i32) {
    type GetVm = unsafe extern "system" fn(Env, *mut Vm) -> i32;
    type Attach = unsafe extern "system" fn(Vm, *mut Env, *mut c_void) -> i32;
    type Detach = unsafe extern "system" fn(Vm) -> i32;
    let mut vm: Vm = null_mut();
    std::mem::transmute::<*const c_void, GetVm>((**env)[GET_JAVA_VM])(env, &mut vm);
    let vm = Address(vm as usize);
    let body = move || {
        let Address(vm) = vm;
        let vm = vm as Vm;
        let attach = std::mem::transmute::<*const c_void, Attach>((**vm)[ATTACH]);
        let detach = std::mem::transmute::<*const c_void, Detach>((**vm)[DETACH]);
        for _ in 0..count {
            let mut env: Env = null_mut();
            assert_eq!(attach(vm, &mut env, null_mut()), 0);
            assert_eq!(detach(vm), 0);
        }
    };
    std::thread::spawn(body).join().expect("it attaches");
}
