//! The JVM's reports on threads and monitors at a moment.

use std::ffi::CStr;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jobject};
use perk_jvmti_sys::{
    JvmtiEnv, call, jthread, jvmtiError, jvmtiEvent, jvmtiExtensionEvent, jvmtiExtensionEventInfo,
    jvmtiStackInfo,
};

use crate::{Jni, Jvmti, Local, MethodRef, Reference, StackFrame};

/// The callback for a virtual thread that begins to run on a carrier, or is about to leave it.
pub(crate) type MountFunction = unsafe extern "C" fn(JvmtiEnv, *mut JNIEnv, jthread);

/// A thread's state and stack.
#[derive(Clone, Debug)]
pub struct ThreadMoment {
    /// The bits of `JVMTI_THREAD_STATE_`; 0 if the JVM does not say.
    pub state: i32,
    /// The frames, the innermost first.
    pub stack: Vec<StackFrame>,
}

impl Jvmti {
    /// Returns the state and at most `depth` frames of each thread, all of one moment.
    pub fn moments(
        self,
        threads: &[&dyn Reference],
        depth: u32,
    ) -> Result<Vec<ThreadMoment>, jvmtiError> {
        let threads: Vec<jthread> = threads.iter().map(|thread| thread.raw()).collect();
        let count = jint::try_from(threads.len()).unwrap_or(jint::MAX);
        let depth = jint::try_from(depth).unwrap_or(jint::MAX);
        let mut infos: *mut jvmtiStackInfo = null_mut();
        // SAFETY: the environment is valid, and so are the references; the answer is one piece of
        // memory, ours to free, with an entry for each of them.
        unsafe {
            let list = threads.as_ptr();
            call!(self.raw(), GetThreadListStackTraces, count, list, depth, &mut infos).ok()?;
            let moments = self.slice(count, infos).iter().map(|info| {
                let frames = self.slice(info.frame_count, info.frame_buffer).iter();
                let frame = |method, bci| StackFrame { method: MethodRef(method), bci };
                let stack = frames.map(|it| frame(it.method, it.location)).collect();
                ThreadMoment { state: info.state, stack }
            });
            let moments = moments.collect();
            self.free(infos);
            Ok(moments)
        }
    }

    /// Returns the monitors that a thread has entered.
    pub fn owned_monitors<'a>(
        self,
        jni: Jni<'a>,
        thread: &(impl Reference + ?Sized),
    ) -> Result<Vec<Local<'a>>, jvmtiError> {
        let (mut count, mut monitors) = (0, null_mut());
        // SAFETY: the environment and reference are valid; the array and its references are ours.
        unsafe {
            call!(self.raw(), GetOwnedMonitorInfo, thread.raw(), &mut count, &mut monitors).ok()?;
            Ok(self.take_references(jni, count, monitors))
        }
    }

    /// Returns the monitor that a thread waits to enter, or to be notified by.
    pub fn contended_monitor<'a>(
        self,
        jni: Jni<'a>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        let mut monitor: jobject = null_mut();
        // SAFETY: the environment and reference are valid; the new reference is ours.
        unsafe {
            let thread = thread.raw();
            call!(self.raw(), GetCurrentContendedMonitor, thread, &mut monitor).ok().ok()?;
            Local::from_raw(jni, monitor)
        }
    }

    /// Makes HotSpot report when a virtual thread has begun to run on a carrier, and when it is
    /// about to leave it (JDK 21 and later); `None` if it does not.
    ///
    /// # Safety
    /// The functions must be callable on any thread for as long as the process lives.
    pub unsafe fn set_mount_events(
        self,
        mount: MountFunction,
        unmount: MountFunction,
    ) -> Option<()> {
        let (mut count, mut events): (_, *mut jvmtiExtensionEventInfo) = (0, null_mut());
        let mut found = [None, None];
        // SAFETY: the environment is valid; the array has `count` entries, whose strings and arrays
        // are ours to free.
        unsafe {
            call!(self.raw(), GetExtensionEvents, &mut count, &mut events).ok().ok()?;
            for event in self.slice(count, events) {
                let names = [
                    c"com.sun.hotspot.events.VirtualThreadMount",
                    c"com.sun.hotspot.events.VirtualThreadUnmount",
                ];
                if let Some(place) = names.iter().position(|name| CStr::from_ptr(event.id) == *name)
                {
                    found[place] = Some(event.extension_event_index);
                }
                for index in 0..usize::try_from(event.param_count).unwrap_or(0) {
                    self.free((*event.params.add(index)).name);
                }
                self.free(event.params);
                self.free(event.id);
                self.free(event.short_description);
            }
            self.free(events);
        }
        for (index, function) in found.into_iter().zip([mount, unmount]) {
            // SAFETY: the type represents functions with any arguments; these are those of the event,
            // and a call of a variadic function passes pointers as any other does.
            unsafe {
                let function = std::mem::transmute::<MountFunction, jvmtiExtensionEvent>(function);
                let index = index?;
                call!(self.raw(), SetExtensionEventCallback, index, Some(function)).ok().ok()?;
                // HotSpot wants this as well.
                self.enable(jvmtiEvent(index)).ok()?;
            }
        }
        Some(())
    }

    /// Returns the value of `System.identityHashCode` for an object.
    pub fn identity(self, object: &(impl Reference + ?Sized)) -> Option<u32> {
        let mut hash = 0;
        // SAFETY: the environment and reference are valid, `hash` lives until the call returns.
        unsafe { call!(self.raw(), GetObjectHashCode, object.raw(), &mut hash).ok().ok()? };
        Some(hash.cast_unsigned())
    }
}

impl<'a> Jni<'a> {
    /// Returns a local reference to the same object.
    pub fn local(self, object: &(impl Reference + ?Sized)) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the new one is ours.
        unsafe { Local::from_raw(self, ((**env).v1_2.NewLocalRef)(env, object.raw())) }
    }

    /// Whether an object is of a class or one of its subclasses.
    pub fn is_instance(
        self,
        object: &(impl Reference + ?Sized),
        class: &(impl Reference + ?Sized),
    ) -> bool {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the references are valid.
        unsafe { ((**env).v1_1.IsInstanceOf)(env, object.raw(), class.raw()) }
    }
}
