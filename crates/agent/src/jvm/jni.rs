//! JNI, as far as the agent needs it.

use std::ffi::CStr;
use std::marker::PhantomData;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jobject, jvalue};

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
