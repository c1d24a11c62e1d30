//! JNI, as far as the agent needs it.

use std::ffi::CStr;
use std::marker::PhantomData;

use perk_jvmti_sys::jni_sys::{
    JNIEnv, JNINativeMethod, jfieldID, jint, jmethodID, jobject, jvalue,
};

use super::{Global, Local, Reference};

/// The JNI environment of the current thread, for as long as a callback lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jni<'a>(*mut JNIEnv, PhantomData<&'a ()>);

impl<'a> Jni<'a> {
    /// Wraps a callback's environment.
    ///
    /// # Safety
    /// `env` must be the current thread's, valid for the lifetime chosen.
    pub(crate) unsafe fn from_raw(env: *mut JNIEnv) -> Self {
        Self(env, PhantomData)
    }

    pub(super) fn raw(self) -> *mut JNIEnv {
        self.0
    }

    /// A global reference to the same object.
    pub(crate) fn global(self, object: &(impl Reference + ?Sized)) -> Option<Global> {
        // SAFETY: the environment is this thread's, the reference valid; the result is ours.
        unsafe { Global::from_raw(((**self.0).v1_2.NewGlobalRef)(self.0, object.raw())) }
    }

    /// Deletes a global reference.
    pub(crate) fn delete(self, object: Global) {
        // SAFETY: the environment is this thread's; the reference is given up here.
        unsafe { ((**self.0).v1_2.DeleteGlobalRef)(self.0, object.raw()) }
    }

    /// Makes room for local references that the JVM has handed out. Without it, `-Xcheck:jni`
    /// complains about many on the program's stdout.
    pub(super) fn expect_locals(self, count: usize) {
        // More is refused.
        const MOST: usize = 1 << 16;
        // SAFETY: the environment is this thread's.
        unsafe { ((**self.0).v1_2.EnsureLocalCapacity)(self.0, count.min(MOST) as jint) };
    }

    /// Whether two references mean the same object.
    pub(crate) fn same(self, a: &(impl Reference + ?Sized), b: &(impl Reference + ?Sized)) -> bool {
        // SAFETY: the environment is this thread's, both references are valid.
        unsafe { ((**self.0).v1_2.IsSameObject)(self.0, a.raw(), b.raw()) }
    }

    /// A new `java.lang.Thread` named `name` in `group`, not started; `None` if Java code threw.
    pub(crate) fn new_thread(
        self,
        group: &(impl Reference + ?Sized),
        name: &CStr,
    ) -> Option<Local<'a>> {
        let env = self.0;
        let constructor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
        // SAFETY: the environment is this thread's; class, constructor and arguments fit each
        // other; results are checked for null before they are used.
        unsafe {
            let class = ((**env).v1_2.FindClass)(env, c"java/lang/Thread".as_ptr());
            let class = self.checked(class)?;
            let init = ((**env).v1_2.GetMethodID)(
                env,
                class.raw(),
                c"<init>".as_ptr(),
                constructor.as_ptr(),
            );
            if init.is_null() {
                self.clear_exception();
                return None;
            }
            let name = self.checked(((**env).v1_2.NewStringUTF)(env, name.as_ptr()))?;
            let arguments = [jvalue { l: group.raw() }, jvalue { l: name.raw() }];
            let thread = ((**env).v1_2.NewObjectA)(env, class.raw(), init, arguments.as_ptr());
            self.checked(thread)
        }
    }

    /// Defines a class in the boot loader, and so in the module whose package it names.
    pub(crate) fn define_class(self, name: &CStr, bytes: &[u8]) -> Option<Local<'a>> {
        let env = self.0;
        let length = jint::try_from(bytes.len()).ok()?;
        // SAFETY: the environment is this thread's; name and bytes live until the call returns.
        unsafe {
            let (name, loader) = (name.as_ptr(), std::ptr::null_mut());
            self.checked(((**env).v1_1.DefineClass)(
                env,
                name,
                loader,
                bytes.as_ptr().cast(),
                length,
            ))
        }
    }

    /// Binds native methods of a class.
    ///
    /// # Safety
    /// The functions must be as their signatures say and live as long as the class.
    pub(crate) unsafe fn register_natives(
        self,
        class: &(impl Reference + ?Sized),
        methods: &[JNINativeMethod],
    ) -> Option<()> {
        let (env, count) = (self.0, jint::try_from(methods.len()).ok()?);
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        let result =
            unsafe { ((**env).v1_1.RegisterNatives)(env, class.raw(), methods.as_ptr(), count) };
        self.clear_exception();
        (result == 0).then_some(())
    }

    /// A class of the boot loader, by its internal name.
    pub(crate) fn find_class(self, name: &CStr) -> Option<Local<'a>> {
        // SAFETY: the environment is this thread's; the name ends in NUL.
        unsafe { self.checked(((**self.0).v1_1.FindClass)(self.0, name.as_ptr())) }
    }

    /// A `long` field of a class's objects.
    pub(crate) fn long_field(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
    ) -> Option<LongField> {
        // SAFETY: the environment is this thread's, the reference valid; the names end in NUL.
        let field = unsafe {
            ((**self.0).v1_1.GetFieldID)(self.0, class.raw(), name.as_ptr(), c"J".as_ptr())
        };
        self.clear_exception();
        (!field.is_null()).then_some(LongField(field))
    }

    /// The value of a field.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub(crate) unsafe fn get_long(
        self,
        object: &(impl Reference + ?Sized),
        field: LongField,
    ) -> i64 {
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**self.0).v1_1.GetLongField)(self.0, object.raw(), field.0) }
    }

    /// Sets a field.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub(crate) unsafe fn set_long(
        self,
        object: &(impl Reference + ?Sized),
        field: LongField,
        value: i64,
    ) {
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**self.0).v1_1.SetLongField)(self.0, object.raw(), field.0, value) }
    }

    /// Calls a static method that answers a `long`; `None` if there is none or it threw.
    ///
    /// # Safety
    /// The arguments must be as the signature says.
    pub(crate) unsafe fn call_static_long(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
        arguments: &[jvalue],
    ) -> Option<i64> {
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe {
            let method: jmethodID = ((**env).v1_1.GetStaticMethodID)(
                env,
                class.raw(),
                name.as_ptr(),
                signature.as_ptr(),
            );
            if method.is_null() {
                self.clear_exception();
                return None;
            }
            let call = (**env).v1_1.CallStaticLongMethodA;
            let result = call(env, class.raw(), method, arguments.as_ptr());
            let threw = ((**env).v1_2.ExceptionCheck)(env);
            self.clear_exception();
            (!threw).then_some(result)
        }
    }

    /// Takes over a result; an exception is cleared, as it is no business of the program's.
    ///
    /// # Safety
    /// `object` must be null or a local reference of this thread that nobody else deletes.
    unsafe fn checked(self, object: jobject) -> Option<Local<'a>> {
        self.clear_exception();
        // SAFETY: the caller's promise.
        unsafe { Local::from_raw(self, object) }
    }

    fn clear_exception(self) {
        // SAFETY: the environment is this thread's.
        unsafe { ((**self.0).v1_2.ExceptionClear)(self.0) }
    }
}

/// A field of type `long`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongField(jfieldID);

// SAFETY: a field id is a number to everyone but the JVM.
unsafe impl Send for LongField {}
// SAFETY: as above.
unsafe impl Sync for LongField {}
