//! Native methods of the fixture `CallsNatives`, in a library of their own, which the tests compile
//! with rustc. JNI's functions are called by their indexes in its table.

use std::ffi::{c_char, c_void};
use std::mem::transmute_copy;

/// A reference, a method's id or null.
type Id = *const c_void;
/// JNI's functions, which the thread's environment points to.
type Env = *const *const Id;
type Name = *const c_char;

const FIND_CLASS: usize = 6;
const THROW_NEW: usize = 14;
const GET_OBJECT_CLASS: usize = 31;
const GET_METHOD_ID: usize = 33;
const CALL_INT_METHOD_A: usize = 51;
const GET_STATIC_METHOD_ID: usize = 113;
const CALL_STATIC_INT_METHOD_A: usize = 131;
const GET_STRING_UTF_LENGTH: usize = 168;
const GET_ARRAY_LENGTH: usize = 171;
const REGISTER_NATIVES: usize = 215;
const EXCEPTION_CHECK: usize = 228;

const INT_TO_INT: Name = c"(I)I".as_ptr();

/// Returns the function at an index of the table.
///
/// # Safety
/// It must be of the type.
unsafe fn function<F>(env: Env, place: usize) -> F {
    // SAFETY: the caller's promise.
    unsafe { transmute_copy(&*(*env).add(place)) }
}

/// Defines methods `(I)I` that return their argument times a number.
macro_rules! times {
    ($($name:ident = $times:expr;)+) => {
        $(#[unsafe(no_mangle)]
        pub extern "system" fn $name(_: Env, _: Id, i: i32) -> i32 {
            i.wrapping_mul($times)
        })+
    };
}

times! {
    Java_CallsNatives_00024Base_act = 2;
    Java_CallsNatives_00024Base_inherited = 3;
    Java_CallsNatives_00024Base_overridden = 5;
    Java_CallsNatives_00024Base_hidden = 7;
    Java_CallsNatives_00024Base_bound = 11;
    registered = 13;
}

/// `JNINativeMethod`
#[repr(C)]
struct NativeMethod {
    name: Name,
    signature: Name,
    function: extern "system" fn(Env, Id, i32) -> i32,
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_CallsNatives_00024Registered_register(
    env: Env,
    _: Id,
    class: Id,
) {
    let method =
        NativeMethod { name: c"act".as_ptr(), signature: INT_TO_INT, function: registered };
    // SAFETY: the function is of this type.
    unsafe {
        let register: extern "system" fn(Env, Id, *const NativeMethod, i32) -> i32 =
            function(env, REGISTER_NATIVES);
        register(env, class, &method, 1);
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_CallsNatives_called(
    env: Env,
    class: Id,
    object: Id,
    n: i32,
) -> i64 {
    // SAFETY: the functions are of these types, the references valid.
    unsafe {
        let class_of: extern "system" fn(Env, Id) -> Id = function(env, GET_OBJECT_CLASS);
        let method: extern "system" fn(Env, Id, Name, Name) -> Id = function(env, GET_METHOD_ID);
        let static_method: extern "system" fn(Env, Id, Name, Name) -> Id =
            function(env, GET_STATIC_METHOD_ID);
        let call: extern "system" fn(Env, Id, Id, *const i64) -> i32 =
            function(env, CALL_INT_METHOD_A);
        let call_static: extern "system" fn(Env, Id, Id, *const i64) -> i32 =
            function(env, CALL_STATIC_INT_METHOD_A);
        let check: extern "system" fn(Env) -> u8 = function(env, EXCEPTION_CHECK);
        let inherited = method(env, class_of(env, object), c"inherited".as_ptr(), INT_TO_INT);
        let back = static_method(env, class, c"back".as_ptr(), INT_TO_INT);
        let mut sum = 0;
        for i in 0..i64::from(n) {
            sum += i64::from(call(env, object, inherited, &i));
            check(env);
            sum += i64::from(call_static(env, class, back, &i));
            check(env);
        }
        sum
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_CallsNatives_down(env: Env, class: Id, level: i32) -> i32 {
    if level == 0 {
        return 0;
    }
    // SAFETY: the functions are of these types.
    unsafe {
        let method: extern "system" fn(Env, Id, Name, Name) -> Id =
            function(env, GET_STATIC_METHOD_ID);
        let call: extern "system" fn(Env, Id, Id, *const i64) -> i32 =
            function(env, CALL_STATIC_INT_METHOD_A);
        let down = method(env, class, c"down".as_ptr(), INT_TO_INT);
        call(env, class, down, &i64::from(level - 1)) + 1
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_CallsNatives_throwing(env: Env, _: Id, _: i32) {
    // SAFETY: the functions are of these types.
    unsafe {
        let find: extern "system" fn(Env, Name) -> Id = function(env, FIND_CLASS);
        let throw: extern "system" fn(Env, Id, Name) -> i32 = function(env, THROW_NEW);
        throw(env, find(env, c"java/lang/IllegalStateException".as_ptr()), c"native".as_ptr());
    }
}

/// # Safety
/// The JVM calls it.
#[unsafe(no_mangle)]
#[expect(clippy::too_many_arguments, reason = "they are what is tested")]
pub unsafe extern "system" fn Java_CallsNatives_mixed(
    env: Env,
    _: Id,
    a: i32,
    b: f64,
    c: i64,
    d: f32,
    e: i8,
    f: f64,
    g: i16,
    h: f64,
    i: u16,
    j: f64,
    k: u8,
    l: f64,
    m: i64,
    n: f64,
    o: Id,
    p: f64,
    q: i32,
    r: f32,
    s: Id,
    t: f64,
    u: i64,
    v: f32,
) -> f64 {
    // SAFETY: the functions are of these types, the references valid.
    let (array, text) = unsafe {
        let length: extern "system" fn(Env, Id) -> i32 = function(env, GET_ARRAY_LENGTH);
        let utf_length: extern "system" fn(Env, Id) -> i32 = function(env, GET_STRING_UTF_LENGTH);
        (length(env, o), utf_length(env, s))
    };
    let all = [
        f64::from(a),
        b,
        c as f64,
        d.into(),
        e.into(),
        f,
        g.into(),
        h,
        i.into(),
        j,
        k.into(),
        l,
        m as f64,
        n,
        array.into(),
        p,
        q.into(),
        r.into(),
        text.into(),
        t,
        u as f64,
        v.into(),
    ];
    all.iter().zip(1..).map(|(value, times)| value * f64::from(times)).sum()
}

#[unsafe(no_mangle)]
#[expect(clippy::too_many_arguments, reason = "they are what is tested")]
pub extern "system" fn Java_CallsNatives_odd(
    _: Env,
    _: Id,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
    e: i64,
    f: i64,
    g: i64,
    h: i64,
    i: i64,
) -> i64 {
    a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i
}

#[unsafe(no_mangle)]
pub extern "system" fn Java_CallsNatives_half(_: Env, _: Id, i: i32) -> f32 {
    i as f32 / 2.0
}

#[unsafe(no_mangle)]
pub extern "system" fn Java_CallsNatives_negative(_: Env, _: Id) -> i8 {
    -1
}

#[unsafe(no_mangle)]
pub extern "system" fn Java_CallsNatives_isOdd(_: Env, _: Id, i: i32) -> u8 {
    (i & 1) as u8
}

#[unsafe(no_mangle)]
pub extern "system" fn Java_CallsNatives_text(_: Env, _: Id, text: Id) -> Id {
    text
}
