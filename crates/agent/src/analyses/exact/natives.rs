//! The helper class and the functions of its native methods.

use std::ffi::c_void;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use perk_jvm::guard::{Feature, contain};
use perk_jvm::probes::{Exchange, HelperClass, HelperNative};
use perk_jvm::{Jni, Local, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jclass, jint, jlong, jobject};

use super::ExactEngine;
use super::interception;
use super::sites::{Key, ObjectRecord};
use super::tree::Tree;

/// `java/helper/java/lang/PerkProbes.java`, compiled; a test compares the two.
const HELPER_CLASS: &[u8] = include_bytes!("PerkProbes.class");

/// The engine of the present recording.
static ENGINE: AtomicPtr<ExactEngine> = AtomicPtr::new(null_mut());
/// The native methods of the helper class.
static NATIVES: [HelperNative; 11] = [
    HelperNative(c"begin", "(Ljava/lang/Thread;)Ljava/lang/PerkProbes;", begin as *const c_void),
    HelperNative(c"grow", "(JJII)J", grow as *const c_void),
    HelperNative(c"translate", "(JJ)J", translate as *const c_void),
    HelperNative(c"mount", "(Ljava/lang/PerkProbes;)V", mount as *const c_void),
    HelperNative(c"unmount", "(Ljava/lang/PerkProbes;)V", unmount as *const c_void),
    HelperNative(c"number", "(Ljava/lang/Class;)I", number as *const c_void),
    HelperNative(c"inherits", "(Ljava/lang/Class;)Z", inherits as *const c_void),
    HelperNative(c"record", "(JJII)I", record as *const c_void),
    HelperNative(c"recordOfSite", "(JII)I", record_of_site as *const c_void),
    HelperNative(c"block", "(I)I", block as *const c_void),
    HelperNative(c"keep", "(JLjava/lang/Object;IJ)V", keep as *const c_void),
];

/// Returns the helper class of the engine.
pub(super) fn helper(engine: &'static ExactEngine) -> HelperClass {
    ENGINE.store(from_ref(engine).cast_mut(), SeqCst);
    let allocate = Exchange {
        method: interception::ALLOCATE,
        function: interception::allocate_instance as *const c_void,
    };
    let exchanges = if engine.counts_allocations() { vec![allocate] } else { Vec::new() };
    let (plain, bytes) = (perk_instrument::HELPER, HELPER_CLASS);
    HelperClass { plain, bytes: bytes.into(), natives: &NATIVES, exchanges }
}

/// Ends the calls of an engine: there is none from now on.
pub(super) fn leave(engine: &'static ExactEngine) {
    let engine = from_ref(engine).cast_mut();
    let _ = ENGINE.compare_exchange(engine, null_mut(), SeqCst, SeqCst);
}

fn current() -> Option<&'static ExactEngine> {
    // SAFETY: engines are never freed.
    unsafe { ENGINE.load(SeqCst).as_ref() }
}

/// Runs `body` with the engine; after a fault the result is `otherwise`.
fn answer(otherwise: jlong, body: impl FnOnce(&'static ExactEngine) -> u64) -> jlong {
    let mut answer = otherwise;
    contain(Feature::Probes, || {
        if let Some(engine) = current() {
            answer = body(engine) as jlong;
        }
    });
    answer
}

extern "system" fn begin(env: *mut JNIEnv, class: jclass, thread: jobject) -> jobject {
    let mut state = null_mut();
    on_object(env, thread, |engine, jni, thread| {
        // SAFETY: the JVM passes a reference.
        let class = unsafe { ObjectRef::from_raw(class) };
        // Methods that began in an earlier recording call its class as long as they run.
        if !class.is_some_and(|class| engine.is_helper(jni, &class)) {
            return;
        }
        let begun = engine.begin(jni, thread);
        let begun = begun.or_else(|| jni.local(engine.states.get()?.ended()));
        state = begun.map_or(null_mut(), Local::into_raw);
    });
    state
}

extern "system" fn grow(
    env: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    context: jlong,
    method: jint,
    line: jint,
) -> jlong {
    // A node that does not belong to the context is wrong, but harmless.
    answer(context, |engine| {
        // SAFETY: Java code passes the tree that `begin` gave its thread.
        let (jni, tree) = unsafe { (Jni::from_raw(env), Tree::at(tree as u64)) };
        let (context, method) = (context as u64, method as u32);
        // SAFETY: the context is a node.
        let is_through = unsafe { engine.is_called_over_budget(jni, tree, context, method) };
        tree.grow(&engine.pool, (context, line as u16), method, is_through)
    })
}

extern "system" fn translate(_: *mut JNIEnv, _: jclass, tree: jlong, node: jlong) -> jlong {
    answer(node, |engine| {
        // SAFETY: as in `grow`; the node is that of a position.
        unsafe { Tree::at(tree as u64).owned(&engine.pool, node as u64) }
    })
}

extern "system" fn mount(env: *mut JNIEnv, _: jclass, state: jobject) {
    on_object(env, state, |engine, jni, state| engine.mount(jni, state));
}

extern "system" fn unmount(env: *mut JNIEnv, _: jclass, state: jobject) {
    on_object(env, state, |engine, jni, state| engine.unmount(jni, state));
}

/// Runs `body` with the engine and an argument of the calling method.
fn on_object(
    env: *mut JNIEnv,
    object: jobject,
    body: impl FnOnce(&'static ExactEngine, Jni<'_>, &ObjectRef<'_>),
) {
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes the calling thread's environment and a reference.
        let (jni, object) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object)) };
        if let (Some(engine), Some(object)) = (current(), object) {
            body(engine, jni, &object);
        }
    });
}

extern "system" fn number(env: *mut JNIEnv, _: jclass, class: jclass) -> jint {
    answer(0, |engine| {
        // SAFETY: the JVM passes the calling thread's environment and a reference to a class.
        let (jni, class) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(class)) };
        class.map_or(0, |class| engine.class_number(jni, &class).into())
    }) as jint
}

extern "system" fn inherits(env: *mut JNIEnv, _: jclass, class: jclass) -> jboolean {
    answer(0, |engine| {
        // SAFETY: the JVM passes the calling thread's environment and a reference to a class.
        let (jni, class) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(class)) };
        class.is_some_and(|class| engine.inherits_clone(jni, &class)).into()
    }) != 0
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

extern "system" fn record_of_site(
    _: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    site: jint,
    class: jint,
) -> jint {
    answer(0, |engine| {
        // SAFETY: as in `grow`.
        let tree = unsafe { Tree::at(tree as u64) };
        engine.record_of_site(tree, site as u32, class as u32).into()
    }) as jint
}

extern "system" fn block(_: *mut JNIEnv, _: jclass, record: jint) -> jint {
    answer(0, |engine| {
        engine.sites.as_ref().map_or(0, |sites| sites.next_block(record as u32)).into()
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
            unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object), Tree::at(tree as u64)) };
        if let Some(object) = object {
            let kept = ObjectRecord::new(record as u32, bytes as u64);
            tree.sites().keeper.keep(jni, &object, kept);
        }
    });
}
