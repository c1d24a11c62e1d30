//! Native methods of the program, counted however they are called: by a virtual call or one through
//! an interface, by reflection, a method handle, a hidden class, or JNI.
//!
//! The JVM reports each native method when it binds it to a function (NativeMethodBind). perk
//! replaces the function with a *trampoline*, which enters the method in the thread's tree as a
//! probe would, calls the function with the same arguments, leaves the method, and returns the
//! function's result. So each call counts once, on any way to the method, and no class is changed:
//! a wrapper method under a native method prefix would be visible to reflection, in stack traces,
//! and to natives that look for their caller. A probe at a virtual call would have to find the
//! method that the JVM is about to choose.
//!
//! A trampoline does not know the types of the arguments; it keeps all registers that can hold
//! some, and copies the stack. It consists of a few instructions that pass their own address on; a
//! table gives the function that it represents, so no code is made at run time.
//!
//! The JDK's own natives are left alone, and counted at calls that are bound ([`Leaves`]): some of
//! them change which thread is the current one, or run where Java code is not allowed, and many are
//! called so often that the cost of a trampoline would be noticeable.
//!
//! [`Leaves`]: perk_instrument::Leaves

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, OnceLock};

use perk_jvmti_sys::jni_sys::JNIEnv;
use rustc_hash::FxHashMap;

use crate::guard::{Feature, contain};
use crate::sync::lock;
use crate::{Jni, arch};

/// The number of native methods that can be counted.
pub const COUNT: usize = arch::COUNT;

static CALLS: OnceLock<&'static dyn NativeCalls> = OnceLock::new();
static NATIVES: [AtomicPtr<NativeTarget>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];

/// Counts the calls of native methods.
pub trait NativeCalls: Sync {
    /// Enters a native method that the calling thread calls. Returns the position of its caller; 0
    /// if it is not counted.
    fn enter(&self, jni: Jni<'_>, number: u32) -> u64;

    /// Leaves the native method, which returns to its caller.
    fn leave(&self, jni: Jni<'_>, caller: u64);
}

/// The native method that a trampoline represents.
#[derive(Debug)]
struct NativeTarget {
    number: u32,
    function: *mut c_void,
    stack_words: usize,
}

/// The data that a trampoline keeps on the stack while its function runs; the code knows the
/// offsets.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Passage {
    function: *mut c_void,
    /// The number of words of the stack that hold arguments.
    stack_words: usize,
    /// The position of the caller; 0 if the method was not entered.
    caller: u64,
}

/// Starts the trampolines' counting.
pub fn begin(calls: &'static dyn NativeCalls) {
    let _ = CALLS.set(calls);
}

/// The trampolines in use.
#[derive(Debug, Default)]
pub struct Trampolines {
    /// By the method's number and its function: a native that is bound again gets the same
    /// trampoline.
    by_native: Mutex<FxHashMap<(u32, usize), usize>>,
}

impl Trampolines {
    /// Returns the trampoline to bind for a native method; `None` if there are too many.
    pub fn bind(&self, number: u32, signature: &str, function: *mut c_void) -> Option<*mut c_void> {
        let mut by_native = lock(&self.by_native);
        let next = by_native.len();
        let index = *by_native.entry((number, function.addr())).or_insert(next);
        let Some(place) = NATIVES.get(index) else {
            by_native.remove(&(number, function.addr()));
            return None;
        };
        if index == next {
            let native = NativeTarget { number, function, stack_words: stack_words(signature) };
            place.store(Box::into_raw(Box::new(native)), Release);
        }
        Some(trampoline(index))
    }
}

/// Returns the trampoline at an index of the table.
fn trampoline(index: usize) -> *mut c_void {
    (first() + index * arch::TRAMPOLINE_BYTES) as *mut c_void
}

/// Returns the index of the trampoline that `address` is in.
fn place_of(address: usize) -> usize {
    (address - first()) / arch::TRAMPOLINE_BYTES
}

fn first() -> usize {
    (arch::all_trampolines as *const () as usize).next_multiple_of(arch::TRAMPOLINE_BYTES)
}

/// Returns how many arguments of a native method are passed on the stack, each in a word. The first
/// ones of each kind are in registers.
fn stack_words(signature: &str) -> usize {
    // The environment, and the object or class.
    let (mut others, mut floats) = (2, 0);
    let mut types = signature.trim_start_matches('(').bytes();
    while let Some(first) = types.next().filter(|it| *it != b')') {
        let mut last = first;
        while last == b'[' {
            last = types.next().unwrap_or(b'I');
        }
        if last == b'L' {
            types.find(|it| *it == b';');
        }
        match first {
            b'F' | b'D' => floats += 1,
            _ => others += 1,
        }
    }
    let beyond = |count: usize, registers: usize| count.saturating_sub(registers);
    beyond(others, arch::REGISTERS) + beyond(floats, arch::FLOAT_REGISTERS)
}

/// Called by a trampoline, to enter its native method and look up the function.
///
/// # Safety
/// Only trampolines may call it, with the environment of their thread and room for the answer.
pub(crate) unsafe extern "C" fn enter(env: *mut JNIEnv, place: usize, passage: *mut Passage) {
    let native = NATIVES[place_of(place)].load(Acquire);
    // SAFETY: a trampoline is bound after its place in the table, which is never taken back.
    let (native, passage) = unsafe { (&*native, &mut *passage) };
    let NativeTarget { number, function, stack_words } = *native;
    *passage = Passage { function, stack_words, caller: 0 };
    contain(Feature::Probes, || {
        // SAFETY: the environment is that of the calling thread.
        let jni = unsafe { Jni::from_raw(env) };
        passage.caller = CALLS.get().map_or(0, |it| it.enter(jni, number));
    });
}

/// Called when the function has returned. If it has thrown, JNI must not be used: the method that
/// catches the exception stores its own position.
///
/// # Safety
/// As of [`enter`], which has filled the passage.
pub(crate) unsafe extern "C" fn exit(env: *mut JNIEnv, passage: *const Passage) {
    // SAFETY: the environment is that of the calling thread; the caller's promise.
    let (jni, passage) = unsafe { (Jni::from_raw(env), &*passage) };
    contain(Feature::Probes, || {
        if let Some(calls) = CALLS.get().filter(|_| passage.caller != 0 && !jni.is_throwing()) {
            calls.leave(jni, passage.caller);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns arguments of each kind that fill the registers, together with those that every
    /// native method has.
    fn full() -> (String, String) {
        ("J".repeat(arch::REGISTERS - 2), "D".repeat(arch::FLOAT_REGISTERS))
    }

    #[test]
    fn arguments_beyond_the_registers_are_on_the_stack() {
        let (others, floats) = full();
        assert_eq!(stack_words("()V"), 0);
        assert_eq!(stack_words(&format!("({others}{floats})[J")), 0);
        for one in ["Z", "J", "LJ;", "[J", "[[LDDDD;", "F"] {
            assert_eq!(stack_words(&format!("({one}{floats}{others})V")), 1, "{one}");
        }
        assert_eq!(stack_words(&format!("({others}{floats}LD;[FDI[[Lx/F;)D")), 5);
    }

    #[test]
    fn each_place_has_a_trampoline_of_its_own() {
        for index in [0, 1, COUNT - 1] {
            let trampoline = trampoline(index).addr();
            // The code may pass on an address that is not its first.
            assert_eq!([0, 7].map(|offset| place_of(trampoline + offset)), [index; 2]);
        }
    }
}
