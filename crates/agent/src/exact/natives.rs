//! The helper class and the functions behind its native methods.

use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::{
    JNI_ERR, JNIEnv, JNINativeMethod, jboolean, jclass, jint, jlong, jobject,
};

use super::ExactEngine;
use super::clock::Clock;
use super::sites::{Kept, Key};
use super::tree::Tree;
use crate::guard::{Feature, contain};
use crate::jvm::{Borrowed, FunctionTable, Global, Jni, Jvmti};

/// `java/helper/java/lang/PerkProbes.java`, compiled; a test holds the two together.
const HELPER_CLASS: &[u8] = include_bytes!("PerkProbes.class");

static ENGINE: OnceLock<&'static ExactEngine> = OnceLock::new();
static BINDING: OnceLock<Binding> = OnceLock::new();

/// What is to be bound at the first call of the JNI function `RegisterNatives`.
///
/// The JVM prints a warning when natives of java.base are bound by a caller outside of it. So the
/// agent waits for a class of java.base that binds its own, as several do while the JVM starts.
#[derive(Debug)]
struct Binding {
    jvmti: Jvmti,
    helper: Global,
    table: FunctionTable,
    is_bound: AtomicBool,
}

/// Defines the helper class in java.base and has its native methods bound. No Java code has run yet.
pub(super) fn define_helper(
    jvmti: Jvmti,
    jni: Jni<'_>,
    engine: &'static ExactEngine,
) -> Result<&'static Global, String> {
    if ENGINE.set(engine).is_err() {
        return Err("it is there already".to_owned());
    }
    let name = CString::new(perk_instrument::HELPER).map_err(|error| error.to_string())?;
    let helper = jni.define_class(&name, HELPER_CLASS).ok_or("the JVM refused the helper class")?;
    let binding = Binding {
        jvmti,
        helper: jni.global(&helper).ok_or("no global reference")?,
        table: jvmti.function_table().map_err(|error| format!("GetJNIFunctionTable: {error}"))?,
        is_bound: AtomicBool::new(false),
    };
    let binding = BINDING.get_or_init(|| binding);
    let hooked = jvmti.function_table_with(register_natives);
    hooked
        .and_then(|table| jvmti.set_function_table(table))
        .map_err(|error| format!("SetJNIFunctionTable: {error}"))?;
    Ok(&binding.helper)
}

impl Binding {
    /// Binds the helper's natives, and takes the hook away.
    fn bind(&self, jni: Jni<'_>) {
        let native = |name: &'static CStr, signature: &'static CStr, function| JNINativeMethod {
            name: name.as_ptr().cast_mut(),
            signature: signature.as_ptr().cast_mut(),
            fnPtr: function,
        };
        let own = [
            native(c"begin", c"(Ljava/lang/Thread;)J", begin as *mut c_void),
            native(c"grow", c"(JJII)J", grow as *mut c_void),
            native(c"extend", c"(JJ)J", extend as *mut c_void),
            native(c"unwind", c"(JJIZJ)J", unwind as *mut c_void),
            native(c"carry", c"(J)V", carry as *mut c_void),
            native(c"number", c"(Ljava/lang/Class;)I", number as *mut c_void),
            native(c"record", c"(JJII)I", record as *mut c_void),
            native(c"keep", c"(JLjava/lang/Object;IJ)V", keep as *mut c_void),
        ];
        let restored = self.jvmti.set_function_table(self.table);
        // SAFETY: the functions are as declared in the class, and this library is never unloaded.
        let bound = unsafe { jni.register_natives(&self.helper, &own) };
        if restored.is_ok() && bound.is_some() {
            self.is_bound.store(true, Relaxed);
        }
    }
}

/// Whether the helper's native methods are bound.
pub(super) fn is_bound() -> bool {
    BINDING.get().is_some_and(|binding| binding.is_bound.load(Relaxed))
}

/// In the place of the JNI function, until it has been called once.
unsafe extern "system" fn register_natives(
    env: *mut JNIEnv,
    class: jclass,
    methods: *const JNINativeMethod,
    count: jint,
) -> jint {
    let Some(binding) = BINDING.get() else { return JNI_ERR };
    contain(Feature::Starting, || {
        if !binding.is_bound.load(Relaxed) {
            // SAFETY: the environment is that of the calling thread.
            binding.bind(unsafe { Jni::from_raw(env) });
        }
    });
    // SAFETY: the caller's arguments are for this function.
    unsafe { (binding.table.register_natives())(env, class, methods, count) }
}

/// Runs `body` with the engine; after a fault the answer is `otherwise`.
fn answer(otherwise: jlong, body: impl FnOnce(&'static ExactEngine) -> u64) -> jlong {
    let mut answer = otherwise;
    contain(Feature::Probes, || {
        if let Some(engine) = ENGINE.get() {
            answer = body(engine) as jlong;
        }
    });
    answer
}

extern "system" fn begin(env: *mut JNIEnv, _: jclass, thread: jobject) -> jlong {
    answer(0, |engine| {
        // SAFETY: the JVM passes the calling thread's environment and a reference to its object.
        let (jni, thread) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(thread)) };
        engine.begin(thread.is_some_and(|thread| jni.is_virtual(&thread)))
    })
}

extern "system" fn grow(
    _: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    context: jlong,
    method: jint,
    line: jint,
) -> jlong {
    // A node that is not one of the context's own is wrong, but harmless.
    answer(context, |engine| {
        // SAFETY: Java code passes the tree that `begin` gave its thread.
        let tree = unsafe { Tree::at(tree as u64) };
        tree.grow(&engine.forest, context as u64, method as u32, line as u16)
    })
}

extern "system" fn extend(_: *mut JNIEnv, _: jclass, tree: jlong, top: jlong) -> jlong {
    answer(top, |_| {
        // SAFETY: as in `grow`.
        let tree = unsafe { Tree::at(tree as u64) };
        tree.extend(top as u64)
    })
}

extern "system" fn unwind(
    _: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    top: jlong,
    method: jint,
    leave: jboolean,
    now_ns: jlong,
) -> jlong {
    answer(top, |_| {
        // SAFETY: as in `grow`.
        let tree = unsafe { Tree::at(tree as u64) };
        tree.unwind(top as u64, method as u32, leave, now_ns as u64)
    })
}

extern "system" fn carry(_: *mut JNIEnv, _: jclass, tree: jlong) {
    // A virtual thread has no tree before its first probe, and -1 after its end.
    Clock::carries(if tree > 0 { tree as u64 } else { 0 });
}

extern "system" fn number(env: *mut JNIEnv, _: jclass, class: jclass) -> jint {
    answer(0, |engine| {
        // SAFETY: the JVM passes the calling thread's environment and a reference to a class.
        let (jni, class) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(class)) };
        class.map_or(0, |class| engine.class_number(jni, &class).into())
    }) as jint
}

extern "system" fn record(
    _: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    node: jlong,
    class: jint,
    line: jint,
) -> jint {
    answer(0, |engine| {
        // SAFETY: as in `grow`.
        let tree = unsafe { Tree::at(tree as u64) };
        let key = Key { node: node as u64, class: class as u32, line: line as u16 };
        engine.sites.as_ref().map_or(0, |sites| sites.record(tree, key)).into()
    }) as jint
}

extern "system" fn keep(
    env: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    object: jobject,
    record: jint,
    bytes: jlong,
) {
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes the calling thread's environment and a valid reference; the tree
        // is as in `grow`.
        let (jni, object, tree) =
            unsafe { (Jni::from_raw(env), Borrowed::from_raw(object), Tree::at(tree as u64)) };
        if let Some(object) = object {
            let kept = Kept { record: record as u32, bytes: bytes as u64 };
            tree.sites().keeper.keep(jni, &object, kept);
        }
    });
}
