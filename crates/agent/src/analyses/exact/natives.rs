//! The helper class and the functions of its native methods.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::{
    JNI_ERR, JNIEnv, JNINativeMethod, jboolean, jclass, jint, jlong, jobject,
};

use super::ExactEngine;
use super::sites::{Kept, Key};
use super::tree::Tree;
use super::{interception, reflection};
use crate::guard::{Feature, contain};
use crate::jvm::{Borrowed, Functions, Global, Jni, Jvmti, Local};

/// `java/helper/java/lang/PerkProbes.java`, compiled; a test holds the two together.
const HELPER_CLASS: &[u8] = include_bytes!("PerkProbes.class");

static ENGINE: OnceLock<&'static ExactEngine> = OnceLock::new();
static BINDING: OnceLock<Binding> = OnceLock::new();

/// The functions to bind when the JNI function `RegisterNatives` is called.
///
/// The JVM prints a warning if natives of java.base are bound by a caller outside of it. So the
/// agent waits for classes of java.base that bind their own, as several do while the JVM starts.
#[derive(Debug)]
struct Binding {
    jvmti: Jvmti,
    helper: Global,
    /// The signatures of methods that return or take a state, which is an object of the helper.
    begin_signature: CString,
    mount_signature: CString,
    /// The function that was there before.
    register_natives: RegisterNatives,
    is_begun: AtomicBool,
    is_bound: AtomicBool,
    /// The number of bound methods that were exchanged for others: see [`exchange`].
    exchanged_count: AtomicUsize,
}

/// `RegisterNatives`
type RegisterNatives =
    unsafe extern "system" fn(*mut JNIEnv, jclass, *const JNINativeMethod, jint) -> jint;

/// Defines the helper class in java.base and arranges for its native methods to be bound. No Java
/// code has run yet.
pub(super) fn define_helper(
    jvmti: Jvmti,
    jni: Jni<'_>,
    engine: &'static ExactEngine,
) -> Result<&'static Global, String> {
    if ENGINE.set(engine).is_err() {
        return Err("it is there already".to_owned());
    }
    let names = engine.names();
    let own_name = names.of(perk_instrument::HELPER);
    let text = |text: String| CString::new(text).map_err(|error| error.to_string());
    let (begin_signature, mount_signature) =
        (text(format!("(Ljava/lang/Thread;)L{own_name};"))?, text(format!("(L{own_name};)V"))?);
    let name = text(own_name)?;
    let class = names.give_to(HELPER_CLASS).map_err(|error| error.to_string())?;
    let helper = jni.define_class(&name, &class).ok_or("the JVM refused the helper class")?;
    let helper = jni.global(&helper).ok_or("no global reference")?;
    let intercept = |functions: &mut Functions| {
        let _ = BINDING.set(Binding {
            jvmti,
            helper,
            begin_signature,
            mount_signature,
            register_natives: functions.RegisterNatives,
            is_begun: AtomicBool::new(false),
            is_bound: AtomicBool::new(false),
            exchanged_count: AtomicUsize::new(0),
        });
        functions.RegisterNatives = register_natives;
    };
    // SAFETY: the function calls the one that was there.
    unsafe { jvmti.exchange_functions(intercept) }
        .map_err(|error| format!("the JVM keeps its JNI functions: {error}"))?;
    BINDING.get().map(|binding| &binding.helper).ok_or_else(|| "no helper class".to_owned())
}

impl Binding {
    /// Binds the helper's natives.
    fn bind(&self, jni: Jni<'_>) {
        let native = |name: &'static CStr, signature: &CStr, function| JNINativeMethod {
            name: name.as_ptr().cast_mut(),
            signature: signature.as_ptr().cast_mut(),
            fnPtr: function,
        };
        let own = [
            native(c"begin", &self.begin_signature, begin as *mut c_void),
            native(c"grow", c"(JJII)J", grow as *mut c_void),
            native(c"translate", c"(JJ)J", translate as *mut c_void),
            native(c"mount", &self.mount_signature, mount as *mut c_void),
            native(c"unmount", &self.mount_signature, unmount as *mut c_void),
            native(c"number", c"(Ljava/lang/Class;)I", number as *mut c_void),
            native(c"inherits", c"(Ljava/lang/Class;)Z", inherits as *mut c_void),
            native(c"record", c"(JJII)I", record as *mut c_void),
            native(c"block", c"(I)I", block as *mut c_void),
            native(c"keep", c"(JLjava/lang/Object;IJ)V", keep as *mut c_void),
        ];
        // SAFETY: the functions are as declared in the class, and this library is never unloaded.
        let bound = unsafe { jni.register_natives(&self.helper, &own) };
        self.is_bound.store(bound.is_some(), Relaxed);
    }

    /// Restores the previous function.
    fn leave(&self) {
        let restore = |functions: &mut Functions| {
            // If the function is another agent's by now, it calls ours, which only passes the call
            // on then.
            if ptr::fn_addr_eq(functions.RegisterNatives, register_natives as RegisterNatives) {
                functions.RegisterNatives = self.register_natives;
            }
        };
        // SAFETY: the function is the previous one. If that fails, ours stays, and only passes
        // calls on as well.
        let _ = unsafe { self.jvmti.exchange_functions(restore) };
    }
}

/// Whether the helper's native methods are bound.
pub(super) fn is_bound() -> bool {
    BINDING.get().is_some_and(|binding| binding.is_bound.load(Relaxed))
}

/// Replaces the JNI function until all methods are bound.
unsafe extern "system" fn register_natives(
    env: *mut JNIEnv,
    class: jclass,
    methods: *const JNINativeMethod,
    count: jint,
) -> jint {
    let Some(binding) = BINDING.get() else { return JNI_ERR };
    let mut exchanged = None;
    contain(Feature::Starting, || {
        if !binding.is_begun.swap(true, Relaxed) {
            // SAFETY: the environment is that of the calling thread.
            binding.bind(unsafe { Jni::from_raw(env) });
        }
        let Some(&engine) = ENGINE.get() else { return };
        // SAFETY: the caller's arguments are for this function.
        exchanged = unsafe { exchange(engine, methods, count) };
        let one_more = usize::from(exchanged.is_some());
        let exchanged_count = binding.exchanged_count.fetch_add(one_more, Relaxed) + one_more;
        if is_bound() && exchanged_count == 1 + usize::from(engine.counts_allocations()) {
            binding.leave();
        }
    });
    let methods = exchanged.as_ref().map_or(methods, |methods| methods.as_ptr());
    // SAFETY: the caller's arguments are for this function.
    unsafe { (binding.register_natives)(env, class, methods, count) }
}

/// Returns the natives that a class of java.base is about to bind, with one of their functions
/// replaced; `None` if none of them is to be replaced. Each class does this once.
///
/// # Safety
/// The arguments must be those of `RegisterNatives`.
unsafe fn exchange(
    engine: &ExactEngine,
    methods: *const JNINativeMethod,
    count: jint,
) -> Option<Vec<JNINativeMethod>> {
    // SAFETY: the caller's promise: there are so many methods, with names and signatures.
    unsafe {
        let count = usize::try_from(count).ok().filter(|_| !methods.is_null())?;
        let mut methods = std::slice::from_raw_parts(methods, count).to_vec();
        let text = |text: *const c_char| CStr::from_ptr(text).to_str().unwrap_or_default();
        let is_exchanged = methods.iter_mut().any(|method| {
            let known = (text(method.name), text(method.signature));
            if known == reflection::METHOD {
                method.fnPtr = reflection::exchange(engine.names(), method.fnPtr);
            } else if known == interception::ALLOCATE && engine.counts_allocations() {
                method.fnPtr = interception::allocate_instance as *mut c_void;
            } else {
                return false;
            }
            true
        });
        is_exchanged.then_some(methods)
    }
}

/// Runs `body` with the engine; after a fault the result is `otherwise`.
fn answer(otherwise: jlong, body: impl FnOnce(&'static ExactEngine) -> u64) -> jlong {
    let mut answer = otherwise;
    contain(Feature::Probes, || {
        if let Some(engine) = ENGINE.get() {
            answer = body(engine) as jlong;
        }
    });
    answer
}

extern "system" fn begin(env: *mut JNIEnv, _: jclass, thread: jobject) -> jobject {
    let mut state = std::ptr::null_mut();
    on_object(env, thread, |engine, jni, thread| {
        let begun = engine.begin(jni, thread);
        let begun = begun.or_else(|| jni.local(engine.states.get()?.ended()));
        state = begun.map_or(std::ptr::null_mut(), Local::into_raw);
    });
    state
}

extern "system" fn grow(
    _: *mut JNIEnv,
    _: jclass,
    tree: jlong,
    context: jlong,
    method: jint,
    line: jint,
) -> jlong {
    // A node that does not belong to the context is wrong, but harmless.
    answer(context, |engine| {
        // SAFETY: Java code passes the tree that `begin` gave its thread.
        let tree = unsafe { Tree::at(tree as u64) };
        tree.grow(&engine.pool, context as u64, method as u32, line as u16)
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
    body: impl FnOnce(&'static ExactEngine, Jni<'_>, &Borrowed<'_>),
) {
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes the calling thread's environment and a reference.
        let (jni, object) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(object)) };
        if let (Some(engine), Some(object)) = (ENGINE.get(), object) {
            body(engine, jni, &object);
        }
    });
}

extern "system" fn number(env: *mut JNIEnv, _: jclass, class: jclass) -> jint {
    answer(0, |engine| {
        // SAFETY: the JVM passes the calling thread's environment and a reference to a class.
        let (jni, class) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(class)) };
        class.map_or(0, |class| engine.class_number(jni, &class).into())
    }) as jint
}

extern "system" fn inherits(env: *mut JNIEnv, _: jclass, class: jclass) -> jboolean {
    answer(0, |engine| {
        // SAFETY: the JVM passes the calling thread's environment and a reference to a class.
        let (jni, class) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(class)) };
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
            unsafe { (Jni::from_raw(env), Borrowed::from_raw(object), Tree::at(tree as u64)) };
        if let Some(object) = object {
            let kept = Kept::new(record as u32, bytes as u64);
            tree.sites().keeper.keep(jni, &object, kept);
        }
    });
}
