//! The pending exception of the calling thread, without a call of the JVM, which takes 15 ns.
//!
//! The JVM's own thread has the exception in its second word, and the thread's environment is a member of
//! it. [`Jni::find_pending`] tries whether that is so.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::jobject;

use crate::jni::Jni;
use crate::refs::Reference;

/// The distance from the word to the environment; 0 while it is not known.
static DISTANCE: AtomicUsize = AtomicUsize::new(0);

/// Returns what the word at an address has.
///
/// # Safety
/// It must be a word of the JVM's own thread that is the calling one.
unsafe fn word(address: usize) -> jobject {
    // SAFETY: the caller's promise; the JVM writes whole words.
    unsafe { (*(address as *const AtomicPtr<_>)).load(Relaxed) }
}

impl Jni<'_> {
    /// Finds the word; `thread` is the address of the JVM's own thread that is the calling one. No
    /// exception may be pending.
    ///
    /// # Safety
    /// The address must be right.
    pub unsafe fn find_pending(self, thread: usize) {
        let env = self.raw();
        let address = thread + size_of::<usize>();
        let Some(class) = self.find_class(c"java/lang/Error") else { return };
        // SAFETY: the environment is this thread's, the class is one of errors; a thread is larger than two
        // words.
        let is_it = unsafe {
            let Some(error) = self.checked(((**env).v1_2.AllocObject)(env, class.raw())) else {
                return;
            };
            let before = word(address);
            ((**env).v1_2.Throw)(env, error.raw());
            let between = word(address);
            self.clear_exception();
            before.is_null() && !between.is_null() && word(address).is_null()
        };
        if is_it {
            DISTANCE.store((env as usize).wrapping_sub(address), Relaxed);
        }
    }

    /// Does as [`is_throwing`](Self::is_throwing).
    #[inline]
    pub fn has_pending(self) -> bool {
        match DISTANCE.load(Relaxed) {
            0 => self.is_throwing(),
            // SAFETY: this is the word that was found, of the calling thread.
            distance => unsafe { !word((self.raw() as usize).wrapping_sub(distance)).is_null() },
        }
    }
}
