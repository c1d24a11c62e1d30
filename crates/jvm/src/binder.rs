//! Calls in the name of a class of the boot loader. The JVM prints a warning if native methods of java.base are
//! bound by other code; in a program that runs already, `perk.Profiler` is the class.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::OnceLock;

use crate::{Global, Jni};

/// The class, whose static method `bind` calls [`called`].
static CLASS: OnceLock<Global> = OnceLock::new();

/// The work to be done.
type Body<'b> = &'b mut dyn FnMut(Jni<'_>);

thread_local! {
    static BODY: Cell<*mut Body<'static>> = const { Cell::new(null_mut()) };
}

/// Notes the class.
pub fn set_class(class: Global) {
    let _ = CLASS.set(class);
}

/// Runs `body` below a method of the class, where the caller's local references are not good. Returns whether
/// it ran.
pub fn call(jni: Jni<'_>, body: &mut dyn FnMut(Jni<'_>)) -> bool {
    let Some(class) = CLASS.get() else { return false };
    let mut has_run = false;
    let mut body = |jni: Jni<'_>| {
        has_run = true;
        body(jni);
    };
    let mut body: Body<'_> = &mut body;
    let before = BODY.replace((&raw mut body).cast());
    jni.call_static(class, c"bind");
    BODY.set(before);
    has_run
}

/// Runs the body of the [`call`] that the thread is in, if there is one.
pub fn called(jni: Jni<'_>) {
    let body = BODY.replace(null_mut());
    // SAFETY: `call` stored it, waits for the end of the method that leads here, and takes it back.
    if let Some(body) = unsafe { body.as_mut() } {
        body(jni);
    }
}
