//! The native method of the fixture `ExtendedAccesses`, in a library of its own, which the tests
//! compile with rustc. JNI's functions are called by their indexes in its table.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute_copy;
use std::ptr::null_mut;

/// A reference, a field's id or null.
type Id = *const c_void;
/// JNI's functions, which the thread's environment points to.
type Env = *const *const Id;

const THROW_NEW: usize = 14;
const FIND_CLASS: usize = 6;
const EXCEPTION_CLEAR: usize = 17;
const GET_OBJECT_CLASS: usize = 31;
const GET_FIELD_ID: usize = 94;
const GET_INT_FIELD: usize = 100;
const SET_OBJECT_FIELD: usize = 104;
const SET_INT_FIELD: usize = 109;
const GET_ARRAY_LENGTH: usize = 171;
const GET_OBJECT_ARRAY_ELEMENT: usize = 173;
const SET_OBJECT_ARRAY_ELEMENT: usize = 174;
const GET_INT_ARRAY_ELEMENTS: usize = 187;
const RELEASE_INT_ARRAY_ELEMENTS: usize = 195;
const GET_INT_ARRAY_REGION: usize = 203;
const SET_INT_ARRAY_REGION: usize = 211;
const GET_PRIMITIVE_ARRAY_CRITICAL: usize = 222;
const RELEASE_PRIMITIVE_ARRAY_CRITICAL: usize = 223;

/// The components are not copied back.
const ABORT: i32 = 2;

type Name = *const c_char;
type GetClass = extern "system" fn(Env, Id) -> Id;
type FindClass = extern "system" fn(Env, Name) -> Id;
type Throw = extern "system" fn(Env, Id, Name) -> i32;
type Clear = extern "system" fn(Env);
type GetId = extern "system" fn(Env, Id, Name, Name) -> Id;
type GetInt = extern "system" fn(Env, Id, Id) -> i32;
type SetInt = extern "system" fn(Env, Id, Id, i32);
type SetObject = extern "system" fn(Env, Id, Id, Id);
type Length = extern "system" fn(Env, Id) -> i32;
type GetElement = extern "system" fn(Env, Id, i32) -> Id;
type SetElement = extern "system" fn(Env, Id, i32, Id);
type GetRegion = extern "system" fn(Env, Id, i32, i32, *mut i32);
type SetRegion = extern "system" fn(Env, Id, i32, i32, *const i32);
type GetAll = extern "system" fn(Env, Id, *mut u8) -> *mut i32;
type Release = extern "system" fn(Env, Id, *mut i32, i32);

/// Returns the function at an index of the table.
///
/// # Safety
/// It must be of the type.
unsafe fn function<F>(env: Env, place: usize) -> F {
    // SAFETY: the caller's promise.
    unsafe { transmute_copy(&*(*env).add(place)) }
}

/// Reads and writes `number` once each, writes `reference` twice; reads the length of `ints` once, 3
/// and then 10 of its components, and 10 more in a critical region; writes 4, 10 and 10 of them;
/// reads and writes the 6 of `bytes` in a region inside that one; reads one of `objects` and writes
/// one. Some of it with a pending exception.
///
/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_ExtendedAccesses_access(
    env: Env,
    _: Id,
    object: Id,
    ints: Id,
    bytes: Id,
    objects: Id,
) {
    // SAFETY: the functions are of these types; all references are valid, the fields are those of
    // the object's class, and all indexes are in the arrays.
    unsafe {
        let class = function::<GetClass>(env, GET_OBJECT_CLASS)(env, object);
        let field = |name: &CStr, kind: &CStr| {
            function::<GetId>(env, GET_FIELD_ID)(env, class, name.as_ptr(), kind.as_ptr())
        };
        let number = field(c"number", c"I");
        let value = function::<GetInt>(env, GET_INT_FIELD)(env, object, number);
        function::<SetInt>(env, SET_INT_FIELD)(env, object, number, value + 1);
        let reference = field(c"reference", c"Ljava/lang/Object;");
        function::<SetObject>(env, SET_OBJECT_FIELD)(env, object, reference, ints);
        function::<SetObject>(env, SET_OBJECT_FIELD)(env, object, reference, objects);

        assert_eq!(function::<Length>(env, GET_ARRAY_LENGTH)(env, ints), 10);
        let mut some = [0; 4];
        function::<GetRegion>(env, GET_INT_ARRAY_REGION)(env, ints, 5, 3, some.as_mut_ptr());
        function::<SetRegion>(env, SET_INT_ARRAY_REGION)(env, ints, 0, 4, some.as_ptr());
        let release = function::<Release>(env, RELEASE_INT_ARRAY_ELEMENTS);
        let all = function::<GetAll>(env, GET_INT_ARRAY_ELEMENTS)(env, ints, null_mut());
        *all.add(9) += 1;
        let exception = c"java/lang/Error".as_ptr();
        let error = function::<FindClass>(env, FIND_CLASS)(env, exception);
        function::<Throw>(env, THROW_NEW)(env, error, exception);
        release(env, ints, all, 0);
        function::<Clear>(env, EXCEPTION_CLEAR)(env);

        let get = function::<GetAll>(env, GET_PRIMITIVE_ARRAY_CRITICAL);
        let release = function::<Release>(env, RELEASE_PRIMITIVE_ARRAY_CRITICAL);
        let outer = get(env, ints, null_mut());
        let inner = get(env, bytes, null_mut());
        release(env, bytes, inner, 0);
        release(env, ints, outer, 0);
        let unchanged = get(env, bytes, null_mut());
        release(env, bytes, unchanged, ABORT);

        let first = function::<GetElement>(env, GET_OBJECT_ARRAY_ELEMENT)(env, objects, 0);
        function::<SetElement>(env, SET_OBJECT_ARRAY_ELEMENT)(env, objects, 1, first);
    }
}
