//! Identity hashes that lead to records.
//!
//! An array does not have room for a field, but every object has an identity hash in its header.
//! The JVM makes it when it is first asked for. perk's probe writes one into the header of a new
//! array before that: a hash that leads to the record ([`Blocks`]), with a mark that the JVM's own
//! hashes do not have. A walk of the heap reads it.

use perk_jvm::{Global, Header, Headers, Jni, Jvmti, MethodRef, Reference};
use perk_jvmti_sys::jni_sys::jvalue;

use super::blocks::{Blocks, Owner};

/// The identity hashes; see the module.
#[derive(Debug)]
pub(super) struct Identities {
    pub(super) blocks: Blocks,
    headers: Headers,
    /// The lowest bit of a hash in a header.
    pub(super) shift: i32,
    helper: &'static Global,
    /// PerkProbes.identify
    identify: MethodRef,
    /// PerkProbes.hashOf
    hash_of: MethodRef,
    /// PerkProbes.identityOf
    identity_of: MethodRef,
}

impl Identities {
    /// Finds out how this JVM holds identity hashes; `None` if perk cannot write or read them.
    pub(super) fn find(jvmti: Jvmti, jni: Jni<'_>, helper: &'static Global) -> Option<Self> {
        // SAFETY: the method does not have arguments.
        let shift = unsafe { jni.call_static_long(helper, c"hashShift", c"()J", &[]) }?;
        let shift = i32::try_from(shift).ok().filter(|&shift| shift != 0)?;
        Some(Self {
            blocks: Blocks::new().ok()?,
            headers: Headers::find(jvmti, jni, shift.unsigned_abs())?,
            shift,
            helper,
            identify: jni.static_method(helper, c"identify", c"(Ljava/lang/Object;I)J")?,
            hash_of: jni.static_method(helper, c"hashOf", c"(Ljava/lang/Object;)J")?,
            identity_of: jni.static_method(helper, c"identityOf", c"(Ljava/lang/Object;)J")?,
        })
    }

    /// Gives an object, which its record has just counted, a hash that leads to the record. Returns
    /// whether that was possible.
    pub(super) fn identify(
        &self,
        jni: Jni<'_>,
        object: &(impl Reference + ?Sized),
        record: u32,
    ) -> bool {
        let arguments = [jvalue { l: object.raw() }, jvalue { i: record as i32 }];
        // SAFETY: the arguments are those of the helper's method.
        let result = unsafe { jni.call_long(self.helper, self.identify, &arguments) };
        result.is_some_and(|it| it != 0)
    }

    /// Returns the owner of the hash of an object. That of a locked one is taken for perk's.
    pub(super) fn owner(&self, jni: Jni<'_>, object: &(impl Reference + ?Sized)) -> Owner {
        let marked = self.hash(jni, object, self.hash_of);
        let hash = (marked >> 1) as u32;
        if marked & 1 == 1 { self.blocks.owner(hash) } else { self.blocks.owner_of_jvm_hash(hash) }
    }

    /// Reserves the hash of an object that existed before the probes began, which gets one.
    pub(super) fn reserve(&self, jni: Jni<'_>, object: &(impl Reference + ?Sized)) {
        self.blocks.reserve_hash(self.hash(jni, object, self.identity_of) as u32);
    }

    fn hash(&self, jni: Jni<'_>, object: &(impl Reference + ?Sized), method: MethodRef) -> i64 {
        let arguments = [jvalue { l: object.raw() }];
        // SAFETY: the arguments are those of the helper's method.
        let result = unsafe { jni.call_long(self.helper, method, &arguments) };
        result.unwrap_or(0)
    }

    /// Returns the address of the object that a walk is at, and the owner of its hash; `None` if
    /// the object is locked.
    ///
    /// # Safety
    /// As of [`Headers::of_walked`].
    pub(super) unsafe fn of_walked(&self, tag: *const i64) -> (u64, Option<Owner>) {
        // SAFETY: the caller's promise.
        let (address, header) = unsafe { self.headers.of_walked(tag) };
        match header {
            Header::Marked(hash) => (address, Some(self.blocks.owner(hash))),
            Header::Hash(hash) => (address, Some(self.blocks.owner_of_jvm_hash(hash))),
            Header::Locked => (address, None),
        }
    }
}
