//! Control of threads: suspending and resuming them, starting them, and their frames.

use std::ffi::c_void;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{jint, jobject};
use perk_jvmti_sys::{
    JVMTI_ERROR_MUST_POSSESS_CAPABILITY, call, jvmtiError, jvmtiFrameInfo, jvmtiStartFunction,
};

use crate::{Jni, Jvmti, Local, MethodRef, Reference};

impl Jvmti {
    /// Suspends a thread. One that runs native code continues until it returns to the JVM.
    pub fn suspend(self, thread: &(impl Reference + ?Sized)) -> Result<(), jvmtiError> {
        // SAFETY: the environment and reference are valid.
        let suspend = || unsafe { call!(self.raw(), SuspendThread, thread.raw()).ok() };
        match suspend() {
            Err(JVMTI_ERROR_MUST_POSSESS_CAPABILITY) => {
                self.request_stops()?;
                suspend()
            }
            result => result,
        }
    }

    /// Resumes a thread.
    pub fn resume(self, thread: &(impl Reference + ?Sized)) -> Result<(), jvmtiError> {
        // SAFETY: the environment and reference are valid.
        unsafe { call!(self.raw(), ResumeThread, thread.raw()).ok() }
    }

    /// Starts a thread as a daemon, which the program does not see in its thread groups.
    ///
    /// # Safety
    /// The function must accept the argument.
    pub unsafe fn start_thread(
        self,
        thread: &(impl Reference + ?Sized),
        priority: jint,
        body: jvmtiStartFunction,
        argument: *const c_void,
    ) -> Result<(), jvmtiError> {
        // SAFETY: the environment and reference are valid; the caller's promise.
        unsafe {
            call!(self.raw(), RunAgentThread, thread.raw(), Some(body), argument, priority).ok()
        }
    }

    /// Writes the frames of a thread to `frames`, the innermost first, from the one with index `first`
    /// on. `None` means the calling thread, or the virtual thread on it. Returns their number.
    ///
    /// # Safety
    /// `frames` must have room for `room` frames.
    pub unsafe fn frames(
        self,
        thread: Option<&dyn Reference>,
        first: jint,
        room: jint,
        frames: *mut jvmtiFrameInfo,
    ) -> Result<jint, jvmtiError> {
        let mut count = 0;
        let thread = thread.map_or(null_mut(), Reference::raw);
        // SAFETY: the environment is valid, and so is the reference, or null; the caller's promise.
        unsafe { call!(self.raw(), GetStackTrace, thread, first, room, frames, &mut count).ok()? };
        Ok(count)
    }

    /// Whether a method is an older one, which only frames have that began before its class was
    /// redefined.
    pub fn is_obsolete(self, method: MethodRef) -> bool {
        let mut is_obsolete = false;
        // SAFETY: the environment is valid, the method id came from the JVM.
        unsafe { call!(self.raw(), IsMethodObsolete, method.raw(), &mut is_obsolete) };
        is_obsolete
    }

    /// Returns the object of the method that a thread is in, which must be suspended.
    pub fn receiver_of<'a>(
        self,
        jni: Jni<'a>,
        thread: &(impl Reference + ?Sized),
    ) -> Option<Local<'a>> {
        let mut object: jobject = null_mut();
        // SAFETY: the environment and reference are valid; the new reference is ours.
        unsafe {
            call!(self.raw(), GetLocalInstance, thread.raw(), 0, &mut object).ok().ok()?;
            Local::from_raw(jni, object)
        }
    }
}
