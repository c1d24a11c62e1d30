//! Native methods of the fixture `NativeAllocations`, in a library of their own, which the tests
//! compile with rustc. JNI's functions are called by their indexes in its table.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute_copy;
use std::ptr::null;

/// A reference, a method's id or null.
type Id = *const c_void;
/// JNI's functions, which the thread's environment points to.
type Env = *const *const Id;

const FIND_CLASS: usize = 6;
const THROW_NEW: usize = 14;
const DELETE_LOCAL_REF: usize = 23;
const ALLOC_OBJECT: usize = 27;
const NEW_OBJECT_A: usize = 30;
const GET_METHOD_ID: usize = 33;
const NEW_STRING: usize = 163;
const NEW_STRING_UTF: usize = 167;
const NEW_OBJECT_ARRAY: usize = 172;
const SET_OBJECT_ARRAY_ELEMENT: usize = 174;
/// The functions of the other primitive types follow.
const NEW_BOOLEAN_ARRAY: usize = 175;
const NEW_BYTE_ARRAY: usize = 176;
const NEW_LONG_ARRAY: usize = 180;
const NEW_DOUBLE_ARRAY: usize = 182;
const NEW_DIRECT_BYTE_BUFFER: usize = 229;

/// The number of local references that a native method may have without a request, besides its
/// arguments.
const MANY: i32 = 31;

type Name = *const c_char;
type NewArray = extern "system" fn(Env, i32) -> Id;

/// Returns the function at an index of the table.
///
/// # Safety
/// It must be of the type.
unsafe fn function<F>(env: Env, place: usize) -> F {
    // SAFETY: the caller's promise.
    unsafe { transmute_copy(&*(*env).add(place)) }
}

/// Makes, n times: boolean[1], byte[2], char[3], short[4], int[5], long[6], float[7], double[8],
/// Plain[9]; the strings "", "hello" and one that is not Latin-1; Plain with and without its
/// constructor; a buffer. If there is an array for it, the second string is kept.
///
/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_NativeAllocations_make(
    env: Env,
    _: Id,
    n: i32,
    plain: Id,
    kept: Id,
) {
    // SAFETY: the functions are of these types; all references are valid, or null where that is
    // allowed.
    unsafe {
        let delete: extern "system" fn(Env, Id) = function(env, DELETE_LOCAL_REF);
        let string: extern "system" fn(Env, *const u16, i32) -> Id = function(env, NEW_STRING);
        let string_utf: extern "system" fn(Env, Name) -> Id = function(env, NEW_STRING_UTF);
        let array: extern "system" fn(Env, i32, Id, Id) -> Id = function(env, NEW_OBJECT_ARRAY);
        let set: extern "system" fn(Env, Id, i32, Id) = function(env, SET_OBJECT_ARRAY_ELEMENT);
        let allocate: extern "system" fn(Env, Id) -> Id = function(env, ALLOC_OBJECT);
        let method: extern "system" fn(Env, Id, Name, Name) -> Id = function(env, GET_METHOD_ID);
        let new: extern "system" fn(Env, Id, Id, Id) -> Id = function(env, NEW_OBJECT_A);
        let buffer: extern "system" fn(Env, Id, i64) -> Id = function(env, NEW_DIRECT_BYTE_BUFFER);
        let constructor = method(env, plain, c"<init>".as_ptr(), c"()V".as_ptr());
        let text: Vec<u16> = "Grüß €".encode_utf16().collect();
        for i in 0..n {
            for (place, length) in (NEW_BOOLEAN_ARRAY..=NEW_DOUBLE_ARRAY).zip(1..) {
                delete(env, function::<NewArray>(env, place)(env, length));
            }
            delete(env, array(env, 9, plain, null()));
            delete(env, string_utf(env, c"".as_ptr()));
            let hello = string_utf(env, c"hello".as_ptr());
            if !kept.is_null() {
                set(env, kept, i, hello);
            }
            delete(env, hello);
            delete(env, string(env, text.as_ptr(), text.len() as i32));
            delete(env, allocate(env, plain));
            delete(env, new(env, plain, constructor, null()));
            delete(env, buffer(env, text.as_ptr().cast(), 2));
        }
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_NativeAllocations_many(env: Env, _: Id) {
    for _ in 0..MANY {
        // SAFETY: the function is of this type.
        unsafe { function::<NewArray>(env, NEW_BYTE_ARRAY)(env, 100) };
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_NativeAllocations_pending(env: Env, _: Id, n: i32) {
    const CLASS: &CStr = c"java/lang/IllegalStateException";
    // SAFETY: the functions are of these types.
    unsafe {
        let find: extern "system" fn(Env, Name) -> Id = function(env, FIND_CLASS);
        let throw: extern "system" fn(Env, Id, Name) -> i32 = function(env, THROW_NEW);
        throw(env, find(env, CLASS.as_ptr()), c"pending".as_ptr());
        for _ in 0..n {
            function::<NewArray>(env, NEW_LONG_ARRAY)(env, 77);
        }
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_NativeAllocations_refused(env: Env, _: Id) {
    // SAFETY: the function is of this type.
    unsafe { function::<NewArray>(env, NEW_BYTE_ARRAY)(env, -1) };
}
