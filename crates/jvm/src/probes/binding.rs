//! The definition of helper classes, and the binding of their native methods.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use perk_instrument::{EVENTS_HELPER, HELPER_BASE, Names};
use perk_jvmti_sys::jni_sys::{JNI_ERR, JNIEnv, JNINativeMethod, jclass, jint};

use super::reflection;
use crate::guard::{Feature, contain};
use crate::{Functions, Global, Jni, Jvmti};

/// `java/helper/java/lang/PerkHeaders.java`, compiled; a test compares the two.
pub(super) const BASE: &[u8] = include_bytes!("PerkHeaders.class");

/// A helper class.
#[derive(Debug)]
pub struct HelperClass {
    /// Its plain internal name.
    pub plain: &'static str,
    /// The class file, with plain names.
    pub bytes: Cow<'static, [u8]>,
    /// Its native methods.
    pub natives: &'static [HelperNative],
    /// The native methods of java.base whose function is replaced as the JVM binds it.
    pub exchanges: Vec<Exchange>,
}

/// A native method of the helper class: its name, its signature with plain names, its function.
#[derive(Clone, Copy, Debug)]
pub struct HelperNative(pub &'static CStr, pub &'static str, pub *const c_void);

// SAFETY: the pointer is that of a function.
unsafe impl Sync for HelperNative {}
// SAFETY: the pointer is that of a function.
unsafe impl Send for HelperNative {}

/// A native method, by name and signature, that gets a function of perk.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The method's name and descriptor.
    pub method: (&'static str, &'static str),
    /// The function that it is bound to.
    pub function: *const c_void,
}

// SAFETY: the pointer is that of a function.
unsafe impl Sync for Exchange {}
// SAFETY: the pointer is that of a function.
unsafe impl Send for Exchange {}

static BINDING: OnceLock<Binding> = OnceLock::new();

/// The functions to bind when the JNI function `RegisterNatives` is called.
///
/// The JVM prints a warning if natives of java.base are bound by a caller outside of it. So the
/// agent waits for classes of java.base that bind their own, as several do while the JVM starts.
#[derive(Debug)]
struct Binding {
    jvmti: Jvmti,
    names: Names,
    helpers: Vec<BoundClass>,
    exchanges: Vec<Exchange>,
    /// The function that was there before.
    register_natives: RegisterNatives,
    is_begun: AtomicBool,
    is_bound: AtomicBool,
    /// The number of bound methods that were exchanged for others: see `exchange`.
    exchanged_count: AtomicUsize,
}

/// A helper class that is defined.
#[derive(Debug)]
pub(super) struct BoundClass {
    pub(super) class: Global,
    /// The native methods, and their signatures.
    natives: Vec<(HelperNative, CString)>,
}

impl BoundClass {
    /// Defines a class.
    pub(super) fn define(jni: Jni<'_>, names: Names, helper: HelperClass) -> Result<Self, String> {
        let HelperClass { plain, bytes, natives, .. } = helper;
        let natives = natives.iter().map(|native| {
            let signature = text(native.1.replace(plain, &names.of(plain)))?;
            Ok((*native, signature))
        });
        let natives = natives.collect::<Result<Vec<_>, String>>()?;
        Ok(Self { class: define(jni, names, plain, &bytes)?, natives })
    }

    /// Binds its native methods. Returns whether that went well.
    pub(super) fn bind(&self, jni: Jni<'_>) -> bool {
        let native = |(HelperNative(name, _, function), signature): &(HelperNative, CString)| {
            JNINativeMethod {
                name: name.as_ptr().cast_mut(),
                signature: signature.as_ptr().cast_mut(),
                fnPtr: function.cast_mut(),
            }
        };
        let own: Vec<_> = self.natives.iter().map(native).collect();
        // SAFETY: the functions are as declared in the class, and this library is never unloaded.
        unsafe { jni.register_natives(&self.class, &own) }.is_some()
    }
}

/// Defines a class of perk's in java.base.
pub(super) fn define(
    jni: Jni<'_>,
    names: Names,
    plain: &str,
    bytes: &[u8],
) -> Result<Global, String> {
    let class = names.give_to(bytes).map_err(|error| error.to_string())?;
    let class = jni.define_class(&text(names.of(plain))?, &class);
    let class = class.ok_or("the JVM refused a helper class")?;
    jni.global(&class).ok_or_else(|| "no global reference".to_owned())
}

fn text(text: String) -> Result<CString, String> {
    CString::new(text).map_err(|error| error.to_string())
}

/// `RegisterNatives`
type RegisterNatives =
    unsafe extern "system" fn(*mut JNIEnv, jclass, *const JNINativeMethod, jint) -> jint;

/// Defines helper classes in java.base, and arranges for their native methods to be bound. No Java
/// code has run yet. Returns the classes.
///
/// # Errors
/// The reason, for one line on stderr. All classes have probes that call the helpers: no program can
/// run without them.
pub fn define_helpers(
    jvmti: Jvmti,
    jni: Jni<'_>,
    names: Names,
    helpers: Vec<HelperClass>,
) -> Result<Vec<&'static Global>, String> {
    define_all(jvmti, jni, names, helpers)
        .map_err(|reason| format!("perk's probes do not work in this JVM: {reason}"))
}

fn define_all(
    jvmti: Jvmti,
    jni: Jni<'_>,
    names: Names,
    helpers: Vec<HelperClass>,
) -> Result<Vec<&'static Global>, String> {
    if BINDING.get().is_some() {
        return Err("they are there already".to_owned());
    }
    if helpers.iter().any(|helper| helper.plain != EVENTS_HELPER) {
        define(jni, names, HELPER_BASE, BASE)?;
    }
    let mut exchanges = Vec::new();
    let mut defined = Vec::new();
    for mut helper in helpers {
        exchanges.append(&mut helper.exchanges);
        defined.push(BoundClass::define(jni, names, helper)?);
    }
    let intercept = |functions: &mut Functions| {
        let _ = BINDING.set(Binding {
            jvmti,
            names,
            helpers: defined,
            exchanges,
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
    let binding = BINDING.get().ok_or("no helper class")?;
    Ok(binding.helpers.iter().map(|helper| &helper.class).collect())
}

impl Binding {
    /// Binds the natives of the helper classes.
    fn bind(&self, jni: Jni<'_>) {
        let are_bound = self.helpers.iter().all(|helper| helper.bind(jni));
        self.is_bound.store(are_bound, Relaxed);
    }

    /// Returns the natives that a class of java.base is about to bind, with one of their functions
    /// replaced; `None` if none of them is to be replaced. Each class does this once.
    ///
    /// # Safety
    /// The arguments must be those of `RegisterNatives`.
    unsafe fn exchange(
        &self,
        methods: *const JNINativeMethod,
        count: jint,
    ) -> Option<Vec<JNINativeMethod>> {
        // SAFETY: the caller's promise: there are `count` methods, with names and signatures.
        unsafe {
            let count = usize::try_from(count).ok().filter(|_| !methods.is_null())?;
            let mut methods = std::slice::from_raw_parts(methods, count).to_vec();
            let text = |text: *const c_char| CStr::from_ptr(text).to_str().unwrap_or_default();
            let is_exchanged = methods.iter_mut().any(|method| {
                let known = (text(method.name), text(method.signature));
                if known == reflection::METHOD {
                    method.fnPtr = reflection::exchange(self.names, method.fnPtr);
                    return true;
                }
                let found = self.exchanges.iter().find(|it| it.method == known);
                if let Some(found) = found {
                    method.fnPtr = found.function.cast_mut();
                }
                found.is_some()
            });
            is_exchanged.then_some(methods)
        }
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

/// Whether the native methods of the helper classes are bound.
pub fn is_bound() -> bool {
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
        // SAFETY: the caller's arguments are for this function.
        exchanged = unsafe { binding.exchange(methods, count) };
        let one_more = usize::from(exchanged.is_some());
        let exchanged_count = binding.exchanged_count.fetch_add(one_more, Relaxed) + one_more;
        if is_bound() && exchanged_count == 1 + binding.exchanges.len() {
            binding.leave();
        }
    });
    let methods = exchanged.as_ref().map_or(methods, |methods| methods.as_ptr());
    // SAFETY: the caller's arguments are for this function.
    unsafe { (binding.register_natives)(env, class, methods, count) }
}
