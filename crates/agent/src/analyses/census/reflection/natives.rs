//! The native methods of the JDK that uses of reflection come to. Functions of perk replace theirs,
//! call them and note the class. They are the same on JDK 17 to 25.
//!
//! * `Class.forName0`: `Class.forName`, service loaders, `MethodHandles.Lookup.findClass`.
//! * `ClassLoader.findLoadedClass0`: class loaders look there first, whoever asks them.
//! * `Class.getDeclaredConstructors0`, `getDeclaredMethods0` and `getDeclaredFields0`: the objects of
//!   reflection for the members of a class come from there, once per class.
//! * `MethodHandleNatives.resolve`: members that a `MethodHandles.Lookup` finds.
//! * `ClassLoader.defineClass1`: proxies are among the classes that it defines.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::OnceLock;

use perk_jvm::guard::{Feature, guard};
use perk_jvm::{Jni, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jbyteArray, jclass, jint, jobject, jstring};

use super::ReflectionCensus;

static CENSUS: OnceLock<&'static ReflectionCensus> = OnceLock::new();

/// The source of proxy classes, as `ClassLoader.defineClass1` gets it.
const PROXY: &str = "__dynamic_proxy__";

/// The signature of `ClassLoader.defineClass1`.
const DEFINE_CLASS: &str = "(Ljava/lang/ClassLoader;Ljava/lang/String;[BII\
    Ljava/security/ProtectionDomain;Ljava/lang/String;)Ljava/lang/Class;";

/// Defines for each native method, by class, name and signature, the function that replaces its own:
/// it calls that, and notes the use, for which it gets the result.
macro_rules! natives {
    ($($here:ident = $class:literal $name:literal $signature:expr,
        ($($argument:ident: $kind:ty),+) => $note:expr;)+) => {
        $(mod $here {
            use super::*;

            pub(super) type Function =
                unsafe extern "system" fn(env: *mut JNIEnv, $($argument: $kind),+) -> jobject;

            /// The function that was there before.
            pub(super) static BEFORE: OnceLock<Function> = OnceLock::new();

            pub(super) unsafe extern "system" fn replacement(
                env: *mut JNIEnv,
                $($argument: $kind),+
            ) -> jobject {
                let Some(before) = BEFORE.get() else { return null_mut() };
                // SAFETY: the caller's arguments are for this function.
                let result = unsafe { before(env, $($argument),+) };
                if let Some(census) = CENSUS.get().filter(|census| census.is_heard()) {
                    guard(Feature::Classes, || {
                        // SAFETY: the environment is that of the calling thread.
                        let jni = unsafe { Jni::from_raw(env) };
                        let note: fn(Call<'_>, $($kind),+) = $note;
                        if !jni.is_throwing() {
                            note(Call { census, jni, result }, $($argument),+);
                        }
                    });
                }
                result
            }
        })+

        /// Returns the function to bind in place of a native method's function.
        pub(super) fn replacement(
            census: &'static ReflectionCensus,
            method: (&str, &str, &str),
            function: *mut c_void,
        ) -> Option<*mut c_void> {
            $(if method == ($class, $name, $signature) {
                let _ = CENSUS.set(census);
                // SAFETY: this is the type of the function of the method with this signature.
                let before = unsafe { transmute::<*mut c_void, $here::Function>(function) };
                let _ = $here::BEFORE.set(before);
                return Some($here::replacement as *mut c_void);
            })+
            None
        }
    };
}

/// A call of a native method that has returned without an exception.
#[derive(Clone, Copy)]
struct Call<'a> {
    census: &'static ReflectionCensus,
    jni: Jni<'a>,
    result: jobject,
}

impl Call<'_> {
    /// Runs `body` with an object of the call, unless it is null.
    fn with(self, object: jobject, body: fn(&ReflectionCensus, Jni<'_>, ObjectRef<'_>)) {
        // SAFETY: arguments and results are good until the replaced function returns.
        if let Some(object) = unsafe { ObjectRef::from_raw(object) } {
            body(self.census, self.jni, object);
        }
    }
}

natives! {
    for_name = "Ljava/lang/Class;" "forName0"
        "(Ljava/lang/String;ZLjava/lang/ClassLoader;Ljava/lang/Class;)Ljava/lang/Class;",
        (class: jclass, name: jstring, initializes: jboolean, loader: jobject, caller: jclass)
        => |call, _, _, _, _, _| call.with(call.result, ReflectionCensus::used);
    constructors = "Ljava/lang/Class;" "getDeclaredConstructors0"
        "(Z)[Ljava/lang/reflect/Constructor;",
        (class: jclass, only_public: jboolean)
        => |call, class, _| call.with(class, ReflectionCensus::used);
    methods = "Ljava/lang/Class;" "getDeclaredMethods0" "(Z)[Ljava/lang/reflect/Method;",
        (class: jclass, only_public: jboolean)
        => |call, class, _| call.with(class, ReflectionCensus::used);
    fields = "Ljava/lang/Class;" "getDeclaredFields0" "(Z)[Ljava/lang/reflect/Field;",
        (class: jclass, only_public: jboolean)
        => |call, class, _| call.with(class, ReflectionCensus::used);
    find_loaded = "Ljava/lang/ClassLoader;" "findLoadedClass0"
        "(Ljava/lang/String;)Ljava/lang/Class;",
        (loader: jobject, name: jstring)
        => |call, _, name| call.with(name, |census, jni, name| {
            // SAFETY: by the method's signature it is a string.
            if let Some(name) = unsafe { jni.text(&name) } {
                census.sought(jni, &name);
            }
        });
    resolve = "Ljava/lang/invoke/MethodHandleNatives;" "resolve"
        "(Ljava/lang/invoke/MemberName;Ljava/lang/Class;IZ)Ljava/lang/invoke/MemberName;",
        (class: jclass, member: jobject, caller: jclass, mode: jint, tries: jboolean)
        => |call, _, _, caller, _, _| {
            // The JDK looks up members for its own purposes on behalf of nobody.
            if !caller.is_null() {
                call.with(call.result, ReflectionCensus::resolved);
            }
        };
    define = "Ljava/lang/ClassLoader;" "defineClass1" DEFINE_CLASS,
        (class: jclass, loader: jobject, name: jstring, bytes: jbyteArray, offset: jint,
            length: jint, domain: jobject, source: jstring)
        => |call, _, _, _, _, _, _, _, source| {
            // SAFETY: by the method's signature it is a string or null, good until the call returns.
            let source = unsafe { ObjectRef::from_raw(source).and_then(|it| call.jni.text(&it)) };
            if source.as_deref() == Some(PROXY) {
                call.with(call.result, ReflectionCensus::proxied);
            }
        };
}
