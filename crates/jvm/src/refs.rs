//! JNI references with owners.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use perk_jvmti_sys::jni_sys::{JNIEnv, jobject};

use crate::Jni;

/// A reference that is valid as long as it is borrowed.
pub trait Reference {
    /// Returns the raw reference; never null.
    fn raw(&self) -> jobject;
}

/// A reference that the JVM passed to a callback; valid until the callback returns.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRef<'a>(jobject, PhantomData<&'a ()>);

impl ObjectRef<'_> {
    /// Wraps a callback's argument; `None` for null.
    ///
    /// # Safety
    /// `object` must be null or a reference that is valid for the lifetime chosen.
    pub unsafe fn from_raw(object: jobject) -> Option<Self> {
        (!object.is_null()).then_some(Self(object, PhantomData))
    }
}

impl Reference for ObjectRef<'_> {
    fn raw(&self) -> jobject {
        self.0
    }
}

/// A local reference of this thread, deleted when dropped.
#[derive(Debug)]
pub struct Local<'a> {
    env: *mut JNIEnv,
    object: jobject,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Local<'a> {
    /// Takes over a local reference; `None` for null.
    ///
    /// # Safety
    /// `object` must be null or a local reference of `jni`'s thread that nobody else deletes.
    pub unsafe fn from_raw(jni: Jni<'a>, object: jobject) -> Option<Self> {
        (!object.is_null()).then_some(Self { env: jni.raw(), object, lifetime: PhantomData })
    }
}

impl Local<'_> {
    /// Returns the same reference, as long as this one lives.
    pub fn borrowed(&self) -> ObjectRef<'_> {
        ObjectRef(self.object, PhantomData)
    }

    /// Returns the raw reference, which is the caller's to delete.
    pub fn into_raw(self) -> jobject {
        ManuallyDrop::new(self).object
    }
}

impl Reference for Local<'_> {
    fn raw(&self) -> jobject {
        self.object
    }
}

impl Drop for Local<'_> {
    fn drop(&mut self) {
        // SAFETY: `from_raw` promised a local reference of this environment that is ours; the
        // environment pointer is not Send, so this is its thread.
        unsafe { ((**self.env).v1_2.DeleteLocalRef)(self.env, self.object) }
    }
}

/// A global reference. It is deleted by [`Jni::delete`]; dropping it leaks it, as no thread is
/// available at that point.
#[derive(Debug)]
pub struct Global(jobject);

// SAFETY: global references are valid in all threads.
unsafe impl Send for Global {}
// SAFETY: global references are valid in all threads, and do not change.
unsafe impl Sync for Global {}

impl Global {
    /// Takes over a global reference; `None` for null.
    ///
    /// # Safety
    /// `object` must be null or a global reference that nobody else deletes.
    pub unsafe fn from_raw(object: jobject) -> Option<Self> {
        (!object.is_null()).then_some(Self(object))
    }

    /// Returns a second handle of the same reference.
    ///
    /// # Safety
    /// Neither may be used after one was deleted.
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }
}

impl Reference for Global {
    fn raw(&self) -> jobject {
        self.0
    }
}

/// A weak global reference: it does not keep its object alive. It is deleted by
/// [`Jni::delete_weak`]; dropping it leaks it.
#[derive(Debug)]
pub struct Weak(jobject);

// SAFETY: weak global references are valid in all threads.
unsafe impl Send for Weak {}
// SAFETY: weak global references are valid in all threads.
unsafe impl Sync for Weak {}

impl Weak {
    /// Takes over a weak global reference; `None` for null.
    ///
    /// # Safety
    /// `object` must be null or a weak global reference that nobody else deletes.
    pub unsafe fn from_raw(object: jobject) -> Option<Self> {
        (!object.is_null()).then_some(Self(object))
    }

    /// Returns a second handle of the same reference.
    ///
    /// # Safety
    /// Neither may be used after one was deleted.
    pub unsafe fn alias(&self) -> Self {
        Self(self.0)
    }

    /// Whether a collector has cleared it: its object is gone. This costs a tenth of
    /// [`Jni::is_gone`], which also knows of objects that a running collection has found dead.
    pub fn is_cleared(&self) -> bool {
        /// The bits that distinguish kinds of references.
        const KIND: usize = 0b11;
        /// The least address of an object. Collectors may put other values into references, as ZGC
        /// puts colours into a null; these are below this or above the address.
        const LEAST_ADDRESS: u64 = 1 << 16;
        // SAFETY: HotSpot's reference is the address of the word that the collector updates; a weak
        // reference is valid until it is deleted.
        let word = unsafe { ((self.0 as usize & !KIND) as *const u64).read_volatile() };
        word < LEAST_ADDRESS
    }

    /// Returns the raw reference; never null. It is not a [`Reference`], as its object may be gone.
    pub(super) fn raw(&self) -> jobject {
        self.0
    }
}
