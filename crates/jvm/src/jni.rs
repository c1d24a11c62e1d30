//! JNI, as far as the agent needs it.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

use perk_jvmti_sys::jni_sys::{
    JNI_OK, JNI_VERSION_1_8, JNI_VERSION_21, JNIEnv, JNINativeMethod, JavaVM, JavaVMAttachArgs,
    jint, jobject, jobjectRefType, jvalue,
};
use perk_profile::mutf8;

use crate::{Global, Jvmti, Local, MethodRef, Reference, Weak};

/// The JNI environment of the current thread, for as long as a callback lasts.
#[derive(Clone, Copy, Debug)]
pub struct Jni<'a>(*mut JNIEnv, PhantomData<&'a ()>);

impl<'a> Jni<'a> {
    /// Wraps a callback's environment.
    ///
    /// # Safety
    /// `env` must be the current thread's, valid for the lifetime chosen.
    pub unsafe fn from_raw(env: *mut JNIEnv) -> Self {
        Self(env, PhantomData)
    }

    /// Returns the environment as the JVM has it.
    pub fn raw(self) -> *mut JNIEnv {
        self.0
    }

    /// Returns a global reference to the same object.
    pub fn global(self, object: &(impl Reference + ?Sized)) -> Option<Global> {
        // SAFETY: the environment is this thread's, the reference valid; the result is ours.
        unsafe { Global::from_raw(((**self.0).v1_2.NewGlobalRef)(self.0, object.raw())) }
    }

    /// Deletes a global reference.
    pub fn delete(self, object: Global) {
        // SAFETY: the environment is this thread's; the reference is given up here.
        unsafe { ((**self.0).v1_2.DeleteGlobalRef)(self.0, object.raw()) }
    }

    /// Returns a weak reference to the same object.
    pub fn weak(self, object: &(impl Reference + ?Sized)) -> Option<Weak> {
        // SAFETY: the environment is this thread's, the reference valid; the result is ours.
        let weak =
            unsafe { Weak::from_raw(((**self.0).v1_2.NewWeakGlobalRef)(self.0, object.raw())) };
        if weak.is_none() {
            // Out of memory, which the JVM throws as well.
            self.clear_exception();
        }
        weak
    }

    /// Whether the object of a weak reference was collected.
    pub fn is_gone(self, weak: &Weak) -> bool {
        // SAFETY: the environment is this thread's; a weak reference is valid until it is deleted.
        unsafe { ((**self.0).v1_2.IsSameObject)(self.0, weak.raw(), std::ptr::null_mut()) }
    }

    /// Whether a weak reference is one to this object.
    pub fn is_of(self, weak: &Weak, object: &(impl Reference + ?Sized)) -> bool {
        // SAFETY: the environment is this thread's; a weak reference is valid until it is deleted,
        // and the other one while it is borrowed.
        unsafe { ((**self.0).v1_2.IsSameObject)(self.0, weak.raw(), object.raw()) }
    }

    /// Returns the object of a weak reference; `None` if it was collected.
    pub fn revived(self, weak: &Weak) -> Option<Local<'a>> {
        // SAFETY: the environment is this thread's; a weak reference is valid until it is deleted.
        unsafe { Local::from_raw(self, ((**self.0).v1_2.NewLocalRef)(self.0, weak.raw())) }
    }

    /// Deletes a weak reference.
    pub fn delete_weak(self, weak: Weak) {
        // SAFETY: the environment is this thread's; the reference is given up here.
        unsafe { ((**self.0).v1_2.DeleteWeakGlobalRef)(self.0, weak.raw()) }
    }

    /// Returns the JVM, which gives other threads their environments.
    pub fn vm(self) -> Option<Vm> {
        let mut vm = std::ptr::null_mut();
        // SAFETY: the environment is this thread's, `vm` lives until the call returns.
        let result = unsafe { ((**self.0).v1_2.GetJavaVM)(self.0, &mut vm) };
        (result == JNI_OK && !vm.is_null()).then_some(Vm(vm))
    }

    /// Returns another JVMTI environment. JDK 21 refuses the first one of a running program while a virtual
    /// thread enters or leaves its carrier, so it is asked several times.
    pub fn new_jvmti(self) -> Option<Jvmti> {
        const MOST_TRIES: usize = 1000;
        const PAUSE: Duration = Duration::from_millis(1);
        let Vm(vm) = self.vm()?;
        for _ in 0..MOST_TRIES {
            // SAFETY: it is the running JVM.
            if let Some(jvmti) = unsafe { Jvmti::new(vm) } {
                return Some(jvmti);
            }
            std::thread::sleep(PAUSE);
        }
        None
    }

    /// Whether the JVM can have virtual threads, which JDK 21 brought.
    pub fn has_virtual_threads(self) -> bool {
        // SAFETY: the environment is this thread's.
        unsafe { ((**self.0).v1_2.GetVersion)(self.0) >= JNI_VERSION_21 }
    }

    /// Whether a thread is a virtual one.
    pub fn is_virtual(self, thread: &(impl Reference + ?Sized)) -> bool {
        // SAFETY: the environment is this thread's, the reference valid; JVMs with virtual threads
        // have the function.
        self.has_virtual_threads()
            && unsafe { ((**self.0).v19.IsVirtualThread)(self.0, thread.raw()) }
    }

    /// Makes room for local references that the JVM has handed out. Without it, `-Xcheck:jni`
    /// complains about too many on the program's stdout.
    pub(super) fn expect_locals(self, count: usize) {
        // The JVM refuses more.
        const MOST: usize = 1 << 16;
        // SAFETY: the environment is this thread's.
        unsafe { ((**self.0).v1_2.EnsureLocalCapacity)(self.0, count.min(MOST) as jint) };
    }

    /// Runs `body` with room for `count` local references besides those of its caller.
    pub fn with_room(self, count: impl Into<jint>, body: impl FnOnce()) {
        // SAFETY: the environment is this thread's; the frame that is pushed is popped again.
        unsafe {
            if ((**self.0).v1_2.PushLocalFrame)(self.0, count.into()) != JNI_OK {
                return self.clear_exception();
            }
            body();
            ((**self.0).v1_2.PopLocalFrame)(self.0, std::ptr::null_mut());
        }
    }

    /// Whether something is a reference that the thread can use.
    #[expect(
        clippy::not_unsafe_ptr_arg_deref,
        reason = "the JVM takes anything and says what it is"
    )]
    pub fn is_reference(self, object: jobject) -> bool {
        // SAFETY: the environment is this thread's; the function takes anything.
        let kind = unsafe { ((**self.0).v1_6.GetObjectRefType)(self.0, object) };
        !matches!(kind, jobjectRefType::JNIInvalidRefType)
    }

    /// Whether two references mean the same object.
    pub fn same(self, a: &(impl Reference + ?Sized), b: &(impl Reference + ?Sized)) -> bool {
        // SAFETY: the environment is this thread's, both references are valid.
        unsafe { ((**self.0).v1_2.IsSameObject)(self.0, a.raw(), b.raw()) }
    }

    /// Returns a new `java.lang.Thread` named `name` in `group`, not started; `None` if Java code
    /// threw.
    pub fn new_thread(self, group: &(impl Reference + ?Sized), name: &CStr) -> Option<Local<'a>> {
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

    /// Registers `thread`, a new one, to be started by the JVM when the program ends; `None` if
    /// Java code threw.
    pub fn add_shutdown_hook(self, thread: &(impl Reference + ?Sized)) -> Option<()> {
        let env = self.0;
        let class = self.find_class(c"java/lang/Runtime")?;
        let (getter, of_getter) = (c"getRuntime", c"()Ljava/lang/Runtime;");
        let (adder, of_adder) = (c"addShutdownHook", c"(Ljava/lang/Thread;)V");
        // SAFETY: the environment is this thread's; methods and arguments fit each other; results
        // are checked for null before they are used.
        unsafe {
            let find = ((**env).v1_1.GetStaticMethodID, (**env).v1_1.GetMethodID);
            let get = find.0(env, class.raw(), getter.as_ptr(), of_getter.as_ptr());
            let add = find.1(env, class.raw(), adder.as_ptr(), of_adder.as_ptr());
            if get.is_null() || add.is_null() {
                self.clear_exception();
                return None;
            }
            let call = (**env).v1_1.CallStaticObjectMethodA;
            let runtime = self.checked(call(env, class.raw(), get, std::ptr::null()))?;
            let arguments = [jvalue { l: thread.raw() }];
            ((**env).v1_1.CallVoidMethodA)(env, runtime.raw(), add, arguments.as_ptr());
            let threw = ((**env).v1_2.ExceptionCheck)(env);
            self.clear_exception();
            (!threw).then_some(())
        }
    }

    /// Ends the JVM at once, with exit code 0; returns if Java code threw.
    pub fn halt(self) {
        let env = self.0;
        let Some(class) = self.find_class(c"java/lang/Runtime") else { return };
        let (getter, of_getter) = (c"getRuntime", c"()Ljava/lang/Runtime;");
        // SAFETY: the environment is this thread's; methods and arguments fit each other; results
        // are checked for null before they are used.
        unsafe {
            let find = ((**env).v1_1.GetStaticMethodID, (**env).v1_1.GetMethodID);
            let get = find.0(env, class.raw(), getter.as_ptr(), of_getter.as_ptr());
            let halt = find.1(env, class.raw(), c"halt".as_ptr(), c"(I)V".as_ptr());
            if get.is_null() || halt.is_null() {
                return self.clear_exception();
            }
            let call = (**env).v1_1.CallStaticObjectMethodA;
            if let Some(it) = self.checked(call(env, class.raw(), get, std::ptr::null())) {
                let arguments = [jvalue { i: 0 }];
                ((**env).v1_1.CallVoidMethodA)(env, it.raw(), halt, arguments.as_ptr());
                self.clear_exception();
            }
        }
    }

    /// Defines a class in the boot loader, and so in the module whose package it names.
    pub fn define_class(self, name: &CStr, bytes: &[u8]) -> Option<Local<'a>> {
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
    pub unsafe fn register_natives(
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

    /// Returns a class of the boot loader, by its internal name.
    pub fn find_class(self, name: &CStr) -> Option<Local<'a>> {
        // SAFETY: the environment is this thread's; the name ends in NUL.
        unsafe { self.checked(((**self.0).v1_1.FindClass)(self.0, name.as_ptr())) }
    }

    /// Returns `java.lang.Object`, which is looked up once. To look a class up runs code of Java's class
    /// loaders, if the thread has no frame of Java: it may wait for a thread that stands still.
    pub fn object_class(self) -> Option<&'static Global> {
        static CLASS: OnceLock<Global> = OnceLock::new();
        if CLASS.get().is_none() {
            let class = self.global(&self.find_class(c"java/lang/Object")?)?;
            if let Err(spare) = CLASS.set(class) {
                self.delete(spare);
            }
        }
        CLASS.get()
    }

    /// Returns a static method.
    pub fn static_method(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
    ) -> Option<MethodRef> {
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the texts end in NUL.
        let method = unsafe {
            let find = (**env).v1_1.GetStaticMethodID;
            find(env, class.raw(), name.as_ptr(), signature.as_ptr())
        };
        self.clear_exception();
        (!method.is_null()).then_some(MethodRef(method))
    }

    /// Sets a static field of type `boolean`, if the class has it.
    pub fn set_static_boolean(self, class: &(impl Reference + ?Sized), name: &CStr, value: bool) {
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the texts end in NUL; the field
        // is one of the class.
        unsafe {
            let find = (**env).v1_1.GetStaticFieldID;
            let field = find(env, class.raw(), name.as_ptr(), c"Z".as_ptr());
            self.clear_exception();
            if !field.is_null() {
                ((**env).v1_1.SetStaticBooleanField)(env, class.raw(), field, value);
            }
        }
    }

    /// Returns the value of a static field of type `int`, if the class has it.
    pub fn static_int(self, class: &(impl Reference + ?Sized), name: &CStr) -> Option<i32> {
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the texts end in NUL; the field
        // is one of the class.
        unsafe {
            let find = (**env).v1_1.GetStaticFieldID;
            let field = find(env, class.raw(), name.as_ptr(), c"I".as_ptr());
            self.clear_exception();
            (!field.is_null()).then(|| ((**env).v1_1.GetStaticIntField)(env, class.raw(), field))
        }
    }

    /// Sets a static field that holds a reference, if the class has it.
    ///
    /// # Safety
    /// The object must be of the type that the signature says.
    pub unsafe fn set_static_object(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
        object: &(impl Reference + ?Sized),
    ) {
        let env = self.0;
        // SAFETY: the environment is this thread's, and the caller promises the type of the object.
        unsafe {
            let find = (**env).v1_1.GetStaticFieldID;
            let field = find(env, class.raw(), name.as_ptr(), signature.as_ptr());
            self.clear_exception();
            if !field.is_null() {
                ((**env).v1_1.SetStaticObjectField)(env, class.raw(), field, object.raw());
            }
        }
    }

    /// Calls a static method that returns a `long`; `None` if it threw.
    ///
    /// # Safety
    /// The method must be one of the class, and return a `long`; the arguments must be its own.
    pub unsafe fn call_long(
        self,
        class: &(impl Reference + ?Sized),
        method: MethodRef,
        arguments: &[jvalue],
    ) -> Option<i64> {
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        let (result, threw) = unsafe {
            let call = (**env).v1_1.CallStaticLongMethodA;
            let result = call(env, class.raw(), method.0, arguments.as_ptr());
            (result, ((**env).v1_2.ExceptionCheck)(env))
        };
        if threw {
            self.clear_exception();
        }
        (!threw).then_some(result)
    }

    /// Calls a static method that returns a `long`; `None` if the method does not exist or threw.
    ///
    /// # Safety
    /// The arguments must be as the signature says.
    pub unsafe fn call_static_long(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
        arguments: &[jvalue],
    ) -> Option<i64> {
        let method = self.static_method(class, name, signature)?;
        // SAFETY: the caller's promise.
        unsafe { self.call_long(class, method, arguments) }
    }

    /// Calls a static method that returns an object; `None` if that is null, or if Java code threw.
    ///
    /// # Safety
    /// The arguments must be those of the method.
    pub unsafe fn call_static_object(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
        arguments: &[jvalue],
    ) -> Option<Local<'a>> {
        let method = self.static_method(class, name, signature)?;
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe {
            let call = (**env).v1_1.CallStaticObjectMethodA;
            self.checked(call(env, class.raw(), method.0, arguments.as_ptr()))
        }
    }

    /// Calls a static method without arguments or result. Returns whether it did not throw.
    pub fn call_static(self, class: &(impl Reference + ?Sized), name: &CStr) -> bool {
        let Some(method) = self.static_method(class, name, c"()V") else { return false };
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the method has no arguments.
        let threw = unsafe {
            ((**env).v1_1.CallStaticVoidMethodA)(env, class.raw(), method.0, std::ptr::null());
            ((**env).v1_2.ExceptionCheck)(env)
        };
        self.clear_exception();
        !threw
    }

    /// Takes over a result; an exception is cleared, as it does not concern the program.
    ///
    /// # Safety
    /// `object` must be null or a local reference of this thread that nobody else deletes.
    pub(super) unsafe fn checked(self, object: jobject) -> Option<Local<'a>> {
        self.clear_exception();
        // SAFETY: the caller's promise.
        unsafe { Local::from_raw(self, object) }
    }

    /// Returns a new string of modified UTF-8.
    pub(super) fn new_string(self, text: &CStr) -> Option<Local<'a>> {
        // SAFETY: the environment is this thread's; the text ends in NUL.
        unsafe { self.checked(((**self.0).v1_2.NewStringUTF)(self.0, text.as_ptr())) }
    }

    /// Takes the exception that the thread has, as its `toString` gives it.
    pub(super) fn take_exception(self) -> Option<String> {
        let env = self.0;
        let signature = c"()Ljava/lang/String;";
        // SAFETY: the environment is this thread's; method and object fit each other; results are
        // checked for null before they are used, and the characters are given back.
        unsafe {
            let exception = ((**env).v1_2.ExceptionOccurred)(env);
            let exception = self.checked(exception)?;
            let text = || {
                let class = self.find_class(c"java/lang/Throwable")?;
                let find = (**env).v1_1.GetMethodID;
                let method = find(env, class.raw(), c"toString".as_ptr(), signature.as_ptr());
                if method.is_null() {
                    self.clear_exception();
                    return None;
                }
                let call = (**env).v1_1.CallObjectMethodA;
                let arguments = std::ptr::null();
                let text = self.checked(call(env, exception.raw(), method, arguments))?;
                self.text(&text)
            };
            Some(text().unwrap_or_else(|| "an exception".to_owned()))
        }
    }

    /// Returns a copy of a string.
    ///
    /// # Safety
    /// The object must be a string.
    pub unsafe fn text(self, string: &(impl Reference + ?Sized)) -> Option<String> {
        let env = self.0;
        // SAFETY: the environment is this thread's, the reference valid; the characters end in NUL
        // and are given back.
        unsafe {
            let get = (**env).v1_1.GetStringUTFChars;
            let characters = get(env, string.raw(), std::ptr::null_mut());
            if characters.is_null() {
                self.clear_exception();
                return None;
            }
            let copy = mutf8::decode(CStr::from_ptr(characters).to_bytes()).into_owned();
            ((**env).v1_1.ReleaseStringUTFChars)(env, string.raw(), characters);
            Some(copy)
        }
    }

    /// Returns the length of an array.
    ///
    /// # Safety
    /// The object must be an array.
    pub unsafe fn array_length(self, array: &(impl Reference + ?Sized)) -> jint {
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**self.0).v1_2.GetArrayLength)(self.0, array.raw()) }
    }

    /// Whether the thread has an exception that nobody has caught yet.
    pub fn is_throwing(self) -> bool {
        // SAFETY: the environment is this thread's.
        unsafe { ((**self.0).v1_2.ExceptionCheck)(self.0) }
    }

    /// Runs `body`, which uses JNI, without the thread's pending exception, if any, and then throws
    /// that exception again.
    pub fn without_exception(self, body: impl FnOnce()) {
        if !self.is_throwing() {
            return body();
        }
        // SAFETY: the environment is this thread's; the reference is good until it is deleted.
        unsafe {
            let exception = ((**self.0).v1_2.ExceptionOccurred)(self.0);
            ((**self.0).v1_2.ExceptionClear)(self.0);
            body();
            ((**self.0).v1_2.Throw)(self.0, exception);
            ((**self.0).v1_2.DeleteLocalRef)(self.0, exception);
        }
    }

    /// Drops the thread's pending exception, if any.
    pub fn clear_exception(self) {
        // SAFETY: the environment is this thread's.
        unsafe { ((**self.0).v1_2.ExceptionClear)(self.0) }
    }
}

/// The JVM, for as long as the process lives.
#[derive(Clone, Copy, Debug)]
pub struct Vm(*mut JavaVM);

// SAFETY: the JVM's interface may be used from any thread.
unsafe impl Send for Vm {}
// SAFETY: the JVM's interface may be used from any thread.
unsafe impl Sync for Vm {}

impl Vm {
    /// Wraps the JVM's interface.
    ///
    /// # Safety
    /// It must be the running JVM.
    pub unsafe fn from_raw(vm: *mut JavaVM) -> Self {
        Self(vm)
    }

    /// Runs `body` while the calling thread is one of the JVM's, a daemon of this name that is in the
    /// JVM's own group. It is not run if the JVM is gone.
    pub fn attached(&self, name: &CStr, body: impl FnOnce(Jni<'_>)) {
        let mut env = std::ptr::null_mut();
        let mut arguments = JavaVMAttachArgs {
            version: JNI_VERSION_1_8,
            name: name.as_ptr().cast_mut(),
            group: std::ptr::null_mut(),
        };
        // SAFETY: the JVM's interface outlives the JVM; the arguments live until the call returns. The
        // thread has no frame of Java when it is detached.
        unsafe {
            let functions = &(**self.0).v1_4;
            let attach = functions.AttachCurrentThreadAsDaemon;
            let result = attach(self.0, &mut env, (&raw mut arguments).cast());
            if result == JNI_OK {
                body(Jni::from_raw(env.cast()));
                (functions.DetachCurrentThread)(self.0);
            }
        }
    }

    /// Returns the environment of the calling thread; `None` if the thread is not one of the JVM's,
    /// or the JVM is gone.
    pub fn jni(&self) -> Option<Jni<'_>> {
        let mut env = std::ptr::null_mut();
        // SAFETY: the JVM's interface outlives the JVM, `env` lives until the call returns.
        let result = unsafe { ((**self.0).v1_2.GetEnv)(self.0, &mut env, JNI_VERSION_1_8) };
        // SAFETY: the environment is this thread's, as the JVM says.
        (result == JNI_OK && !env.is_null()).then(|| unsafe { Jni::from_raw(env.cast()) })
    }
}
